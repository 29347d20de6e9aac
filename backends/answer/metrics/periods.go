package metrics

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// Mention is a place in a text that names a period: "Q3 2019" in "Sales in Q3 2019 were lower."
type Mention struct {
	Period     kernel.Period
	Start, End int // the byte offsets of the period in the text
}

// maxPeriods bounds the mentions of one text.
const maxPeriods = 64

const (
	monthName = `(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?`
	yearOf    = `((?:19|20)\d\d)`
	length    = `(?:(?:for )?(?:the )?(fiscal |financial )?(years?|twelve months?|12 months?|nine months?|9 months?|six months?|6 months?|half[- ]year|three months?|3 months?|quarters?|5[23] weeks|(?:13|26|39) weeks)[- ](?:ended|ending|to)\s+(?:on )?)?`
)

// The comment above each pattern lists its capturing groups with their numbers. The expression length has two of
// these groups: 1 is set for a fiscal period, and 2 is the unit.
var (
	// length (1 fiscal, 2 unit), 3 month, 4 day, 5 year
	dated = regexp.MustCompile(`(?i)\b` + length + monthName + `\s*(\d{1,2})(?:st|nd|rd|th)?\s*,?\s+` + yearOf + `\b`)
	// length (1, 2), 3 day, 4 month, 5 year
	datedBritish = regexp.MustCompile(`(?i)\b` + length + `(\d{1,2})(?:st|nd|rd|th)?\s+(?:of )?` + monthName + `\s*,?\s+` +
		yearOf + `\b`)
	// length (1, 2), 3 month, 4 year
	monthly = regexp.MustCompile(`(?i)\b` + length + monthName + `\s*,?\s+(?:of )?` + yearOf + `\b`)
	iso     = regexp.MustCompile(`\b` + yearOf + `-(\d\d)-(\d\d)\b`)
	slashed = regexp.MustCompile(`\b(\d{1,2})/(\d{1,2})/((?:19|20)?\d\d)\b`)
	// 1 quarter, 2 year; or 3 quarter, 4 year
	quarterly = regexp.MustCompile(`(?i)\b(?:q([1-4])|([1-4])q|(first|second|third|fourth)(?: fiscal| financial)?[- ]quarter)\s*(?:ended |of |in |,|')*\s*(?:the )?(?:fiscal )?(?:year )?(?:fy\s?)?['’]?((?:19|20)?\d\d)\b`)
	// 1 year, 2 quarter
	yearFirst = regexp.MustCompile(`(?i)\b(?:fiscal |fy\s?)?(20\d\d)[\s-]*(?:q([1-4])|(first|second|third|fourth)[- ]quarter)\b`)
	halfYear  = regexp.MustCompile(`(?i)\b(?:h([12])|([12])h|(first|second)[- ]half)\s*(?:of |in |,|')*\s*(?:the )?(?:fiscal )?(?:year )?(?:fy\s?)?['’]?((?:19|20)?\d\d)\b`)
	// a year that spans two calendar years: 2017/2018, 2017/18
	double = regexp.MustCompile(`\b((?:19|20)\d\d)\s?/\s?((?:19|20)?\d\d)\b`)
	fiscal = regexp.MustCompile(`(?i)\b(?:(?:fiscal|financial)(?:\s+years?)?|fy|f|ye)\s?['’]?((?:19|20)\d\d|\d\d)\b`)
	plain  = regexp.MustCompile(`\b((?:19|20)\d\d)\b`)
)

// groups returns the text of a capturing group of a match by its number, or the empty string if the group did not
// match.
type groups func(number int) string

// spelling is a way to write a period.
type spelling struct {
	pattern *regexp.Regexp
	period  func(g groups) kernel.Period // returns the period of a match; it is zero if the match is not a period
}

// spellings lists the ways to write a period in the order in which they are searched for. A spelling comes before any
// shorter one that may be a part of it, because a match that overlaps an earlier one is ignored: "Q3 2019" is found
// before "2019". The search for a pattern is slow, so spellings are searched for only in a text that contains one of
// the strings in their field words.
var spellings = []struct {
	words     []string // in lower case
	spellings []spelling
}{
	{[]string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}, []spelling{
		{dated, func(g groups) kernel.Period { return periodEnding(g(2), g(5), g(3), g(4)) }},
		{datedBritish, func(g groups) kernel.Period { return periodEnding(g(2), g(5), g(4), g(3)) }},
		{monthly, func(g groups) kernel.Period { return periodEnding(g(2), g(4), g(3), "") }},
	}},
	{[]string{"-"}, []spelling{{iso, func(g groups) kernel.Period {
		day, _ := kernel.ParseDay(g(1) + "-" + g(2) + "-" + g(3))
		return kernel.Period{End: day}
	}}}},
	{[]string{"/"}, []spelling{
		{slashed, func(g groups) kernel.Period { return periodEnding("", fourDigits(g(3)), g(1), g(2)) }},
	}},
	{[]string{"q"}, []spelling{
		{yearFirst, func(g groups) kernel.Period {
			return kernel.Period{Year: number(g(1)), Quarter: number(g(2) + ordinal(g(3))), Months: 3}
		}},
		{quarterly, func(g groups) kernel.Period {
			return kernel.Period{Year: number(fourDigits(g(4))), Quarter: number(g(1) + g(2) + ordinal(g(3))), Months: 3}
		}},
	}},
	{[]string{"h1", "h2", "1h", "2h", "half"}, []spelling{{halfYear, func(g groups) kernel.Period {
		return kernel.Period{Year: number(fourDigits(g(4))), Half: number(g(1) + g(2) + ordinal(g(3))), Months: 6}
	}}}},
	{[]string{"/"}, []spelling{{double, func(g groups) kernel.Period {
		first, second := number(g(1)), number(fourDigits(g(2)))
		if second != first+1 {
			return kernel.Period{}
		}
		return kernel.FiscalYear(second)
	}}}},
	{[]string{"f", "ye"}, []spelling{
		{fiscal, func(g groups) kernel.Period { return kernel.FiscalYear(number(fourDigits(g(1)))) }},
	}},
	{[]string{"19", "20"}, []spelling{
		{plain, func(g groups) kernel.Period { return kernel.Period{Year: number(g(1))} }},
	}},
}

// Periods returns the periods that a text names, in the order of the text: "fiscal 2019", "FY19", "year ended September
// 30, 2019", "30 June 2019", "Q3 2019", "2017/18", "2019". Fields that the text does not state are zero: a year alone
// has no Months, and a date no Year.
func Periods(text string) []Mention {
	if !twoDigits(text) {
		return nil
	}
	if len(text) == 4 && plain.MatchString(text) { // most headers of columns are only a year
		return []Mention{{kernel.Period{Year: number(text)}, 0, 4}}
	}
	var found []Mention
	lower := strings.ToLower(text)
	for _, group := range spellings { // longer spellings come first: "Q3 2019" before "2019"
		if !slices.ContainsFunc(group.words, func(w string) bool { return strings.Contains(lower, w) }) {
			continue
		}
		for _, s := range group.spellings {
			for _, match := range s.pattern.FindAllStringSubmatchIndex(text, maxPeriods) {
				p := s.period(func(i int) string {
					if match[2*i] < 0 {
						return ""
					}
					return text[match[2*i]:match[2*i+1]]
				})
				overlaps := func(other Mention) bool { return match[0] < other.End && other.Start < match[1] }
				if p.Known() && len(found) < maxPeriods && !slices.ContainsFunc(found, overlaps) {
					found = append(found, Mention{p, match[0], match[1]})
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b Mention) int { return a.Start - b.Start })
	return found
}

// twoDigits reports whether a text has two adjacent digits, as every period does.
func twoDigits(text string) bool {
	for i := 1; i < len(text); i++ {
		if text[i] >= '0' && text[i] <= '9' && text[i-1] >= '0' && text[i-1] <= '9' {
			return true
		}
	}
	return false
}

// Years returns the years of the periods that a text names, without repetitions, the latest first.
func Years(text string) []int {
	var years []int
	for _, m := range Periods(text) {
		if y := m.Period.AnyYear(); y != 0 && !slices.Contains(years, y) {
			years = append(years, y)
		}
	}
	slices.SortFunc(years, func(a, b int) int { return b - a })
	return years
}

// periodEnding returns a period that ends on a date, or at the end of the month if day is empty. month is a name or a
// number. unit is the length of the period in words, such as "six months", or empty for a date. periodEnding returns
// the zero Period for a date that does not exist.
func periodEnding(unit, year, month, day string) kernel.Period {
	m := monthOf(month)
	if m == 0 {
		m = time.Month(number(month))
	}
	if m < time.January || m > time.December {
		return kernel.Period{}
	}
	y := number(year)
	lastDay := time.Date(y, m+1, 0, 0, 0, 0, 0, time.UTC).Day()
	d := lastDay
	if day != "" {
		if d = number(day); d < 1 || d > lastDay {
			return kernel.Period{}
		}
	}
	p := kernel.Period{End: kernel.DayOf(time.Date(y, m, d, 0, 0, 0, 0, time.UTC))}
	// 52 or 53 weeks are a year, 39 weeks nine months, and 26 weeks six months.
	switch unit = strings.ToLower(unit); {
	case unit == "":
	case strings.HasPrefix(unit, "year"), strings.HasPrefix(unit, "twelve"), strings.HasPrefix(unit, "12"),
		strings.HasPrefix(unit, "5"):
		p.Months = 12
	case strings.HasPrefix(unit, "nine"), strings.HasPrefix(unit, "9"), strings.HasPrefix(unit, "39"):
		p.Months = 9
	case strings.HasPrefix(unit, "six"), strings.HasPrefix(unit, "6"), strings.HasPrefix(unit, "half"),
		strings.HasPrefix(unit, "26"):
		p.Months = 6
	default:
		p.Months = 3
	}
	return p
}

// monthOf returns the month whose English name begins with the first three letters of name, or 0 if there is none.
func monthOf(name string) time.Month {
	if len(name) < 3 {
		return 0
	}
	index := strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", strings.ToLower(name[:3]))
	if index < 0 || index%3 != 0 {
		return 0
	}
	return time.Month(index/3 + 1)
}

// ordinal returns the digit for "first" to "fourth", ignoring case, and the empty string for any other word.
func ordinal(word string) string {
	return map[string]string{"first": "1", "second": "2", "third": "3", "fourth": "4"}[strings.ToLower(word)]
}

// fourDigits returns a year with four digits: "2019" for "19", "1998" for "98". Other texts are returned unchanged.
func fourDigits(year string) string {
	switch {
	case len(year) != 2:
		return year
	case year >= "70":
		return "19" + year
	}
	return "20" + year
}

// number returns the number that digits are, or 0 if they are not a number.
func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}
