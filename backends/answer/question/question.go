package question

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/tollgate-gateway/tollgate/backends/answer/inquiry"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Verdict is the decision about a question.
type Verdict string

// Verdicts, in the order of their precedence.
const (
	Filtered      Verdict = "ContentFiltered"
	NonInvestment Verdict = "NonInvestmentRelated"
	Screener      Verdict = "ShouldUseScreener"
	Ask           Verdict = "" // the question is to be answered
)

// Question is a question that was read.
type Question struct {
	// Text is the normalised question. Body is Text without the names of its issuers.
	Text, Body string
	Lang       string // "en", or empty if unknown
	Verdict    Verdict
	// Sure reports that the rules are certain of the verdict.
	Sure bool
	// Issuers are the ids of the issuers that the question names. Names are their names in documents, in the same order.
	Issuers []int64
	Names   []string
	// Absent is the name of an issuer that the corpus does not have. It is empty if the question names no such issuer,
	// or also names an issuer of the corpus.
	Absent  string
	Periods []kernel.Period
	Metrics []kernel.Metric
	// Inquiry is the question in the form for statements and tables.
	Inquiry *inquiry.Inquiry
	// Advice reports that the question wants advice, such as whether to buy.
	Advice bool
	// Subs are the sub-queries of the question. It is empty if the question is not divided.
	Subs []string
	// Several reports that Subs are independent questions, each of which is answered. Otherwise one answer is computed
	// from them.
	Several bool
}

// Filters returns the filters for passages that the question's issuers and periods imply.
func (q *Question) Filters() kernel.Filters {
	return kernel.Filters{Issuers: q.Issuers, Periods: q.Periods}
}

// SearchText returns the text with which passages are searched. It adds the metric that a verb implies, such as net
// income for "earn".
func (q *Question) SearchText() string {
	if len(metrics.Find(q.Inquiry.Plain)) > len(metrics.Find(q.Body)) {
		return q.Text + " " + q.Inquiry.Plain
	}
	return q.Text
}

// Reader reads questions.
type Reader struct {
	// Issuers returns the issuers of the corpus and the directory that finds them.
	Issuers func(ctx context.Context) (map[int64]kernel.Issuer, *metrics.Directory, error)
	// CompareMin is the least number of issuers in a comparison that counts as screening. Default: 2.
	CompareMin int
	Now        func() time.Time
}

// MaxLetters bounds the length of a question in characters.
const MaxLetters = 2000

// Normalise returns a question in a form for comparison: in NFC, without control characters, with one space between
// words, and with at most MaxLetters characters.
func Normalise(s string) string {
	s = text.Normal(strings.ToValidUTF8(s, " "))
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r):
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(text.Short(s, MaxLetters)), " ")
}

var (
	lastYear = regexp.MustCompile(`(?i)\blast (?:calendar |fiscal |financial )?year\b`)
	thisYear = regexp.MustCompile(`(?i)\bthis (?:calendar |fiscal |financial )?year\b`)
	advice   = regexp.MustCompile(`(?i)\b(?:should i|shall i|would you (?:buy|sell|recommend)|do you recommend|is it (?:a good|worth|wise)|worth (?:buying|investing)|buy or sell|good (?:buy|investment)|is .{0,40} a (?:buy|sell|hold))\b`)
	// lead matches the words before a leading issuer, as in "Regarding X:", after its name was removed.
	lead = regexp.MustCompile(`(?i)^\W*(?:(?:regarding|concerning|for|about|on|of|in the case of|as for|with regard to)\b)?[\s:,;-]*`)
)

// maxSameName is how many issuers may share a name. A name of more issuers is ignored because it identifies none.
const maxSameName = 3

// Read reads a question. It returns an error only if r.Issuers does.
func (r *Reader) Read(ctx context.Context, s string) (*Question, error) {
	q := &Question{Text: Normalise(s)}
	q.Lang = language(q.Text)
	q.Text = r.withAbsoluteYears(q.Text)
	issuers, directory, err := r.Issuers(ctx)
	if err != nil {
		return nil, err
	}
	mentions := directory.Find(q.Text)
	for _, m := range mentions {
		if len(m.Issuers) > maxSameName {
			continue
		}
		for _, id := range m.Issuers {
			if !slices.Contains(q.Issuers, id) {
				q.Issuers = append(q.Issuers, id)
				q.Names = append(q.Names, issuers[id].Name)
			}
		}
	}
	absent := directory.Absent(q.Text)
	if len(q.Issuers) == 0 && len(absent) > 0 {
		q.Absent = q.Text[absent[0].Start:absent[0].End]
	}
	q.Body = body(q.Text, mentions)
	for _, m := range metrics.Periods(q.Body) {
		if !slices.Contains(q.Periods, m.Period) {
			q.Periods = append(q.Periods, m.Period)
		}
	}
	found := metrics.Find(q.Body)
	for _, m := range found {
		if !slices.ContainsFunc(q.Metrics, func(known kernel.Metric) bool { return known.Key == m.Metric.Key }) {
			q.Metrics = append(q.Metrics, m.Metric)
		}
	}
	q.Inquiry = inquiry.Read(q.Body)
	q.Advice = advice.MatchString(q.Text)
	q.classify(r.compareMin(), mentions, absent)
	if q.Verdict == Ask {
		q.Subs = q.decompose(found)
	}
	return q, nil
}

// compareMin returns r.CompareMin, or its default.
func (r *Reader) compareMin() int {
	if r.CompareMin < 2 {
		return 2
	}
	return r.CompareMin
}

// withAbsoluteYears replaces "last year" and "this year" by fiscal years with a number. It does nothing if r.Now is
// nil.
func (r *Reader) withAbsoluteYears(s string) string {
	if r.Now == nil {
		return s
	}
	year := r.Now().Year()
	s = lastYear.ReplaceAllString(s, "fiscal "+strconv.Itoa(year-1))
	return thisYear.ReplaceAllString(s, "fiscal "+strconv.Itoa(year))
}

// body returns a question without the names of its issuers and without the words that lead to these names. It returns
// the whole question if nothing else is left.
func body(s string, mentions []metrics.IssuerMention) string {
	var b strings.Builder
	end := 0 // of the last name
	for _, m := range mentions {
		if len(m.Issuers) > maxSameName || m.Start < end {
			continue
		}
		b.WriteString(leadToIssuer.ReplaceAllString(s[end:m.Start], " "))
		end = m.End
		for _, possessive := range []string{"'s", "’s", "'", "’"} {
			if strings.HasPrefix(s[end:], possessive) {
				end += len(possessive)
				break
			}
		}
		if strings.HasSuffix(b.String(), "(") && strings.HasPrefix(s[end:], ")") { // remove the brackets around the name
			prefix := strings.TrimSuffix(b.String(), "(")
			b.Reset()
			b.WriteString(prefix)
			end++
		}
	}
	b.WriteString(s[end:])
	out := lead.ReplaceAllString(strings.Join(strings.Fields(b.String()), " "), "")
	if out == "" {
		return s
	}
	return out
}

// leadToIssuer matches the words between a quantity and its issuer, as in "the revenue of X".
var leadToIssuer = regexp.MustCompile(`(?i)(?:\b(?:of|by|at|for|from|in|regarding|about)\s+(?:the\s+(?:company|issuer|group)\s+)?|\b(?:the\s+)?(?:company|ticker)\s+)$`)

// language returns "en" if at least one word in eight is a frequent word of English, and the empty string otherwise.
func language(s string) string {
	hits, words := 0, 0
	for w := range strings.FieldsSeq(strings.ToLower(s)) {
		words++
		if english[strings.Trim(w, ".,?!:;'\"")] {
			hits++
		}
	}
	if words > 0 && hits > 0 && hits*8 >= words {
		return "en"
	}
	return ""
}

// english holds frequent words of English.
var english = kernel.Words("the of in and to what was is are were how much many which did does for why between from by on a an its it who when where with do has have tell me show give list")
