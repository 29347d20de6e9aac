package spending

import (
	"time"
)

// Window is the kind of period to which a budget applies.
type Window int

// The windows, the longest first.
const (
	InTotal Window = iota
	InMonth
	InWeek
	InDay
	NumberOfWindows
)

// Begin returns the beginning of the window that contains the day, or the zero time for InTotal.
func (w Window) Begin(day time.Time) time.Time {
	switch w {
	case InDay:
		return day
	case InWeek:
		return day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
	case InMonth:
		return startOfMonth(day)
	default:
		return time.Time{}
	}
}

// End returns the end of the window that contains the day, or the zero time for InTotal, which never ends.
func (w Window) End(day time.Time) time.Time {
	switch w {
	case InDay:
		return day.AddDate(0, 0, 1)
	case InWeek:
		return w.Begin(day).AddDate(0, 0, 7)
	case InMonth:
		return w.Begin(day).AddDate(0, 1, 0)
	default:
		return time.Time{}
	}
}
