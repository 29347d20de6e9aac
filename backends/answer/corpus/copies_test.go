package corpus_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/answer/answertest"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus/fileformat"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// shelf is a folder of files that is ingested several times.
type shelf struct {
	*testing.T
	kernel answertest.Kernel
	corpus *corpus.Corpus
	dir    string
	texts  map[string]string // the text that each URL should have
}

func newShelf(t *testing.T, k answertest.Kernel) *shelf {
	t.Helper()
	return &shelf{t, k, corpus.New(k.Server), t.TempDir(), make(map[string]string)}
}

// ingest writes files with the given texts, and ingests the folder.
func (s *shelf) ingest(files map[string]string) *corpus.Report {
	s.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			s.Fatal(err)
		}
		s.texts["corpus:"+name] = text
	}
	r, err := s.corpus.Ingest(s.Context(), s.dir, corpus.IngestOptions{Source: fileformat.Source{Title: "Results", Issuer: fileformat.Company{Name: "Wexlermere Inc."}}})
	if err != nil || r.Refused != 0 {
		s.Fatalf("%+v: %v", r, err)
	}
	s.check()
	return r
}

// check checks that each URL has the text of its file, and that no other texts are stored.
func (s *shelf) check() {
	s.Helper()
	distinct := make(map[string]bool)
	for url, text := range s.texts {
		distinct[text] = true
		d, err := s.corpus.Document(s.Context(), url)
		if err != nil {
			s.Errorf("%s, with the text %q: %v", url, text, err)
			continue
		}
		passages, err := s.corpus.Text(s.Context(), d.ID, 0, 2)
		if err != nil || len(passages) != 1 || passages[0].Text != text {
			s.Errorf("%s: got passages %+v, want %q: %v", url, passages, text, err)
		}
	}
	for _, table := range []string{"documents", "chunks", "vectors", "search"} {
		if n := count(s.T, s.kernel, "SELECT count(*) FROM answer_"+table); n != len(distinct) {
			s.Errorf("%s: got %d rows, want %d", table, n, len(distinct))
		}
	}
	if s.Failed() {
		s.FailNow()
	}
}

// TestFilesSwapURLs checks that one ingest stores the texts of files that exchange their texts.
func TestFilesSwapURLs(t *testing.T) {
	t.Parallel()
	const sales, costs, debts, taxes = "Sales rose.", "Costs fell.", "Debts stayed.", "Taxes came."
	for name, files := range map[string][2]map[string]string{
		"swap":           {{"a.md": sales, "b.md": costs}, {"a.md": costs, "b.md": sales}},
		"cycle":          {{"a.md": sales, "b.md": costs, "c.md": debts}, {"a.md": debts, "b.md": sales, "c.md": costs}},
		"cycle back":     {{"a.md": sales, "b.md": costs, "c.md": debts}, {"a.md": costs, "b.md": debts, "c.md": sales}},
		"rename":         {{"b.md": sales}, {"b.md": costs, "a.md": sales}},
		"rename forward": {{"a.md": sales}, {"a.md": costs, "b.md": sales}},
		"chain":          {{"a.md": sales, "b.md": costs, "c.md": debts}, {"a.md": taxes, "b.md": sales, "c.md": costs, "d.md": debts}},
		"chain back":     {{"b.md": sales, "c.md": costs, "d.md": debts}, {"a.md": sales, "b.md": costs, "c.md": debts, "d.md": taxes}},
		"copy":           {{"a.md": sales, "b.md": sales}, {"a.md": costs}},
		"copies":         {{"a.md": sales, "b.md": sales, "c.md": sales}, {"a.md": costs, "b.md": debts}},
		"copy swapped":   {{"a.md": sales, "b.md": sales, "c.md": costs}, {"a.md": costs, "b.md": costs, "c.md": sales}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
				s := newShelf(t, k)
				s.ingest(files[0])
				s.ingest(files[1])
				if r := s.ingest(nil); r.Added+r.Replaced != 0 || r.Skipped != len(s.texts) {
					t.Errorf("a repeated ingest: got %+v, want %d skipped documents", r, len(s.texts))
				}
			})
		})
	}
}

// TestFilesChangeAtRandom checks the same for files that change at random, one ingest after the other.
func TestFilesChangeAtRandom(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		s := newShelf(t, k)
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 1))
		for range 20 {
			files := make(map[string]string)
			for range random.IntN(8) {
				files[fmt.Sprintf("%d.md", random.IntN(6))] = fmt.Sprintf("Text %d.", random.IntN(7))
			}
			s.ingest(files)
		}
		urls := slices.Sorted(maps.Keys(s.texts))
		for _, url := range urls {
			if err := s.corpus.Remove(t.Context(), url); err != nil {
				t.Fatal(err)
			}
			delete(s.texts, url)
			s.check()
		}
	})
}

// TestInsertedLineMovesURLs checks that a line inserted at the top of a file, which gives each line the URL of the next
// one, loses no document.
func TestInsertedLineMovesURLs(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		c := corpus.New(k.Server)
		file := filepath.Join(t.TempDir(), "a.jsonl")
		lines := ""
		for n := range 200 {
			lines = fmt.Sprintf(`{"title":"Line","text":"Text %d."}`, n) + "\n" + lines
			if n < 198 {
				continue
			}
			if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := c.Ingest(t.Context(), file, corpus.IngestOptions{})
			if err != nil || r.Documents() != n+1 {
				t.Fatalf("%+v: %v", r, err)
			}
			if got := count(t, k, "SELECT count(*) FROM answer_documents"); got != n+1 {
				t.Errorf("%d documents of %d lines", got, n+1)
			}
		}
	})
}

// TestPricesMoveWithDocument checks that prices move to another URL, and are removed, together with their document.
func TestPricesMoveWithDocument(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		c := corpus.New(k.Server)
		put := func(url string, day kernel.Day, want corpus.Outcome) {
			t.Helper()
			s := fileformat.Source{Kind: kernel.Tabular, Title: "Prices", URL: url, Issuer: fileformat.Company{Name: "Wexlermere Inc."}, Prices: []fileformat.Price{{Day: day, Close: 1.5}}}
			if got, err := c.Put(t.Context(), s); err != nil || got != want {
				t.Fatalf("%s at %s: %s, %v", day, url, got, err)
			}
		}
		prices := func(want int) {
			t.Helper()
			if n := count(t, k, "SELECT count(*) FROM answer_prices"); n != want {
				t.Errorf("%d prices, not %d", n, want)
			}
		}
		put("corpus:a", "2020-01-02", corpus.Added)
		put("corpus:b", "2020-01-02", corpus.Skipped)
		put("corpus:a", "2020-01-03", corpus.Replaced)
		prices(2)
		put("corpus:a", "2020-01-04", corpus.Replaced)
		prices(2)
		put("corpus:b", "2020-01-04", corpus.Replaced)
		prices(1)
	})
}
