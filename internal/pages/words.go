package pages

import (
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/locale"
)

// wordsIn returns the functions of all templates for a language.
func wordsIn(in *locale.Language) template.FuncMap {
	return template.FuncMap{
		"t":        in.TranslateHTML,
		"tn":       in.PluralHTML,
		"language": in.Tag,
		"scripted": func() template.HTMLAttr { return scripted(in) },
		"plural":   plural,
		"bytes":    bytesOf,
		"count":    number,
		"sentence": func(text string) string { return sentence(in.Message(text)) },
		"duration": func(d time.Duration) string { return duration(in, d) },
		"link":     func(href, label string) link { return link{href, label} },
		"yes":      func(b *bool) bool { return b != nil && *b },
		"deref":    deref,
	}
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
		return moment(v.call.language, t, v.Zone())
	case time.Time:
		if t.IsZero() {
			return moment(v.call.language, 0, v.Zone())
		}
		return moment(v.call.language, t.UnixMicro(), v.Zone())
	case interface{ Time() time.Time }:
		return moment(v.call.language, t.Time().UnixMicro(), v.Zone())
	}
	return ""
}

// moment shows a time in microseconds since 1970. Zero means never.
func moment(in *locale.Language, micros int64, zone *time.Location) template.HTML {
	if micros == 0 {
		return in.TranslateHTML("never")
	}
	t := time.UnixMicro(micros).In(zone)
	return template.HTML(`<time datetime="` + t.UTC().Format(time.RFC3339) + `" title="` + template.HTMLEscapeString(in.Exact(t)) + `">` + //nolint:gosec // escaped
		template.HTMLEscapeString(in.Moment(t)) + `</time>`)
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
func duration(in *locale.Language, d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case d <= 90*time.Second:
		return in.Plural(int64(math.Ceil(d.Seconds())), "{n} second", "{n} seconds")
	case d <= 90*time.Minute:
		return in.Plural(int64(math.Ceil(d.Minutes())), "{n} minute", "{n} minutes")
	}
	return in.Plural(int64(math.Ceil(d.Hours())), "{n} hour", "{n} hours")
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
