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
	const maxWrong = 3 // so many in a hundred may be of another class
	f, err := os.Open("testdata/classes.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	r := reader()
	n := 0
	var wrong []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		want, text, ok := strings.Cut(lines.Text(), "\t")
		if !ok {
			continue
		}
		n++
		q, err := r.Read(t.Context(), text)
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
	if n < 400 || 100*len(wrong) > maxWrong*n {
		t.Errorf("%d of %d:\n%s", len(wrong), n, strings.Join(wrong, "\n"))
	}
	t.Logf("%d of %d are of another class: %s", len(wrong), n, strings.Join(wrong, "; "))
}

// TestFind looks for terms with a gap in texts.
func TestFind(t *testing.T) {
	t.Parallel()
	far := strings.Repeat("x", maxGap)
	for _, test := range []struct {
		name, term, text string
		want             string // the part of the text that is found; empty if the term is not found
	}{
		{"whole words", "hide ~ losses", "Can we hide the losses?", " hide the losses "},
		{"adjacent words", "hide ~ losses", "hide losses", " hide losses "},
		{"beginning of a word", "hide ~ loss*", "hide our losses", " hide our loss"},
		{"too far", "hide ~ losses", "hide " + far + " the losses", ""},
		{"second occurrence is near enough", "hide ~ losses", "hide " + far + " or hide the losses", " hide the losses "},
		{"wrong order", "hide ~ losses", "losses to hide", ""},
		{"part of a word", "hide ~ losses", "hideous losses", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			text := plainWords(test.text)
			start, end := parseTerm(test.term).find(text)
			if got := text[start:end]; got != test.want {
				t.Errorf("find returned %d, %d (%q), want %q", start, end, got, test.want)
			}
		})
	}
}
