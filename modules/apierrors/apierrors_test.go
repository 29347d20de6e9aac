package apierrors

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

var idPattern = regexp.MustCompile(`^req_[0-9A-Za-z]{24}$`)

// newRequest returns a request with the context that Caddy's server gives it.
func newRequest(method string) *http.Request {
	r := httptest.NewRequest(method, "/v1/things", http.NoBody)
	ctx := context.WithValue(r.Context(), caddy.ReplacerCtxKey, caddy.NewReplacer())
	ctx = context.WithValue(ctx, caddyhttp.VarsCtxKey, make(map[string]any))
	return r.WithContext(ctx)
}

func TestUnmarshalCaddyfile(t *testing.T) {
	t.Parallel()
	for input, wantErr := range map[string]string{
		"api_errors messages":                          "",
		"api_errors problem":                           "",
		"api_errors":                                   "format is required, one of: answer, board",
		"api_errors messages board":                    "wrong argument count",
		"api_errors xml":                               `unknown format "xml", must be one of: answer, board, chat_completions, cms, converse, events, messages, problem, responses`,
		"api_errors \"\"":                              "format is required",
		"api_errors cms {\n\tverbose /x\n}":            `unknown format "verbose"`,
		"api_errors messages {\n\tcms\n}":              "cms needs a matcher",
		"api_errors messages {\n\tcms *\n}":            "cms needs a matcher",
		"api_errors messages {\n\tcms @none\n}":        "unrecognized matcher name: @none",
		"api_errors messages {\n\tcms /x /y\n}":        "wrong argument count",
		"api_errors messages {\n\tcms /cms/*\n}":       "",
		"api_errors messages {\n\tcms /a\nboard /b\n}": "",
	} {
		h := new(Handler)
		err := h.UnmarshalCaddyfile(caddyfile.NewTestDispenser(input))
		switch {
		case wantErr == "" && (err != nil || h.Format != strings.Fields(input)[1]):
			t.Errorf("%q: format %q, error %v", input, h.Format, err)
		case wantErr != "" && (err == nil || !strings.Contains(err.Error(), wantErr)):
			t.Errorf("%q: error %v, want %q", input, err, wantErr)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "Board", "openai"} {
		if err := (&Handler{Format: name}).Validate(); err == nil || !strings.Contains(err.Error(), "format") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		err     error
		status  int
		message string
	}{
		{"plain", errors.New("/srv/secret"), 500, "internal error"},
		{"deadline", fmt.Errorf("asking: %w", context.DeadlineExceeded), 504, "the upstream did not answer in time"},
		{"body limit deep in a 502", caddyhttp.Error(502, fmt.Errorf("copying: %w", &http.MaxBytesError{Limit: 9})), 413, "the request body is larger than 9 bytes"},
		{"body limit alone", &http.MaxBytesError{Limit: 9}, 413, "the request body is larger than 9 bytes"},
		{"ours inside Caddy's", caddyhttp.Error(500, apierror.New(403, "x", "no")), 403, "no"},
		{"ours with a body limit as cause", &apierror.Error{Status: 502, Message: "the answer is too large", Cause: &http.MaxBytesError{}}, 502, "the answer is too large"},
		{"ours without a message", &apierror.Error{Status: 409}, 409, "the request conflicts with the current state"},
		{"ours without a status", &apierror.Error{Message: "x"}, 500, "x"},
		{"Caddy's without a status", caddyhttp.HandlerError{Err: errors.New("/srv/secret")}, 500, "internal error"},
		{"Caddy's with a good status", caddyhttp.Error(204, nil), 500, "internal error"},
		{"Caddy's with an odd status", caddyhttp.Error(1000, nil), 500, "internal error"},
		{"unknown 4xx", caddyhttp.Error(452, nil), 452, "the request was refused"},
		{"unknown 5xx", caddyhttp.Error(599, nil), 599, "internal error"},
	}
	for _, tt := range tests {
		e := classify(tt.err)
		if e.Status != tt.status || e.Message != tt.message || strings.Contains(e.Message, "secret") {
			t.Errorf("%s: got %d %q, want %d %q", tt.name, e.Status, e.Message, tt.status, tt.message)
		}
	}
	for status := 400; status < 600; status++ {
		if status == statusOverloaded {
			continue
		}
		e := classify(caddyhttp.Error(status, errors.New("open /srv/secret")))
		if e.Status != status || e.Message == "" || strings.Contains(e.Message, "secret") {
			t.Errorf("%d: got %d %q", status, e.Status, e.Message)
		}
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	err := apierror.New(404, "not_found", "gone")
	get, _ := serve(t, "board", http.MethodGet, failWith(err))
	head, _ := serve(t, "board", http.MethodHead, func(_ http.ResponseWriter, r *http.Request) error {
		r.Method = http.MethodGet // a rewrite below must not bring the body back
		return err
	})
	if head.Code != 404 || head.Body.Len() != 0 {
		t.Errorf("got %d with %q", head.Code, head.Body)
	}
	if got, want := head.Header().Get("Content-Length"), get.Header().Get("Content-Length"); got != want || want == "0" {
		t.Errorf("Content-Length %q, GET has %q", got, want)
	}
}

func TestHeadersOfLaterHandlers(t *testing.T) {
	t.Parallel()
	w, _ := serve(t, "board", http.MethodGet, func(w http.ResponseWriter, _ *http.Request) error {
		for name, value := range map[string]string{
			"Content-Encoding": "gzip", "ETag": `"x"`, "Content-Type": "text/event-stream", "Content-Length": "3",
			"Last-Modified": "x", "Cache-Control": "public", "Location": "/x", "Trailer": "X",
			"WWW-Authenticate": `Bearer realm="board"`, "Allow": "GET", "Vary": "Origin", "X-RateLimit-Limit": "5",
		} {
			w.Header().Set(name, value)
		}
		return apierror.New(401, "unauthenticated", "no")
	})
	want := map[string]string{
		"Content-Encoding": "", "ETag": "", "Content-Type": "application/json; charset=utf-8", "Last-Modified": "",
		"Cache-Control": "no-store", "Location": "", "Trailer": "",
		"WWW-Authenticate": `Bearer realm="board"`, "Allow": "GET", "Vary": "Origin, Authorization", "X-RateLimit-Limit": "5",
		"Content-Length": fmt.Sprint(w.Body.Len()), "X-Content-Type-Options": "nosniff",
	}
	for name, value := range want {
		if got := strings.Join(w.Header().Values(name), ", "); got != value {
			t.Errorf("%s: got %q, want %q", name, got, value)
		}
	}
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	outcomes := map[string]caddyhttp.HandlerFunc{
		"nothing written": failWith(nil),
		"error":           failWith(errors.New("x")),
		"written": func(w http.ResponseWriter, _ *http.Request) error {
			_, err := io.WriteString(w, "x")
			return err
		},
		"flushed": func(w http.ResponseWriter, _ *http.Request) error {
			return http.NewResponseController(w).Flush()
		},
		"copied": func(w http.ResponseWriter, _ *http.Request) error {
			_, err := w.(io.ReaderFrom).ReadFrom(strings.NewReader("x"))
			return err
		},
		"another id set below": func(w http.ResponseWriter, _ *http.Request) error {
			w.Header()["X-Request-Id"] = []string{"upstream", "upstream2"}
			w.Header().Set("Request-Id", "upstream")
			w.WriteHeader(201)
			return nil
		},
	}
	for name, next := range outcomes {
		for _, format := range []string{"messages", "responses"} {
			r := newRequest(http.MethodPost)
			r.Header.Set("X-Request-Id", "client")
			var seen string
			w, _ := serveRequest(t, newHandler(t, format), r, func(w http.ResponseWriter, r *http.Request) error {
				seen = r.Header.Get("X-Request-Id")
				return next(w, r)
			})
			ids := w.Result().Header["X-Request-Id"]
			if len(ids) != 1 || !idPattern.MatchString(ids[0]) {
				t.Fatalf("%s: ids %q", name, ids)
			}
			if match := w.Result().Header.Get("Request-Id") == ids[0]; match != (format == "messages") {
				t.Errorf("%s, %s: request-id is %q", name, format, w.Result().Header.Get("Request-Id"))
			}
			repl := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
			for label, got := range map[string]any{
				"RequestID":   RequestID(r.Context()),
				"variable":    caddyhttp.GetVar(r.Context(), "tollgate.request_id"),
				"placeholder": repl.ReplaceAll("{http.tollgate.request_id}", ""),
				"upstream":    seen,
			} {
				if got != ids[0] {
					t.Errorf("%s: %s is %v, want %s", name, label, got, ids[0])
				}
			}
			if got := caddyhttp.GetVar(r.Context(), "tollgate.api_errors.format"); got != format {
				t.Errorf("format variable %v", got)
			}
		}
	}
	if RequestID(context.Background()) != "" {
		t.Error("an id without a request")
	}
}

// TestConnectionHeader checks that X-Request-Id is removed from Connection, since proxies do not forward the fields
// that are named there.
func TestConnectionHeader(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ sent, want []string }{
		{nil, nil},
		{[]string{"close"}, []string{"close"}},
		{[]string{"X-Request-Id"}, nil},
		{[]string{"keep-alive, \tx-request-ID , Foo"}, []string{"keep-alive, Foo"}},
		{[]string{"X-Request-Id,X-Request-Id", "Upgrade,x-request-id"}, []string{"Upgrade"}},
		{[]string{"X-Request-Idx", ""}, []string{"X-Request-Idx", ""}},
	} {
		r := newRequest(http.MethodPost)
		if tt.sent != nil {
			r.Header["Connection"] = tt.sent
		}
		original := slices.Clone(tt.sent)
		_, _ = serveRequest(t, newHandler(t, "problem"), r, failWith(nil))
		if got := r.Header["Connection"]; !slices.Equal(got, tt.want) {
			t.Errorf("%q became %q, want %q", original, got, tt.want)
		}
	}
}

func TestRequestIDsDiffer(t *testing.T) {
	t.Parallel()
	const perWorker, workers = 2000, 4
	var mu sync.Mutex
	seen := make(map[string]bool)
	letters := make(map[rune]bool)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range perWorker {
				id := newRequestID()
				mu.Lock()
				seen[id] = true
				for _, c := range id[4:] {
					letters[c] = true
				}
				mu.Unlock()
				if !idPattern.MatchString(id) {
					t.Errorf("id %q", id)
				}
			}
		})
	}
	wg.Wait()
	if len(seen) != perWorker*workers || len(letters) != 62 {
		t.Errorf("%d ids with %d letters", len(seen), len(letters))
	}
}

func TestBegunResponseIsLeftAlone(t *testing.T) {
	t.Parallel()
	starts := map[string]func(w http.ResponseWriter) error{
		"header": func(w http.ResponseWriter) error { w.WriteHeader(200); return nil },
		"flush":  func(w http.ResponseWriter) error { return http.NewResponseController(w).Flush() },
		"write":  func(w http.ResponseWriter) error { _, err := w.Write(nil); return err },
		"copy": func(w http.ResponseWriter) error {
			_, err := w.(io.ReaderFrom).ReadFrom(strings.NewReader(""))
			return err
		},
	}
	for name, start := range starts {
		cause := apierror.New(502, "x", "upstream broke")
		w, err := serve(t, "chat_completions", http.MethodPost, func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Content-Type", "text/event-stream")
			if err := start(w); err != nil {
				return err
			}
			return cause
		})
		if !errors.Is(err, cause) {
			t.Errorf("%s: error %v is not returned", name, err)
		}
		if he, ok := errors.AsType[caddyhttp.HandlerError](err); !ok || he.StatusCode != 502 || !idPattern.MatchString(he.ID) {
			t.Errorf("%s: Caddy would log %+v", name, he)
		}
		if w.Code != 200 || w.Body.Len() != 0 || w.Header().Get("Content-Type") != "text/event-stream" {
			t.Errorf("%s: touched: %d %v %q", name, w.Code, w.Header(), w.Body)
		}
	}
}

// statusWriter keeps every status, since a recorder drops informational responses.
type statusWriter struct {
	http.ResponseWriter
	statuses []int
	ids      []string
}

func (w *statusWriter) WriteHeader(status int) {
	w.statuses = append(w.statuses, status)
	w.ids = append(w.ids, w.Header().Get("X-Request-Id"))
}

func TestInformationalResponses(t *testing.T) {
	t.Parallel()
	for first, want := range map[int][]int{100: {100, 418}, 103: {103, 418}, 101: {101}} {
		w := &statusWriter{ResponseWriter: httptest.NewRecorder()}
		err := newHandler(t, "cms").ServeHTTP(w, newRequest(http.MethodGet), caddyhttp.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
			w.WriteHeader(first)
			return apierror.New(418, "", "no coffee")
		}))
		if fmt.Sprint(w.statuses) != fmt.Sprint(want) || (err == nil) != (len(want) == 2) {
			t.Errorf("after %d: sent %v, want %v; error %v", first, w.statuses, want, err)
		}
		for _, id := range w.ids {
			if id != w.ids[0] || !idPattern.MatchString(id) {
				t.Errorf("after %d: ids %q", first, w.ids)
			}
		}
	}
}

func TestClientGone(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		gone   bool // the request's context is cancelled
		err    error
		status int
	}{
		{"cancelled", true, fmt.Errorf("asking: %w", context.Canceled), 499},
		{"noticed by reverse_proxy", true, caddyhttp.Error(499, errors.New("operation was canceled")), 499},
		{"reported by us", false, &apierror.Error{Status: 499}, 499},
		{"something else was cancelled", false, context.Canceled, 500},
		{"gone, but refused before", true, apierror.New(403, "", "no"), 403},
	}
	for _, tt := range tests {
		r := newRequest(http.MethodPost)
		ctx, cancel := context.WithCancel(r.Context())
		if tt.gone {
			cancel()
		}
		w, err := serveRequest(t, newHandler(t, "messages"), r.WithContext(ctx), failWith(tt.err))
		cancel()
		if err != nil || w.Code != tt.status || (w.Body.Len() == 0) != (tt.status == 499) {
			t.Errorf("%s: %d %q, error %v", tt.name, w.Code, w.Body, err)
		}
	}

	r := newRequest(http.MethodPost)
	ctx, cancel := context.WithCancel(r.Context())
	_, err := serveRequest(t, newHandler(t, "messages"), r.WithContext(ctx), func(w http.ResponseWriter, _ *http.Request) error {
		w.WriteHeader(200)
		cancel()
		return context.Canceled
	})
	if he, ok := errors.AsType[caddyhttp.HandlerError](err); !ok || he.StatusCode != 499 {
		t.Errorf("in a stream: %v", err)
	}
}

func TestNested(t *testing.T) {
	t.Parallel()
	outer, inner := newHandler(t, "messages"), newHandler(t, "problem")
	var ids []string
	run := func(next caddyhttp.HandlerFunc) (*httptest.ResponseRecorder, error) {
		return serveRequest(t, outer, newRequest(http.MethodGet), func(w http.ResponseWriter, r *http.Request) error {
			ids = []string{RequestID(r.Context())}
			return inner.ServeHTTP(w, r, caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
				ids = append(ids, RequestID(r.Context()))
				return next(w, r)
			}))
		})
	}
	w, err := run(failWith(apierror.New(404, "not_found", "no")))
	if err != nil || w.Header().Get("Content-Type") != "application/problem+json" || !strings.Contains(w.Body.String(), ids[0]) {
		t.Errorf("got %v %q, error %v", w.Header(), w.Body, err)
	}
	if ids[0] != ids[1] || w.Header().Get("X-Request-Id") != ids[0] {
		t.Errorf("ids %q, header %q", ids, w.Header().Get("X-Request-Id"))
	}
	cause := errors.New("broke")
	w, err = run(func(w http.ResponseWriter, _ *http.Request) error {
		w.WriteHeader(200)
		return cause
	})
	if !errors.Is(err, cause) || strings.Count(err.Error(), ids[0]) != 1 || w.Body.Len() != 0 {
		t.Errorf("stream: error %v, body %q", err, w.Body)
	}
}

func TestPanicPassesThrough(t *testing.T) {
	t.Parallel()
	defer func() {
		if p := recover(); p != http.ErrAbortHandler { //nolint:errorlint // the value itself is what net/http looks for
			t.Errorf("recovered %v", p)
		}
	}()
	_, _ = serve(t, "cms", http.MethodGet, func(http.ResponseWriter, *http.Request) error { panic(http.ErrAbortHandler) })
}

func TestLog(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zapcore.DebugLevel)
	for _, tt := range []struct {
		err    error
		level  zapcore.Level
		status int64
		code   string
	}{
		{apierror.Unavailable("the store", errors.New("disk gone")), zapcore.ErrorLevel, 529, "overloaded"},
		{errors.New("nil map"), zapcore.ErrorLevel, 500, "internal_error"},
		{apierror.New(401, "invalid_api_key", "no"), zapcore.DebugLevel, 401, "invalid_api_key"},
		{caddyhttp.Error(502, errors.New("dial")), zapcore.ErrorLevel, 502, "bad_gateway"},
		{apierror.New(502, "all_providers_failed", "no"), zapcore.ErrorLevel, 502, "all_providers_failed"},
		{caddyhttp.Error(499, errors.New("left")), zapcore.DebugLevel, 499, ""},
	} {
		h := newHandler(t, "messages")
		h.logger = zap.New(core)
		w, _ := serveRequest(t, h, newRequest(http.MethodPost), failWith(tt.err))
		entries := logs.TakeAll()
		if len(entries) != 1 || entries[0].Level != tt.level {
			t.Fatalf("%v: %+v", tt.err, entries)
		}
		fields := entries[0].ContextMap()
		if fields["request_id"] != w.Header().Get("X-Request-Id") || fields["status"] != tt.status ||
			fields["code"] != tt.code || fields["error"] != tt.err.Error() {
			t.Errorf("%v: %v", tt.err, fields)
		}
	}
	h := newHandler(t, "messages")
	h.logger = zap.New(core)
	_, _ = serveRequest(t, h, newRequest(http.MethodPost), func(w http.ResponseWriter, _ *http.Request) error {
		w.WriteHeader(200)
		return errors.New("broke")
	})
	if logs.Len() != 0 {
		t.Error("a returned error is logged twice")
	}
}

// TestRealServer checks the behaviour that a recorder cannot show: a flush, a deadline and a hijacked connection reach
// net/http through the wrapper.
func TestRealServer(t *testing.T) {
	t.Parallel()
	h := newHandler(t, "chat_completions")
	released := make(chan struct{})
	upErr := make(chan error, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		base := newRequest(r.Method).Context()
		ctx := context.WithValue(r.Context(), caddyhttp.VarsCtxKey, base.Value(caddyhttp.VarsCtxKey))
		upErr <- h.ServeHTTP(w, r.WithContext(ctx), caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
			rc := http.NewResponseController(w)
			if err := rc.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
				return err
			}
			if r.URL.Path == "/hijack" {
				conn, buf, err := rc.Hijack()
				if err != nil {
					return err
				}
				defer conn.Close()
				_, _ = buf.WriteString("HTTP/1.1 299 Mine\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
				if err := buf.Flush(); err != nil {
					return err
				}
				return errors.New("after the hijack")
			}
			if err := rc.Flush(); err != nil {
				return err
			}
			<-released // the client has the header before the handler goes on
			_, _ = io.WriteString(w, "data: x\n\n")
			return errors.New("stream broke")
		}))
	}))
	defer srv.Close()

	get := func(path string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+path, http.NoBody)
		if err != nil {
			return nil, err
		}
		return srv.Client().Do(req)
	}
	resp, err := get("/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	close(released)
	body, err := io.ReadAll(resp.Body)
	if err != nil || string(body) != "data: x\n\n" || !idPattern.MatchString(resp.Header.Get("X-Request-Id")) {
		t.Errorf("stream: %q %v, error %v", body, resp.Header, err)
	}
	if err := <-upErr; err == nil || !strings.Contains(err.Error(), "stream broke") {
		t.Errorf("stream returned %v", err)
	}

	hijacked, err := get("/hijack")
	if err != nil {
		t.Fatal(err)
	}
	defer hijacked.Body.Close()
	if hijacked.StatusCode != 299 {
		t.Errorf("hijack: status %d", hijacked.StatusCode)
	}
	if err := <-upErr; err == nil || !strings.Contains(err.Error(), "after the hijack") {
		t.Errorf("hijack returned %v", err)
	}
}

// discard is a ResponseWriter that adds no cost to a measurement.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

// BenchmarkGoodRequest compares a request with and without the middleware.
func BenchmarkGoodRequest(b *testing.B) {
	answer := caddyhttp.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
		w.WriteHeader(http.StatusOK)
		return nil
	})
	h := newHandler(b, "messages")
	run := func(serve func(w http.ResponseWriter, r *http.Request) error) func(b *testing.B) {
		return func(b *testing.B) {
			r := newRequest(http.MethodPost)
			vars := r.Context().Value(caddyhttp.VarsCtxKey).(map[string]any)
			w := discard{make(http.Header)}
			b.ReportAllocs()
			for b.Loop() {
				delete(vars, RequestIDVar)
				clear(w.header)
				if err := serve(w, r); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.Run("bare", run(answer.ServeHTTP))
	b.Run("api_errors", run(func(w http.ResponseWriter, r *http.Request) error { return h.ServeHTTP(w, r, answer) }))
}

// BenchmarkRefusal measures the cost of a flood of invalid keys.
func BenchmarkRefusal(b *testing.B) {
	h := newHandler(b, "messages")
	next := failWith(apierror.New(http.StatusUnauthorized, "invalid_api_key", "the API key is not valid"))
	r := newRequest(http.MethodPost)
	w := discard{make(http.Header)}
	b.ReportAllocs()
	for b.Loop() {
		clear(w.header)
		if err := h.ServeHTTP(w, r, next); err != nil {
			b.Fatal(err)
		}
	}
}
