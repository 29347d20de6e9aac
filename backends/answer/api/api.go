// Package api is the answer API over HTTP: one envelope for every answer, and the order in
// which a request is refused: its path, its key, what the key is for, its body, a full
// house, the rate, the quota.
//
// Choices where the specification is silent:
//   - The key stands in x-api-key alone, so that a link never carries it.
//   - Sources need a key too: what was ingested may be licensed to the house.
//   - An Idempotency-Key stands for the outcomes that a client should not ask for again, the
//     four reasons among them; after a fault of the service (5xx) it is free.
//   - Who accepts text/event-stream gets the stages of a question as events before its answer
//     (WHATWG HTML, server-sent events): "stage" with {"stage"}, then "answer" with the envelope.
//   - GET /v1/answers/{id} is 200 for an answer that failed: its envelope tells how.
//   - The member "previous" of a question names an own answer that it follows: company and period that it leaves out are taken from there.
//   - Beside the contract stand what an answer stands on (GET /v1/answers/{id}/evidence) and what is held (GET /v1/companies, /v1/companies/{id}).
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
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// Reference is a document that an answer stands on.
type Reference struct {
	Title string `json:"title"`
	URL   string `json:"url"`
}

// Subquery is a part of a question with an answer of its own.
type Subquery struct {
	Query      string      `json:"query"`
	Answer     string      `json:"answer"`
	References []Reference `json:"references"`
}

// Outcome is what became of a question.
type Outcome struct {
	Reason     string // empty: there is an answer
	Answer     string // Markdown
	References []Reference
	Subqueries []Subquery
	// Asked is the question that was answered: the one that was sent, with what it takes from the one that it follows.
	Asked string
	// Claims are the sentences of Answer with what they stand on.
	Claims []Claim
	// Makeshift tells that a better one may come soon: a model was down, or a provider.
	Makeshift bool
	// Trace is how it came about, for operators; it is kept as JSON.
	Trace any
}

// Question is what a client asks.
type Question struct {
	Text string
	// Force answers what is not about investments too.
	Force bool
	// Previous is the question that this one follows, as Outcome.Asked has it. Empty for one that stands alone.
	Previous string
}

// Reasons of an Outcome that are no fault: 200, success false.
const (
	ContentFiltered      = "ContentFiltered"
	NonInvestmentRelated = "NonInvestmentRelated"
	ShouldUseScreener    = "ShouldUseScreener"
	FailedToAnswer       = "FailedToAnswer"
)

// Reasons that are one.
const (
	Timeout            = "Timeout"            // 504
	ServiceUnavailable = "ServiceUnavailable" // 503
	InternalError      = "InternalError"      // 500
	Canceled           = "Canceled"           // the client has left
)

// Asker answers questions. It returns when the context ends. progress is told each stage as
// it begins, perhaps of several parts of a question at once.
type Asker interface {
	Ask(ctx context.Context, q Question, progress func(stage string)) Outcome
}

// Source is a document of the corpus that has no public address.
type Source struct{ Title, Text string }

// Options are what the API is made of.
type Options struct {
	Kernel   *kernel.Server
	Accounts *accounts.Accounts
	Asker    Asker
	Counters counters.Store
	// Keyring gives what seals what is stored; nil: it is stored as it is.
	Keyring func() (keyring.Keyring, error)
	// Source finds a document; ok is false where there is none without a public address.
	Source func(ctx context.Context, id string) (s Source, ok bool, err error)
	// SourceURL returns where clients find a document, by its address in the corpus. Default: the address itself.
	SourceURL func(url string) string
	// Library tells what the corpus holds.
	Library *library.Library
	// Passages returns the passages with these ids that the corpus still has.
	Passages func(ctx context.Context, ids []int64) ([]kernel.Passage, error)
	// BaseURL is where clients find the service, without a slash at its end. Default: at the root of its host.
	BaseURL string
	// Running is how many questions are worked on at once, Queued how many wait. Default: 16, 64.
	Running, Queued int
	// Deadline is how long a question may take, its wait included. Default: 115s.
	Deadline time.Duration
	// LogQueries has questions in the log. Default: they are not.
	LogQueries bool
	// Observe is told of every question that was accepted: the reason is Answered for an
	// answer. nil: nobody is.
	Observe func(reason string, took time.Duration)
}

// Answered is the reason of an answer, for Observe.
const Answered = "Answered"

// API serves. Make it with New.
type API struct {
	o Options

	running chan struct{} // places
	house   chan struct{} // places of running and queued
	waiters chan struct{} // places of those who wait for a question that was sent before

	ctx  context.Context //nolint:containedctx // of the work that outlives its request
	stop context.CancelFunc
	work sync.WaitGroup
}

// New makes the API. End it with Close.
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
	a := &API{o: o, running: make(chan struct{}, o.Running), house: make(chan struct{}, o.Running+o.Queued), waiters: make(chan struct{}, o.Running+o.Queued)}
	a.ctx, a.stop = context.WithCancel(context.Background())
	return a
}

// Close ends the work that is under way, and waits for what it stores.
func (a *API) Close() {
	a.stop()
	a.work.Wait()
}

// Waiting is how many questions are in the house: worked on, or waiting.
func (a *API) Waiting() int { return len(a.house) }

// ServeHTTP answers every path.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest.NoSniff(w.Header())
	w.Header().Set("Cache-Control", "no-store")
	route, id, ok := routeOf(r.URL.Path)
	if !ok {
		a.refuse(w, http.StatusNotFound, "NotFound")
		return
	}
	if r.Method != route.method && (r.Method != http.MethodHead || route.method != http.MethodGet) {
		w.Header().Set("Allow", route.allow)
		a.refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed")
		return
	}
	caller, err := a.o.Accounts.Caller(r.Context(), r.Header.Get("X-Api-Key"))
	switch {
	case err == nil:
	case r.Context().Err() != nil:
		return
	case errors.Is(err, accounts.ErrUnknown):
		a.refuse(w, http.StatusUnauthorized, "Unauthorized")
		return
	default:
		a.unavailable(w, err)
		return
	}
	if rate, err := a.o.Accounts.Rate(r.Context(), caller); err == nil {
		rateHeaders(w.Header(), rate)
	}
	if !caller.May(route.service) {
		a.refuse(w, http.StatusForbidden, "Forbidden")
		return
	}
	route.serve(a, w, r, caller, id)
}

// route is a row of the table of routes.
type route struct {
	method, allow string
	service       string // that the key must be for
	serve         func(a *API, w http.ResponseWriter, r *http.Request, caller *accounts.Caller, id string)
}

// routeOf returns the route of a path, and the id in it.
func routeOf(path string) (_ route, id string, ok bool) {
	if one, ok := routes[path]; ok && !strings.HasSuffix(path, "/") {
		return one, "", true
	}
	for _, prefix := range []string{"/v1/answers/", "/v1/sources/", "/v1/companies/"} {
		if rest, below := strings.CutPrefix(path, prefix); below && rest != "" {
			if answer, of := strings.CutSuffix(rest, evidencePath); of && prefix == "/v1/answers/" {
				return routes[prefix+evidencePath], answer, true
			}
			return routes[prefix], rest, true
		}
	}
	return route{}, "", false
}

// evidencePath stands behind the id of an answer.
const evidencePath = "/evidence"

// routes by path; a path that ends in "/" has an id behind it.
var routes = map[string]route{
	"/v1/answer":   {http.MethodPost, "POST", accounts.ServiceAnswer, (*API).ask},
	"/v1/quota":    {http.MethodGet, "GET, HEAD", accounts.ServiceQuota, (*API).quota},
	"/v1/answers/": {http.MethodGet, "GET, HEAD", accounts.ServiceAnswer, (*API).answer},
	"/v1/sources/": {http.MethodGet, "GET, HEAD", accounts.ServiceAnswer, (*API).source},

	"/v1/answers/" + evidencePath: {http.MethodGet, "GET, HEAD", accounts.ServiceAnswer, (*API).evidence},
	"/v1/companies":               {http.MethodGet, "GET, HEAD", accounts.ServiceAnswer, (*API).companies},
	"/v1/companies/":              {http.MethodGet, "GET, HEAD", accounts.ServiceAnswer, (*API).company},
}

// envelope is the body of every answer.
type envelope struct {
	Success bool    `json:"success"`
	Error   *string `json:"error"`
	Result  any     `json:"result"`
}

func (a *API) write(w http.ResponseWriter, status int, reason string, result any) {
	e := envelope{Success: reason == "", Result: result}
	if reason != "" {
		e.Error = &reason
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(e); err != nil { // a result is of our own making
		a.log().Error("an answer cannot be written", zap.Error(err))
		status = http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(text.Len()))
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text.String())) // a client that has left is told nothing
}

// refuse answers with a reason and no result.
func (a *API) refuse(w http.ResponseWriter, status int, reason string) {
	a.write(w, status, reason, nil)
}

// unavailable is the answer where the store is down.
func (a *API) unavailable(w http.ResponseWriter, err error) {
	a.log().Warn("the database of the answer API does not answer", zap.Error(err))
	w.Header().Set("Retry-After", "1")
	a.refuse(w, http.StatusServiceUnavailable, ServiceUnavailable)
}

func (a *API) log() *zap.Logger { return a.o.Kernel.Logger() }

// rateHeaders tell how a key stands (draft-ietf-httpapi-ratelimit-headers).
func rateHeaders(h http.Header, r accounts.Rate) {
	limit, remaining, reset := strconv.Itoa(r.Limit), strconv.Itoa(r.Remaining), strconv.FormatInt(r.Reset, 10)
	h.Set("X-RateLimit-Limit", limit)
	h.Set("X-RateLimit-Remaining", remaining)
	h.Set("X-RateLimit-Reset", reset)
	h.Set("RateLimit-Policy", `"answer";q=`+limit+`;w=`+strconv.Itoa(int(r.Window.Seconds())))
	h.Set("RateLimit", `"answer";r=`+remaining+`;t=`+reset)
}
