package tables

import (
	"slices"
	"strings"
	"testing"
)

// TestParagraphs checks that the lines of a page become whole sentences again, even if two columns of text
// stand side by side.
func TestParagraphs(t *testing.T) {
	t.Parallel()
	text := `
Risk Factors
Demand for our instruments follows the orders of laboratories, which have been lower in long-
term contracts than in any other year since the company was founded.
•  A bullet begins a line of its own.

Quarter over quarter results                    Year over year results
Sales were flat in the three months that        Sales decreased by $7 million in the three
ended in June, when compared with the           months that ended in June, compared with the
quarter before, as higher prices were           same period of the year before, as clients
offset by lower volumes in all of the           moved to cheaper contracts that last for a
regions in which we sell.                       longer time.
`
	got := FromText(text)
	for _, want := range []string{
		"Risk Factors\nDemand for our instruments follows the orders of laboratories, which have been lower in long-term contracts than in any other year since the company was founded.\n•  A bullet",
		"Sales were flat in the three months that ended in June, when compared with the quarter before, as higher prices were offset by lower volumes in all of the regions in which we sell.",
		"Sales decreased by $7 million in the three months that ended in June, compared with the same period of the year before, as clients moved to cheaper contracts that last for a longer time.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("without %q:\n%s", want, got)
		}
	}
}

// TestLayout checks that figures stand under their own headers, whatever spaces, signs and brackets are
// between them.
func TestLayout(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string // rows
		not  []string
	}{
		"marks and brackets": {`
                                          Year Ended December 31,
(In millions)                         2022            2021            2020
Net sales                     $      1,234   $       1,100  $          900
Income tax benefit (expense)           (45 )           12             (3)
Other, net                                              7

Total assets                  $      9,000   $       8,000  $        7,000
`, []string{"| (In millions) | 2022 | 2021 | 2020 |", "| Net sales | $1,234 | $1,100 | $900 |", "| Income tax benefit (expense) | (45) | 12 | (3) |", "| Other, net |  | 7 |  |", "| Total assets | $9,000 | $8,000 | $7,000 |"}, nil},
		"a name of two lines": {`
                              2022      2021
Adjustments to reconcile net income to cash
  provided by operations        10        20
Property, net of depreciation of
  $5 and $4                    300       280
Deferred taxes                   3         4
`, []string{"| Adjustments to reconcile net income to cash provided by operations | 10 | 20 |", "| Property, net of depreciation of $5 and $4 | 300 | 280 |"}, nil},
		"names on two lines around a blank one": {`
                              2022      2021
Property, plant and equipment, net of depreciation -

  $5 and $4 (Note 9)             300       280
Earnings per common share attributable to

Wexlermere Inc.:
  Basic                          0.5       0.4
`, []string{"| Property, plant and equipment, net of depreciation - $5 and $4 (Note 9) | 300 | 280 |", "| Earnings per common share attributable to Wexlermere Inc.: |  |  |"}, nil},
		"headers over several columns": {`
                      Three Months Ended June 30,      Six Months Ended June 30,
                         2023           2022              2023           2022
Revenue                   100             90               190            170
Cost                       50             45                95             85
`, []string{"|  | Three Months Ended June 30, | Three Months Ended June 30, | Six Months Ended June 30, | Six Months Ended June 30, |", "| Revenue | 100 | 90 | 190 | 170 |"}, nil},
		"two tables": {`
                    2022      2021
Assets               100        90
Cash                  10         9

                    2020      2019
Sales                 50        40
Costs                 30        20
`, []string{"| Assets | 100 | 90 |", "|  | 2020 | 2019 |", "| Sales | 50 | 40 |"}, nil},
		"text alone": {"In 2022 sales rose by 5 to 10 million.\nThey had been 4 in 2021.\n", nil, []string{"|"}},
		"cells with a line each": {strings.Join([]string{
			"Balance Sheets", "(In millions)", "June 30,", "2023", "2022", "Cash", "$", "10", "$", "9", "Other", "5", "Debt", "(3)", "(", "4", ")", "Equity", "7", "6", "Sum", "20", "15", "Rest", "1", "2", "More", "8", "3",
		}, "\n"), []string{"| (In millions) | June 30, 2023 | June 30, 2022 |", "| Cash | $10 | $9 |", "| Other 5 |  |  |", "| Debt | (3) | (4) |", "| Rest | 1 | 2 |"}, nil},
	} {
		got := FromText(c.text)
		rows := strings.Split(got, "\n")
		for _, w := range c.want {
			if !slices.Contains(rows, w) {
				t.Errorf("%s: without %s:\n%s", name, w, got)
			}
		}
		for _, n := range c.not {
			if strings.Contains(got, n) {
				t.Errorf("%s: with %s:\n%s", name, n, got)
			}
		}
	}
}

// FuzzLayout checks that nothing in a text is lost, and that it is read in reasonable time.
func FuzzLayout(f *testing.F) {
	f.Add("   2022   2021\nCash  $ 5  $ 6\nDebt   (3 )  —\n")
	f.Add("June 30,\n2023\n2022\nCash\n$\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n")
	f.Fuzz(func(t *testing.T, text string) {
		got := FromText(text)
		for _, table := range ParseAll(got, 20) {
			for _, row := range table.Rows {
				if len(row.Cells) != len(table.Columns) {
					t.Fatalf("%d cells of %d columns", len(row.Cells), len(table.Columns))
				}
			}
		}
	})
}
