package corpus_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/answer/answertest"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus/fileformat"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// wholeStatement has enough rows to be known as a primary statement.
const wholeStatement = `Consolidated Statements of Operations (in millions)

|  | Years Ended September 30, |  |
|---|---|---|
|  | 2019 | 2018 |
| Revenue | $1,496.5 | $1,202.9 |
| Cost of sales | 900.5 | 800.9 |
| Gross profit | 596.0 | 402.0 |
| Operating income | 200 | 100 |
| Income tax expense | 50 | 20 |
| Net income | 100 | 20 |`

func TestDescribe(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		c := corpus.New(k.Server)
		filing := report("https://a.example/1", wholeStatement)
		filing.Form, filing.Issuer.Ticker = "10-K", "WXM"
		filing.Pages = []fileformat.Page{{Number: 1, Text: "A cover."}, {Number: 2}, {Number: 3, Text: wholeStatement}, {Number: 4}}
		for _, url := range []string{filing.URL, "https://a.example/copy"} {
			filing.URL = url
			if _, err := c.Put(t.Context(), filing); err != nil {
				t.Fatal(err)
			}
		}
		news := fileformat.Source{Kind: kernel.News, Title: "News", URL: "https://a.example/news", Pages: []fileformat.Page{{Text: "Markets rose."}}}
		if _, err := c.Put(t.Context(), news); err != nil {
			t.Fatal(err)
		}
		d, err := c.Describe(t.Context(), "https://a.example/copy")
		if err != nil || d.URL != "https://a.example/1" || d.Form != "10-K" || d.Company.Ticker != "WXM" || d.Company.Name != filing.Issuer.Name {
			t.Fatalf("%+v, %v", d, err)
		}
		if d.Pages != 4 || d.Tables != 1 || d.Tokens == 0 || d.Chunks != 2 || d.EmptyPages != 2 || !reflect.DeepEqual(d.Empty, []int{2, 4}) || !reflect.DeepEqual(d.Copies, []string{"https://a.example/copy"}) {
			t.Errorf("%+v", d)
		}
		if want := []corpus.FactCount{{Statement: kernel.Income, Origin: corpus.FromStatements, Facts: 12}}; !reflect.DeepEqual(d.Facts, want) {
			t.Errorf("%+v, want %+v", d.Facts, want)
		}
		if want := []kernel.Statement{kernel.Balance, kernel.CashFlow}; !reflect.DeepEqual(d.Missing, want) {
			t.Errorf("%v, want %v", d.Missing, want)
		}
		d, err = c.Describe(t.Context(), news.URL)
		if err != nil || d.Company.Name != "" || len(d.Facts)+len(d.Missing)+d.EmptyPages != 0 {
			t.Errorf("%+v, %v", d, err)
		}
		if _, err := c.Describe(t.Context(), "https://a.example/none"); !errors.Is(err, corpus.ErrNotFound) {
			t.Error(err)
		}
	})
}
