package cascade

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat/native"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/messages"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/responses"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

var surfaces = []hub.Format{hub.Chat, hub.Messages, hub.Responses}

// forEachSurface runs test for every surface, both streamed and unstreamed.
func forEachSurface(t *testing.T, test func(t *testing.T, surface hub.Format, streams bool)) {
	t.Helper()
	for _, surface := range surfaces {
		for _, streams := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stream %t", surface, streams), func(t *testing.T) {
				t.Parallel()
				test(t, surface, streams)
			})
		}
	}
}

// question returns the smallest request of a surface. more has further members of the body.
func question(surface hub.Format, model string, streams bool, more ...string) string {
	members := append([]string{fmt.Sprintf(`"model":%q,"stream":%t`, model, streams)}, more...)
	given := strings.Join(more, ",")
	switch {
	case surface == hub.Responses && !strings.Contains(given, `"input":`):
		members = append(members, `"input":"hello"`)
	case surface != hub.Responses && !strings.Contains(given, `"messages":`):
		members = append(members, helloMessages)
	}
	if surface == hub.Messages {
		members = append(members, `"max_tokens":2000`)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// TestSchemaAsInstruction checks that a model that does not support schemas gets the schema as an
// instruction, and is tried after models that do. Its answer is checked against the schema unless it streams.
func TestSchemaAsInstruction(t *testing.T) {
	t.Parallel()
	forEachSurface(t, func(t *testing.T, surface hub.Format, streams bool) {
		const schema = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`
		member := map[hub.Format]string{
			hub.Chat:      `"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":` + schema + `}}`,
			hub.Messages:  `"output_config":{"format":{"type":"json_schema","schema":` + schema + `}}`,
			hub.Responses: `"text":{"format":{"type":"json_schema","name":"n","schema":` + schema + `}}`,
		}[surface]
		r := newRig(t, setup{
			keys: []string{"alpha", "beta", "gamma"}, members: map[string]string{"alpha": `"wires":["messages","responses"]`},
			models: `{"provider":"alpha","id":"a-low","tiers":["low"]},{"provider":"gamma","id":"g-low","tiers":["low"]},{"provider":"beta","id":"b-low","tiers":["low"],"json_schema":true}`,
		})
		answer := func(text string) step {
			if streams {
				return answers(text)
			}
			return reply(200, completion(text))
		}
		r.beta.addSteps(refusal(500, "down", "down"))
		r.alpha.addSteps(answer(`{\"town\":\"Oslo\"}`))
		r.gamma.addSteps(answer(`{\"city\":\"Oslo\"}`))
		e := r.askOn(surface, question(surface, "keychain-low", streams, member))
		if format := gjson.Get(r.beta.requests()[0].body, "response_format.type").Str; format != "json_schema" {
			t.Errorf("beta is asked for %s", format)
		}
		got := r.alpha.requests()[0]
		if !strings.HasSuffix(got.path, "/chat/completions") || gjson.Get(got.body, "response_format").Raw != `{"type":"json_object"}` || !strings.Contains(gjson.Get(got.body, "messages.0.content").Str, schema) {
			t.Errorf("alpha is asked at %s: %s", got.path, got.body)
		}
		if streams {
			if e.wantAnswer(t, "alpha/a-low", "town"); decodeAnswer(t, surface, streams, e.body).text != `{"town":"Oslo"}` {
				t.Errorf("got\n%s", e.body)
			}
			return
		}
		if e.wantAnswer(t, "gamma/g-low", "city"); decodeAnswer(t, surface, streams, e.body).text != `{"city":"Oslo"}` {
			t.Errorf("got\n%s", e.body)
		}
		if len(e.Failed) != 2 || e.Failed[1].Code != "schema_mismatch" {
			t.Errorf("failed %s", e.failedList())
		}
	})
}

// parseRequest parses a request of a surface.
func (r *rig) parseRequest(surface hub.Format, body string) *Request {
	r.t.Helper()
	req := &Request{ID: "req_1", User: r.account.UserID, Account: r.account, Session: newSession()}
	var err error
	switch surface {
	case hub.Chat:
		req.Chat, err = native.Parse([]byte(body))
	case hub.Messages:
		req.Hub, err = messages.Format{}.Read([]byte(body), hub.ReadOptions{Version: "2023-06-01"})
	case hub.Responses:
		req.Hub, err = responses.Format{}.Read([]byte(body), hub.ReadOptions{})
	}
	if err != nil {
		r.t.Fatalf("%s: %v", body, err)
	}
	return req
}

// askOn sends a request of a surface.
func (r *rig) askOn(surface hub.Format, body string) *outcome {
	r.t.Helper()
	return r.answer(r.parseRequest(surface, body))
}

func (r *rig) answer(req *Request) *outcome {
	r.t.Helper()
	w := httptest.NewRecorder()
	result, err := r.engine.Answer(r.t.Context(), w, req)
	e := &outcome{Result: result, rawErr: err, body: w.Body.String(), header: w.Header()}
	e.err, _ = apierror.From(err)
	if err != nil && e.body != "" {
		r.t.Errorf("got the error %v, but the client received %q before", err, e.body)
	}
	return e
}

// clientView is the content of an answer: its text, the arguments of its calls, and its end.
type clientView struct {
	text, arguments string
	events          []string // event names; for chat "chunk", "error" and "[DONE]"
	last            gjson.Result
	whole           bool // the answer ended as complete
}

// decodeAnswer decodes an answer like a client of the surface.
func decodeAnswer(t *testing.T, surface hub.Format, streams bool, body string) (h clientView) {
	t.Helper()
	if !streams {
		h.last = gjson.Parse(body)
		switch surface {
		case hub.Chat:
			h.text, h.whole = h.last.Get("choices.0.message.content").Str, h.last.Get("choices.0.finish_reason").Exists()
		case hub.Messages:
			h.text, h.whole = h.last.Get(`content.#(type=="text").text`).Str, h.last.Get("stop_reason").Exists()
		case hub.Responses:
			h.text, h.whole = h.last.Get(`output.#(type=="message").content.0.text`).Str, h.last.Get("status").Str == "completed"
		}
		return h
	}
	rest, ok := strings.CutSuffix(body, "\n\n")
	if !ok {
		t.Fatalf("the stream does not end behind an event:\n%s", body)
	}
	for i, event := range strings.Split(rest, "\n\n") {
		name, data := "chunk", event
		if surface != hub.Chat {
			if strings.HasPrefix(event, ":") {
				continue
			}
			name, data, ok = strings.Cut(strings.TrimPrefix(event, "event: "), "\n")
			if !ok {
				t.Fatalf("event %d is %q", i, event)
			}
		}
		data, ok = strings.CutPrefix(data, "data: ")
		if data == "[DONE]" {
			h.events = append(h.events, data)
			h.whole = true
			continue
		}
		if !ok || !gjson.Valid(data) {
			t.Fatalf("event %d is %q", i, event)
		}
		e := gjson.Parse(data)
		if surface != hub.Chat && e.Get("type").Str != name {
			t.Errorf("event %s has the type %s", name, e.Get("type"))
		}
		if surface == hub.Responses && e.Get("sequence_number").Raw != fmt.Sprint(len(h.events)) {
			t.Errorf("event %d has the number %s", len(h.events), e.Get("sequence_number"))
		}
		switch surface {
		case hub.Chat:
			if e.Get("error").Exists() {
				name = "error"
			}
			h.text += e.Get("choices.0.delta.content").Str
			h.arguments += e.Get("choices.0.delta.tool_calls.0.function.arguments").Str
		case hub.Messages:
			h.text += e.Get("delta.text").Str
			h.arguments += e.Get("delta.partial_json").Str
			h.whole = h.whole || name == "message_stop"
		case hub.Responses:
			switch name {
			case "response.output_text.delta":
				h.text += e.Get("delta").Str
			case "response.function_call_arguments.delta":
				h.arguments += e.Get("delta").Str
			}
			h.whole = h.whole || name == "response.completed"
		}
		h.last = e
		h.events = append(h.events, name)
	}
	return h
}

// wantWholeAnswer checks that the answer is complete, comes from the model entry, and says exactly the given text.
func (e *outcome) wantWholeAnswer(t *testing.T, surface hub.Format, streams bool, entry, text string) {
	t.Helper()
	e.wantAnswer(t, entry, text)
	h := decodeAnswer(t, surface, streams, e.body)
	if h.text != text || !h.whole {
		t.Errorf("got the text %q, complete %t, want %q, complete; body:\n%s", h.text, h.whole, text, e.body)
	}
	if kind := e.header.Get("Content-Type"); strings.HasPrefix(kind, "text/event-stream") != streams {
		t.Errorf("got Content-Type %s with stream %t", kind, streams)
	}
}

// badWord is in the output of the first candidate, so that its leaking to the client is noticed.
const badWord = "alphaword"

// TestSurfacesFailOver checks item 27 of the golden tests: for every fault of a candidate before the commit point, the
// client gets the answer of the next candidate and nothing of the first.
func TestSurfacesFailOver(t *testing.T) {
	t.Parallel()
	const event = `data: {"error":{"message":"` + badWord + `","code":"boom"}}` + "\n\n"
	whole := map[string]step{
		"500":           refusal(500, "", badWord),
		"503":           refusal(503, "", badWord),
		"529":           refusal(529, "", badWord),
		"429":           refusal(429, "", badWord),
		"402":           refusal(402, "", badWord),
		"401":           refusal(401, "", badWord),
		"403":           refusal(403, "", badWord),
		"404":           refusal(404, "model_not_found", badWord),
		"400":           refusal(400, "", badWord),
		"context":       refusal(400, "context_length_exceeded", badWord),
		"policy":        refusal(400, "content_filter", badWord),
		"a web page":    reply(200, "<html>"+badWord, "Content-Type", "text/html"),
		"a bad gateway": reply(502, "<html>"+badWord, "Content-Type", "text/html"),
		"JSON error":    reply(200, `{"error":{"message":"`+badWord+`","code":"boom"}}`),
		"empty choices": reply(200, `{"id":"`+badWord+`","choices":[]}`),
		"empty answer":  reply(200, `{"id":"`+badWord+`","choices":[{"index":0,"message":{"role":"assistant","content":""}}]}`),
		"nothing":       reply(200, ""),
		"no JSON":       reply(200, badWord),
		"dropped":       drop,
		"dropped late":  inOrder(stream(`{"id":"`+badWord+`"`), drop),
	}
	streamed := map[string]step{
		"role, end":          stream(role),
		"role, DONE":         stream(role, doneLine),
		"role, drop":         inOrder(stream(role), drop),
		"comments, end":      stream(": "+badWord+"\n\n", ":\n\n"),
		"comments, drop":     inOrder(stream(": "+badWord+"\n\n"), drop),
		"empty choices, end": stream(`data: {"id":"`+badWord+`","choices":[]}`+"\n\n", doneLine),
		"usage, end":         stream(usageLine, doneLine),
		"empty text, drop":   inOrder(stream(chunk(`{"content":""}`, "null")), drop),
		"error first":        stream(event),
		"error event first":  stream("event: error\n" + event),
		"role, error":        stream(role, event, text(badWord), doneLine),
		"role, broken JSON":  stream(role, "data: {\"choices\": "+badWord+"\n\n"),
		"half an event":      inOrder(stream("data: {\"choi"), drop),
		"error finish":       stream(role, chunk(`{}`, `"error"`)),
	}
	for name, first := range whole {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forEachSurface(t, func(t *testing.T, surface hub.Format, streams bool) { testFailover(t, surface, streams, first) })
		})
	}
	for name, first := range streamed {
		t.Run("stream: "+name, func(t *testing.T) {
			t.Parallel()
			for _, surface := range surfaces {
				t.Run(string(surface), func(t *testing.T) {
					t.Parallel()
					testFailover(t, surface, true, first)
				})
			}
		})
	}
}

// testFailover sends a request for which alpha performs the step first, and checks that beta's answer is used.
func testFailover(t *testing.T, surface hub.Format, streams bool, first step) {
	t.Helper()
	r := newRig(t, setup{keys: []string{"alpha", "beta"}, models: `{"provider":"alpha","id":"a-low","tiers":["low"],"context_window":100000},{"provider":"beta","id":"b-low","tiers":["low"],"context_window":200000}`})
	r.alpha.addSteps(first)
	good := reply(200, completion("from beta"))
	if streams {
		good = answers("from beta")
	}
	r.beta.addSteps(good)
	e := r.askOn(surface, question(surface, "keychain-low", streams))
	e.wantWholeAnswer(t, surface, streams, "beta/b-low", "from beta")
	if strings.Contains(e.body, badWord) || strings.Contains(fmt.Sprint(e.header), badWord) {
		t.Errorf("the client hears of the first candidate: %v\n%s", e.header, e.body)
	}
	if e.Attempts != 2 || len(e.Failed) != 1 || e.header.Get("X-Gateway-Attempts") != "2" || e.header.Get("X-Gateway-Provider") != "beta" {
		t.Errorf("%d attempts, %s, %v", e.Attempts, e.failedList(), e.header)
	}
	for _, started := range []string{"message_start", "response.created"} {
		if n := strings.Count(e.body, "event: "+started+"\n"); n > 1 {
			t.Errorf("%d times %s", n, started)
		}
	}
	r.alpha.wantScriptDone(t)
}

// TestSurfacesInTime checks the timeouts for a candidate that hangs before its header or before the commit point, and
// for a stream that falls silent after it.
func TestSurfacesInTime(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]timed{
		"no head":       {head: -1},
		"head only":     {open: true},
		"comments":      {acts: []act{{time.Second, ": c\n\n"}}, open: true},
		"role":          {acts: []act{{time.Second, role}}, open: true},
		"empty choices": {acts: []act{{time.Second, "data: {\"choices\":[]}\n\n"}}, open: true},
		"usage":         {acts: []act{{time.Second, usageLine}}, open: true},
	} {
		for _, surface := range surfaces {
			t.Run(name+", "+string(surface), func(t *testing.T) {
				t.Parallel()
				scripts := map[string][]timed{"a-low": {script}, "b-low": {{acts: answersAtOnce}}}
				timedOn(t, surface, question(surface, "keychain-low", true), scripts, func(e *outcome, took time.Duration) {
					e.wantWholeAnswer(t, surface, true, "beta/b-low", "from beta")
					if took != 20*time.Second || e.Failed[0].Code != "timeout" {
						t.Errorf("took %s, failed %s", took, e.failedList())
					}
				})
			})
		}
	}
	for _, surface := range surfaces {
		t.Run("a whole answer that hangs, "+string(surface), func(t *testing.T) {
			t.Parallel()
			scripts := map[string][]timed{
				"a-low": {{media: "application/json", acts: []act{{0, `{"choices":`}}, open: true}},
				"b-low": {{media: "application/json", acts: []act{{0, completion("from beta")}}}},
			}
			timedOn(t, surface, question(surface, "keychain-low", false), scripts, func(e *outcome, _ time.Duration) {
				e.wantWholeAnswer(t, surface, false, "beta/b-low", "from beta")
			})
		})
		for _, streams := range []bool{false, true} {
			t.Run(fmt.Sprintf("nobody answers, %s, stream %t", surface, streams), func(t *testing.T) {
				t.Parallel()
				scripts := map[string][]timed{"a-low": {{head: -1}}, "b-low": {{open: true}}}
				timedOn(t, surface, question(surface, "keychain-low", streams), scripts, func(e *outcome, _ time.Duration) {
					e.wantError(t, 504, "upstream_timeout")
					if e.err.Type != "" || e.err.NoRetry || len(e.err.FailedAttempts) != 2 {
						t.Errorf("%+v", e.err)
					}
				})
			})
		}
		t.Run("silence behind the commit point, "+string(surface), func(t *testing.T) {
			t.Parallel()
			scripts := map[string][]timed{"a-low": {{acts: []act{{0, role}, {0, text("partial")}}, open: true}}}
			timedOn(t, surface, question(surface, "keychain-low", true), scripts, func(e *outcome, took time.Duration) {
				if e.rawErr != nil || e.Code != "upstream_stream_error" || took != time.Minute {
					t.Errorf("%v after %s: %+v", e.rawErr, took, e.Result)
				}
				signs := map[hub.Format]string{hub.Chat: ": keep-alive\n\n", hub.Responses: ": keep-alive\n\n", hub.Messages: "event: ping\ndata: {\"type\":\"ping\"}\n\n"}
				if n := strings.Count(e.body, signs[surface]); n < 5 { // there is one every ten seconds
					t.Errorf("%d signs of life:\n%s", n, e.body)
				}
				h := decodeAnswer(t, surface, true, strings.ReplaceAll(e.body, ": keep-alive\n\n", ""))
				want := map[hub.Format]string{hub.Chat: "api_error", hub.Messages: "timeout_error", hub.Responses: "server_error"}[surface]
				got := h.last.Get("error.type").Str + h.last.Get("response.error.code").Str
				if h.text != "partial" || h.whole || got != want {
					t.Errorf("text %q, the last event is %s", h.text, h.last)
				}
			})
		})
	}
}

// timedOn runs one request of a surface with the fake clock of testing/synctest.
func timedOn(t *testing.T, surface hub.Format, body string, scripts map[string][]timed, check func(e *outcome, took time.Duration)) {
	t.Helper()
	r := newRig(t, setup{keys: []string{"alpha", "beta"}, transport: &scripted{t: t, scripts: scripts}, now: time.Now})
	request := r.parseRequest(surface, body)
	synctest.Test(t, func(t *testing.T) {
		d := newClientLog()
		result, err := r.engine.Answer(t.Context(), d, request)
		e := &outcome{Result: result, rawErr: err, body: d.whole.String(), header: d.header}
		e.err, _ = apierror.From(err)
		check(e, time.Since(d.start))
	})
}

// TestSurfacesBreakAfterProof checks section 12.4: after the commit point, an upstream's fault ends the stream with the
// error event of the client's surface. Nothing follows it, and there is no text of another model.
func TestSurfacesBreakAfterProof(t *testing.T) {
	t.Parallel()
	call := chunk(`{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"f","arguments":"{\"a\":"}}]}`, "null")
	failing := func(message, code string) step {
		return stream(fmt.Sprintf(`data: {"error":{"message":%q,"code":%q}}`+"\n\n", message, code), text("never"), finish, doneLine)
	}
	for name, c := range map[string]struct {
		broken         step
		messages, code string // error.type, error.code of Responses
	}{
		"dropped":      {drop, "api_error", "server_error"},
		"end":          {stream(), "api_error", "server_error"},
		"DONE":         {stream(doneLine), "api_error", "server_error"},
		"broken JSON":  {stream("data: {\"choices\":\n\n", text("never")), "api_error", "server_error"},
		"error finish": {stream(chunk(`{}`, `"error"`), doneLine), "api_error", "server_error"},
		"error":        {failing("died", "boom"), "api_error", "server_error"},
		"overloaded":   {failing("busy", "overloaded_error"), "overloaded_error", "server_error"},
		"limited":      {failing("slow down", "rate_limit_exceeded"), "rate_limit_error", "rate_limit_exceeded"},
		"no credit":    {failing("pay", "insufficient_quota"), "api_error", "insufficient_quota"},
		"too long":     {failing("full", "context_length_exceeded"), "api_error", "context_length_exceeded"},
	} {
		for begun, proof := range map[string]string{"text": text("partial"), "arguments": call, "reasoning": chunk(`{"reasoning_content":"hm"}`, "null")} {
			for _, surface := range surfaces {
				t.Run(fmt.Sprintf("%s, in %s, %s", name, begun, surface), func(t *testing.T) {
					t.Parallel()
					r := newRig(t, setup{keys: []string{"alpha", "beta"}})
					r.alpha.addSteps(inOrder(stream(role, proof), c.broken))
					e := r.askOn(surface, question(surface, "keychain-low", true))
					if e.rawErr != nil || e.Status != 200 || e.Code != "upstream_stream_error" || e.Attempts != 1 || len(r.beta.requests()) != 0 {
						t.Fatalf("%v, %+v", e.rawErr, e.Result)
					}
					if !e.Estimated || e.Usage.Completion == 0 {
						t.Errorf("usage %+v", e.Usage)
					}
					h := decodeAnswer(t, surface, true, e.body)
					if h.whole || strings.Contains(e.body, "never") || strings.Contains(e.body, `"finish_reason":"stop"`) {
						t.Errorf("it looks complete:\n%s", e.body)
					}
					if begun == "text" && h.text != "partial" || begun == "arguments" && h.arguments != `{"a":` {
						t.Errorf("text %q, arguments %q", h.text, h.arguments)
					}
					data := h.last
					last := h.events[len(h.events)-1]
					switch surface {
					case hub.Chat:
						if last != "error" || data.Get("error.type").Str != "api_error" || data.Get("error.code").Str != "upstream_stream_error" || data.Get("error.message").Str == "" {
							t.Errorf("the last event is %s", data)
						}
					case hub.Messages:
						if last != "error" || data.Get("error.type").Str != c.messages || data.Get("error.message").Str == "" || data.Get("request_id").Str != "req_1" {
							t.Errorf("the last event is %s, want %s", data, c.messages)
						}
						if strings.Contains(e.body, "content_block_stop") || strings.Contains(e.body, "message_delta") {
							t.Errorf("a block was closed:\n%s", e.body)
						}
					case hub.Responses:
						response := data.Get("response")
						if last != "response.failed" || response.Get("status").Str != "failed" || response.Get("error.code").Str != c.code || response.Get("error.message").Str == "" {
							t.Errorf("the last event is %s, want %s", data, c.code)
						}
						if begun != "reasoning" && (response.Get("output.#").Int() != 1 || response.Get("output.0.status").Str != "incomplete") {
							t.Errorf("the output is %s", response.Get("output"))
						}
					}
				})
			}
		}
	}
}

// TestSurfacesFail checks the rows of section 12.2 that the engine decides: the error is the same on every surface,
// streamed or not. The handler api_errors writes it in the form of the surface.
func TestSurfacesFail(t *testing.T) {
	t.Parallel()
	const models = `{"provider":"alpha","id":"a","tiers":["low"],"context_window":100000},{"provider":"beta","id":"b","tiers":["low"],"context_window":100000}`
	keys := []string{"alpha", "beta"}
	for name, c := range map[string]struct {
		setup       setup
		model       string
		more        func(surface hub.Format) []string
		alpha, beta step
		status      int
		code, kind  string // kind is the error's Type; empty: it follows from the status
		message     string
		retryAfter  time.Duration
		noRetry     bool
		attempts    string
	}{
		"no provider keys": {setup: setup{}, status: 400, code: "no_provider_keys", kind: "invalid_request_error", message: "no provider keys", noRetry: true, attempts: "0"},
		"unknown model":    {setup: setup{keys: keys}, model: "gpt-99", status: 404, code: "model_not_found", kind: "not_found_error", message: "keychain-low", noRetry: true, attempts: "0"},
		"no candidates": {
			setup:  setup{keys: keys, prefer: keychain.Preferences{ExcludedProviders: []string{"alpha", "beta"}}},
			status: 409, code: "no_models_available", kind: "invalid_request_error", message: "no model is available", noRetry: true, attempts: "0",
		},
		"prompt too long": {
			setup: setup{keys: keys}, more: func(surface hub.Format) []string {
				long := strings.Repeat("word ", 200_000)
				if surface == hub.Responses {
					return []string{`"input":"` + long + `"`}
				}
				return []string{`"messages":[{"role":"user","content":"` + long + `"}]`}
			},
			status: 400, code: "context_length_exceeded", kind: "invalid_request_error", message: "prompt is too long", noRetry: true, attempts: "0",
		},
		"prompt too long, says every candidate": {
			setup: setup{keys: keys}, alpha: refusal(400, "context_length_exceeded", "m"), status: 400, code: "context_length_exceeded",
			kind: "invalid_request_error", message: "prompt is too long", noRetry: true, attempts: "1",
		},
		"the client's mistake": {
			setup: setup{keys: keys}, alpha: refusal(400, "bad_voice", "no such voice"), beta: refusal(422, "", "m"),
			status: 400, code: "bad_voice", kind: "invalid_request_error", message: "no such voice", noRetry: true, attempts: "2",
		},
		"policy": {
			setup: setup{keys: keys}, alpha: refusal(400, "content_filter", "m"), beta: refusal(400, "content_filter", "m"),
			status: 400, code: "content_policy_violation", kind: "invalid_request_error", message: "content policy", noRetry: true, attempts: "2",
		},
		"all limited": {
			setup: setup{keys: keys}, alpha: refusal(429, "", "m", "Retry-After", "50"), beta: refusal(429, "", "m", "Retry-After", "20"),
			status: 502, code: "all_providers_failed", message: "All providers failed", retryAfter: 20 * time.Second, attempts: "2",
		},
		"all failed": {
			setup: setup{keys: keys}, alpha: refusal(500, "", "m"), beta: drop,
			status: 502, code: "all_providers_failed", message: "All providers failed", attempts: "2",
		},
		"bad keys and no credit": {
			setup: setup{keys: keys}, alpha: refusal(401, "", "m"), beta: refusal(402, "", "m"),
			status: 502, code: "all_providers_failed", message: "All providers failed", retryAfter: time.Hour, noRetry: true, attempts: "2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forEachSurface(t, func(t *testing.T, surface hub.Format, streams bool) {
				set := c.setup
				set.models = models
				r := newRig(t, set)
				if c.alpha != nil {
					r.alpha.addSteps(c.alpha)
				}
				if c.beta != nil {
					r.beta.addSteps(c.beta)
				}
				var more []string
				if c.more != nil {
					more = c.more(surface)
				}
				e := r.askOn(surface, question(surface, orText(c.model, "keychain-low"), streams, more...))
				e.wantError(t, c.status, c.code)
				if e.err.Type != c.kind || !strings.Contains(e.err.Message, c.message) || e.err.RetryAfter != c.retryAfter || e.err.NoRetry != c.noRetry {
					t.Errorf("%+v", e.err)
				}
				if strings.HasPrefix(c.message, "prompt") && !strings.HasPrefix(e.err.Message, c.message) { // clients recognize the beginning
					t.Errorf("message %q", e.err.Message)
				}
				if fmt.Sprint(len(e.err.FailedAttempts)) != c.attempts || e.header.Get("X-Gateway-Attempts") != c.attempts {
					t.Errorf("failed attempts %+v, headers %v", e.err.FailedAttempts, e.header)
				}
				if e.header.Get("X-Gateway-Provider") != "" || e.header.Get("Content-Type") != "" {
					t.Errorf("headers %v", e.header)
				}
			})
		})
	}
}

// serveOn is like serve, but for any surface.
func (r *rig) serveOn(surface hub.Format) *front {
	f := &front{results: make(chan *outcome, 10)}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			r.t.Error(err)
			return
		}
		result, err := r.engine.Answer(req.Context(), w, r.parseRequest(surface, string(body)))
		f.results <- &outcome{Result: result, rawErr: err}
	}))
	r.t.Cleanup(f.Close)
	return f
}

// TestSurfacesClientLeaves checks item 25: a client that disconnects, in every phase and on every surface, ends the
// upstream request. The usage until then is counted, and no failure is recorded.
func TestSurfacesClientLeaves(t *testing.T) {
	t.Parallel()
	call := chunk(`{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"f","arguments":"{\"city\":"}}]}`, "null")
	for name, c := range map[string]struct {
		before []string
		seen   string // the client waits for this text before it leaves; empty: it has received nothing
	}{
		"before the head":                  {nil, ""},
		"between head and content":         {[]string{": c\n\n", role}, ""},
		"in the text":                      {[]string{role, text("begun")}, "begun"},
		"in the arguments of a tool":       {[]string{role, call}, "city"},
		"in the reasoning":                 {[]string{role, chunk(`{"reasoning_content":"pondering"}`, "null")}, "pondering"},
		"between finish and its end":       {[]string{role, text("begun"), finish}, "begun"},
		"in the arguments, text before it": {[]string{role, text("begun"), call}, "city"},
	} {
		for _, surface := range surfaces {
			t.Run(name+", "+string(surface), func(t *testing.T) {
				t.Parallel()
				r := newRig(t, setup{keys: []string{"alpha", "beta"}})
				arrived := make(chan struct{})
				r.alpha.addSteps(inOrder(func(http.ResponseWriter, *http.Request) { close(arrived) }, func(w http.ResponseWriter, req *http.Request) {
					if len(c.before) > 0 {
						stream(c.before...)(w, req)
					}
				}, r.alpha.hang))
				f := r.serveOn(surface)
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				body := question(surface, "keychain-low", true, reasoningShown(surface)...)
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.URL, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				if c.seen == "" {
					go func() {
						<-arrived
						leave()
					}()
				}
				resp, err := f.Client().Do(req)
				switch {
				case err != nil && c.seen != "":
					t.Fatal(err)
				case err == nil:
					defer resp.Body.Close()
					if c.seen == "" {
						t.Fatal("an answer came")
					}
					readUntil(t, resp.Body, c.seen)
					leave()
				}
				e := f.result(t)
				for r.alpha.cancelled.Load() == 0 {
					time.Sleep(time.Millisecond)
				}
				if e.Attempts != 1 || e.Code != "client_closed_request" || len(r.beta.requests()) != 0 {
					t.Errorf("%+v", e.Result)
				}
				if c.seen == "" && (!errors.Is(e.rawErr, context.Canceled) || e.Status != 499 || e.Candidate != nil || !e.Estimated ||
					len(e.Lost) != 1 || e.Lost[0].Candidate.Entry != "alpha/a-low" || e.Lost[0].Usage.Prompt == 0) {
					t.Errorf("%v, %+v", e.rawErr, e.Result)
				}
				if c.seen != "" && (e.rawErr != nil || e.Status != 200 || e.Candidate == nil || e.Usage.Prompt == 0 || e.Usage.Completion == 0 || !e.Estimated) {
					t.Errorf("%v, %+v", e.rawErr, e.Result)
				}
				if state := r.engine.Memory.Health.Provider("alpha", r.account.UserID); !state.LastFailure.IsZero() {
					t.Errorf("alpha is blamed: %+v", state)
				}
			})
		}
	}
}

// reasoningShown returns the members by which a request of a surface asks for visible reasoning.
func reasoningShown(surface hub.Format) []string {
	if surface == hub.Responses {
		return []string{`"reasoning":{"summary":"auto"}`}
	}
	return nil
}

// readUntil reads until it has seen the text want.
func readUntil(t *testing.T, body io.Reader, want string) {
	t.Helper()
	var seen strings.Builder
	piece := make([]byte, 4<<10)
	for !strings.Contains(seen.String(), want) {
		n, err := body.Read(piece)
		seen.Write(piece[:n])
		if err != nil && !strings.Contains(seen.String(), want) {
			t.Fatalf("%v before %q:\n%s", err, want, seen.String())
		}
	}
}
