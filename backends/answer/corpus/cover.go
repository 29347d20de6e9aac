package corpus

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
	name, ticker, form string
	end                kernel.Day
}

// coverOf reads the cover. Fields that it does not find stay empty.
func coverOf(pages []Page) (c cover) {
	var b strings.Builder
	for _, page := range pages[:min(len(pages), coverPages)] {
		b.WriteString(page.Text + "\n")
	}
	text := b.String()
	rest := text
	if match := registrant.FindStringIndex(text); match != nil {
		lines := strings.Split(strings.TrimRight(text[:match[0]], " \n|*_#"), "\n")
		for i := len(lines) - 1; i >= 0 && i >= len(lines)-4 && c.name == ""; i-- {
			if line := collapse(strings.Trim(lines[i], "|#*_ ")); len(line) > 1 && len(line) < 120 &&
				strings.Trim(line, "-_=. ") != "" {
				c.name = line
			}
		}
		rest = text[match[0]:]
	} else if len(pages) > 0 && formPattern.MatchString(text) { // some covers have nothing but the name
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
		if !strings.Contains(c.form, "-") {
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
	if m := listingPattern.FindStringSubmatch(rest); m != nil && m[1] != "NYSE" {
		c.ticker = m[1]
	}
	return c
}

// completeFromCover completes the fields of a filing from its cover. Fields that are set are not changed; if the cover
// has a different name of the issuer, that becomes an alias.
func (s *Source) completeFromCover() {
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
	s.Fiscal = "FY" + s.fiscalYear(c.end)
	if c.form == "10-Q" {
		quarter := "Q1 "
		for _, page := range s.Pages {
			if nineMonths.MatchString(page.Text) {
				quarter = "Q3 "
				break
			}
			if halfYear.MatchString(page.Text) {
				quarter = "Q2 "
			}
		}
		s.Fiscal = quarter + s.Fiscal[len("FY"):]
	}
}

// fiscalYear returns the fiscal year of a filing whose period ends at end. It is the year of that day. If the day is in
// January or February and the filing names the previous year more often, it is the previous year.
func (s *Source) fiscalYear(end kernel.Day) string {
	last, previous := end.Time().Format("2006"), end.Time().AddDate(-1, 0, 0).Format("2006")
	if end.Time().Month() > 2 {
		return last
	}
	named := make(map[string]int)
	for _, page := range s.Pages {
		for _, m := range fiscalYearPattern.FindAllStringSubmatch(page.Text, -1) {
			named[m[1]]++
		}
	}
	if named[previous] > named[last] {
		return previous
	}
	return last
}
