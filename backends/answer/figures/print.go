package figures

import (
	"math"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// Shows reports whether a printed figure states the value of an exact figure: the units of the two figures are
// compatible, and their values differ by at most half a unit of the last digit that is printed.
func Shows(printed, exact kernel.Figure) bool {
	a, b := pointsToPercent(printed), pointsToPercent(exact)
	if !compatible(a, b) {
		return false
	}
	return math.Abs(a.Value-b.Value) <= a.Step/2+tolerance(b.Value)
}

// tolerance returns the error to allow for floating point arithmetic.
func tolerance(v float64) float64 { return math.Abs(v)*1e-9 + 1e-12 }

// pointsToPercent converts percentage points and basis points to per cent.
func pointsToPercent(f kernel.Figure) kernel.Figure {
	switch f.Unit { //nolint:exhaustive // other units are unchanged
	case kernel.BasisPoints:
		f.Value, f.Step, f.Unit = f.Value/100, f.Step/100, kernel.Percent
	case kernel.Points:
		f.Unit = kernel.Percent
	}
	return f
}

// compatible reports whether two figures may measure the same thing. An unknown unit is compatible with all units, and
// an amount with an amount per share.
func compatible(a, b kernel.Figure) bool {
	if a.Currency != "" && b.Currency != "" && a.Currency != b.Currency {
		return false
	}
	return a.Unit == b.Unit || a.Unit == kernel.NoUnit || b.Unit == kernel.NoUnit ||
		a.Unit == kernel.PerShare && b.Unit == kernel.Money || a.Unit == kernel.Money && b.Unit == kernel.PerShare
}

// symbols maps the codes of currencies to their symbols.
var symbols = map[string]string{
	"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "CAD": "C$", "AUD": "A$", "HKD": "HK$",
	"TWD": "NT$", "INR": "₹", "SGD": "S$",
}

// scaleNames lists the scales of printed figures, the smallest first.
var scaleNames = []struct {
	factor float64
	name   string
}{{1, ""}, {1e3, " thousand"}, {1e6, " million"}, {1e9, " billion"}, {1e12, " trillion"}}

// Print formats a figure to the precision of its Step: "$1,577 million", "-3.1%", "30 basis points", "1.6x". A Step of
// 0 means two decimals.
func Print(f kernel.Figure) string {
	step := f.Step
	if step <= 0 {
		step = 0.01
	}
	scale, name := 1.0, ""
	if f.Unit != kernel.Percent && f.Unit != kernel.Points && f.Unit != kernel.Times && f.Unit != kernel.BasisPoints {
		for _, s := range scaleNames { // the smallest scale that is not smaller than the step
			if scale, name = s.factor, s.name; s.factor >= step*(1-1e-9) {
				break
			}
		}
	}
	// A step of 0.01 needs two decimals. The small constants here allow for floating point arithmetic.
	decimals := int(min(max(math.Ceil(-math.Log10(step/scale)-1e-9), 0), 6))
	digits := Digits(math.Abs(f.Value)/scale, decimals)
	sign := ""
	if f.Value < 0 && strings.Trim(digits, "0.,") != "" { // what is rounded to zero has no sign
		sign = "-"
	}
	switch f.Unit {
	case kernel.Percent:
		return sign + digits + "%"
	case kernel.Points:
		return sign + digits + " percentage points"
	case kernel.BasisPoints:
		return sign + digits + " basis points"
	case kernel.Times:
		return sign + digits + "x"
	case kernel.Shares:
		return sign + digits + name + " shares"
	case kernel.Money, kernel.PerShare:
		if symbol, ok := symbols[f.Currency]; ok {
			return sign + symbol + digits + name
		}
		if f.Currency != "" {
			return f.Currency + " " + sign + digits + name
		}
	case kernel.NoUnit: // printed below, like money in an unknown currency
	default:
		return sign + digits + name + " " + string(f.Unit)
	}
	return sign + digits + name
}

// Digits formats a number that is not negative, rounded half away from zero, with commas between groups of three
// digits.
func Digits(v float64, decimals int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) || v >= 1e21 {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	power := math.Pow10(decimals)
	if rounded := math.Floor(v*power + 0.5 + 1e-9); rounded < 1<<53 { // a larger v*power is an integer already
		v = rounded / power
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	integer, fraction, found := strings.Cut(s, ".")
	var b strings.Builder
	for i, r := range integer {
		if i > 0 && (len(integer)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	if found {
		b.WriteString("." + fraction)
	}
	return b.String()
}

// Plain formats a figure for a calculation, without its currency and without the unit of amounts and shares.
func Plain(f kernel.Figure) string {
	f.Currency = ""
	if f.Unit == kernel.Money || f.Unit == kernel.Shares || f.Unit == kernel.PerShare {
		f.Unit = kernel.NoUnit
	}
	return Print(f)
}

// Bracket puts a negative number in parentheses. Other numbers are returned unchanged.
func Bracket(s string) string {
	if strings.HasPrefix(s, "-") {
		return "(" + s + ")"
	}
	return s
}

// And joins names with commas and a last "and".
func And(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
