package kernel

import "testing"

func TestPeriod(t *testing.T) {
	t.Parallel()
	year := FiscalYear(2019)
	ended := Period{Year: 2019, End: "2019-09-30", Months: 12}
	day := Period{End: "2019-09-30"}
	third := Period{Year: 2019, Quarter: 3, Months: 3}
	for _, c := range []struct {
		a, b Period
		same bool
	}{
		{year, year, true},
		{year, ended, true},
		{year, FiscalYear(2018), false},
		{ended, day, true},
		{ended, Period{End: "2019-12-31"}, false},
		{year, third, false},
		{third, Period{Year: 2019, Quarter: 3}, true},
		{third, Period{Year: 2019, Quarter: 2, Months: 3}, false},
		{third, Period{Year: 2019, Months: 9}, false},
		{Period{Year: 2020, End: "2019-09-30"}, ended, true},
		{year, Period{}, false},
		{Period{Year: 2019, Half: 1, Months: 6}, Period{Year: 2019, Half: 2, Months: 6}, false},
		{Period{Year: 2019, Half: 1, Months: 6}, Period{Year: 2019, Months: 6}, true},
	} {
		if c.a.MayEqual(c.b) != c.same || c.b.MayEqual(c.a) != c.same {
			t.Errorf("%+v and %+v: same is not %t", c.a, c.b, c.same)
		}
	}
	for want, p := range map[string]Period{
		"fiscal 2019":                    year,
		"Q3 2019":                        third,
		"H2 2019":                        {Year: 2019, Half: 2, Months: 6},
		"September 30, 2019":             day,
		"year ended September 30, 2019":  {End: "2019-09-30", Months: 12},
		"six months ended June 30, 2019": {End: "2019-06-30", Months: 6},
		"":                               {},
	} {
		if got := p.String(); got != want {
			t.Errorf("%+v is %q, not %q", p, got, want)
		}
	}
	for end, start := range map[Day]Day{"2019-06-30": "2019-04-01", "2019-02-28": "2018-12-01", "2019-09-28": "2019-06-29", "": ""} {
		if got := (Period{End: end, Months: 3}).Start(); got != start {
			t.Errorf("the three months that end %s begin %s, not %s", string(end), string(got), string(start))
		}
	}
	if d, ok := ParseDay("2019-02-30"); ok || d != "" {
		t.Error(d)
	}
	if d := DayOf(ended.End.Time()); d != ended.End {
		t.Error(d)
	}
}
