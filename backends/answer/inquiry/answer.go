package inquiry

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// Answer is the result of a calculation, such as {Verdict: "Yes", Text: "gross margin increased, from 40.1% in FY2018
// to 42.0% in FY2019, by 1.9 percentage points"}.
type Answer struct {
	// Verdict is "Yes" or "No", or empty if the question wants neither.
	Verdict string
	// Text is the sentence that states the result, without the name of the issuer.
	Text string
	// Calculation shows how the figure was computed. It is empty for a figure that was looked up.
	Calculation string
	// Figures are the figures of the result, the computed figure first. They include the figures that Text states.
	Figures []kernel.Figure
	Used    []Used // the facts from which the result was computed
}

// Answer answers a question from the facts of a book. If a figure is missing or the question cannot be computed,
// answer is nil; missing then lists the missing figures.
func (q *Calculation) Answer(b *Book) (answer *Answer, missing []Need) {
	b.used, b.missing, b.definitions, b.steps = nil, nil, q.definitions, 0 // of an earlier computation
	if answer = q.irrelevant(b); answer != nil {
		return answer, nil
	}
	periods := q.periods(b)
	if len(periods) == 0 {
		return nil, nil
	}
	for _, p := range periods {
		b.target = max(b.target, p.Year)
	}
	switch q.Op {
	case Extreme:
		answer = q.extreme(b, periods)
	case Exceeds:
		answer = q.compareMeasures(b, periods)
	default:
		answer = q.singleMeasure(b, periods)
	}
	if answer == nil {
		return nil, b.missing
	}
	answer.Used = b.used
	return answer, nil
}

// periods returns the periods for which values are computed, the earliest first. It returns nil if the inquiry names
// no period and the book has no latest year.
func (q *Calculation) periods(b *Book) []Period {
	periods := slices.Clone(q.Periods)
	if len(periods) == 0 && b.latest != 0 {
		periods = []Period{{Year: b.latest}}
	}
	if len(periods) == 0 {
		return nil
	}
	slices.SortStableFunc(periods, Period.compare)
	last := periods[len(periods)-1]
	// isCourse reports that the question is about how the measure develops over time.
	isCourse := q.Op == Consistent || q.Op == Trend || q.Op == Always || q.Op == Peak
	years := 0 // if greater than 1, the number of consecutive years, up to the last one, that the calculation needs
	if isCourse || q.Op == Average || q.Op == Sum {
		switch {
		case q.Range && last.Quarter == 0:
			years = last.Year - periods[0].Year + 1
		case isCourse && q.Years == 0 && len(periods) == 1: // the question names no span
			years = 3
		default:
			years = q.Years
		}
	}
	if years > 1 && years <= 10 {
		periods = nil
		for y := last.Year - years + 1; y <= last.Year; y++ {
			periods = append(periods, Period{Year: y})
		}
	}
	if q.Op == Annual && q.Years > 1 && len(periods) == 1 { // "the CAGR of the three years to 2019"
		periods = []Period{{last.Year - q.Years, last.Quarter}, last}
	}
	if (q.Op == Change || q.Op == Growth || q.Op == Moved) && len(periods) == 1 {
		periods = []Period{periods[0].Before(), periods[0]}
	}
	return periods
}

// singleMeasure answers a question about one measure in periods, the earliest first. It returns nil if a figure is
// missing, or if the operation is not possible with these periods or figures.
func (q *Calculation) singleMeasure(b *Book, periods []Period) *Answer {
	m := &q.measures[0]
	values := make([]figure, len(periods))
	for i, p := range periods {
		r, ok := b.eval(m.expr, p, 0)
		if !ok {
			return nil
		}
		values[i] = m.figure(r)
	}
	switch q.Op {
	case Value:
		return q.lookup(m, values, periods)
	case Annual:
		return q.annualGrowth(m, values, periods)
	case Average, Sum:
		return q.total(m, values, periods)
	case Change, Growth, Moved:
		return q.difference(m, values, periods)
	case Sign, Beyond, Good, Paid:
		last := len(values) - 1
		a := q.judge(b, m, values[last], periods[last])
		if a != nil && a.Calculation == "" {
			a.Calculation = calculations(values, periods)
		}
		return a
	case Consistent:
		return q.consistency(m, values, periods)
	case Trend, Always, Peak:
		return q.trend(m, values, periods)
	default: // not an operation on a single measure
		return nil
	}
}

// lookup states the values of a measure in periods.
func (q *Calculation) lookup(m *measure, values []figure, periods []Period) *Answer {
	a := &Answer{Calculation: calculations(values, periods)}
	stated := make([]string, len(values))
	for i, v := range values {
		stated[i] = q.format(v.Figure)
		if len(values) > 1 {
			stated[i] += " in " + periods[i].String()
		}
		a.Figures = append(a.Figures, v.Figure)
	}
	if len(values) > 1 {
		a.Text = m.name + ": " + figures.And(stated)
	} else {
		a.Text = m.name + " in " + periodNames(periods) + ": " + figures.And(stated)
	}
	return a
}

// annualGrowth computes the compound annual growth of a measure between two years. It returns nil unless there are two
// values, both positive, of different years.
func (q *Calculation) annualGrowth(m *measure, values []figure, periods []Period) *Answer {
	if len(values) != 2 {
		return nil
	}
	first, last := values[0], values[1]
	years := periods[1].Year - periods[0].Year
	if years < 1 || first.Value <= 0 || last.Value <= 0 {
		return nil
	}
	rate := kernel.Figure{
		Value: 100 * (math.Pow(last.Value/first.Value, 1/float64(years)) - 1), Step: 0.1,
		Unit: kernel.Percent,
	}
	return &Answer{
		Figures: []kernel.Figure{rate, first.Figure, last.Figure},
		Text: fmt.Sprintf("compound annual growth of %s from %s to %s: %s", m.name, periods[0], periods[1],
			q.format(rate)),
		Calculation: fmt.Sprintf("(%s / %s) ^ (1 / %d) - 1 = %s", figures.Plain(last.withExtraDigit()),
			figures.Plain(first.withExtraDigit()), years, figures.Plain(rate)),
	}
}

// total computes the sum of a measure over periods or, for the operation Average, its mean. It returns nil for fewer
// than two values.
func (q *Calculation) total(m *measure, values []figure, periods []Period) *Answer {
	if len(values) < 2 {
		return nil
	}
	last := values[len(values)-1]
	total, parts := last.Figure, make([]string, len(values))
	total.Value, total.Step = 0, q.step(last)
	for i, v := range values {
		total.Value += v.Value
		parts[i] = figures.Plain(v.withExtraDigit())
	}
	span := fmt.Sprintf("over %d periods, %s to %s", len(values), periods[0], periods[len(periods)-1])
	if q.Op == Sum {
		return &Answer{
			Figures:     []kernel.Figure{total},
			Text:        fmt.Sprintf("sum of %s %s: %s", m.name, span, q.format(total)),
			Calculation: strings.Join(parts, " + ") + " = " + figures.Plain(total),
		}
	}
	mean := total
	mean.Value /= float64(len(values))
	steps := calculations(values, periods)
	if steps != "" {
		steps += "; "
	}
	steps += "(" + strings.Join(parts, " + ") + ") / " + strconv.Itoa(len(values)) + " = " + figures.Plain(mean)
	return &Answer{
		Figures:     []kernel.Figure{mean},
		Text:        fmt.Sprintf("average %s %s: %s", m.name, span, q.format(mean)),
		Calculation: steps,
	}
}

// difference computes how a measure changed between two periods. For Moved it answers whether the measure moved in the
// direction that the question names. It returns nil unless there are two values, or if growth cannot be computed.
func (q *Calculation) difference(m *measure, values []figure, periods []Period) *Answer {
	if len(values) != 2 {
		return nil
	}
	first, last := values[0], values[1]
	change := q.change(first, last)
	if math.IsNaN(change.Value) {
		return nil
	}
	var a *Answer
	if q.Op == Moved {
		a = q.movement(m, first, last, change, periods)
	} else {
		a = &Answer{
			Figures: []kernel.Figure{change, first.Figure, last.Figure},
			Text: fmt.Sprintf("change of %s from %s to %s, from %s to %s: %s", m.name, periods[0], periods[1],
				q.format(first.Figure), q.format(last.Figure), q.format(change)),
		}
	}
	a.Calculation = q.changeCalculation(values, periods, change)
	return a
}

// figure is the value of a measure with its calculation. An example is 42.0% with named "gross profit / revenue" and
// numbers "630 / 1,500".
type figure struct {
	kernel.Figure
	named, numbers string // the calculation in names of metrics and in numbers
	stated         bool   // the value is a fact and was not computed
}

// withExtraDigit returns the figure with one more digit, for a further calculation. A stated figure is returned
// unchanged.
func (f figure) withExtraDigit() kernel.Figure {
	if !f.stated {
		f.Step /= 10
	}
	return f.Figure
}

// figure returns a result with the unit of its measure. Computed amounts of money are rounded to millions, small ones
// to thousands.
func (m *measure) figure(r result) figure {
	if r.fact {
		return figure{Figure: r.figure, stated: true}
	}
	f := kernel.Figure{Value: r.value, Step: 0.01, Unit: kernel.Unit(m.unit)}
	switch kernel.Unit(m.unit) {
	case kernel.Percent:
		f.Value, f.Step = f.Value*100, 0.1
	case kernel.Money:
		f.Step, f.Currency = 1e6, "USD"
		if math.Abs(f.Value) < 1e7 {
			f.Step = 1e3
		}
	case metrics.Days: // two decimals, as set above
	default:
		f.Unit = kernel.NoUnit
	}
	return figure{Figure: f, named: r.names, numbers: r.numbers}
}

// calculations returns the calculations of those values that were computed, separated by semicolons. It returns the
// empty string if all values are facts.
func calculations(values []figure, periods []Period) string {
	var parts []string
	for i, v := range values {
		if v.stated {
			continue
		}
		text := v.named + " = " + v.numbers + " = " + figures.Print(v.withExtraDigit())
		if len(values) > 1 {
			text = periods[i].String() + ": " + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// step returns the value of one unit of the last digit with which f is to be shown. The result is in the units of f's
// value.
func (q *Calculation) step(f figure) float64 {
	if q.decimals >= 0 && (f.Unit == kernel.Percent || f.Unit == kernel.NoUnit || f.Unit == metrics.Days) {
		return math.Pow10(-q.decimals)
	}
	return f.Step
}

// format formats a figure with the scale and the decimals that the question wants. If the scale has fewer digits than
// the figure, format adds the figure itself, as in "$1.6 billion, or $1,577 million".
func (q *Calculation) format(f kernel.Figure) string {
	if q.decimals >= 0 && f.Unit != kernel.Money {
		f.Step = math.Pow10(-q.decimals)
	}
	text := figures.Print(f)
	if q.scale > f.Step && f.Unit == kernel.Money {
		scaled := f
		scaled.Step = q.scale / 10
		if math.Abs(f.Value) >= 100*q.scale {
			scaled.Step = q.scale
		}
		if q.decimals > 0 {
			scaled.Step = q.scale * math.Pow10(-q.decimals)
		}
		if scaled.Step > f.Step {
			return figures.Print(scaled) + ", or " + text
		}
	}
	return text
}

// change returns the difference between two figures. For Growth it returns the growth in per cent of the first figure.
// The value is NaN if growth cannot be computed because the first figure is not positive.
func (q *Calculation) change(first, last figure) kernel.Figure {
	if q.Op == Growth && last.Unit != kernel.Percent {
		if first.Value <= 0 {
			return kernel.Figure{Value: math.NaN()}
		}
		return kernel.Figure{Value: 100 * (last.Value - first.Value) / first.Value, Step: 0.1, Unit: kernel.Percent}
	}
	f := last.Figure
	f.Value, f.Step = last.Value-first.Value, max(first.Step, last.Step)
	if f.Unit == kernel.Percent {
		f.Unit = kernel.Points
	}
	return f
}

// yes returns the verdict "Yes" or "No".
func yes(value bool) string {
	if value {
		return "Yes"
	}
	return "No"
}

// movement answers whether a figure moved in the direction that the question names. first and last are the values of
// the figure in the two periods, and change is the difference between them.
func (q *Calculation) movement(m *measure, first, last figure, change kernel.Figure, periods []Period) *Answer {
	way := "did not change"
	switch {
	case change.Value > 0:
		way = "increased"
	case change.Value < 0:
		way = "decreased"
	}
	verdict := yes(change.Value*float64(q.direction) > 0)
	if q.direction == 0 {
		verdict = yes(change.Value != 0)
	}
	if q.asksDirection {
		verdict = "" // the question asks for the direction
	}
	text := fmt.Sprintf("%s %s, from %s in %s to %s in %s", m.name, way, q.format(first.Figure), periods[0],
		q.format(last.Figure), periods[1])
	distance := change
	if distance.Value != 0 {
		distance.Value = math.Abs(distance.Value)
		text += ", by " + q.format(distance)
	}
	return &Answer{Verdict: verdict, Text: text, Figures: []kernel.Figure{first.Figure, last.Figure, distance}}
}

// changeCalculation returns the calculation of a change between two values, after the calculations of the values.
func (q *Calculation) changeCalculation(values []figure, periods []Period, change kernel.Figure) string {
	first, last := figures.Plain(values[0].withExtraDigit()), figures.Plain(values[1].withExtraDigit())
	text := last + " - " + figures.Bracket(first)
	if q.Op == Growth && change.Unit == kernel.Percent {
		text = "(" + text + ") / " + first
	}
	text += " = " + figures.Plain(change)
	if steps := calculations(values, periods); steps != "" {
		return steps + "; " + text
	}
	return text
}

// judge answers a question about a property of f, the value of m in the period p: its sign (Sign), whether it is
// above or below a threshold (Beyond), whether it is not zero (Paid), or whether it is good (Good). For Good it may
// return nil.
func (q *Calculation) judge(b *Book, m *measure, f figure, p Period) *Answer {
	holds := false
	switch q.Op { //nolint:exhaustive // only operations with a verdict
	case Sign:
		holds = f.Value*float64(q.direction) > 0
	case Beyond:
		holds = (f.Value-q.limit)*float64(q.direction) > 0
	case Paid:
		holds = f.Value != 0
	case Good:
		return q.good(b, m, f, p)
	}
	text := fmt.Sprintf("%s was %s in %s", m.name, q.format(f.Figure), p)
	return &Answer{Verdict: yes(holds), Text: text, Figures: []kernel.Figure{f.Figure}}
}

// consistency answers whether a figure changes from year to year by no more than q.limit, in percentage points for a
// percentage and in per cent otherwise. It returns nil if there are fewer than two values.
func (q *Calculation) consistency(m *measure, values []figure, periods []Period) *Answer {
	if len(values) < 2 {
		return nil
	}
	largest, stated := 0.0, make([]string, len(values))
	a := &Answer{Calculation: calculations(values, periods)}
	for i, v := range values {
		stated[i] = q.format(v.Figure) + " in " + periods[i].String()
		a.Figures = append(a.Figures, v.Figure)
		if i == 0 {
			continue
		}
		move := math.Abs(v.Value - values[i-1].Value)
		if m.key == "dividends_per_share" && v.Value > values[i-1].Value {
			continue // a dividend that rises counts as stable
		}
		if v.Unit != kernel.Percent {
			move = 100 * move / math.Abs(values[i-1].Value)
		}
		largest = max(largest, move)
	}
	largestMove := kernel.Figure{Value: largest, Step: 0.1, Unit: kernel.Points}
	if values[0].Unit != kernel.Percent {
		largestMove.Unit = kernel.Percent
	}
	a.Figures = append(a.Figures, largestMove)
	a.Verdict = yes(largest <= q.limit)
	a.Text = fmt.Sprintf("%s was %s; it moved by at most %s in a year", m.name, figures.And(stated), figures.Print(largestMove))
	if m.key == "dividends_per_share" {
		a.Text = fmt.Sprintf("%s was %s; it was cut by at most %s in a year", m.name, figures.And(stated), figures.Print(largestMove))
	}
	return a
}

// extreme answers which of several measures is the greatest or the least in a period. It returns nil if there
// is not exactly one period or if a figure is missing.
func (q *Calculation) extreme(b *Book, periods []Period) *Answer {
	if len(periods) != 1 {
		return nil
	}
	best, stated := 0, make([]string, len(q.measures)) // best is the index of the measure
	a := &Answer{}
	for i := range q.measures {
		r, ok := b.eval(q.measures[i].expr, periods[0], 0)
		if !ok {
			return nil
		}
		f := q.measures[i].figure(r)
		a.Figures = append(a.Figures, f.Figure)
		stated[i] = q.measures[i].name + " " + q.format(f.Figure)
		if (f.Value-a.Figures[best].Value)*float64(q.direction) > 0 {
			best = i
		}
	}
	word := "most"
	if q.direction < 0 {
		word = "least"
	}
	// For example, "net cash provided by operating activities was the most in FY2019: …".
	a.Text = fmt.Sprintf("%s was the %s in %s: %s", q.measures[best].name, word, periods[0], figures.And(stated))
	return a
}

// periodNames returns the names of periods as a list, such as "FY2018 and FY2019".
func periodNames(periods []Period) string {
	names := make([]string, len(periods))
	for i, p := range periods {
		names[i] = p.String()
	}
	return figures.And(names)
}

// irrelevant answers a question about whether a measure is meaningful, but only if the measure is not. That is the
// case if the issuer's statements never contain its inputs: the statements of a bank, for example, have neither cost
// of sales nor current assets. irrelevant returns nil if the question is a different one, if the measure can be
// computed, or if the book has no statement at all.
func (q *Calculation) irrelevant(b *Book) *Answer {
	if !q.mayBeIrrelevant || len(q.measures) != 1 || b.has("current_assets") || b.has("inventory") {
		return nil
	}
	needed := make(map[string]bool)
	formula(q.measures[0].key).addKeys(needed)
	for _, key := range []string{"cost_of_revenue", "current_assets", "current_liabilities"} {
		if !needed[key] || b.has(key) {
			continue
		}
		m, _ := metrics.Metric(key)
		for _, sign := range signs[m.Statement] { // a metric that shows that the statement was read
			if f, ok := b.last(sign); ok {
				p := Period{f.Period.AnyYear(), f.Period.Quarter}
				b.use(f, p)
				return &Answer{
					Text: fmt.Sprintf("%s is not a relevant metric, since the statements report no %s (such as that for %s)",
						q.measures[0].name, m.Name, p), Used: b.used,
				}
			}
		}
	}
	return nil
}
