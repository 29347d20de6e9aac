package corpus

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/answer/answertest"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus/fileformat"
)

// TestIngestFault checks that a document that makes a reader panic is refused like other faulty documents.
func TestIngestFault(t *testing.T) {
	t.Parallel()
	in := &ingest{} // without a corpus, and with a file of a kind that there is not
	out := make(chan readDocument, 1)
	in.read(t.Context(), t.TempDir(), fileformat.File{Path: filepath.Join(t.TempDir(), "a.none")}, out)
	in.divide(t.Context(), <-out, nil)
	in.divide(t.Context(), readDocument{name: "b.md", source: fileformat.Source{Title: "B", URL: "corpus:b", Pages: []fileformat.Page{{Text: "Some text."}}}}, nil)
	if in.report.Refused != 2 || len(in.report.Problems) != 2 {
		t.Fatalf("%+v", in.report)
	}
	for i, name := range []string{"a.none: ", "b.md corpus:b: "} {
		if got := in.report.Problems[i]; !strings.Contains(got, name+"the program has failed: ") {
			t.Error(got)
		}
	}
}

// TestLaterMeta checks that a description that is added beside a file later belongs to its document, which
// moves if the description states a URL.
func TestLaterMeta(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		dir := t.TempDir()
		c := New(k.Server)
		take := func(meta, url, title string) {
			t.Helper()
			if meta != "" {
				if err := os.WriteFile(filepath.Join(dir, "a.txt"+fileformat.MetaSuffix), []byte(meta), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			report, err := c.Ingest(t.Context(), dir, IngestOptions{})
			if err != nil || report.Refused > 0 || report.Added+report.Replaced != 1 || (meta != "") != (report.Replaced == 1) {
				t.Fatalf("%+v (%v)", report, err)
			}
			checkCount(t, k, "SELECT count(*) FROM answer_documents", 1)
			checkCount(t, k, "SELECT count(*) FROM answer_copies", 0)
			d, err := c.Document(t.Context(), url)
			if err != nil || d.Title != title {
				t.Errorf("%s: %+v (%v)", url, d, err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("Sales rose by a tenth in the year."), 0o600); err != nil {
			t.Fatal(err)
		}
		take("", "corpus:a.txt", "a")
		take(`{"title":"Report"}`, "corpus:a.txt", "Report")
		take(`{"title":"Report","url":"https://a.example/1"}`, "https://a.example/1", "Report")
		take(`{"title":"Annual report","url":"https://a.example/1"}`, "https://a.example/1", "Annual report")
	})
}
