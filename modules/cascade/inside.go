package cascade

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2"
	"go.opentelemetry.io/otel/trace"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/modules/gateway"
)

// Inside is the cascade for a service of the same configuration, which asks it without a
// connection: a transport for POST /v1/chat/completions, not as a stream, and for
// POST /v1/embeddings, at any host. A user's models answer, with the same fallbacks,
// metrics and rows of usage as for who comes with a key, and an entry that fails is
// replaced by its tier. A key, in the place of the user, has its own user, whose budgets of
// that key and allowed models count; requests a minute do not. ctx is that of the module
// that is being provisioned.
func Inside(ctx caddy.Context, user, key string) (http.RoundTripper, error) {
	h := &Handler{Anonymous: cmp.Or(user, ofKey), EntryFallback: true}
	if err := h.Provision(ctx); err != nil {
		return nil, err
	}
	return &inside{h, key}, nil
}

// ofKey stands for the user of a key until it is asked.
const ofKey = "key"

type inside struct {
	*Handler
	key string // empty: the user is named
}

// leastPatience is how long a model has at least for an answer; it has half of the time
// that is left, so that another one can be asked.
const leastPatience = 5 * time.Second

// asking is the handler for one request.
func (i *inside) asking(ctx context.Context) (*Handler, error) {
	h := *i.Handler
	if end, ok := ctx.Deadline(); ok {
		patience := max(time.Until(end)/2, leastPatience)
		h.options.Answer = catalog.PerTier{Low: patience, Medium: patience, High: patience}
	}
	if i.key == "" {
		return &h, nil
	}
	kept, err := h.app.Gateway()
	if err != nil {
		return nil, err
	}
	h.anonymous, err = kept.Keychain.Authenticate(ctx, i.key)
	return &h, gateway.Unavailable(err)
}

// apart is a request's context without what is known of the client: the key that a client
// of the service has shown, or the name of its request, are not those of what the service
// asks. Its span is.
type apart struct{ context.Context } //nolint:containedctx // it is one

func (apart) Value(any) any { return nil }

// mostInside bounds an answer, which is held whole, in bytes.
const mostInside = 16 << 20

// RoundTrip implements http.RoundTripper. A refusal is an answer with a status and a
// sentence, as one of the gateway over HTTP is.
func (i *inside) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }() // as a transport has to
	}
	w := &answerWriter{header: make(http.Header), status: http.StatusOK}
	ctx := trace.ContextWithSpan(apart{r.Context()}, trace.SpanFromContext(r.Context()))
	h, err := i.asking(ctx)
	if err == nil {
		err = h.ServeHTTP(w, r.WithContext(ctx), nil)
	}
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
