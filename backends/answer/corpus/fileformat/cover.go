package fileformat

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// coverPages is how many pages are searched for the cover of a filing.
const coverPages = 3

// Patterns of the cover page of a filing, and of the periods that its text names.
var (
	registrant        = regexp.MustCompile(`(?i)\(\s*exact name of (?:the )?registrant`)
	formPattern       = regexp.MustCompile(`(?i)\bform\s+(10-?K|10-?Q|8-?K|20-?F|40-?F|6-?K)\b`)
	periodPattern     = regexp.MustCompile(`(?i)\bfor the (?:(?:fiscal |transition )?year|(?:quarterly |fiscal )?(?:period|quarter))\s+ended:?\s+([A-Z][a-z]+\s+\d{1,2},?\s+(?:19|20)\d\d)`)
	eventPattern      = regexp.MustCompile(`(?i)\bdate of (?:report|earliest event)[^:\n]{0,60}:?\s*([A-Z][a-z]+\s+\d{1,2},?\s+(?:19|20)\d\d)`)
	listingPattern    = regexp.MustCompile(`(?s)\b([A-Z]{1,5})\b[\s|]+(?:The\s+)?(?i:new york stock exchange|nasdaq|nyse)`)
	fiscalYearPattern = regexp.MustCompile(`(?i)\bfiscal (?:year )?((?:19|20)\d\d)\b`)
	halfYear          = regexp.MustCompile(`(?i)\b(?:six months|2[67] weeks|twenty-six weeks) ended`)
	nineMonths        = regexp.MustCompile(`(?i)\b(?:nine months|39 weeks|thirty-nine weeks|40 weeks) ended`)
)

// cover is the description of a filing on its first pages.
type cover struct {
	name, ticker string     // of the issuer
	form         string     // such as "10-K"
	end          kernel.Day // the last day of the period, or the day of the event, that the filing reports on
}

// coverOf reads the cover of a filing from its pages. Fields that it does not find stay empty. If it does not find
// the name, all fields are empty.
func coverOf(pages []Page) (c cover) {
	var b strings.Builder
	for _, page := range pages[:min(len(pages), coverPages)] {
		b.WriteString(page.Text + "\n")
	}
	text := b.String()
	afterName := text
	if match := registrant.FindStringIndex(text); match != nil {
		c.name = nameAbove(text[:match[0]])
		afterName = text[match[0]:]
	} else if len(pages) > 0 && formPattern.MatchString(text) { // some covers show the name without a caption
		for line := range strings.Lines(pages[0].Text) {
			if line = collapse(strings.Trim(line, "|#*_ \n")); c.name == "" && metrics.WellKnown(line) {
				c.name = line
			}
		}
	}
	if c.name == "" {
		return c
	}
	if m := formPattern.FindStringSubmatch(text); m != nil {
		c.form = strings.ToUpper(m[1])
		if !strings.Contains(c.form, "-") { // "10K"
			c.form = c.form[:len(c.form)-1] + "-" + c.form[len(c.form)-1:]
		}
	}
	for _, re := range []*regexp.Regexp{periodPattern, eventPattern} {
		if m := re.FindStringSubmatch(text); m != nil && c.end == "" {
			if found := metrics.Periods(collapse(m[1])); len(found) > 0 {
				c.end = found[0].Period.End
			}
		}
	}
	if m := listingPattern.FindStringSubmatch(afterName); m != nil && m[1] != "NYSE" { // NYSE is an exchange
		c.ticker = m[1]
	}
	return c
}

// nameAbove returns the name in the last lines of a text, which stand above the caption "exact name of registrant". It
// returns the empty string if none of the last four lines is a name.
func nameAbove(text string) string {
	lines := strings.Split(strings.TrimRight(text, " \n|*_#"), "\n")
	for _, line := range slices.Backward(lines[max(0, len(lines)-4):]) {
		line = collapse(strings.Trim(line, "|#*_ "))
		isRule := strings.Trim(line, "-_=. ") == ""
		if len(line) > 1 && len(line) < 120 && !isRule {
			return line
		}
	}
	return ""
}

// CompleteFromCover fills in the fields of a filing from its cover. Fields that are set are not changed. If the cover
// has another name of the issuer, that becomes an alias.
func (s *Source) CompleteFromCover() {
	if s.Kind != "" && s.Kind != kernel.Filing {
		return
	}
	c := coverOf(s.Pages)
	if c.name == "" {
		return
	}
	if s.Issuer.Name == "" {
		s.Issuer.Name = c.name
	} else if metrics.Key(c.name) != metrics.Key(s.Issuer.Name) && len(s.Issuer.Aliases) < maxAliases {
		s.Issuer.Aliases = append(slices.Clip(s.Issuer.Aliases), c.name)
	}
	s.Issuer.Ticker, s.Form = cmp.Or(s.Issuer.Ticker, c.ticker), cmp.Or(s.Form, c.form)
	if c.end == "" || s.Fiscal != "" || s.PeriodEnd != "" {
		return
	}
	s.PeriodEnd = c.end
	prefix := "FY"
	if c.form == "10-Q" {
		prefix = s.fiscalQuarter() + " "
	}
	s.Fiscal = prefix + s.fiscalYear(c.end)
}

// fiscalQuarter returns the quarter that a quarterly report is about: Q3 if it has figures for nine months, Q2 if it
// has figures for six months, or else Q1. There is no such report for the fourth quarter.
func (s *Source) fiscalQuarter() string {
	quarter := "Q1"
	for _, page := range s.Pages {
		if nineMonths.MatchString(page.Text) {
			return "Q3"
		}
		if halfYear.MatchString(page.Text) {
			quarter = "Q2"
		}
	}
	return quarter
}

// fiscalYear returns the fiscal year of a filing whose period ends on the day end. It is the year of that day. If the
// day is in January or February and the filing names the previous year more often, it is the previous year.
func (s *Source) fiscalYear(end kernel.Day) string {
	year, previous := end.Time().Format("2006"), end.Time().AddDate(-1, 0, 0).Format("2006")
	if end.Time().Month() > 2 {
		return year
	}
	mentions := make(map[string]int) // by year
	for _, page := range s.Pages {
		for _, m := range fiscalYearPattern.FindAllStringSubmatch(page.Text, -1) {
			mentions[m[1]]++
		}
	}
	if mentions[previous] > mentions[year] {
		return previous
	}
	return year
}
