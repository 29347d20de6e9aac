package sample

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBooks checks that the books of an issuer balance and add up.
func TestBooks(t *testing.T) {
	t.Parallel()
	for i := range issuers {
		c := &issuers[i]
		all := c.years()
		var last *books
		for n := range all {
			b := &all[n]
			if b.assets != b.liabilities+b.equity || b.gross != b.segments[0]+b.segments[1]+b.segments[2]-b.cost || b.inventories != b.raw+b.progress+b.finished || b.cash <= 0 || b.net <= 0 || b.equity <= 0 {
				t.Errorf("%s %d: %+v", c.name, b.year, b)
			}
			if last != nil && b.cash != last.cash+b.operatingCash-b.capex-b.acquired-b.dividends-b.buybacks+b.borrowed {
				t.Errorf("%s %d: the cash flow statement does not lead to the balance", c.name, b.year)
			}
			last = b
		}
	}
}

// TestFiles checks that the corpus is the same each time, has about 1 MB, and contains three reports of more
// than a hundred pages.
func TestFiles(t *testing.T) {
	t.Parallel()
	all, again := Files(), Files()
	size, long := 0, 0
	names := make(map[string]bool)
	for i, f := range all {
		if names[f.Name] || !bytes.Equal(f.Body, again[i].Body) || f.Name != again[i].Name {
			t.Errorf("%s is there twice, or another each time", f.Name)
		}
		names[f.Name] = true
		if size += len(f.Body); strings.HasSuffix(f.Name, ".jsonl") {
			var m meta
			if err := json.Unmarshal(f.Body, &m); err != nil {
				t.Fatal(err)
			}
			if len(m.Pages) > 100 {
				long++
			}
		}
	}
	if size < 900<<10 || size > 1200<<10 || long != 3 || len(issuers) != 12 {
		t.Errorf("%d issuers, %d bytes, %d long reports", len(issuers), size, long)
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 { // what is there already is no error
		if n, err := Write(dir); err != nil || n != len(Files())+1 {
			t.Fatal(n, err)
		}
	}
	own := filepath.Join(dir, QuestionsFile)
	if err := os.WriteFile(own, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(dir); err == nil || !strings.Contains(err.Error(), QuestionsFile) {
		t.Error(err)
	}
	if text, _ := os.ReadFile(own); string(text) != "mine" {
		t.Error("a file was overwritten")
	}
}

// TestQuestions checks that there are 120 questions of every class, and that their answers are in the
// documents that they name.
func TestQuestions(t *testing.T) {
	t.Parallel()
	documents := make(map[string]string) // words of each, by URL
	for i := range issuers {
		for _, f := range issuers[i].files() {
			text := strings.NewReplacer("</td><td>", " | ", "</th><th>", " | ", "&#39;", "'", `","`, " | ", `,"`, " | ").Replace(string(f.Body))
			url := "https://" + issuers[i].key + ".example/"
			name := strings.TrimPrefix(f.Name, issuers[i].key+"/")
			base, _, _ := strings.Cut(name, ".")
			switch kind, rest, _ := strings.Cut(base, "-"); kind {
			case "report":
				url += "reports/" + rest
			case "news":
				url += "news/" + rest
			default:
				url += base
			}
			documents[url] += text
		}
	}
	seen := make(map[string]int)
	ids := make(map[string]bool)
	for line := range bytes.Lines(Questions) {
		var q struct {
			ID, Query, Type, Expect string
			Gold                    struct {
				Answer   any
				Evidence []struct{ URL, Text string }
			}
		}
		if err := json.Unmarshal(line, &q); err != nil {
			t.Fatal(err)
		}
		if ids[q.ID] || q.Query == "" || (q.Expect == "answered") != (q.Gold.Answer != nil) || (q.Expect == "answered") != (len(q.Gold.Evidence) > 0) {
			t.Errorf("%s", line)
		}
		ids[q.ID] = true
		seen[q.Expect]++
		seen[q.Type]++
		for _, e := range q.Gold.Evidence {
			if e.Text == "" || !strings.Contains(documents[e.URL], e.Text) {
				t.Errorf("%s: %s has no %q", q.ID, e.URL, e.Text)
			}
		}
	}
	if len(ids) != 120 {
		t.Errorf("%d questions", len(ids))
	}
	for kind := range strings.FieldsSeq("answered FailedToAnswer NonInvestmentRelated ShouldUseScreener ContentFiltered fact text formula multi wording injection") {
		if seen[kind] < 5 {
			t.Errorf("%d questions of %s", seen[kind], kind)
		}
	}
}
