package formula

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/inquiry"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

const income = `Consolidated statements of income

| (in millions, except per share data) | 2019 | 2018 | 2017 |
|---|---|---|---|
| Net sales | $ 1,452.4 | $ 1,146.2 | $ 1,036.9 |
| Cost of sales | 900.0 | 800.0 | 700.0 |
| Gross profit | 552.4 | 346.2 | 336.9 |
| Operating expenses: |  |  |  |
| Research and development | 100.0 | 80.0 | 64.0 |
| Selling | 50.0 | 60.0 | 70.0 |
| Total operating expenses | 150.0 | 140.0 | 134.0 |
| Net income (loss) | 120.5 | (30.2) | 15.0 |
| Diluted earnings per share | 1.20 | (0.30) | 0.15 |
`

const balance = `Balance sheets

|  | As of December 31, |  |
|---|---|---|
| (in millions) | 2019 | 2018 |
| Inventories | 210.0 | 190.0 |
| Total current assets | 700.0 | 600.0 |
| Total assets | 1,500.0 | 1,300.0 |
| Total current liabilities | 350.0 | 400.0 |
| Shareholders' equity | 800.0 | 700.0 |
`

func source() Source {
	return Source{Passages: []kernel.Passage{
		{ID: 1, Text: income, Period: kernel.FiscalYear(2019)}, {ID: 2, Text: balance, Period: kernel.FiscalYear(2019)},
	}}
}

// say formats a value in one line.
func say(v *Value) string {
	if v == nil {
		return "no"
	}
	var parts []string
	for _, f := range v.Figures {
		parts = append(parts, figures.Print(f))
	}
	return strings.Join(append(parts, v.Words...), ", ")
}

func TestCompute(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]string{
		"What was net sales in 2019?":                                                  "$1,452.4 million",
		"How much profit did it make in 2019?":                                         "120.5 million", // not the gross one
		"How much did it make in 2017?":                                                "15.0 million",
		"How much did it spend on research and development in 2018?":                   "80.0 million",
		"What were earnings per share in 2019?":                                        "1.20", // the diluted ones: no others are reported
		"By how many percent did inventories change between 2018 and 2019?":            "10.53%",
		"What were the revenues in fiscal 2018?":                                       "$1,146.2 million",
		"How much was the cost of sales in FY19?":                                      "900.0 million",
		"What was the respective net income in 2019 and 2018?":                         "120.5 million, -30.2 million",
		"What is the change in net sales from 2018 to 2019?":                           "$306.2 million",
		"What is the change in net sales from 2019 to 2018?":                           "$306.2 million",
		"By how much did gross profit increase between 2018 and 2019?":                 "206.2 million",
		"What is the percentage change in research and development from 2017 to 2018?": "25.00%",
		"What was the average cost of sales for 2017 and 2018?":                        "750.0 million",
		"What was the average cost of sales from 2017 to 2019?":                        "800.0 million",
		"What is the sum of selling expenses in 2018 and 2019?":                        "110.0 million",
		"What is the total operating expenses in 2018 and 2019?":                       "140.0 million, 150.0 million",
		"What is the CAGR of cost of sales from 2017 to 2019?":                         "13.39%",
		"What was the ratio of cost of sales to net sales in 2019?":                    "0.620",
		"What is selling as a percentage of total operating expenses in 2018?":         "42.86%",
		"How many years did cost of sales exceed $750 million?":                        "2",
		"In which year was cost of sales less than 750 million?":                       "2017",
		"In which year was net income negative?":                                       "2018",
		"Which year had the highest selling expense?":                                  "2017",
		"What was diluted earnings per share in 2018?":                                 "-0.30",

		// What is not there, or may be another thing, is not answered.
		"What was net sales in 2015?":                                        "no",
		"What was the goodwill in 2019?":                                     "no",
		"In which years between 2018 and 2019 was cost of sales above 2019?": "no", // 2019 is the threshold, too
		"What were net sales in Malaysia in 2019?":                           "no",
		"What is the percentage change in net income from 2017 to 2018?":     "no",
		"Why did net sales increase in 2019?":                                "no",
		"What was restructuring expense in 2019?":                            "no",
	} {
		if got := say(Compute(inquiry.Read(question), source())); got != want {
			t.Errorf("%q is %q, not %q; %+v", question, got, want, inquiry.Read(question))
		}
	}
}

// TestLengths checks that years of 52 and of 53 weeks are years of one series.
func TestLengths(t *testing.T) {
	t.Parallel()
	passage := kernel.Passage{ID: 1, Period: kernel.FiscalYear(2019), Text: `
|  | F19 | F18 |  |
|---|---|---|---|
| $ MILLION | 53 WEEKS | 52 WEEKS | CHANGE |
| Sales | 1,700 | 1,600 | 6.3% |
`}
	const question = "What was the average of sales in F19 and F18?"
	if got := say(Compute(inquiry.Read(question), Source{Passages: []kernel.Passage{passage}})); got != "$1,650 million" {
		t.Errorf("%q is %q", question, got)
	}
}

// TestQuarterColumns checks that columns that name quarters are those of the year above the rows.
func TestQuarterColumns(t *testing.T) {
	t.Parallel()
	const table = `
|  | First Quarter | Second Quarter | Third Quarter | Fourth Quarter |
|---|---|---|---|---|
| 2019 |  |  |  |  |
| Net sales | $110 | $120 | $130 | $140 |
| Gross profit | $40 | $41 | $42 | $43 |
| 2018 |  |  |  |  |
| Net sales | $100 | $115 | $125 | $135 |
| Gross profit | $30 | $31 | $32 | $33 |
`
	for question, want := range map[string]string{
		"What was the net sales in the third quarter?":                                                      "$130",
		"What was the net sales in the third quarter of 2018?":                                              "$125",
		"What was the gross profit in Q1 2019?":                                                             "$40",
		"What was the change in net sales between the third quarter of 2018 and the third quarter of 2019?": "$5",
		"What was the net sales in 2019?":                                                                   "no",
		"What was the net sales in the third quarter of 2017?":                                              "no",
	} {
		for _, text := range []string{table, strings.ReplaceAll(table, " Quarter", "")} {
			passage := kernel.Passage{ID: 1, Period: kernel.FiscalYear(2019), Text: text}
			if got := say(Compute(inquiry.Read(question), Source{Passages: []kernel.Passage{passage}})); got != want {
				t.Errorf("%q is %q, not %q, of %s", question, got, want, text)
			}
		}
	}
}

// TestPoints checks that the difference of two shares is in percentage points and not in per cent.
func TestPoints(t *testing.T) {
	t.Parallel()
	src := Source{Passages: []kernel.Passage{{ID: 1, Text: "|  | 2019 | 2018 |\n|---|---|---|\n| Effective tax rate | 12.0% | 10.0% |\n| Statutory tax rate | 21.0% | 21.0% |\n", Period: kernel.FiscalYear(2019)}}}
	for question, want := range map[string]string{
		"What was the effective tax rate in 2019?":                                                  "12.0%",
		"What is the change in the effective tax rate from 2018 to 2019?":                           "2.0 percentage points",
		"What is the percentage change in the effective tax rate from 2018 to 2019?":                "20.00%",
		"What is the difference between the statutory tax rate and the effective tax rate in 2019?": "9.0 percentage points",
	} {
		v := Compute(inquiry.Read(question), src)
		if got := say(v); got != want || v.Formula != "" && !strings.HasSuffix(v.Formula, " = "+want) {
			t.Errorf("%q is %q, not %q", question, got, want)
		}
	}
}

// TestZeroAndOtherTimes checks that nothing is divided by zero, and that figures of different periods are not
// combined.
func TestZeroAndOtherTimes(t *testing.T) {
	t.Parallel()
	src := Source{Passages: []kernel.Passage{
		{ID: 1, Text: "| (in millions) | 2019 | 2018 | 2017 |\n|---|---|---|---|\n| Net sales | 10.0 | 0.0 | - |\n| Gross profit | 5.0 | 4.0 | 0.0 |\n", Period: kernel.FiscalYear(2019)},
		{ID: 2, Text: "| (in millions) | June 30, 2019 |\n|---|---|\n| Inventories | 7.0 |\n", Period: kernel.FiscalYear(2019)},
		{ID: 3, Text: "| (in millions) | 2018 |\n|---|---|\n| Backlog | 8.0 |\n", Period: kernel.FiscalYear(2019)},
	}}
	for question, want := range map[string]string{
		"What was the ratio of gross profit to net sales in 2018?":           "no",
		"What was the ratio of gross profit to net sales in 2017?":           "no",
		"What is gross profit as a percentage of net sales in 2017?":         "no",
		"What is the percentage change in net sales from 2018 to 2019?":      "no",
		"What is the percentage change in net sales from 2017 to 2018?":      "no",
		"What is the CAGR of net sales from 2017 to 2019?":                   "no",
		"What is the change in net sales from 2018 to 2019?":                 "10.0 million",
		"What is the difference between net sales and gross profit in 2019?": "5.0 million",
		"What is the ratio of gross profit to backlog?":                      "no",
		"What is the ratio of gross profit to backlog in 2018?":              "0.500",
		"What is the difference between net sales and inventories?":          "no",
		"What is the difference between net sales and inventories in 2019?":  "no",
		"What was the average net sales for 2018 and 2019?":                  "5.0 million",
	} {
		if got := say(Compute(inquiry.Read(question), src)); got != want {
			t.Errorf("%q is %q, not %q", question, got, want)
		}
	}
}

// TestInputs checks the inputs of a value.
func TestInputs(t *testing.T) {
	t.Parallel()
	v := Compute(inquiry.Read("What is the percentage change in research and development from 2017 to 2018?"), source())
	if v == nil || v.Formula != "(80.0 million - 64.0 million) / 64.0 million = 25.00%" || len(v.Inputs) != 2 || v.Inputs[0].Passage != 0 ||
		v.Label != "percentage change of Research and development (Operating expenses) from 2017 to 2018" {
		t.Errorf("%+v", v)
	}
}

// TestAmbiguous checks that no value is computed from two tables that contradict each other.
func TestAmbiguous(t *testing.T) {
	t.Parallel()
	src := source()
	src.Passages = append(src.Passages, kernel.Passage{Text: strings.ReplaceAll(income, "900.0", "901.0"), Period: kernel.FiscalYear(2019)})
	if v := Compute(inquiry.Read("What was the cost of sales in 2019?"), src); v != nil {
		t.Errorf("%+v", v)
	}
	if v := Compute(inquiry.Read("What was the cost of sales in 2018?"), src); say(v) != "800.0 million" {
		t.Errorf("%+v", v)
	}
}

// TestUnknownScale checks that an amount with a known scale is not combined with one whose scale is unknown.
func TestUnknownScale(t *testing.T) {
	t.Parallel()
	src := source()
	src.Passages[1].Text = strings.ReplaceAll(balance, "(in millions)", "")
	src.Passages = append(src.Passages, kernel.Passage{ID: 3, Text: "|  | 2019 | 2018 |\n|---|---|---|\n| Employees | 2,000 | 1,900 |\n", Period: kernel.FiscalYear(2019)})
	for question, want := range map[string]string{
		"What are inventories as a percentage of net sales in 2019?":           "no",
		"What is the difference between gross profit and inventories in 2019?": "no",
		"What was the ratio of inventories to total assets in 2019?":           "0.140",
		"What is gross profit as a percentage of net sales in 2019?":           "38.03%",
		"What was the ratio of inventories to net sales in 2019?":              "no",
		"What was the ratio of net sales to employees in 2019?":                "726,200.00",
	} {
		if got := say(Compute(inquiry.Read(question), src)); got != want {
			t.Errorf("%q is %q, not %q; %+v", question, got, want, inquiry.Read(question))
		}
	}
}

func FuzzCompute(f *testing.F) {
	f.Add("What is the percentage change in a from 2018 to 2019?", income)
	f.Add("how many years did x exceed $5 and which year is the ratio of a to b 2,000", "| |2019|\n|a|-|")
	f.Fuzz(func(_ *testing.T, question, text string) {
		Compute(inquiry.Read(question), Source{Passages: []kernel.Passage{{Text: text}}})
	})
}

// TestKnownTables checks that cached tables equal those that would be read, also as passages at other
// indexes, and that the cache is bounded.
func TestKnownTables(t *testing.T) {
	t.Parallel()
	passage := func(n int) kernel.Passage {
		return kernel.Passage{Text: fmt.Sprintf("In millions\n\n| | 2025 | 2024 |\n|---|---|---|\n| Revenue %d | 412.5 | 380.0 |\n| Net income | 31.2 | 28.4 |\n", n)}
	}
	known := new(Tables)
	for range 2 {
		for n := range maxCached + 10 {
			passages := []kernel.Passage{{Text: "No table."}, passage(n), passage(n / 2)}
			if got, want := read(passages, known), read(passages, nil); !reflect.DeepEqual(got, want) {
				t.Fatalf("%d: %+v\nwant %+v", n, got, want)
			}
		}
	}
	if len(known.cached) > maxCached {
		t.Errorf("%d passages", len(known.cached))
	}
}
