package tochar

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// timePattern is a pattern in a template for times, such as HH24.
type timePattern struct {
	name string
	// sql is the pattern for PostgreSQL. It is empty if the result does not depend on the time.
	sql string
	// number returns the value of a numeric pattern. The field digits is the number of digits to which the value is padded
	// with zeros. After FM, the value is padded only if fixed is true.
	number func(time.Time) int
	digits int
	fixed  bool
	// text returns the value of a pattern that is not numeric. The value is padded with blanks to the width blanks,
	// unless unpadded is true.
	text    func(t time.Time, unpadded bool) string
	blanks  int
	ordinal bool // the text is a number nevertheless, so it can have an ordinal suffix
	named   bool // the text is the name of a day or month
	fine    bool // the value differs within an hour
}

// timePatterns lists the patterns of PostgreSQL, the longest first.
var timePatterns = func() []timePattern {
	var list []timePattern
	add := func(p timePattern, names ...string) {
		for _, n := range names {
			p.name = n
			list = append(list, p)
		}
	}
	// addBothCases adds a pattern whose name can be written in upper case or in lower case, with the same result.
	addBothCases := func(p timePattern, names ...string) {
		for _, n := range names {
			p.sql = n
			add(p, n, strings.ToLower(n))
		}
	}
	addBothCases(timePattern{number: time.Time.Hour, digits: 2}, "HH24")
	addBothCases(timePattern{number: hour12, digits: 2}, "HH12", "HH")
	addBothCases(timePattern{number: time.Time.Minute, digits: 2, fine: true}, "MI")
	addBothCases(timePattern{number: time.Time.Second, digits: 2, fine: true}, "SS")
	addBothCases(timePattern{number: secondOfDay, fine: true}, "SSSSS", "SSSS")
	addBothCases(timePattern{number: fraction(3), digits: 3, fixed: true, fine: true}, "MS")
	addBothCases(timePattern{number: fraction(6), digits: 6, fixed: true, fine: true}, "US")
	for n := 1; n <= 6; n++ {
		addBothCases(timePattern{number: fraction(n), digits: n, fixed: true, fine: true}, fmt.Sprintf("FF%d", n))
	}
	addBothCases(timePattern{text: thousands, ordinal: true}, "Y,YYY")
	for n, year := range []func(time.Time) int{year, isoYear} {
		prefix := []string{"Y", "I"}[n]
		addBothCases(timePattern{number: year, digits: 4}, prefix+"YYY")
		for digits, modulus := 1, 10; digits <= 3; digits, modulus = digits+1, modulus*10 {
			addBothCases(timePattern{number: func(t time.Time) int { return year(t) % modulus }, digits: digits},
				prefix+strings.Repeat("Y", digits-1))
		}
	}
	addBothCases(timePattern{number: century, digits: 2}, "CC")
	addBothCases(timePattern{number: quarter}, "Q")
	addBothCases(timePattern{number: func(t time.Time) int { return int(t.Month()) }, digits: 2}, "MM")
	addBothCases(timePattern{number: time.Time.YearDay, digits: 3}, "DDD")
	addBothCases(timePattern{number: func(t time.Time) int { return (isoWeek(t)-1)*7 + isoDay(t) }, digits: 3}, "IDDD")
	addBothCases(timePattern{number: time.Time.Day, digits: 2}, "DD")
	addBothCases(timePattern{number: func(t time.Time) int { return int(t.Weekday()) + 1 }}, "D")
	addBothCases(timePattern{number: isoDay}, "ID")
	addBothCases(timePattern{number: isoWeek, digits: 2}, "IW")
	addBothCases(timePattern{number: func(t time.Time) int { return (t.YearDay()-1)/7 + 1 }, digits: 2}, "WW")
	addBothCases(timePattern{number: func(t time.Time) int { return (t.Day()-1)/7 + 1 }}, "W")
	addBothCases(timePattern{number: julian}, "J")

	// The case of these patterns determines the case of the resulting names.
	for _, style := range []func(string) string{strings.ToUpper, capital, strings.ToLower} {
		for _, p := range []timePattern{
			{name: "month", text: layout("January"), blanks: 9},
			{name: "mon", text: layout("Jan")},
			{name: "day", text: layout("Monday"), blanks: 9},
			{name: "dy", text: layout("Mon")},
		} {
			nameOf := p.text
			p.named, p.text = true, func(t time.Time, unpadded bool) string { return style(nameOf(t, unpadded)) }
			p.sql = style(p.name)
			add(p, p.sql)
		}
	}
	for _, style := range []func(string) string{strings.ToUpper, strings.ToLower} {
		for _, p := range []struct {
			second func(time.Time) bool // whether the result is the second name
			names  [2]string            // both are patterns with the same result
		}{
			{func(t time.Time) bool { return t.Hour() >= 12 }, [2]string{"AM", "PM"}},
			{func(t time.Time) bool { return t.Hour() >= 12 }, [2]string{"A.M.", "P.M."}},
			{func(t time.Time) bool { return t.Year() <= 0 }, [2]string{"AD", "BC"}},
			{func(t time.Time) bool { return t.Year() <= 0 }, [2]string{"A.D.", "B.C."}},
		} {
			for _, n := range p.names {
				add(timePattern{sql: style(n), text: func(t time.Time, _ bool) string {
					if p.second(t) {
						return style(p.names[1])
					}
					return style(p.names[0])
				}}, style(n))
			}
		}
		add(timePattern{
			sql: style("RM"), text: func(t time.Time, _ bool) string { return style(roman[t.Month()-1]) },
			blanks: 4,
		}, style("RM"))
		add(timePattern{text: constant(style("UTC"), style("UTC"))}, style("TZ"))
		add(timePattern{text: constant("+00", "+0")}, style("OF"))
		add(timePattern{text: constant("+00", "+00")}, style("TZH"))
		add(timePattern{text: constant("00", "00")}, style("TZM"))
		add(timePattern{text: constant("", "")}, style("FX"))
	}
	slices.SortStableFunc(list, func(a, b timePattern) int { return cmp.Compare(len(b.name), len(a.name)) })
	return list
}()

var roman = []string{"I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"}

// constant returns a function for timePattern.text that does not depend on the time. It returns withoutPadding if the
// result must not be padded, and otherwise padded.
func constant(padded, withoutPadding string) func(time.Time, bool) string {
	return func(_ time.Time, unpadded bool) string {
		if unpadded {
			return withoutPadding
		}
		return padded
	}
}

// layout returns a function for timePattern.text that formats the time by a layout of package time.
func layout(format string) func(time.Time, bool) string {
	return func(t time.Time, _ bool) string { return t.Format(format) }
}

// capital returns s with one upper-case letter at the beginning.
func capital(s string) string { return strings.ToUpper(s[:1]) + strings.ToLower(s[1:]) }

func hour12(t time.Time) int { return (t.Hour()+11)%12 + 1 }

func secondOfDay(t time.Time) int { return t.Hour()*3600 + t.Minute()*60 + t.Second() }

// fraction returns a function that returns the first digitCount digits of the fraction of a second.
func fraction(digitCount int) func(time.Time) int {
	unit := 1_000_000_000
	for range digitCount {
		unit /= 10
	}
	return func(t time.Time) int { return t.Nanosecond() / unit }
}

// year returns the year as a positive number; for years before the year 1, it is the number of the year BC.
func year(t time.Time) int { return historical(t.Year()) }

// historical returns a year without a sign, as historians number it. They have no year 0, so the year 0 is 1 BC, and
// the year -1 is 2 BC.
func historical(year int) int {
	if year <= 0 {
		return 1 - year
	}
	return year
}

// thousands returns the year with a comma before the last three digits.
func thousands(t time.Time, _ bool) string {
	y := year(t)
	return fmt.Sprintf("%d,%03d", y/1000, y%1000)
}

// century returns the number of the century, which is negative for centuries BC.
func century(t time.Time) int {
	if y := t.Year(); y <= 0 {
		return y/100 - 1
	}
	return (t.Year()-1)/100 + 1
}

func quarter(t time.Time) int { return (int(t.Month())-1)/3 + 1 }

// isoDay returns the number of the weekday, from 1 for Monday to 7.
func isoDay(t time.Time) int { return (int(t.Weekday())+6)%7 + 1 }

func isoWeek(t time.Time) int { _, w := t.ISOWeek(); return w }

func isoYear(t time.Time) int { y, _ := t.ISOWeek(); return historical(y) }

// julian returns the Julian day, counted from midnight.
func julian(t time.Time) int {
	const epochDay, dayLength = 2440588, 24 * 60 * 60
	seconds := t.Unix()
	midnight := seconds - (seconds%dayLength+dayLength)%dayLength
	return int(midnight/dayLength) + epochDay
}
