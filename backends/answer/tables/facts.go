package tables

import (
	"regexp"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// Facts returns the figures of a table whose row has exactly the name of a metric and whose column has exactly the name
// of a period. It leaves out figures of a segment, a product or a scenario, and differences. report is the period of
// the document, from which incomplete periods are completed. The caller has to set issuer, document and passage.
func (t *Table) Facts(report kernel.Period) []kernel.Fact {
	var facts []kernel.Fact
	for i := range t.Rows {
		row := &t.Rows[i]
		m, ok := metrics.ByLabel(row.Label)
		// A total belongs to the whole table, whatever group heading is above it.
		isTotal := len(row.Label) > 6 && strings.EqualFold(row.Label[:6], "total ")
		if !ok || !isTotal && !groupAllows(row.Group, m) {
			continue
		}
		for k := range t.Columns {
			column := &t.Columns[k]
			if !column.Period.Known() || column.Period.Half != 0 || column.Change || !PeriodOnly(column.Header) {
				continue
			}
			f, ok := t.Figure(i, k)
			if !ok || !strings.ContainsAny(f.Text, "0123456789") || !adaptUnit(m, &f) {
				continue
			}
			p := completePeriod(column.Period, report, m.Instant)
			if p.AnyYear() == 0 {
				continue
			}
			facts = append(facts, kernel.Fact{Metric: m.Key, Label: row.Label, Period: p, Figure: f})
		}
	}
	return facts
}

// adaptUnit reports whether f can be a figure of m: a percentage fits only a ratio. If so, adaptUnit corrects the
// unit of f. If m is an amount of money, f gets the unit of m only if f has no unit. If m is a count or an amount per
// share, f always gets the unit of m. If m is a ratio, the unit of f is not changed.
func adaptUnit(m kernel.Metric, f *kernel.Figure) bool {
	unit := metrics.UnitOf(m.Key)
	switch {
	case m.Ratio:
		return true
	case f.Unit == kernel.Percent:
		return false // beside amounts, a row may also show what percentage they are of another amount
	case unit == kernel.Shares && f.Unit == kernel.Money && f.Currency == "USD" && !strings.Contains(f.Text, "$"):
		f.Currency = "" // the currency of the table does not apply to numbers of shares
	}
	if unit != kernel.Money || f.Unit == kernel.NoUnit {
		f.Unit = unit
	}
	return true
}

// neutralHeading matches headings that do not change what the rows below them mean, such as "Consolidated statements
// of income". Headings such as the name of a segment are not matched.
var neutralHeading = regexp.MustCompile(`(?i)^(?:total |consolidated |selected )*(?:continuing operations|operations|(?:other )?(?:current |non-?current |long-term )?(?:assets|liabilities)|liabilities and .*|equity|capital|numerator|denominator|` +
	`(?:operating )?(?:costs and )?expenses|revenues?|income|results|data|(?:balance sheet|income statement|statements? of \w+)(?: data)?|cash flows?(?: from \w+ activities)?|` +
	`consolidated statements? of .*|.*\bdata\b|(?:operating|investing|financing) activities|as reported|gaap|(?:earnings|income|net income).* per .*share)$`)

// groupAllows reports whether a row with the label of m, below the heading group, has the figures of m for the whole
// issuer. Below the name of a segment or a product it does not.
func groupAllows(group string, m kernel.Metric) bool {
	if group == "" || neutralHeading.MatchString(strings.TrimSpace(group)) {
		return true
	}
	if groupMetric, ok := metrics.ByLabel(group); ok {
		return groupMetric.Key == m.Key || groupMetric.Statement == m.Statement
	}
	return len(metrics.Periods(group)) > 0 && PeriodOnly(group)
}

// filler matches the words of headers that consist of a period or a unit.
var filler = regexp.MustCompile(`(?i)\b(?:years?|fiscal|financial|ended|ending|end|as|of|at|the|for|twelve|months?|52|53|weeks|three|six|nine|quarters?|first|second|third|fourth|restated|reported|unaudited|audited|actual|note|notes|see|` +
	`january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|consolidated|group|total|in|amounts?|millions?|thousands?|billions?|dollars?|us|u\.s|usd|eur|gbp|rmb|m|mn|bn|q[1-4]|fy|f|h[12])\b`)

// PeriodOnly reports whether a header names a period or a unit and nothing else.
func PeriodOnly(header string) bool {
	otherText := filler.ReplaceAllString(header, "")
	return !strings.ContainsFunc(otherText, func(r rune) bool {
		return r > 0x7f && r != '€' && r != '£' && r != '¥' && r != '’' || r|0x20 >= 'a' && r|0x20 <= 'z'
	})
}

// completePeriod returns p with its last day, year and length completed from the period of the report. instant reports
// that the metric is measured on a day, so that the length is 0.
func completePeriod(p, report kernel.Period, instant bool) kernel.Period {
	isFullReportDay := len(report.End) == len("2019-12-31")
	if p.End == "" && p.Quarter == 0 && isFullReportDay && report.Months != 3 && report.Months != 6 {
		// The year ends on the same calendar day as the year of the report, some years earlier or later.
		p.End = report.End.AddYears(p.Year - report.AnyYear())
	}
	if p.Year == 0 {
		p.Year = p.End.Year()
		if p.End == report.End && report.Year != 0 {
			p.Year = report.Year
		}
	}
	switch {
	case instant:
		p.Months = 0
	case p.Months == 0 && p.Quarter == 0: // "2019" is as long as the report's period if the years match, else a year
		p.Months = 12
		if report.Months != 0 && p.Year == report.Year {
			p.Months = report.Months
		}
	}
	return p
}
