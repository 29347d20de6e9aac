package corpus_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/answer/answertest"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus/fileformat"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

func report(url, text string) fileformat.Source {
	return fileformat.Source{
		Title: "Wexlermere annual report 2019", URL: url, Fiscal: "FY2019", Issuer: fileformat.Company{Name: "Wexlermere Inc.", Ticker: "WXM", Aliases: []string{"Wexler"}},
		Pages: []fileformat.Page{{Number: 1, Text: text}},
	}
}

// count returns the number that a query selects.
func count(t *testing.T, k answertest.Kernel, query string) (n int) {
	t.Helper()
	if err := k.Read(t.Context(), func(c kernel.Conn) error { return c.Row(query).Scan(&n) }); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestPut(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		c := corpus.New(k.Server)
		put := func(s fileformat.Source, want corpus.Outcome) {
			t.Helper()
			got, err := c.Put(t.Context(), s)
			if err != nil || got != want {
				t.Fatalf("%s: got outcome %s, want %s: %v", s.URL, got, want, err)
			}
		}
		long := strings.Repeat("Net sales rose as volumes grew. ", 3000)
		put(report("https://a.example/1", "Sales\n\n"+long), corpus.Added)
		put(report("https://a.example/1", "Sales\n\n"+long), corpus.Skipped)
		put(report("https://a.example/2", "Sales\n\n"+long), corpus.Skipped)
		first, err := c.Version(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		chunks := count(t, k, "SELECT count(*) FROM answer_chunks")
		if chunks < 30 || count(t, k, "SELECT count(*) FROM answer_vectors") != chunks || count(t, k, "SELECT count(*) FROM answer_search") != chunks {
			t.Errorf("%d chunks", chunks)
		}
		put(report("https://a.example/1", "Costs\n\nThey fell."), corpus.Replaced)
		if d, err := c.Document(t.Context(), "https://a.example/2"); err != nil || d.URL != "https://a.example/2" || count(t, k, "SELECT count(*) FROM answer_chunks") != chunks+1 {
			t.Errorf("the document at the other URL: got %+v, %v", d, err)
		}
		put(report("https://a.example/2", "Costs\n\nThey fell."), corpus.Replaced)
		for _, table := range []string{"answer_documents", "answer_chunks", "answer_vectors", "answer_search", "answer_issuers"} {
			if n := count(t, k, "SELECT count(*) FROM "+table); n != 1 {
				t.Errorf("%s has %d rows", table, n)
			}
		}
		if second, err := c.Version(t.Context()); err != nil || second != first+2 {
			t.Errorf("version %d after %d: %v", second, first, err)
		}
		issuers, directory, err := c.Issuers(t.Context())
		if err != nil || len(issuers) != 1 {
			t.Fatal(issuers, err)
		}
		for _, question := range []string{"Wexlermere's sales", "sales of WXM", "sales of Wexler"} {
			if m := directory.Find(question); len(m) != 1 || issuers[m[0].Issuers[0]].Ticker != "WXM" {
				t.Errorf("%q names %v", question, m)
			}
		}
		for _, bad := range []fileformat.Source{
			{}, report("", "x"), report("ftp://a.example/", "x"), report("https://u:p@a.example/", "x"), report("corpus:a b", "x"), report("https://a.example/3", " "),
		} {
			if _, err := c.Put(t.Context(), bad); !errors.As(err, new(*fileformat.RefusedError)) {
				t.Errorf("%q: got error %v, want a RefusedError", bad.URL, err)
			}
		}
	})
}

// TestBackToDuplicate checks that the earlier document of a URL is deleted, even if another URL already has the new
// document.
func TestBackToDuplicate(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		c := corpus.New(k.Server)
		checkDocuments := func() {
			t.Helper()
			if n := count(t, k, "SELECT count(*) FROM answer_documents"); n != 1 {
				t.Errorf("%d documents", n)
			}
			if n := count(t, k, "SELECT count(*) FROM answer_chunks WHERE text LIKE '%fell%'"); n != 0 {
				t.Errorf("%d old passages", n)
			}
		}
		for _, s := range []struct {
			url, text string
			want      corpus.Outcome
		}{
			{"https://a.example/1", "Sales rose.", corpus.Added},
			{"https://a.example/2", "Sales fell.", corpus.Added},
			{"https://a.example/2", "Sales rose.", corpus.Replaced},
			{"https://a.example/2", "Sales rose.", corpus.Skipped},
		} {
			if got, err := c.Put(t.Context(), report(s.url, s.text)); err != nil || got != s.want {
				t.Errorf("%s %q: %s: %v", s.url, s.text, got, err)
			}
		}
		checkDocuments()
		for _, url := range []string{"https://a.example/1", "https://a.example/2"} {
			checkDocuments()
			if err := c.Remove(t.Context(), url); err != nil {
				t.Fatal(err)
			}
		}
		dir := t.TempDir()
		for name, text := range map[string]string{"a.md": "Sales rose.", "b.md": "Sales fell."} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		options := corpus.IngestOptions{Source: fileformat.Source{Title: "Results"}}
		if r, err := c.Ingest(t.Context(), dir, options); err != nil || r.Added != 2 {
			t.Fatalf("%+v: %v", r, err)
		}
		if err := os.WriteFile(filepath.Join(dir, "b.md"), []byte("Sales rose."), 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := c.Ingest(t.Context(), dir, options); err != nil || r.Replaced != 1 || r.Skipped != 1 {
			t.Fatalf("%+v: %v", r, err)
		}
		checkDocuments()
	})
}

func TestIngest(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		c := corpus.New(k.Server)
		folder := t.TempDir()
		for name, text := range map[string]string{
			"a.jsonl": `{"title":"One","url":"https://a.example/1","kind":"filing","issuer":"Wexlermere Inc.","fiscal":"FY2019","text":"Net sales rose."}` + "\n" +
				`{"title":"Two","url":"https://a.example/2","kind":"news","issuer":{"name":"Brantpoint","ticker":"BPT","cik":12},"fiscal":2018,"published":"2018-04-05","pages":["First.",{"number":7,"text":"Second."}]}` + "\n\n" +
				`{"title":"Three","url":"nothing","text":"x"}` + "\n" + `{"title":` + "\n" + `{"title":"Four","text":"No address."}`,
			"b/c.md":        "---\ntitle: Notes\nissuer: Wexlermere Inc.\nfiscal: FY2018\naliases: [Wex, \"Wexler\"]\n---\n# Sales\n\nThey rose.\n<!-- page 4 -->\nThey fell.\n",
			"b/.hidden.md":  "# Hidden\n",
			"b/picture.png": "x",
		} {
			path := filepath.Join(folder, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var last corpus.Progress
		o := corpus.IngestOptions{Progress: func(p corpus.Progress) { last = p }}
		got, err := c.Ingest(t.Context(), folder, o)
		if err != nil || got.Added != 4 || got.Refused != 2 || got.Skipped != 0 || got.Files != 2 || last != got.Progress || last.Done != last.Bytes {
			t.Fatalf("%+v, %v", got, err)
		}
		if problems := strings.Join(got.Problems, "\n"); !strings.Contains(problems, "a.jsonl nothing: url") || !strings.Contains(problems, "line 5") {
			t.Error(problems)
		}
		if n := count(t, k, "SELECT count(*) FROM answer_documents WHERE url IN ('corpus:b/c.md', 'corpus:a.jsonl/6')"); n != 2 {
			t.Errorf("%d documents without an address", n)
		}
		if n := count(t, k, "SELECT count(*) FROM answer_chunks WHERE page IN (4, 7)"); n != 2 {
			t.Errorf("%d chunks on pages 4 and 7", n)
		}
		if n := count(t, k, "SELECT count(*) FROM answer_aliases"); n != 4 {
			t.Errorf("%d aliases", n)
		}
		second, err := c.Ingest(t.Context(), folder, o)
		if err != nil || second.Added != 0 || second.Skipped != 4 {
			t.Errorf("%+v, %v", second, err)
		}
		if _, err := c.Ingest(t.Context(), filepath.Join(folder, "b/picture.png"), o); err == nil {
			t.Error("a picture is read")
		}
	})
}
