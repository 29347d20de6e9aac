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

// wordsIn returns the functions of all templates, for a language.
func wordsIn(in *locale.Language) template.FuncMap {
	return template.FuncMap{
		"t": in.TranslateHTML,
		"tn": func(n int64, one, other string, values ...any) template.HTML {
			return pluralIn(in, n, one, other, values)
		},
		"language": in.Tag,
		"scripted": func() template.HTMLAttr { return scripted(in) },
		"plural":   plural,
		"bytes":    func(n int64) string { return bytesOf(in, n) },
		"count":    func(n int64) template.HTML { return number(in, n) },
		"sentence": func(text string) string { return sentence(in.Message(text)) },
		"duration": func(d time.Duration) string { return duration(in, d) },
		"link":     func(href string, label any) link { return link{href, label} },
		"yes":      func(b *bool) bool { return b != nil && *b },
		"deref":    deref,
	}
}

// link is the data of the template "more". Without an Href the template shows nothing.
type link struct {
	Href  string
	Label any // text, or HTML
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// When shows a time: a time.Time, a number of microseconds or a value with a method Time. It shows the short form, with
// the exact time in the title.
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

// moment shows a time in microseconds since 1970, in a zone. Zero means never.
func moment(in *locale.Language, micros int64, zone *time.Location) template.HTML {
	if micros == 0 {
		return in.TranslateHTML("never")
	}
	t := time.UnixMicro(micros).In(zone)
	return template.HTML(`<time datetime="` + t.UTC().Format(time.RFC3339) + `" title="` + template.HTMLEscapeString(in.Exact(t)) + `">` + //nolint:gosec // escaped
		template.HTMLEscapeString(in.Moment(t)) + `</time>`)
}

// Plural returns a number with its noun in English: one for the number 1, and many otherwise.
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

// number shows a number. A script formats large numbers in the reader's usual format.
func number(in *locale.Language, n int64) template.HTML {
	if n < 1000 {
		return template.HTML(strconv.FormatInt(n, 10)) //nolint:gosec // digits
	}
	return template.HTML(`<data value="` + strconv.FormatInt(n, 10) + `">` + template.HTMLEscapeString(in.Number(n)) + `</data>`) //nolint:gosec // digits
}

// pluralIn returns the form of a text for a number; see locale.Language.PluralHTML.
func pluralIn(in *locale.Language, n int64, one, other string, values []any) template.HTML {
	return in.PluralHTML(n, one, other, append(values, "n", number(in, n))...)
}

// plural works like Plural and returns HTML.
func plural(n int64, one, many string) template.HTML {
	if n == 1 {
		return template.HTML("1 " + template.HTMLEscapeString(one)) //nolint:gosec // escaped
	}
	return number(nil, n) + template.HTML(" "+template.HTMLEscapeString(many)) //nolint:gosec // escaped
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
func bytesOf(in *locale.Language, n int64) string {
	switch {
	case n < 1<<10:
		return in.Plural(n, "{n} byte", "{n} bytes")
	case n < 1<<20:
		return in.Fraction(float64(n)/(1<<10)) + "\u00a0KiB"
	}
	return in.Fraction(float64(n)/(1<<20)) + "\u00a0MiB"
}
