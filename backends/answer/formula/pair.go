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

// pairIn computes a value from two figures: one subject in two periods, or two subjects in one period.
func (r request) pairIn(f *finder) *Value {
	if len(r.Subjects) == 2 {
		return r.twoSubjects(f)
	}
	periods := r.Periods
	if len(periods) == 1 && periods[0].Year != 0 && periods[0].Quarter == 0 && periods[0].End == "" {
		previous := periods[0] // a change in a year is the change from the previous year
		previous.Year--
		periods = []kernel.Period{previous, periods[0]}
	}
	if len(periods) != 0 && len(periods) != 2 {
		return nil
	}
	s, score, ok := f.findSubject(r.Subjects[0], periods)
	if !ok {
		return nil
	}
	points, _ := s.pointsOf(periods)
	if len(periods) == 0 {
		points = s.years()
	}
	if len(points) != 2 { // it is not clear which two years are meant
		return nil
	}
	points = ordered(points)
	v := &Value{Op: r.Op, Inputs: inputs(s, points), Confidence: score}
	return r.combine(v, points[1], points[0], " "+s.Title()+" from "+periodName(points[0].Period)+" to "+
		periodName(points[1].Period))
}

// twoSubjects computes the difference or the ratio of two subjects in one period.
func (r request) twoSubjects(f *finder) *Value {
	if len(r.Periods) > 1 {
		return nil
	}
	a, scoreA, okA := f.findSubject(r.Subjects[0], r.Periods)
	b, scoreB, okB := f.findSubject(r.Subjects[1], r.Periods)
	if !okA || !okB || a == b {
		return nil
	}
	if r.Op != inquiry.Change && scoreA < 0.9 && strings.Contains(r.Subjects[0], " and ") {
		return nil // the question may mean the sum of two rows
	}
	pointsA, pointsB := r.namedOrLatest(1, a), r.namedOrLatest(1, b)
	if len(pointsA) != 1 || len(pointsB) != 1 || pointsA[0].Period.AnyYear() != pointsB[0].Period.AnyYear() ||
		r.Op == inquiry.Change && pointsA[0].Period != pointsB[0].Period {
		return nil
	}
	v := &Value{Op: r.Op, Inputs: append(inputs(a, pointsA), inputs(b, pointsB)...), Confidence: min(scoreA, scoreB)}
	label := map[inquiry.Op]string{
		inquiry.Change: "difference between " + a.Title() + " and ", inquiry.Ratio: "ratio of " + a.Title() + " to ",
		inquiry.Share: a.Title() + " as a percentage of ",
	}[r.Op]
	v.Label = label + b.Title() + periodPhrase(pointsA)
	return r.combine(v, pointsA[0], pointsB[0], "")
}

// combine completes the value v by the operation r.Op, which compares the figure p with the figure base. base is the
// figure of the earlier period or of the second subject. change names the change of a single subject, for the label.
// combine returns nil if the figures may not be combined.
func (r request) combine(v *Value, p, base Point, change string) *Value {
	// Sales per employee combine an amount with a number of things.
	perThing := r.Op == inquiry.Ratio && (mayBeCount(p.Figure) || mayBeCount(base.Figure)) &&
		unitsAgree(p.Figure, base.Figure)
	if !perThing && !combinable(p.Figure, base.Figure) {
		return nil
	}
	a, b := figures.Plain(p.Figure), figures.Plain(base.Figure)
	result := kernel.Figure{Step: 0.01, Unit: kernel.Percent}
	switch r.Op { //nolint:exhaustive // only operations on pairs
	case inquiry.Change:
		result = kernel.Figure{
			Value: p.Value - base.Value, Step: min(knownStep(p.Step), knownStep(base.Step)), Unit: differenceUnit(p.Unit),
			Currency: cmp.Or(p.Currency, base.Currency),
		}
		v.Label, v.Formula = cmp.Or(v.Label, "change in"+change), a+" - "+figures.Bracket(b)
	case inquiry.Growth:
		if base.Value == 0 || (base.Value < 0) != (p.Value < 0) {
			return nil
		}
		result.Value = (p.Value - base.Value) / base.Value * 100 // for two losses, the growth of the loss
		v.Label, v.Formula = "percentage change of"+change, "("+a+" - "+figures.Bracket(b)+") / "+figures.Bracket(b)
	case inquiry.Annual:
		years := p.Period.AnyYear() - base.Period.AnyYear()
		if years < 1 || base.Value <= 0 || p.Value <= 0 {
			return nil
		}
		result.Value = (math.Pow(p.Value/base.Value, 1/float64(years)) - 1) * 100
		v.Label, v.Formula = "compound annual growth rate of"+change, fmt.Sprintf("(%s / %s)^(1/%d) - 1", a, b, years)
	case inquiry.Ratio, inquiry.Share:
		if base.Value == 0 {
			return nil
		}
		v.Formula = a + " / " + figures.Bracket(b)
		result.Value = p.Value / base.Value
		if r.Op == inquiry.Share {
			result.Value *= 100
			break
		}
		if result.Unit = kernel.NoUnit; math.Abs(result.Value) < 1 { // a small ratio has a third decimal
			result.Step = 0.001
		}
	}
	return v.setResult(result)
}

// differenceUnit returns the unit of a difference of two figures with the unit u. A share that rises from 10% to 12%
// has not risen by 2%, but by 2 percentage points.
func differenceUnit(u kernel.Unit) kernel.Unit {
	if u == kernel.Percent {
		return kernel.Points
	}
	return u
}
