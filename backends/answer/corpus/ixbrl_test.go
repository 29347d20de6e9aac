package corpus

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/statements"
)

const inline = `<html><body><ix:header><ix:hidden>
<ix:nonNumeric contextRef="y" name="dei:DocumentFiscalYearFocus">2024</ix:nonNumeric><ix:nonNumeric contextRef="y" name="dei:DocumentFiscalPeriodFocus">FY</ix:nonNumeric>
<ix:nonNumeric contextRef="y" name="dei:EntityCentralIndexKey">0000001234</ix:nonNumeric></ix:hidden>
<ix:resources><xbrli:context id="y"><xbrli:entity></xbrli:entity><xbrli:period><xbrli:startDate>2023-10-01</xbrli:startDate><xbrli:endDate>2024-09-28</xbrli:endDate></xbrli:period></xbrli:context>
<xbrli:context id="s"><xbrli:entity><xbrli:segment><xbrldi:explicitMember>a</xbrldi:explicitMember></xbrli:segment></xbrli:entity><xbrli:period><xbrli:startDate>2023-10-01</xbrli:startDate><xbrli:endDate>2024-09-28</xbrli:endDate></xbrli:period></xbrli:context>
<xbrli:context id="d"><xbrli:period><xbrli:instant>2023-09-30</xbrli:instant></xbrli:period></xbrli:context>
<xbrli:unit id="usd"><xbrli:measure>iso4217:USD</xbrli:measure></xbrli:unit></ix:resources></ix:header>
<p>For the fiscal year ended <ix:nonNumeric contextRef="y" name="dei:DocumentPeriodEndDate">September 28, 2024</ix:nonNumeric></p>
<p><ix:nonNumeric contextRef="y" name="dei:EntityRegistrantName">Wexlermere Inc.</ix:nonNumeric> (<ix:nonNumeric contextRef="y" name="dei:TradingSymbol">WXM</ix:nonNumeric>)</p>
<p>CONSOLIDATED STATEMENTS OF OPERATIONS</p><p>(In millions)</p>
<table><tr><td></td><td>2024</td></tr>
<tr><td>Total net sales</td><td>$<ix:nonFraction unitRef="usd" contextRef="y" name="us-gaap:Revenues" format="ixt:num-dot-decimal" scale="6">391,035</ix:nonFraction></td></tr>
<tr><td>Widgets</td><td><ix:nonFraction unitRef="usd" contextRef="s" name="us-gaap:Revenues" scale="6">5</ix:nonFraction></td></tr>
<tr><td>Net loss</td><td>(<ix:nonFraction unitRef="usd" contextRef="y" name="us-gaap:NetIncomeLoss" sign="-" scale="6">12</ix:nonFraction>)</td></tr>
<tr><td>Goodwill</td><td><ix:nonFraction unitRef="usd" contextRef="d" name="us-gaap:Goodwill" format="ixt:fixed-zero" scale="6">—</ix:nonFraction></td></tr></table></body></html>`

// TestInlineXBRL checks what is read from the tags of a report: its issuer, its period, and its figures with
// scale and sign, for the whole issuer only.
func TestInlineXBRL(t *testing.T) {
	t.Parallel()
	all, problems := readAll(t, "a.html", inline)
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
	p, err := prepare(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.facts {
		if f.Metric == "revenue" && (f.chunk < 0 || f.Sure != statements.Tagged) {
			t.Errorf("revenue stands nowhere: %+v", f)
		}
	}
}

func FuzzTags(f *testing.F) {
	f.Add(inline)
	f.Add(strings.Replace(inline, `scale="6"`, `scale="99999999"`, 1))
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
