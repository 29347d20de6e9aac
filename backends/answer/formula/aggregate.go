package formula

import (
	"math"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/inquiry"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// maxRange is the largest number of years between the first and the last year of a range.
const maxRange = 10

// aggregate computes the sum or the average of a subject over periods: those that r names, all years of the range that
// r names, or all periods of the table.
func (r request) aggregate(f *finder) *Value {
	periods := r.Periods
	if r.Range && len(periods) == 2 && periods[0].End == "" && periods[1].End == "" { // add the years between
		first, last := min(periods[0].Year, periods[1].Year), max(periods[0].Year, periods[1].Year)
		if last-first > maxRange {
			return nil
		}
		periods = nil
		for year := first; year <= last; year++ {
			p := r.Periods[0]
			p.Year = year
			periods = append(periods, p)
		}
	}
	s, score, ok := f.findSubject(r.Subjects[0], periods)
	if !ok {
		return nil
	}
	var points []Point
	if len(periods) > 0 {
		points, _ = s.pointsOf(periods)
	} else {
		points = s.years()
	}
	if len(points) < 2 {
		return nil
	}
	if r.Loose && s.total { // the question may mean the row that has the total
		return r.lookUpIn(f)
	}
	v := &Value{Op: r.Op, Inputs: inputs(s, points), Confidence: score}
	total, step := 0.0, unknownStep
	var summands []string
	for _, p := range points {
		if !combinable(p.Figure, points[0].Figure) {
			return nil
		}
		total += p.Value
		step = min(step, knownStep(p.Step))
		summands = append(summands, figures.Bracket(figures.Plain(p.Figure)))
	}
	result := kernel.Figure{Value: total, Step: step, Unit: points[0].Unit, Currency: points[0].Currency}
	v.Label, v.Formula = "sum of "+s.Title()+periodPhrase(points), strings.Join(summands, " + ")
	if r.Op == inquiry.Average {
		result.Value /= float64(len(points))
		// An average is printed with up to two digits more than its inputs.
		for i := 0; i < 2 && math.Abs(math.Remainder(result.Value, result.Step)) > result.Step*1e-6; i++ {
			result.Step /= 10
		}
		v.Label, v.Formula = "average of "+s.Title()+periodPhrase(points), "("+v.Formula+") / "+strconv.Itoa(len(points))
	}
	return v.setResult(result)
}
