package body

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/inbound/inboundtest"
	"github.com/tollgate-gateway/tollgate/internal/memory"
)

func packed(tb testing.TB, text string) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// endless is a reader that repeats bytes forever.
type endless struct {
	text []byte
	at   int
	read int
}

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		m := copy(p[n:], e.text[e.at:])
		n, e.at = n+m, (e.at+m)%len(e.text)
	}
	e.read += n
	return n, nil
}

// stalled is a body that times out after its text.
type stalled struct{ text io.Reader }

func (s stalled) Read(p []byte) (int, error) {
	if n, err := s.text.Read(p); err == nil {
		return n, nil
	}
	return 0, &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}
}

func TestReadTimeout(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text, encoding string
		size           int64
	}{
		"small":              {"hello", "", 10},
		"leased":             {"hello", "", 10_000},
		"large":              {"hello", "", 10_000_000},
		"of unknown size":    {"hello", "", -1},
		"before gzip's head": {"", "gzip", -1},
		"within gzip":        {string(packed(t, "hello")[:15]), "gzip", -1},
		"before zstd's head": {"", "zstd", -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", io.NopCloser(stalled{strings.NewReader(test.text)}))
			r.ContentLength = test.size
			if test.encoding != "" {
				r.Header.Set("Content-Encoding", test.encoding)
			}
			_, _, err := Read(httptest.NewRecorder(), r, nil, "")
			e, ok := apierror.From(err)
			if !ok || e.Status != http.StatusRequestTimeout || e.Code != "request_timeout" || e.NoRetry {
				t.Errorf("%v, want a 408", err)
			}
			if h, ok := errors.AsType[caddyhttp.HandlerError](err); !ok || h.StatusCode != http.StatusRequestTimeout {
				t.Errorf("%v has no status for Caddy", err)
			}
		})
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body     io.Reader
		encoding string
		status   int // 0: the body is accepted
	}{
		"plain":                    {strings.NewReader("hello"), "", 0},
		"gzip":                     {bytes.NewReader(packed(t, "hello")), "gzip", 0},
		"no gzip":                  {strings.NewReader("hello"), "gzip", http.StatusBadRequest},
		"cut off":                  {bytes.NewReader(packed(t, "hello")[:20]), "gzip", http.StatusBadRequest},
		"unknown":                  {strings.NewReader("hello"), "br", http.StatusUnsupportedMediaType},
		"large":                    {io.LimitReader(&endless{text: []byte("x")}, Max+1), "", http.StatusRequestEntityTooLarge},
		"endless":                  {&endless{text: []byte("x")}, "", http.StatusRequestEntityTooLarge},
		"unpacks to much":          {&endless{text: packed(t, strings.Repeat("x", 1<<20))}, "gzip", http.StatusRequestEntityTooLarge},
		"unpacks to nothing":       {&endless{text: packed(t, "")}, "gzip", http.StatusRequestEntityTooLarge},
		"zstd of empty frames":     {&endless{text: []byte{0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0}}, "zstd", http.StatusRequestEntityTooLarge},
		"zstd that is none":        {strings.NewReader("hello"), "zstd", http.StatusBadRequest},
		"gzip by its old name":     {bytes.NewReader(packed(t, "hello")), "X-Gzip", 0},
		"identity is not a coding": {strings.NewReader("hello"), "identity", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", io.NopCloser(test.body))
			r.ContentLength = -1
			r.Header.Set("Content-Encoding", test.encoding)
			text, lease, err := Read(httptest.NewRecorder(), r, nil, "")
			defer lease.Give()
			if test.status == 0 {
				if err != nil || string(text) != "hello" {
					t.Errorf("%q, %v", text, err)
				}
				return
			}
			if e, ok := errors.AsType[caddyhttp.HandlerError](err); !ok || e.StatusCode != test.status {
				t.Errorf("%d bytes, %v, want %d", len(text), err, test.status)
			}
			if source, ok := test.body.(*endless); ok && source.read > Max+1<<20 {
				t.Errorf("%d bytes were read", source.read)
			}
		})
	}
}

// TestReadTakesMemory checks that a body takes about as much memory as it needs until its lease is returned. Without
// free memory the error is a 503 with a Retry-After.
func TestReadTakesMemory(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	for name, test := range map[string]struct {
		body     io.Reader
		length   int64
		encoding string
	}{
		"very small":       {&endless{text: []byte("x")}, 40 << 10, ""},
		"small":            {&endless{text: []byte("x")}, 100 << 10, ""},
		"large":            {&endless{text: []byte("x")}, size, ""},
		"of unknown size":  {io.LimitReader(&endless{text: []byte("x")}, size), -1, ""},
		"much in a little": {bytes.NewReader(packed(t, strings.Repeat("x", size))), -1, "gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			budget := memory.New(3 * size)
			other := budget.Share("")
			read := func() ([]byte, *wire.Lease, error) {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", io.NopCloser(test.body))
				r.ContentLength = test.length
				if test.encoding != "" {
					r.Header.Set("Content-Encoding", test.encoding)
				}
				return Read(httptest.NewRecorder(), r, budget, "")
			}
			text, lease, err := read()
			if err != nil || budget.Taken() < int64(len(text)) || budget.Taken() > 2*int64(len(text)) {
				t.Fatalf("%d bytes took %d, %v", len(text), budget.Taken(), err)
			}
			if err := other.Grow(t.Context(), budget.Size()-budget.Taken()); err != nil {
				t.Fatal(err)
			}
			if seeker, ok := test.body.(io.Seeker); ok {
				_, _ = seeker.Seek(0, io.SeekStart)
			} else if test.length < 0 {
				test.body = io.LimitReader(&endless{text: []byte("x")}, size)
			}
			_, none, err := read()
			e, ok := apierror.From(err)
			if !ok || e.Status != http.StatusServiceUnavailable || e.RetryAfter <= 0 || none != nil {
				t.Errorf("when it is full: %v", err)
			}
			other.Free()
			lease.Give()
			if budget.Taken() != 0 {
				t.Errorf("%d bytes stay taken", budget.Taken())
			}
		})
	}
}

// TestSlowBody checks that a body of any size must arrive at the minimum pace, and that its time limit ends with the
// body.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{5, 5000, 2 << 20, -1} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", io.LimitReader(&endless{text: []byte("x")}, max(size, 5)))
		r.ContentLength = size
		w := inboundtest.New()
		if _, _, err := Read(w, r, nil, ""); err != nil || !w.Paced() {
			t.Errorf("%d bytes: %v, paced %t", size, err, w.Paced())
		}
	}
}

// TestWindowTakesMemory checks that the window that zstd needs to decompress a body counts as taken memory.
func TestWindowTakesMemory(t *testing.T) {
	t.Parallel()
	budget := memory.New(maxZstdWindow)
	other := budget.Share("")
	if err := other.Grow(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("hello"))
	r.ContentLength = -1
	r.Header.Set("Content-Encoding", "zstd")
	_, _, err := Read(httptest.NewRecorder(), r, budget, "")
	if e, ok := apierror.From(err); !ok || e.Status != http.StatusServiceUnavailable || budget.Taken() != 1 {
		t.Errorf("%v, %d bytes are taken", err, budget.Taken())
	}
}

// TestContentLengthTakesLittleMemory checks that a large Content-Length alone does not take memory of that size.
func TestContentLengthTakesLittleMemory(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{1 << 20, 30 << 20} {
		budget := memory.New(64 << 20)
		usage := int64(-1)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", io.NopCloser(reading(func() { usage = budget.Taken() })))
		r.ContentLength = size
		if _, _, err := Read(httptest.NewRecorder(), r, budget, ""); err == nil || usage < 0 || usage > initialRead || budget.Taken() != 0 {
			t.Errorf("a Content-Length of %d took %d bytes, %v, and %d remain taken", size, usage, err, budget.Taken())
		}
	}
}

// reading is an empty body that calls a function when it is read.
type reading func()

func (r reading) Read([]byte) (int, error) {
	r()
	return 0, io.ErrUnexpectedEOF
}
