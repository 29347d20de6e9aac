package rest

import (
	"net/http"
	"strconv"
	"sync"
)

// Published is an OpenAPI document that is built once and served with an entity tag.
type Published struct {
	make func() ([]byte, error)

	once sync.Once
	text []byte
	tag  string
	err  error
}

// Publish returns a Published for the JSON that document makes. document is called once, at the first use.
func Publish(document func() ([]byte, error)) *Published { return &Published{make: document} }

// Text returns the document. The first call builds it.
func (p *Published) Text() ([]byte, error) {
	p.once.Do(func() {
		p.text, p.err = p.make()
		p.tag = ETag(p.text)
	})
	return p.text, p.err
}

// Serve serves a route as its Route.Serve: it returns the Published, which writes the answer, or the error of Text.
func (p *Published) Serve(*Call) (any, error) {
	_, err := p.Text()
	return http.Handler(p), err
}

// ServeHTTP answers with the document, or with 304 if the client already has it. If Text fails it answers with 500.
func (p *Published) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := p.Text()
	if err != nil {
		http.Error(w, "the OpenAPI document could not be built", http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("ETag", p.tag)
	header.Set("Cache-Control", "public, max-age=300")
	if unchanged(r, p.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Type", "application/json")
	NoSniff(header)
	header.Set("Content-Length", strconv.Itoa(len(text)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(text) // the client may be gone
	}
}
