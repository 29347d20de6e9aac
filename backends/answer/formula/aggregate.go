package formula

import (
	"math"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/inquiry"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

func (w want) aggregate(f *finder) *Value {
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
		names = append(names, figures.Bracket(figures.Plain(p.Figure)))
	}
	result := kernel.Figure{Value: total, Step: step, Unit: points[0].Unit, Currency: points[0].Currency}
	v.Label, v.Formula = "sum of "+s.Title()+w.when(points), strings.Join(names, " + ")
	if w.Op == inquiry.Average {
		result.Value /= float64(len(points))
		for i := 0; i < 2 && math.Abs(math.Remainder(result.Value, result.Step)) > result.Step*1e-6; i++ {
			result.Step /= 10
		}
		v.Label, v.Formula = "average of "+s.Title()+w.when(points), "("+v.Formula+") / "+strconv.Itoa(len(points))
	}
	return v.with(result)
}

func (w want) ratioIn(f *finder) *Value {
	if len(w.Periods) == 2 && w.Op == inquiry.Ratio { // a ratio of one thing between two years
		return nil
	}
	if len(w.Periods) > 1 {
		return nil
	}
	if first, second, both := strings.Cut(w.Subjects[0], " and "); both && !strings.Contains(second, " and ") {
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
	if len(pa) != 1 || len(pb) != 1 || pb[0].Value == 0 || pa[0].Period.AnyYear() != pb[0].Period.AnyYear() {
		return nil
	}
	each := w.Op == inquiry.Ratio && (counted(pa[0].Figure) || counted(pb[0].Figure)) // such as net sales per employee
	if !kindred(pa[0].Figure, pb[0].Figure) && (!each || !comparable(pa[0].Figure, pb[0].Figure)) {
		return nil
	}
	v := &Value{
		Op: w.Op, Inputs: append(inputs(a, pa), inputs(b, pb)...), Confidence: min(sa, sb),
		Formula: figures.Plain(pa[0].Figure) + " / " + figures.Bracket(figures.Plain(pb[0].Figure)),
	}
	result := kernel.Figure{Value: pa[0].Value / pb[0].Value, Step: 0.01}
	if math.Abs(result.Value) < 1 {
		result.Step = 0.001
	}
	v.Label = "ratio of " + a.Title() + " to " + b.Title() + w.when(pa)
	if w.Op == inquiry.Share {
		result = kernel.Figure{Value: result.Value * 100, Step: 0.01, Unit: kernel.Percent}
		v.Label = a.Title() + " as a percentage of " + b.Title() + w.when(pa)
	}
	return v.with(result)
}

// sharesOf returns the ratio of the sum of two things to a third one, or nil if it cannot be told.
func (w want) sharesOf(f *finder, first, second string) *Value {
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
	v.Formula = "(" + figures.Plain(parts[0].Figure) + " + " + figures.Bracket(figures.Plain(parts[1].Figure)) + ") / " +
		figures.Bracket(figures.Plain(parts[2].Figure))
	result := kernel.Figure{Value: (parts[0].Value + parts[1].Value) / parts[2].Value, Step: 0.001}
	v.Label = "ratio of " + names[0] + " and " + names[1] + " to " + names[2] + w.when(parts[:1])
	if w.Op == inquiry.Share {
		result = kernel.Figure{Value: result.Value * 100, Step: 0.01, Unit: kernel.Percent}
		v.Label = names[0] + " and " + names[1] + " as a percentage of " + names[2] + w.when(parts[:1])
	}
	return v.with(result)
}
