package metrics

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

func TestPeriods(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]kernel.Period{
		"fiscal 2019 and FY18":                            {kernel.FiscalYear(2019), kernel.FiscalYear(2018)},
		"F19 | F18":                                       {kernel.FiscalYear(2019), kernel.FiscalYear(2018)},
		"the year ended September 30, 2019":               {{End: "2019-09-30", Months: 12}},
		"Years Ended December 31, 2019":                   {{End: "2019-12-31", Months: 12}},
		"For the Twelve Months Ended December 31, 2018":   {{End: "2018-12-31", Months: 12}},
		"52 weeks ended 30 Mar 2019 £m":                   {{End: "2019-03-30", Months: 12}},
		"Year-ended 31 March 2019":                        {{End: "2019-03-31", Months: 12}},
		"six months to 30 June 2019":                      {{End: "2019-06-30", Months: 6}},
		"as of February 28, 2019 (1/1/19) and 2018-12-31": {{End: "2019-02-28"}, {End: "2019-01-01"}, {End: "2018-12-31"}},
		"Q4 2019, Q3 FY18, 2Q17, third quarter of 2016":   {{Year: 2019, Quarter: 4, Months: 3}, {Year: 2018, Quarter: 3, Months: 3}, {Year: 2017, Quarter: 2, Months: 3}, {Year: 2016, Quarter: 3, Months: 3}},
		"H1 2019 2017/2018 2018/19":                       {{Year: 2019, Half: 1, Months: 6}, kernel.FiscalYear(2018), kernel.FiscalYear(2019)},
		"the second half of 2018, 1H19":                   {{Year: 2018, Half: 2, Months: 6}, {Year: 2019, Half: 1, Months: 6}},
		"from 2017 to 2019":                               {{Year: 2017}, {Year: 2019}},
		"January 2018":                                    {{End: "2018-01-31"}},
		"On 30 February 2019":                             {{End: "2019-02-28"}},
		"revenue of 1,577 and 20191 in note 2":            nil,
	} {
		got := Periods(text)
		if len(got) != len(want) {
			t.Errorf("%q: %+v, not %+v", text, got, want)
			continue
		}
		for i := range got {
			if got[i].Period != want[i] {
				t.Errorf("%q: %+v, not %+v", text, got[i].Period, want[i])
			}
		}
	}
	if got := Years("between 2018 and 2019, and in fiscal 2019"); len(got) != 2 || got[0] != 2019 {
		t.Error(got)
	}
}

func FuzzPeriods(f *testing.F) {
	f.Add("the 52 weeks ended 30 Mar 2019, Q3 FY19, 2017/18, 12/31/2018 and fiscal '19")
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		for _, m := range Periods(text) {
			if m.Start < last || m.End <= m.Start || m.End > len(text) || !m.Period.Known() {
				t.Errorf("%+v in %q", m, text)
			}
			last = m.End
		}
	})
}
