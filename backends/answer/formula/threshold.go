package formula

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/inquiry"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// passesThreshold reports whether a figure is above the threshold of r, or below it if r.Above is false. A figure
// without a scale is compared with the threshold's printed digits.
func (r request) passesThreshold(f kernel.Figure) bool {
	limit := r.Threshold.Value
	if f.Step <= 1 && r.Threshold.Step > 1 && f.Unit != kernel.Percent { // the scale of f is unknown
		limit /= scaleOf(r.Threshold)
	}
	if r.Above {
		return f.Value > limit
	}
	return f.Value < limit
}

// scaleOf returns the scale in which a figure is printed, such as 1e6 for millions.
func scaleOf(f kernel.Figure) float64 {
	for _, scale := range []float64{1e12, 1e9, 1e6, 1e3} {
		if f.Step >= scale*0.99 {
			return scale
		}
	}
	return 1
}

// subjectPoints returns the series of the subject, its points to compare, and the score of the match. It returns a nil
// series if there is no such series or if it has fewer than two points.
func (r request) subjectPoints(f *finder, periods []kernel.Period) (*Series, []Point, float64) {
	s, score, ok := f.findSubject(r.Subjects[0], periods)
	if !ok {
		return nil, nil, 0
	}
	points := s.years()
	if r.Quarters {
		points = s.Points
	}
	if len(periods) > 1 {
		points, _ = s.pointsOf(periods)
	}
	if len(points) < 2 {
		return nil, nil, 0
	}
	return s, points, score
}

// thresholdIn counts the periods in which the figure of a subject passes the threshold, or lists them if r.Op is Where.
func (r request) thresholdIn(f *finder) *Value {
	s, points, score := r.subjectPoints(f, nil)
	if s == nil {
		return nil
	}
	if r.Range {
		first, last := r.Periods[0].AnyYear(), r.Periods[1].AnyYear()
		points = slices.DeleteFunc(slices.Clone(points), func(p Point) bool {
			y := p.Period.AnyYear()
			return y < min(first, last) || y > max(first, last)
		})
	}
	v := &Value{Op: r.Op, Inputs: inputs(s, points), Confidence: score}
	var names, compared []string
	for _, p := range points {
		if !r.mayCompare(p.Figure) {
			return nil
		}
		name := pointName(p, points)
		if r.passesThreshold(p.Figure) {
			names = append(names, name)
		}
		compared = append(compared, figures.Print(p.Figure)+" ("+name+")")
	}
	word, unit := " below ", "years"
	if r.Above {
		word = " above "
	}
	if r.Quarters {
		unit = "quarters"
	}
	v.Formula = figures.And(compared) + " compared with " + figures.Print(r.Threshold)
	v.Label = unit + " with " + s.Title() + word + figures.Print(r.Threshold)
	if r.Op == inquiry.Where {
		if v.Words = names; len(names) == 0 {
			return nil
		}
		return v
	}
	if v.Label = "number of " + v.Label; len(names) > 0 {
		v.Label += " (" + figures.And(names) + ")"
	}
	return v.setResult(kernel.Figure{Value: float64(len(names)), Step: 1})
}

// mayCompare reports whether a figure may be compared with the threshold. It returns false if their units differ, or if
// one is hundreds of times as large as the other, because then the scale of the figure is probably unknown.
func (r request) mayCompare(f kernel.Figure) bool {
	if !unitsAgree(f, r.Threshold) {
		return false
	}
	if r.Threshold.Step > 1 && f.Step >= 1 {
		return true
	}
	return f.Value == 0 || r.Threshold.Value == 0 || math.Abs(math.Log10(math.Abs(f.Value/r.Threshold.Value))) < 2.5
}

// pointName returns the name of a point among the points of its series: its year, if no other point is of that year,
// and otherwise its Head.
func pointName(p Point, points []Point) string {
	sameYear := 0
	for _, q := range points {
		if q.Period.AnyYear() == p.Period.AnyYear() {
			sameYear++
		}
	}
	if sameYear == 1 && p.Period.Quarter == 0 && p.Period.Known() {
		return strconv.Itoa(p.Period.AnyYear())
	}
	return strings.TrimSpace(p.Head)
}

// extremeIn returns the period in which the figure of a subject is highest, or lowest if r.Above is false. It returns
// nil if there are several such periods.
func (r request) extremeIn(f *finder) *Value {
	s, points, score := r.subjectPoints(f, r.Periods)
	if s == nil {
		return nil
	}
	best := points[0]
	for _, p := range points[1:] {
		if p.Value != best.Value && (p.Value > best.Value) == r.Above {
			best = p
		}
	}
	for _, p := range points {
		if p.Value == best.Value && p.Period != best.Period || !combinable(p.Figure, best.Figure) {
			return nil
		}
	}
	word := "lowest "
	if r.Above {
		word = "highest "
	}
	return &Value{
		Op: r.Op, Label: "period with the " + word + s.Title(), Words: []string{pointName(best, points)},
		Inputs: inputs(s, points), Confidence: score,
	}
}
