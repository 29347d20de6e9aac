package question

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// onlyPeriod matches what is left of a question that names another period and nothing else: "And in 2018?", "What about fiscal 2017?".
var onlyPeriod = regexp.MustCompile(`(?i)^\W*(?:(?:and|or|so|but|what|how|about|it|in|for|of|at|during|the|same|was|were|is|fiscal|year|then|that)\b\W*)*$`)

// Follow reads a question that follows a previous one, which was read before and may be empty. What it leaves out is that of the previous one: its
// companies where it names none, its period where it names none, and its measure too where it names a period and nothing else. The text of the
// result has all of that. A question that names another company keeps the period alone.
func (r *Reader) Follow(ctx context.Context, text, previous string) (*Question, error) {
	q, err := r.Read(ctx, text)
	if err != nil || previous == "" {
		return q, err
	}
	before, err := r.Read(ctx, previous)
	if err != nil {
		return nil, err
	}
	if len(q.Issuers) == 0 && q.Absent == "" && len(q.Periods) > 0 && onlyPeriod.MatchString(without(q.Text)) {
		return r.Read(ctx, another(before.Text, q.Periods))
	}
	var kept strings.Builder
	if len(q.Issuers) == 0 && q.Absent == "" && len(before.Names) > 0 {
		kept.WriteString(" of " + strings.Join(before.Names, " and "))
	}
	if len(q.Periods) == 0 && len(before.Periods) > 0 {
		kept.WriteString(" in " + listOf(before.Periods))
	}
	if kept.Len() == 0 {
		return q, nil
	}
	return r.Read(ctx, strings.TrimRight(q.Text, " ?.!")+kept.String()+"?")
}

// without returns a text without the periods that it names.
func without(text string) string {
	mentions := metrics.Periods(text)
	for _, m := range slices.Backward(mentions) {
		text = text[:m.Start] + " " + text[m.End:]
	}
	return text
}

// inPeriod matches what leads to the period of a question, at the end of a text.
var inPeriod = regexp.MustCompile(`(?i)\s*\b(?:in|for|during|of|at the end of|as of)\s*(?:the\s+)?$`)

// another returns a question with other periods in the place of those that it names.
func another(text string, periods []kernel.Period) string {
	mentions := metrics.Periods(text)
	for _, m := range slices.Backward(mentions) {
		text = inPeriod.ReplaceAllString(text[:m.Start], "") + text[m.End:]
	}
	return strings.Trim(text, " ,;:?.!") + " in " + listOf(periods) + "?"
}

// listOf returns the names of periods, with "and" between them.
func listOf(periods []kernel.Period) string {
	names := make([]string, len(periods))
	for i, p := range periods {
		names[i] = p.String()
	}
	return strings.Join(names, " and ")
}
