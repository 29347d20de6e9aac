package tables

import (
	"math"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

const (
	contracts = `Sales by type (in millions):

|  |  | Years Ended September 30, |  |
|---|---|---|---|
|  | 2019 | 2018 | 2017 |
| Fixed Price | $  1,452.4 | $  1,146.2 | (3.1) |
| Other: |  |  |  |
| Services | 44.1 | — | 70.8 |
| Total sales | $1,496.5 | $1,202.9 | $1,107.7 |`
	plans = `|  | Domestic |  | International |  |
|---|---|---|---|---|
|  | September 30, |  | September 30, |  |
|  | 2019 | 2018 | 2019 | 2018 |
| Discount rate | 4.00% | 3.75% | 1.90% | 2.80% |`
	results = `| Income statement |  |  |  |
|---|---|---|---|
|  | 2019 €m | 2018 €m | Change % |
| Revenue | 1,671 | 1,612 | 3.7 |
| Basic earnings per share | 1.25 | 1.10 | 13.6 |
| Less: income taxes (note 3) | −216 | (298) | |`
	quarters = `|  | High | Low |
|---|---|---|
| 2019: |  |  |
| Fourth Quarter | $11.44 | $9.47 |
| 2018: |  |  |
| First Quarter | $7.35 | $6.00 |`
	balance = `| ($ in thousands) |  |  |
|---|---|---|
| At December 31: | 2019 | 2018 |
| Assets |  |  |
| Cash and cash equivalents | $130 | $91 |
| Total assets | 5,765.2 | 5,050 |
| Americas |  |  |
| Goodwill | 5 | 4 |`
	// The years stand on both sides of the changes, whose heading is in the middle.
	interleaved = `| Year Ended May 31, |  |  |  |  |
|---|---|---|---|---|
|  |  |  | Percent Change |  |
| (Dollars in millions) | 2019 | Actual | Constant | 2018 |
| Interest expense | $210 | 5% | 6% | $200 |`
)

func TestParse(t *testing.T) {
	t.Parallel()
	table := Parse(contracts)
	if table == nil || table.HeaderRows != 2 || len(table.Columns) != 3 || len(table.Rows) != 3 || table.Units.Scale != 1e6 {
		t.Fatalf("%+v", table)
	}
	if want := (kernel.Period{End: "2018-09-30", Months: 12}); table.Columns[1].Period != want {
		t.Errorf("%+v", table.Columns[1])
	}
	if r := table.Rows[1]; r.Label != "Services" || r.Group != "Other" {
		t.Errorf("%+v", r)
	}
	for _, c := range []struct {
		row, column int
		value, step float64
		currency    string
	}{{0, 0, 1452.4e6, 1e5, "USD"}, {0, 2, -3.1e6, 1e5, ""}, {1, 1, 0, 0, ""}, {2, 2, 1107.7e6, 1e5, "USD"}} {
		f, ok := table.Figure(c.row, c.column)
		if !ok || math.Abs(f.Value-c.value) > 1e-3 || math.Abs(f.Step-c.step) > 1e-6 || f.Currency != c.currency {
			t.Errorf("row %d, column %d: %+v, %t", c.row, c.column, f, ok)
		}
	}
	table = Parse(plans)
	if table.HeaderRows != 3 || table.Columns[0].Header != "Domestic September 30, 2019" || table.Columns[3].Header != "International September 30, 2018" {
		t.Errorf("%+v", table)
	}
	if f, ok := table.Figure(0, 2); !ok || f.Value != 1.9 || f.Unit != kernel.Percent || f.Step != 0.01 {
		t.Errorf("%+v", f)
	}
	table = Parse(quarters)
	if want := (kernel.Period{Year: 2019, Quarter: 4, Months: 3}); len(table.Rows) != 2 || table.Rows[0].Period != want {
		t.Errorf("%+v", table)
	}
	if Parse("no table") != nil || len(ParseAll(contracts+"\n\ntext\n\n"+plans, 5)) != 2 {
		t.Error("tables of a text")
	}
}

func TestFacts(t *testing.T) {
	t.Parallel()
	type fact struct {
		metric string
		end    kernel.Day
		months int
		value  float64
		unit   kernel.Unit
	}
	for _, c := range []struct {
		text   string
		report kernel.Period
		want   []fact
	}{
		{contracts, kernel.Period{Year: 2019}, []fact{
			{"revenue", "2019-09-30", 12, 1496.5e6, kernel.Money}, {"revenue", "2018-09-30", 12, 1202.9e6, kernel.Money}, {"revenue", "2017-09-30", 12, 1107.7e6, kernel.Money},
		}},
		{results, kernel.Period{Year: 2019, End: "2019-06-30", Months: 12}, []fact{
			{"revenue", "2019-06-30", 12, 1671e6, kernel.Money},
			{"revenue", "2018-06-30", 12, 1612e6, kernel.Money},
			{"eps_basic", "2019-06-30", 12, 1.25, kernel.PerShare},
			{"eps_basic", "2018-06-30", 12, 1.10, kernel.PerShare},
			{"income_tax", "2019-06-30", 12, -216e6, kernel.Money},
			{"income_tax", "2018-06-30", 12, -298e6, kernel.Money},
		}},
		{balance, kernel.Period{Year: 2019}, []fact{
			{"cash", "2019-12-31", 0, 130e3, kernel.Money},
			{"cash", "2018-12-31", 0, 91e3, kernel.Money},
			{"total_assets", "2019-12-31", 0, 5765.2e3, kernel.Money},
			{"total_assets", "2018-12-31", 0, 5050e3, kernel.Money},
		}},
		{interleaved, kernel.Period{Year: 2019}, []fact{
			{"interest_expense", "2019-05-31", 12, 210e6, kernel.Money}, {"interest_expense", "2018-05-31", 12, 200e6, kernel.Money},
		}},
		{plans, kernel.Period{Year: 2019}, nil},
		{quarters, kernel.Period{Year: 2019}, nil},
	} {
		got := Parse(c.text).Facts(c.report)
		if len(got) != len(c.want) {
			t.Errorf("%d facts, not %d: %+v", len(got), len(c.want), got)
			continue
		}
		for i, f := range got {
			rounded := fact{f.Metric, f.Period.End, f.Period.Months, math.Round(f.Figure.Value*1e4) / 1e4, f.Figure.Unit}
			if rounded != c.want[i] {
				t.Errorf("%+v, not %+v", rounded, c.want[i])
			}
		}
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	got := Markdown([][]string{{"", "2019"}, {"a|b", "1\n2"}, {"c"}})
	if want := "|  | 2019 |\n|---|---|\n| a\\|b | 1 2 |\n| c |  |"; got != want {
		t.Errorf("%q", got)
	}
	if cells := Split(`| a\|b | 1 2 |`); len(cells) != 2 || cells[0] != "a|b" {
		t.Errorf("%q", cells)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{contracts, plans, results, quarters, balance, "||\n|-|", "|\\|"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, table := range ParseAll(text, 10) {
			for i, row := range table.Rows {
				if len(row.Cells) != len(table.Columns) {
					t.Fatalf("row %d has %d cells of %d", i, len(row.Cells), len(table.Columns))
				}
				for k := range table.Columns {
					if f, ok := table.Figure(i, k); ok && (math.IsNaN(f.Value) || math.IsInf(f.Value, 0)) {
						t.Errorf("%q is %v", row.Cells[k], f.Value)
					}
				}
			}
			for _, fact := range table.Facts(kernel.Period{Year: 2019, End: "2019-02-28"}) {
				if fact.Metric == "" || fact.Period.AnyYear() == 0 {
					t.Errorf("%+v", fact)
				}
			}
		}
	})
}

// TestRateInName checks that an amount computed at a rate is an amount, and so is what a rate is part of the
// name of.
func TestRateInName(t *testing.T) {
	t.Parallel()
	table := Parse("|  | 2019 £m | 2018 £m |\n|---|---|---|\n| Tax charge at the domestic income tax rate of 19.0% | 8.2 | 7.9 |\n| 4.50% notes due 2023 | 445.6 | - |\n| Effective tax rate | 19.1 | 19.0 |")
	for row, want := range []string{"£8.2 million", "£445.6 million", "19.1%"} {
		if f, ok := table.Figure(row, 0); !ok || figures.Print(f) != want {
			t.Errorf("%s: %s, not %s", table.Rows[row].Label, figures.Print(f), want)
		}
	}
}
