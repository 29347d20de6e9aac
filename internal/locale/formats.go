package locale

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Formats defines how a language writes dates and numbers. The formats of times have the placeholders {day}, {month},
// {short_month}, {weekday}, {year}, {time}, {second} and {zone}.
type Formats struct {
	// Months and ShortMonths are the names of the twelve months, and Weekdays the names of the days from Sunday on.
	Months      []string `json:"months"`
	ShortMonths []string `json:"short_months"`
	Weekdays    []string `json:"weekdays"`
	// Moment is the format of a time in its short form. Exact is the format of a time with all its parts. Until is the
	// format of the end of a period.
	Moment string `json:"moment"`
	Exact  string `json:"exact"`
	Until  string `json:"until"`
	// Group separates thousands, and Decimal separates the fraction.
	Group   string `json:"group"`
	Decimal string `json:"decimal"`
}

// check returns an error if a field is missing or incomplete.
func (f *Formats) check() error {
	switch {
	case len(f.Months) != 12 || len(f.ShortMonths) != 12 || len(f.Weekdays) != 7:
		return errors.New("formats: there must be 12 months, 12 short_months and 7 weekdays, from Sunday on")
	case f.Group == "" || f.Decimal == "":
		return errors.New("formats: group and decimal must be given")
	}
	known := Placeholders(english.Exact + english.Moment)
	for _, format := range []string{f.Moment, f.Exact, f.Until} {
		if format == "" {
			return errors.New("formats: moment, exact and until must be given")
		}
		for _, name := range Placeholders(format) {
			if !slices.Contains(known, name) {
				return fmt.Errorf("formats: there is no placeholder {%s}; there are {%s}", name, strings.Join(known, "}, {"))
			}
		}
	}
	return nil
}

// english has the formats of languages whose catalogue has none.
var english = &Formats{
	Moment: "{day} {short_month} {year}, {time}", Exact: "{weekday}, {day} {month} {year}, {time}:{second} {zone}",
	Until: "{day} {month} {year}, {time} {zone}", Group: "\u202f", Decimal: ".",
}

// formatsOrEnglish returns the formats of the language, or those of English if it has none.
func (l *Language) formatsOrEnglish() *Formats {
	if l == nil || l.formats == nil {
		return english
	}
	return l.formats
}

// Moment returns a time in the short format. The zone is that of t.
func (l *Language) Moment(t time.Time) string { return l.time(l.formatsOrEnglish().Moment, t) }

// Exact returns a time with the day of the week, the seconds and the zone.
func (l *Language) Exact(t time.Time) string { return l.time(l.formatsOrEnglish().Exact, t) }

// Until returns a time with its zone.
func (l *Language) Until(t time.Time) string { return l.time(l.formatsOrEnglish().Until, t) }

// time returns a time in a format of Formats.
func (l *Language) time(format string, t time.Time) string {
	f := l.formatsOrEnglish()
	month, short, weekday := t.Format("January"), t.Format("Jan"), t.Format("Monday")
	if len(f.Months) == 12 {
		month, short = f.Months[t.Month()-1], f.ShortMonths[t.Month()-1]
		weekday = f.Weekdays[t.Weekday()]
	}
	return fill(format, []any{
		"day", t.Day(), "month", month, "short_month", short, "weekday", weekday, "year", t.Year(),
		"time", t.Format("15:04"), "second", t.Format("05"), "zone", t.Format("MST"),
	}, plain)
}

// Number returns a number with its thousands separated.
func (l *Language) Number(n int64) string {
	text := strconv.FormatInt(n, 10)
	separator := l.formatsOrEnglish().Group
	firstDigit := 0
	if n < 0 {
		firstDigit = 1 // after the sign
	}
	for i := len(text) - 3; i > firstDigit; i -= 3 {
		text = text[:i] + separator + text[i:]
	}
	return text
}

// Fraction returns a number with one digit after the decimal separator.
func (l *Language) Fraction(n float64) string {
	return strings.Replace(strconv.FormatFloat(n, 'f', 1, 64), ".", l.formatsOrEnglish().Decimal, 1)
}
