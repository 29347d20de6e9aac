package statements

import (
	"math"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/tables"
)

const (
	balance = `
                                 WEXLERMERE INC.
                           CONSOLIDATED BALANCE SHEETS
                       (in millions, except per share data)

                                                               December 31,
                                                        2022              2021
                                  ASSETS
Current assets:
  Cash and cash equivalents                        $      120       $       100
  Accounts receivable, net of allowances
    of $5 and $4                                           80                70
  Total current assets                                    200               170
Property and equipment                                    500               480
  Less accumulated depreciation                          (200)             (180)
Property and equipment, net                               300               300

Total assets                                       $      500       $       470

Liabilities and stockholders’ equity
  Accounts payable                                 $       90       $        80
  Long-term debt                                          110
  Total liabilities                                       200               190
Commitments and contingencies (Note 4)
  Total Wexlermere stockholders’ equity                   290               270
  Noncontrolling interest                                  10                10
Total equity                                              300               280
Total liabilities and equity                       $      500       $       470
`
	income = `
Wexlermere Inc.
Consolidated Statements of Incom e
(In millions, except per share amounts)

                                     Fiscal Years Ended
                                     January 28, 2023     January 29, 2022   January 30, 2021
Revenues:
   Rooms                             $        600         $       500        $      400
   Food                                       400                 300                200
                                            1,000                 800                600
Cost of sales                                 700                 560                420
Gross profit                                  300                 240                180
Income before income taxes                    100                  80                 60
Provision for income taxes                    (25)                (20)               (15)
Net income including noncontrolling interests  75                  60                 45
Net income attributable to noncontrolling interests    5            4                  3
Net income attributable to Wexlermere  $       70         $        56        $        42
Earnings per share:
   Basic                             $       0.70         $      0.56        $      0.42
   Diluted                           $       0.69         $      0.55        $      0.41
Weighted average shares outstanding:
   Basic                                      100                 100                100
`
	flows = `Consolidated Statements of Cash Flows
(Unaudited, in thousands)
Six months ended June 30,
2023
2022
Operating activities
Net income
$
1,000
$
900
Depreciation and amortization
50
40
Accounts receivable
(5)
6
Net cash provided by operating activities
1,045
946
Investing activities
Purchases of property and equipment
(300)
(200)
Net cash used in investing activities
(300)
(200)
Financing activities
Dividends paid
(45)
Net cash used in financing activities
(45)
(46)
Net increase in cash and cash equivalents
700
700
`
)

type want struct {
	metric string
	year   int
	quarter,
	months int
	value float64
}

func facts(t *testing.T, text string, report kernel.Period) map[want]int {
	t.Helper()
	found := make(map[want]int)
	for _, f := range Read([]string{tables.FromText(text)}, Report{Period: report, Names: []string{"Wexlermere Inc."}}) {
		found[want{f.Metric, f.Period.Year, f.Period.Quarter, f.Period.Months, math.Round(f.Figure.Value*100) / 100}] = f.Sure
	}
	return found
}

// TestRead checks that each figure belongs to its row and column, with its scale and sign, and that uncertain
// ones are left out.
func TestRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text   string
		report kernel.Period
		want   []want
		not    []string
	}{
		"balance sheet": {balance, kernel.Period{Year: 2022, Months: 12}, []want{
			{"cash", 2022, 0, 0, 120e6},
			{"cash", 2021, 0, 0, 100e6},
			{"receivables", 2021, 0, 0, 70e6},
			{"current_assets", 2022, 0, 0, 200e6},
			{"ppe", 2022, 0, 0, 300e6},
			{"total_assets", 2021, 0, 0, 470e6},
			{"payables", 2022, 0, 0, 90e6},
			{"long_term_debt", 2022, 0, 0, 110e6},
			{"total_liabilities", 2021, 0, 0, 190e6},
			{"equity", 2022, 0, 0, 290e6},
			{"total_equity", 2022, 0, 0, 300e6},
		}, nil},
		"income statement": {income, kernel.Period{Year: 2022, Months: 12}, []want{
			{"revenue", 2022, 0, 12, 1000e6},
			{"revenue", 2020, 0, 12, 600e6},
			{"cost_of_revenue", 2021, 0, 12, 560e6},
			{"gross_profit", 2022, 0, 12, 300e6},
			{"net_income", 2022, 0, 12, 70e6},
			{"profit", 2021, 0, 12, 60e6},
			{"eps_basic", 2022, 0, 12, 0.70},
			{"eps_diluted", 2020, 0, 12, 0.41},
			{"shares_basic", 2022, 0, 12, 100e6},
			{"income_tax", 2022, 0, 12, -25e6},
		}, nil},
		"cells with a line each": {flows, kernel.Period{Year: 2023, Quarter: 2, Months: 3}, []want{
			{"operating_cash_flow", 2023, 0, 6, 1045e3}, {"capex", 2022, 0, 6, -200e3}, {"depreciation_and_amortization", 2023, 0, 6, 50e3}, {"cash_change", 2022, 0, 6, 700e3},
		}, []string{"receivables", "dividends_paid", "net_income"}},
		"of a parent alone": {"Schedule I, Parent Company Only\n" + balance[len("\n                                 WEXLERMERE INC."):], kernel.Period{Year: 2022}, nil, []string{"cash", "total_assets"}},
	} {
		got := facts(t, c.text, c.report)
		for _, w := range c.want {
			if got[w] < minStatementRows {
				t.Errorf("%s: without %+v: %v", name, w, got)
			}
		}
		for _, metric := range c.not {
			for w := range got {
				if w.metric == metric {
					t.Errorf("%s: %+v", name, w)
				}
			}
		}
	}
}

const minStatementRows = 80

// TestWrong checks that a statement in which nothing adds up, because its columns are lost, gives no facts.
func TestWrong(t *testing.T) {
	t.Parallel()
	text := "| Consolidated Balance Sheets (in millions) | 2022 | 2021 |\n|---|---|---|\n| Cash | 5 | 6 |\n| Total assets | 100 | 90 |\n| Total liabilities | 60 | 50 |\n| Total equity | 40 | 40 |\n| Total liabilities and equity | 10 | 90 |\n"
	for _, f := range Read([]string{"Consolidated Balance Sheets\n\n" + text + "\n"}, Report{Period: kernel.Period{Year: 2022, End: "2022-12-31"}}) {
		if f.Sure == Checked && f.Period.Year == 2022 && f.Metric == "liabilities_and_equity" {
			t.Errorf("%+v", f)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{balance, income, flows, "", "|", "2022 2021\n1 2\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, fact := range Read([]string{tables.FromText(text)}, Report{Period: kernel.Period{Year: 2022, Quarter: 1}, Names: []string{text}}) {
			if fact.Metric == "" || fact.Period.AnyYear() == 0 || math.IsNaN(fact.Figure.Value) || math.IsInf(fact.Figure.Value, 0) {
				t.Errorf("%+v", fact)
			}
		}
	})
}

// TestQuarterOfFiscalYear checks that a quarter has the number of its fiscal year, which ends in the next
// calendar year, and that the year before has its own number.
func TestQuarterOfFiscalYear(t *testing.T) {
	t.Parallel()
	page := `
Wexlermere Inc.
Condensed Consolidated Balance Sheets
In millions

                                                 July 29, 2023     January 28, 2023     July 30, 2022
Assets
Cash and cash equivalents                        $      109       $      187           $      84
Receivables, net                                         85              114                  84
Total current assets                                    194              301                 168
Total assets                                     $      531       $      580           $     541
Liabilities and equity
Total liabilities                                       251              300                 261
Total equity                                            280              280                 280
Total liabilities and equity                     $      531       $      580           $     541
`
	got := facts(t, page, kernel.Period{Year: 2024, Quarter: 2, Months: 3})
	for _, w := range []want{{"cash", 2024, 2, 0, 109e6}, {"cash", 2023, 0, 0, 187e6}, {"cash", 2023, 2, 0, 84e6}} {
		if got[w] < minStatementRows {
			t.Errorf("without %+v: %v", w, got)
		}
	}
}

func TestNumbered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		year, quarter int
		end           kernel.Day
		want          bool
	}{
		{2022, 0, "2022-12-31", true},
		{2022, 0, "2023-01-28", true},
		{2022, 0, "2023-06-30", false},
		{2022, 0, "2021-12-31", false},
		{2024, 2, "2023-07-29", true},
		{2024, 1, "2023-12-30", true},
		{2022, 4, "2023-01-28", true},
		{2024, 2, "2022-07-30", false},
	} {
		if got := plausibleYear(kernel.Period{Year: c.year, Quarter: c.quarter, End: c.end}); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
