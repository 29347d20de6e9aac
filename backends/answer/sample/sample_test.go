package sample

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocuments checks that the corpus is about 1 MB of documents of twelve issuers, and that three reports have
// more than a hundred pages.
func TestDocuments(t *testing.T) {
	t.Parallel()
	size, long := 0, 0
	issuers := make(map[string]bool)
	for name, body := range files(t) {
		issuers[filepath.Dir(name)] = true
		size += len(body)
		var m struct{ Pages []any }
		if strings.HasSuffix(name, ".jsonl") && json.Unmarshal([]byte(body), &m) == nil && len(m.Pages) > 100 {
			long++
		}
	}
	if size < 900<<10 || size > 1200<<10 || long != 3 || len(issuers) != 12 {
		t.Errorf("%d issuers, %d bytes, %d long reports", len(issuers), size, long)
	}
}

// files returns the documents by name.
func files(t *testing.T) map[string]string {
	all := make(map[string]string)
	err := fs.WalkDir(documents, CorpusFolder, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var body []byte
			body, err = documents.ReadFile(name)
			all[strings.TrimPrefix(name, CorpusFolder+"/")] = string(body)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 { // what is there already is no error
		if n, err := Write(dir); err != nil || n != len(files(t))+1 {
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
	words := make(map[string]string) // of each document, by URL
	for name, body := range files(t) {
		text := strings.NewReplacer("</td><td>", " | ", "</th><th>", " | ", "&#39;", "'", `","`, " | ", `,"`, " | ").Replace(body)
		issuer, name, _ := strings.Cut(name, "/")
		url := "https://" + issuer + ".example/"
		base, _, _ := strings.Cut(name, ".")
		switch kind, rest, _ := strings.Cut(base, "-"); kind {
		case "report":
			url += "reports/" + rest
		case "news":
			url += "news/" + rest
		default:
			url += base
		}
		words[url] += text
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
			if e.Text == "" || !strings.Contains(words[e.URL], e.Text) {
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
