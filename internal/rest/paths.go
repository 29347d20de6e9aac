package rest

import (
	"net/http"
	"strings"
)

// Paths maps the path of a request to a value, by patterns of http.ServeMux without method and host. The zero value has
// no patterns.
type Paths[T any] struct {
	mux *http.ServeMux
	// firstSegments has the first segments of all patterns, so that a request with another first segment is rejected
	// without the mux.
	firstSegments map[string]struct{}
	wild          bool // one of the first segments is a wildcard
}

// Add adds a pattern with its value. It panics if the pattern conflicts with another pattern.
func (p *Paths[T]) Add(pattern string, value T) {
	if p.mux == nil {
		p.mux, p.firstSegments = http.NewServeMux(), make(map[string]struct{})
	}
	p.mux.Handle(pattern, valueHandler[T]{value})
	segment := firstSegment(pattern)
	p.firstSegments[segment] = struct{}{}
	p.wild = p.wild || strings.HasPrefix(segment, "{")
}

// Find returns the value for the path of a request and sets the request's path values. ok is false if no pattern
// matches. A path that would match only after cleaning does not match.
func (p *Paths[T]) Find(r *http.Request) (value T, ok bool) {
	if _, known := p.firstSegments[firstSegment(r.URL.Path)]; !known && !p.wild || p.mux == nil {
		return value, false
	}
	var f finder[T]
	p.mux.ServeHTTP(&f, r)
	if f.ok {
		return f.value, true
	}
	r.Pattern = "" // set by the mux for a redirect
	return value, false
}

// firstSegment returns the first segment of a path.
func firstSegment(path string) string {
	segment, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return segment
}

// valueHandler is the handler of a pattern in the mux. Its ServeHTTP stores the pattern's value in the finder, which is
// passed to it as the ResponseWriter.
type valueHandler[T any] struct{ value T }

// ServeHTTP implements http.Handler.
func (h valueHandler[T]) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	f := w.(*finder[T])
	f.value, f.ok = h.value, true
}

// finder receives the value of a valueHandler. It discards everything that the mux writes.
type finder[T any] struct {
	value  T
	ok     bool
	header http.Header
}

// Header implements http.ResponseWriter.
func (f *finder[T]) Header() http.Header {
	if f.header == nil {
		f.header = make(http.Header)
	}
	return f.header
}

// Write implements http.ResponseWriter.
func (*finder[T]) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader implements http.ResponseWriter.
func (*finder[T]) WriteHeader(int) {}
