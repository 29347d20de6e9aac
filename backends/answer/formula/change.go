package formula

import (
	"cmp"
	"fmt"
	"math"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/inquiry"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

func (w want) changeIn(f *finder) *Value {
	if len(w.Subjects) == 2 {
		return w.twoThings(f)
	}
	periods := w.Periods
	switch len(periods) {
	case 0, 1, 2:
	default:
		return nil
	}
	if len(periods) == 1 && periods[0].Year != 0 && periods[0].Quarter == 0 { // the change from the year before
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
	if len(periods) == 0 && len(s.years()) != 2 { // it is not clear which two years are meant
		return nil
	}
	if len(points) != 2 {
		return nil
	}
	points = ordered(points)
	return w.change(s, points[0], points[1], score)
}

// change returns the change from one point to another.
func (w want) change(s *Series, from, to Point, score float64) *Value {
	if !kindred(from.Figure, to.Figure) {
		return nil
	}
	v := &Value{Op: w.Op, Inputs: inputs(s, []Point{from, to}), Confidence: score}
	a, b := figures.Plain(from.Figure), figures.Plain(to.Figure)
	span := " from " + periodName(from.Period) + " to " + periodName(to.Period)
	var result kernel.Figure
	switch w.Op { //nolint:exhaustive // of changes alone
	case inquiry.Change:
		result = kernel.Figure{
			Value: to.Value - from.Value, Step: min(nonzero(from.Step), nonzero(to.Step)),
			Unit: apart(to.Unit), Currency: to.Currency,
		}
		v.Label = "change in " + s.Title() + span
		v.Formula = b + " - " + figures.Bracket(a)
	case inquiry.Growth:
		if from.Value == 0 || from.Value < 0 != (to.Value < 0) {
			return nil
		}
		result = kernel.Figure{Value: (to.Value - from.Value) / math.Abs(from.Value) * 100, Step: 0.01, Unit: kernel.Percent}
		if from.Value < 0 { // of two losses, how much larger the loss is
			result.Value = (to.Value - from.Value) / from.Value * 100
		}
		v.Label = "percentage change of " + s.Title() + span
		v.Formula = "(" + b + " - " + figures.Bracket(a) + ") / " + figures.Bracket(a)
	case inquiry.Annual:
		years := to.Period.AnyYear() - from.Period.AnyYear()
		if years < 1 || from.Value <= 0 || to.Value <= 0 {
			return nil
		}
		result = kernel.Figure{
			Value: (math.Pow(to.Value/from.Value, 1/float64(years)) - 1) * 100, Step: 0.01,
			Unit: kernel.Percent,
		}
		v.Label = "compound annual growth rate of " + s.Title() + span
		v.Formula = fmt.Sprintf("(%s / %s)^(1/%d) - 1", b, a, years)
	}
	return v.with(result)
}

// apart returns the unit of a difference. A share that rises from 10% to 12% has not risen by 2%.
func apart(u kernel.Unit) kernel.Unit {
	if u == kernel.Percent {
		return kernel.Points
	}
	return u
}

// twoThings returns the difference of two subjects in one period.
func (w want) twoThings(f *finder) *Value {
	if w.Op != inquiry.Change {
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
	v.Formula = figures.Plain(pa[0].Figure) + " - " + figures.Bracket(figures.Plain(pb[0].Figure))
	return v.with(kernel.Figure{
		Value: pa[0].Value - pb[0].Value, Step: min(nonzero(pa[0].Step), nonzero(pb[0].Step)),
		Unit: apart(pa[0].Unit), Currency: cmp.Or(pa[0].Currency, pb[0].Currency),
	})
}
