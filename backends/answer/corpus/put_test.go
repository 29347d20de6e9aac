package corpus

import (
	"fmt"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/answer/answertest"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// putTogether takes documents in with one call, as an ingest does with those that are ready at once.
func putTogether(t *testing.T, k answertest.Kernel, sources ...Source) []Outcome {
	t.Helper()
	all := make([]*prepared, 0, len(sources))
	for _, s := range sources {
		p, err := prepare(s, nil)
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

func counted(t *testing.T, k answertest.Kernel, query string, want int) {
	t.Helper()
	var n int
	if err := k.Read(t.Context(), func(c kernel.Conn) error { return c.Row(query).Scan(&n) }); err != nil || n != want {
		t.Errorf("%s: %d, not %d: %v", query, n, want, err)
	}
}

// TestReplacedTogether checks that of several documents in one ingest each may replace one before it.
func TestReplacedTogether(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		say := func(url string, n int) Source {
			return Source{
				Title: "Line", URL: url, Issuer: Company{Name: "Wexlermere Inc."}, Pages: []Page{{Text: fmt.Sprintf("Text %d.", n)}},
				Prices: []Price{{Day: kernel.Day(fmt.Sprintf("2020-01-%02d", n)), Close: 1}},
			}
		}
		const a, b, c = "corpus:a", "corpus:b", "corpus:c"
		got := putTogether(t, k, say(a, 1), say(b, 2), say(a, 2), say(b, 1), say(c, 1), say(b, 3), say(a, 4), say(a, 5), say(b, 5), say(a, 1))
		want := []Outcome{Added, Added, Replaced, Replaced, Skipped, Replaced, Replaced, Replaced, Replaced, Replaced}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v, not %v", got, want)
		}
		for _, table := range []string{"documents", "chunks", "vectors", "search", "prices"} {
			counted(t, k, "SELECT count(*) FROM answer_"+table, 2)
		}
		counted(t, k, "SELECT count(*) FROM answer_copies", 1)
		for url, text := range map[string]string{a: "Text 1.", b: "Text 5.", c: "Text 1."} {
			d, err := New(k.Server).Document(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			counted(t, k, fmt.Sprintf("SELECT count(*) FROM answer_chunks WHERE document_id = %d AND text = '%s'", d.ID, text), 1)
			counted(t, k, fmt.Sprintf("SELECT count(*) FROM answer_prices WHERE source = '%s'", d.URL), 1)
		}
	})
}

// TestIssuersTogether checks that what one document tells about an issuer is known when the next one is
// written.
func TestIssuersTogether(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		sources := make([]Source, 0, 4)
		for n, issuer := range []Company{{Name: "Wexlermere Inc."}, {Name: "Wexlermere Inc.", Ticker: "WXM"}, {Name: "Wexler", Ticker: "WXM", CIK: "12"}, {Name: "The Mere", CIK: "12"}} {
			sources = append(sources, Source{Title: "Line", URL: fmt.Sprintf("corpus:%d", n), Issuer: issuer, Pages: []Page{{Text: fmt.Sprintf("Text %d.", n)}}})
		}
		putTogether(t, k, sources...)
		counted(t, k, "SELECT count(*) FROM answer_issuers", 1)
		counted(t, k, "SELECT count(*) FROM answer_issuers WHERE ticker = 'WXM' AND cik = '12'", 1)
	})
}
