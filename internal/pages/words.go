package pages

import (
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// words are the functions of all templates.
var words = template.FuncMap{
	"plural":   plural,
	"bytes":    bytesOf,
	"count":    number,
	"sentence": sentence,
	"duration": duration,
	"link":     func(href, label string) link { return link{href, label} },
	"yes":      func(b *bool) bool { return b != nil && *b },
	"deref":    deref,
}

// link is the data of the template "more". Without an Href the template shows nothing.
type link struct{ Href, Label string }

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// When shows a time, which is a time.Time, a number of microseconds or a value with a method Time. It shows it in
// short, with the exact time in the title.
func (v *View) When(at any) template.HTML {
	switch t := at.(type) {
	case int64:
		return moment(t, v.Zone())
	case time.Time:
		if t.IsZero() {
			return moment(0, v.Zone())
		}
		return moment(t.UnixMicro(), v.Zone())
	case interface{ Time() time.Time }:
		return moment(t.Time().UnixMicro(), v.Zone())
	}
	return ""
}

// moment shows a time in microseconds since 1970. Zero means never.
func moment(micros int64, zone *time.Location) template.HTML {
	if micros == 0 {
		return "never"
	}
	t := time.UnixMicro(micros).In(zone)
	return template.HTML(`<time datetime="` + t.UTC().Format(time.RFC3339) + `" title="` + t.Format("Monday, 2 January 2006, 15:04:05 MST") + `">` + //nolint:gosec // digits, names of months and zones
		t.Format("2 Jan 2006, 15:04") + `</time>`)
}

// Plural returns a number with its noun.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

// count returns a number with its thousands separated.
func count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "\u202f" + digits[i:]
	}
	return digits
}

// number shows a number. A script formats large ones as the reader is used to.
func number(n int64) template.HTML {
	if n < 1000 {
		return template.HTML(count(n)) //nolint:gosec // digits
	}
	return template.HTML(`<data value="` + strconv.FormatInt(n, 10) + `">` + count(n) + `</data>`) //nolint:gosec // digits
}

// plural shows a number with its noun.
func plural(n int64, one, many string) template.HTML {
	if n == 1 {
		return template.HTML("1 " + template.HTMLEscapeString(one)) //nolint:gosec // escaped
	}
	return number(n) + template.HTML(" "+template.HTMLEscapeString(many)) //nolint:gosec // escaped
}

// sentence turns a message of a service into a sentence.
func sentence(text string) string {
	if text = Capital(text); text != "" && !strings.ContainsAny(text[len(text)-1:], ".!?)") {
		text += "."
	}
	return text
}

// Capital returns text with a capital first letter.
func Capital(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(r)) + text[size:]
}

// seconds formats a wait for the header Retry-After.
func seconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }

// duration returns a wait in words.
func duration(d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case d <= 90*time.Second:
		return Plural(int64(math.Ceil(d.Seconds())), "second", "seconds")
	case d <= 90*time.Minute:
		return Plural(int64(math.Ceil(d.Minutes())), "minute", "minutes")
	}
	return Plural(int64(math.Ceil(d.Hours())), "hour", "hours")
}

// bytesOf returns a size in bytes in words.
func bytesOf(n int64) string {
	switch {
	case n < 1<<10:
		return Plural(n, "byte", "bytes")
	case n < 1<<20:
		return strconv.FormatFloat(float64(n)/(1<<10), 'f', 1, 64) + "\u00a0KiB"
	}
	return strconv.FormatFloat(float64(n)/(1<<20), 'f', 1, 64) + "\u00a0MiB"
}
