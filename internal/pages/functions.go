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

// templateFuncs returns the functions that all templates can call, for a language.
func templateFuncs(language *locale.Language) template.FuncMap {
	return template.FuncMap{
		"t": language.TranslateHTML,
		"tn": func(n int64, singular, plural string, values ...any) template.HTML {
			return pluralIn(language, n, singular, plural, values)
		},
		"language": language.Tag,
		"scripted": func() template.HTMLAttr { return scriptAttribute(language) },
		"plural":   plural,
		"bytes":    func(n int64) string { return bytesOf(language, n) },
		"count":    func(n int64) template.HTML { return number(language, n) },
		"sentence": func(text string) string { return sentence(language.Message(text)) },
		"duration": func(d time.Duration) string { return duration(language, d) },
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

// deref returns the text to which a pointer points, or "" for nil.
func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// When shows a time: a time.Time, a number of microseconds or a value with a method Time. It shows the short form, with
// the exact time in the title.
func (v *View) When(value any) template.HTML {
	switch t := value.(type) {
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
func moment(language *locale.Language, micros int64, zone *time.Location) template.HTML {
	if micros == 0 {
		return language.TranslateHTML("never")
	}
	t := time.UnixMicro(micros).In(zone)
	return template.HTML(`<time datetime="` + t.UTC().Format(time.RFC3339) + `" title="` + template.HTMLEscapeString(language.Exact(t)) + `">` + //nolint:gosec // escaped
		template.HTMLEscapeString(language.Moment(t)) + `</time>`)
}

// Plural returns a number with its noun in English: singular for the number 1, and plural otherwise.
func Plural(n int64, singular, plural string) string {
	if n == 1 {
		return "1 " + singular
	}
	return count(n) + " " + plural
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
func number(language *locale.Language, n int64) template.HTML {
	if n < 1000 {
		return template.HTML(strconv.FormatInt(n, 10)) //nolint:gosec // digits
	}
	return template.HTML(`<data value="` + strconv.FormatInt(n, 10) + `">` + template.HTMLEscapeString(language.Number(n)) + `</data>`) //nolint:gosec // digits
}

// pluralIn returns the form of a text for a number; see locale.Language.PluralHTML.
func pluralIn(language *locale.Language, n int64, singular, plural string, values []any) template.HTML {
	return language.PluralHTML(n, singular, plural, append(values, "n", number(language, n))...)
}

// plural works like Plural and returns HTML.
func plural(n int64, singular, plural string) template.HTML {
	if n == 1 {
		return template.HTML("1 " + template.HTMLEscapeString(singular)) //nolint:gosec // escaped
	}
	return number(nil, n) + template.HTML(" "+template.HTMLEscapeString(plural)) //nolint:gosec // escaped
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
func duration(language *locale.Language, d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case d <= 90*time.Second:
		return language.Plural(int64(math.Ceil(d.Seconds())), "{n} second", "{n} seconds")
	case d <= 90*time.Minute:
		return language.Plural(int64(math.Ceil(d.Minutes())), "{n} minute", "{n} minutes")
	}
	return language.Plural(int64(math.Ceil(d.Hours())), "{n} hour", "{n} hours")
}

// bytesOf returns a number of bytes in a readable form, such as 1.5 KiB.
func bytesOf(language *locale.Language, n int64) string {
	switch {
	case n < 1<<10:
		return language.Plural(n, "{n} byte", "{n} bytes")
	case n < 1<<20:
		return language.Fraction(float64(n)/(1<<10)) + "\u00a0KiB"
	}
	return language.Fraction(float64(n)/(1<<20)) + "\u00a0MiB"
}
