package inquiry

import (
	"maps"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// Op is the operation that a question wants.
type Op string

// Operations. The empty Op means that the question wants a figure but the operation is not clear.
const (
	Value   Op = "value"
	Average Op = "average"
	Change  Op = "change" // the later period minus the earlier one, or the first subject minus the second
	Growth  Op = "growth" // a change in per cent
	Annual  Op = "annual" // compound annual growth in per cent
	Sum     Op = "sum"
	Peak    Op = "peak" // the period of the greatest or the least figure

	// Operations on tables only.
	Ratio Op = "ratio" // the first subject divided by the second
	Share Op = "share" // the first subject in per cent of the second
	Count Op = "count" // the number of periods in which a figure is above or below a threshold
	Where Op = "where" // the periods in which a figure is above or below a threshold
	Years Op = "years" // the years that a table has
	Items Op = "items" // the rows under a heading
	Text  Op = "text"  // no figure: a reason, a definition, an event

	// Operations on statements only. They are about the measure of the question.
	Moved      Op = "moved"      // whether the measure went up or down
	Sign       Op = "sign"       // whether it is positive or negative
	Beyond     Op = "beyond"     // whether it is above or below a number
	Consistent Op = "consistent" // whether it changes little from year to year
	Good       Op = "good"       // whether it meets a criterion of the vocabulary
	Paid       Op = "paid"       // whether it is not zero
	Extreme    Op = "extreme"    // which of several measures is the greatest or the least
	Trend      Op = "trend"      // how it changed over several periods
	Always     Op = "always"     // whether it changed in the same direction in each of several periods
	Exceeds    Op = "exceeds"    // whether it is more or less than another measure
)

// Inquiry is a question about the figures of an issuer, in the form that is looked up in tables or computed. Read
// returns it.
type Inquiry struct {
	// Calculation is the question as a calculation with the measures of statements. It is nil if the meaning of a word
	// is not certain. The other fields have the question in its own words, which are compared with tables.
	Calculation *Calculation
	Op          Op
	// Plain is the question rephrased without its verb: "what was the revenue" for "how much did it take in".
	Plain string
	// Subjects are the question's words for the figure it wants. A ratio or the difference of two things has two
	// subjects.
	Subjects []string
	// Periods are the periods in the order in which the question names them. Range reports that the periods
	// between two of them are included.
	Periods []kernel.Period
	Range   bool
	// Above and Threshold are for Count, Where and Peak. For Count and Where, Above means above the Threshold. For
	// Peak, it means that the greatest figure is wanted.
	Above     bool
	Threshold kernel.Figure
	// Spent reports that the question is about spending. The answer is the amount without the sign that a cash flow
	// statement gives it.
	Spent bool
	// Quarters reports that the question counts or compares quarters, not years.
	Quarters bool
	// Loose reports that the question wants a sum only if no row is a total itself.
	Loose bool
}

// maxBody bounds the length of a question in bytes.
const maxBody = 2000

// Read reads a question, without the names of its issuers. A question longer than 2,000 bytes is not read: it has the
// operation Text.
func Read(body string) *Inquiry {
	if len(body) > maxBody {
		return &Inquiry{Op: Text}
	}
	q := &Inquiry{Calculation: calculation(body)}
	q.Plain, q.Spent = rephrase(strings.Join(strings.Fields(strings.TrimRight(body, " ?.!")), " "))
	mentions := metrics.Periods(q.Plain)
	for _, m := range mentions {
		if !slices.Contains(q.Periods, m.Period) {
			q.Periods = append(q.Periods, m.Period)
		}
	}
	q.Range = len(q.Periods) == 2 && isRange(q.Plain, mentions)
	bare := WithoutPeriods(q.Plain, mentions)
	for i := range forms {
		f, text := &forms[i], bare
		if f.withDates {
			text = q.Plain
		}
		if match := f.pattern.FindStringSubmatchIndex(text); match != nil && q.applyForm(f, match, text, bare) {
			return q
		}
	}
	q.Op, q.Subjects = Value, []string{Subject(bare)}
	return q
}

// Inputs returns the names of the metrics from which the measure is computed, if the question wants the value of a
// single measure that has a formula. Otherwise, and for a nil q, it returns nil.
func (q *Calculation) Inputs() (names []string) {
	if q == nil || q.Op != Value || len(q.measures) != 1 {
		return nil
	}
	keys := make(map[string]bool)
	formula(q.measures[0].key).addKeys(keys)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if m, ok := metrics.Metric(key); ok && formula(key) == nil {
			names = append(names, m.Name)
		}
	}
	return names
}
