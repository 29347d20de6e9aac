package apierrors

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/messages"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const testID = "req_0123456789ABCDEFGHIJabcd"

// situations are the rows of the error table of the model formats, with the values that each format must render, and
// the rows that only other formats have.
var situations = []struct {
	name       string
	err        error
	status     int // the status in chat_completions and responses
	typ, code  string
	msgStatus  int
	msgType    string
	board      string
	answer     string
	answerStat int // 0: as status
}{
	{
		"invalid json", apierror.New(400, "invalid_json", "the body is not valid JSON at byte %d", 17),
		400, "invalid_request_error", "invalid_json", 400, "invalid_request_error", "invalid_body", "InvalidRequest", 0,
	},
	{
		"invalid value", apierror.New(400, "invalid_value", `role must be "user" or "assistant"`).With("messages[2].role"),
		400, "invalid_request_error", "invalid_value", 400, "invalid_request_error", "bad_request", "InvalidRequest", 0,
	},
	{
		"unsupported parameter", apierror.New(400, "unsupported_parameter", "n above 1 is not supported").With("n"),
		400, "invalid_request_error", "unsupported_parameter", 400, "invalid_request_error", "bad_request", "InvalidRequest", 0,
	},
	{
		"missing parameter", apierror.New(400, "missing_required_parameter", "model is required").With("model"),
		400, "invalid_request_error", "missing_required_parameter", 400, "invalid_request_error", "bad_request", "InvalidRequest", 0,
	},
	{
		"no provider keys", &apierror.Error{Status: 400, Code: "no_provider_keys", Message: "no provider key is stored", NoRetry: true},
		400, "invalid_request_error", "no_provider_keys", 400, "invalid_request_error", "bad_request", "InvalidRequest", 0,
	},
	{
		"bad key", apierror.New(401, "invalid_api_key", "the API key is missing or not valid"),
		401, "authentication_error", "invalid_api_key", 401, "authentication_error", "unauthenticated", "Unauthorized", 0,
	},
	{
		"budget spent", &apierror.Error{Status: 402, Code: "insufficient_quota", Message: "the budget of this key is spent", RetryAfter: time.Hour},
		402, "insufficient_quota", "insufficient_quota", 402, "billing_error", "forbidden", "QuotaExceeded", 429,
	},
	{
		"not allowed", apierror.New(403, "permission_denied", "this key may not use this model"),
		403, "permission_error", "permission_denied", 403, "permission_error", "forbidden", "Forbidden", 0,
	},
	{
		"unknown model", apierror.New(404, "model_not_found", "unknown model; known: a/b, c/d"),
		404, "not_found_error", "model_not_found", 404, "not_found_error", "not_found", "NotFound", 0,
	},
	{
		"unknown path", apierror.New(404, "", "no such path"),
		404, "not_found_error", "not_found", 404, "not_found_error", "not_found", "NotFound", 0,
	},
	{
		"wrong method", caddyhttp.Error(405, nil),
		405, "invalid_request_error", "method_not_allowed", 405, "invalid_request_error", "method_not_allowed", "MethodNotAllowed", 0,
	},
	{
		"body too slow", apierror.New(408, "request_timeout", "the request body took too long to arrive, send it again"),
		408, "invalid_request_error", "request_timeout", 408, "timeout_error", "bad_request", "InvalidRequest", 0,
	},
	{
		"no candidates", &apierror.Error{Status: 409, Code: "no_models_available", Message: "no model is left after the filters", NoRetry: true},
		409, "invalid_request_error", "no_models_available", 409, "invalid_request_error", "conflict", "InvalidRequest", 0,
	},
	{
		"body too large", caddyhttp.Error(413, &http.MaxBytesError{Limit: 1 << 25}),
		413, "invalid_request_error", "request_too_large", 413, "request_too_large", "payload_too_large", "PayloadTooLarge", 0,
	},
	{
		"unsupported encoding", apierror.New(415, "unsupported_media_type", "content encoding br is not supported"),
		415, "invalid_request_error", "unsupported_media_type", 415, "invalid_request_error", "bad_request", "UnsupportedMediaType", 0,
	},
	{
		"prompt too long", apierror.New(400, "context_length_exceeded", "prompt is too long: 210000 tokens > 200000 maximum"),
		400, "invalid_request_error", "context_length_exceeded", 400, "invalid_request_error", "bad_request", "InvalidRequest", 0,
	},
	{
		"rate limit", &apierror.Error{Status: 429, Code: "rate_limit_exceeded", Message: "60 requests a minute are allowed", RetryAfter: 1500 * time.Millisecond},
		429, "rate_limit_error", "rate_limit_exceeded", 429, "rate_limit_error", "rate_limited", "RateLimited", 0,
	},
	{
		"all cooling", &apierror.Error{
			Status: 502, Code: "all_providers_failed", Message: "All providers failed", RetryAfter: 42 * time.Second,
			FailedAttempts: []apierror.Attempt{
				{Provider: "first", Model: "small", Status: 429, Code: "rate_limited", Message: `slow "down"`, LatencyMS: 120},
				{Provider: "second", Model: "large", Code: "connect", Message: "no answer", LatencyMS: 10000},
			},
		},
		502, "api_error", "all_providers_failed", 502, "api_error", "internal", "ServiceUnavailable", 0,
	},
	{
		"all failed", &apierror.Error{
			Status: 502, Code: "all_providers_failed", Message: "All providers failed", NoRetry: true,
			FailedAttempts: []apierror.Attempt{}, Cause: errors.New("secret detail"),
		},
		502, "api_error", "all_providers_failed", 502, "api_error", "internal", "ServiceUnavailable", 0,
	},
	{
		"overloaded", apierror.Unavailable("the database", errors.New("secret detail")),
		503, "server_error", "overloaded", 529, "overloaded_error", "internal", "ServiceUnavailable", 0,
	},
	{
		"overloaded, as 529", apierror.New(529, "overloaded", "shutting down"),
		503, "server_error", "overloaded", 529, "overloaded_error", "internal", "ServiceUnavailable", 0,
	},
	{
		"upstream deadline", apierror.New(504, "upstream_timeout", "no provider answered in time"),
		504, "api_error", "upstream_timeout", 504, "timeout_error", "internal", "Timeout", 0,
	},
	{
		"bug", fmt.Errorf("reading row: %w", errors.New("secret detail")),
		500, "server_error", "internal_error", 500, "api_error", "internal", "InternalError", 0,
	},
	{
		"several fields", &apierror.Error{
			Status: 422, Code: "validation_failed", Message: "the thread is refused",
			Details: []apierror.Detail{
				{Field: "title", Reason: "too_long", Message: "at most 120 characters"},
				{Field: "message", Reason: "too_short", Message: "at least 2 characters"},
			},
		},
		422, "invalid_request_error", "validation_failed", 422, "invalid_request_error", "validation_failed", "InvalidRequest", 0,
	},
	{
		"quota", &apierror.Error{Status: 429, Code: "QuotaExceeded", Type: "https://errors.example/quota", Message: "used up", RetryAfter: time.Nanosecond},
		429, "https://errors.example/quota", "QuotaExceeded", 429, "rate_limit_error", "rate_limited", "QuotaExceeded", 0,
	},
}

// serve runs a request with the inner handler next. It returns the response, and the error that Caddy gets.
func serve(t testing.TB, format, method string, next caddyhttp.HandlerFunc) (*httptest.ResponseRecorder, error) {
	t.Helper()
	return serveRequest(t, newHandler(t, format), newRequest(method), next)
}

func serveRequest(t testing.TB, h caddyhttp.MiddlewareHandler, r *http.Request, next caddyhttp.HandlerFunc) (*httptest.ResponseRecorder, error) {
	t.Helper()
	w := httptest.NewRecorder()
	err := h.ServeHTTP(w, r, next)
	return w, err
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name := range formats {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got bytes.Buffer
			for _, s := range situations {
				r := newRequest(http.MethodPost)
				caddyhttp.SetVar(r.Context(), RequestIDVar, testID)
				w, err := serveRequest(t, newHandler(t, name), r, failWith(s.err))
				if err != nil {
					t.Fatalf("%s: returned %v", s.name, err)
				}
				fmt.Fprintf(&got, "== %s\n%d\n", s.name, w.Code)
				if err := w.Header().Write(&got); err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&got, "\n%s\n\n", w.Body)
			}
			text := strings.ReplaceAll(got.String(), "\r\n", "\n")
			file := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if text != string(want) {
				t.Errorf("differs from %s, see the diff of go test -update; got:\n%s", file, text)
			}
			if strings.Contains(text, "secret") {
				t.Error("a cause reached the client")
			}
		})
	}
}

// TestTable compares the golden files with the table, which is written by hand.
func TestTable(t *testing.T) {
	t.Parallel()
	type body struct {
		Type  string
		Error json.RawMessage
	}
	type object struct {
		Type, Code, Message string
		Param               *string
	}
	for _, s := range situations {
		for name := range formats {
			w, err := serve(t, name, http.MethodPost, failWith(s.err))
			if err != nil {
				t.Fatalf("%s, %s: returned %v", name, s.name, err)
			}
			var b body
			if err := json.Unmarshal(w.Body.Bytes(), &b); err != nil {
				t.Fatalf("%s, %s: %v in %s", name, s.name, err, w.Body)
			}
			var o object
			var text string
			if name != "problem" && name != "converse" && json.Unmarshal(b.Error, &o) != nil && json.Unmarshal(b.Error, &text) != nil {
				t.Fatalf("%s, %s: error is %s", name, s.name, b.Error)
			}
			var got, want []any
			switch name {
			case "chat_completions", "responses":
				got, want = []any{w.Code, o.Type, o.Code}, []any{s.status, s.typ, s.code}
			case "converse":
				var typed struct {
					Type    string `json:"__type"`
					Message string
				}
				_ = json.Unmarshal(w.Body.Bytes(), &typed)
				got = []any{w.Code, typed.Type, typed.Message != ""}
				want = []any{s.status, w.Header().Get("X-Amzn-Errortype"), true}
				if !strings.HasSuffix(typed.Type, "Exception") {
					t.Errorf("%s: type %q", s.name, typed.Type)
				}
			case "messages":
				got, want = []any{w.Code, b.Type, o.Type}, []any{s.msgStatus, "error", s.msgType}
			case "board":
				got, want = []any{w.Code, o.Code}, []any{s.status, s.board}
			case "answer":
				got, want = []any{w.Code, text}, []any{cmp.Or(s.answerStat, s.status), s.answer}
			default:
				got, want = []any{w.Code}, []any{s.status}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, %s: got %v, want %v", name, s.name, got, want)
			}
		}
	}
}

// TestErrorsWithoutCode checks errors without a code, such as Caddy's own.
func TestErrorsWithoutCode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status                               int
		typ, code, messages, board, envelope string
	}{
		{400, "invalid_request_error", "invalid_value", "invalid_request_error", "bad_request", "InvalidRequest"},
		{401, "authentication_error", "invalid_api_key", "authentication_error", "unauthenticated", "Unauthorized"},
		{402, "insufficient_quota", "insufficient_quota", "billing_error", "forbidden", "QuotaExceeded"},
		{403, "permission_error", "permission_denied", "permission_error", "forbidden", "Forbidden"},
		{404, "not_found_error", "not_found", "not_found_error", "not_found", "NotFound"},
		{405, "invalid_request_error", "method_not_allowed", "invalid_request_error", "method_not_allowed", "MethodNotAllowed"},
		{408, "invalid_request_error", "request_timeout", "timeout_error", "bad_request", "InvalidRequest"},
		{409, "invalid_request_error", "conflict", "invalid_request_error", "conflict", "InvalidRequest"},
		{410, "not_found_error", "not_found", "not_found_error", "not_found", "NotFound"},
		{411, "invalid_request_error", "invalid_value", "invalid_request_error", "bad_request", "InvalidRequest"},
		{413, "invalid_request_error", "request_too_large", "request_too_large", "payload_too_large", "PayloadTooLarge"},
		{415, "invalid_request_error", "unsupported_media_type", "invalid_request_error", "bad_request", "UnsupportedMediaType"},
		{422, "invalid_request_error", "invalid_value", "invalid_request_error", "validation_failed", "InvalidRequest"},
		{429, "rate_limit_error", "rate_limit_exceeded", "rate_limit_error", "rate_limited", "RateLimited"},
		{500, "server_error", "internal_error", "api_error", "internal", "InternalError"},
		{501, "server_error", "internal_error", "api_error", "internal", "InternalError"},
		{502, "api_error", "all_providers_failed", "api_error", "internal", "ServiceUnavailable"},
		{503, "server_error", "overloaded", "overloaded_error", "internal", "ServiceUnavailable"},
		{504, "api_error", "upstream_timeout", "timeout_error", "internal", "Timeout"},
	} {
		e := classify(caddyhttp.Error(tt.status, nil))
		got := []string{chat.ErrorType(e), chat.ErrorCode(e), messages.ErrorType(e), boardCode(e), answerName(e)}
		if want := []string{tt.typ, tt.code, tt.messages, tt.board, tt.envelope}; e.Status != tt.status || !slices.Equal(got, want) {
			t.Errorf("%d: got %d %q, want %q", tt.status, e.Status, got, want)
		}
	}
	// These codes and types are more specific than the status.
	quota := classify(apierror.New(429, "insufficient_quota", "spent"))
	typed := classify(&apierror.Error{Status: 400, Type: "overloaded_error"})
	foreign := classify(&apierror.Error{Status: 400, Type: "server_error"})
	scope := classify(apierror.New(403, "insufficient_scope", "no").With("scope"))
	bare := classify((&apierror.Error{Status: 422}).With("title"))
	got := []string{
		chat.ErrorType(quota), messages.ErrorType(quota), answerName(quota), messages.ErrorType(typed), chat.ErrorType(foreign),
		messages.ErrorType(foreign), boardCode(scope), boardDetails(scope)[0].Reason, boardDetails(bare)[0].Reason,
	}
	want := []string{
		"insufficient_quota", "billing_error", "QuotaExceeded", "overloaded_error", "server_error",
		"invalid_request_error", "missing_scope", "insufficient_scope", "validation_failed",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRetryHeaders(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name               string
		err                error
		set                http.Header
		after, ms, noRetry string
	}{
		{"rounded up", &apierror.Error{Status: 429, RetryAfter: 1001*time.Millisecond + 1}, nil, "2", "1002", ""},
		{"at least one second", &apierror.Error{Status: 503, RetryAfter: time.Microsecond}, nil, "1", "1", ""},
		{"exact", &apierror.Error{Status: 502, RetryAfter: 5 * time.Second}, nil, "5", "5000", ""},
		{"unknown wait, 429", &apierror.Error{Status: 429}, nil, "1", "1000", ""},
		{"unknown wait, 503 of Caddy", caddyhttp.Error(503, nil), nil, "1", "1000", ""},
		{"unknown wait, 502", &apierror.Error{Status: 502}, nil, "", "", ""},
		{"pointless", &apierror.Error{Status: 429, NoRetry: true}, nil, "", "", "false"},
		{"set below", &apierror.Error{Status: 503}, http.Header{"Retry-After": {"300"}}, "300", "", ""},
		{"error knows better", &apierror.Error{Status: 503, RetryAfter: 2 * time.Second}, http.Header{"Retry-After": {"300"}}, "2", "2000", ""},
	}
	for _, tt := range tests {
		for _, format := range []string{"chat_completions", "messages"} {
			w, _ := serve(t, format, http.MethodPost, func(w http.ResponseWriter, _ *http.Request) error {
				for k, v := range tt.set {
					w.Header()[k] = slices.Clone(v)
				}
				return tt.err
			})
			got := []string{w.Header().Get("Retry-After"), w.Header().Get("retry-after-ms"), w.Header().Get("x-should-retry")}
			if want := []string{tt.after, tt.ms, tt.noRetry}; !slices.Equal(got, want) {
				t.Errorf("%s, %s: got %q, want %q", tt.name, format, got, want)
			}
		}
	}
}

func TestLongMessage(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", maxMessage)
	e := classify(&apierror.Error{Status: 400, Message: "x" + long, Param: long})
	if len(e.Param) != maxParam {
		t.Errorf("param of %d bytes", len(e.Param))
	}
	got := e.Message
	if len(got) > maxMessage || len(got) < maxMessage-3 || !utf8.ValidString(got) {
		t.Errorf("length %d, valid %v", len(got), utf8.ValidString(got))
	}
}

// FuzzRender checks that for any strings the body is valid JSON that contains the message.
func FuzzRender(f *testing.F) {
	f.Add("plain", "messages[0]", "bad_value", 400)
	f.Add("quote \" slash \\ line\n\x00\x7f", "\xff\xfe", "</script>\u2028", 503)
	f.Add(strings.Repeat("\xe2\x80", 50), "", "", -1)
	f.Fuzz(func(t *testing.T, message, param, code string, status int) {
		in := &apierror.Error{
			Status: status, Message: message, Param: param, Code: code, Type: param,
			FailedAttempts: []apierror.Attempt{{Provider: code, Message: message, Model: param}},
			Details:        []apierror.Detail{{Field: param, Reason: code, Message: message}},
		}
		e := classify(in)
		// A JSON round trip replaces invalid UTF-8 in the same way as rendering.
		var want string
		raw, err := json.Marshal(e.Message)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		for name, format := range formats {
			rep := format.render(e, testID)
			if rep.status < 400 || rep.status > 599 {
				t.Errorf("%s: status %d", name, rep.status)
			}
			if !utf8.Valid(rep.body) {
				t.Errorf("%s: not UTF-8: %q", name, rep.body)
			}
			var body map[string]any
			if err := json.Unmarshal(rep.body, &body); err != nil {
				t.Fatalf("%s: %v in %q", name, err, rep.body)
			}
			var got any
			switch name {
			case "answer":
				continue // the format has no message
			case "cms", "events":
				got = body["error"]
			case "problem":
				got = body["detail"]
			case "converse":
				got = body["message"]
			default:
				got = body["error"].(map[string]any)["message"]
			}
			if got != want {
				t.Errorf("%s: message %q, want %q", name, got, want)
			}
		}
	})
}

func failWith(err error) caddyhttp.HandlerFunc {
	return func(http.ResponseWriter, *http.Request) error { return err }
}

func newHandler(t testing.TB, format string) *Handler {
	t.Helper()
	h := &Handler{Format: format}
	ctx, cancel := caddy.NewContext(caddy.Context{Context: t.Context()})
	t.Cleanup(cancel)
	if err := h.Provision(ctx); err != nil {
		t.Fatal(err)
	}
	if err := h.Validate(); err != nil {
		t.Fatal(err)
	}
	h.logger = zap.NewNop()
	return h
}
