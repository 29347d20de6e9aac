package corpus_test

import (
	"errors"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/answer/answertest"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus/fileformat"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

const statement = `Consolidated Statements of Operations (in millions)

|  | Years Ended September 30, |  |
|---|---|---|
|  | 2019 | 2018 |
| Net sales | $1,496.5 | $1,202.9 |
| Net income | 100 | (20) |`

func TestManage(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		c := corpus.New(k.Server)
		first := report("https://a.example/1", statement)
		prices := fileformat.Source{
			Kind: kernel.Tabular, Title: "Prices", URL: "corpus:prices.csv", Issuer: first.Issuer,
			Prices: []fileformat.Price{{Day: "2020-01-02", Close: 1.5}, {Day: "2020-01-03", Close: 1.6}},
		}
		news := fileformat.Source{Kind: kernel.News, Title: "News", URL: "https://a.example/news", Pages: []fileformat.Page{{Text: "Markets rose."}}}
		for _, s := range []fileformat.Source{first, prices, news} {
			if _, err := c.Put(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		d, err := c.Document(t.Context(), "https://a.example/1")
		if err != nil || d.Issuer == 0 || d.Chunks != 1 || d.Period.Year != 2019 {
			t.Fatalf("%+v, %v", d, err)
		}
		facts, err := c.Facts(t.Context(), corpus.FactQuery{Issuers: []int64{d.Issuer}, Metrics: []string{"revenue"}})
		if err != nil || len(facts) != 2 || facts[0].Figure.Value != 1496.5e6 || facts[0].Period.End != "2019-09-30" || facts[0].Passage == 0 || facts[0].Label != "Net sales" {
			t.Errorf("%+v, %v", facts, err)
		}
		if facts, err := c.Facts(t.Context(), corpus.FactQuery{Issuers: []int64{d.Issuer}, Years: []int{2018}}); err != nil || len(facts) != 2 {
			t.Errorf("%+v, %v", facts, err)
		}
		text, err := c.Text(t.Context(), d.ID, 0, 10)
		if err != nil || len(text) != 1 || !text[0].Table {
			t.Errorf("%+v, %v", text, err)
		}
		list, err := c.List(t.Context(), corpus.ListQuery{Limit: 2})
		if err != nil || len(list) != 2 || list[0].URL != d.URL {
			t.Errorf("%+v, %v", list, err)
		}
		if list, err = c.List(t.Context(), corpus.ListQuery{After: list[1].ID, Kind: kernel.News}); err != nil || len(list) != 1 || list[0].Issuer != 0 {
			t.Errorf("%+v, %v", list, err)
		}
		if list, err = c.List(t.Context(), corpus.ListQuery{Issuer: d.Issuer}); err != nil || len(list) != 2 {
			t.Errorf("%+v, %v", list, err)
		}
		stats, err := c.Stats(t.Context())
		if err != nil || stats.Documents != 3 || stats.Chunks != 2 || stats.Facts != 4 || stats.Prices != 2 || stats.Issuers != 1 || stats.Kinds[kernel.News] != 1 || stats.Tokens == 0 || stats.Version != 4 {
			t.Errorf("%+v, %v", stats, err)
		}
		if err := c.Remove(t.Context(), "https://a.example/news"); err != nil {
			t.Error(err)
		}
		if err := c.Remove(t.Context(), "https://a.example/news"); !errors.Is(err, corpus.ErrNotFound) {
			t.Error(err)
		}
		if _, err := c.Document(t.Context(), "https://a.example/news"); !errors.Is(err, corpus.ErrNotFound) {
			t.Error(err)
		}
		for _, url := range []string{"https://a.example/1", "corpus:prices.csv"} {
			if err := c.Remove(t.Context(), url); err != nil {
				t.Error(err)
			}
		}
		for _, table := range []string{"documents", "chunks", "vectors", "search", "facts", "prices"} {
			if n := count(t, k, "SELECT count(*) FROM answer_"+table); n != 0 {
				t.Errorf("%s has %d rows", table, n)
			}
		}
	})
}
