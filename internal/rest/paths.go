package rest

import (
	"net/http"
	"strings"
)

// Paths finds what belongs to the path of a request, by patterns of http.ServeMux
// without method and host. The zero value has none.
type Paths[T any] struct {
	mux *http.ServeMux
	// heads are the first segments of all patterns, so that a request for something
	// else costs nothing.
	heads map[string]struct{}
	wild  bool // one of them is a wildcard
}

// Add adds a pattern. It panics where that collides with another one.
func (p *Paths[T]) Add(pattern string, what T) {
	if p.mux == nil {
		p.mux, p.heads = http.NewServeMux(), make(map[string]struct{})
	}
	p.mux.Handle(pattern, place[T]{what})
	name := head(pattern)
	p.heads[name] = struct{}{}
	p.wild = p.wild || strings.HasPrefix(name, "{")
}

// Find finds what the path of a request is of; a path that only a cleaner one would
// be of is none. The request has the values of the path's wildcards then.
func (p *Paths[T]) Find(r *http.Request) (what T, ok bool) {
	if _, known := p.heads[head(r.URL.Path)]; !known && !p.wild || p.mux == nil {
		return what, false
	}
	var f finder[T]
	p.mux.ServeHTTP(&f, r)
	if f.ok {
		return f.what, true
	}
	r.Pattern = "" // of a redirect
	return what, false
}

// head is the first segment of a path.
func head(path string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return name
}

// place is what stands at a pattern. It writes itself down.
type place[T any] struct{ what T }

func (p place[T]) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	f := w.(*finder[T])
	f.what, f.ok = p.what, true
}

// finder is where a place writes itself down. What the mux answers goes nowhere.
type finder[T any] struct {
	what   T
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
