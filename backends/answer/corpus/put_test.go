package corpus

import (
	"fmt"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/answer/answertest"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus/fileformat"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// putTogether ingests documents with one call of putAll, as an ingest does with documents that are ready at the same
// time.
func putTogether(t *testing.T, k answertest.Kernel, sources ...fileformat.Source) []Outcome {
	t.Helper()
	all := make([]*prepared, 0, len(sources))
	for _, s := range sources {
		p, err := prepare(s)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	outcomes, err := New(k.Server).putAll(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	return outcomes
}

// checkCount checks the number that a query selects.
func checkCount(t *testing.T, k answertest.Kernel, query string, want int) {
	t.Helper()
	var n int
	if err := k.Read(t.Context(), func(c kernel.Conn) error { return c.Row(query).Scan(&n) }); err != nil || n != want {
		t.Errorf("%s: got %d, want %d: %v", query, n, want, err)
	}
}

// TestReplacedTogether checks that of several documents in one ingest each may replace one before it.
func TestReplacedTogether(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		line := func(url string, n int) fileformat.Source {
			return fileformat.Source{
				Title: "Line", URL: url, Issuer: fileformat.Company{Name: "Wexlermere Inc."}, Pages: []fileformat.Page{{Text: fmt.Sprintf("Text %d.", n)}},
				Prices: []fileformat.Price{{Day: kernel.Day(fmt.Sprintf("2020-01-%02d", n)), Close: 1}},
			}
		}
		const a, b, c = "corpus:a", "corpus:b", "corpus:c"
		got := putTogether(t, k, line(a, 1), line(b, 2), line(a, 2), line(b, 1), line(c, 1), line(b, 3), line(a, 4), line(a, 5), line(b, 5), line(a, 1))
		want := []Outcome{Added, Added, Replaced, Replaced, Skipped, Replaced, Replaced, Replaced, Replaced, Replaced}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v, not %v", got, want)
		}
		for _, table := range []string{"documents", "chunks", "vectors", "search", "prices"} {
			checkCount(t, k, "SELECT count(*) FROM answer_"+table, 2)
		}
		checkCount(t, k, "SELECT count(*) FROM answer_copies", 1)
		for url, text := range map[string]string{a: "Text 1.", b: "Text 5.", c: "Text 1."} {
			d, err := New(k.Server).Document(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			checkCount(t, k, fmt.Sprintf("SELECT count(*) FROM answer_chunks WHERE document_id = %d AND text = '%s'", d.ID, text), 1)
			checkCount(t, k, fmt.Sprintf("SELECT count(*) FROM answer_prices WHERE source = '%s'", d.URL), 1)
		}
	})
}

// TestIssuersTogether checks that the names, the ticker and the CIK that one document has for an issuer are known when
// the next document of the same transaction is written.
func TestIssuersTogether(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		sources := make([]fileformat.Source, 0, 4)
		for n, issuer := range []fileformat.Company{{Name: "Wexlermere Inc."}, {Name: "Wexlermere Inc.", Ticker: "WXM"}, {Name: "Wexler", Ticker: "WXM", CIK: "12"}, {Name: "The Mere", CIK: "12"}} {
			sources = append(sources, fileformat.Source{Title: "Line", URL: fmt.Sprintf("corpus:%d", n), Issuer: issuer, Pages: []fileformat.Page{{Text: fmt.Sprintf("Text %d.", n)}}})
		}
		putTogether(t, k, sources...)
		checkCount(t, k, "SELECT count(*) FROM answer_issuers", 1)
		checkCount(t, k, "SELECT count(*) FROM answer_issuers WHERE ticker = 'WXM' AND cik = '12'", 1)
	})
}
