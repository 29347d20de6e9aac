package fileformat

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/backends/answer/tables"
)

// companyFacts is the response of the SEC's API for a company: data.sec.gov/api/xbrl/companyfacts. Facts are grouped by
// taxonomy, such as "us-gaap", then by concept, such as "Revenues", then by unit, such as "USD".
type companyFacts struct {
	CIK    json.RawMessage `json:"cik"` // a number or a string
	Entity string          `json:"entityName"`
	Facts  map[string]map[string]struct {
		Label string                        `json:"label"`
		Units map[string][]companyFactValue `json:"units"`
	} `json:"facts"`
}

// companyFactValue is the value of a concept for a period or, without Start, on a day.
type companyFactValue struct {
	Start string      `json:"start"`
	End   string      `json:"end"`
	Value json.Number `json:"val"`
	Form  string      `json:"form"`
	Filed string      `json:"filed"`
}

// readJSON reads a file with the company facts of the SEC. It reads any other JSON as one document in the form of a
// line of JSONL.
func readJSON(_ context.Context, r io.Reader, base Source, out Emit) error {
	body, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	var c companyFacts
	if err := json.Unmarshal(body, &c); err != nil {
		return out(base, Refuse("the JSON cannot be read: %v", err))
	}
	if c.Facts == nil {
		s, err := parseLine(body, base)
		return out(s, err)
	}
	s, err := c.source(base)
	return out(s, err)
}

// candidateFact is a fact that a file has as data. A file may have several facts of one metric and period, because the
// same revenue may be tagged with two concepts, or filed again a year later; rank and filed decide between them.
type candidateFact struct {
	kernel.Fact
	rank  int    // the rank of the fact's concept; a smaller rank is better
	filed string // the date of filing; the latest wins
}

// FactKey identifies the facts of the same metric and period.
type FactKey struct {
	metric string
	end    kernel.Day
	months int
}

// KeyOf returns the key of a fact.
func KeyOf(f kernel.Fact) FactKey { return FactKey{f.Metric, f.Period.End, f.Period.Months} }

// sortedFacts returns the facts ordered by metric. Facts of the same metric are ordered from the latest to the
// earliest.
func sortedFacts(best map[FactKey]candidateFact) []kernel.Fact {
	facts := make([]kernel.Fact, 0, len(best))
	for _, f := range best {
		facts = append(facts, f.Fact)
	}
	slices.SortFunc(facts, func(a, b kernel.Fact) int {
		return cmp.Or(strings.Compare(a.Metric, b.Metric), strings.Compare(string(b.Period.End), string(a.Period.End)),
			b.Period.Months-a.Period.Months)
	})
	return facts
}

// source converts the facts to a document. It takes fields that the file does not have from base. Of several facts for
// the same metric and period, it stores in Source.Facts the fact that candidateFact.before prefers; it ignores facts of
// unknown metrics. Source.Pages are tables of these facts by year, one for each part of a report, so that searches find
// them and answers cite them. source returns an error if the company is missing, if no metric is known, or if there are
// more than maxFacts.
func (c *companyFacts) source(base Source) (Source, error) {
	s := base
	cik, err := scalar(c.CIK)
	if err != nil || c.Entity == "" {
		return s, Refuse("the company is unknown: entityName is missing, or cik is neither a string nor a number")
	}
	s.Kind = kernel.Tabular
	s.Form = cmp.Or(base.Form, "companyfacts")
	s.Issuer.Name, s.Issuer.CIK = cmp.Or(s.Issuer.Name, c.Entity), cik
	s.Title = s.Issuer.Name + ": reported facts"
	// A document without a public address gets the URL of these facts at the SEC.
	if n, err := strconv.ParseUint(strings.TrimLeft(cik, "0"), 10, 40); err == nil && strings.HasPrefix(s.URL, "corpus:") {
		s.URL = fmt.Sprintf("https://data.sec.gov/api/xbrl/companyfacts/CIK%010d.json", n)
	}
	best := make(map[FactKey]candidateFact)
	for _, taxonomy := range []string{"us-gaap", "dei"} {
		for concept, all := range c.Facts[taxonomy] {
			m, ok := metrics.Concept(concept)
			if !ok {
				continue
			}
			for unit, values := range all.Units {
				for _, v := range values {
					candidate, ok := v.fact(m, unit, cmp.Or(all.Label, concept))
					if !ok {
						continue
					}
					candidate.rank = metrics.Rank(concept)
					key := KeyOf(candidate.Fact)
					if other, exists := best[key]; !exists || candidate.before(other) {
						best[key] = candidate
					}
				}
			}
		}
	}
	if len(best) == 0 {
		return s, Refuse("no fact has a known metric")
	}
	if len(best) > MaxFacts {
		return s, Refuse("more than %d facts", MaxFacts)
	}
	s.Facts = append(s.Facts, sortedFacts(best)...)
	s.Pages = yearTables(s.Issuer.Name, s.Facts)
	return s, nil
}

// before reports whether f is preferred to g, which has the same metric and period. A better concept wins, then the
// later filing, then the greater value. Thus the result does not depend on the order of the facts.
func (f candidateFact) before(g candidateFact) bool {
	return cmp.Or(cmp.Compare(f.rank, g.rank), strings.Compare(g.filed, f.filed),
		cmp.Compare(g.Figure.Value, f.Figure.Value)) < 0
}

// fact converts a value of the metric m to a fact. It returns false for a value that is not valid, a period of an
// unusual length, a period instead of a day or the reverse, and an unknown unit. The rank of the result is not set.
func (v *companyFactValue) fact(m kernel.Metric, unit, label string) (candidateFact, bool) {
	end, ok := kernel.ParseDay(v.End)
	value, err := v.Value.Float64()
	if !ok || err != nil || math.IsInf(value, 0) || math.IsNaN(value) {
		return candidateFact{}, false
	}
	p := kernel.Period{Year: end.Year(), End: end}
	if start, ok := kernel.ParseDay(v.Start); ok {
		if p.Months = monthsOf(start, end); p.Months == 0 {
			return candidateFact{}, false
		}
		// A year that ends in the first week of January belongs to the year before.
		if p.Months == 12 && end.Time().Month() == 1 && end.Time().Day() < 8 {
			p.Year--
		}
	}
	if m.Instant != (p.Months == 0) { // a period instead of a day, or the reverse
		return candidateFact{}, false
	}
	f := kernel.Figure{Text: v.Value.String(), Value: value, Step: 1, Unit: kernel.NoUnit}
	if _, fraction, ok := strings.Cut(f.Text, "."); ok {
		for range min(len(fraction), 9) {
			f.Step /= 10 // Step is the value of one unit of the last digit
		}
	}
	switch currency, denominator, isRatio := strings.Cut(unit, "/"); { // "USD", "USD/shares", "shares" or "pure"
	case unit == "shares":
		f.Unit = kernel.Shares
	case isRatio && denominator == "shares":
		f.Unit, f.Currency = kernel.PerShare, currency
	case len(unit) == 3 && strings.ToUpper(unit) == unit:
		f.Unit, f.Currency = kernel.Money, unit
	case unit != "pure":
		return candidateFact{}, false
	}
	return candidateFact{Fact: kernel.Fact{Metric: m.Key, Label: label, Period: p, Figure: f}, filed: v.Filed}, true
}

// yearsShown is the largest number of years in a table. Earlier years are left out.
const yearsShown = 8

// yearTables returns a page with a table for each part of a report that has facts.
func yearTables(issuer string, facts []kernel.Fact) []Page {
	groups := []struct {
		title   string
		instant bool             // the figures are for a day, not for a year
		part    kernel.Statement // empty for metrics of no primary statement
	}{
		{"income statement data, years ended", false, kernel.Income},
		{"cash flow data, years ended", false, kernel.CashFlow},
		{"balance sheet data, as of", true, kernel.Balance},
		{"other data, years ended", false, ""},
		{"other data, as of", true, ""},
	}
	var pages []Page
	for _, g := range groups {
		inGroup := slices.DeleteFunc(slices.Clone(facts), func(f kernel.Fact) bool {
			m, _ := metrics.Metric(f.Metric)
			part := m.Statement
			if !part.IsPrimary() {
				part = ""
			}
			return m.Instant != g.instant || part != g.part || !g.instant && f.Period.Months != 12
		})
		if len(inGroup) > 0 {
			text := issuer + ": " + g.title + "\n\n" + tables.Markdown(yearTable(inGroup))
			pages = append(pages, Page{Number: len(pages) + 1, Text: text})
		}
	}
	return pages
}

// yearTable returns a table with a row for each metric of the facts, in their order, and a column for each fiscal year
// or balance sheet date, from the latest to the earliest.
func yearTable(facts []kernel.Fact) [][]string {
	byMetric := make(map[string]map[kernel.Day]kernel.Fact)
	var order []string // the keys of byMetric
	days := make(map[kernel.Day]bool)
	for _, f := range facts {
		if byMetric[f.Metric] == nil {
			byMetric[f.Metric] = make(map[kernel.Day]kernel.Fact)
			order = append(order, f.Metric)
		}
		byMetric[f.Metric][f.Period.End] = f
		days[f.Period.End] = true
	}
	latestFirst := func(a, b kernel.Day) int { return strings.Compare(string(b), string(a)) }
	ends := slices.SortedFunc(maps.Keys(days), latestFirst)
	ends = ends[:min(len(ends), yearsShown)]
	header := make([]string, 1, 1+len(ends)) // the first column has no name
	for _, end := range ends {
		header = append(header, end.String())
	}
	rows := append(make([][]string, 0, 1+len(order)), header)
	for _, key := range order {
		m, _ := metrics.Metric(key)
		row := append(make([]string, 0, 1+len(ends)), m.Name)
		for _, end := range ends {
			row = append(row, formatFigure(byMetric[key][end].Figure)) // empty without a fact
		}
		rows = append(rows, row)
	}
	return rows
}

// formatFigure formats a figure for a table: "$1,234", "1,234", "1.25". For a figure without text it returns the empty
// string. Text that has an exponent is written without it and without a fraction.
func formatFigure(f kernel.Figure) string {
	if f.Text == "" {
		return ""
	}
	sign, digits := "", f.Text
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	integer, fraction, hasFraction := strings.Cut(digits, ".")
	if strings.ContainsAny(digits, "eE") {
		integer, hasFraction = strconv.FormatFloat(math.Abs(f.Value), 'f', 0, 64), false
	}
	formatted := integer
	for i := len(integer) - 3; i > 0; i -= 3 {
		formatted = formatted[:i] + "," + formatted[i:]
	}
	if hasFraction {
		formatted += "." + fraction
	}
	if f.Currency == "USD" {
		formatted = "$" + formatted
	}
	return sign + formatted
}
