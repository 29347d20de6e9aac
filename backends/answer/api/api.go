// Package api serves the answer API over HTTP. Every response has the same envelope. A request is checked in this
// order: its path, its key, the services of the key, its body, a free place in the queue, the rate, the quota.
//
// Choices where the specification is silent:
//   - The key is accepted only in the header x-api-key, so that no link carries it.
//   - Reading a source needs a key too, because ingested documents may be licensed to the operator.
//   - A repeated Idempotency-Key gets the stored outcome, even if this is one of the four reasons with status 200.
//     A fault of the service (5xx) is not stored: the key may be used again.
//   - A client that accepts text/event-stream gets the stages of its question as events before the answer
//     (WHATWG HTML, server-sent events): "stage" with {"stage"}, then "answer" with the envelope.
//   - GET /v1/answers/{id} answers 200 for a failed answer: its envelope has the reason.
//   - The member "previous" of a question is the id of an earlier answer of the same account. A company or period
//     that the question leaves out is taken from the question of that answer.
//   - There are routes beyond the contract. GET /v1/openapi.json describes the API and needs no key.
//     GET /v1/answers/{id}/evidence returns the passages that an answer is based on. GET /v1/companies returns the
//     companies of the corpus, and GET /v1/companies/{id} the documents and figures of a company.
package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/answer/accounts"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/library"
	"github.com/tollgate-gateway/tollgate/backends/answer/pipeline"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// Outcome is the result of a question. It has those parts of a pipeline.Outcome that are stored or sent.
type Outcome struct {
	Reason     string // a reason of package pipeline, which is empty for an answer
	Answer     string // Markdown
	References []pipeline.Reference
	Subqueries []pipeline.Subquery
	// Asked is the question that was answered: the query, completed from the question that it follows.
	Asked string
	// Claims are the sentences of Answer with the passages that they are based on.
	Claims []Claim
	// Makeshift reports that a model or a provider was down, so that a better answer may be available later.
	Makeshift bool
	// Trace records for operators how the outcome came about. It is stored as JSON.
	Trace any
}

// Asker answers questions. Ask returns when the context ends. It calls progress when a stage begins, possibly
// from several goroutines at once.
type Asker interface {
	Ask(ctx context.Context, r pipeline.Request, progress func(stage string)) Outcome
}

// Source is a document of the corpus that has no public address.
type Source struct{ Title, Text string }

// Options configure an API.
type Options struct {
	Kernel   *kernel.Server
	Accounts *accounts.Accounts
	Asker    Asker
	Counters counters.Store
	// Keyring returns the keyring that seals stored answers. A nil Keyring stores them in plain text.
	Keyring func() (keyring.Keyring, error)
	// Source returns a document by its id. ok is false if there is no such document or if it has a public
	// address.
	Source func(ctx context.Context, id string) (s Source, ok bool, err error)
	// SourceURL returns the public URL of a document from its URL in the corpus. Default: the same URL.
	SourceURL func(url string) string
	// Library reads the companies of the corpus with their documents and figures.
	Library *library.Library
	// Passages returns the passages with the given ids. Passages that the corpus no longer has are missing.
	Passages func(ctx context.Context, ids []int64) ([]kernel.Passage, error)
	// BaseURL is the public URL of the service, without a slash at its end. Default: the root of its host.
	BaseURL string
	// Running is how many questions are worked on at once, Queued how many more may wait. Default: 16 and 64.
	Running, Queued int
	// Deadline is how long a question may take, including the time it waits. Default: 115s.
	Deadline time.Duration
	// LogQueries writes the questions to the log. Default: false.
	LogQueries bool
	// Observe is called for every question that was accepted, with Answered or the reason why there is no answer. It
	// may be nil.
	Observe func(reason string, took time.Duration)
}

// Answered is the reason that Observe gets for an answer.
const Answered = "Answered"

// API is the HTTP handler of the answer API. Make it with New.
type API struct {
	options Options

	// The semaphores have an element for each taken place. A question first takes a place in admitted, or is refused at
	// once, and then waits for a place in running.
	running  chan struct{} // for Options.Running questions
	admitted chan struct{} // for Options.Running + Options.Queued questions
	waiters  chan struct{} // for requests that wait for an earlier request with the same Idempotency-Key

	ctx  context.Context // for work that outlives its request
	stop context.CancelFunc
	work sync.WaitGroup
}

// New returns an API. Close must be called when it is no longer used.
func New(o Options) *API {
	if o.Running == 0 {
		o.Running = 16
	}
	if o.Queued == 0 {
		o.Queued = 64
	}
	if o.Deadline == 0 {
		o.Deadline = 115 * time.Second
	}
	if o.Observe == nil {
		o.Observe = func(string, time.Duration) {}
	}
	a := &API{
		options: o, running: make(chan struct{}, o.Running), admitted: make(chan struct{}, o.Running+o.Queued),
		waiters: make(chan struct{}, o.Running+o.Queued),
	}
	a.ctx, a.stop = context.WithCancel(context.Background())
	return a
}

// Close cancels the questions that are under way and waits until their outcomes are stored.
func (a *API) Close() {
	a.stop()
	a.work.Wait()
}

// Waiting returns how many questions are being worked on or waiting.
func (a *API) Waiting() int { return len(a.admitted) }

// ServeHTTP serves every path of the API and answers 404 for all others. It authenticates the caller before
// it calls the function of the route. The OpenAPI document needs no key.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest.NoSniff(w.Header())
	w.Header().Set("Cache-Control", "no-store")
	if r.URL.Path == documentPath {
		document.ServeHTTP(w, r)
		return
	}
	route, id, ok := routeOf(r.URL.Path)
	if !ok {
		a.refuse(w, http.StatusNotFound, "NotFound")
		return
	}
	if r.Method != route.Method && (r.Method != http.MethodHead || route.Method != http.MethodGet) {
		w.Header().Set("Allow", route.allow())
		a.refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed")
		return
	}
	caller, err := a.options.Accounts.Caller(r.Context(), r.Header.Get("X-Api-Key"))
	switch {
	case err == nil: // served below
	case r.Context().Err() != nil: // the client has left
		return
	case errors.Is(err, accounts.ErrUnknown):
		a.refuse(w, http.StatusUnauthorized, "Unauthorized")
		return
	default:
		a.unavailable(w, err)
		return
	}
	if rate, err := a.options.Accounts.Rate(r.Context(), caller); err == nil {
		rateHeaders(w.Header(), rate)
	}
	if !caller.May(route.service) {
		a.refuse(w, http.StatusForbidden, "Forbidden")
		return
	}
	route.serve(a, w, r, caller, id)
}

// envelope is the body of every response.
type envelope struct {
	Success bool    `json:"success"`
	Error   *string `json:"error"`
	Result  any     `json:"result"`
}

// write writes an envelope with an HTTP status. An empty reason means success.
func (a *API) write(w http.ResponseWriter, status int, reason string, result any) {
	e := envelope{Success: reason == "", Result: result}
	if reason != "" {
		e.Error = &reason
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(e); err != nil { // never happens: all results are our own types
		a.log().Error("a response of the answer API cannot be encoded as JSON", zap.Error(err))
		status = http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(text.Len()))
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text.String())) // an error means that the client has left
}

// refuse writes an envelope with an HTTP status, a reason and no result.
func (a *API) refuse(w http.ResponseWriter, status int, reason string) {
	a.write(w, status, reason, nil)
}

// unavailable logs an error of the database, the keyring or the counters, and answers 503.
func (a *API) unavailable(w http.ResponseWriter, err error) {
	a.log().Warn("the answer API cannot read or write its data", zap.Error(err))
	w.Header().Set("Retry-After", "1")
	a.refuse(w, http.StatusServiceUnavailable, pipeline.ServiceUnavailable)
}

// failed answers 404 if err means that there is no such answer or company, and 503 for any other error. It returns
// false if err is nil; then nothing was written.
func (a *API) failed(w http.ResponseWriter, err error) bool {
	switch {
	case err == nil:
		return false
	case errors.Is(err, accounts.ErrNoAnswer), errors.Is(err, library.ErrNotFound):
		a.refuse(w, http.StatusNotFound, "NotFound")
	default:
		a.unavailable(w, err)
	}
	return true
}

// log returns the current logger.
func (a *API) log() *zap.Logger { return a.options.Kernel.Logger() }

// rateHeaders sets the headers that describe the rate limit of a key (draft-ietf-httpapi-ratelimit-headers).
func rateHeaders(h http.Header, r accounts.Rate) {
	limit, remaining, reset := strconv.Itoa(r.Limit), strconv.Itoa(r.Remaining), strconv.FormatInt(r.Reset, 10)
	h.Set("X-RateLimit-Limit", limit)
	h.Set("X-RateLimit-Remaining", remaining)
	h.Set("X-RateLimit-Reset", reset)
	h.Set("RateLimit-Policy", `"answer";q=`+limit+`;w=`+strconv.Itoa(int(r.Window.Seconds())))
	h.Set("RateLimit", `"answer";r=`+remaining+`;t=`+reset)
}
