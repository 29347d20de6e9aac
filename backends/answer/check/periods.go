package check

import (
	"regexp"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/answer/draft"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// quarterWords and halfWords match the names of quarters and halves without a year. quarterLengths and halfLengths
// match words for the length of a quarter or half. A date in the same text as such words is the end of a quarter or
// half.
var (
	quarterWords = [...]*regexp.Regexp{
		regexp.MustCompile(`(?i)\bq1\b|\b1q|\bfirst[- ]quarter`), regexp.MustCompile(`(?i)\bq2\b|\b2q|\bsecond[- ]quarter`),
		regexp.MustCompile(`(?i)\bq3\b|\b3q|\bthird[- ]quarter`), regexp.MustCompile(`(?i)\bq4\b|\b4q|\bfourth[- ]quarter`),
	}
	halfWords = [...]*regexp.Regexp{
		regexp.MustCompile(`(?i)\bh1\b|\b1h|\bfirst[- ]half`),
		regexp.MustCompile(`(?i)\bh2\b|\b2h|\bsecond[- ]half`),
	}
	quarterLengths = regexp.MustCompile(`(?i)\b(?:three|3) months|\b13 weeks|\bquarter`)
	halfLengths    = regexp.MustCompile(`(?i)\b(?:six|6) months|\b26 weeks|\bhalf`)
)

// unsupportedPart returns the first quarter or half of a year that the sentence names, if neither the passages marked
// in the sentence nor the computed values are about it. The result has the words of the sentence; it is empty if there
// is no such quarter or half. Years are ignored, because they are checked as numbers.
func (c *Checker) unsupportedPart(s draft.Sentence) string {
	for _, m := range metrics.Periods(s.Text) {
		p := m.Period
		if p.Quarter == 0 && p.Half == 0 {
			continue
		}
		mentions := func(text string) bool { return namesPeriod(text, p) }
		ok := c.anywhere(s.Marks, mentions) || slices.ContainsFunc(s.Marks,
			func(m int) bool { return samePart(c.material.Passages[m].Period, p) })
		for _, v := range c.material.Computed {
			ok = ok || mentions(v.Label) || slices.ContainsFunc(v.Words, mentions)
		}
		if !ok {
			return s.Text[m.Start:m.End]
		}
	}
	return ""
}

// samePart reports whether p is the same quarter or half as q, in any year.
func samePart(p, q kernel.Period) bool {
	quarter, half := p.Part()
	return q.Quarter != 0 && quarter == q.Quarter || q.Half != 0 && half == q.Half
}

// namesPeriod reports whether a text names the quarter or half of p, in any year.
func namesPeriod(text string, p kernel.Period) bool {
	months, lengths := 3, quarterLengths
	if p.Half != 0 {
		months, lengths = 6, halfLengths
	}
	if p.Quarter != 0 && quarterWords[p.Quarter-1].MatchString(text) ||
		p.Half != 0 && halfWords[p.Half-1].MatchString(text) {
		return true
	}
	return lengths.MatchString(text) && slices.ContainsFunc(metrics.Periods(text), func(m metrics.Mention) bool {
		if m.Period.Months == 0 { // in a table the date stands below the length
			m.Period.Months = months
		}
		return samePart(m.Period, p)
	})
}
