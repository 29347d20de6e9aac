package accounts

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Window is the period over which a quota is counted. The zero Window is the calendar month in UTC.
type Window struct {
	day     bool          // the calendar day in UTC
	rolling time.Duration // if it is not 0, the length of a window that begins with the first question in it
}

// maxRolling is the largest number of days in a rolling window.
const maxRolling = 366

// ParseWindow parses "month", "day" or "rolling:<days>" with 1 to 366 days. The empty string means "month".
func ParseWindow(text string) (Window, error) {
	switch text {
	case "", "month":
		return Window{}, nil
	case "day":
		return Window{day: true}, nil
	}
	if days, ok := strings.CutPrefix(text, "rolling:"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 1 && n <= maxRolling {
			return Window{rolling: time.Duration(n) * 24 * time.Hour}, nil
		}
	}
	return Window{}, fmt.Errorf("window %q is not month, day or rolling:<days> with 1 to %d days", text, maxRolling)
}

// bounds returns the window that contains t. A rolling window begins at t; the caller has to look for an earlier window
// that has not ended.
func (w Window) bounds(t time.Time) (began, ends time.Time) {
	t = t.UTC()
	switch {
	case w.day:
		began = time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
		return began, began.AddDate(0, 0, 1)
	case w.rolling > 0:
		return t, t.Add(w.rolling)
	}
	began = time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	return began, began.AddDate(0, 1, 0)
}
