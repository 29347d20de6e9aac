package check

import (
	"regexp"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/answer/draft"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// quarterWords and halfWords match the names of quarters and halves without a year. quarterLengths and halfLengths
// match words for the length of a quarter or half. If a text has words for such a length, a date in the text is the end
// of a quarter or half.
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

// unsupportedPart returns the first mention of a quarter or half year in the sentence that is not supported: neither
// the marked passages of the sentence nor the computed values are about that quarter or half year. The result has the
// words of the sentence, such as "Q3 2019"; it is empty if there is no such mention. Years are ignored, because
// allNumbersFound checks them.
func (c *Checker) unsupportedPart(s draft.Sentence) string {
	for _, mention := range metrics.Periods(s.Text) {
		part := mention.Period
		if part.Quarter == 0 && part.Half == 0 {
			continue
		}
		namesIt := func(text string) bool { return namesPart(text, part) }
		supported := c.inMarkedPassage(s.Marks, namesIt) || slices.ContainsFunc(s.Marks,
			func(index int) bool { return isPart(c.material.Passages[index].Period, part) })
		for _, v := range c.material.Computed {
			supported = supported || namesIt(v.Label) || slices.ContainsFunc(v.Words, namesIt)
		}
		if !supported {
			return s.Text[mention.Start:mention.End]
		}
	}
	return ""
}

// isPart reports whether a period is the same quarter or half year as part. The years of the two may differ.
func isPart(period, part kernel.Period) bool {
	quarter, half := period.Part()
	return part.Quarter != 0 && quarter == part.Quarter || part.Half != 0 && half == part.Half
}

// namesPart reports whether a text names the same quarter or half year as part, in any year. The text may name it in
// words, or by its length and its last day.
func namesPart(text string, part kernel.Period) bool {
	if part.Quarter != 0 && quarterWords[part.Quarter-1].MatchString(text) ||
		part.Half != 0 && halfWords[part.Half-1].MatchString(text) {
		return true
	}
	months, lengths := 3, quarterLengths
	if part.Half != 0 {
		months, lengths = 6, halfLengths
	}
	return lengths.MatchString(text) && slices.ContainsFunc(metrics.Periods(text), func(m metrics.Mention) bool {
		if m.Period.Months == 0 { // in a table the date is in another row than the length
			m.Period.Months = months
		}
		return isPart(m.Period, part)
	})
}
