package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/answertest"
	"github.com/tollgate-gateway/tollgate/backends/answer/answertest/filings"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus/fileformat"
	"github.com/tollgate-gateway/tollgate/backends/answer/pipeline"
	"github.com/tollgate-gateway/tollgate/backends/answer/retrieve"
)

// TestFilings measures real tables and their text without a model: most of what is answered is right, and
// what is unknown is not answered. It reports the halves of the set separately, because rules are developed
// with one of them.
func TestFilings(t *testing.T) {
	t.Parallel()
	excerpts, _, err := filings.Load()
	if err != nil {
		t.Fatal(err)
	}
	k := answertest.SQLite(t)
	c := corpus.New(k.Server)
	for _, e := range excerpts {
		_, err := c.Put(t.Context(), fileformat.Source{Title: e.Title, URL: e.URL, Fiscal: e.Fiscal, Issuer: fileformat.Company{Name: e.Issuer}, Pages: []fileformat.Page{{Number: 1, Text: e.Text}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile("../answertest/filings/tatqa/questions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	all, err := Read(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		all[i].HeldBack = Half(all[i].Gold.Evidence[0].URL)
	}
	results := Run(t.Context(), Setup{
		Search: retrieve.New(c, retrieve.Options{}),
		Asker:  func(s pipeline.Searcher) Asker { return pipeline.New(s, c.Issuers, nil, time.Now, pipeline.Options{}) },
		Known:  func(ctx context.Context, url string) bool { _, err := c.Document(ctx, url); return err == nil },
	}, all)
	for _, r := range results {
		if !r.Question.HeldBack && r.Marks > r.Supported {
			t.Logf("%s: %q has a mark that does not hold", r.Question.Query, r.Outcome.Answer)
		}
		if !r.Question.HeldBack && r.Rank == 0 {
			t.Logf("%s: not found: %v %s", r.Question.Query, r.Question.Gold.Answer, r.Question.Gold.Derivation)
		}
		if r.Answered && !r.Right && !r.Question.HeldBack {
			gold, _ := json.Marshal(r.Question.Gold.Answer)
			t.Logf("%s: %q, not %s", r.Question.Query, r.Outcome.Answer, gold)
		}
	}
	rows := Table(results)
	var b strings.Builder
	if err := Markdown(&b, rows); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + b.String())
	for _, r := range rows[:3] {
		if Rate(r.Right, r.Answerable) < minRight || Rate(r.Wrong, r.Questions) > maxWrong || Rate(r.Hit12, r.Ranked) < minHit || Rate(r.Supported, r.Marks) < minHeld || r.Foreign > 0 {
			t.Errorf("%s: %+v", r.Name, r.Report)
		}
	}
}

// What the rules reach without a model, in per cent.
const (
	minRight = 60
	maxWrong = 5
	minHit   = 95 // of passages among the first twelve
	minHeld  = 99 // of marks
)
