package fileformat

import "testing"

// TestCover checks that the cover of a filing names its issuer and its period.
func TestCover(t *testing.T) {
	t.Parallel()
	annual := "                UNITED STATES\n        SECURITIES AND EXCHANGE COMMISSION\n                FORM 10-K\n  ANNUAL REPORT PURSUANT TO SECTION 13\n  For the fiscal year ended January 28, 2017\n\n" +
		"                WEXLERMERE CO., INC.\n   (Exact name of registrant as specified in its charter)\n\nCommon Stock, par value $0.10     WXM      New York Stock Exchange\n"
	quarterly := "FORM 10-Q\nFor the quarterly period ended June 30, 2023\nWexlermere Co., Inc.\n(Exact name of registrant as specified in its charter)\nCommon Stock\nWXM\nNew York Stock Exchange\n"
	for name, c := range map[string]struct {
		s    Source
		want Source
	}{
		"annual":    {Source{Pages: []Page{{1, annual}, {2, "In fiscal 2017 sales rose. Fiscal 2017 had 52 weeks, as fiscal 2016."}}}, Source{Fiscal: "FY2017", PeriodEnd: "2017-01-28", Form: "10-K"}},
		"by name":   {Source{Pages: []Page{{1, annual}, {2, "In fiscal 2016 sales rose. Fiscal 2016 had 52 weeks."}}}, Source{Fiscal: "FY2016", PeriodEnd: "2017-01-28", Form: "10-K"}},
		"quarterly": {Source{Pages: []Page{{1, quarterly}, {5, "Six months ended June 30,"}}}, Source{Fiscal: "Q2 2023", PeriodEnd: "2023-06-30", Form: "10-Q"}},
		"known":     {Source{Fiscal: "FY2018", Issuer: Company{Name: "Wexlermere"}, Pages: []Page{{1, annual}}}, Source{Fiscal: "FY2018", Form: "10-K"}},
	} {
		s := c.s
		s.CompleteFromCover()
		if s.Fiscal != c.want.Fiscal || s.PeriodEnd != c.want.PeriodEnd || s.Form != c.want.Form || s.Issuer.Ticker != "WXM" {
			t.Errorf("%s: %q, %q, %q, %+v", name, s.Fiscal, s.PeriodEnd, s.Form, s.Issuer)
		}
	}
	s := Source{Pages: []Page{{1, "A note about nothing."}}}
	if s.CompleteFromCover(); s.Issuer.Name != "" || s.Fiscal != "" {
		t.Errorf("%+v", s)
	}
}
