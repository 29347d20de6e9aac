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
		// Such a row is for the table, not for the group above it.
		total := len(row.Label) > 6 && strings.EqualFold(row.Label[:6], "total ")
		if !ok || !total && !groupAllows(row.Group, m) {
			continue
		}
		for k := range t.Columns {
			column := &t.Columns[k]
			if !column.Period.Known() || column.Period.Half != 0 || column.Change || !PeriodOnly(column.Header) {
				continue
			}
			f, ok := t.Figure(i, k)
			if !ok || !strings.ContainsAny(f.Text, "0123456789") || !fits(m, &f) {
				continue
			}
			p := settle(column.Period, report, m.Instant)
			if p.AnyYear() == 0 {
				continue
			}
			facts = append(facts, kernel.Fact{Metric: m.Key, Label: row.Label, Period: p, Figure: f})
		}
	}
	return facts
}

// fits reports whether a figure can be a figure of a metric. If so, it gives the figure the metric's unit, if it has
// none.
func fits(m kernel.Metric, f *kernel.Figure) bool {
	unit := metrics.UnitOf(m.Key)
	switch {
	case m.Ratio:
		return true
	case f.Unit == kernel.Percent:
		return false // a share of something, in a row of that name
	case unit == kernel.Shares && f.Unit == kernel.Money && f.Currency == "USD" && !strings.Contains(f.Text, "$"):
		f.Currency = ""
	}
	if unit != kernel.Money || f.Unit == kernel.NoUnit {
		f.Unit = unit
	}
	return true
}

var grouping = regexp.MustCompile(`(?i)^(?:total |consolidated |selected )*(?:continuing operations|operations|(?:other )?(?:current |non-?current |long-term )?(?:assets|liabilities)|liabilities and .*|equity|capital|numerator|denominator|` +
	`(?:operating )?(?:costs and )?expenses|revenues?|income|results|data|(?:balance sheet|income statement|statements? of \w+)(?: data)?|cash flows?(?: from \w+ activities)?|` +
	`consolidated statements? of .*|.*\bdata\b|(?:operating|investing|financing) activities|as reported|gaap|(?:earnings|income|net income).* per .*share)$`)

// groupAllows reports whether the heading above a row leaves the metric of the row unchanged.
func groupAllows(group string, m kernel.Metric) bool {
	if group == "" || grouping.MatchString(strings.TrimSpace(group)) {
		return true
	}
	if groupMetric, ok := metrics.ByLabel(group); ok {
		return groupMetric.Key == m.Key || groupMetric.Statement == m.Statement
	}
	return len(metrics.Periods(group)) > 0 && PeriodOnly(group)
}

var filler = regexp.MustCompile(`(?i)\b(?:years?|fiscal|financial|ended|ending|end|as|of|at|the|for|twelve|months?|52|53|weeks|three|six|nine|quarters?|first|second|third|fourth|restated|reported|unaudited|audited|actual|note|notes|see|` +
	`january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|consolidated|group|total|in|amounts?|millions?|thousands?|billions?|dollars?|us|u\.s|usd|eur|gbp|rmb|m|mn|bn|q[1-4]|fy|f|h[12])\b`)

// PeriodOnly reports whether a header names a period or a unit and nothing else.
func PeriodOnly(header string) bool {
	rest := filler.ReplaceAllString(header, "")
	return !strings.ContainsFunc(rest, func(r rune) bool {
		return r > 0x7f && r != '€' && r != '£' && r != '¥' && r != '’' || r|0x20 >= 'a' && r|0x20 <= 'z'
	})
}

// settle returns a period completed from the period of the report.
func settle(p, report kernel.Period, instant bool) kernel.Period {
	if p.End == "" && p.Quarter == 0 && report.End != "" && len(report.End) == 10 && report.Months != 3 &&
		report.Months != 6 {
		year := p.Year - report.AnyYear() + report.End.Year()
		end := report.End.Time()
		if last := end.AddDate(0, 0, 1).Month() != end.Month(); last { // the last day of a month
			end = end.AddDate(0, 0, 1-end.Day()).AddDate(year-report.End.Year(), 1, -1)
		} else {
			end = end.AddDate(year-report.End.Year(), 0, 0)
		}
		if p.Year == report.Year {
			end = report.End.Time()
		}
		p.End = kernel.DayOf(end)
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
	case p.Months == 0 && p.Quarter == 0:
		p.Months = 12
		if report.Months != 0 && p.Year == report.Year {
			p.Months = report.Months
		}
	}
	return p
}
