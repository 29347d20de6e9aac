// Package tochar implements PostgreSQL's to_char for databases of any kind: it formats times, in UTC, and integers by a
// template. Callers must check a template before they use it.
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

// maxLength limits a template, in bytes.
const maxLength = 100

// templatePart is a pattern in a template, or literal text.
type templatePart struct {
	text    string
	pattern *timePattern // nil for text
	// bare means that the result is not padded, because FM or, for a name, TM precedes the pattern.
	bare bool
	// ordinal is the suffix TH or th after a number, or empty.
	ordinal string
}

// splitTemplate parses a template for times. As in PostgreSQL, everything that is not a pattern is text, and so is
// everything in double quotes, within which a backslash escapes the next character. In one case it differs from
// PostgreSQL: the T of ISO 8601 before a pattern such as HH24 or MI is text, whereas PostgreSQL may parse it as the
// beginning of the suffix TH or of the prefix TM. It returns an error if a quote is not closed.
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

// quotedText returns the text in double quotes with which s begins, and its length in bytes including the quotes. ok is
// false if the quote is not closed.
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

// modifier parses the modifier FM or TM at the beginning of s. n is its length, or 0 if s begins with neither. bare
// reports whether the modifier keeps the result from being padded.
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

// ending parses the suffix TH, th or SP at the beginning of s. n is its length, or 0 if s begins with none of them.
// ordinal is empty for SP, which has no effect.
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
	case "SP": // without effect
		return "", 2
	}
	return "", 0
}

// patternAt returns the longest pattern at the beginning of s, or nil.
func patternAt(s string) *timePattern {
	for i := range timePatterns {
		if strings.HasPrefix(s, timePatterns[i].name) {
			return &timePatterns[i]
		}
	}
	return nil
}

// Check returns an error if s is neither a template for times nor a template for integers. The errors of this package
// are texts for clients that use the function to_string.
func Check(s string) error {
	if s == "" || len(s) > maxLength {
		return fmt.Errorf("the template of to_string has from 1 to %d characters", maxLength)
	}
	if strings.ContainsRune(s, 0) {
		return errors.New("the template of to_string holds U+0000, which no text has")
	}
	return nil
}

// CheckTime returns an error if s is not a template for times.
func CheckTime(s string) error {
	if err := Check(s); err != nil {
		return err
	}
	_, err := splitTemplate(s)
	return err
}

// CheckNumber returns an error if s is not a template for integers.
func CheckNumber(s string) error {
	if err := Check(s); err != nil {
		return err
	}
	if digits := strings.TrimPrefix(s, "FM"); digits == "" || len(digits) > 18 || strings.Trim(digits, "09") != "" {
		return fmt.Errorf("the template %q of to_string takes the digits 0 and 9 only, perhaps after FM", s)
	}
	return nil
}

// Hourly reports whether a template for times has the same result for all times in an hour.
func Hourly(template string) bool {
	parts, err := splitTemplate(template)
	for _, p := range parts {
		if p.pattern != nil && p.pattern.fine {
			return false
		}
	}
	return err == nil
}

// ForPostgres converts a template for times to a template that PostgreSQL cannot parse differently: text is quoted, and
// patterns with a constant result are replaced by text.
func ForPostgres(template string) string {
	parts, err := splitTemplate(template)
	if err != nil {
		return "" // refused by CheckTime
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
		b.WriteString(p.pattern.sql + p.ordinal + `""`) // separates two patterns
	}
	return b.String()
}

// splitParts is a template with its parts, which must not be modified.
type splitParts struct {
	template string
	parts    []templatePart
}

// lastSplit is the template used last. It is cached because SQLite calls Time for each row.
var lastSplit atomic.Pointer[splitParts]

// Time formats a time in Unix milliseconds by a template.
func Time(ms int64, template string) string {
	split := lastSplit.Load()
	if split == nil || split.template != template {
		parts, err := splitTemplate(template)
		if err != nil {
			return "" // refused by CheckTime
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

// write formats a time by a pattern.
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

// ordinal returns the suffix of an ordinal number: st, nd, rd or th.
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

// Number formats an integer by a template.
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

// Timestamp returns a PostgreSQL expression for the timestamp of value, an SQL expression in Unix milliseconds. The
// result is exact to the millisecond even for times that a double cannot represent exactly.
func Timestamp(value string) string {
	return "timestamp 'epoch' + (" + value + ") / 1000 * interval '1 second' + (" + value +
		") % 1000 * interval '1 millisecond'"
}
