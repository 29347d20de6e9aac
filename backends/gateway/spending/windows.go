package spending

import (
	"time"
)

// Window is a period of time that a budget is for.
type Window int

// The windows, the longest first.
const (
	InTotal Window = iota
	InMonth
	InWeek
	InDay
	NumberOfWindows
)

// Begin returns when the window that contains the day began. It is zero for InTotal.
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

// End returns when the window that contains the day ends. It is zero for InTotal, which never ends.
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
