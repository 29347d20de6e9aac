// Package tochar is to_char of PostgreSQL on any engine: times and whole numbers by a
// template, in UTC. Templates are checked before they are used.
package tochar

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// maxLength bounds a template, in bytes.
const maxLength = 100

// templatePart is a pattern or text of a template.
type templatePart struct {
	text    string
	pattern *timePattern // nil: text
	// bare is a pattern without its padding, after FM or, of a name, TM.
	bare bool
	// ordinal is the ending, TH or th, that a number gets; empty: none.
	ordinal string
}

// splitTemplate reads a template of times as PostgreSQL does: what is no pattern is
// text, as is what stands in double quotes, where a backslash takes the next
// character as it is. The T of ISO 8601, before a pattern such as HH24 or MI, is text
// as well, though PostgreSQL may take it for a part of TH or TM.
func splitTemplate(s string) ([]templatePart, error) {
	var parts []templatePart
	for i := 0; i < len(s); {
		if s[i] == '"' {
			text, n, ok := quotedText(s[i:])
			if !ok {
				return nil, fmt.Errorf("the template %q of to_string has an open quote", s)
			}
			parts = append(parts, templatePart{text: text})
			i += n
			continue
		}
		bare, n := modifier(s[i:])
		i += n
		if p := patternAt(s[i:]); p != nil {
			i += len(p.name)
			part := templatePart{pattern: p, bare: bare}
			part.ordinal, n = ending(s[i:])
			i += n
			parts = append(parts, part)
			continue
		}
		if strings.HasPrefix(s[i:], `\"`) {
			i++
		}
		_, n = utf8.DecodeRuneInString(s[i:])
		if n > 0 {
			parts = append(parts, templatePart{text: s[i : i+n]})
		}
		i += n
	}
	return parts, nil
}

// quotedText reads text in quotes, and of how many bytes it is.
func quotedText(s string) (text string, n int, ok bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), i + 1, true
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return "", 0, false
}

// modifier reads what may stand before a pattern, and tells its length.
func modifier(s string) (bare bool, n int) {
	if len(s) < 2 {
		return false, 0
	}
	switch s[:2] {
	case "FM", "fm":
		return true, 2
	case "TM", "tm":
		p := patternAt(s[2:])
		if p != nil && p.named {
			return true, 2
		}
		if s[0] == 'T' && patternAt(s[1:]) != nil {
			return false, 0 // the T of ISO 8601
		}
		return false, 2
	}
	return false, 0
}

// ending reads what may stand behind a pattern, and tells its length.
func ending(s string) (ordinal string, n int) {
	if len(s) < 2 {
		return "", 0
	}
	switch s[:2] {
	case "TH":
		if patternAt(s[1:]) != nil {
			return "", 0 // the T of ISO 8601
		}
		return "TH", 2
	case "th":
		return "th", 2
	case "SP": // has no meaning yet
		return "", 2
	}
	return "", 0
}

// patternAt is the longest pattern that a text begins with; nil: none.
func patternAt(s string) *timePattern {
	for i := range timePatterns {
		if strings.HasPrefix(s, timePatterns[i].name) {
			return &timePatterns[i]
		}
	}
	return nil
}

// Check refuses what is no template, whether of a time or a number. Errors tell people
// what is wrong with a template of the function to_string.
func Check(s string) error {
	if s == "" || len(s) > maxLength {
		return fmt.Errorf("the template of to_string has from 1 to %d characters", maxLength)
	}
	if strings.ContainsRune(s, 0) {
		return errors.New("the template of to_string holds U+0000, which no text has")
	}
	return nil
}

// CheckTime refuses what is no template of times.
func CheckTime(s string) error {
	if err := Check(s); err != nil {
		return err
	}
	_, err := splitTemplate(s)
	return err
}

// CheckNumber refuses what is no template of whole numbers.
func CheckNumber(s string) error {
	if err := Check(s); err != nil {
		return err
	}
	if digits := strings.TrimPrefix(s, "FM"); digits == "" || len(digits) > 18 || strings.Trim(digits, "09") != "" {
		return fmt.Errorf("the template %q of to_string takes the digits 0 and 9 only, perhaps after FM", s)
	}
	return nil
}

// Hourly tells whether a template of times shows the same all through an hour.
func Hourly(template string) bool {
	parts, err := splitTemplate(template)
	for _, p := range parts {
		if p.pattern != nil && p.pattern.fine {
			return false
		}
	}
	return err == nil
}

// ForPostgres is a template of times without anything that PostgreSQL could read in
// another way: all its text is in quotes, and what is the same for every time is text.
func ForPostgres(template string) string {
	parts, err := splitTemplate(template)
	if err != nil {
		return "" // refused before
	}
	var b strings.Builder
	for _, p := range parts {
		switch {
		case p.pattern == nil:
			b.WriteString(`"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(p.text) + `"`)
			continue
		case p.pattern.sql == "":
			b.WriteString(`"` + p.write(time.Time{}) + `"`)
			continue
		case p.bare:
			b.WriteString("FM")
		}
		b.WriteString(p.pattern.sql + p.ordinal + `""`) // so that no two patterns become one
	}
	return b.String()
}

// splitParts is a template with its parts, which nobody changes.
type splitParts struct {
	template string
	parts    []templatePart
}

// lastSplit is the template of the row before, as SQLite calls for each row.
var lastSplit atomic.Pointer[splitParts]

// Time is to_char of Unix milliseconds.
func Time(ms int64, template string) string {
	split := lastSplit.Load()
	if split == nil || split.template != template {
		parts, err := splitTemplate(template)
		if err != nil {
			return "" // refused before
		}
		split = &splitParts{template, parts}
		lastSplit.Store(split)
	}
	t := time.UnixMilli(ms).UTC()
	var b strings.Builder
	for _, p := range split.parts {
		if p.pattern == nil {
			b.WriteString(p.text)
		} else {
			b.WriteString(p.write(t))
		}
	}
	return b.String()
}

// write is what a pattern makes of a time.
func (p templatePart) write(t time.Time) string {
	def := p.pattern
	var v string
	switch {
	case def.number != nil:
		n, digits := def.number(t), def.digits
		if p.bare && !def.fixed {
			digits = 0
		}
		if n < 0 {
			digits++
		}
		v = fmt.Sprintf("%0*d", digits, n)
	default:
		v = def.text(t, p.bare)
		if !p.bare {
			v += strings.Repeat(" ", max(0, def.blanks-len(v)))
		}
	}
	if p.ordinal == "" || def.number == nil && !def.ordinal {
		return v
	}
	if p.ordinal == "TH" {
		return v + strings.ToUpper(ordinal(v))
	}
	return v + ordinal(v)
}

// ordinal is the ending of a number.
func ordinal(digits string) string {
	if n := len(digits); n < 2 || digits[n-2] != '1' {
		switch digits[n-1] {
		case '1':
			return "st"
		case '2':
			return "nd"
		case '3':
			return "rd"
		}
	}
	return "th"
}

// Number is to_char of a whole number.
func Number(n int64, template string) string {
	digits := strings.TrimPrefix(template, "FM")
	fill := digits == template
	sign := ""
	text := strconv.FormatInt(n, 10)
	if n < 0 {
		sign, text = "-", text[1:]
	}
	width := len(digits)
	if len(text) > width {
		text = strings.Repeat("#", width)
	}
	if zero := strings.IndexByte(digits, '0'); zero >= 0 {
		text = strings.Repeat("0", max(0, width-zero-len(text))) + text
	}
	text = sign + text
	if !fill {
		return text
	}
	return strings.Repeat(" ", max(0, width+1-len(text))) + text
}

// Timestamp is the time of so many Unix milliseconds, an SQL expression, in the SQL of
// PostgreSQL: to the millisecond also where a double would not do.
func Timestamp(value string) string {
	return "timestamp 'epoch' + (" + value + ") / 1000 * interval '1 second' + (" + value + ") % 1000 * interval '1 millisecond'"
}
