package metrics

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// TopicOf returns the number that stands for a part of a report in vectors. The numbers follow the order of
// kernel.Statements, beginning with 1. TopicOf returns 0 if the part is unknown.
func TopicOf(s kernel.Statement) byte {
	for i, statement := range kernel.Statements {
		if statement == s {
			return byte(i + 1)
		}
	}
	return 0
}

// StatementOf returns the part of a report with the number topic, or the empty string if there is no such part.
func StatementOf(topic byte) kernel.Statement {
	if topic == 0 || int(topic) > len(kernel.Statements) {
		return ""
	}
	return kernel.Statements[topic-1]
}

// headings lists patterns for the headings of parts of a report. The first pattern that matches is used. The strings in
// words are faster to search for than the pattern wording: every text that wording matches contains one of them when
// the text is in lower case.
var headings = []struct {
	statement kernel.Statement
	wording   *regexp.Regexp
	words     []string
}{
	{kernel.CashFlow, regexp.MustCompile(`(?i)statements? of (?:consolidated )?cash[- ]flows?|cash flow statement|statement of cash`), []string{"cash"}},
	{kernel.Comprehensive, regexp.MustCompile(`(?i)statements? of (?:consolidated )?(?:other )?comprehensive (?:income|loss)`), []string{"comprehensive"}},
	{kernel.Balance, regexp.MustCompile(`(?i)\bbalance sheets?\b|statements? of (?:consolidated )?financial (?:position|condition)`), []string{"balance sheet", "financial"}},
	{kernel.Equity, regexp.MustCompile(`(?i)statements? of (?:consolidated )?(?:changes in )?(?:share|stock)?(?:holders|owners)?['’]? ?equity|changes in equity`), []string{"equity"}},
	{kernel.Income, regexp.MustCompile(`(?i)statements? of (?:consolidated )?(?:operations|income|earnings|profit)|\bincome statements?\b|profit and loss account|statements? of profit or loss`), []string{"statement", "profit and loss"}},
	{kernel.Segments, regexp.MustCompile(`(?i)\bsegments?\b|geographic(?:al)? (?:area|information|data|region)|disaggregat`), []string{"segment", "geographic", "disaggregat"}},
	{kernel.Risks, regexp.MustCompile(`(?i)\brisk factors?\b|item 1a\b|principal risks`), []string{"risk", "item 1a"}},
	{kernel.Discussion, regexp.MustCompile(`(?i)management['’]?s discussion|\bmd&a\b|item 7\b|results of operations|liquidity and capital resources|operating and financial review|selected (?:consolidated )?financial data`), []string{"discussion", "md&a", "item 7", "results of", "liquidity", "review", "selected"}},
	{kernel.Notes, regexp.MustCompile(`(?i)^\s*notes?\s+\d|notes to (?:the )?(?:consolidated )?financial|> notes? \d|> \d{1,2}[.)] `), []string{"note", "> "}},
	{
		kernel.Business, regexp.MustCompile(`(?i)item 1\b|\bbusiness\b|\bproperties\b|\bemployees\b`),
		[]string{"item 1", "business", "properties", "employees"},
	},
}

// typicalMetrics lists the typical metrics of statements. A table with rows for more than two metrics of a statement
// belongs to that statement.
var typicalMetrics = map[kernel.Statement][]string{
	kernel.Income: {
		"revenue", "cost_of_revenue", "gross_profit", "operating_income", "pretax_income", "income_tax",
		"net_income", "eps_basic", "eps_diluted",
	},
	kernel.Balance: {
		"current_assets", "total_assets", "current_liabilities", "total_liabilities", "equity",
		"retained_earnings", "receivables", "payables",
	},
	kernel.CashFlow: {"operating_cash_flow", "investing_cash_flow", "financing_cash_flow", "capex"},
}

// Topic returns the part of a report that a passage belongs to, as the number that TopicOf returns. section holds the
// headings above the passage, headers the captions, columns and rows of its tables. The headings and the first caption
// decide; if they match no pattern, the names of the rows decide.
func Topic(section, headers string) byte {
	caption, _, _ := strings.Cut(headers, "\n")
	lower := strings.ToLower(section + "\n" + caption)
	for _, h := range headings {
		if !slices.ContainsFunc(h.words, func(w string) bool { return strings.Contains(lower, w) }) {
			continue
		}
		if h.wording.MatchString(section) || h.wording.MatchString(caption) {
			return TopicOf(h.statement)
		}
	}
	rows := make(map[string]bool)
	for line := range strings.SplitSeq(headers, "\n") {
		if m, ok := ByLabel(line); ok {
			rows[m.Key] = true
		}
	}
	best, bestRows := kernel.Statement(""), 2 // more than two rows are necessary
	for _, statement := range kernel.Statements {
		n := 0
		for _, key := range typicalMetrics[statement] {
			if rows[key] {
				n++
			}
		}
		if n > bestRows {
			best, bestRows = statement, n
		}
	}
	return TopicOf(best)
}
