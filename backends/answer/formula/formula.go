// Package formula computes what questions ask of tables and facts: look-ups,
// differences, growth, averages, sums, counts, and the ratios of finance. Every value
// has the passages of its inputs and the formula written out.
//
// A value is computed only where the row, the column, the period and the unit are all
// matched, and nothing else matches as well: an honest no is better than a wrong
// number.
//
// Choices where the specification is silent:
//   - A difference is the later period less the earlier, whichever is named first.
//   - A period that is not named is the latest one of the table, for a single figure;
//     for an average, all of them.
//   - Growth on a base of zero or less has no percentage.
//   - Days are of a year of 365; balances in a ratio with a flow are the average of the
//     period's end and the one before, or of the end alone where there is no other, and
//     the formula says which.
package formula

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// Value is what was computed.
type Value struct {
	Op Op
	// Label names it, "percentage change of total assets from 2018 to 2019".
	Label string
	// Figures are the results, one a period for a look-up of several; none where Words
	// are the result: years, names of rows.
	Figures []kernel.Figure
	Words   []string
	// Formula is the calculation, "(5,765.2 - 5,050.2) / 5,050.2 = 14.16%"; empty: the
	// value was looked up.
	Formula string
	Inputs  []Input
	// Confidence is how well the question's words are matched, from 0 to 1.
	Confidence float64
}

// Input is a figure that a value is made of.
type Input struct {
	Name string // as its source names it
	Point
}

// Source is what values are computed of.
type Source struct {
	Passages []kernel.Passage
	// Facts are of the question's issuer alone.
	Facts []Fact
	// Known are tables that were read before; nil: none are.
	Known *Tables
}

// Fact is one with the place of its passage among those of the Source.
type Fact struct {
	kernel.Fact
	Passage int
}

// Compute computes what a question wants; nil: it cannot be told from the source.
func Compute(w Want, src Source) *Value {
	if w.Op == Text { // no table is read for it
		return nil
	}
	f := newFinder(src)
	if len(w.Periods) == 0 {
		f.latest()
	}
	return w.compute(f)
}

// latest leaves the series of the latest reports alone, for questions that name no
// period.
func (f *finder) latest() {
	last := 0
	of := func(s *Series) int { return f.src.Passages[s.Points[0].Passage].Period.AnyYear() }
	for _, s := range f.series {
		last = max(last, of(s))
	}
	f.series = slices.DeleteFunc(f.series, func(s *Series) bool { y := of(s); return y != 0 && y != last })
}

// finder looks series up.
type finder struct {
	src    Source
	series []*Series
	facts  map[string]*Series // by metric
}

func newFinder(src Source) *finder {
	f := &finder{src: src, series: read(src.Passages, src.Known), facts: make(map[string]*Series)}
	for _, fact := range src.Facts {
		s := f.facts[fact.Metric]
		if s == nil {
			s = &Series{Name: fact.Label, table: -1}
			f.facts[fact.Metric] = s
		}
		s.Points = append(s.Points, Point{Figure: fact.Figure, Period: fact.Period, Head: fact.Period.String(), Passage: fact.Passage})
	}
	return f
}

// one finds a subject with its periods: in the tables first, where its whole name is
// compared, then among the facts, by its metric.
func (f *finder) one(subject string, periods []kernel.Period) (*Series, float64, bool) {
	s, score, ok := find(f.series, subject, periods)
	if ok {
		return s, score, true
	}
	if score > 0 { // of several: the report on the latest period that is asked for
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
	if m, known := metrics.Label(subject); known {
		if s := f.facts[m.Key]; s != nil && len(periods) > 0 {
			if _, ok := s.at(periods); ok {
				return s, 0.95, true
			}
		}
		if m.Key == "eps_basic" && !strings.Contains(strings.ToLower(subject), "basic") { // of some only the diluted ones are reported
			return f.one("diluted earnings per share", periods)
		}
	}
	return nil, 0, false
}

func (w Want) compute(f *finder) *Value {
	switch w.Op {
	case LookUp:
		return w.lookUpIn(f)
	case Difference, Change, CAGR:
		return w.changeIn(f)
	case Average, Sum:
		return w.aggregate(f)
	case Ratio, Share:
		return w.ratioIn(f)
	case Count, Where:
		return w.beyondIn(f)
	case Highest, Lowest:
		return w.extremeIn(f)
	case Years:
		return w.yearsIn(f)
	case Items:
		return w.itemsIn(f)
	case Measure:
		if v := w.lookUpIn(f); v != nil {
			return v
		}
		return w.measureIn(f)
	case Text:
	}
	return nil
}

// inputs are points with the name of their series.
func inputs(s *Series, points []Point) []Input {
	list := make([]Input, len(points))
	for i, p := range points {
		list[i] = Input{s.Name, p}
	}
	return list
}

// periodsOr are the periods of a want; latest ones of a series where none is named.
func (w Want) periodsOr(n int, s *Series) []Point {
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

// years are the points of whole years, or of days, by time; nil: two are of one year.
func (s *Series) years() []Point {
	var known []Point
	for _, p := range s.Points {
		if p.Period.Known() {
			known = append(known, p)
		}
	}
	known = ordered(known)
	for i := range known {
		if i > 0 && known[i].Period.AnyYear() == known[i-1].Period.AnyYear() && known[i].Period.Quarter == known[i-1].Period.Quarter && known[i].Value != known[i-1].Value {
			return nil
		}
	}
	return known
}

func (w Want) lookUpIn(f *finder) *Value {
	subject := w.Subjects[0]
	s, score, ok := f.one(subject, w.Periods)
	if !ok && len(w.Periods) == 1 {
		// The table is of this period alone.
		s, score, ok = f.undated(subject, w.Periods[0])
	}
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
	v := &Value{Op: LookUp, Inputs: inputs(s, points), Confidence: score}
	for _, p := range points {
		f := p.Figure
		if w.Paid {
			f.Value = math.Abs(f.Value)
		}
		v.Figures = append(v.Figures, f)
	}
	v.Label = s.Title() + w.when(points)
	return v
}

// undated looks a subject up where no column and no row has a period, in a passage of a
// document of this period.
func (f *finder) undated(subject string, period kernel.Period) (*Series, float64, bool) {
	var fitting []*Series
	for _, s := range f.series {
		if len(s.Points) != 1 || s.Points[0].Period.Known() {
			continue
		}
		of := f.src.Passages[s.Points[0].Passage].Period
		if of.AnyYear() == period.AnyYear() && s.dated(period) {
			fitting = append(fitting, s)
		}
	}
	return find(fitting, subject, nil)
}

// dated reports whether the text around a table, or its document, is of a year and of
// no other.
func (s *Series) dated(p kernel.Period) bool {
	year := strconv.Itoa(p.AnyYear())
	for t := range s.around {
		if len(t) == 4 && (t[:2] == "20" || t[:2] == "19") && string(t) != year {
			return false
		}
	}
	return true
}

// Title is the name of a series as a sentence writes it.
func (s *Series) Title() string {
	name := strings.TrimRight(s.Name, ":")
	if group := strings.TrimRight(s.Group, ":"); group != "" && len(group) < 80 && s.table >= 0 && len(metrics.Periods(group)) == 0 {
		return name + " (" + group + ")"
	}
	return name
}

// when says the periods of points: " in 2018 and 2019".
func (w Want) when(points []Point) string {
	var heads []string
	for _, p := range points {
		if h := periodName(p.Period); h != "" {
			heads = append(heads, h)
		}
	}
	if len(heads) == 0 {
		return ""
	}
	return " in " + and(heads)
}

// periodName is the shortest name of a period.
func periodName(p kernel.Period) string {
	switch {
	case !p.Known():
		return ""
	case p.Quarter != 0 || p.Months != 0 && p.Months != 12 || p.Year == 0 && p.Months == 0:
		return p.String()
	}
	return strconv.Itoa(p.AnyYear())
}

// and joins names with commas and a last "and".
func and(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

func (w Want) changeIn(f *finder) *Value {
	if len(w.Subjects) == 2 {
		return w.twoThings(f)
	}
	periods := w.Periods
	switch len(periods) {
	case 0, 1, 2:
	default:
		return nil
	}
	if len(periods) == 1 && periods[0].Year != 0 && periods[0].Quarter == 0 { // from the year before
		before := periods[0]
		before.Year--
		if before.End != "" {
			return nil
		}
		periods = []kernel.Period{before, periods[0]}
	} else if len(periods) == 1 {
		return nil
	}
	subject := w.Subjects[0]
	s, score, ok := f.one(subject, periods)
	if !ok {
		return nil
	}
	asked := w
	asked.Periods = periods
	points := asked.periodsOr(2, s)
	if len(periods) == 0 && len(s.years()) != 2 { // which two is not said
		return nil
	}
	if len(points) != 2 {
		return nil
	}
	points = ordered(points)
	return w.change(s, points[0], points[1], score)
}

// change computes the change from one point to another.
func (w Want) change(s *Series, from, to Point, score float64) *Value {
	if !kindred(from.Figure, to.Figure) {
		return nil
	}
	v := &Value{Op: w.Op, Inputs: inputs(s, []Point{from, to}), Confidence: score}
	a, b := plain(from.Figure), plain(to.Figure)
	span := " from " + periodName(from.Period) + " to " + periodName(to.Period)
	var result kernel.Figure
	switch w.Op { //nolint:exhaustive // of changes alone
	case Difference:
		result = kernel.Figure{Value: to.Value - from.Value, Step: min(nonzero(from.Step), nonzero(to.Step)), Unit: to.Unit, Currency: to.Currency}
		v.Label = "change in " + s.Title() + span
		v.Formula = b + " - " + bracket(a)
	case Change:
		if from.Value == 0 || from.Value < 0 != (to.Value < 0) {
			return nil
		}
		result = kernel.Figure{Value: (to.Value - from.Value) / math.Abs(from.Value) * 100, Step: 0.01, Unit: kernel.Percent}
		if from.Value < 0 { // of two losses: how much larger the loss is
			result.Value = (to.Value - from.Value) / from.Value * 100
		}
		v.Label = "percentage change of " + s.Title() + span
		v.Formula = "(" + b + " - " + bracket(a) + ") / " + bracket(a)
	case CAGR:
		years := to.Period.AnyYear() - from.Period.AnyYear()
		if years < 1 || from.Value <= 0 || to.Value <= 0 {
			return nil
		}
		result = kernel.Figure{Value: (math.Pow(to.Value/from.Value, 1/float64(years)) - 1) * 100, Step: 0.01, Unit: kernel.Percent}
		v.Label = "compound annual growth rate of " + s.Title() + span
		v.Formula = fmt.Sprintf("(%s / %s)^(1/%d) - 1", b, a, years)
	}
	return v.with(result)
}

// with sets the result, and writes it behind the formula.
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

// nonzero is a step, or a great one for a figure that shows no digit.
func nonzero(step float64) float64 {
	if step == 0 {
		return 1e12
	}
	return step
}

// kindred reports whether two figures may be put together.
func kindred(a, b kernel.Figure) bool {
	return (a.Unit == b.Unit || a.Unit == kernel.NoUnit || b.Unit == kernel.NoUnit) && (a.Currency == b.Currency || a.Currency == "" || b.Currency == "")
}

// plain is a figure for a formula: as it stands in its table.
func plain(f kernel.Figure) string {
	g := f
	g.Currency = ""
	if g.Unit == kernel.Money || g.Unit == kernel.Shares || g.Unit == kernel.PerShare {
		g.Unit = kernel.NoUnit
	}
	return figures.Print(g)
}

// bracket puts a negative number in brackets.
func bracket(s string) string {
	if strings.HasPrefix(s, "-") {
		return "(" + s + ")"
	}
	return s
}

// twoThings is the difference of two subjects in one period.
func (w Want) twoThings(f *finder) *Value {
	if w.Op != Difference {
		return nil
	}
	a, sa, ok := f.one(w.Subjects[0], w.Periods)
	if !ok {
		return nil
	}
	b, sb, ok := f.one(w.Subjects[1], w.Periods)
	if !ok || a == b {
		return nil
	}
	pa, pb := w.periodsOr(1, a), w.periodsOr(1, b)
	if len(pa) != 1 || len(pb) != 1 || !kindred(pa[0].Figure, pb[0].Figure) || pa[0].Period != pb[0].Period {
		return nil
	}
	v := &Value{Op: w.Op, Inputs: append(inputs(a, pa), inputs(b, pb)...), Confidence: min(sa, sb)}
	v.Label = "difference between " + a.Title() + " and " + b.Title() + w.when(pa)
	v.Formula = plain(pa[0].Figure) + " - " + bracket(plain(pb[0].Figure))
	return v.with(kernel.Figure{Value: pa[0].Value - pb[0].Value, Step: min(nonzero(pa[0].Step), nonzero(pb[0].Step)), Unit: pa[0].Unit, Currency: cmp.Or(pa[0].Currency, pb[0].Currency)})
}

func (w Want) aggregate(f *finder) *Value {
	periods := w.Periods
	if w.Range && len(periods) == 2 && periods[0].End == "" && periods[1].End == "" {
		low, high := periods[0].Year, periods[1].Year
		if low > high {
			low, high = high, low
		}
		if high-low > 10 {
			return nil
		}
		periods = nil
		for y := low; y <= high; y++ {
			p := w.Periods[0]
			p.Year = y
			periods = append(periods, p)
		}
	}
	s, score, ok := f.one(w.Subjects[0], periods)
	if !ok {
		return nil
	}
	var points []Point
	if len(periods) > 0 {
		points, _ = s.at(periods)
	} else {
		points = s.years()
	}
	if len(points) < 2 {
		return nil
	}
	if w.Loose && s.total {
		return w.lookUpIn(f)
	}
	v := &Value{Op: w.Op, Inputs: inputs(s, points), Confidence: score}
	total, step := 0.0, 1e12
	var names []string
	for _, p := range points {
		if !kindred(p.Figure, points[0].Figure) {
			return nil
		}
		total += p.Value
		step = min(step, nonzero(p.Step))
		names = append(names, bracket(plain(p.Figure)))
	}
	result := kernel.Figure{Value: total, Step: step, Unit: points[0].Unit, Currency: points[0].Currency}
	v.Label, v.Formula = "sum of "+s.Title()+w.when(points), strings.Join(names, " + ")
	if w.Op == Average {
		result.Value /= float64(len(points))
		for i := 0; i < 2 && math.Abs(math.Remainder(result.Value, result.Step)) > result.Step*1e-6; i++ {
			result.Step /= 10
		}
		v.Label, v.Formula = "average of "+s.Title()+w.when(points), "("+v.Formula+") / "+strconv.Itoa(len(points))
	}
	return v.with(result)
}

func (w Want) ratioIn(f *finder) *Value {
	if len(w.Periods) == 2 && w.Op == Ratio { // of one thing between two years
		return nil
	}
	if len(w.Periods) > 1 {
		return nil
	}
	if first, second, both := between(w.Subjects[0]); both {
		if v := w.sharesOf(f, first, second); v != nil {
			return v
		}
	}
	a, sa, ok := f.one(w.Subjects[0], w.Periods)
	if !ok || strings.Contains(w.Subjects[0], " and ") && sa < 0.9 {
		return nil
	}
	b, sb, ok := f.one(w.Subjects[1], w.Periods)
	if !ok || a == b {
		return nil
	}
	pa, pb := w.periodsOr(1, a), w.periodsOr(1, b)
	if len(pa) != 1 || len(pb) != 1 || pb[0].Value == 0 || !kindred(pa[0].Figure, pb[0].Figure) || pa[0].Period.AnyYear() != pb[0].Period.AnyYear() {
		return nil
	}
	v := &Value{Op: w.Op, Inputs: append(inputs(a, pa), inputs(b, pb)...), Confidence: min(sa, sb), Formula: plain(pa[0].Figure) + " / " + bracket(plain(pb[0].Figure))}
	result := kernel.Figure{Value: pa[0].Value / pb[0].Value, Step: 0.01}
	if math.Abs(result.Value) < 1 {
		result.Step = 0.001
	}
	v.Label = "ratio of " + a.Title() + " to " + b.Title() + w.when(pa)
	if w.Op == Share {
		result = kernel.Figure{Value: result.Value * 100, Step: 0.01, Unit: kernel.Percent}
		v.Label = a.Title() + " as a percentage of " + b.Title() + w.when(pa)
	}
	return v.with(result)
}

// sharesOf is what two things are together of a third.
func (w Want) sharesOf(f *finder, first, second string) *Value {
	if _, score, ok := f.one(w.Subjects[0], w.Periods); ok && score > 0.9 {
		return nil // "and" is part of a name
	}
	var parts []Point
	v := &Value{Op: w.Op, Confidence: 1}
	var names []string
	for _, subject := range []string{first, second, w.Subjects[1]} {
		s, score, ok := f.one(subject, w.Periods)
		if !ok || score < 0.8 {
			return nil
		}
		points := w.periodsOr(1, s)
		if len(points) != 1 || len(parts) > 0 && !kindred(points[0].Figure, parts[0].Figure) {
			return nil
		}
		parts = append(parts, points[0])
		names = append(names, s.Title())
		v.Inputs, v.Confidence = append(v.Inputs, inputs(s, points)...), min(v.Confidence, score)
	}
	if parts[2].Value == 0 {
		return nil
	}
	v.Formula = "(" + plain(parts[0].Figure) + " + " + bracket(plain(parts[1].Figure)) + ") / " + bracket(plain(parts[2].Figure))
	result := kernel.Figure{Value: (parts[0].Value + parts[1].Value) / parts[2].Value, Step: 0.001}
	v.Label = "ratio of " + names[0] + " and " + names[1] + " to " + names[2] + w.when(parts[:1])
	if w.Op == Share {
		result = kernel.Figure{Value: result.Value * 100, Step: 0.01, Unit: kernel.Percent}
		v.Label = names[0] + " and " + names[1] + " as a percentage of " + names[2] + w.when(parts[:1])
	}
	return v.with(result)
}

// beyond reports whether a figure is beyond the threshold. Its scale is taken as it is
// said; a threshold without one is in the scale of the table, when it was printed so.
func (w Want) beyond(f kernel.Figure) bool {
	limit := w.Threshold.Value
	if digits := f.Step <= 1 && w.Threshold.Step > 1 && f.Unit != kernel.Percent; digits {
		limit /= scaleOf(w.Threshold)
	}
	if w.Above {
		return f.Value > limit
	}
	return f.Value < limit
}

// scaleOf is the scale that a figure is printed in.
func scaleOf(f kernel.Figure) float64 {
	for _, scale := range []float64{1e12, 1e9, 1e6, 1e3} {
		if f.Step >= scale*0.99 {
			return scale
		}
	}
	return 1
}

func (w Want) beyondIn(f *finder) *Value {
	s, score, ok := f.one(w.Subjects[0], nil)
	if !ok {
		return nil
	}
	points := s.years()
	if w.Quarters {
		points = s.Points
	}
	if len(w.Periods) == 2 && w.Range {
		low, high := w.Periods[0].AnyYear(), w.Periods[1].AnyYear()
		points = slices.DeleteFunc(slices.Clone(points), func(p Point) bool {
			y := p.Period.AnyYear()
			return y < min(low, high) || y > max(low, high)
		})
	}
	if len(points) < 2 {
		return nil
	}
	v := &Value{Op: w.Op, Inputs: inputs(s, points), Confidence: score}
	var heads []string
	for _, p := range points {
		if !w.comparable(p.Figure) {
			return nil
		}
		if w.beyond(p.Figure) {
			heads = append(heads, pointName(p, points))
		}
	}
	word := "below "
	if w.Above {
		word = "above "
	}
	unit := "years"
	if w.Quarters {
		unit = "quarters"
	}
	compared := make([]string, len(points))
	for i, p := range points {
		compared[i] = figures.Print(p.Figure) + " (" + pointName(p, points) + ")"
	}
	v.Formula = and(compared) + " compared with " + figures.Print(w.Threshold)
	if w.Op == Where {
		if len(heads) == 0 {
			return nil
		}
		v.Label, v.Words = unit+" with "+s.Title()+" "+word+figures.Print(w.Threshold), heads
		return v
	}
	v.Label = "number of " + unit + " with " + s.Title() + " " + word + figures.Print(w.Threshold)
	if len(heads) > 0 {
		v.Label += " (" + and(heads) + ")"
	}
	return v.with(kernel.Figure{Value: float64(len(heads)), Step: 1})
}

// comparable reports whether a figure is in a unit that the threshold may be in: one of
// a quite different size is a sign that the scale is not known.
func (w Want) comparable(f kernel.Figure) bool {
	if !kindred(f, w.Threshold) {
		return false
	}
	if w.Threshold.Step > 1 && f.Step >= 1 {
		return true
	}
	return f.Value == 0 || w.Threshold.Value == 0 || math.Abs(math.Log10(math.Abs(f.Value/w.Threshold.Value))) < 2.5
}

// pointName names a point among those of its series: by its year, where no other is
// of that year.
func pointName(p Point, points []Point) string {
	same := 0
	for _, q := range points {
		if q.Period.AnyYear() == p.Period.AnyYear() {
			same++
		}
	}
	if same == 1 && p.Period.Quarter == 0 && p.Period.Known() {
		return strconv.Itoa(p.Period.AnyYear())
	}
	return strings.TrimSpace(p.Head)
}

func (w Want) extremeIn(f *finder) *Value {
	s, score, ok := f.one(w.Subjects[0], w.Periods)
	if !ok {
		return nil
	}
	points := s.years()
	if w.Quarters {
		points = s.Points
	}
	if len(w.Periods) > 1 {
		if points, ok = s.at(w.Periods); !ok {
			return nil
		}
	}
	if len(points) < 2 {
		return nil
	}
	best := points[0]
	for _, p := range points[1:] {
		if w.Op == Highest && p.Value > best.Value || w.Op == Lowest && p.Value < best.Value {
			best = p
		}
	}
	for _, p := range points {
		if p.Value == best.Value && p.Period != best.Period || !kindred(p.Figure, best.Figure) {
			return nil
		}
	}
	word := "highest "
	if w.Op == Lowest {
		word = "lowest "
	}
	return &Value{Op: w.Op, Label: "period with the " + word + s.Title(), Words: []string{pointName(best, points)}, Inputs: inputs(s, points), Confidence: score}
}
