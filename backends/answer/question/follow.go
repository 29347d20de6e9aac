package question

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// onlyPeriod matches a question that names another period and nothing else, such as "And in 2018?" or "What about
// fiscal 2017?", after its period was removed.
var onlyPeriod = regexp.MustCompile(`(?i)^\W*(?:(?:and|or|so|but|what|how|about|it|in|for|of|at|during|the|same|was|were|is|fiscal|year|then|that)\b\W*)*$`)

// Follow reads a question that follows a previous one. If previous is empty, there is no previous question. If the
// question names no company, it gets the companies of the previous question. If it names no period, it gets the
// previous period. If it names a period and nothing else, it also gets the previous measure. The Text of the result
// contains these additions.
func (r *Reader) Follow(ctx context.Context, text, previous string) (*Question, error) {
	q, err := r.Read(ctx, text)
	if err != nil || previous == "" {
		return q, err
	}
	earlier, err := r.Read(ctx, previous)
	if err != nil {
		return nil, err
	}
	if len(q.Issuers) == 0 && q.Absent == "" && len(q.Periods) > 0 && onlyPeriod.MatchString(withoutPeriods(q.Text)) {
		return r.Read(ctx, withPeriods(earlier.Text, q.Periods))
	}
	var additions strings.Builder
	if len(q.Issuers) == 0 && q.Absent == "" && len(earlier.Names) > 0 {
		additions.WriteString(" of " + strings.Join(earlier.Names, " and "))
	}
	if len(q.Periods) == 0 && len(earlier.Periods) > 0 {
		additions.WriteString(" in " + joinPeriods(earlier.Periods))
	}
	if additions.Len() == 0 {
		return q, nil
	}
	return r.Read(ctx, strings.TrimRight(q.Text, " ?.!")+additions.String()+"?")
}

// withoutPeriods returns a text without the periods that it names.
func withoutPeriods(text string) string {
	mentions := metrics.Periods(text)
	for _, m := range slices.Backward(mentions) {
		text = text[:m.Start] + " " + text[m.End:]
	}
	return text
}

// inPeriod matches the words before the period of a question, at the end of a text.
var inPeriod = regexp.MustCompile(`(?i)\s*\b(?:in|for|during|of|at the end of|as of)\s*(?:the\s+)?$`)

// withPeriods returns a question with the given periods in place of its own periods.
func withPeriods(text string, periods []kernel.Period) string {
	mentions := metrics.Periods(text)
	for _, m := range slices.Backward(mentions) {
		text = inPeriod.ReplaceAllString(text[:m.Start], "") + text[m.End:]
	}
	return strings.Trim(text, " ,;:?.!") + " in " + joinPeriods(periods) + "?"
}

// joinPeriods returns the names of periods, joined by "and".
func joinPeriods(periods []kernel.Period) string {
	names := make([]string, len(periods))
	for i, p := range periods {
		names[i] = p.String()
	}
	return strings.Join(names, " and ")
}
