package cascade

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Inside is the cascade for a service of the same configuration, which asks it without a
// connection: a transport for POST /v1/chat/completions, not as a stream, and for
// POST /v1/embeddings, at any host. A user's models answer, with the same fallbacks,
// metrics and rows of usage as for who comes with a key; there are no limits of a key and
// no budgets. ctx is that of the module that is being provisioned.
func Inside(ctx caddy.Context, user string) (http.RoundTripper, error) {
	h := &Handler{Anonymous: user}
	if err := h.Provision(ctx); err != nil {
		return nil, err
	}
	return &inside{h}, nil
}

type inside struct{ *Handler }

// mostInside bounds an answer, which is held whole, in bytes.
const mostInside = 16 << 20

// RoundTrip implements http.RoundTripper. A refusal is an answer with a status and a
// sentence, as one of the gateway over HTTP is.
func (i *inside) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }() // as a transport has to
	}
	w := &answerWriter{header: make(http.Header), status: http.StatusOK}
	err := i.ServeHTTP(w, r, nil)
	if refusal, ok := apierror.From(err); ok {
		text, wrong := json.Marshal(map[string]any{"error": map[string]any{"code": refusal.Code, "message": refusal.Message}})
		if wrong != nil {
			return nil, wrong
		}
		w.status, w.body = refusal.Status, *bytes.NewBuffer(text)
		w.header.Set("Content-Type", "application/json")
	} else if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: w.header,
		Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// answerWriter takes an answer.
type answerWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *answerWriter) Header() http.Header { return w.header }

func (w *answerWriter) WriteHeader(status int) { w.status = status }

func (w *answerWriter) Write(text []byte) (int, error) {
	if w.body.Len()+len(text) > mostInside {
		return 0, fmt.Errorf("the answer is longer than %d bytes", mostInside)
	}
	return w.body.Write(text)
}
