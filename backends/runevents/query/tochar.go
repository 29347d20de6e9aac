package query

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxTemplate bounds the template of to_string.
const maxTemplate = 100

// timeParts are the patterns of times that both engines know, long before
// short. FM before one drops its padding.
var timeParts = []struct {
	name  string
	value func(time.Time) string
	width int // of a name that is padded with blanks
}{
	{"HH24", func(t time.Time) string { return pad(t.Hour(), 2) }, 0},
	{"HH12", func(t time.Time) string { return pad(hour12(t), 2) }, 0},
	{"HH", func(t time.Time) string { return pad(hour12(t), 2) }, 0},
	{"MI", func(t time.Time) string { return pad(t.Minute(), 2) }, 0},
	{"SSSSS", secondOfDay, 0},
	{"SSSS", secondOfDay, 0},
	{"SS", func(t time.Time) string { return pad(t.Second(), 2) }, 0},
	{"MS", func(t time.Time) string { return pad(t.Nanosecond()/1e6, 3) }, 0},
	{"US", func(t time.Time) string { return pad(t.Nanosecond()/1e3, 6) }, 0},
	{"AM", func(t time.Time) string { return t.Format("PM") }, 0},
	{"PM", func(t time.Time) string { return t.Format("PM") }, 0},
	{"am", func(t time.Time) string { return t.Format("pm") }, 0},
	{"pm", func(t time.Time) string { return t.Format("pm") }, 0},
	{"YYYY", func(t time.Time) string { return pad(t.Year(), 4) }, 0},
	{"IYYY", func(t time.Time) string { return pad(isoYear(t), 4) }, 0},
	{"YY", func(t time.Time) string { return pad(t.Year()%100, 2) }, 0},
	{"MONTH", func(t time.Time) string { return strings.ToUpper(t.Month().String()) }, 9},
	{"Month", func(t time.Time) string { return t.Month().String() }, 9},
	{"month", func(t time.Time) string { return strings.ToLower(t.Month().String()) }, 9},
	{"MON", func(t time.Time) string { return strings.ToUpper(t.Format("Jan")) }, 0},
	{"Mon", func(t time.Time) string { return t.Format("Jan") }, 0},
	{"mon", func(t time.Time) string { return strings.ToLower(t.Format("Jan")) }, 0},
	{"MM", func(t time.Time) string { return pad(int(t.Month()), 2) }, 0},
	{"DAY", func(t time.Time) string { return strings.ToUpper(t.Weekday().String()) }, 9},
	{"Day", func(t time.Time) string { return t.Weekday().String() }, 9},
	{"day", func(t time.Time) string { return strings.ToLower(t.Weekday().String()) }, 9},
	{"DY", func(t time.Time) string { return strings.ToUpper(t.Format("Mon")) }, 0},
	{"Dy", func(t time.Time) string { return t.Format("Mon") }, 0},
	{"dy", func(t time.Time) string { return strings.ToLower(t.Format("Mon")) }, 0},
	{"DDD", func(t time.Time) string { return pad(t.YearDay(), 3) }, 0},
	{"DD", func(t time.Time) string { return pad(t.Day(), 2) }, 0},
	{"IDDD", func(t time.Time) string { _, w := t.ISOWeek(); return pad((w-1)*7+isoDay(t), 3) }, 0},
	{"ID", func(t time.Time) string { return strconv.Itoa(isoDay(t)) }, 0},
	{"D", func(t time.Time) string { return strconv.Itoa(int(t.Weekday()) + 1) }, 0},
	{"IW", func(t time.Time) string { _, w := t.ISOWeek(); return pad(w, 2) }, 0},
	{"WW", func(t time.Time) string { return pad((t.YearDay()-1)/7+1, 2) }, 0},
	{"W", func(t time.Time) string { return strconv.Itoa((t.Day()-1)/7 + 1) }, 0},
	{"Q", func(t time.Time) string { return strconv.Itoa((int(t.Month())-1)/3 + 1) }, 0},
}

func pad(n, width int) string { return fmt.Sprintf("%0*d", width, n) }

func hour12(t time.Time) int { return (t.Hour()+11)%12 + 1 }

func secondOfDay(t time.Time) string {
	return strconv.Itoa(t.Hour()*3600 + t.Minute()*60 + t.Second())
}

func isoDay(t time.Time) int { return (int(t.Weekday())+6)%7 + 1 }

func isoYear(t time.Time) int { y, _ := t.ISOWeek(); return y }

// templatePart is a pattern or text of a template.
type templatePart struct {
	text string
	part int // index into timeParts; -1: text
	fill bool
}

// splitTemplate reads a template of times. Letters outside of quotes have to
// be patterns, so that both engines mean the same. The T of ISO 8601 is text.
func splitTemplate(s string) ([]templatePart, error) {
	var parts []templatePart
	for i := 0; i < len(s); {
		if s[i] == '"' {
			end := strings.IndexByte(s[i+1:], '"')
			if end < 0 || strings.Contains(s[i+1:i+1+end], `\`) {
				return nil, refuse("the template %q of to_string has an open quote", clip(s))
			}
			parts = append(parts, templatePart{text: s[i+1 : i+1+end], part: -1})
			i += end + 2
			continue
		}
		fill := true
		if strings.HasPrefix(s[i:], "FM") {
			fill = false
			i += 2
		}
		part := -1
		for n, p := range timeParts {
			if strings.HasPrefix(s[i:], p.name) {
				part = n
				break
			}
		}
		switch {
		case part >= 0:
			parts = append(parts, templatePart{part: part, fill: fill})
			i += len(timeParts[part].name)
		case !fill || isLetter(rune(s[i])) && s[i] != 'T' || s[i] == '\\' || s[i] >= 0x80:
			return nil, refuse("the template %q of to_string is not understood at %q; put text in double quotes", clip(s), clip(s[min(i, len(s)):]))
		default:
			parts = append(parts, templatePart{text: s[i : i+1], part: -1})
			i++
		}
	}
	return parts, nil
}

// checkTemplate refuses what the engines would not agree about.
func checkTemplate(s string, kind fieldType) error {
	if s == "" || len(s) > maxTemplate {
		return refuse("the template of to_string has from 1 to %d characters", maxTemplate)
	}
	switch kind {
	case typeTime:
		_, err := splitTemplate(s)
		return err
	case typeAbsent:
		return nil // a time or a number: nobody will know
	default:
	}
	if digits := strings.TrimPrefix(s, "FM"); digits == "" || len(digits) > 18 || strings.Trim(digits, "09") != "" {
		return refuse("the template %q of to_string takes the digits 0 and 9 only, perhaps after FM", clip(s))
	}
	return nil
}

// quotedTemplate is a template of times with all its text in quotes, as
// PostgreSQL needs it: it takes a T with an H behind it for the ending of an
// ordinal number.
func quotedTemplate(template string) string {
	parts, err := splitTemplate(template)
	if err != nil {
		return "" // refused before
	}
	var b strings.Builder
	for _, p := range parts {
		switch {
		case p.part < 0:
			b.WriteString(`"` + p.text + `"`)
			continue
		case !p.fill:
			b.WriteString("FM")
		}
		b.WriteString(timeParts[p.part].name)
	}
	return b.String()
}

// formatTime is to_char of PostgreSQL for times, in UTC.
func formatTime(ms int64, template string) string {
	parts, err := splitTemplate(template)
	if err != nil {
		return "" // refused before
	}
	t := time.UnixMilli(ms).UTC()
	var b strings.Builder
	for _, p := range parts {
		if p.part < 0 {
			b.WriteString(p.text)
			continue
		}
		def := timeParts[p.part]
		v := def.value(t)
		switch {
		case p.fill:
			v += strings.Repeat(" ", max(0, def.width-len(v)))
		case def.name != "MS" && def.name != "US":
			if v = strings.TrimLeft(v, "0"); v == "" {
				v = "0"
			}
		}
		b.WriteString(v)
	}
	return b.String()
}

// formatNumber is to_char of PostgreSQL for integers.
func formatNumber(n int64, template string) string {
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
