package cascade

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/caddyserver/caddy/v2"
	"go.opentelemetry.io/otel/trace"

	"github.com/tollgate-gateway/tollgate/backends/gateway"
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Inside returns an http.RoundTripper that calls the cascade within the process, for another service of the
// configuration. It accepts POST /v1/chat/completions without streaming and POST /v1/embeddings, at any host. Requests
// are answered by the models of user, or of the owner of the gateway key, with the same fallbacks, metrics and usage
// log as for clients. Only one of user and key is set. If a requested model entry fails, other models of its tier are
// tried. The budgets and allowed models of key apply, but not its limit of requests per minute. ctx is the context of
// the module that is being provisioned.
func Inside(ctx caddy.Context, user, key string) (http.RoundTripper, error) {
	h := &Handler{Anonymous: cmp.Or(user, userOfKey), EntryFallback: true}
	if err := h.Provision(ctx); err != nil {
		return nil, err
	}
	return &inside{h, key}, nil
}

// userOfKey stands for the user of a transport with a key. Each request looks up the key's real user.
const userOfKey = "key"

type inside struct {
	*Handler
	key string // empty if the user is named
}

// minAnswerTime is the shortest time limit for a model's answer. The limit is half of the time that remains until the
// request's deadline, so that another model can be tried, but at least minAnswerTime.
const minAnswerTime = 5 * time.Second

// handlerFor returns a copy of the handler for one request. The copy has time limits that suit the deadline of ctx and,
// if the transport has a key, the owner of the key as the user who is charged.
func (i *inside) handlerFor(ctx context.Context) (*Handler, error) {
	h := *i.Handler
	if end, ok := ctx.Deadline(); ok {
		timeLimit := max(time.Until(end)/2, minAnswerTime)
		h.options.Answer = catalog.PerTier{Low: timeLimit, Medium: timeLimit, High: timeLimit}
	}
	if i.key == "" {
		return &h, nil
	}
	gw, err := h.app.Gateway()
	if err != nil {
		return nil, err
	}
	h.anonymous, err = gw.Keychain.Authenticate(ctx, i.key)
	return &h, gateway.Unavailable(err)
}

// detached is a request's context without its values. The values describe a client of the service, such as its key and
// request id, and not the service's own request. RoundTrip adds the trace span again.
type detached struct{ context.Context } // it is a context

// Value returns nil for every key.
func (detached) Value(any) any { return nil }

// maxInside is the maximum size of an answer in bytes. Answers are held in memory.
const maxInside = 16 << 20

// RoundTrip implements http.RoundTripper. A refusal becomes a response with a status and a message, as over HTTP.
func (i *inside) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }() // required of a RoundTripper
	}
	w := &answerWriter{header: make(http.Header), status: http.StatusOK}
	ctx := trace.ContextWithSpan(detached{r.Context()}, trace.SpanFromContext(r.Context()))
	h, err := i.handlerFor(ctx)
	if err == nil {
		err = h.ServeHTTP(w, r.WithContext(ctx), nil)
	}
	if refusal, ok := apierror.From(err); ok {
		body := map[string]any{"error": map[string]any{"code": refusal.Code, "message": refusal.Message}}
		text, marshalErr := json.Marshal(body)
		if marshalErr != nil {
			return nil, marshalErr
		}
		w.status, w.body = refusal.Status, *bytes.NewBuffer(text)
		w.header.Set("Content-Type", "application/json")
	} else if err != nil {
		return nil, err
	}
	return &http.Response{
		Status:     strconv.Itoa(w.status) + " " + http.StatusText(w.status),
		StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// answerWriter collects an answer.
type answerWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *answerWriter) Header() http.Header { return w.header }

func (w *answerWriter) WriteHeader(status int) { w.status = status }

func (w *answerWriter) Write(text []byte) (int, error) {
	if w.body.Len()+len(text) > maxInside {
		return 0, fmt.Errorf("the answer is longer than %d bytes", maxInside)
	}
	return w.body.Write(text)
}
