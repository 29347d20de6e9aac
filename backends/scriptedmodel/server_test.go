package scriptedmodel

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	ok := chatBody("scripted?text=ok", "x", "")
	tests := []struct {
		method, path, body string
		status             int
		contains           string
	}{
		{"GET", "/", "", 200, "no language model"},
		{"HEAD", "/", "", 200, ""},
		{"POST", "/", "", 405, "method_not_allowed"},
		{"GET", "/v1/models", "", 200, `"id":"scripted-reasoner"`},
		{"GET", "/models", "", 200, `"id":"scripted"`},
		{"HEAD", "/models", "", 200, ""},
		{"GET", "/v1/models/scripted", "", 200, `"owned_by":"tollgate"`},
		{"GET", "/v1/models/no/such", "", 404, `"code":"model_not_found"`},
		{"DELETE", "/v1/models/scripted", "", 405, "method_not_allowed"},
		{"POST", "/v1/chat/completions", ok, 200, `"content":"ok"`},
		{"POST", "/chat/completions", ok, 200, `"content":"ok"`},
		{"POST", "/v1/v1/chat/completions", ok, 404, `"code":"not_found"`},
		{"POST", "/v1/responses", ok, 404, `"type":"not_found_error"`},
		{"GET", "/v1/chat/completions", "", 405, "use POST"},
		{"POST", "/v1/chat/completions", "", 400, "not valid JSON"},
		{"POST", "/v1/chat/completions", "[]", 400, "not a JSON object"},
		{"POST", "/v1/chat/completions", `{"model":"m"`, 400, "not valid JSON"},
		{"POST", "/v1/chat/completions", strings.Repeat("[", 1000), 400, "nested more than"},
		{"POST", "/v1/chat/completions", `{"messages":[]}`, 400, `"param":"model"`},
		{"POST", "/v1/chat/completions", `{"model":1,"messages":[]}`, 400, `"param":"model"`},
		{"POST", "/v1/chat/completions", `{"model":"m"}`, 400, `"param":"messages"`},
		{"POST", "/v1/chat/completions", `{"model":"m","messages":[],"n":2}`, 400, `"param":"n"`},
		{"POST", "/v1/chat/completions", `{"model":"m","messages":[],"stream":"yes"}`, 400, `"param":"stream"`},
		{"POST", "/v1/chat/completions", chatBody(strings.Repeat("m", 300), "x", ""), 400, "longer than 256"},
		{"POST", "/v1/chat/completions", chatBody("scripted?text=ok&repeat=1000000&repeat=2", "x", ""), 400, "at most 1"},
		{"POST", "/v1/chat/completions", chatBody("scripted?text=0123456789012345678&repeat=1000000", "x", ""), 400, "longer than 16777216 bytes"},
		{"POST", "/v1/chat/completions", chatBody("scripted?repeat=1000000", "x", ""), 400, "longer than 16777216 bytes"},
		{"POST", "/v1/chat/completions", chatBody("scripted", "scripted?status=%zz", ""), 400, `"param":"messages"`},
	}
	s := New(Options{})
	for _, test := range tests {
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, httptest.NewRequest(test.method, test.path, strings.NewReader(test.body)))
		got := rec.Body.String()
		if rec.Code != test.status || !strings.Contains(got, test.contains) {
			t.Errorf("%s %s %.80s: %d %s, want %d with %s", test.method, test.path, test.body, rec.Code, got, test.status, test.contains)
		}
		if rec.Code >= 400 && !json.Valid(rec.Body.Bytes()) {
			t.Errorf("%s %s: error is not JSON: %s", test.method, test.path, got)
		}
	}
	if st := s.Stats(); st.Requests != int64(len(tests)) || st.InFlight != 0 || st.Cancelled != 0 {
		t.Errorf("%+v", st)
	}
}

func TestBodyTooLarge(t *testing.T) {
	t.Parallel()
	ts := newTestServer(t, New(Options{}))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, ts.URL+"/v1/chat/completions", io.LimitReader(spaces{}, maxBody+1))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := ts.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", resp.StatusCode)
	}
}

type spaces struct{}

func (spaces) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

// TestBodyTimeout checks that a body must arrive within BodyTimeout, and that a later expiry of the deadline does not
// cancel the answer.
func TestBodyTimeout(t *testing.T) {
	t.Parallel()
	s := New(Options{BodyTimeout: 50 * time.Millisecond})
	ts := newTestServer(t, s)
	r, w := io.Pipe()
	defer w.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, ts.URL+"/v1/chat/completions", r)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := ts.Client().Do(req); err == nil {
		resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("status %d", resp.StatusCode)
		}
	}
	got := dump(post(t, ts, chatBody("scripted?delay=150ms&text=ok", "x", "")))
	if !strings.Contains(got, `"content":"ok"`) {
		t.Errorf("got %s", got)
	}
}

// answerOf returns the text of an answer that is not streamed.
func answerOf(t *testing.T, s *Server, body string, header http.Header) (int, string) {
	t.Helper()
	req := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
	maps.Copy(req.Header, header)
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, req)
	var a struct {
		Choices []struct {
			Message struct{ Content string }
		}
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &a); err != nil {
		t.Fatalf("%v in %s", err, rec.Body)
	}
	if len(a.Choices) == 0 {
		return rec.Code, ""
	}
	return rec.Code, a.Choices[0].Message.Content
}

func TestEcho(t *testing.T) {
	t.Parallel()
	s := New(Options{})
	body := " " + chatBody("scripted?echo=body", "\t\u00e9<", `,"x":1.0`)
	if _, got := answerOf(t, s, body, nil); got != body {
		t.Errorf("echo of the body %q, want %q", got, body)
	}
	header := http.Header{
		"Authorization": {"Bearer sk-0123456789abcdef"},
		"X-Api-Key":     {"short"},
		"X-Thing":       {"b", "a"},
	}
	_, got := answerOf(t, s, chatBody("m?echo=headers", "x", ""), header)
	want := "Authorization: Bearer ***cdef\nHost: example.com\nX-Api-Key: ***\nX-Thing: a\nX-Thing: b"
	if got != want {
		t.Errorf("echo of the headers %q, want %q", got, want)
	}
}

func TestDefaultAnswer(t *testing.T) {
	t.Parallel()
	s := New(Options{})
	long := strings.Repeat("é", 600)
	parts := `{"model":"scripted","messages":[{"role":"system","content":"s"},{"role":"user","content":[
		{"type":"text","text":"one"},{"type":"image_url","image_url":{"url":"data:,"}},{"type":"text","text":"two"}]},
		{"role":"assistant","content":"a"}]}`
	tests := []struct{ body, want string }{
		{chatBody("scripted", "", ""), honestText},
		{chatBody("scripted", " \n", ""), honestText},
		{chatBody("scripted", "Hi?", ""), "You said: Hi?\n\n" + honestText},
		{chatBody("scripted", "a\nscripted?finish=stop\nb", ""), "You said: a\nb\n\n" + honestText},
		{chatBody("scripted", "scripted?finish=stop", ""), honestText},
		{chatBody("scripted", long, ""), "You said: " + long[:1000] + "…\n\n" + honestText},
		{parts, "You said: one\ntwo\n\n" + honestText},
		{chatBody("scripted?text=ab&repeat=3", "x", ""), "ababab"},
	}
	for _, test := range tests {
		if _, got := answerOf(t, s, test.body, nil); got != test.want {
			t.Errorf("%.100s: %q, want %q", test.body, got, test.want)
		}
	}
	for _, word := range []string{"no language model", "OPENAI_API_KEY", "GROQ_API_KEY", "Ollama"} {
		if !strings.Contains(honestText, word) {
			t.Errorf("the default text does not say %q", word)
		}
	}
}

func TestFailTimes(t *testing.T) {
	t.Parallel()
	s := New(Options{})
	script := func(key, more string) string {
		return chatBody("scripted?text=ok&fail_times=2&fail_key="+key+more, "x", "")
	}
	for i, want := range []int{429, 429, 200, 200} {
		if got, _ := answerOf(t, s, script("a", "&status=429"), nil); got != want {
			t.Errorf("request %d: %d, want %d", i, got, want)
		}
	}
	for i, want := range []int{503, 503, 200} {
		if got, _ := answerOf(t, s, script("b", ""), nil); got != want {
			t.Errorf("request %d of the other key: %d, want %d", i, got, want)
		}
	}
	if got, text := answerOf(t, s, script("c", "&fault=empty_choices"), nil); got != 200 || text != "" {
		t.Errorf("with a fault and no status: got %d %q, want 200 and no text", got, text)
	}
}

func TestFailKeysAreBounded(t *testing.T) {
	t.Parallel()
	var f failureCounts
	for i := range maxFailKeys + 10 {
		if !f.take(fmt.Sprint(i), 1) {
			t.Fatalf("key %d does not fail", i)
		}
	}
	if len(f.counts) != maxFailKeys || len(f.order) != maxFailKeys {
		t.Errorf("%d counts, %d keys in order, want %d each", len(f.counts), len(f.order), maxFailKeys)
	}
	if f.take(fmt.Sprint(maxFailKeys), 1) {
		t.Error("the count of a recent key was dropped")
	}
	if !f.take("0", 1) {
		t.Error("the count of the oldest key was not dropped")
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	s := New(Options{Record: 2})
	for i := range 3 {
		answerOf(t, s, chatBody("scripted?text=ok", fmt.Sprint(i), ""), http.Header{"X-N": {fmt.Sprint(i)}})
	}
	got := s.Requests()
	if len(got) != 2 {
		t.Fatalf("%d records, want 2", len(got))
	}
	for i, e := range got {
		n := fmt.Sprint(i + 1)
		if e.Method != http.MethodPost || e.Path != "/v1/chat/completions" || e.Header.Get("X-N") != n ||
			string(e.Body) != chatBody("scripted?text=ok", n, "") || e.BodySize != len(e.Body) || !e.Disconnected.IsZero() {
			t.Errorf("record %d: %+v", i, e)
		}
	}
	if plain := New(Options{}); len(plain.Requests()) != 0 {
		t.Error("requests are recorded without Options.Record")
	}
}

// TestDeterministic checks that concurrent requests with the same body get the same bytes.
func TestDeterministic(t *testing.T) {
	t.Parallel()
	s := New(Options{})
	for _, body := range []string{
		chatBody(sdkScript, "x", ""),
		chatBody(sdkScript, "x", `,"stream":true`),
		chatBody("scripted", "x", `,"stream":true`),
		chatBody("scripted?zz=1&aa=2", "x", ""),
	} {
		var wg sync.WaitGroup
		got := make([]string, 8)
		for i := range got {
			wg.Go(func() {
				rec := httptest.NewRecorder()
				s.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body)))
				got[i] = rec.Body.String()
			})
		}
		wg.Wait()
		for i := range got {
			if got[i] != got[0] || got[i] == "" {
				t.Errorf("answer %d differs: %s\n%s", i, got[i], got[0])
			}
		}
	}
	a, b := dumpOf(s, chatBody("scripted", "x", "")), dumpOf(s, chatBody("scripted", "y", ""))
	if a[:40] == b[:40] {
		t.Error("different requests have the same id")
	}
}

func dumpOf(s *Server, body string) string {
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body)))
	return rec.Body.String()
}

func TestPlanCacheIsBounded(t *testing.T) {
	t.Parallel()
	s := New(Options{})
	for i := range 3 * maxPlans {
		dumpOf(s, chatBody(fmt.Sprintf("scripted?text=%d", i), "x", ""))
	}
	dumpOf(s, chatBody("scripted?text="+strings.Repeat("x", maxPlanSize), "x", ""))
	if n := len(s.plans.plans); n > maxPlans {
		t.Errorf("%d plans are stored, want at most %d", n, maxPlans)
	}
	for model := range s.plans.plans {
		if len(model) > maxPlanSize {
			t.Errorf("a model name of %d bytes is stored, want at most %d", len(model), maxPlanSize)
		}
	}
}

// TestFlush counts flushes: one a chunk, or none but the last.
func TestFlush(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]int{
		"text=a+b+c":                         6, // role, three chunks, finish, [DONE]
		"text=a+b+c&flush=0":                 0,
		"text=a+b+c&flush=0&chunk_delay=1us": 6,
		"text=a+b+c&flush=0&first_delay=1us": 1,
	} {
		w := &flushCounter{ResponseRecorder: httptest.NewRecorder()}
		body := chatBody("scripted?"+script, "x", `,"stream":true`)
		New(Options{}).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body)))
		if w.n != want {
			t.Errorf("%s: %d flushes, want %d", script, w.n, want)
		}
	}
}

type flushCounter struct {
	*httptest.ResponseRecorder
	n int
}

func (f *flushCounter) FlushError() error { f.n++; return nil }
