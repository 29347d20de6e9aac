package corpus

import (
	"path/filepath"
	"strings"
	"testing"
)

// A document that makes the program fail is refused, as others are.
func TestIngestFault(t *testing.T) {
	t.Parallel()
	in := &ingest{} // without a corpus, and with a file of a kind that there is not
	out := make(chan found, 1)
	in.read(t.Context(), t.TempDir(), file{path: filepath.Join(t.TempDir(), "a.none")}, out)
	in.divide(t.Context(), <-out, nil)
	in.divide(t.Context(), found{name: "b.md", source: Source{Title: "B", URL: "corpus:b", Pages: []Page{{Text: "Some text."}}}}, nil)
	if in.report.Refused != 2 || len(in.report.Problems) != 2 {
		t.Fatalf("%+v", in.report)
	}
	for i, name := range []string{"a.none: ", "b.md corpus:b: "} {
		if got := in.report.Problems[i]; !strings.Contains(got, name+"the program has failed: ") {
			t.Error(got)
		}
	}
}
