// Package translate provides the middleware that lets clients of one model API use a server with a different model API.
package translate

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/formats"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/memory"
	"github.com/tollgate-gateway/tollgate/modules/body"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

func init() {
	caddy.RegisterModule(Handler{})
}

// Handler lets clients of the messages API, the Responses API or Amazon Bedrock's Converse API use a server that has
// only chat completions. It translates requests, answers and streams, including tools, images and reasoning. Put
// `api_errors` of the same format around it.
//
// In front of `reverse_proxy`, requests are passed on as chat completions: requests to …/messages or …/responses to
// …/chat/completions, and requests to …/model/{model}/converse or …/converse-stream to …/v1/chat/completions. Requests
// to …/messages/count_tokens and …/responses/input_tokens are answered here with an estimate. In front of `cascade`
// nothing is converted here. The cascade takes the client's original request and answers in the client's format, so
// that a provider with the same format gets the request unchanged. The cascade can also count tokens itself; use a
// matcher to keep those paths from this handler.
//
// The answer's header x-gateway-dropped-params lists fields of the request that were not sent to the server. Requests
// to other paths pass unchanged.
//
// If a server answers a request for a stream with a complete answer, the client gets the answer as events. Invalid
// UTF-8 becomes U+FFFD.
//
// A server may answer before it has read the request. An early error is passed on at once, in the client's format; any
// other answer waits until the request is converted. The answer of a handler that never reads the body passes
// unchanged.
//
// Errors: 400 with the JSON path for a request that cannot be translated; 408, 413 and 415 for the body, and 503 if
// there is no memory for the body; 502 for a redirect and for an answer that cannot be read. An error of the server
// keeps its status.
type Handler struct {
	// Formats are the formats that clients may use: "converse", "messages", "responses" or several. Required.
	Formats []hub.Format `json:"formats,omitempty"`

	// Model is the model name that is sent to the server instead of the client's. Default: the client's.
	Model string `json:"model,omitempty"`

	// Reasoning means that the server knows reasoning_effort. Default: the field is not sent, because servers without
	// reasoning models refuse it.
	Reasoning bool `json:"reasoning,omitempty"`

	sealer  *hub.Sealer
	memory  *memory.Budget
	release func() error
}

// CaddyModule returns the Caddy module information.
func (Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.translate",
		New: func() caddy.Module { return new(Handler) },
	}
}

// tokenKey encrypts reasoning state that clients store and send back. A chat server has no such state that must survive
// a restart, so the key lives as long as the process.
var tokenKey = func() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails since Go 1.24
	return key
}()

// Provision creates the objects that all requests share.
func (h *Handler) Provision(caddy.Context) (err error) {
	if h.memory, h.release, err = tollgate.TakeMemory(); err != nil {
		return err
	}
	h.sealer, err = hub.NewSealer(tokenKey)
	return err
}

// translatable are the formats that can be translated: all formats except chat completions, which the server has. names
// lists them for error messages.
var (
	translatable = slices.DeleteFunc(slices.Clone(formats.All()), func(f formats.Format) bool {
		return f == formats.Chat()
	})
	names = formats.Names(translatable, func(f *hub.Facts) string { return string(f.Name) })
)

// Validate checks the formats.
func (h *Handler) Validate() error {
	if len(h.Formats) == 0 {
		return errors.New("formats: name at least one of " + names)
	}
	for i, f := range h.Formats {
		if !slices.ContainsFunc(translatable, func(t formats.Format) bool { return t.Facts().Name == f }) {
			return fmt.Errorf("format %q cannot be translated; there are: %s", f, names)
		}
		if slices.Contains(h.Formats[:i], f) {
			return fmt.Errorf("format %q is given twice", f)
		}
	}
	return nil
}

// Cleanup releases the handler's reference to the memory budget, which requests in progress may still use.
func (h *Handler) Cleanup() error {
	if h.release == nil {
		return nil
	}
	return h.release()
}

// ServeHTTP translates POST requests to the paths of the configured formats and passes on all others.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	if r.Method != http.MethodPost {
		return next.ServeHTTP(w, r)
	}
	place, ok := formats.At(r.URL.Path)
	if !ok || !slices.Contains(h.Formats, place.Format.Facts().Name) {
		return next.ServeHTTP(w, r)
	}
	if counter, ok := place.Format.(formats.Counter); ok && place.Count {
		return h.count(w, r, counter, &place)
	}
	return h.translate(w, r, next, &place)
}

// translate passes the request on as a chat completion, to the chat completions path with the same base as the
// request's path.
func (h *Handler) translate(
	w http.ResponseWriter, r *http.Request, next caddyhttp.Handler, place *formats.Place,
) error {
	t := &translation{
		handler: h, Offer: body.Offer{Request: r, Format: place.Format}, options: h.options(r, place), client: w,
	}
	chatRequest := t.With(r)
	target := *r.URL
	chat := formats.Chat().Facts()
	target.Path, target.RawPath = place.Base+chat.Path, ""
	if place.Format.Facts().Base == "" {
		target.Path = place.Base + chat.Base + chat.Path
	}
	chatRequest.URL = &target
	chatRequest.RequestURI = target.RequestURI()
	chatRequest.Header = r.Header.Clone()
	for _, name := range []string{"Accept-Encoding", "Content-Encoding", "Content-Length"} {
		chatRequest.Header.Del(name)
	}
	for _, f := range formats.All() {
		for _, name := range f.Facts().Header {
			chatRequest.Header.Del(name)
		}
	}
	chatRequest.Header.Set("Content-Type", "application/json")
	chatRequest.Body, chatRequest.ContentLength, chatRequest.GetBody = &converted{t: t}, -1, nil
	answer := &writer{
		ResponseWriterWrapper: &caddyhttp.ResponseWriterWrapper{ResponseWriter: w}, t: t, share: h.memory.Share(""),
	}
	defer t.release()
	defer answer.release() // first, because a timer may be writing with the conversion
	return answer.finish(answer.serve(next, chatRequest))
}

// options returns the options for reading a request at a place.
func (h *Handler) options(r *http.Request, place *formats.Place) hub.ReadOptions {
	o := place.Options(r.Header)
	o.Open = h.open
	return o
}

// open decrypts a token of reasoning state.
func (h *Handler) open(token string) (hub.State, bool) { return h.sealer.Open("", token) }

// count answers a request to count tokens with an estimate.
func (h *Handler) count(w http.ResponseWriter, r *http.Request, format formats.Counter, place *formats.Place) error {
	text, lease, err := body.Read(w, r, h.memory, "")
	if err != nil {
		return err
	}
	defer lease.Give()
	request, err := format.ReadCount(text, h.options(r, place))
	if err == nil {
		_, err = h.writeChat(request) // a request that cannot be translated is not counted either
	}
	if err != nil {
		return statusError(err)
	}
	return body.WriteCount(w, format, hub.CountTokens(request))
}

// translation is the state of one request that is being translated.
type translation struct {
	handler *Handler
	body.Offer
	options hub.ReadOptions
	client  http.ResponseWriter

	// The transport of reverse_proxy reads the body in a goroutine of its own, and the server may answer before the
	// body has been read. So both the reader and the writer of the answer call convert, and the first call converts.
	bodyRequested atomic.Bool // a later handler has begun to read the body, or has closed it
	once          sync.Once
	conversion    atomic.Pointer[conversion]

	mu    sync.Mutex  // guards ended and lease: the transport may still convert when the request ends
	ended bool        // the conversion is no longer needed
	lease *wire.Lease // memory of the client's body and of its conversion
}

// hold keeps the memory of the body until release is called. If release was called already, hold frees the memory.
func (t *translation) hold(lease *wire.Lease) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		lease.Give()
		return
	}
	t.lease = lease
}

// release frees the memory of the body.
func (t *translation) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.lease.Give()
	t.lease = nil
}

// fromServer reports whether an answer comes from a chat server, and not from a handler that never reads the body.
func (t *translation) fromServer(status int) bool {
	if t.bodyRequested.Load() {
		return true
	}
	if status >= 300 && status < 400 { // for example a redirect to a login page before the server
		return false
	}
	// The server may have answered before any part of the body was read. Then only the placeholder
	// http.reverse_proxy.status_code, which reverse_proxy sets, shows that the answer comes from a server.
	repl, ok := t.Request.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	if !ok {
		return false
	}
	_, proxied := repl.Get("http.reverse_proxy.status_code")
	return proxied
}

// converted is the body of the chat completion. The first Read converts the client's request.
type converted struct {
	t    *translation
	body io.Reader
}

// Read implements io.Reader.
func (c *converted) Read(p []byte) (int, error) {
	if c.body == nil {
		c.t.bodyRequested.Store(true)
		result := c.t.convert()
		if result.err != nil {
			return 0, result.err
		}
		c.body = bytes.NewReader(result.body)
	}
	return c.body.Read(p)
}

// Close does not close the client's body, because the answer may still need the conversion. The HTTP server closes the
// body later.
func (c *converted) Close() error {
	c.t.bodyRequested.Store(true)
	return nil
}

// statusError gives err the HTTP status with which api_errors will answer, so that Caddy knows it too. If err has no
// status, it is a fault of the request and gets the status 400.
func statusError(err error) error {
	if e, ok := apierror.From(err); ok {
		return caddyhttp.Error(e.Status, err)
	}
	if _, ok := errors.AsType[caddyhttp.HandlerError](err); ok {
		return err
	}
	return caddyhttp.Error(http.StatusBadRequest, err)
}

// Interface guards
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddy.Validator             = (*Handler)(nil)
	_ caddy.CleanerUpper          = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
	_ io.ReadCloser               = (*converted)(nil)
)
