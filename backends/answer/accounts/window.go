package accounts

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Window is what a quota is counted over. The zero Window is the calendar month, UTC.
type Window struct {
	day     bool
	rolling time.Duration // from the first use
}

const maxRolling = 366

// ParseWindow reads month, day or rolling:<days>.
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
	return Window{}, fmt.Errorf("%q is no window: month, day or rolling:<days>, with 1 to %d days", text, maxRolling)
}

// at is the window that a time lies in. A rolling one begins there; the one before it, if
// it has not ended, is for the caller to find.
func (w Window) at(t time.Time) (began, ends time.Time) {
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
