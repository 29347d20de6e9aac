package inquiry

import (
	"math"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// book returns the statements of two reports.
func book() *Book {
	var facts []kernel.Fact
	add := func(metric string, months, year int, value float64) {
		unit := kernel.Money
		facts = append(facts, kernel.Fact{
			Metric: metric, Period: kernel.Period{Year: year, Months: months}, Figure: kernel.Figure{Value: value * 1e6, Step: 1e6, Unit: unit, Currency: "USD"},
			Document: 1, Passage: 1, Sure: 98, Report: kernel.Period{Year: 2022},
		})
	}
	for i, year := range []int{2019, 2020, 2021, 2022} {
		f := float64(i)
		add("revenue", 12, year, 1000+100*f)
		add("cost_of_revenue", 12, year, 600+50*f)
		add("operating_income", 12, year, 200+10*f)
		add("pretax_income", 12, year, 180+10*f)
		add("income_tax", 12, year, -(40 + f))
		add("net_income", 12, year, 140+9*f)
		add("depreciation_and_amortization", 12, year, 50)
		add("capex", 12, year, -80)
		add("operating_cash_flow", 12, year, 250)
		add("investing_cash_flow", 12, year, -120)
		add("financing_cash_flow", 12, year, -60)
		add("dividends_paid", 12, year, -30)
		add("total_assets", 0, year, 2000+100*f)
		add("current_assets", 0, year, 500+20*f)
		add("current_liabilities", 0, year, 400-10*f)
		add("inventory", 0, year, 100+10*f)
		add("payables", 0, year, 90+10*f)
		add("receivables", 0, year, 120+5*f)
		add("ppe", 0, year, 700+10*f)
		add("equity", 0, year, 900+50*f)
		add("long_term_debt", 0, year, 300-20*f)
		add("cash", 0, year, 150)
	}
	for i, year := range []int{2019, 2020, 2021, 2022} {
		add("share_buybacks", 12, year, -25)
		add("dividends_per_share", 12, year, 0.9+0.1*float64(i))
		last := &facts[len(facts)-1].Figure
		last.Value, last.Step, last.Unit = last.Value/1e6, 0.01, kernel.PerShare
	}
	return NewBook(facts)
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]string{
		"What was revenue in fiscal 2021?": "revenue in FY2021: $1,200 million",
		"What is the FY2020 capital expenditure amount (in USD millions)? Give a response by relying on the cash flow statement.":                                                                                                            "capital expenditures in FY2020: $80 million",
		"Assume that you are an analyst. Based on the balance sheet: what is the year end FY2022 net PP&E? Answer in USD billions.":                                                                                                          "property, plant and equipment in FY2022: $0.7 billion, or $730 million",
		"What is the FY2022 fixed asset turnover ratio? Fixed asset turnover ratio is defined as: FY2022 revenue / (average PP&E between FY2021 and FY2022).":                                                                                "fixed asset turnover in FY2022: 1.79",
		"What is FY2022 DPO? DPO is defined as: 365 * (average accounts payable between FY2021 and FY2022) / (FY2022 COGS + change in inventory between FY2021 and FY2022). Round to two decimals.":                                          "days payable outstanding in FY2022: 55.23 days",
		"What is the FY2020 - FY2022 3 year average of COGS as a % of revenue? Answer in units of percents and round to one decimal place.":                                                                                                  "average cost of revenue as a percentage of revenue over 3 periods, FY2020 to FY2022: 58.4%",
		"What is the FY2022 return on assets (ROA)? ROA is defined as: FY2022 net income / (average total assets between FY2021 and FY2022). Round to two decimals.":                                                                         "return on assets in FY2022: 7.42%",
		"What is the FY2022 cash conversion cycle? CCC is defined as: DIO + DSO - DPO. DIO is defined as: 365 * inventory / COGS. DSO is defined as: 365 * accounts receivable / revenue. DPO is defined as: 365 * accounts payable / COGS.": "cash conversion cycle in FY2022: 42.77 days",
		"What was FY2022 unadjusted EBITDA less capital expenditures in USD millions? Define unadjusted EBITDA as unadjusted operating income + depreciation and amortization.":                                                              "unadjusted EBITDA less capital expenditures in FY2022: $200 million",
		"What is the FY2021 dividend payout ratio (using total cash dividends paid and net income attributable to shareholders)?":                                                                                                            "payout ratio in FY2021: 19.0%",
		"What is the 2 year total revenue CAGR from FY2019 to FY2021?":                                                                                                                                                                       "compound annual growth of revenue from FY2019 to FY2021: 9.5%",
		"What is the year-over-year change in revenue from FY2020 to FY2021 (in units of percents)?":                                                                                                                                         "change of revenue from FY2020 to FY2021, from $1,100 million to $1,200 million: 9.1%",
		"By how much did inventories change between fiscal 2020 and 2021?":                                                                                                                                                                   "change of inventories from FY2020 to FY2021, from $110 million to $120 million: $10 million",
		"Has the company reduced its long-term debt between FY2021 and FY2022?":                                                                                                                                                              "Yes. long-term debt decreased, from $260 million in FY2021 to $240 million in FY2022, by $20 million",
		"Does it have an improving gross margin profile as of FY2022? If gross margin is not a useful metric, say so.":                                                                                                                       "Yes. gross margin increased, from 41.7% in FY2021 to 42.3% in FY2022, by 0.6 percentage points",
		"Does it have positive working capital based on FY2022 data?":                                                                                                                                                                        "Yes. working capital was $190 million in FY2022",
		"Are gross margins historically consistent (not fluctuating more than roughly 2% each year)?":                                                                                                                                        "Yes. gross margin was 40.9% in FY2020, 41.7% in FY2021 and 42.3% in FY2022; it moved by at most 0.8 percentage points in a year",
		"Does it have a reasonably healthy liquidity profile based on its quick ratio for FY2022?":                                                                                                                                           "Yes. quick ratio was 1.16 in FY2022, against at least 1.0 as the usual mark",
		"Did it pay any dividends in FY2021?": "Yes. dividends paid was $30 million in FY2021",
		"Among operations, investing, and financing activities, which brought in the most (or lost the least) cash flow in FY2022?": "net cash provided by operating activities was the most in FY2022: net cash provided by operating activities $250 million, net cash used in investing activities -$120 million and net cash used in financing activities -$60 million",
		"What percentage of revenue was depreciation and amortization in FY2022?":                                                   "depreciation and amortization as a percentage of revenue in FY2022: 3.8%",
		"What percentage of the total assets is inventory in FY2022?":                                                               "inventories as a percentage of total assets in FY2022: 5.7%",
		"Roughly how many times did it sell its inventory in FY2022?":                                                               "inventory turnover in FY2022: 6.00",
		"How many days does it take to pay its suppliers in FY2022?":                                                                "days payable outstanding in FY2022: 55.97 days",
		"Which year between FY2019 and FY2022 had the lowest revenue?":                                                              "revenue was lowest in FY2019: $1,000 million in FY2019, $1,100 million in FY2020, $1,200 million in FY2021 and $1,300 million in FY2022",
		"What is the trend of operating income over FY2020 to FY2022?":                                                              "operating income was $210 million in FY2020, $220 million in FY2021 and $230 million in FY2022; it increased each time",
		"Did long-term debt rise every year from FY2020 to FY2022?":                                                                 "No. long-term debt was $280 million in FY2020, $260 million in FY2021 and $240 million in FY2022; it decreased each time",
		"Did operating cash flow exceed net income in FY2022?":                                                                      "Yes. net cash provided by operating activities was $250 million in FY2022, and net income $167 million",
		"Is long-term debt higher in FY2022 than in FY2021?":                                                                        "No. long-term debt decreased, from $260 million in FY2021 to $240 million in FY2022, by $20 million",
		"Was long-term debt higher in FY2021 than it was in FY2022?":                                                                "Yes. long-term debt decreased, from $260 million in FY2021 to $240 million in FY2022, by $20 million",
		"Did working capital turn negative in FY2022?":                                                                              "No. working capital was $190 million in FY2022",
		"How many days of inventory did it hold in FY2022?":                                                                         "days inventory outstanding in FY2022: 60.83 days",
		"Does it maintain a stable trend of dividend distribution?":                                                                 "Yes. dividends per share was $1.00 in FY2020, $1.10 in FY2021 and $1.20 in FY2022; it was cut by at most 0.0% in a year",
		"Did it buy back any of its shares in FY2022?":                                                                              "Yes. share repurchases was $25 million in FY2022",
		"Is it profitable in FY2022?":                                                                                               "Yes. net income was $167 million in FY2022",
		"Did it report a net loss in FY2022?":                                                                                       "No. net income was $167 million in FY2022",
		"What is the quick ratio in FY2022? Does it suggest a healthy liquidity?":                                                   "Yes. quick ratio was 1.16 in FY2022, against at least 1.0 as the usual mark",
		"Is it a capital-intensive business based on FY2022 data?":                                                                  "No. capital expenditures to revenue was 6.2% in FY2022, against at least 10.0% as the usual mark; fixed assets to total assets was 31.7% in FY2022, against at least 40.0% as the usual mark; return on assets was 7.4% in FY2022, against less than 5.0% as the usual mark",
		"What is the effective tax rate in FY2022?":                                                                                 "effective tax rate in FY2022: 20.5%",
		"Is the current ratio above 2 in FY2022?":                                                                                   "No. current ratio was 1.51 in FY2022",
	} {
		q := calculation(question)
		if q == nil {
			t.Errorf("not read: %s", question)
			continue
		}
		a, missing := q.Answer(book())
		if a == nil {
			t.Errorf("%s: missing %v", question, missing)
			continue
		}
		text := a.Text
		if a.Verdict != "" {
			text = a.Verdict + ". " + text
		}
		if text != want {
			t.Errorf("%s:\n%s, not\n%s", question, text, want)
		}
	}
}

// TestReadsWholeQuestionOnly checks that a question is read as a whole or not at all, because a neighbouring measure is not
// what was asked for.
func TestReadsWholeQuestionOnly(t *testing.T) {
	t.Parallel()
	for _, question := range []string{
		"What was domestic revenue in fiscal 2021?", "What were net sales of the beverage segment in FY2021?", "Why did revenue fall in FY2021?", "What is the adjusted cash turnover in FY2021?",
		"What were revenue and net income in FY2021?", "What was revenue in the six months ended June 30, 2021?", "Who is the chief executive?", "", strings.Repeat("revenue ", 400),
		"What is the FY2022 magic ratio? Magic ratio is defined as: FY2022 revenue / (average wizards).",
	} {
		if q := calculation(question); q != nil {
			t.Errorf("%q is read as %+v", question, q)
		}
	}
}

// TestMissing checks that a figure that is not stated is not computed, and is reported as missing.
func TestMissing(t *testing.T) {
	t.Parallel()
	b := book()
	a, missing := calculation("What was the interest cover in FY2021?").Answer(b)
	if a != nil || len(missing) != 1 || missing[0] != (Need{"interest_expense", Period{Year: 2021}}) || !b.Refuses(missing) {
		t.Errorf("%+v %+v", a, missing)
	}
	if a, missing = calculation("What was revenue in FY2012?").Answer(b); a != nil || b.Refuses(missing) {
		t.Errorf("%+v %+v", a, missing)
	}
}

// TestIrrelevant checks that a measure is called irrelevant if the issuer never states one of the figures that it
// needs.
func TestIrrelevant(t *testing.T) {
	t.Parallel()
	facts := make([]kernel.Fact, 0, 2)
	for _, metric := range []string{"revenue", "net_income"} {
		facts = append(facts, kernel.Fact{Metric: metric, Period: kernel.Period{Year: 2022, Months: 12, End: "2022-12-31"}, Figure: kernel.Figure{Value: 5e9, Step: 1e6, Unit: kernel.Money}, Sure: 98, Passage: 1})
	}
	const query = "Are gross margins historically consistent? If gross margins are not a relevant metric for such a company, then please state that."
	a, _ := calculation(query).Answer(NewBook(facts))
	if want := "gross margin is not a relevant metric, since the statements report no cost of revenue (such as that for FY2022)"; a == nil || a.Text != want || len(a.Used) != 1 {
		t.Errorf("%+v", a)
	}
	if a, _ := calculation(query).Answer(book()); a == nil || a.Verdict != "Yes" {
		t.Errorf("%+v", a)
	}
}

// TestRemark checks a definition that stands in brackets, which are no part of the question.
func TestRemark(t *testing.T) {
	t.Parallel()
	if q := calculation("Acme notes (using a = b). What was revenue in FY2021?"); q == nil {
		t.Error("the question is not read")
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"Acme notes (using a = b). What was revenue in FY2021?", "What was revenue in FY2021?", "What is X? X is defined as: ((1 + revenue) / 2", "Is a - b = c? a = (((((((((revenue", "In which years between 2017 and 2018 was it above 2018?", "How much did cash as a % of revenue change from FY2019 to FY2020?"} {
		f.Add(s)
	}
	b := book()
	f.Fuzz(func(t *testing.T, s string) {
		q := Read(s).Calculation
		if q == nil {
			return
		}
		if a, _ := q.Answer(b); a != nil {
			for _, figure := range a.Figures {
				if math.IsNaN(figure.Value) || math.IsInf(figure.Value, 0) {
					t.Errorf("%q is %v", s, figure.Value)
				}
			}
		}
	})
}
