package fileformat

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/statements"
)

// TestInlineXBRL checks what is read from the tags of a report: its issuer, its period, and its figures with
// scale and sign, for the whole issuer only.
func TestInlineXBRL(t *testing.T) {
	t.Parallel()
	all, problems := readAll(t, "a.html", testFile(t, "filing.html"))
	if len(all) != 1 || len(problems) > 0 {
		t.Fatalf("%+v %v", all, problems)
	}
	s := all[0]
	if s.Issuer.Name != "Wexlermere Inc." || s.Issuer.Ticker != "WXM" || s.Issuer.CIK != "0000001234" || s.Fiscal != "FY2024" || s.PeriodEnd != "2024-09-28" {
		t.Errorf("%+v, %s, %s", s.Issuer, s.Fiscal, s.PeriodEnd)
	}
	want := map[string]float64{"revenue": 391035e6, "net_income": -12e6, "goodwill": 0}
	for _, f := range s.Facts {
		if value, ok := want[f.Metric]; !ok || f.Figure.Value != value || f.Figure.Unit != kernel.Money || f.Sure != statements.Tagged || f.Figure.Currency != "USD" {
			t.Errorf("%+v", f)
		}
		delete(want, f.Metric)
	}
	if len(want) > 0 {
		t.Errorf("without %v", want)
	}
}

func FuzzTags(f *testing.F) {
	f.Add(testFile(f, "filing.html"))
	f.Add(strings.Replace(testFile(f, "filing.html"), `scale="6"`, `scale="99999999"`, 1))
	f.Fuzz(func(t *testing.T, text string) {
		root, err := html.Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		if found := readTags(root); found != nil {
			for _, fact := range found.source(Source{}).Facts {
				if fact.Metric == "" || fact.Period.End == "" || fact.Figure.Value != fact.Figure.Value {
					t.Errorf("%+v", fact)
				}
			}
		}
	})
}
