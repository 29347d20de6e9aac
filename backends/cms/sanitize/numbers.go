package sanitize

import (
	"strings"
	"time"
)

func signed(value any, _ options) any {
	n, _ := numeric(value)
	return integer(n)
}

func unsigned(value any, _ options) any {
	n, _ := numeric(value)
	return max(integer(n), 0)
}

func float(value any, _ options) any {
	n, ok := numeric(value)
	if !ok {
		return 0.0
	}
	return n
}

// bound is an argument, else the number behind the name, else none.
func (o options) bound(at int) (n float64, ok bool) {
	if len(o.given) > at {
		return numeric(o.given[at])
	}
	return float64(o.most), o.most != unlimited
}

func atLeast(value any, o options) any {
	n, _ := numeric(value)
	if least, ok := o.bound(0); ok {
		n = max(n, least)
	}
	return exact(n)
}

func atMost(value any, o options) any {
	n, _ := numeric(value)
	if most, ok := o.bound(0); ok {
		n = min(n, most)
	}
	return exact(n)
}

// within is a number between two arguments; with one, or with the number behind the
// name, between 0 and it.
func within(value any, o options) any {
	n, _ := numeric(value)
	least, hasLeast := 0.0, true
	if len(o.given) > 1 {
		least, hasLeast = o.bound(0)
	}
	most, ok := o.bound(max(len(o.given)-1, 0))
	if !ok {
		return exact(n)
	}
	n = min(n, most)
	if hasLeast {
		n = max(n, min(least, most))
	}
	return exact(n)
}

func bit(value any, _ options) any {
	if truth(value) {
		return int64(1)
	}
	return int64(0)
}

func boolean(value any, _ options) any { return truth(value) }

// truth is false for what is empty or zero, and for the texts that say so.
func truth(value any) bool {
	switch v := value.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		v = trim(v)
		return v != "" && !strings.EqualFold(v, "false") && v != "0"
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	n, ok := number(value)
	return !ok || n != 0
}

// The last second of the year 9999, and the first of the year 1.
const (
	lastSecond  = 253402300799
	firstSecond = -62135596800
)

// layouts in which a date is read; without a zone it is of UTC.
var layouts = []string{
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02", "2006-01", "02.01.2006",
	"02.01.2006 15:04", "01/02/2006", "2 January 2006", "January 2, 2006", "2 Jan 2006", "Jan 2, 2006", time.RFC1123Z, time.RFC1123, time.RFC850, time.ANSIC,
}

// date is seconds since 1970; with an argument, the date in that form, whose letters
// are those of PHP: d j m n Y y H G i s D l M F.
func date(value any, o options) any {
	layout := ""
	if len(o.given) > 0 {
		layout = goLayout(str(o.given[0]))
	}
	seconds, ok := moment(value, layout)
	if !ok || seconds < firstSecond || seconds > lastSecond {
		return ""
	}
	if layout == "" {
		return seconds
	}
	return time.Unix(seconds, 0).UTC().Format(layout)
}

func moment(value any, layout string) (seconds int64, ok bool) {
	if _, is := value.(bool); is {
		return 0, false
	}
	s, text := value.(string)
	s = trim(s)
	if text && layout != "" {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Unix(), true
		}
	}
	if n, ok := numeric(value); ok {
		return integer(n), true
	}
	if !text || s == "" || len(s) > 64 {
		return 0, false
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Unix(), true
		}
	}
	return 0, false
}

var letters = strings.NewReplacer(
	"d", "02", "j", "2", "m", "01", "n", "1", "Y", "2006", "y", "06", "H", "15", "G", "15", "i", "04", "s", "05", "D", "Mon", "l", "Monday", "M", "Jan", "F", "January",
)

func goLayout(php string) string { return letters.Replace(php) }
