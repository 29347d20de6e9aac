// Package translate is the middleware that puts clients of one model API in
// front of a server that speaks another.
package translate

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/messages"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/responses"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/memory"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/modules/body"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

func init() {
	caddy.RegisterModule(Handler{})
}

// Handler lets clients of the messages or the Responses API use a server that
// speaks chat completions: it translates requests, answers and streams, tools,
// images and reasoning included. Put `api_errors` of the same format around it.
//
// In front of `reverse_proxy`, a request to …/messages or …/responses goes on as a
// chat completion to …/chat/completions, and …/messages/count_tokens is answered
// here by an estimate. In front of `cascade` nothing is converted here: the
// cascade takes the client's own bytes and answers in the client's format, so that
// a provider that speaks it natively gets them as they are.
//
// Fields of the request that the server does not get are named in the header
// x-gateway-dropped-params of the answer. Requests to other paths pass untouched.
//
// A server that answers a request for a stream with a whole answer is no trouble: the
// client gets the events of it. Bytes that are no UTF-8 become U+FFFD.
//
// A server may answer before it has read the request: its refusal is told in the
// client's format at once, an answer waits until the request is converted. What
// another handler answers without a look at the body passes untouched.
//
// Errors: 400 for what cannot be translated, with the JSON path; 408, 413 and 415
// for the body, 503 when there is no memory for it; an error of the server keeps its status; 502 for a redirect and for
// an answer that cannot be read.
type Handler struct {
	// Formats are what clients may speak: "messages", "responses" or both.
	// Required.
	Formats []hub.Format `json:"formats,omitempty"`

	// Model is sent to the server whatever the client asked for. Default: the
	// client's.
	Model string `json:"model,omitempty"`

	// Reasoning: the server knows reasoning_effort. Default: it is not sent,
	// since servers without reasoning models refuse it.
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

// tokenKey seals reasoning marks. Chat servers have no state that must survive,
// so the key lives as long as the process.
var tokenKey = func() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails since Go 1.24
	return key
}()

// Provision makes what all requests share.
func (h *Handler) Provision(caddy.Context) (err error) {
	if h.memory, h.release, err = tollgate.TakeMemory(); err != nil {
		return err
	}
	h.sealer, err = hub.NewSealer(tokenKey)
	return err
}

// Validate checks the formats.
func (h *Handler) Validate() error {
	if len(h.Formats) == 0 {
		return errors.New("formats: there must be one of messages, responses")
	}
	for i, f := range h.Formats {
		if f != hub.Messages && f != hub.Responses {
			return fmt.Errorf("format %q cannot be translated; there are: messages, responses", f)
		}
		if slices.Contains(h.Formats[:i], f) {
			return fmt.Errorf("format %q is given twice", f)
		}
	}
	return nil
}

// Cleanup gives the memory back; requests under way go on with it.
func (h *Handler) Cleanup() error {
	if h.release == nil {
		return nil
	}
	return h.release()
}

const countTokens = "/messages/count_tokens"

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	if r.Method != http.MethodPost {
		return next.ServeHTTP(w, r)
	}
	for _, format := range h.Formats {
		if base, ok := strings.CutSuffix(r.URL.Path, "/"+string(format)); ok {
			return h.translate(w, r, next, format, base)
		}
		if format == hub.Messages && strings.HasSuffix(r.URL.Path, countTokens) {
			return h.count(w, r)
		}
	}
	return next.ServeHTTP(w, r)
}

// translate sends the request on as a chat completion below base.
func (h *Handler) translate(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler, format hub.Format, base string) error {
	t := &translation{handler: h, format: format, original: r, client: w}
	caddyhttp.SetVar(r.Context(), original, t)
	out := r.WithContext(r.Context())
	target := *r.URL
	target.Path, target.RawPath = base+"/chat/completions", ""
	out.URL = &target
	out.RequestURI = target.RequestURI()
	out.Header = r.Header.Clone()
	for _, name := range []string{"Accept-Encoding", "Content-Encoding", "Content-Length", "Anthropic-Version", "Anthropic-Beta"} {
		out.Header.Del(name)
	}
	out.Header.Set("Content-Type", "application/json")
	out.Body, out.ContentLength, out.GetBody = &converted{t: t}, -1, nil
	answer := &writer{ResponseWriterWrapper: &caddyhttp.ResponseWriterWrapper{ResponseWriter: w}, t: t, share: h.memory.Share()}
	defer t.release()
	defer answer.release()
	return answer.finish(answer.serve(next, out))
}

// read reads a request of the client's format.
func (h *Handler) read(text []byte, r *http.Request, format hub.Format) (*hub.Request, error) {
	options := hub.ReadOptions{Version: r.Header.Get("Anthropic-Version"), Open: h.open}
	if format == hub.Messages {
		return messages.Read(text, options)
	}
	return responses.Read(text, options)
}

func (h *Handler) open(token string) (hub.State, bool) { return h.sealer.Open("", token) }

// count answers …/messages/count_tokens.
func (h *Handler) count(w http.ResponseWriter, r *http.Request) error {
	text, lease, err := body.Read(w, r, h.memory)
	if err != nil {
		return err
	}
	defer lease.Give()
	ask, err := messages.ReadCount(text, hub.ReadOptions{Version: r.Header.Get("Anthropic-Version"), Open: h.open})
	if err == nil {
		_, err = h.write(ask) // what cannot be asked is not counted either
	}
	if err != nil {
		return statusError(err)
	}
	return WriteCount(w, hub.CountTokens(ask))
}

// WriteCount writes the answer of count_tokens.
func WriteCount(w http.ResponseWriter, tokens int64) error {
	answer := strconv.AppendInt([]byte(`{"input_tokens":`), tokens, 10)
	answer = append(answer, '}')
	rest.NoSniff(w.Header())
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	_, err := w.Write(answer)
	return err
}

// original is the request variable that holds the translation under way.
const original = "tollgate.translate"

// translation is one request on its way through.
type translation struct {
	handler  *Handler
	format   hub.Format
	original *http.Request
	client   http.ResponseWriter
	taken    bool

	// The transport of reverse_proxy reads the body on a goroutine of its own, and
	// its server may answer before that is through.
	begun atomic.Bool // somebody behind reads the body, or has closed it
	once  sync.Once
	made  atomic.Pointer[conversion]

	mu    sync.Mutex
	ended bool        // nobody needs what was converted
	held  *wire.Lease // of the client's body, and for what was made of it
}

// hold keeps the memory of the body until release, which may have been before.
func (t *translation) hold(lease *wire.Lease) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		lease.Give()
		return
	}
	t.held = lease
}

func (t *translation) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.held.Give()
	t.held = nil
}

// Take hands the client's own request to a handler that answers in the client's
// format: from now on nothing is translated here. ok is false when r is not to
// be translated at all.
func Take(r *http.Request) (client *http.Request, format hub.Format, ok bool) {
	t, ok := caddyhttp.GetVar(r.Context(), original).(*translation)
	if !ok {
		return r, hub.Chat, false
	}
	t.taken = true
	return t.original, t.format, true
}

// behind reports whether an answer is that of a chat server, and not of a handler
// that never looks at the body.
func (t *translation) behind(status int) bool {
	if t.begun.Load() {
		return true
	}
	if status >= 300 && status < 400 { // of a login page before the server
		return false
	}
	// A server that answers at once: nothing of the body may be read yet.
	repl, ok := t.original.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	if !ok {
		return false
	}
	_, proxied := repl.Get("http.reverse_proxy.status_code")
	return proxied
}

// converted is the body of the chat completion; it is made when somebody reads it.
type converted struct {
	t    *translation
	body io.Reader
}

func (c *converted) Read(p []byte) (int, error) {
	if c.body == nil {
		c.t.begun.Store(true)
		made := c.t.convert()
		if made.err != nil {
			return 0, made.err
		}
		c.body = bytes.NewReader(made.body)
	}
	return c.body.Read(p)
}

// Close leaves the client's body open, which the server closes: its answer may need
// the conversion still.
func (c *converted) Close() error {
	c.t.begun.Store(true)
	return nil
}

// statusError gives Caddy the status of an error that api_errors will render.
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
