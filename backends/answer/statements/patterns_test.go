package statements

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/tables"
)

// TestPatterns checks the many ways in which issuers write the same row, and rows that only look similar.
func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind        kernel.Statement
		label, want string
	}{
		{kernel.CashFlow, "Repurchases of common stock for treasury", "share_buybacks"},
		{kernel.CashFlow, "Purchase and retirement of common stock", "share_buybacks"},
		{kernel.CashFlow, "Payments to acquire Class A common shares", "share_buybacks"},
		{kernel.CashFlow, "Repurchase of common stock from employees for withholding taxes", ""},
		{kernel.CashFlow, "Proceeds from issuance of common stock", ""},
		{kernel.CashFlow, "Dividends paid to holders of common stock", "dividends_paid"},
		{kernel.CashFlow, "Cash dividends and dividend equivalents paid", "dividends_paid"},
		{kernel.CashFlow, "Dividends paid to noncontrolling interests", ""},
		{kernel.CashFlow, "Dividends received from affiliated companies", ""},
		{kernel.CashFlow, "Cash paid for property, equipment and software", "capex"},
		{kernel.CashFlow, "Additions to properties and equipment", "capex"},
		{kernel.CashFlow, "Proceeds from sales of property and equipment", ""},
		{kernel.CashFlow, "Property and equipment acquired under finance leases", ""},
		{kernel.CashFlow, "Purchases of investments", ""},
		{kernel.CashFlow, "Depreciation, depletion, and amortization of assets", "depreciation_and_amortization"},
		{kernel.CashFlow, "Amortization of debt issuance costs", ""},
		{kernel.CashFlow, "Net cash flows provided by (used in) operating activities", "operating_cash_flow"},
		{kernel.CashFlow, "Cash used for financing activities", "financing_cash_flow"},
		{kernel.CashFlow, "Net cash provided by discontinued operations", ""},
		{kernel.CashFlow, "Net (decrease) increase in cash and restricted cash", "cash_change"},
		{kernel.CashFlow, "Effect of exchange rate changes on cash and restricted cash", "exchange_effect"},
		{kernel.Income, "Earnings (loss) from continuing operations before provision for income taxes", "pretax_income"},
		{kernel.Income, "Income before interest and taxes", ""},
		{kernel.Income, "Provision for federal and state income taxes", "income_tax"},
		{kernel.Income, "Deferred income tax expense", ""},
		{kernel.Balance, "Premises and equipment, net", "ppe"},
		{kernel.Balance, "Property, plant and equipment, gross", ""},
		{kernel.Balance, "Total liabilities, redeemable interests and shareholders' equity", "liabilities_and_equity"},
		{kernel.Balance, "Current portion of operating lease liabilities", ""},
		{kernel.Balance, "Current maturities of long-term debt and other borrowings", "current_portion_of_debt"},
	} {
		if got, _ := concept(c.label, "", c.kind, nil); got != c.want {
			t.Errorf("%s: %q, want %q", c.label, got, c.want)
		}
	}
}

// TestNotesOnStatement checks that a note with the title of a statement adds only what the statement itself does not
// have.
func TestNotesOnStatement(t *testing.T) {
	t.Parallel()
	note := "Supplemental Balance Sheet Information\n\n| In millions | 2022 | 2021 |\n|---|---|---|\n| Accounts payable | 7 | 6 |\n| Deferred revenue | 5 | 4 |\n| Other | 1 | 1 |\n"
	pages := []string{"", "", "", "", note}
	pages[0] = tables.FromText(balance)
	got := make(map[string][]float64)
	for _, f := range Read(pages, Report{Period: kernel.Period{Year: 2022, Months: 12}, Names: []string{"Wexlermere Inc."}}) {
		if f.Period.Year == 2022 {
			got[f.Metric] = append(got[f.Metric], f.Figure.Value)
		}
	}
	if len(got["payables"]) != 1 || got["payables"][0] != 90e6 || len(got["deferred_revenue"]) != 1 {
		t.Errorf("%v, %v", got["payables"], got["deferred_revenue"])
	}
}
