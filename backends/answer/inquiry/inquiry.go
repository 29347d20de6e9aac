package inquiry

import (
	"maps"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// Op is the operation that a question asks for.
type Op string

// Operations. Without one, a figure is asked for that cannot be told.
const (
	Value   Op = "value"
	Average Op = "average"
	Change  Op = "change" // the later period minus the earlier one, or the first subject minus the second
	Growth  Op = "growth" // a change in per cent
	Annual  Op = "annual" // compound annual growth in per cent
	Sum     Op = "sum"
	Peak    Op = "peak" // the period of the greatest or the least figure

	// Those of tables alone.
	Ratio Op = "ratio" // the first subject over the second
	Share Op = "share" // the same in per cent
	Count Op = "count" // the number of periods in which it is above or below a threshold
	Where Op = "where" // these periods themselves
	Years Op = "years" // the years that a table has
	Items Op = "items" // the rows under a heading
	Text  Op = "text"  // no figure: a reason, a definition, an event

	// Those of statements alone.
	Moved      Op = "moved"      // whether it went up or down
	Sign       Op = "sign"       // whether it is positive or negative
	Beyond     Op = "beyond"     // whether it is above or below a number
	Consistent Op = "consistent" // whether it moves little
	Good       Op = "good"       // whether it meets its criterion
	Paid       Op = "paid"       // whether there was any
	Extreme    Op = "extreme"    // which of several measures is the greatest or the least
	Trend      Op = "trend"      // how it went over several periods
	Always     Op = "always"     // whether it went one way in each of them
	Exceeds    Op = "exceeds"    // whether it is more or less than another measure
)

// Inquiry is a question as it was read.
type Inquiry struct {
	// Calculation is the question as one for measures of statements, or nil if a word of it may mean something else.
	// The other fields are the question in its own words, which tables are compared with.
	Calculation *Calculation
	Op          Op
	// Plain is the question as one for what something was: "what was the revenue" for "how much did it take in".
	Plain string
	// Subjects are the words in which the question names what it asks for: two for a ratio or for the difference
	// of two things.
	Subjects []string
	// Periods are the periods in the order in which the question names them. Range reports that the periods
	// between two of them are included.
	Periods []kernel.Period
	Range   bool
	// Above and Threshold are for Count, Where and Peak.
	Above     bool
	Threshold kernel.Figure
	// Spent reports that spending is asked for: its amount is meant, without the sign that a cash flow statement
	// gives it.
	Spent bool
	// Quarters reports that quarters are counted or compared, not years.
	Quarters bool
	// Loose reports that a sum is meant only if no row is a total itself.
	Loose bool
}

// maxBody bounds the length of a question in bytes.
const maxBody = 2000

// Read reads a question without the names of its issuers. What is longer than 2,000 bytes is not read.
func Read(body string) *Inquiry {
	if len(body) > maxBody {
		return &Inquiry{Op: Text}
	}
	q := &Inquiry{Calculation: calculation(body)}
	q.Plain, q.Spent = plainly(strings.Join(strings.Fields(strings.TrimRight(body, " ?.!")), " "))
	mentions := metrics.Periods(q.Plain)
	for _, m := range mentions {
		if !slices.Contains(q.Periods, m.Period) {
			q.Periods = append(q.Periods, m.Period)
		}
	}
	q.Range = len(q.Periods) == 2 && spans(q.Plain, mentions)
	bare := Without(q.Plain, mentions)
	for i := range forms {
		f, text := &forms[i], bare
		if f.dated {
			text = q.Plain
		}
		if at := f.said.FindStringSubmatchIndex(text); at != nil && q.fits(f, at, text, bare) {
			return q
		}
	}
	q.Op, q.Subjects = Value, []string{Subject(bare)}
	return q
}

// Inputs returns the names of the metrics that a measure is computed from by its formula, if a single measure is
// asked for.
func (q *Calculation) Inputs() (names []string) {
	if q == nil || q.Op != Value || len(q.what) != 1 {
		return nil
	}
	keys := make(map[string]bool)
	formula(q.what[0].key).keys(keys)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if m, ok := metrics.Metric(key); ok && formula(key) == nil {
			names = append(names, m.Name)
		}
	}
	return names
}
