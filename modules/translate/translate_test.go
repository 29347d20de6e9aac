package translate

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/backends/scriptedmodel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/memory"
	"github.com/tollgate-gateway/tollgate/modules/body"
)

// send passes a request through the middleware to next, or to a scripted model if next is nil.
func send(t *testing.T, config, path, body string, next caddyhttp.HandlerFunc) (*httptest.ResponseRecorder, error) {
	t.Helper()
	return sendBody(t, config, path, strings.NewReader(body), next)
}

func sendBody(t *testing.T, config, path string, body io.Reader, next caddyhttp.HandlerFunc) (*httptest.ResponseRecorder, error) {
	t.Helper()
	h := new(Handler)
	if err := h.UnmarshalCaddyfile(caddyfile.NewTestDispenser(config)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(h.Provision(caddy.Context{}), h.Validate()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Cleanup(); err != nil {
			t.Error(err)
		}
	})
	if next == nil {
		model := scriptedmodel.New(scriptedmodel.Options{})
		next = func(w http.ResponseWriter, r *http.Request) error {
			if r.Header.Get("Accept-Encoding") != "" {
				t.Error("an encoded answer is asked for")
			}
			model.ServeHTTP(w, r)
			return nil
		}
	}
	ctx := context.WithValue(t.Context(), caddyhttp.VarsCtxKey, make(map[string]any))
	ctx = context.WithValue(ctx, caddy.ReplacerCtxKey, caddy.NewReplacer())
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, path, body)
	r.Header.Set("Accept-Encoding", "gzip")
	w := httptest.NewRecorder()
	return w, h.ServeHTTP(w, r, next)
}

const hello = `{"model":"scripted?text=Hello","max_tokens":10,"messages":[{"role":"user","content":"Hi"}]`

func TestTranslate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config, path, body string
		kind               string
		parts              []string
	}{
		"message": {
			"translate messages", "/v1/messages", hello + `,"top_k":3,"betas":["x"]}`, "application/json",
			[]string{`"type":"message"`, `"text":"Hello"`, `"stop_reason":"end_turn"`},
		},
		"message stream": {
			"translate messages", "/v1/messages", hello + `,"stream":true}`, "text/event-stream; charset=utf-8",
			[]string{"event: message_start\n", `"text_delta","text":"Hello"`, "event: message_stop\n"},
		},
		"another model": {
			"translate messages {\n model scripted?text=Mine\n}", "/v1/messages", hello + `}`, "application/json",
			[]string{`"text":"Mine"`, `"model":"scripted?text=Hello"`},
		},
		"response": {
			"translate messages responses", "/v1/responses", `{"model":"scripted?text=Hello","input":"Hi"}`, "application/json",
			[]string{`"object":"response"`, `"text":"Hello"`, `"status":"completed"`},
		},
		"response stream": {
			"translate responses", "/v1/responses", `{"model":"scripted?text=Hello","input":"Hi","stream":true}`, "text/event-stream; charset=utf-8",
			[]string{"event: response.created\n", `"delta":"Hello"`, "event: response.completed\n"},
		},
		"count": {
			"translate messages", "/v1/messages/count_tokens", `{"model":"m","messages":[{"role":"user","content":"Hi"}]}`, "application/json",
			[]string{`{"input_tokens":5}`},
		},
		"count, Responses": {
			"translate messages responses", "/v1/responses/input_tokens", `{"model":"m","input":"Hi"}`, "application/json",
			[]string{`{"object":"response.input_tokens","input_tokens":5}`},
		},
		"a stream that breaks": {
			"translate messages", "/v1/messages", `{"model":"scripted?fault=error_mid&text=a+b+c","max_tokens":10,"stream":true,"messages":[{"role":"user","content":"Hi"}]}`,
			"text/event-stream; charset=utf-8",
			[]string{`"text":"a`, "event: error\n", `"type":"api_error"`},
		},
		"a stream without an end": {
			"translate responses", "/v1/responses", `{"model":"scripted?fault=no_finish&text=a+b+c","input":"Hi","stream":true}`,
			"text/event-stream; charset=utf-8",
			[]string{"event: response.failed\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, err := send(t, test.config, test.path, test.body, nil)
			if err != nil {
				t.Fatal(err)
			}
			if w.Code != http.StatusOK || w.Header().Get("Content-Type") != test.kind {
				t.Errorf("status %d, headers %v", w.Code, w.Header())
			}
			for _, part := range test.parts {
				if !strings.Contains(w.Body.String(), part) {
					t.Errorf("no %s in\n%s", part, w.Body)
				}
			}
			if strings.Contains(test.body, "top_k") && w.Header().Get("X-Gateway-Dropped-Params") == "" {
				t.Error("the dropped members are not reported")
			}
		})
	}
}

// TestTranslateFailureKinds checks that an error in a stream keeps its kind.
func TestTranslateFailureKinds(t *testing.T) {
	t.Parallel()
	for failure, want := range map[string][2]string{
		`{"message":"busy","type":"overloaded_error"}`:                  {"overloaded_error", "server_error"},
		`{"message":"busy","code":"server_is_overloaded"}`:              {"overloaded_error", "server_error"},
		`{"message":"busy","code":503,"status":"UNAVAILABLE"}`:          {"overloaded_error", "server_error"},
		`{"message":"slow","type":"t","code":"rate_limit_exceeded"}`:    {"rate_limit_error", "rate_limit_exceeded"},
		`{"message":"slow","code":429}`:                                 {"rate_limit_error", "rate_limit_exceeded"},
		`{"message":"late","type":"timeout_error"}`:                     {"timeout_error", "server_error"},
		`{"message":"no","type":"server_error","code":"server_error"}`:  {"api_error", "server_error"},
		`{"message":"no","type":"authentication_error","code":"other"}`: {"api_error", "server_error"},
	} {
		next := func(w http.ResponseWriter, r *http.Request) error {
			_, _ = io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			_, err := io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}`+"\n\n"+`data: {"error":`+failure+"}\n\n")
			return err
		}
		w, err := send(t, "translate messages", "/v1/messages", hello+`,"stream":true}`, next)
		if end := `"error":{"type":"` + want[0] + `",`; err != nil || !strings.Contains(w.Body.String(), end) {
			t.Errorf("%s: error %v, no %s in\n%s", failure, err, end, w.Body)
		}
		w, err = send(t, "translate responses", "/v1/responses", `{"model":"m","input":"Hi","stream":true}`, next)
		if end := `"error":{"code":"` + want[1] + `",`; err != nil || !strings.Contains(w.Body.String(), end) {
			t.Errorf("%s: error %v, no %s in\n%s", failure, err, end, w.Body)
		}
	}
}

// TestTranslateLargeEvents checks that a large event of a stream takes memory, and that without free memory the client
// gets an error in its own format.
func TestTranslateLargeEvents(t *testing.T) {
	t.Parallel()
	event := func(text string) string {
		return `data: {"choices":[{"index":0,"delta":{"content":"` + text + `"}}]}` + "\n\n"
	}
	large := event(strings.Repeat("x", 300<<10))
	end := `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	for name, test := range map[string]struct {
		memory int64
		stream string
		status int // 0: the response is a stream
		says   string
	}{
		"there is memory":   {4 << 20, event("begun") + large + end, 0, strings.Repeat("x", 1000)},
		"there is none":     {100 << 10, large + end, http.StatusServiceUnavailable, ""},
		"none once begun":   {100 << 10, event("begun") + large + end, 0, `"error":{"type":"overloaded_error","message":"memory for this answer is not available`},
		"small ones are no": {1, event("small") + end, 0, "small"},
	} {
		h := &Handler{Formats: []hub.Format{hub.Messages}}
		if err := h.Provision(caddy.Context{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = h.Cleanup() })
		h.memory = memory.New(test.memory)
		ctx := context.WithValue(t.Context(), caddyhttp.VarsCtxKey, make(map[string]any))
		ctx = context.WithValue(ctx, caddy.ReplacerCtxKey, caddy.NewReplacer())
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/messages", strings.NewReader(hello+`,"stream":true}`))
		w := httptest.NewRecorder()
		err := h.ServeHTTP(w, r, caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
			_, _ = io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			_, err := io.Copy(struct{ io.Writer }{w}, strings.NewReader(test.stream))
			return err
		}))
		refusal, _ := apierror.From(err)
		if test.status == 0 && (err != nil || !strings.Contains(w.Body.String(), test.says)) || test.status != 0 && (refusal == nil || refusal.Status != test.status) {
			t.Errorf("%s: %v, %.300s", name, err, w.Body)
		}
		if h.memory.Taken() != 0 {
			t.Errorf("%s: %d bytes stay taken", name, h.memory.Taken())
		}
	}
}

func TestTranslateErrors(t *testing.T) {
	t.Parallel()
	ask := func(model, more string) string {
		return `{"model":"` + model + `","max_tokens":10,"messages":[{"role":"user","content":"Hi"}]` + more + `}`
	}
	for name, test := range map[string]struct {
		body   string
		next   caddyhttp.HandlerFunc
		status int
		code   string
	}{
		"bad field":       {`{"model":"m","messages":[]}`, nil, 400, ""},
		"bad JSON":        {`{"model":`, nil, 400, "invalid_json"},
		"the vendor's":    {ask("m", `,"mcp_servers":[{"type":"url"}]`), nil, 400, "unsupported_parameter"},
		"server refuses":  {ask("scripted?status=429&code=slow_down", ""), nil, 429, "slow_down"},
		"server fails":    {ask("scripted?status=503", ""), nil, 503, ""},
		"error inside":    {ask("scripted?fault=error_object", ""), nil, 502, "upstream_error"},
		"error in stream": {ask("scripted?fault=error_object", `,"stream":true`), nil, 502, "upstream_error"},
		"error behind a comment": {ask("m", `,"stream":true`), func(w http.ResponseWriter, r *http.Request) error {
			_, _ = io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			_, err := io.WriteString(w, ": PROCESSING\n\n: PROCESSING\n\ndata: {\"error\":{\"message\":\"no\",\"code\":\"502\"}}\n\n")
			return err
		}, 502, "upstream_error"},
		"no choices": {ask("scripted?fault=empty_choices", ""), nil, 502, "upstream_error"},
		"web page":   {ask("scripted?fault=html", ""), nil, 502, "upstream_error"},
		"redirect": {ask("m", ""), func(w http.ResponseWriter, r *http.Request) error {
			_, _ = io.ReadAll(r.Body)
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(http.StatusFound)
			return nil
		}, 502, ""},
		"no server": {ask("m", ""), func(_ http.ResponseWriter, r *http.Request) error {
			_, _ = io.ReadAll(r.Body)
			return caddyhttp.Error(http.StatusBadGateway, apierror.New(502, "down", "down"))
		}, 502, "down"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, err := send(t, "translate messages", "/v1/messages", test.body, test.next)
			handler, ok := errors.AsType[caddyhttp.HandlerError](err)
			if !ok || handler.StatusCode != test.status || w.Body.Len() > 0 {
				t.Fatalf("error %v, body %q", err, w.Body)
			}
			if e, ok := apierror.From(err); !ok || test.code != "" && e.Code != test.code {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestTranslateCountRefuses checks that requests to count tokens are refused with the same errors as requests for
// answers.
func TestTranslateCountRefuses(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`[]`, `{"model":"m"}`, `{"model":"m","input":[{"type":"nothing"}]}`, `{"model":"m","input":"Hi","previous_response_id":"resp_1"}`} {
		_, refused := send(t, "translate responses", "/v1/responses", body, nil)
		w, err := send(t, "translate responses", "/v1/responses/input_tokens", body, nil)
		if err == nil || refused == nil || errors.Unwrap(err).Error() != errors.Unwrap(refused).Error() {
			t.Errorf("%s: error %v, Responses %v, body %s", body, err, refused, w.Body)
		}
	}
	for _, messages := range []string{
		`[]`, `[{"role":"user","content":""}]`, `[{"role":"user","content":[{"type":"text","text":""}]}]`, `[{"role":"nobody","content":"x"}]`,
		`[{"role":"user","content":[{"type":"document","source":{"type":"url","url":"https://example.com/a.pdf"}}]}]`,
		`[{"role":"user","content":"x"}],"mcp_servers":[{"name":"x"}]`, `[{"role":"user","content":"x"}],"max_tokens":0`, `[{"role":"user","content":"x"}],"model":"again"`,
	} {
		body := `{"model":"m","messages":` + messages + `}`
		full := body
		if !strings.Contains(body, "max_tokens") {
			full = strings.Replace(body, "{", `{"max_tokens":10,`, 1)
		}
		_, refused := send(t, "translate messages", "/v1/messages", full, nil)
		w, err := send(t, "translate messages", "/v1/messages/count_tokens", body, nil)
		if err == nil || refused == nil || errors.Unwrap(err).Error() != errors.Unwrap(refused).Error() {
			t.Errorf("%s: error %v, messages %v, body %s", body, err, refused, w.Body)
		}
	}
}

// TestTranslateCompleteAnswerToStreamRequest checks that clients get a stream from a server without streams, and that
// they get no invalid UTF-8.
func TestTranslateCompleteAnswerToStreamRequest(t *testing.T) {
	t.Parallel()
	for path, test := range map[string]struct{ body, end string }{
		"/v1/messages":  {hello + `,"stream":true}`, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"},
		"/v1/responses": {`{"model":"m","input":"Hi","stream":true}`, "}}\n\n"},
	} {
		for _, kind := range []string{"application/json", "text/event-stream"} {
			w, err := send(t, "translate messages responses", path, test.body, func(w http.ResponseWriter, r *http.Request) error {
				_, _ = io.ReadAll(r.Body)
				w.Header().Set("Content-Type", kind)
				answer := "{\"choices\":[{\"message\":{\"content\":\"H\xffllo\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}"
				if kind != "application/json" {
					answer = "data: " + strings.Replace(answer, "message", "delta", 1) + "\n\ndata: [DONE]\n\n"
				}
				_, err := io.WriteString(w, answer)
				return err
			})
			if err != nil || w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/event-stream; charset=utf-8" || w.Header().Get("Content-Length") != "" {
				t.Errorf("%s, %s: error %v, status %d, headers %v", path, kind, err, w.Code, w.Header())
			}
			if text := w.Body.String(); !strings.HasPrefix(text, "event: ") || !strings.HasSuffix(text, test.end) || !strings.Contains(text, "H\ufffdllo") || !utf8.ValidString(text) || !strings.Contains(text, `"output_tokens":2`) {
				t.Errorf("%s, %s:\n%q", path, kind, text)
			}
		}
		// An invalid complete answer is refused, although the client asked for a stream.
		_, err := send(t, "translate messages responses", path, test.body, func(w http.ResponseWriter, r *http.Request) error {
			_, _ = io.ReadAll(r.Body)
			_, err := io.WriteString(w, `{"choices":[{"message":{"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"a\":nope"}}]},"finish_reason":"tool_calls"}]}`)
			return err
		})
		if e, ok := apierror.From(err); !ok || e.Status != http.StatusBadGateway || !strings.Contains(e.Message, "arguments") {
			t.Errorf("%s: %v", path, err)
		}
	}
	w, err := send(t, "translate messages", "/v1/messages", hello+"}", func(w http.ResponseWriter, r *http.Request) error {
		_, _ = io.ReadAll(r.Body)
		_, err := io.WriteString(w, "{\"choices\":[{\"message\":{\"content\":\"H\xffllo\"},\"finish_reason\":\"stop\"}]}")
		return err
	})
	if err != nil || !strings.Contains(w.Body.String(), "H\ufffdllo") {
		t.Errorf("error %v: %q", err, w.Body)
	}
}

func TestTranslatePassesUnchanged(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		path string
		next caddyhttp.HandlerFunc
	}{
		"another path": {"/v1/models", func(w http.ResponseWriter, r *http.Request) error {
			_, err := io.WriteString(w, r.URL.Path)
			return err
		}},
		"an answer of its own": {"/v1/messages", func(w http.ResponseWriter, _ *http.Request) error {
			_, err := io.WriteString(w, "/v1/models")
			return err
		}},
		"taken": {"/v1/messages", func(w http.ResponseWriter, r *http.Request) error {
			offer := body.OfferOf(r)
			if offer == nil || offer.Format.Facts().Name != hub.Messages {
				return errors.New("there is no offer")
			}
			offer.Take()
			text, err := io.ReadAll(offer.Request.Body)
			if string(text) != "anything" || err != nil || offer.Request.URL.Path != "/v1/messages" {
				return errors.New("the client's request is gone")
			}
			w.WriteHeader(http.StatusOK)
			_, err = io.WriteString(w, "/v1/models")
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, err := send(t, "translate messages", test.path, "anything", test.next)
			if err != nil || w.Body.String() != "/v1/models" {
				t.Errorf("error %v, body %q", err, w.Body)
			}
		})
	}
}

// breaksOff returns a handler that ends as reverse_proxy does when the connection to its server is cut.
func breaksOff(kind, text string) caddyhttp.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		if _, err := io.ReadAll(r.Body); err != nil {
			return err
		}
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, text)
		panic(http.ErrAbortHandler)
	}
}

func TestTranslateCutOff(t *testing.T) {
	t.Parallel()
	w, err := send(t, "translate messages", "/v1/messages", hello+`,"stream":true}`,
		breaksOff("text/event-stream", "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n"))
	if err != nil || !strings.Contains(w.Body.String(), `"text":"Hel"`) || !strings.Contains(w.Body.String(), "event: error\n") {
		t.Errorf("error %v, stream\n%s", err, w.Body)
	}
	w, err = send(t, "translate messages", "/v1/messages", hello+`}`, breaksOff("application/json", `{"choices":[{"index":0,"mess`))
	if e, ok := apierror.From(err); !ok || e.Status != http.StatusBadGateway || w.Body.Len() > 0 {
		t.Errorf("error %v, body %q", err, w.Body)
	}
}
