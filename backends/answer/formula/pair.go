package formula

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/inquiry"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// pairIn computes a value from two figures: those of one subject in two periods, or those of two subjects in one.
func (w want) pairIn(f *finder) *Value {
	if len(w.Subjects) == 2 {
		return w.twoThings(f)
	}
	periods := w.Periods
	if len(periods) == 1 && periods[0].Year != 0 && periods[0].Quarter == 0 && periods[0].End == "" {
		before := periods[0] // the change from the year before
		before.Year--
		periods = []kernel.Period{before, periods[0]}
	}
	if len(periods) != 0 && len(periods) != 2 {
		return nil
	}
	s, score, ok := f.one(w.Subjects[0], periods)
	if !ok {
		return nil
	}
	points, _ := s.at(periods)
	if len(periods) == 0 {
		points = s.years()
	}
	if len(points) != 2 { // it is not clear which two years are meant
		return nil
	}
	points = ordered(points)
	v := &Value{Op: w.Op, Inputs: inputs(s, points), Confidence: score}
	return w.combine(v, points[1], points[0], " "+s.Title()+" from "+periodName(points[0].Period)+" to "+
		periodName(points[1].Period))
}

// twoThings computes the difference or the ratio of two subjects in one period.
func (w want) twoThings(f *finder) *Value {
	if len(w.Periods) > 1 {
		return nil
	}
	a, sa, ok := f.one(w.Subjects[0], w.Periods)
	b, sb, both := f.one(w.Subjects[1], w.Periods)
	if !ok || !both || a == b {
		return nil
	}
	if w.Op != inquiry.Change && sa < 0.9 && strings.Contains(w.Subjects[0], " and ") { // the sum of two things
		return nil
	}
	pa, pb := w.periodsOr(1, a), w.periodsOr(1, b)
	if len(pa) != 1 || len(pb) != 1 || pa[0].Period.AnyYear() != pb[0].Period.AnyYear() ||
		w.Op == inquiry.Change && pa[0].Period != pb[0].Period {
		return nil
	}
	v := &Value{Op: w.Op, Inputs: append(inputs(a, pa), inputs(b, pb)...), Confidence: min(sa, sb)}
	label := map[inquiry.Op]string{
		inquiry.Change: "difference between " + a.Title() + " and ", inquiry.Ratio: "ratio of " + a.Title() + " to ",
		inquiry.Share: a.Title() + " as a percentage of ",
	}[w.Op]
	v.Label = label + b.Title() + w.when(pa)
	return w.combine(v, pa[0], pb[0], "")
}

// combine computes the value from a figure and the one that it is compared with. of names a change of one subject.
// It returns nil if the two may not be combined.
func (w want) combine(v *Value, p, with Point, of string) *Value {
	// Net sales per employee are of two units.
	each := w.Op == inquiry.Ratio && (counted(p.Figure) || counted(with.Figure)) && comparable(p.Figure, with.Figure)
	if !each && !kindred(p.Figure, with.Figure) {
		return nil
	}
	a, b := figures.Plain(p.Figure), figures.Plain(with.Figure)
	result := kernel.Figure{Step: 0.01, Unit: kernel.Percent}
	switch w.Op { //nolint:exhaustive // of pairs alone
	case inquiry.Change:
		result = kernel.Figure{
			Value: p.Value - with.Value, Step: min(nonzero(p.Step), nonzero(with.Step)), Unit: apart(p.Unit),
			Currency: cmp.Or(p.Currency, with.Currency),
		}
		v.Label, v.Formula = cmp.Or(v.Label, "change in"+of), a+" - "+figures.Bracket(b)
	case inquiry.Growth:
		if with.Value == 0 || with.Value < 0 != (p.Value < 0) {
			return nil
		}
		result.Value = (p.Value - with.Value) / with.Value * 100 // of two losses, how much larger the loss is
		v.Label, v.Formula = "percentage change of"+of, "("+a+" - "+figures.Bracket(b)+") / "+figures.Bracket(b)
	case inquiry.Annual:
		years := p.Period.AnyYear() - with.Period.AnyYear()
		if years < 1 || with.Value <= 0 || p.Value <= 0 {
			return nil
		}
		result.Value = (math.Pow(p.Value/with.Value, 1/float64(years)) - 1) * 100
		v.Label, v.Formula = "compound annual growth rate of"+of, fmt.Sprintf("(%s / %s)^(1/%d) - 1", a, b, years)
	case inquiry.Ratio, inquiry.Share:
		if with.Value == 0 {
			return nil
		}
		v.Formula = a + " / " + figures.Bracket(b)
		if result.Value = p.Value / with.Value; w.Op == inquiry.Share {
			result.Value *= 100
			break
		}
		if result.Unit = kernel.NoUnit; math.Abs(result.Value) < 1 {
			result.Step = 0.001
		}
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
