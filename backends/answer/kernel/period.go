package kernel

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Period is a time that is reported on, or a day. What is not known of it is zero; the
// zero Period is unknown. Periods compare with ==.
type Period struct {
	// Year is the fiscal year it lies in, as the issuer counts.
	Year int
	// Quarter is 1 to 4; 0: the year, or not a quarter.
	Quarter int
	// Half is 1 or 2; 0: not a half of a year, or which one is unknown.
	Half int
	// End is its last day.
	End Day
	// Months is how long it is: 12, 9, 6, 3; 0: a day, or unknown.
	Months int
}

// Known reports whether anything of it is.
func (p Period) Known() bool { return p != Period{} }

// FiscalYear is a whole year.
func FiscalYear(year int) Period { return Period{Year: year, Months: 12} }

// Same reports whether two periods may be one: nothing that is known of both differs.
func (p Period) Same(q Period) bool {
	if !p.Known() || !q.Known() {
		return false
	}
	if p.End != "" && q.End != "" && p.End != q.End {
		return false
	}
	// Years of issuers may be counted from either end: an equal last day decides.
	if p.Year != 0 && q.Year != 0 && p.Year != q.Year && (p.End == "" || p.End != q.End) {
		return false
	}
	if p.Half != q.Half && p.Half != 0 && q.Half != 0 {
		return false
	}
	if p.Quarter != q.Quarter && (p.Months != 0 && q.Months != 0 || p.Quarter != 0 && q.Quarter != 0) {
		return false
	}
	return p.Months == 0 || q.Months == 0 || p.Months == q.Months
}

// Near reports whether the years of two periods are at most so many apart; unknown ones
// are near all.
func (p Period) Near(q Period, years int) bool {
	a, b := p.AnyYear(), q.AnyYear()
	return a == 0 || b == 0 || a-b <= years && b-a <= years
}

// Part is which quarter, or which half, of a year it is; 0: it is none. Where its last day alone says
// it, those of the calendar count, which weeks may miss by some days.
func (p Period) Part() (quarter, half int) {
	if end := p.End.Time().AddDate(0, 0, -15); p.End != "" {
		switch month := int(end.Month()) - 1; p.Months {
		case 3:
			quarter = month/3 + 1
		case 6:
			half = month/6 + 1
		}
	}
	return cmp.Or(p.Quarter, quarter), cmp.Or(p.Half, half)
}

// Start is its first day; empty: it is a day itself, or that is unknown.
func (p Period) Start() Day {
	end := p.End.Time()
	if end.IsZero() || p.Months == 0 {
		return ""
	}
	if next := end.AddDate(0, 0, 1); next.Day() == 1 { // whole months
		return DayOf(next.AddDate(0, -p.Months, 0))
	}
	return DayOf(end.AddDate(0, -p.Months, 1))
}

// AnyYear is its fiscal year, or the calendar year of its end; 0: unknown.
func (p Period) AnyYear() int {
	if p.Year != 0 {
		return p.Year
	}
	return p.End.Year()
}

// String is "fiscal 2019", "Q3 2019", "September 30, 2019" or "six months ended
// June 30, 2019".
func (p Period) String() string {
	switch {
	case p.Quarter != 0 && p.Year != 0:
		return fmt.Sprintf("Q%d %d", p.Quarter, p.Year)
	case p.Half != 0 && p.Year != 0:
		return fmt.Sprintf("H%d %d", p.Half, p.Year)
	case p.Year != 0 && (p.Months == 12 || p.End == ""):
		return "fiscal " + strconv.Itoa(p.Year)
	case p.End == "":
		return ""
	case p.Months == 0:
		return p.End.String()
	}
	length := map[int]string{12: "year", 9: "nine months", 6: "six months", 3: "three months"}[p.Months]
	if length == "" {
		length = strconv.Itoa(p.Months) + " months"
	}
	return length + " ended " + p.End.String()
}

// Day is a date, YYYY-MM-DD; empty: unknown. Days compare with <.
type Day string

// DayOf is the day of a time, in UTC.
func DayOf(t time.Time) Day {
	if t.IsZero() {
		return ""
	}
	return Day(t.UTC().Format(time.DateOnly))
}

// ParseDay takes YYYY-MM-DD.
func ParseDay(s string) (Day, bool) {
	_, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return "", false
	}
	return Day(s), true
}

// Time is the first moment of the day in UTC; zero: unknown.
func (d Day) Time() time.Time {
	t, err := time.Parse(time.DateOnly, string(d))
	if err != nil {
		return time.Time{}
	}
	return t
}

// Year is its calendar year; 0: unknown.
func (d Day) Year() int {
	head, _, _ := strings.Cut(string(d), "-")
	year, err := strconv.Atoi(head)
	if err != nil {
		return 0
	}
	return year
}

// String is "September 30, 2019"; empty: unknown.
func (d Day) String() string {
	t := d.Time()
	if t.IsZero() {
		return string(d)
	}
	return t.Format("January 2, 2006")
}
