package kernel

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Period is a reporting period, or a day, with as much as a text says about it. Unknown fields are zero, and the zero
// Period is unknown. Periods can be compared with ==, but two texts may describe one period in different ways: see
// MayEqual.
//
// For example, "2019" has only the Year, "fiscal 2019" also 12 Months, "year ended June 30, 2019" has the End
// 2019-06-30 and 12 Months, "as of June 30, 2019" has only the End, and "Q3 2019" has the Year, the Quarter and 3
// Months.
type Period struct {
	// Year is the fiscal year that contains the period, in the issuer's count.
	Year int
	// Quarter is 1 to 4, or 0 for a year or any other period that is not a quarter.
	Quarter int
	// Half is 1 or 2, or 0 if the period is not half a year or if it is unknown which half it is.
	Half int
	// End is the last day of the period.
	End Day
	// Months is the length of the period: 12, 9, 6 or 3. It is 0 for a day and if the length is unknown.
	Months int
}

// Known reports whether any field is set.
func (p Period) Known() bool { return p != Period{} }

// FiscalYear returns a whole fiscal year.
func FiscalYear(year int) Period { return Period{Year: year, Months: 12} }

// MayEqual reports whether two periods may be the same: no field that is known in both differs. It returns false if one
// of the periods is unknown.
func (p Period) MayEqual(q Period) bool {
	if !p.Known() || !q.Known() {
		return false
	}
	if p.End != "" && q.End != "" && p.End != q.End {
		return false
	}
	// Some issuers name a fiscal year after the year in which it begins, others after the year in which it ends. So two
	// periods with different years may still be the same if they have the same last day.
	if p.Year != 0 && q.Year != 0 && p.Year != q.Year && (p.End == "" || p.End != q.End) {
		return false
	}
	if p.Half != q.Half && p.Half != 0 && q.Half != 0 {
		return false
	}
	// A period without a quarter may still be a quarter. So p and q certainly differ only if both of their lengths or both
	// of their quarters are known.
	if p.Quarter != q.Quarter && (p.Months != 0 && q.Months != 0 || p.Quarter != 0 && q.Quarter != 0) {
		return false
	}
	return p.Months == 0 || q.Months == 0 || p.Months == q.Months
}

// Part returns the number of the quarter (1 to 4) if the period is a quarter, and the number of the half (1 or 2) if
// it is a half year. Both are 0 for other periods. If only the last day and the length are known, Part uses the
// quarters and halves of the calendar; the last day may be up to about two weeks after their end.
func (p Period) Part() (quarter, half int) {
	if p.End != "" {
		end := p.End.Time().AddDate(0, 0, -15)
		switch month := int(end.Month()) - 1; p.Months {
		case 3:
			quarter = month/3 + 1
		case 6:
			half = month/6 + 1
		}
	}
	return cmp.Or(p.Quarter, quarter), cmp.Or(p.Half, half)
}

// Start returns the first day of the period. It is empty for a day and for an unknown length or end.
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

// AnyYear returns the fiscal year. If it is unknown, AnyYear returns the calendar year of the end, or 0.
func (p Period) AnyYear() int {
	if p.Year != 0 {
		return p.Year
	}
	return p.End.Year()
}

// String returns a name such as "fiscal 2019", "Q3 2019", "September 30, 2019" or "six months ended June 30,
// 2019".
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

// Day is a date in the form YYYY-MM-DD, or empty if unknown. Days can be compared with <.
type Day string

// DayOf returns the day of a time in UTC.
func DayOf(t time.Time) Day {
	if t.IsZero() {
		return ""
	}
	return Day(t.UTC().Format(time.DateOnly))
}

// ParseDay returns the day in a text of the form YYYY-MM-DD. It returns false for any other text.
func ParseDay(s string) (Day, bool) {
	_, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return "", false
	}
	return Day(s), true
}

// Time returns the first moment of the day in UTC, or the zero time if the day is unknown.
func (d Day) Time() time.Time {
	t, err := time.Parse(time.DateOnly, string(d))
	if err != nil {
		return time.Time{}
	}
	return t
}

// AddYears returns the same day a number of years later, or earlier for a negative number. The last day of a month
// stays the last day, also in February.
func (d Day) AddYears(years int) Day {
	t := d.Time()
	if next := t.AddDate(0, 0, 1); next.Day() == 1 {
		return DayOf(next.AddDate(years, 0, -1))
	}
	return DayOf(t.AddDate(years, 0, 0))
}

// Year returns the calendar year, or 0 if it is unknown.
func (d Day) Year() int {
	head, _, _ := strings.Cut(string(d), "-")
	year, err := strconv.Atoi(head)
	if err != nil {
		return 0
	}
	return year
}

// String returns the day as "September 30, 2019". A text that is not a date is returned unchanged.
func (d Day) String() string {
	t := d.Time()
	if t.IsZero() {
		return string(d)
	}
	return t.Format("January 2, 2006")
}
