package figures

import (
	"math"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

func TestFind(t *testing.T) {
	t.Parallel()
	type want struct {
		text        string
		value, step float64
		unit        kernel.Unit
		currency    string
	}
	for text, wants := range map[string][]want{
		"Sales were $1,577 million, up 12.5%.":                {{"$1,577 million", 1577e6, 1e6, kernel.Money, "USD"}, {"12.5%", 12.5, .1, kernel.Percent, ""}},
		"a loss of (3.1) and 1.6bn, 30 basis points":          {{"(3.1)", -3.1, .1, "", ""}, {"1.6bn", 1.6e9, 1e8, "", ""}, {"30 basis points", 30, 1, kernel.BasisPoints, ""}},
		"€ 5m, £59.1m, USD500 million; CHF 3.2 billion":       {{"€ 5m", 5e6, 1e6, kernel.Money, "EUR"}, {"£59.1m", 59.1e6, 1e5, kernel.Money, "GBP"}, {"USD500 million", 500e6, 1e6, kernel.Money, "USD"}, {"CHF 3.2 billion", 3.2e9, 1e8, kernel.Money, "CHF"}},
		"29 per cent of 2.5 times, 7 percentage points":       {{"29 per cent", 29, 1, kernel.Percent, ""}, {"2.5 times", 2.5, .1, kernel.Times, ""}, {"7 percentage points", 7, 1, kernel.Percent, ""}},
		"Q3 of FY19 in fiscal 2019, on September 30, 5G, 1st": {{"2019", 2019, 1, "", ""}, {"30", 30, 1, "", ""}},
		"-3.1% and −4, but 2018-2019 and $(9.8) million":      {{"-3.1%", -3.1, .1, kernel.Percent, ""}, {"−4", -4, 1, "", ""}, {"2018", 2018, 1, "", ""}, {"2019", 2019, 1, "", ""}, {"$(9.8) million", -9.8e6, 1e5, kernel.Money, "USD"}},
		"-$3.1 million, $-3, .5 and 10 million euros":         {{"-$3.1 million", -3.1e6, 1e5, kernel.Money, "USD"}, {"$-3", -3, 1, kernel.Money, "USD"}, {".5", .5, .1, "", ""}, {"10 million euros", 10e6, 1e6, kernel.Money, "EUR"}},
		"(2019: 5) 12-month, 5 years per share":               {{"(2019", 2019, 1, "", ""}, {"5", 5, 1, "", ""}, {"12", 12, 1, "", ""}, {"5", 5, 1, "", ""}},
		"version 1.2.3 and 1234567890123456789012":            nil,
		"1,000 shares of 2,5 and 12,3456":                     {{"1,000 shares", 1000, 1, kernel.Shares, ""}, {"2", 2, 1, "", ""}, {"5", 5, 1, "", ""}, {"12", 12, 1, "", ""}, {"3456", 3456, 1, "", ""}},
	} {
		found := Find(text)
		if len(found) != len(wants) {
			t.Errorf("%q: %d figures, not %d: %+v", text, len(found), len(wants), found)
			continue
		}
		for i, m := range found {
			w := wants[i]
			if m.Text != w.text || math.Abs(m.Value-w.value) > 1e-6 || math.Abs(m.Step-w.step) > 1e-9*w.step || m.Unit != w.unit || m.Currency != w.currency {
				t.Errorf("%q: %+v, not %+v", text, m, w)
			}
		}
	}
	if found := Find("In 2019 it was $2,019."); !found[0].Year || found[1].Year {
		t.Errorf("%+v", found)
	}
}

func TestCell(t *testing.T) {
	t.Parallel()
	millions := Units{Scale: 1e6, Unit: kernel.Money, Currency: "USD"}
	for _, c := range []struct {
		text        string
		units       Units
		value, step float64
		unit        kernel.Unit
	}{
		{"$  1,452.4", millions, 1452.4e6, 1e5, kernel.Money},
		{"(2,088)", millions, -2088e6, 1e6, kernel.Money},
		{"$ (3.1 )", millions, -3.1e6, 1e5, kernel.Money},
		{"(5.3) %", millions, -5.3, .1, kernel.Percent},
		{"12.5", Units{Unit: kernel.Percent}, 12.5, .1, kernel.Percent},
		{"—", millions, 0, 0, kernel.Money},
		{"- - %", millions, 0, 0, kernel.Money},
		{"1,220 (1)", millions, 1220e6, 1e6, kernel.Money},
		{"0.34", millions.Row("Earnings per share"), .34, .01, kernel.PerShare},
		{"13,442", Units{Scale: 1e3, Unit: kernel.Money}.Row("Basic shares"), 13442e3, 1e3, kernel.Shares},
		{"2.9 billion", millions, 2.9e9, 1e8, kernel.Money},
		{"-7", Units{}, -7, 1, ""},
	} {
		f, ok := Cell(c.text, c.units)
		if !ok || math.Abs(f.Value-c.value) > 1e-6 || math.Abs(f.Step-c.step) > 1e-6 || f.Unit != c.unit {
			t.Errorf("%q: %+v %t", c.text, f, ok)
		}
	}
	for _, text := range []string{"", "Note 5", "n/a", "2018 to 2019", "Total 5 of 6"} {
		if f, ok := Cell(text, Units{}); ok {
			t.Errorf("%q is %+v", text, f)
		}
	}
}

// TestRow checks that a rate in the name of a row is not the unit of its figures, and that money paid for
// shares is no number of shares.
func TestRow(t *testing.T) {
	t.Parallel()
	wide := Units{Scale: 1e6, Unit: kernel.Money, Currency: "USD"}
	for label, want := range map[string]string{
		"4.875% Senior Notes due December 2022":         "$500 million",
		"5 per cent convertible bonds":                  "$500 million",
		"Interest rate swaps":                           "$500 million",
		"Gross margin (%)":                              "500%",
		"Gross profit % to net sales":                   "500%",
		"Effective tax rate":                            "500%",
		"Tax rate of 21% and other taxes, % of sales":   "500%",
		"Repurchases of ordinary shares":                "$500 million",
		"Proceeds from issuance of shares":              "$500 million",
		"Dividends paid on preferred shares":            "$500 million",
		"Shares issued, $0.01 par value, outstanding":   "$500 million",
		"Cost of shares outstanding":                    "$500 million",
		"Weighted average common shares - basic":        "500 million shares",
		"Number of shares issued":                       "500 million shares",
		"Shares used in diluted computation":            "500 million shares",
		"Common shares":                                 "500 million",
		"Share-based payments":                          "$500 million",
		"Earnings per share, of 12% preference capital": "$500",
	} {
		f, ok := Cell("500", wide.Row(label))
		if got := Print(f); !ok || got != want {
			t.Errorf("%q: %s, not %s", label, got, want)
		}
	}
	for label, want := range map[string]string{
		"Issue of shares to satisfy the plan": "4.1 million",
		"Own shares held":                     "4.1 million shares",
		"Shares awarded":                      "4.1 million shares",
		"Treasury shares":                     "4.1 million shares",
	} {
		f, ok := Cell("4.1", Units{Scale: 1e6}.Row(label))
		if got := Print(f); !ok || got != want {
			t.Errorf("%q: %s, not %s", label, got, want)
		}
	}
}

func TestCaption(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Units{
		"(in millions, except per share data)":                 {Scale: 1e6},
		"The table presents net sales by type (in thousands):": {Scale: 1e3},
		"(amounts in thousands of U.S. dollars)":               {Scale: 1e3, Unit: kernel.Money, Currency: "USD"},
		"2019 €m":                                              {Scale: 1e6, Unit: kernel.Money, Currency: "EUR"},
		"$'000":                                                {Scale: 1e3, Unit: kernel.Money, Currency: "USD"},
		"$ million":                                            {Scale: 1e6, Unit: kernel.Money, Currency: "USD"},
		"($ in millions)":                                      {Scale: 1e6, Unit: kernel.Money, Currency: "USD"},
		"£ millions":                                           {Scale: 1e6, Unit: kernel.Money, Currency: "GBP"},
		"U.S. Dollars in thousands":                            {Scale: 1e3, Unit: kernel.Money, Currency: "USD"},
		"% of sales":                                           {Unit: kernel.Percent},
		"Years ended December 31,":                             {},
		"We paid 3 million people in many parts of many places.": {},
	} {
		if got := Caption(text); got != want {
			t.Errorf("%q: %+v, not %+v", text, got, want)
		}
	}
}

func TestShows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shown, exact string
		want         bool
	}{
		{"$1.6 billion", "$1,577 million", true},
		{"$1,577 million", "$1.6 billion", false},
		{"$1,578 million", "$1,577 million", false},
		{"12.5%", "12.46%", true},
		{"12.5%", "12.56%", false},
		{"0.3%", "30 basis points", true},
		{"€5 million", "$5 million", false},
		{"5%", "$5", false},
		{"5", "5%", true},
		{"-3.1", "(3.1)", true},
		{"3.1", "(3.1)", false},
	} {
		if Shows(Find(c.shown)[0].Figure, Find(c.exact)[0].Figure) != c.want {
			t.Errorf("%q shows %q is not %t", c.shown, c.exact, c.want)
		}
	}
}

func TestPrint(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]kernel.Figure{
		"$1,577 million":         {Value: 1577e6, Step: 1e6, Unit: kernel.Money, Currency: "USD"},
		"1,496.5 million":        {Value: 1496.5e6, Step: 1e5, Unit: kernel.Money},
		"-€3.10":                 {Value: -3.1, Step: .01, Unit: kernel.Money, Currency: "EUR"},
		"12.5%":                  {Value: 12.46, Step: .1, Unit: kernel.Percent},
		"0%":                     {Value: -.2, Step: 1, Unit: kernel.Percent},
		"-1.2 percentage points": {Value: -1.2, Step: .1, Unit: kernel.Points},
		"30 basis points":        {Value: 30, Step: 1, Unit: kernel.BasisPoints},
		"1.60x":                  {Value: 1.6, Unit: kernel.Times},
		"CHF 1,407 thousand":     {Value: 1407e3, Step: 1e3, Unit: kernel.Money, Currency: "CHF"},
		"721,453":                {Value: 721453, Step: 1},
		"$2.9 billion":           {Value: 2.9e9, Step: 1e8, Unit: kernel.Money, Currency: "USD"},
		"46,552 thousand shares": {Value: 46552e3, Step: 1e3, Unit: kernel.Shares},
	} {
		if got := Print(f); got != want {
			t.Errorf("%+v is %q, not %q", f, got, want)
		}
	}
}

// FuzzFind checks that figures lie within the text, in order, and that a printed figure is found again as
// itself.
func FuzzFind(f *testing.F) {
	for _, s := range []string{"$1,577 million (3.1)% -€5.2bn", "US$ (3) per cent 12.5 %", "\xff1,2,3.4.5 ()(1", "−1k 2 x 3 per 4 basis", "a hundred and twenty-one thousand, nine billion percent"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		last := 0
		for _, m := range Spelled(s) {
			if m.Start < last || m.End <= m.Start || m.End > len(s) || m.Text != s[m.Start:m.End] || math.IsNaN(m.Value) || m.Step <= 0 {
				t.Fatalf("%+v in %q", m, s)
			}
			last = m.End
		}
		last = 0
		for _, m := range Find(s) {
			if m.Start < last || m.End <= m.Start || m.End > len(s) || m.Text != s[m.Start:m.End] || math.IsNaN(m.Value) || m.Step <= 0 {
				t.Fatalf("%+v in %q", m, s)
			}
			last = m.End
			if math.Abs(m.Value) > 1e15 || m.Step < 1e-6 {
				continue
			}
			printed := Print(m.Figure)
			figures := Find(printed)
			if len(figures) != 1 || math.Abs(figures[0].Value-m.Value) > figures[0].Step/2+1e-6*math.Abs(m.Value) {
				t.Fatalf("%q is printed %q and read %+v", m.Text, printed, figures)
			}
		}
		_, _ = Cell(s, Caption(s))
	})
}

func TestSpelled(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]Mention{
		"forty million masks":                            {{Figure: kernel.Figure{Text: "forty million", Value: 40e6, Step: 1e6}}},
		"Nine hundred and ninety-nine million dollars":   {{Figure: kernel.Figure{Text: "Nine hundred and ninety-nine million dollars", Value: 999e6, Step: 1e6, Unit: kernel.Money, Currency: "USD"}}},
		"grew nine percent, or a hundred basis points":   {{Figure: kernel.Figure{Text: "nine percent", Value: 9, Step: 1, Unit: kernel.Percent}}, {Figure: kernel.Figure{Text: "a hundred basis points", Value: 100, Step: 1, Unit: kernel.BasisPoints}}},
		"two thousand and five hundred, twenty-one":      {{Figure: kernel.Figure{Text: "two thousand and five hundred", Value: 2500, Step: 1}}, {Figure: kernel.Figure{Text: "twenty-one", Value: 21, Step: 1}}},
		"in twenty twenty-five one two":                  {{Figure: kernel.Figure{Text: "twenty", Value: 20, Step: 1}}, {Figure: kernel.Figure{Text: "twenty-five", Value: 25, Step: 1}}, {Figure: kernel.Figure{Text: "one", Value: 1, Step: 1}}, {Figure: kernel.Figure{Text: "two", Value: 2, Step: 1}}},
		"millions of someone's weight, a hundredth, and": nil,
		"1.5 million and 3 hundred":                      nil,
	} {
		found := Spelled(text)
		if len(found) != len(want) {
			t.Errorf("%q: %+v", text, found)
			continue
		}
		for i, m := range found {
			if m.Figure != want[i].Figure || text[m.Start:m.End] != m.Text {
				t.Errorf("%q: %+v, not %+v", text, m.Figure, want[i].Figure)
			}
		}
	}
}

// TestAmbiguousNumbers checks that neither an ambiguous number nor its parts are figures.
func TestAmbiguousNumbers(t *testing.T) {
	t.Parallel()
	for _, number := range []string{"1" + Doubt + "100", "1,200" + Doubt + "100", "1" + Doubt + "100" + Doubt + "100"} {
		if f, ok := Cell("€ "+number+" m", Units{Scale: 1e3}); ok {
			t.Errorf("%q is %+v", number, f)
		}
		if found := Find("It was " + number + ", and 5 before."); len(found) != 1 || found[0].Value != 5 {
			t.Errorf("%q has %+v", number, found)
		}
	}
}
