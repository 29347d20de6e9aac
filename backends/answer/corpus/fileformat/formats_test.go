package fileformat

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// testFile returns the text of a file of testdata.
func testFile(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// readAll reads a text as a file of a name.
func readAll(t testing.TB, name, text string) (all []Source, problems []error) {
	t.Helper()
	base := Source{URL: nameURL(name), Title: strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))}
	err := Of(name).Read(t.Context(), strings.NewReader(text), base, func(s Source, err error) error {
		if err != nil {
			problems = append(problems, err)
		} else {
			all = append(all, s)
		}
		return nil
	})
	if err != nil {
		problems = append(problems, err)
	}
	return all, problems
}

func TestHTML(t *testing.T) {
	t.Parallel()
	all, problems := readAll(t, "a/report.html", `<!doctype html><html lang="en"><head><title>Wexlermere
 10-K</title><link rel=canonical href="https://a.example/10k"><meta name=date content=2019-11-05><style>p{}</style></head>
<body><ix:header>hidden</ix:header><div style="display: none">hidden</div><script>hidden</script><nav>hidden</nav>
<h2>Item 7. Discussion</h2><p>Sales <b>rose</b>
 by<br>5%.</p><p style="page-break-after: always">| # no mark |</p>
<table><tr><td colspan=2></td><td colspan=6>Years ended September 30,</td></tr>
<tr><td colspan=2></td><td colspan=2>2019</td><td></td><td colspan=3>2018</td></tr>
<tr><td>Net sales</td><td></td><td>$</td><td>1,496.5</td><td></td><td>$</td><td>(12</td><td>)</td></tr>
<tr><td>Share</td><td></td><td></td><td>4.5</td><td>%</td><td></td><td>3</td><td>%</td></tr></table>
<table><tr><td><table><tr><td>inner</td></tr></table></td></tr></table><table><tr><td>•</td></tr><tr><td>A point</td></tr></table></body></html>`)
	if len(all) != 1 || len(problems) > 0 {
		t.Fatal(all, problems)
	}
	s := all[0]
	if s.Title != "Wexlermere 10-K" || s.URL != "https://a.example/10k" || s.Lang != "en" || kernel.DayOf(s.Published) != "2019-11-05" || len(s.Pages) != 2 {
		t.Errorf("%+v", s)
	}
	if want := "## Item 7. Discussion\n\nSales rose by 5%.\n\nno mark |"; s.Pages[0].Text != want {
		t.Errorf("%q", s.Pages[0].Text)
	}
	want := "|  | Years ended September 30, |  |\n|---|---|---|\n|  | 2019 | 2018 |\n| Net sales | $1,496.5 | $(12) |\n| Share | 4.5% | 3% |\n\ninner\n\n•\n\nA point"
	if s.Pages[1].Text != want {
		t.Errorf("%s", s.Pages[1].Text)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	all, problems := readAll(t, "a.txt", "Results\r\n\r\nSales rose  a bit.\r\n\r\n"+
		"                              Years ended June 30,\r\n"+
		"                                2019        2018\r\n"+
		"                              -------     -------\r\n"+
		"Net sales ..............      $ 1,234    $    987\r\n"+
		"Costs:\r\n"+
		"  Materials                     (500)        (400)\r\n"+
		"  Labor                            -          100\r\n"+
		"\fSecond page | here")
	if len(all) != 1 || len(problems) > 0 || len(all[0].Pages) != 2 || all[0].Pages[1].Number != 2 {
		t.Fatalf("%+v %v", all, problems)
	}
	want := "Results\n\nSales rose  a bit.\n\n\n|  | Years ended June 30, | Years ended June 30, |\n|---|---|---|\n|  | 2019 | 2018 |\n| Net sales | $1,234 | $987 |\n| Costs: |  |  |\n| Materials | (500) | (400) |\n| Labor | - | 100 |"
	if got := all[0].Pages[0].Text; got != want {
		t.Errorf("%s", got)
	}
}

func TestCSV(t *testing.T) {
	t.Parallel()
	all, problems := readAll(t, "prices.csv", "Date,Open,High,Low,Close,Volume,Symbol\n2020-01-02,1,2,0.5,1.5,\"1,000\",wxm\n2020-01-03,1,2,0.5,1.6,900,WXM\n2020-01-02,7,8,6,7.5,10,BPT\n")
	if len(problems) > 0 || len(all) != 2 || all[0].Issuer.Ticker != "WXM" || len(all[0].Prices) != 2 || all[0].Prices[0].Volume != 1000 || all[1].Prices[0].AdjClose != 7.5 || all[0].URL == all[1].URL {
		t.Errorf("%+v %v", all, problems)
	}
	// Prices are looked up and cited from a table a quarter, by day.
	want := "## Share prices, Q1 2020\n\n| Day | Closing price | Opening price | Highest price | Lowest price | Volume |\n|---|---|---|---|---|---|\n| January 2, 2020 | 1.50 | 1.00 | 2.00 | 0.50 | 1000 |\n| January 3, 2020 | 1.60 |"
	if pages := all[0].Pages; len(pages) != 1 || !strings.HasPrefix(pages[0].Text, want) {
		t.Errorf("%+v", pages)
	}
	all, problems = readAll(t, "units.csv", "\ufeffRegion,2019,2018\nNorth,1,2\n\"South, a\",3\n")
	if len(problems) > 0 || len(all) != 1 || all[0].Kind != kernel.Tabular || !strings.Contains(all[0].Pages[0].Text, "| Region | 2019 | 2018 |\n|---|---|---|\n| North | 1 | 2 |\n| South, a | 3 |  |") {
		t.Errorf("%+v %v", all, problems)
	}
	for _, bad := range []string{"", "a,b\n", "date,close\nyesterday,1\n", "date,close\n2020-01-02,NaN\n", "date,close\n2020-01-02,x\n"} {
		if all, problems := readAll(t, "a.csv", bad); len(all) > 0 || len(problems) == 0 {
			t.Errorf("%q is read", bad)
		}
	}
}

// TestCommas checks prices with decimal commas, for which semicolons separate the columns.
func TestCommas(t *testing.T) {
	t.Parallel()
	all, problems := readAll(t, "WXM.csv", "Date;Open;Close;Volume\n31.01.2020;12,50;1.235,75;1.100\n03.02.2020;12;12,75;2.000.000\n")
	if len(problems) > 0 || len(all) != 1 {
		t.Fatalf("%+v %v", all, problems)
	}
	for i, want := range []Price{{"2020-01-31", 12.5, 0, 0, 1235.75, 1235.75, 1100}, {"2020-02-03", 12, 0, 0, 12.75, 12.75, 2e6}} {
		if got := all[0].Prices[i]; got != want {
			t.Errorf("%+v, not %+v", got, want)
		}
	}
	for _, bad := range []string{"date;close\n2020-01-02;12,50\n2020-01-03;12.50\n", "date;close\n2020-01-02;1,2345.5\n", "date,close\n2020-01-02,0x10\n", "date,close\n2020-01-02,Infinity\n"} {
		if all, problems := readAll(t, "a.csv", bad); len(all) > 0 || len(problems) == 0 {
			t.Errorf("%q is read: %+v", bad, all)
		}
	}
}

// TestPriceDays checks the ways in which sources of prices write days, and days without a price.
func TestPriceDays(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"an exchange": "Date,Close/Last,Volume,Open,High,Low\n01/31/2020,$191.31,39617700,$191.49,$192.93,$190.825\n01/03/2020,$190.50,1,$1,$1,$1\n",
		"day first":   "Date;Close\n31/01/2020;191.31\n03/01/2020;190.50\n",
		"words":       "Date,Close\n\"Jan 31, 2020\",191.31\n\"Jan 3, 2020\",190.50\n",
		"no trade":    "Date,Open,Close\n2020-01-31,null,191.31\n2020-01-30,null,null\n2020-01-03,1,190.50\n",
		"with a time": "Date,Close\n2020-01-31T00:00:00Z,191.31\n2020-01-03 16:00,190.50\n",
		"India":       "Date,Close,Volume\n2020-01-31,191.31,\"1,23,45,678\"\n2020-01-03,190.50,$-\n",
		"bare":        "date,close\n20200131,191.31\n20200103,190.50\n",
	} {
		all, problems := readAll(t, "WXM.csv", text)
		if len(problems) > 0 || len(all) != 1 || len(all[0].Prices) != 2 || all[0].Prices[0].Day != "2020-01-31" || all[0].Prices[0].Close != 191.31 || all[0].Prices[1].Day != "2020-01-03" {
			t.Errorf("%s: %+v %v", name, all, problems)
		}
	}
	for _, bad := range []string{"date,close\n01/02/2020,1\n", "date,close\n2020-01-02,1\n01/03/2020,1\n", "date,close\n,1\n", "date,close\n2020-01-02,\n"} {
		if all, problems := readAll(t, "a.csv", bad); len(all) > 0 || len(problems) == 0 {
			t.Errorf("%q is read: %+v", bad, all)
		}
	}
}

func TestCompanyFacts(t *testing.T) {
	t.Parallel()
	all, problems := readAll(t, "CIK0000001750.json", testFile(t, "companyfacts.json"))
	if len(problems) > 0 || len(all) != 1 {
		t.Fatal(problems)
	}
	s := all[0]
	if s.Issuer.CIK != "1750" || s.URL != "https://data.sec.gov/api/xbrl/companyfacts/CIK0000001750.json" || len(s.Facts) != 5 || len(s.Pages) != 2 {
		t.Errorf("%+v", s)
	}
	if want := "WEXLERMERE CORP: income statement data, years ended\n\n|  | September 30, 2019 | September 30, 2018 |\n|---|---|---|\n" +
		"| basic earnings per share | -$1.25 |  |\n| revenue | $1,496,600,000 | $1,202,900,000 |"; s.Pages[0].Text != want {
		t.Errorf("%s", s.Pages[0].Text)
	}
	for _, bad := range []string{"", "[]", `{"facts":{}}`, `{"cik":1,"entityName":"X","facts":{}}`} {
		if all, problems := readAll(t, "a.json", bad); len(all) > 0 || len(problems) == 0 {
			t.Errorf("%q is read", bad)
		}
	}
}

// TestPDF checks that the text layer comes from pdftotext, that its output is bounded, and that its errors
// are reported.
func TestPDF(t *testing.T) {
	folder := t.TempDir()
	program := func(script string) {
		if err := os.WriteFile(filepath.Join(folder, pdfProgram), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	program("cat")
	all, problems := readAll(t, "a.pdf", "First page\n\fSecond page")
	if len(problems) > 0 || len(all) != 1 || len(all[0].Pages) != 2 || all[0].Pages[1].Text != "Second page" {
		t.Errorf("%+v %v", all, problems)
	}
	for script, want := range map[string]string{
		"cat >/dev/null; echo Syntax error >&2; exit 1": "Syntax error",
		"cat >/dev/null; echo":                          "no text layer",
	} {
		program(script)
		if all, problems := readAll(t, "a.pdf", "x"); len(all) > 0 || len(problems) != 1 || !strings.Contains(problems[0].Error(), want) {
			t.Errorf("%s: %+v %v", want, all, problems)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, problems := readAll(t, "a.pdf", "x"); len(problems) != 1 || !strings.Contains(problems[0].Error(), "not installed") {
		t.Error(problems)
	}
	b := bounded{limit: 3, failBeyond: true}
	if n, err := b.Write([]byte("abcd")); n != 0 || err == nil || !b.exceeded || b.String() != "abc" {
		t.Errorf("%d %v %q", n, err, b.String())
	}
}

func TestMeta(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "a.txt")
	for file, text := range map[string]string{name: "Sales rose.", name + MetaSuffix: `{"url":"https://a.example/1","issuer":{"name":"Wexlermere","cik":"0012"},"fiscal":2019}`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got Source
	if err := ReadFile(t.Context(), File{Path: name, Size: 11}, "a.txt", Source{Kind: kernel.News}, func(s Source, err error) error { got = s; return err }); err != nil {
		t.Fatal(err)
	}
	if got.URL != "https://a.example/1" || got.Kind != kernel.News || got.Title != "a" || got.Period() != kernel.FiscalYear(2019) {
		t.Errorf("%+v", got)
	}
	if err := ReadFile(t.Context(), File{Path: name, Size: maxText + 1}, "a.txt", Source{}, nil); !errors.As(err, new(*RefusedError)) {
		t.Error(err)
	}
}

func FuzzFormats(f *testing.F) {
	f.Add(".html", "<table><tr><td colspan=9999>$<td>1</table><p style='page-break-after:always'><h1>x")
	f.Add(".md", "---\ntitle: x\n---\n# a\n| b | c |\n|---|---|\n\f<!-- page 9 -->")
	f.Add(".jsonl", `{"title":"a","url":"https://a.example","pages":["x",{"number":2,"text":"y"}],"cik":1,"fiscal":"FY19"}`)
	f.Add(".csv", "date,close\n2020-01-02,1\n\"a")
	f.Add(".json", testFile(f, "companyfacts.json"))
	f.Add(".txt", "a   1   2\nb   3   4\nc   $ 5  (6)\n\f")
	f.Fuzz(func(t *testing.T, ending, text string) {
		format := formats[ending]
		if format == nil || ending == ".pdf" {
			return
		}
		_ = format.Read(context.Background(), strings.NewReader(text), Source{URL: "corpus:a", Title: "a", Issuer: Company{Name: "A"}}, func(s Source, err error) error {
			if err == nil && len(s.Pages) > maxPages {
				t.Errorf("%d pages", len(s.Pages))
			}
			return nil
		})
	})
}

// TestDigest checks that documents that differ only in their URLs have the same digest.
func TestDigest(t *testing.T) {
	t.Parallel()
	a := Source{Title: "Report", URL: "https://a.example/report", Pages: []Page{{1, "Net sales rose."}}}
	b := a
	b.URL, b.Former = "https://b.example/report", "corpus:report.html"
	if a.Digest() != b.Digest() {
		t.Error("another URL changes the digest")
	}
	b.Pages = []Page{{1, "Net sales fell."}}
	if a.Digest() == b.Digest() {
		t.Error("another text has the same digest")
	}
}
