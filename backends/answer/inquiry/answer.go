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

// Answer is the result of a calculation. Used are the facts from which it was computed.
type Answer struct {
	// Verdict is "Yes" or "No", or empty if the question wants neither.
	Verdict string
	// Text is the sentence that states the result, without the name of the issuer.
	Text string
	// Calculation shows how the figure was computed. It is empty for a figure that was looked up.
	Calculation string
	Figures     []kernel.Figure
	Used        []Used
}

// Answer answers a question from the facts of a book. If answer is nil, a figure is missing or the inquiry
// cannot be computed, and missing lists the missing figures.
func (q *Calculation) Answer(b *Book) (answer *Answer, missing []Need) {
	b.used, b.missing, b.definitions, b.steps = nil, nil, q.definitions, 0
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

// periods returns the periods to compute for, the earliest first. It returns nil if the inquiry names no period and the
// book has no latest year.
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
	years := q.Years
	course := q.Op == Consistent || q.Op == Trend || q.Op == Always || q.Op == Peak
	if course && years == 0 && len(periods) == 1 {
		years = 3
	}
	switch {
	case (q.Op == Average || q.Op == Sum) && q.Range && last.Quarter == 0, course && q.Range && last.Quarter == 0:
		years = last.Year - periods[0].Year + 1
	case q.Op != Average && !course && q.Op != Sum:
		years = 0
	}
	if years > 1 && years <= 10 {
		periods = nil
		for y := last.Year - years + 1; y <= last.Year; y++ {
			periods = append(periods, Period{Year: y})
		}
	}
	if q.Op == Annual && q.Years > 1 && len(periods) == 1 {
		periods = []Period{{last.Year - q.Years, last.Quarter}, last}
	}
	if (q.Op == Change || q.Op == Growth || q.Op == Moved) && len(periods) == 1 {
		periods = []Period{periods[0].Before(), periods[0]}
	}
	return periods
}

// singleMeasure answers a question about one measure.
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
	a := &Answer{}
	first, last := values[0], values[len(values)-1]
	from, to := periods[0], periods[len(periods)-1]
	span := fmt.Sprintf("from %s to %s", from, to)
	switch q.Op {
	case Value:
		stated := make([]string, len(values))
		for i, v := range values {
			stated[i] = q.format(v.Figure)
			if len(values) > 1 {
				stated[i] += " in " + periods[i].String()
			}
			a.Figures = append(a.Figures, v.Figure)
		}
		a.Text = m.name + " in " + periodNames(periods) + ": " + figures.And(stated)
		if len(values) > 1 {
			a.Text = m.name + ": " + figures.And(stated)
		}
		a.Calculation = calculations(values, periods)
	case Annual:
		years := to.Year - from.Year
		if len(values) != 2 || years < 1 || first.Value <= 0 || last.Value <= 0 {
			return nil
		}
		rate := kernel.Figure{
			Value: 100 * (math.Pow(last.Value/first.Value, 1/float64(years)) - 1), Step: 0.1,
			Unit: kernel.Percent,
		}
		a.Figures = []kernel.Figure{rate, first.Figure, last.Figure}
		a.Text = fmt.Sprintf("compound annual growth of %s %s: %s", m.name, span, q.format(rate))
		a.Calculation = fmt.Sprintf("(%s / %s) ^ (1 / %d) - 1 = %s", figures.Plain(last.withExtraDigit()),
			figures.Plain(first.withExtraDigit()), years, figures.Plain(rate))
	case Average, Sum:
		if len(values) < 2 {
			return nil
		}
		sum, parts := 0.0, make([]string, len(values))
		for i, v := range values {
			sum += v.Value
			parts[i] = figures.Plain(v.withExtraDigit())
		}
		mean := last.Figure
		mean.Value, mean.Step = sum/float64(len(values)), q.step(last)
		if q.Op == Sum {
			mean.Value = sum
			a.Figures = []kernel.Figure{mean}
			a.Text = fmt.Sprintf("sum of %s over %d periods, %s to %s: %s", m.name, len(values), from, to, q.format(mean))
			a.Calculation = strings.Join(parts, " + ") + " = " + figures.Plain(mean)
			break
		}
		a.Figures = []kernel.Figure{mean}
		a.Text = fmt.Sprintf("average %s over %d periods, %s to %s: %s", m.name, len(values), from, to, q.format(mean))
		a.Calculation = calculations(values, periods)
		if a.Calculation != "" {
			a.Calculation += "; "
		}
		a.Calculation += "(" + strings.Join(parts, " + ") + ") / " + strconv.Itoa(len(values)) + " = " + figures.Plain(mean)
	case Change, Growth:
		if len(values) != 2 {
			return nil
		}
		change := q.change(first, last)
		if change.Unit == "" && math.IsNaN(change.Value) {
			return nil
		}
		a.Figures = []kernel.Figure{change, first.Figure, last.Figure}
		a.Text = fmt.Sprintf("change of %s %s, from %s to %s: %s", m.name, span, q.format(first.Figure),
			q.format(last.Figure), q.format(change))
		a.Calculation = q.changeCalculation(values, periods, change)
	case Moved:
		if len(values) != 2 {
			return nil
		}
		var change kernel.Figure
		a, change = q.movement(m, first, last, from, to)
		a.Calculation = q.changeCalculation(values, periods, change)
	case Sign, Beyond, Good, Paid:
		a = q.judge(b, m, last, to)
		if a != nil && a.Calculation == "" {
			a.Calculation = calculations(values, periods)
		}
	case Consistent:
		a = q.consistency(m, values, periods)
	case Trend, Always, Peak:
		a = q.trend(m, values, periods)
	default:
		return nil
	}
	return a
}

// figure is a value with its calculation, once in names of metrics and once in numbers. stated reports that the value
// is a fact and was not computed.
type figure struct {
	kernel.Figure
	named, numbers string
	stated         bool
}

// withExtraDigit returns the figure with one more digit, for a further calculation. A stated figure is returned
// unchanged.
func (f figure) withExtraDigit() kernel.Figure {
	if !f.stated {
		f.Step /= 10
	}
	return f.Figure
}

// figure returns a result with the unit of its measure.
func (m *measure) figure(r result) figure {
	if r.fact {
		f := r.figure
		return figure{Figure: f, stated: true}
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
	case metrics.Days:
	default:
		f.Unit = kernel.NoUnit
	}
	return figure{Figure: f, named: r.names, numbers: r.numbers}
}

// calculations returns the calculations of those values that were computed, separated by semicolons.
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

// step returns the size of one unit of the last digit to show.
func (q *Calculation) step(f figure) float64 {
	if q.decimals >= 0 && (f.Unit == kernel.Percent || f.Unit == kernel.NoUnit || f.Unit == metrics.Days) {
		return math.Pow10(-q.decimals)
	}
	return f.Step
}

// format formats a figure with the scale and the decimals that the inquiry wants.
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

func yes(value bool) string {
	if value {
		return "Yes"
	}
	return "No"
}

// movement answers whether a figure moved in the direction that the question names. It also returns the change.
func (q *Calculation) movement(m *measure, first, last figure, from, to Period) (*Answer, kernel.Figure) {
	change := q.change(first, last)
	distance := change
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
	text := fmt.Sprintf("%s %s, from %s in %s to %s in %s", m.name, way, q.format(first.Figure), from,
		q.format(last.Figure), to)
	if distance.Value != 0 {
		distance.Value = math.Abs(distance.Value)
		text += ", by " + q.format(distance)
	}
	return &Answer{Verdict: verdict, Text: text, Figures: []kernel.Figure{first.Figure, last.Figure, distance}}, change
}

// changeCalculation returns the calculation of a change.
func (q *Calculation) changeCalculation(values []figure, periods []Period, change kernel.Figure) string {
	first, last := figures.Plain(values[0].withExtraDigit()), figures.Plain(values[1].withExtraDigit())
	text := last + " - " + figures.Bracket(first)
	if q.Op == Growth && change.Unit == kernel.Percent {
		text = "(" + text + ") / " + first
	}
	text += " = " + figures.Plain(change)
	if before := calculations(values, periods); before != "" {
		return before + "; " + text
	}
	return text
}

// judge answers a question for a property of a figure: its sign, a threshold, whether there is any, or whether it is
// good.
func (q *Calculation) judge(b *Book, m *measure, f figure, p Period) *Answer {
	text := fmt.Sprintf("%s was %s in %s", m.name, q.format(f.Figure), p)
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
	return &Answer{Verdict: yes(holds), Text: text, Figures: []kernel.Figure{f.Figure}}
}

// consistency answers whether a figure changes little from year to year. It returns nil if there are fewer than two
// values.
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
			continue // a dividend that is not cut is stable
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
	best, stated := 0, make([]string, len(q.measures))
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

func periodNames(periods []Period) string {
	names := make([]string, len(periods))
	for i, p := range periods {
		names[i] = p.String()
	}
	return figures.And(names)
}

// irrelevant answers the question whether a measure is meaningful. The measure is not meaningful if the issuer's
// statements never contain its inputs: the statements of a bank have neither cost of sales nor current assets.
// irrelevant returns nil if the question is a different one or if the measure can be computed.
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
		for _, sign := range signs[m.Statement] {
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
