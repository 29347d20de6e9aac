package formula

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// measure is a financial ratio that is computed from metrics.
type measure struct {
	key, name string
	wording   *regexp.Regexp
	unit      kernel.Unit
	factor    float64 // 365 for days, otherwise 1; percentages are scaled by their unit
	// over and under are the metrics whose sums are the numerator and the denominator. A key with "-" in front
	// is subtracted; one with "~" is averaged over the period and the one before.
	over, under []string
	formula     string
}

func measureOf(key, name, wording string, unit kernel.Unit, factor float64, over, under, formula string) *measure {
	return &measure{
		key, name, regexp.MustCompile(`(?i)\b(?:` + wording + `)\b`), unit, factor, strings.Fields(over),
		strings.Fields(under), formula,
	}
}

// measures are the named ratios. If a text matches several, the first one is meant.
var measures = []*measure{
	measureOf("ev_to_ebitda", "EV/EBITDA", `ev\s?/\s?ebitda|ev to ebitda|enterprise value to ebitda`, kernel.Times, 1,
		"market_cap total_debt -cash", "ebitda", "(market value + debt - cash) / EBITDA"),
	measureOf("roic", "return on invested capital", `roic|returns? on invested capital`, kernel.Percent, 1,
		"operating_income -income_tax", "~total_debt ~equity -~cash",
		"(operating income - income tax) / average (debt + equity - cash)"),
	measureOf("roa", "return on assets", `roa|returns? on (?:total |average )*assets`, kernel.Percent, 1, "net_income",
		"~total_assets", "net income / average total assets"),
	measureOf("roe", "return on equity", `roe|returns? on (?:shareholders['’]? |average |stockholders['’]? )*equity`,
		kernel.Percent, 1, "net_income", "~equity", "net income / average equity"),
	measureOf("quick_ratio", "quick ratio", `quick ratio|acid[- ]test(?: ratio)?`, kernel.Times, 1,
		"current_assets -inventory", "current_liabilities", "(current assets - inventories) / current liabilities"),
	measureOf("current_ratio", "current ratio", `current ratio`, kernel.Times, 1, "current_assets", "current_liabilities",
		"current assets / current liabilities"),
	measureOf("dso", "days sales outstanding", `dso|days[’']? sales outstanding|days of sales outstanding|receivable days`,
		"days", 365, "~receivables", "revenue", "average accounts receivable / revenue x 365"),
	measureOf("dio", "days inventory outstanding",
		`dio|days[’']? (?:of )?inventory outstanding|inventory days|days in inventory`, "days", 365, "~inventory",
		"cost_of_revenue", "average inventories / cost of revenue x 365"),
	measureOf("dpo", "days payables outstanding", `dpo|days[’']? (?:of )?payables? outstanding|payable days`, "days",
		365, "~payables", "cost_of_revenue", "average accounts payable / cost of revenue x 365"),
	measureOf("asset_turnover", "asset turnover", `(?:total )?assets? turnover`, kernel.Times, 1, "revenue",
		"~total_assets", "revenue / average total assets"),
	measureOf("inventory_turnover", "inventory turnover", `inventory turnover|stock turn(?:over)?`, kernel.Times, 1,
		"cost_of_revenue", "~inventory", "cost of revenue / average inventories"),
	measureOf("receivables_turnover", "receivables turnover", `receivables? turnover`, kernel.Times, 1, "revenue",
		"~receivables", "revenue / average accounts receivable"),
	measureOf("interest_cover", "interest cover", `interest cover(?:age)?(?: ratio)?|times interest earned`, kernel.Times,
		1, "operating_income", "interest_expense", "operating income / interest expense"),
	measureOf("debt_to_equity", "debt to equity", `debt[- ]to[- ]equity(?: ratio)?|d/e ratio|gearing`, kernel.Times, 1,
		"total_debt", "equity", "total debt / equity"),
	measureOf("leverage", "leverage", `(?:financial )?leverage(?: ratio)?|equity multiplier`, kernel.Times, 1,
		"total_assets", "equity", "total assets / equity"),
	measureOf("liability_to_asset", "liabilities to assets", `liabilit(?:y|ies)[- ]to[- ]assets?(?: ratio)?`,
		kernel.Percent, 1, "total_liabilities", "total_assets", "total liabilities / total assets"),
	measureOf("debt_to_assets", "debt to assets", `debt[- ]to[- ]assets?(?: ratio)?`, kernel.Percent, 1, "total_debt",
		"total_assets", "total debt / total assets"),
	measureOf("payout_ratio", "payout ratio", `(?:dividend )?payout(?: ratio)?`, kernel.Percent, 1, "dividends_paid",
		"net_income", "dividends paid / net income"),
	measureOf("gross_margin", "gross margin", `gross (?:profit )?margin`, kernel.Percent, 1, "gross_profit", "revenue",
		"gross profit / revenue"),
	measureOf("operating_margin", "operating margin", `(?:operating|ebit) (?:profit |income )?margin`, kernel.Percent, 1,
		"operating_income", "revenue", "operating income / revenue"),
	measureOf("ebitda_margin", "EBITDA margin", `ebitda margin`, kernel.Percent, 1, "ebitda", "revenue",
		"EBITDA / revenue"),
	measureOf("net_margin", "net margin", `(?:net (?:profit |income )?|profit )margin`, kernel.Percent, 1, "net_income",
		"revenue", "net income / revenue"),
	measureOf("free_cash_flow_margin", "free cash flow margin", `(?:free cash flow|fcf) margin`, kernel.Percent, 1,
		"operating_cash_flow -capex", "revenue", "(operating cash flow - capital expenditure) / revenue"),
	measureOf("free_cash_flow", "free cash flow", `free cash ?flow|fcf`, kernel.Money, 1, "operating_cash_flow -capex", "",
		"operating cash flow - capital expenditure"),
	measureOf("price_earnings", "price/earnings ratio",
		`p\s?/\s?e(?: ratio)?|price[- ](?:to[- ])?/?earnings(?: ratio| multiple)?`, kernel.Times, 1, "price", "eps_diluted",
		"share price / diluted earnings per share"),
	measureOf("dividend_yield", "dividend yield", `dividend yield`, kernel.Percent, 1, "dividends_per_share", "price",
		"dividends per share / share price"),
	measureOf("working_capital", "working capital", `(?:net )?working capital`, kernel.Money, 1,
		"current_assets -current_liabilities", "", "current assets - current liabilities"),
	measureOf("net_debt", "net debt", `net debt`, kernel.Money, 1, "total_debt -cash", "", "total debt - cash"),
	measureOf("effective_tax_rate", "effective tax rate", `effective (?:income )?tax rate`, kernel.Percent, 1,
		"income_tax", "pretax_income", "income tax / income before income taxes"),
}

// measureIn returns the measure that a question asks for, or nil.
func measureIn(body string) *measure {
	for _, m := range measures {
		if m.wording.MatchString(body) {
			return m
		}
	}
	return nil
}

// Names returns the names of the metrics that the ratio of w is computed from.
func (w Want) Names() []string {
	if w.Measure == nil {
		return nil
	}
	var names []string
	for _, key := range slices.Concat(w.Measure.over, w.Measure.under) {
		if m, ok := metrics.Metric(strings.Trim(key, "-~")); ok && !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	return names
}
