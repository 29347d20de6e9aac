package web

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/api"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/models"
	"github.com/tollgate-gateway/tollgate/backends/answer/pipeline"
	"github.com/tollgate-gateway/tollgate/internal/look"
)

const evil = `<script>alert(1)</script><img src=x onerror=alert(1)>`

func traced(t *testing.T, record any) *api.Trace {
	t.Helper()
	encoded := func(v any) json.RawMessage {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	return &api.Trace{
		ID: "ans_01", Status: "done", At: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), Account: 7,
		Result: encoded(map[string]any{
			"id": "ans_01", "query": "Q " + evil, "answer": "Revenue was $5 million. [1](https://x.test/a) " + evil,
			"references": []pipeline.Reference{{Title: "T " + evil, URL: "https://x.test/a"}, {Title: "own", URL: "javascript:alert(1)"}},
			"subqueries": []pipeline.Subquery{{Query: "part " + evil, Answer: evil}},
		}),
		Trace: encoded(record),
	}
}

// TestTrace checks that text from others stays text, and that the page has its own style alone and links only
// to the web.
func TestTrace(t *testing.T) {
	t.Parallel()
	record := &pipeline.Trace{
		Stages: []pipeline.Stage{{Name: "search", Took: 3 * time.Millisecond, Decision: "12 passages", Note: evil}, {Name: "check", Part: 2, Took: time.Millisecond}},
		Calls:  []pipeline.Call{{Step: "draft", Model: evil, Usage: models.Usage{Prompt: 70, Completion: 30}, Error: evil}}, Usage: models.Usage{Prompt: 70, Completion: 30},
		Passages: []int64{9, 9, 8, 0}, Computed: []string{evil}, Problems: []string{evil}, Dropped: []string{"period"}, Repaired: true,
	}
	for _, remembered := range []bool{false, true} {
		var stored any = record
		if remembered {
			stored = map[string]any{"remembered": true, "first": record}
		}
		page, err := NewTrace(traced(t, stored))
		if err != nil {
			t.Fatal(err)
		}
		if ids := page.Found(); len(ids) != 3 || ids[0] != 9 || ids[1] != 8 {
			t.Errorf("%v", ids)
		}
		w := httptest.NewRecorder()
		passages := []kernel.Passage{{ID: 9, Title: evil, URL: "https://x.test/a", Text: "passage " + evil, Section: evil, Page: 3, Period: kernel.Period{Year: 2025}}, {ID: 8, Title: "own", URL: "corpus:notes/1"}}
		if err := page.Serve(w, look.Bar{}, passages); err != nil {
			t.Fatal(err)
		}
		text := w.Body.String()
		for _, want := range []string{
			"Q &lt;script&gt;", "passage &lt;script&gt;", `<sup><a href="#r1">[1]</a></sup>`, `<a class="small" href="https://x.test/a" rel="noreferrer noopener">`, "12 passages", "70 in, 30 out",
			"1 more is not in the corpus", "page 3", "<code>corpus:notes/1</code>", `<code class="small">javascript:alert(1)</code>`, `<progress max="100" value="33"`, "repaired",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("no %s", want)
			}
		}
		if strings.Contains(text, "<script") || strings.Contains(text, "<img") || strings.Contains(text, "ZgotmplZ") || strings.Contains(text, `style="`) || strings.Contains(text, "remembered") != remembered {
			t.Errorf("%s", text)
		}
		_, style, _ := strings.Cut(text, "<style>")
		style, _, _ = strings.Cut(style, "</style>")
		sum := sha256.Sum256([]byte(style))
		if policy := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"';") || len(style) < 1000 {
			t.Errorf("%s", policy)
		}
	}
	w := httptest.NewRecorder()
	list := []api.Trace{{ID: "ans_02", Status: "done", At: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), Account: 7}, {ID: "ans_01", Status: "failed", Reason: evil}}
	if err := Recent(w, look.Bar{}, list, true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<a href="traces/ans_02">`, `<a href="traces?before=ans_01">`, "2026-03-02 12:00:00 UTC", "&lt;script&gt;"} {
		if !strings.Contains(w.Body.String(), want) || strings.Contains(w.Body.String(), "<script") {
			t.Errorf("no %s in %s", want, w.Body)
		}
	}
	w = httptest.NewRecorder()
	if err := Recent(w, look.Bar{}, nil, false); err != nil || !strings.Contains(w.Body.String(), "Nothing was asked") {
		t.Errorf("%v %s", err, w.Body)
	}
	for name, trace := range map[string]*api.Trace{"pending": {ID: "ans_02", Status: "pending"}, "no trace": {ID: "ans_03", Status: "failed", Reason: "Timeout"}} {
		page, err := NewTrace(trace)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		if err := page.Serve(w, look.Bar{}, nil); err != nil || !strings.Contains(w.Body.String(), "No trace of this answer") {
			t.Errorf("%s: %v %s", name, err, w.Body)
		}
	}
}
