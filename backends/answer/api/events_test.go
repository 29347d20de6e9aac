package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/answertest"
	"github.com/tollgate-gateway/tollgate/backends/answer/api"
)

// TestEvents checks that a client that accepts events gets the stages and then the envelope, and that nothing
// changes for one that does not, or that asks to be answered later.
func TestEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t, answertest.SQLite(t), nil)
	const stages = "event: stage\ndata: {\"stage\":\"retrieve\"}\n\nevent: stage\ndata: {\"stage\":\"draft\"}\n\nevent: answer\ndata: {"
	late := newRig(t, answertest.SQLite(t), func(o *api.Options) { o.Deadline = 5 * time.Second }) // in which the stages have begun
	for name, c := range map[string]struct {
		of          *rig
		query, want string
	}{
		"answered": {r, "What was revenue?", `"success":true,"error":null,"result":{"id":"ans_`},
		"refused":  {r, "reason FailedToAnswer", `"success":false,"error":"FailedToAnswer","result":{"id":"ans_`},
		"late":     {late, "hang", `"success":false,"error":"Timeout","result":null}`},
		"a fault":  {r, "panic", `"success":false,"error":"InternalError","result":null}`},
	} {
		w := c.of.do("POST", "/v1/answer", asks(c.query), "Accept", "application/json;q=0.5, text/event-stream")
		if got := w.Body.String(); w.Code != 200 || w.Header().Get("Content-Type") != "text/event-stream" || !strings.HasPrefix(got, stages) || !strings.Contains(got, c.want) || !strings.HasSuffix(got, "}\n\n") || !w.Flushed {
			t.Errorf("%s: %d %v\n%s", name, w.Code, w.Header(), got)
		}
	}
	if w := r.do("POST", "/v1/answer", asks("What was revenue?"), "Accept", "*/*"); strings.Contains(w.Body.String(), "event:") {
		t.Errorf("events for all: %s", w.Body)
	}
	if w := r.do("POST", "/v1/answer", asks("What was revenue?"), "Accept", "text/event-stream", "Prefer", "respond-async"); w.Code != 202 {
		t.Errorf("later: %d %s", w.Code, w.Body)
	}
	// Sent again, while it is worked on or later: the answer is an event, too.
	key := []string{"Accept", "text/event-stream", "Idempotency-Key", "again"}
	first := r.do("POST", "/v1/answer", asks("What was revenue again?"), key...)
	_, answered, _ := strings.Cut(first.Body.String(), "event: answer")
	if w := r.do("POST", "/v1/answer", asks("What was revenue again?"), key...); w.Header().Get("Content-Type") != "text/event-stream" || w.Body.String() != "event: answer"+answered || answered == "" {
		t.Errorf("again: %v %s", w.Header(), w.Body)
	}
	if w := late.do("POST", "/v1/answer", asks("hang"), "Idempotency-Key", "hanging", "Prefer", "respond-async"); w.Code != 202 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := late.do("POST", "/v1/answer", asks("hang"), "Idempotency-Key", "hanging", "Accept", "text/event-stream"); w.Body.String() != "event: answer\ndata: {\"success\":false,\"error\":\"Timeout\",\"result\":null}\n\n" {
		t.Errorf("while it is worked on: %v %s", w.Header(), w.Body)
	}
	if w := r.do("POST", "/v1/answer", `{}`, "Accept", "text/event-stream"); w.Code != 400 || w.Header().Get("Content-Type") == "text/event-stream" {
		t.Errorf("no question: %d %v", w.Code, w.Header())
	}
	caller, err := r.accounts.Caller(t.Context(), r.key)
	if err != nil {
		t.Fatal(err)
	}
	for { // what is answered later, too
		q, err := r.accounts.Quota(t.Context(), caller)
		if err != nil {
			t.Fatal(err)
		}
		if q.Pending == 0 {
			if q.Used != 4 { // faults and an honest no are not charged
				t.Errorf("used %d", q.Used)
			}
			break
		}
		time.Sleep(time.Millisecond)
	}
}
