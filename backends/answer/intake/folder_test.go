package intake_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tollgate-gateway/tollgate/backends/answer/answertest"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/intake"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// room is a corpus with what its intake has counted and logged.
type room struct {
	*testing.T
	answertest.Kernel
	corpus *corpus.Corpus
	counts map[string]int
	logs   *observer.ObservedLogs
}

func newRoom(t *testing.T, k answertest.Kernel) *room {
	core, logs := observer.New(zap.InfoLevel)
	logger := zap.New(core)
	k.Server = &kernel.Server{DB: k.DB, Logger: func() *zap.Logger { return logger }, Now: k.Now}
	return &room{t, k, corpus.New(k.Server), make(map[string]int), logs}
}

func (r *room) options() intake.Options {
	return intake.Options{Corpus: r.corpus, Hold: func(kernel.Conn) error { return nil }, Observe: func(outcome string) { r.counts[outcome]++ }}
}

// counted checks what was counted since it was asked last.
func (r *room) counted(want map[string]int) {
	r.Helper()
	for outcome, n := range want {
		if r.counts[outcome] != n {
			r.Errorf("%s: %d, want %d of %v", outcome, r.counts[outcome], n, r.counts)
		}
	}
	for outcome := range r.counts {
		if want[outcome] == 0 {
			r.Errorf("%v, want %v", r.counts, want)
		}
	}
	clear(r.counts)
}

func (r *room) has(url string, want bool) {
	r.Helper()
	if _, err := r.corpus.Document(r.Context(), url); (err == nil) != want || err != nil && !errors.Is(err, corpus.ErrNotFound) {
		r.Errorf("%s: %v, want %v", url, err, want)
	}
}

func (r *room) write(path, text string, modTime int64) {
	r.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, time.Time{}, time.Unix(modTime, 0))); err != nil {
		r.Fatal(err)
	}
}

// round runs the folder and checks how many files it has read.
func (r *room) round(f *intake.Folder, want int) {
	r.Helper()
	if n, err := f.Run(r.Context()); err != nil || n != want {
		r.Errorf("%d files, %v, want %d", n, err, want)
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		r := newRoom(t, k)
		dir := t.TempDir()
		in := func(name string) string { return filepath.Join(dir, name) }
		f := &intake.Folder{Options: r.options(), Path: dir}

		r.write(in("a.md"), "# First\n\nRevenue was $5 million.", 1)
		r.write(in("below/b.txt"), "Second text.", 1)
		r.write(in(".hidden.md"), "Not read.", 1)
		r.round(f, 0) // seen
		r.write(in("a.md"), "# First\n\nRevenue was $6 million. More", 2)
		r.round(f, 1) // a.md is being written
		r.counted(map[string]int{"added": 1})
		r.has("corpus:a.md", false)
		r.round(f, 1)
		r.round(f, 0)
		r.counted(map[string]int{"added": 1})
		r.has("corpus:a.md", true)
		r.has("corpus:below/b.txt", true)

		// Another process does not read the files again.
		f = &intake.Folder{Options: r.options(), Path: dir}
		r.round(f, 0)
		r.round(f, 0)
		r.counted(nil)

		// The file a.md changes, and so does the metadata file beside b.txt.
		r.write(in("a.md"), "# First\n\nRevenue was $7 million.", 3)
		r.write(in("below/b.txt.meta.json"), `{"url":"https://b.example/b"}`, 3)
		r.round(f, 0)
		r.round(f, 2)
		r.counted(map[string]int{"replaced": 2})
		r.has("https://b.example/b", true)
		r.has("corpus:below/b.txt", false)

		// A refused file is logged once, and again after it has changed.
		for i := range 2 {
			r.write(in("bad.json"), "{", int64(i))
			r.round(f, 0)
			r.round(f, 1)
			r.round(f, 0)
			r.counted(map[string]int{"refused": 1})
			if n := r.logs.FilterMessage("document not ingested").FilterField(zap.String("file", "bad.json")).Len(); n != i+1 {
				t.Errorf("the refusal was logged %d times, want %d", n, i+1)
			}
		}

		// The document of a file that is removed stays.
		if err := os.Remove(in("a.md")); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			r.round(f, 0)
		}
		r.counted(nil)
		r.has("corpus:a.md", true)
	})
}

func TestFolderRemoves(t *testing.T) {
	t.Parallel()
	answertest.OnBoth(t, func(t *testing.T, k answertest.Kernel) {
		r := newRoom(t, k)
		dir := filepath.Join(t.TempDir(), "filings")
		in := func(name string) string { return filepath.Join(dir, name) }
		f := &intake.Folder{Options: r.options(), Path: dir, Remove: true}
		r.round(f, 0) // there is no folder
		r.round(f, 0)
		r.counted(map[string]int{intake.OutcomeFailed: 2})
		if n := r.logs.FilterMessage("the watched folder cannot be read").Len(); n != 1 {
			t.Errorf("the problem was logged %d times, want once", n)
		}
		const lines = `{"title":"One","url":"https://a.example/1","text":"First text."}` + "\n"
		r.write(in("list.jsonl"), lines+`{"title":"Two","url":"https://a.example/2","text":"Second text."}`+"\n", 1)
		r.write(in("old.txt"), "A text.", 1)
		r.write(in("old.txt.meta.json"), `{"title":"Text","url":"https://a.example/text"}`, 1)
		r.round(f, 0)
		r.round(f, 2)
		r.counted(map[string]int{"added": 3})

		// A line that is gone; and a file with another name has the document still.
		r.write(in("list.jsonl"), lines, 2)
		if err := errors.Join(os.Rename(in("old.txt"), in("new.txt")), os.Rename(in("old.txt.meta.json"), in("new.txt.meta.json"))); err != nil {
			t.Fatal(err)
		}
		r.round(f, 0)
		r.round(f, 2)
		r.round(f, 0)
		r.counted(map[string]int{"skipped": 2, intake.OutcomeRemoved: 1})
		r.has("https://a.example/1", true)
		r.has("https://a.example/2", false)
		r.has("https://a.example/text", true)

		// A file that cannot be read keeps what it had.
		r.write(in("list.jsonl"), "{\n", 3)
		r.round(f, 0)
		r.round(f, 1)
		r.counted(map[string]int{intake.OutcomeRefused: 1})
		r.has("https://a.example/1", true)

		// A file that is gone, for two rounds.
		if err := os.Remove(in("list.jsonl")); err != nil {
			t.Fatal(err)
		}
		r.round(f, 0)
		r.has("https://a.example/1", true)
		r.round(f, 0)
		r.counted(map[string]int{intake.OutcomeRemoved: 1})
		r.has("https://a.example/1", false)

		// An empty folder may be one that is not mounted.
		for _, name := range []string{"new.txt", "new.txt.meta.json"} {
			if err := os.Remove(in(name)); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			r.round(f, 0)
		}
		r.counted(nil)
		r.has("https://a.example/text", true)
	})
}
