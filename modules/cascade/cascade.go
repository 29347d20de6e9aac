// Package cascade provides the handler that answers model requests.
package cascade

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/cascade"
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/stored"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/embeddings"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/formats"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/modules/apiauth"
	"github.com/tollgate-gateway/tollgate/modules/body"
	"github.com/tollgate-gateway/tollgate/modules/edge"
	gatewayapp "github.com/tollgate-gateway/tollgate/modules/gateway"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

func init() {
	caddy.RegisterModule(Handler{})
}

// Handler answers model requests with the models that the sender can use. It needs `api_auth gateway_key` before it, or
// the option anonymous, and `api_errors` around it to write its errors.
//
// Routes:
//
//	POST /v1/chat/completions   a chat completion, streamed or not
//	POST /v1/messages           behind `translate messages`
//	POST /v1/responses          behind `translate responses`
//	POST /model/{model}/converse, /model/{model}/converse-stream
//	                            behind `translate converse`
//	GET, DELETE /v1/responses/{id}, …/input_items, …/cancel, /v1/conversations, …
//	                            with the option store_responses
//	POST /v1/messages/count_tokens, POST /v1/responses/input_tokens
//	                            the number of tokens, unless a `translate` answers first
//	POST /v1/audio/…, /v1/images/…, /v1/moderations, /v1/rerank, /v1/files, /v1/batches
//	                            passed to the model's provider, not translated
//	POST /v1/messages/batches, …
//	                            batches of the messages format, passed on in the same way
//	POST /v1/embeddings         vectors of texts, only from the named model
//	GET  /v1/models             the model names that the key can use
//	GET  /v1/models/{id}        one model
//	GET  /, HEAD /              200, a connection probe
//
// Every other path is a 404. The candidates of a request are tried in order until one of them has sent its first
// content; that candidate then gives the whole answer.
//
// Placeholders, set when the request has ended (0 or empty before). Tokens and cost include failed attempts for which
// the provider had worked. If the client disconnected before the first content, they are estimated from the prompt:
//
//	{http.cascade.provider}       the provider that answered, or the last whose tokens count
//	{http.cascade.model}          the model that answered
//	{http.cascade.tier}           the tier of the model
//	{http.cascade.attempts}       the number of attempts
//	{http.cascade.input_tokens}   cached tokens included
//	{http.cascade.output_tokens}  reasoning included
//	{http.cascade.total_tokens}   the sum, for `charge` of budget
//	{http.cascade.cost_micro_usd} by the catalog's prices, 0 if unknown
type Handler struct {
	// FirstContent is the time limit for the first content of a stream, by tier (low, medium, high). After it, the next
	// candidate is tried. Default: low 20s, medium 45s, high 120s.
	FirstContent map[string]caddy.Duration `json:"first_content,omitempty"`

	// Answer is the time limit for an answer that is not streamed, by tier. After it, the next candidate is tried.
	// Default: 8m, because most clients give up after 10 minutes.
	Answer map[string]caddy.Duration `json:"answer,omitempty"`

	// Idle is the longest allowed silence of a stream. Default: 60s.
	Idle caddy.Duration `json:"idle,omitempty"`

	// DefaultTier is the tier (low, medium, high) that serves unknown model names. Default: none, unknown names get a 404.
	DefaultTier string `json:"default_tier,omitempty"`

	// StopOnPolicy ends the cascade when a provider refuses the content. Default: the next candidate is tried.
	StopOnPolicy bool `json:"stop_on_policy,omitempty"`

	// EntryFallback continues with the entry's tier when a request names one model entry and that entry fails. Default:
	// off.
	EntryFallback bool `json:"entry_fallback,omitempty"`

	// AnswerItems is how long the items of Responses API answers are stored, encrypted. Later requests with the same
	// gateway key can refer to these items (item_reference). Items of requests with "store": false are not stored, and
	// a negative value stores no items. Default: 24h.
	AnswerItems caddy.Duration `json:"answer_items,omitempty"`

	// Routing is the order in which the candidates of a tier (low, medium, high) are tried: catalog, price, latency or
	// weights. Users' preferences and priorities come before this order. Default: catalog.
	Routing map[string]string `json:"routing,omitempty"`

	// Weights are the weights for the order weights of Routing, by entry (provider/model) or provider. Default: 1.
	Weights map[string]float64 `json:"weights,omitempty"`

	// StoreResponses stores answers of the Responses API and conversations. Requests can then continue them by their ids
	// (previous_response_id, conversation), fetch and delete them, and be answered in the background. Default: off, only
	// items of answers are stored.
	StoreResponses *StoreResponses `json:"store_responses,omitempty"`

	// NoCacheMarks leaves out the prompt cache marks. Without it, requests of chat and Responses clients get these marks
	// when they are sent to a messages upstream. Default: off.
	NoCacheMarks bool `json:"no_cache_marks,omitempty"`

	// ClaudeNames affects the list of models for clients of Anthropic's API. It adds each name of another vendor with the
	// prefix "claude-", in front of the other names, because the model picker of Claude Code shows only Anthropic's names.
	// Requests may use the prefixed names in any case. Default: off.
	ClaudeNames bool `json:"claude_names,omitempty"`

	// HideFailedAttempts leaves error.failed_attempts out of error answers. Default: off.
	HideFailedAttempts bool `json:"hide_failed_attempts,omitempty"`

	// Anonymous is the user whose models answer requests without a verified key, and who is charged for these requests.
	// The usage log has them without a key. The only limits that apply to them are the limits that the operator has
	// imposed on the user, and budgets before this handler. If Anonymous is empty, such requests get a 401, and a
	// configuration that verifies no key before this handler is refused.
	Anonymous string `json:"anonymous,omitempty"`

	app            *gatewayapp.App
	options        cascade.Options
	stored         *stored.Options    // nil if nothing is stored
	anonymous      *keychain.Identity // nil if there is none
	readingResults chan struct{}      // holds an element while the results of a batch are read for a client
	logger         *zap.Logger
}

// CaddyModule returns the Caddy module information.
func (Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.cascade",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision gets the app and checks the options.
func (h *Handler) Provision(ctx caddy.Context) error {
	h.logger = ctx.Logger()
	app, err := gatewayapp.From(ctx)
	if err != nil {
		return err
	}
	h.app, h.readingResults = app, make(chan struct{}, 1)
	firstContent, err := gatewayapp.PerTier("first_content", h.FirstContent)
	if err != nil {
		return err
	}
	answerLimit, err := gatewayapp.PerTier("answer", h.Answer)
	if err != nil {
		return err
	}
	h.options = cascade.Options{
		FirstContent: firstContent, Answer: answerLimit, Idle: time.Duration(h.Idle), StopOnPolicy: h.StopOnPolicy,
		EntryFallback: h.EntryFallback, HideAttempts: h.HideFailedAttempts,
		AnswerItems: time.Duration(h.AnswerItems), NoCacheMarks: h.NoCacheMarks,
	}.WithDefaults()
	if err := h.parseOrders(); err != nil {
		return err
	}
	if h.DefaultTier != "" {
		if h.options.DefaultTier, err = catalog.ParseTier(h.DefaultTier); err != nil {
			return fmt.Errorf("default_tier: %w", err)
		}
	}
	switch {
	case h.Anonymous != "":
		if err := keychain.CheckUserID(h.Anonymous); err != nil {
			return fmt.Errorf("anonymous: %w", err)
		}
		h.anonymous = &keychain.Identity{UserID: h.Anonymous, EffortMode: keychain.EffortOverride}
	case apiauth.Unchecked(ctx):
		return errors.New("no handler verifies a key before cascade: put `api_auth gateway_key` before it, or set its option `anonymous` to answer requests without a key")
	}
	if h.StoreResponses != nil {
		h.stored = h.StoreResponses.options()
		app.OnSettled(h.watchStored)
	}
	app.OnSettled(func() { go h.chargeBatches(ctx) })
	return tollgate.RegisterMetrics(ctx, requests, attempts, failovers, cooldowns, tokens, firstToken, teams.requests,
		teams.tokens, teams.cost)
}

// Validate checks the ranges of the options.
func (h *Handler) Validate() error {
	if h.Idle < 0 {
		return errors.New("idle must not be negative")
	}
	for option, times := range map[string]map[string]caddy.Duration{"first_content": h.FirstContent, "answer": h.Answer} {
		for tier, d := range times {
			if d <= 0 {
				return fmt.Errorf("%s %s must be positive", option, tier)
			}
		}
	}
	return h.StoreResponses.validate()
}

// parseOrders parses the options routing and weight.
func (h *Handler) parseOrders() error {
	usesWeights := false
	for name, text := range h.Routing {
		tier, err := catalog.ParseTier(name)
		if err != nil {
			return fmt.Errorf("routing: %w", err)
		}
		if h.options.Orders[tier], err = cascade.ParseOrder(text); err != nil {
			return fmt.Errorf("routing: %w", err)
		}
		usesWeights = usesWeights || text == "weights"
	}
	for name, weight := range h.Weights {
		if !(weight >= 0 && weight <= 1000) { // also true for NaN
			return fmt.Errorf("weight: the weight of %s must be from 0 to 1000", name)
		}
	}
	if len(h.Weights) > 0 && !usesWeights {
		return errors.New("weight: no tier has the routing weights, so weights have no effect")
	}
	h.options.Weights = h.Weights
	return nil
}

// ServeHTTP answers the requests at the paths that Handler lists.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	rest.NoSniff(w.Header())
	offer := body.OfferOf(r)
	path := r.URL.Path
	if offer != nil {
		offer.Take() // even if nothing is served at its path
		path = offer.Request.URL.Path
	}
	place, isModel := formats.At(path) // finds the path of a model API also behind a wrong base
	if isModel && place.Base == place.Format.Facts().Base {
		return h.model(w, r, offer, &place)
	}
	if path == "/v1"+embeddings.Path {
		if r.Method != http.MethodPost {
			return methodNotAllowed(w, r, http.MethodPost)
		}
		return h.answer(w, r, formats.Place{})
	}
	// allow is set if only the method does not match.
	if e, id, allow := findPassthrough(r.Method, path); e != nil {
		return h.pass(w, r, e, id)
	} else if allow != "" {
		return methodNotAllowed(w, r, allow)
	}
	if e, allow := h.storedEndpoint(r.Method, path); e != nil {
		return h.serveStored(w, r, e)
	} else if allow != "" {
		return methodNotAllowed(w, r, allow)
	}
	isGet := r.Method == http.MethodGet || r.Method == http.MethodHead
	modelID := ""
	if id, ok := strings.CutPrefix(path, "/v1/models/"); ok {
		modelID = id
	}
	switch {
	case path == "/v1/models", modelID != "":
		if !isGet {
			return methodNotAllowed(w, r, "GET, HEAD")
		}
		return h.models(w, r, modelID)
	case path == "/" || path == "":
		if !isGet {
			return methodNotAllowed(w, r, "GET, HEAD")
		}
		return probe(w, r, next)
	case h.stored == nil && (strings.HasPrefix(path, "/v1/responses/") || strings.HasPrefix(path, "/v1/conversations")):
		return notStored()
	case strings.HasPrefix(path, "/v1/v1/"):
		return refuse(http.StatusNotFound, "not_found",
			"there is nothing at "+path+": the base URL has /v1 twice; it ends at /v1 for OpenAI clients and at the host for messages clients")
	}
	if isModel && (place.Base == "" || place.Base == "/v1") || path == "/models" {
		return refuse(http.StatusNotFound, "not_found",
			"there is nothing at "+path+": the base URL of OpenAI clients ends in /v1, that of messages and Bedrock clients at the host")
	}
	return refuse(http.StatusNotFound, "not_found", "there is nothing at this path")
}

// model answers a request at a path of a model API. place is the result of parsing the path. offer is nil if no
// translate handler came before this handler.
func (h *Handler) model(w http.ResponseWriter, r *http.Request, offer *body.Offer, place *formats.Place) error {
	format := place.Format
	if r.Method != http.MethodPost {
		return methodNotAllowed(w, r, http.MethodPost)
	}
	counter, counts := format.(formats.Counter)
	switch {
	case place.Count && counts:
		return h.count(w, r, counter, place)
	case offer != nil:
		return h.answer(w, offer.Request, *place)
	case format != formats.Chat():
		return refuse(http.StatusNotFound, "not_found",
			"this site does not serve "+r.URL.Path+": put `translate "+string(format.Facts().Name)+"` before `cascade`")
	}
	return h.answer(w, r, *place)
}

// refuse returns an error that api_errors writes with the given status, code and message.
func refuse(status int, code, message string) error {
	return caddyhttp.Error(status, apierror.New(status, code, "%s", message))
}

// methodNotAllowed returns the error with status 405. allow lists the methods that the path has.
func methodNotAllowed(w http.ResponseWriter, r *http.Request, allow string) error {
	w.Header().Set("Allow", allow)
	return refuse(http.StatusMethodNotAllowed, "method_not_allowed", r.Method+" is not allowed here, use "+allow)
}

// probe answers programs that check whether the gateway runs. It redirects browsers to the console if no later handler
// has a page for them.
func probe(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	const text = "Tollgate model gateway\n"
	if gatewayapp.ConsoleOffered(r) {
		w.Header().Set("Vary", "Accept")
		if strings.Contains(r.Header.Get("Accept"), "text/html") {
			return edge.ServeRoot(w, r, next, "console/")
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if r.Method == http.MethodHead {
		return nil
	}
	_, err := w.Write([]byte(text))
	return err
}

// Interface guards
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddy.Validator             = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
)
