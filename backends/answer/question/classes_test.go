package question

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

// TestClasses checks that nearly all of the questions in eight languages, about issuers without any filing,
// are given their class.
func TestClasses(t *testing.T) {
	t.Parallel()
	const most = 3 // in a hundred may be of another one
	f, err := os.Open("testdata/classes.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	asked := reader()
	n := 0
	var wrong []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		want, text, ok := strings.Cut(lines.Text(), "\t")
		if !ok {
			continue
		}
		n++
		q, err := asked.Read(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		got := string(q.Verdict)
		if got == "" {
			got = "answered"
		}
		if got != want {
			wrong = append(wrong, text+" is "+got+", not "+want)
		}
	}
	if n < 400 || 100*len(wrong) > most*n {
		t.Errorf("%d of %d:\n%s", len(wrong), n, strings.Join(wrong, "\n"))
	}
	t.Logf("%d of %d are of another class: %s", len(wrong), n, strings.Join(wrong, "; "))
}
