package pipeline_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/pipeline"
	"github.com/tollgate-gateway/tollgate/backends/answer/retrieve"
)

// found finds the same passages whatever is asked.
type found []kernel.Passage

func (f found) Search(context.Context, retrieve.Query) (retrieve.Result, error) {
	return retrieve.Result{Passages: append([]kernel.Passage(nil), f...)}, nil
}

// TestReferences checks that there is one reference per document, whatever part of it is named, and at most
// twenty, and that their URLs cannot end a link.
func TestReferences(t *testing.T) {
	t.Parallel()
	documents := corpusOf(t)
	issuers, _, err := documents.Issuers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var passages found
	var draft strings.Builder
	for n := 1; n <= 25; n++ {
		url := fmt.Sprintf("https://a.example/%d", n)
		if n < 3 {
			url = fmt.Sprintf("https://a.example/x_(1)#%d", n)
		}
		p := kernel.Passage{ID: int64(n), Title: fmt.Sprint("Report ", n), URL: url, Text: fmt.Sprintf("Net sales of Wexlermere were $%d.5 million in 2019.", n)}
		for id := range issuers {
			p.Issuer = id
		}
		passages = append(passages, p)
		fmt.Fprintf(&draft, "%s [p%d] ", strings.TrimSuffix(p.Text, "."), n)
		draft.WriteString(".\n")
	}
	o := ask(t, pipeline.New(passages, documents.Issuers, scripted(draft.String()), time.Now, pipeline.Options{}), "What was Wexlermere's net sales in 2019?")
	if len(o.References) != 20 || o.References[0] != (pipeline.Reference{Title: "Report 1", URL: "https://a.example/x_(1)#1"}) || o.References[1].URL != "https://a.example/3" {
		t.Errorf("%d: %+v", len(o.References), o)
	}
	if strings.Count(o.Answer, "[1](https://a.example/x_%281%29#1)") != 2 || strings.Count(o.Answer, "](") != 21 || !strings.Contains(o.Answer, "$25.5 million") {
		t.Error(o.Answer)
	}
}

// TestFailedParts checks that most parts of a question are answered and the failed one is named, and that there
// is no answer if most have failed.
func TestFailedParts(t *testing.T) {
	t.Parallel()
	p := pipelineOf(t, nil, pipeline.Options{})
	o := ask(t, p, "What were the net sales, net income and goodwill of Wexlermere in 2019?")
	if o.Reason != pipeline.Answered || len(o.Subqueries) != 2 || !strings.Contains(o.Answer, "$1,452.4 million") || !strings.Contains(o.Answer, "120.5 million") ||
		!strings.HasSuffix(o.Answer, "\n\nThe sources do not answer: What was the goodwill of Wexlermere Inc. in 2019?") && !strings.HasSuffix(o.Answer, "\n\nThe sources do not answer: What was the goodwill of Wexlermere Inc. in fiscal 2019?") {
		t.Errorf("%+v", o)
	}
	if o := ask(t, p, "What were the net sales, goodwill and inventories of Wexlermere in 2019?"); o.Reason != pipeline.FailedToAnswer || o.Answer != "" || len(o.Subqueries) != 0 {
		t.Errorf("%+v", o)
	}
}
