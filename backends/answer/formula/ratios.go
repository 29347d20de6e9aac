package formula

import (
	"math"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// measureIn computes a financial ratio. It returns nil if there is not exactly one period or if an input is
// missing.
func (w Want) measureIn(f *finder) *Value {
	if len(w.Periods) != 1 {
		return nil
	}
	m, period := w.Measure, w.Periods[0]
	v := &Value{Op: Measure, Label: m.name + " in " + periodName(period), Confidence: 0.85}
	over, top, ok := f.total(m.over, period, v)
	if !ok {
		return nil
	}
	formula := top
	value := over.Value
	result := kernel.Figure{Unit: m.unit, Step: 0.01}
	if len(m.under) > 0 {
		under, bottom, ok := f.total(m.under, period, v)
		if !ok || under.Value == 0 || !kindred(over, under) {
			return nil
		}
		value = over.Value / under.Value * m.factor
		formula = wrap(top) + " / " + wrap(bottom)
		if m.factor != 1 {
			formula += " x 365"
		}
	} else {
		result = kernel.Figure{Unit: over.Unit, Currency: over.Currency, Step: over.Step}
	}
	if m.unit == kernel.Percent {
		value *= 100
	}
	if m.unit == "days" {
		result.Step = 0.1
	}
	result.Value = value
	v.Formula = m.formula + " = " + formula
	return v.with(result)
}

// wrap puts a sum in brackets.
func wrap(s string) string {
	if strings.Contains(s, " + ") || strings.Contains(s, " - ") {
		return "(" + s + ")"
	}
	return s
}

// total returns the sum of metrics in a period and its formula, and adds the inputs to v. ok is false if one
// is missing or if they cannot be added.
func (f *finder) total(keys []string, period kernel.Period, v *Value) (sum kernel.Figure, written string, ok bool) {
	for i, key := range keys {
		minus := strings.Contains(key, "-")
		average := strings.Contains(key, "~")
		key = strings.Trim(key, "-~")
		points, name, found := f.metric(key, period, average)
		if !found {
			return sum, "", false
		}
		value, text := 0.0, ""
		for n, p := range points {
			if !kindred(points[0].Figure, p.Figure) {
				return sum, "", false
			}
			value += math.Abs(p.Value) * sign(key, p.Value) / float64(len(points))
			if n > 0 {
				text += " + "
			}
			text += plain(p.Figure)
			v.Inputs = append(v.Inputs, Input{name, p})
		}
		if len(points) > 1 {
			text = "(" + text + ") / 2"
		}
		if i == 0 {
			sum = points[0].Figure
			sum.Value = 0
		} else if !kindred(sum, points[0].Figure) {
			return sum, "", false
		}
		switch {
		case minus:
			value = -value
			written += " - " + text
		case i > 0:
			written += " + " + text
		default:
			written = text
		}
		sum.Value += value
		sum.Step = min(nonzero(sum.Step), nonzero(points[0].Step))
	}
	return sum, written, true
}

// sign returns -1 for a negative value, except that costs and payments always count as positive.
func sign(key string, value float64) float64 {
	switch key {
	case "interest_expense", "capex", "dividends_paid", "cost_of_revenue":
		return 1
	}
	if value < 0 {
		return -1
	}
	return 1
}

// metric finds a metric in a period and, with average, also in the period before if it is there.
func (f *finder) metric(key string, period kernel.Period, average bool) (points []Point, name string, ok bool) {
	look := func(p kernel.Period) (Point, string, bool) {
		if s := f.facts[key]; s != nil {
			if found, ok := s.at([]kernel.Period{p}); ok {
				return found[0], s.Name, true
			}
		}
		names := metrics.Names(key)
		if len(names) > 0 {
			if s, score, ok := find(f.series, names[0], []kernel.Period{p}); ok && score > 0.85 {
				found, _ := s.at([]kernel.Period{p})
				return found[0], s.Name, true
			}
		}
		return Point{}, "", false
	}
	now, name, ok := look(period)
	if !ok {
		return nil, "", false
	}
	if average {
		before := period
		before.Year--
		before.End = ""
		if before.Year > 0 {
			if earlier, _, ok := look(before); ok {
				return []Point{earlier, now}, name, true
			}
		}
	}
	return []Point{now}, name, true
}
