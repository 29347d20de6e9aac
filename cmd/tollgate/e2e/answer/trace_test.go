package answer

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestTracePage runs the cases of testdata/npm/answer_trace.mjs in a headless Chromium: the trace page as operators see
// it.
func TestTracePage(t *testing.T) {
	t.Parallel()
	o := newOracle(t, honest)
	d := newDesk(t, "", quick+o.option())
	pages := make(map[string]*e2e.Answer)
	trace := func(question, reason string) *e2e.Answer {
		t.Helper()
		a := d.ask(question)
		if outcome(a) != reason {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		page := d.operate(http.MethodGet, "/admin/answer/traces/"+gjson.Get(a.Body, "result.id").Str, nil, "Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
		if page.Status != http.StatusOK || page.Header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(page.Header.Get("Content-Security-Policy"), "default-src 'none'; style-src 'sha256-") ||
			page.Header.Get("Cache-Control") != "no-store" || page.Header.Get("Vary") != "Accept" || !strings.Contains(page.Body, question) {
			t.Errorf("%d %v %s", page.Status, page.Header, page.Body)
		}
		return page
	}
	pages["/answered"] = trace(asked, "Answered")
	for _, want := range []string{"1 of 1 sentences are supported by passages; grounded 1.00, responsive 1.00: passed", "to be answered, by rules: 1 issuer, 1 period, 1 metric", "12 passages", "501,103", "oracle", "quillmarsh.example/reports/2025"} {
		if !strings.Contains(pages["/answered"].Body, want) {
			t.Errorf("no %q", want)
		}
	}
	o.say(writing(func(prompt string) string {
		return "Sundrift <b>Solar</b> is <script>evil()</script> bankrupt " + passage(prompt, "Sundrift") + ". Its debt was $777 million " + passage(prompt, "Sundrift") + "."
	}))
	pages["/refused"] = trace("What was the long-term debt of Sundrift in 2025?", "FailedToAnswer")
	if page := pages["/refused"].Body; strings.Contains(page, "<script") || strings.Contains(page, "<b>") || !strings.Contains(page, "&lt;script&gt;evil()") || !strings.Contains(page, "$777 million is in no marked passage") {
		t.Errorf("%s", page)
	}
	list := d.operate(http.MethodGet, "/admin/answer/traces?limit=1", nil)
	newest := gjson.Get(list.Body, "answers.0")
	if list.Status != http.StatusOK || gjson.Get(list.Body, "answers.#").Int() != 1 || newest.Get("reason").Str != "FailedToAnswer" || strings.Contains(list.Body, "Sundrift") {
		t.Errorf("%d %s", list.Status, list.Body)
	}
	older := d.operate(http.MethodGet, "/admin/answer/traces?before="+newest.Get("id").Str, nil)
	if gjson.Get(older.Body, "answers.#").Int() != 1 || gjson.Get(older.Body, "answers.0.status").Str != "done" {
		t.Errorf("%d %s", older.Status, older.Body)
	}
	pages["/list"] = d.operate(http.MethodGet, "/admin/answer/traces", nil, "Accept", "text/html")
	if a := d.operate(http.MethodGet, "/admin/answer/traces?limit=none", nil); a.Status != http.StatusBadRequest {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := d.operate(http.MethodGet, "/admin/answer/traces/ans_none", nil, "Accept", "text/html"); a.Status != http.StatusNotFound {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // a proxy to the socket, for a browser
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		for _, name := range []string{"Content-Type", "Content-Security-Policy", "Referrer-Policy"} {
			w.Header().Set(name, page.Header.Get(name))
		}
		_, _ = io.WriteString(w, page.Body)
	}))
	defer server.Close()
	e2e.RunBrowser(t, "answer_trace.mjs", "TRACE_URL="+server.URL)
	d.Stop()
}
