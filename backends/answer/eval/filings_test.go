package eval

import (
	"bytes"
	"encoding/json"
	"hash/fnv"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/answertest"
	"github.com/tollgate-gateway/tollgate/backends/answer/answertest/filings"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/pipeline"
	"github.com/tollgate-gateway/tollgate/backends/answer/retrieve"
)

// Real tables and their text, without a model: most of what is answered is right, and
// what is not known is not answered. The halves are told apart: rules are made with one.
func TestFilings(t *testing.T) {
	t.Parallel()
	excerpts, _, err := filings.Load()
	if err != nil {
		t.Fatal(err)
	}
	k := answertest.SQLite(t)
	c := corpus.New(k.Server)
	texts := make(map[string]string)
	for _, e := range excerpts {
		_, err := c.Put(t.Context(), corpus.Source{Title: e.Title, URL: e.URL, Fiscal: e.Fiscal, Issuer: corpus.Company{Name: e.Issuer}, Pages: []corpus.Page{{Number: 1, Text: e.Text}}})
		if err != nil {
			t.Fatal(err)
		}
		texts[e.URL] = e.Text
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
		h := fnv.New32a()
		h.Write([]byte(all[i].Gold.Evidence[0].URL))
		all[i].Held = h.Sum32()>>3&1 == 1
	}
	p := pipeline.New(retrieve.New(c, retrieve.Options{}), c.Issuers, nil, time.Now, pipeline.Options{})
	results := Run(t.Context(), p, all, func(url string) (string, bool) { text, ok := texts[url]; return text, ok }, nil)
	var halves [2][]Result
	for _, r := range results {
		n := 0
		if r.Question.Held {
			n = 1
		}
		halves[n] = append(halves[n], r)
		if r.Answered && !r.Right && n == 0 {
			gold, _ := json.Marshal(r.Question.Gold.Answer)
			t.Logf("%s: %q, not %s", r.Question.Query, r.Outcome.Answer, gold)
		}
	}
	rows := []Row{{"all", Sum(results)}, {"developed on", Sum(halves[0])}, {"held back", Sum(halves[1])}}
	var b strings.Builder
	if err := Markdown(&b, slices.Concat(rows, Types(results))); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + b.String())
	for _, r := range rows {
		if Rate(r.Right, r.Answerable) < leastRight || Rate(r.Wrong, r.Questions) > mostWrong || r.Foreign > 0 {
			t.Errorf("%s: %+v", r.Name, r.Report)
		}
	}
}

// What the rules reach without a model, in per cent.
const (
	leastRight = 58
	mostWrong  = 6
)
