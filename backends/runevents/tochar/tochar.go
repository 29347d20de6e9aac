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
	// unpadded means that the result is not padded, because FM or, for a name, TM precedes the pattern.
	unpadded bool
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
		bare, n := prefix(s[i:])
		i += n
		if p := patternAt(s[i:]); p != nil {
			i += len(p.name)
			part := templatePart{pattern: p, unpadded: bare}
			part.ordinal, n = suffix(s[i:])
			i += n
			parts = append(parts, part)
			continue
		}
		if strings.HasPrefix(s[i:], `\"`) { // an escaped quote is text
			i++
		}
		_, n = utf8.DecodeRuneInString(s[i:])
		if n > 0 { // not at the end, after a modifier
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

// prefix parses the prefix FM or TM, with which s may begin. n is its length, or 0 if s begins with neither. unpadded
// reports whether the prefix keeps the result from being padded.
func prefix(s string) (unpadded bool, n int) {
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
		return false, 2 // has no effect, but is not text either
	}
	return false, 0
}

// suffix parses the suffix TH, th or SP, with which s may begin. n is its length, or 0 if s begins with none of them.
// ordinal is empty for SP, which has no effect.
func suffix(s string) (ordinal string, n int) {
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

// Check returns an error if s cannot be a template, neither for times nor for integers, because of its length or
// because of U+0000. The errors of this package are texts for clients that use the function to_string.
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
		case p.unpadded:
			b.WriteString("FM")
		}
		b.WriteString(p.pattern.sql + p.ordinal + `""`) // the empty text separates two patterns
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

// Time formats a time in Unix milliseconds by a template that CheckTime accepts.
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

// write formats a time by the pattern of p, which must not be text.
func (p templatePart) write(t time.Time) string {
	pattern := p.pattern
	var result string
	if pattern.number != nil {
		n, width := pattern.number(t), pattern.digits
		if p.unpadded && !pattern.fixed {
			width = 0
		}
		if n < 0 {
			width++ // for the sign
		}
		result = fmt.Sprintf("%0*d", width, n)
	} else {
		result = pattern.text(t, p.unpadded)
		if !p.unpadded {
			result += strings.Repeat(" ", max(0, pattern.blanks-len(result)))
		}
	}
	// Texts that are not numbers have no ordinal suffix.
	if p.ordinal == "" || pattern.number == nil && !pattern.ordinal {
		return result
	}
	if p.ordinal == "TH" {
		return result + strings.ToUpper(ordinal(result))
	}
	return result + ordinal(result)
}

// ordinal returns the suffix of the ordinal number with the given digits: st, nd, rd or th.
func ordinal(digits string) string {
	if n := len(digits); n < 2 || digits[n-2] != '1' { // not 11th, 12th or 13th
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

// Number formats an integer by a template that CheckNumber accepts, as PostgreSQL's to_char does. If the template
// contains a 0, the places from its first 0 on are filled with zeros. A number with more digits than the template is
// written as number signs. Unless the template begins with FM, the result is padded with blanks on the left to the
// width of the template and a place for the sign.
func Number(n int64, template string) string {
	digits, unpadded := strings.CutPrefix(template, "FM")
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
	if unpadded {
		return text
	}
	return strings.Repeat(" ", max(0, width+1-len(text))) + text
}

// Timestamp returns a PostgreSQL expression for a timestamp. value is an SQL expression for the same time in Unix
// milliseconds. The result is exact to the millisecond even for times that a double cannot represent exactly.
func Timestamp(value string) string {
	return "timestamp 'epoch' + (" + value + ") / 1000 * interval '1 second' + (" + value +
		") % 1000 * interval '1 millisecond'"
}
