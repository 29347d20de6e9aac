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

// Value is a computed value. For "What is the percentage change in cost of sales from 2017 to 2018?" it has the Op
// inquiry.Growth, the Label "percentage change of Cost of sales from 2017 to 2018", the Figure 4.2%, the Formula
// "(500 - 480) / 480 = 4.17%" and two Inputs.
type Value struct {
	Op inquiry.Op // the operation that computed it
	// Label names the value: "percentage change of total assets from 2018 to 2019".
	Label string
	// Figures are the results. A look-up of several periods has one for each. Figures is empty if the result is in
	// Words: years, or names of rows.
	Figures []kernel.Figure
	Words   []string
	// Sentence states the value. If it is empty, the value is stated by Label and Figures.
	Sentence string
	// Formula is the calculation, "(5,765.2 - 5,050.2) / 5,050.2 = 14.16%". It is empty if the value was looked up.
	Formula string
	Inputs  []Input
	// Confidence is how well the words of the question are matched, from 0 to 1.
	Confidence float64
}

// Input is a figure that a value is computed from.
type Input struct {
	Name string // the name in the source
	Point
}

// Source holds the passages from whose tables values are computed.
type Source struct {
	Passages []kernel.Passage
	// Cache caches tables that were read before. It may be nil.
	Cache *TableCache
}

// request is the question for a value, as package inquiry has read it. Its methods, one for each kind of operation,
// return a nil Value if the source does not determine the value.
type request inquiry.Inquiry

// Compute computes the value that a question wants. It returns nil if the source does not determine the value.
func Compute(q *inquiry.Inquiry, src Source) *Value {
	if q.Op == inquiry.Text { // no table is read for such a question
		return nil
	}
	w := request(*q)
	f := &finder{src: src, series: read(src.Passages, src.Cache)}
	if len(w.Periods) == 0 {
		f.keepLatest()
	}
	return w.compute(f)
}

// keepLatest drops the series of all but the latest reports, and all series of quarters. It is called for questions
// without a period, which do not say which quarter they mean.
func (f *finder) keepLatest() {
	f.series = slices.DeleteFunc(f.series, func(s *Series) bool { return s.quarters })
	latest := 0
	for _, s := range f.series {
		latest = max(latest, f.reportYear(s))
	}
	f.series = slices.DeleteFunc(f.series, func(s *Series) bool {
		year := f.reportYear(s)
		return year != 0 && year != latest
	})
}

// reportYear returns the year of the report that contains a series, or 0 if it is unknown.
func (f *finder) reportYear(s *Series) int {
	return f.src.Passages[s.Points[0].Passage].Period.AnyYear()
}

// finder looks up series by the words of a question.
type finder struct {
	src    Source
	series []*Series // the series that are considered
}

// findSubject returns the series that a subject names and that has the periods, and the score of the match. If several
// series match, it prefers series of the report for the latest of the periods. It returns false if there is no such
// series, or if several match with different values.
func (f *finder) findSubject(subject string, periods []kernel.Period) (*Series, float64, bool) {
	s, score, ok := find(f.series, subject, periods)
	if ok {
		return s, score, true
	}
	if score > 0 { // several series match, so only those of the report for the latest period are considered
		year := 0
		for _, p := range periods {
			year = max(year, p.AnyYear())
		}
		if year == 0 {
			return nil, 0, false
		}
		var ofYear []*Series
		for _, s := range f.series {
			if f.reportYear(s) == year {
				ofYear = append(ofYear, s)
			}
		}
		if len(ofYear) == len(f.series) { // find has considered the same series already
			return nil, 0, false
		}
		return find(ofYear, subject, periods)
	}
	// Some issuers report only diluted earnings per share.
	if m, _ := metrics.ByLabel(subject); m.Key == "eps_basic" && !strings.Contains(strings.ToLower(subject), "basic") {
		return f.findSubject("diluted earnings per share", periods)
	}
	return nil, 0, false
}

// compute computes the value by the operation that the question wants.
func (r request) compute(f *finder) *Value {
	switch r.Op { //nolint:exhaustive // other operations need statements
	case inquiry.Value:
		return r.lookUpIn(f)
	case inquiry.Change, inquiry.Growth, inquiry.Annual, inquiry.Ratio, inquiry.Share:
		return r.pairIn(f)
	case inquiry.Average, inquiry.Sum:
		return r.aggregate(f)
	case inquiry.Count, inquiry.Where:
		return r.thresholdIn(f)
	case inquiry.Peak:
		return r.extremeIn(f)
	case inquiry.Years:
		return r.yearsIn(f)
	case inquiry.Items:
		return r.itemsIn(f)
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

// namedOrLatest returns the points of the periods that r names, or the latest n points of s if r names no period. It
// returns nil if there are not enough.
func (r request) namedOrLatest(n int, s *Series) []Point {
	if len(r.Periods) > 0 {
		points, ok := s.pointsOf(r.Periods)
		if !ok {
			return nil
		}
		return points
	}
	points := s.years()
	if len(points) < n {
		return nil
	}
	return points[len(points)-n:]
}

// years returns the points with a known period, the earliest first. It returns nil if two of them are of the same year
// or quarter and have different values.
func (s *Series) years() []Point {
	var known []Point
	for _, p := range s.Points {
		if p.Period.Known() {
			known = append(known, p)
		}
	}
	known = ordered(known)
	for i := 1; i < len(known); i++ {
		p, previous := known[i], known[i-1]
		samePeriod := p.Period.AnyYear() == previous.Period.AnyYear() && p.Period.Quarter == previous.Period.Quarter
		if samePeriod && p.Value != previous.Value {
			return nil
		}
	}
	return known
}

// minScoreWithoutPeriod is the least score of the series for a look-up without a period.
const minScoreWithoutPeriod = 0.93

// lookUpIn looks up the figures of a subject in the periods that r names, or the latest figure.
func (r request) lookUpIn(f *finder) *Value {
	s, score, ok := f.findSubject(r.Subjects[0], r.Periods)
	if !ok {
		return nil
	}
	var points []Point
	switch {
	case len(r.Periods) > 0 && s.Points[0].Period.Known():
		points, _ = s.pointsOf(r.Periods)
	case len(s.Points) == 1: // a single figure, whose period the table does not name
		points = s.Points
	default:
		if points = r.namedOrLatest(1, s); points == nil || len(s.years()) != len(s.Points) {
			return nil // some figures have no period, so the latest one is not known
		}
	}
	if len(r.Periods) == 0 && score < minScoreWithoutPeriod {
		return nil
	}
	v := &Value{Op: inquiry.Value, Inputs: inputs(s, points), Confidence: score}
	for _, p := range points {
		figure := p.Figure
		if r.Spent { // money that was spent may be printed as a negative figure
			figure.Value = math.Abs(figure.Value)
		}
		v.Figures = append(v.Figures, figure)
	}
	v.Label = s.Title() + periodPhrase(points)
	return v
}

// Title returns the name of a series for a sentence, with its group in parentheses unless the group is long or a
// period.
func (s *Series) Title() string {
	name := strings.TrimRight(s.Name, ":")
	if group := strings.TrimRight(s.Group, ":"); group != "" && len(group) < 80 &&
		len(metrics.Periods(group)) == 0 {
		return name + " (" + group + ")"
	}
	return name
}

// periodPhrase returns the periods of points in words: " in 2018 and 2019". Without known periods it returns the empty
// string.
func periodPhrase(points []Point) string {
	var names []string
	for _, p := range points {
		if name := periodName(p.Period); name != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " in " + figures.And(names)
}

// periodName returns the shortest name of a period, or the empty string for an unknown period.
func periodName(p kernel.Period) string {
	switch {
	case !p.Known():
		return ""
	case p.Quarter != 0 || p.Months != 0 && p.Months != 12 || p.Year == 0 && p.Months == 0:
		return p.String()
	}
	return strconv.Itoa(p.AnyYear())
}

// setResult sets the result of v, appends it to the formula and returns v. It returns nil for a result that is not
// finite.
func (v *Value) setResult(result kernel.Figure) *Value {
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

// unknownStep stands for the Step of a figure without digits, such as a dash. It is greater than any other Step, so
// that the figure does not make a result more precise.
const unknownStep = 1e12

// knownStep returns step, or unknownStep if step is 0.
func knownStep(step float64) float64 {
	if step == 0 {
		return unknownStep
	}
	return step
}

// combinable reports whether two figures may be combined: they have compatible units, and if one is in thousands or
// more, the scale of the other one is known.
func combinable(a, b kernel.Figure) bool {
	return unitsAgree(a, b) && !maybeUnscaled(a, b) && !maybeUnscaled(b, a)
}

// unitsAgree reports whether two figures have the same unit and currency. An unknown unit or currency agrees with any.
func unitsAgree(a, b kernel.Figure) bool {
	return (a.Unit == b.Unit || a.Unit == kernel.NoUnit || b.Unit == kernel.NoUnit) &&
		(a.Currency == b.Currency || a.Currency == "" || b.Currency == "")
}

// maybeUnscaled reports whether f may be in thousands or more although nothing states its scale. This is possible if g
// is in thousands or more, and f has no unit or is an amount too small for the digits of g.
func maybeUnscaled(f, g kernel.Figure) bool {
	if g.Step < 1e3 || f.Step >= 10 || f.Value == 0 {
		return false
	}
	return f.Unit == kernel.NoUnit && f.Currency == "" || f.Unit == kernel.Money && math.Abs(f.Value) < 10*g.Step
}

// mayBeCount reports whether a figure may be a number of things, such as employees.
func mayBeCount(f kernel.Figure) bool {
	return f.Unit == kernel.NoUnit && f.Currency == "" && f.Step == 1
}
