package scriptedmodel

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// discard is a ResponseWriter that throws everything away.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}
func (d discard) FlushError() error           { return nil }

func benchmark(b *testing.B, body string) {
	s := New(Options{})
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
		s.ServeHTTP(discard{make(http.Header)}, r)
	}
}

func BenchmarkWhole1KB(b *testing.B) {
	benchmark(b, chatBody("scripted?text=0123456+&repeat=128", "hello", ""))
}

func BenchmarkStream100(b *testing.B) {
	benchmark(b, chatBody("scripted?text=0123456+&repeat=100", "hello", `,"stream":true`))
}

func BenchmarkStream100Unflushed(b *testing.B) {
	benchmark(b, chatBody("scripted?text=0123456+&repeat=100&flush=0", "hello", `,"stream":true`))
}

func BenchmarkDefault(b *testing.B) {
	benchmark(b, chatBody("scripted", "hello", ""))
}
