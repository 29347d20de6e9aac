package sanitize

import (
	"strings"
	"time"
)

// signed returns a value as an integer, or 0 if it is not a number.
func signed(value any, _ options) any {
	n, _ := numeric(value)
	return integer(n)
}

// unsigned returns a value as an integer, or 0 if it is negative or not a number.
func unsigned(value any, _ options) any {
	n, _ := numeric(value)
	return max(integer(n), 0)
}

// float returns a value as a number, or 0 if it is not a number.
func float(value any, _ options) any {
	n, ok := numeric(value)
	if !ok {
		return 0.0
	}
	return n
}

// bound returns a bound of a number: the argument with the given index or, if there are fewer arguments, the number in
// the spec. ok is false if there is no bound, because the argument is not a number or the spec has no number.
func (o options) bound(index int) (n float64, ok bool) {
	if len(o.arguments) > index {
		return numeric(o.arguments[index])
	}
	return float64(o.limit), o.limit != unlimited
}

// atLeast returns a number, or the bound if the number is smaller.
func atLeast(value any, o options) any {
	n, _ := numeric(value)
	if minimum, ok := o.bound(0); ok {
		n = max(n, minimum)
	}
	return exact(n)
}

// atMost returns a number, or the bound if the number is larger.
func atMost(value any, o options) any {
	n, _ := numeric(value)
	if limit, ok := o.bound(0); ok {
		n = min(n, limit)
	}
	return exact(n)
}

// within limits a number to the range given by two arguments, the bounds. With one argument, or with a number in the
// spec, the lower bound is 0.
func within(value any, o options) any {
	n, _ := numeric(value)
	lower, hasLower := 0.0, true
	if len(o.arguments) > 1 {
		lower, hasLower = o.bound(0)
	}
	upper, ok := o.bound(max(len(o.arguments)-1, 0))
	if !ok {
		return exact(n)
	}
	n = min(n, upper)
	if hasLower {
		n = max(n, min(lower, upper))
	}
	return exact(n)
}

// bit returns 1 for a truthy value, and 0 otherwise.
func bit(value any, _ options) any {
	if truthy(value) {
		return int64(1)
	}
	return int64(0)
}

// boolean returns true for a truthy value, and false otherwise.
func boolean(value any, _ options) any { return truthy(value) }

// truthy returns false for null, empty values, zero, and the texts "false" and "0", and true otherwise.
func truthy(value any) bool {
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

// The last second of the year 9999, and the first second of the year 1, as Unix times.
const (
	lastSecond  = 253402300799
	firstSecond = -62135596800
)

// dateLayouts are the accepted formats of a date. A date without a zone is in UTC.
var dateLayouts = []string{
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02",
	"2006-01", "02.01.2006",
	"02.01.2006 15:04", "01/02/2006", "2 January 2006", "January 2, 2006", "2 Jan 2006", "Jan 2, 2006", time.RFC1123Z,
	time.RFC1123, time.RFC850, time.ANSIC,
}

// date parses a date. It returns the Unix time in seconds or, with an argument, the date in the format that the
// argument describes with these letters of PHP: d j m n Y y H G i s D l M F. For an invalid date it returns an empty
// string.
func date(value any, o options) any {
	layout := ""
	if len(o.arguments) > 0 {
		layout = goLayout(str(o.arguments[0]))
	}
	seconds, ok := unixSeconds(value, layout)
	if !ok || seconds < firstSecond || seconds > lastSecond {
		return ""
	}
	if layout == "" {
		return seconds
	}
	return time.Unix(seconds, 0).UTC().Format(layout)
}

// unixSeconds converts a value to a Unix time in seconds. The value may be a number of seconds, or a text in one of
// dateLayouts. If layout is not empty, the value may also be a text in this layout.
func unixSeconds(value any, layout string) (seconds int64, ok bool) {
	if _, isBool := value.(bool); isBool { // numeric would convert it to 0 or 1
		return 0, false
	}
	s, isText := value.(string)
	s = trim(s)
	if isText && layout != "" {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Unix(), true
		}
	}
	if n, ok := numeric(value); ok {
		return integer(n), true
	}
	if !isText || s == "" || len(s) > 64 {
		return 0, false
	}
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Unix(), true
		}
	}
	return 0, false
}

// phpLetters replaces the letters of a PHP date format by the elements of a Go layout.
var phpLetters = strings.NewReplacer(
	"d", "02", "j", "2", "m", "01", "n", "1", "Y", "2006", "y", "06", "H", "15", "G", "15", "i", "04", "s", "05", "D",
	"Mon", "l", "Monday", "M", "Jan", "F", "January",
)

// goLayout converts a PHP date format to a Go layout.
func goLayout(php string) string { return phpLetters.Replace(php) }
