// Package formula computes what questions ask of tables, as package inquiry has read them: look-ups, differences,
// growth, averages, sums, counts, and ratios of two rows. Every value has the passages of its inputs and its formula.
//
// A value is computed only if the row, the column, the period and the unit are all matched, and nothing else
// matches as well: no answer is better than a wrong number.
//
// Choices where the specification is silent:
//   - A difference is the later period minus the earlier one, whichever is named first.
//   - Without a named period a single figure is that of the table's latest period, and an average is over all
//     of them.
//   - Growth on a base of zero or less has no percentage.
package formula

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/inquiry"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// Value is a computed value.
type Value struct {
	Op inquiry.Op
	// Label names it: "percentage change of total assets from 2018 to 2019".
	Label string
	// Figures are the results, one per period for a look-up of several. It is empty if Words are the result:
	// years, or names of rows.
	Figures []kernel.Figure
	Words   []string
	// Sentence states the value. If it is empty, Label and Figures do.
	Sentence string
	// Formula is the calculation, "(5,765.2 - 5,050.2) / 5,050.2 = 14.16%". It is empty if the value was looked
	// up.
	Formula string
	Inputs  []Input
	// Confidence tells how well the words of the question are matched, from 0 to 1.
	Confidence float64
}

// Input is a figure that a value is computed from.
type Input struct {
	Name string // as its source names it
	Point
}

// Source is what values are computed from.
type Source struct {
	Passages []kernel.Passage
	// Known caches tables that were read before. It may be nil.
	Known *Tables
}

// want is a question as it was read.
type want inquiry.Inquiry

// Compute computes what a question asks for. It returns nil if the source does not determine it.
func Compute(q *inquiry.Inquiry, src Source) *Value {
	if q.Op == inquiry.Text { // no table is read for such a question
		return nil
	}
	w := want(*q)
	f := &finder{src: src, series: read(src.Passages, src.Known)}
	if len(w.Periods) == 0 {
		f.latest()
	}
	return w.compute(f)
}

// latest drops the series of all but the latest reports, and those of quarters, of which a question that names no
// period does not say which. It is called for such questions.
func (f *finder) latest() {
	f.series = slices.DeleteFunc(f.series, func(s *Series) bool { return s.quarters })
	last := 0
	yearOf := func(s *Series) int { return f.src.Passages[s.Points[0].Passage].Period.AnyYear() }
	for _, s := range f.series {
		last = max(last, yearOf(s))
	}
	f.series = slices.DeleteFunc(f.series, func(s *Series) bool { y := yearOf(s); return y != 0 && y != last })
}

// finder looks up series.
type finder struct {
	src    Source
	series []*Series
}

// one finds a subject with its periods.
func (f *finder) one(subject string, periods []kernel.Period) (*Series, float64, bool) {
	s, score, ok := find(f.series, subject, periods)
	if ok {
		return s, score, true
	}
	if score > 0 { // among several, the report for the latest period that is asked for
		year := 0
		for _, p := range periods {
			year = max(year, p.AnyYear())
		}
		if year == 0 {
			return nil, 0, false
		}
		var own []*Series
		for _, s := range f.series {
			if f.src.Passages[s.Points[0].Passage].Period.AnyYear() == year {
				own = append(own, s)
			}
		}
		if len(own) == len(f.series) {
			return nil, 0, false
		}
		return find(own, subject, periods)
	}
	// Some issuers report only the diluted ones.
	if m, _ := metrics.ByLabel(subject); m.Key == "eps_basic" && !strings.Contains(strings.ToLower(subject), "basic") {
		return f.one("diluted earnings per share", periods)
	}
	return nil, 0, false
}

func (w want) compute(f *finder) *Value {
	switch w.Op { //nolint:exhaustive // the others are not asked of tables
	case inquiry.Value:
		return w.lookUpIn(f)
	case inquiry.Change, inquiry.Growth, inquiry.Annual, inquiry.Ratio, inquiry.Share:
		return w.pairIn(f)
	case inquiry.Average, inquiry.Sum:
		return w.aggregate(f)
	case inquiry.Count, inquiry.Where:
		return w.beyondIn(f)
	case inquiry.Peak:
		return w.extremeIn(f)
	case inquiry.Years:
		return w.yearsIn(f)
	case inquiry.Items:
		return w.itemsIn(f)
	}
	return nil
}

// inputs returns points as inputs with the name of their series.
func inputs(s *Series, points []Point) []Input {
	list := make([]Input, len(points))
	for i, p := range points {
		list[i] = Input{s.Name, p}
	}
	return list
}

// periodsOr returns the points of the periods that w names, or the latest n points of s if w names none. It
// returns nil if there are not enough.
func (w want) periodsOr(n int, s *Series) []Point {
	if len(w.Periods) > 0 {
		points, ok := s.at(w.Periods)
		if !ok {
			return nil
		}
		return points
	}
	known := s.years()
	if len(known) < n {
		return nil
	}
	return known[len(known)-n:]
}

// years returns the points with a known period in the order of time. It returns nil if two of them are of the
// same year or quarter with different values.
func (s *Series) years() []Point {
	var known []Point
	for _, p := range s.Points {
		if p.Period.Known() {
			known = append(known, p)
		}
	}
	known = ordered(known)
	for i := range known {
		if i > 0 && known[i].Period.AnyYear() == known[i-1].Period.AnyYear() &&
			known[i].Period.Quarter == known[i-1].Period.Quarter && known[i].Value != known[i-1].Value {
			return nil
		}
	}
	return known
}

func (w want) lookUpIn(f *finder) *Value {
	subject := w.Subjects[0]
	s, score, ok := f.one(subject, w.Periods)
	if !ok {
		return nil
	}
	var points []Point
	switch {
	case len(w.Periods) > 0 && s.Points[0].Period.Known():
		points, _ = s.at(w.Periods)
	case len(s.Points) == 1:
		points = s.Points
	default:
		if points = w.periodsOr(1, s); points == nil || len(s.years()) != len(s.Points) {
			return nil
		}
	}
	if len(w.Periods) == 0 && score < 0.93 {
		return nil
	}
	v := &Value{Op: inquiry.Value, Inputs: inputs(s, points), Confidence: score}
	for _, p := range points {
		f := p.Figure
		if w.Spent {
			f.Value = math.Abs(f.Value)
		}
		v.Figures = append(v.Figures, f)
	}
	v.Label = s.Title() + w.when(points)
	return v
}

// Title returns the name of a series for a sentence.
func (s *Series) Title() string {
	name := strings.TrimRight(s.Name, ":")
	if group := strings.TrimRight(s.Group, ":"); group != "" && len(group) < 80 &&
		len(metrics.Periods(group)) == 0 {
		return name + " (" + group + ")"
	}
	return name
}

// when returns the periods of points in words: " in 2018 and 2019".
func (w want) when(points []Point) string {
	var heads []string
	for _, p := range points {
		if h := periodName(p.Period); h != "" {
			heads = append(heads, h)
		}
	}
	if len(heads) == 0 {
		return ""
	}
	return " in " + figures.And(heads)
}

// periodName returns the shortest name of a period.
func periodName(p kernel.Period) string {
	switch {
	case !p.Known():
		return ""
	case p.Quarter != 0 || p.Months != 0 && p.Months != 12 || p.Year == 0 && p.Months == 0:
		return p.String()
	}
	return strconv.Itoa(p.AnyYear())
}

// with sets the result and appends it to the formula. It returns nil for a result that is not finite.
func (v *Value) with(result kernel.Figure) *Value {
	if math.IsNaN(result.Value) || math.IsInf(result.Value, 0) {
		return nil
	}
	result.Text = figures.Print(result)
	v.Figures = []kernel.Figure{result}
	if v.Formula != "" {
		v.Formula += " = " + result.Text
	}
	return v
}

// nonzero returns a step, or a large one for a figure without known digits.
func nonzero(step float64) float64 {
	if step == 0 {
		return 1e12
	}
	return step
}

// kindred reports whether two figures may be combined: they are of one kind, and if one is in thousands or
// more, the scale of the other one is known.
func kindred(a, b kernel.Figure) bool { return comparable(a, b) && !unscaled(a, b) && !unscaled(b, a) }

// comparable reports whether two figures have the same unit and currency, as far as these are known.
func comparable(a, b kernel.Figure) bool {
	return (a.Unit == b.Unit || a.Unit == kernel.NoUnit || b.Unit == kernel.NoUnit) &&
		(a.Currency == b.Currency || a.Currency == "" || b.Currency == "")
}

// unscaled reports whether a figure may be in thousands or more without saying so, beside one that says it:
// it has no unit, or is an amount too small for the digits of the other one.
func unscaled(f, beside kernel.Figure) bool {
	if beside.Step < 1e3 || f.Step >= 10 || f.Value == 0 {
		return false
	}
	return f.Unit == kernel.NoUnit && f.Currency == "" || f.Unit == kernel.Money && math.Abs(f.Value) < 10*beside.Step
}

// counted reports whether a figure may be a number of things, such as employees.
func counted(f kernel.Figure) bool { return f.Unit == kernel.NoUnit && f.Currency == "" && f.Step == 1 }
