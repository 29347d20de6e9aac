// Package cascade answers a model request with the first candidate that can: it orders the user's models and tries one
// after the other until one has delivered its first content (the commit point). From then on only that candidate's
// answer is passed on, so the client never gets texts of two models.
//
// A candidate is one model at one provider (keychain.Candidate). It stands for an entry of the user's model table, and
// each entry belongs to a tier (low, medium or high). A format is the API in which a client asks or an upstream is
// asked: chat completions, Responses, messages or Converse. A request is translated from one format to another by way
// of the common form (hub.Request).
package cascade

import (
	"context"
	"net/http"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/credentials"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/formats"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/memory"
)

// Options are the settings of one cascade. Zero values mean the defaults.
type Options struct {
	// FirstContent limits the time from sending a request for a stream to its first content, by the tier of the candidate.
	// Default: 20s low, 45s medium, 120s high.
	FirstContent catalog.PerTier
	// Answer limits the time from sending a request without a stream to the end of the answer, by tier. Default: 8m. This
	// leaves time for another candidate, since most clients give up after 10 minutes.
	Answer catalog.PerTier
	// Idle is the longest silence of a stream after its first content. Default: 60s. SSE comments count as a sign of
	// life for 5 minutes.
	Idle time.Duration
	// DefaultTier serves model names that nothing else matches. Zero means that they are answered with 404.
	DefaultTier catalog.Tier
	// StopOnPolicy ends the cascade when a candidate refuses the content.
	StopOnPolicy bool
	// EntryFallback lets a request that names one entry continue with the entry's tier when the entry fails.
	EntryFallback bool
	// AnswerItems is how long the items of answers are kept, so that later requests can refer to them. Default: 24h. If
	// it is negative no items are kept.
	AnswerItems time.Duration
	// NoCacheMarks keeps the gateway from adding prompt cache marks to requests that are translated for a messages
	// upstream.
	NoCacheMarks bool
	// Orders holds the order of each tier, indexed by the tier.
	Orders [catalog.High + 1]Order
	// Weights are the weights for OrderWeights, by the name of an entry or the code of a provider. Default: 1.
	Weights map[string]float64
	// HideAttempts leaves failed_attempts out of errors.
	HideAttempts bool
}

// WithDefaults returns o with its zero settings replaced by the defaults.
func (o Options) WithDefaults() Options {
	t := o.timeouts().Or(catalog.Timeouts{
		FirstContent: catalog.PerTier{Low: 20 * time.Second, Medium: 45 * time.Second, High: 120 * time.Second},
		Answer:       catalog.PerTier{Low: wholeAnswer, Medium: wholeAnswer, High: wholeAnswer},
		Idle:         time.Minute,
	})
	o.FirstContent, o.Answer, o.Idle = t.FirstContent, t.Answer, t.Idle
	if o.AnswerItems == 0 {
		o.AnswerItems = 24 * time.Hour
	}
	return o
}

const wholeAnswer = 8 * time.Minute

// timeouts returns the time limits of o in the form in which a provider states its own. They apply where a provider
// states no limit.
func (o *Options) timeouts() catalog.Timeouts {
	return catalog.Timeouts{FirstContent: o.FirstContent, Answer: o.Answer, Idle: o.Idle}
}

// Memory holds the state that cascades gather from answers and failures. It outlives a reload.
type Memory struct {
	Health  *Health
	Learned *Learned
	Traffic *Traffic
	Recall  *hub.Recall
	Stays   *Stays
	Latency *Latency
	Tokens  *credentials.Tokens
}

// NewMemory returns an empty memory. now is its clock.
func NewMemory(now func() time.Time) *Memory {
	return &Memory{
		Health: NewHealth(now), Learned: NewLearned(now), Traffic: newTraffic(now), Recall: hub.NewRecall(now),
		Stays: newStays(now), Latency: newLatency(now), Tokens: credentials.NewTokens(now),
	}
}

// Engine runs requests.
type Engine struct {
	Options Options
	Memory  *Memory
	// Budget is the memory budget for answers that are read completely before they are passed on. Nil means no limit.
	Budget *memory.Budget
	// Catalog returns the current catalog. It is called once per request.
	Catalog func() *catalog.Catalog
	// Providers sends requests to the catalog's base URLs, Custom sends those to the base URLs of users.
	Providers, Custom http.RoundTripper
	// Mark keeps requests from looping through the gateway. Nil means that no Via field is sent.
	Mark   *Mark
	Logger *zap.Logger
	Now    func() time.Time
	// Observe is called after every attempt, for metrics. It may be nil.
	Observe func(Attempt)
	// AdmitKey checks a provider key's limits, see keychain.Service.AdmitKey. cost is the number of requests to
	// subtract from the key's limit per minute; 0 only checks. A nil refusal admits the key. A nil AdmitKey admits
	// every key.
	AdmitKey func(ctx context.Context, key *keychain.Key, cost int64) (*keychain.KeyRefusal, error)
}

// Attempt describes one attempt at one candidate.
type Attempt struct {
	Provider, Model string
	Tier            catalog.Tier
	Started         time.Time
	Took            time.Duration
	// Outcome is "ok" or the class of the failure.
	Outcome string
	// Cooldown is the reason of the cooldown that the attempt started for the provider, key or model. It is empty if no
	// cooldown was started. Everyone is set if the cooldown applies to all users, not only to the user of this attempt.
	Cooldown string
	Everyone bool
	// FirstToken is the time to the first content. It is 0 if no content came.
	FirstToken time.Duration
}

// Result is the outcome of a request, for the usage log.
type Result struct {
	Tier       catalog.Tier // the requested tier; 0 if an entry was requested
	Candidate  *keychain.Candidate
	Key        string // public id of the provider key through which Candidate answered
	Attempts   int
	Failed     []apierror.Attempt
	Status     int    // the HTTP status for the client
	Code       string // the error code; empty for a success
	Usage      wire.Usage
	Lost       []Lost // usage of attempts without an answer, in order
	Estimated  bool   // part of Usage or Lost is an estimate
	FirstToken time.Duration
	textBytes  int64
}

// run is the state of one request on its way through the candidates. One goroutine uses it.
type run struct {
	*Engine
	ctx    context.Context
	w      http.ResponseWriter
	start  time.Time
	result Result

	// The request.
	req             *Request
	clientFormat    formats.Format
	model           string // the requested model, or the target of its alias
	aliased         bool   // model is the target of an alias
	stream          bool
	needs           wire.Needs
	promptBytes     int64       // size of the prompt in bytes
	estimatedTokens int64       // prompt tokens; 0 until promptTokens estimates them
	chatLease       *wire.Lease // keeps a chat body in memory while req.Hub, converted from it, refers to it; else nil

	// What has been seen so far. It decides the next step, and the error if no candidate answers.
	refusals    []*failure // failures of class client, in order
	lastClass   class      // class of the last failure; 0 if there was none
	lastCause   error      // cause of the last failure, for the log
	classes     uint32     // bit set of all classes that occurred
	earliestEnd time.Time  // the earliest end of a cooldown that was seen; zero if none was seen
	usableLater bool       // a candidate was passed over that becomes usable by waiting
	budgetSpent bool       // a key was passed over because its budget is spent

	// The conversation that the request belongs to, see Stays.
	turn           uint32        // number that chooses the account's first key; 0 until it is drawn
	conversationID *conversation // nil before the first call of conversation
	stay           stay          // entry and key with which the conversation stays
	moved          bool          // the candidate or key whose turn it was has been passed over

	// The current attempt. attemptOnce sets key and resets link and streamFailure.
	key           *keychain.Key
	link          link     // its connection
	dropped       []string // fields that were left out of the sent body; nil once commit has told the client
	streamFailure class    // failure after the commit point; 0 if there was none

	explains bool   // set for Explain: nothing is sent
	skipped  []Step // candidates left out of the plan; filled only for Explain
}

// maxAttempts bounds the attempts of one request.
const maxAttempts = 32

// attemptsExhausted reports whether no further attempt may be made: maxAttempts is reached, or the body cannot be sent
// again.
func (r *run) attemptsExhausted() bool {
	return r.result.Attempts >= maxAttempts || r.req.Forward.consumed() && r.result.Attempts > 0
}

// Answer answers a request. If it returns an error nothing has been written to w. The error is an *apierror.Error, or
// ctx.Err() if the client left. The result is never nil.
func (e *Engine) Answer(ctx context.Context, w http.ResponseWriter, req *Request) (*Result, error) {
	r := e.newRun(ctx, w, req)
	defer func() { r.chatLease.Give() }()
	err := e.Mark.checkLoop(req.Via)
	if err == nil {
		err = r.answer()
	}
	if err != nil && r.result.Status == 0 {
		if ae, ok := apierror.From(err); ok {
			r.result.Status, r.result.Code = ae.Status, ae.Code
			if !e.Options.HideAttempts && len(r.result.Failed) > 0 {
				ae.FailedAttempts = r.result.Failed
			}
			r.gatewayHeaders()
		} else {
			r.result.Status, r.result.Code = 499, codeClientLeft
		}
	}
	r.estimateMissingUsage()
	return &r.result, err
}

// newRun returns the state for a request that has not been sent to any candidate yet.
func (e *Engine) newRun(ctx context.Context, w http.ResponseWriter, req *Request) *run {
	r := &run{Engine: e, w: w, req: req, start: e.Now()}
	r.ctx = r.link.watch(ctx, e.Now)
	r.clientFormat, r.model, r.stream = req.Asked()
	switch {
	case req.Forward != nil:
	case req.Embed != nil:
		r.promptBytes = req.Embed.TextBytes
	case req.Chat != nil:
		r.needs, r.promptBytes = req.Chat.Needs, req.Chat.TextBytes
	default:
		r.needs, r.promptBytes = req.Hub.Needs, req.Hub.TextBytes
	}
	return r
}

// answer plans the request and tries the candidates of the plan.
func (r *run) answer() error {
	plan := r.plan
	switch {
	case r.req.Forward != nil:
		plan = r.planForward
	case r.req.Embed != nil:
		plan = r.planVectors
	}
	candidates, err := plan()
	if err != nil {
		return err
	}
	return r.try(candidates)
}

// try tries the candidates in the order of plan until one of them has answered. try returns nil if an answer was sent.
func (r *run) try(plan []*keychain.Candidate) error {
	var refused []string // providers that reported a mistake of the client
	tooSmall := 0        // the largest context window that was too small
	for _, c := range plan {
		if slices.Contains(refused, ProviderScope(c)) {
			continue
		}
		if tooSmall > 0 && c.Model.ContextWindow > 0 && c.Model.ContextWindow <= tooSmall {
			continue
		}
		f := r.tryKeys(c)
		switch {
		case f == nil && r.result.Candidate != nil: // commit has set it: c has answered
			return nil
		case f == nil:
			continue // no key of c may be used now
		case f.class == clientGone:
			return context.Cause(r.ctx)
		case f.class == busy:
			return apierror.Unavailable(f.message, f.cause)
		case f.class == client && r.req.Forward != nil:
			return f.clientError()
		case f.class == client:
			refused = append(refused, ProviderScope(c))
			r.refusals = append(r.refusals, f)
			if len(r.refusals) == 2 { // two providers agree that the request is wrong
				return r.failure()
			}
		case f.class == tooLong:
			tooSmall = max(tooSmall, c.Model.ContextWindow)
		case f.class == policy && r.Options.StopOnPolicy:
			return r.failure()
		}
		if r.attemptsExhausted() {
			return r.failure()
		}
	}
	return r.failure()
}

// tryKeys tries one candidate through its keys: first the user's own, then those of the team, the organisation and
// the operator. In each group the key that the conversation used before comes first. tryKeys returns the failure of
// the last attempt. It returns nil after success, and also if no attempt was made because all keys are blocked.
func (r *run) tryKeys(c *keychain.Candidate) (last *failure) {
	for start := 0; start < len(c.Keys); {
		keys := c.Keys[start : start+c.Group(start)]
		start += len(keys)
		tried, next := r.tryGroup(c, keys)
		if tried != nil {
			last = tried
		}
		if !next {
			return tried // nil after success, although an earlier group of keys may have failed
		}
	}
	return last
}

// tryGroup tries one candidate through the keys of one owner. next reports whether the keys of the next owner may be
// tried. It is false after success (last is then nil), and after a failure that another key would not prevent. It is
// true if all keys are blocked (last is nil), or if each of the tried keys was refused for a reason that concerns
// only that key.
func (r *run) tryGroup(c *keychain.Candidate, keys []keychain.Key) (last *failure, next bool) {
	first := r.firstKey(c, keys)
	provider := ProviderScope(c)
	for i := range keys {
		key := &keys[(first+i)%len(keys)] // from first to the end, then from the start
		if end, status := r.Memory.Health.blockedFor(provider, key, c.Model.ID); !end.IsZero() {
			r.noteCooldownEnd(end)
			r.usableLater = r.usableLater || status == CoolingDown
			r.markMoved()
			continue
		}
		if open, err := r.admits(key); err != nil {
			return &failure{class: busy, message: "the check of the provider key's limits", cause: err}, false
		} else if !open {
			r.markMoved()
			continue
		}
		last = r.attempt(c, key)
		if last != nil && last.class == fixable && !r.attemptsExhausted() {
			last = r.retry(c, key, last)
		}
		if last == nil {
			r.keepStay(c, key)
			return nil, false
		}
		r.markMoved()
		if r.attemptsExhausted() {
			return last, false
		}
		switch last.class {
		case rateLimited, noCredit, badKey:
			continue // another key may work
		default:
			return last, false
		}
	}
	return last, true
}

// refusal checks the limits of a provider key with AdmitKey, whose results it returns. A nil refusal admits the key.
func (r *run) refusal(key *keychain.Key, cost int64) (*keychain.KeyRefusal, error) {
	if key.Limits == nil || r.AdmitKey == nil {
		return nil, nil
	}
	return r.AdmitKey(r.ctx, key, cost)
}

// admits reports whether the limits of a provider key admit one more request now, which is then counted. It records a
// refusal for the error that the client gets if no candidate answers. The error says that the limits could not be
// checked.
func (r *run) admits(key *keychain.Key) (open bool, err error) {
	refusal, err := r.refusal(key, 1)
	if err != nil || refusal == nil {
		return err == nil, err
	}
	r.noteCooldownEnd(refusal.Until)
	r.budgetSpent = r.budgetSpent || refusal.Reason == keychain.KeySpent
	r.usableLater = r.usableLater || refusal.Reason == keychain.KeyBusy
	return false, nil
}

// retry repeats the request to a candidate that refused a parameter, without that parameter. If the retry used another
// format it may drop one more parameter. A fix that worked is remembered if the provider rejects the parameter with any
// value. If only the value was bad the fix is not remembered, since the user's other clients may send valid values.
func (r *run) retry(c *keychain.Candidate, key *keychain.Key, refused *failure) *failure {
	remember := func(refused *failure) {
		if refused.unknown {
			r.Memory.Learned.add(ProviderScope(c), r.req.User, c.Model.ID, refused.fix)
		}
	}
	f := r.attempt(c, key, refused.fix)
	otherParam := f != nil && f.class == fixable && refused.fix == fixFormat && f.fix != fixFormat
	if otherParam && !r.attemptsExhausted() {
		second := f
		if f = r.attempt(c, key, refused.fix, second.fix); f == nil {
			remember(second)
		}
	}
	switch {
	case f == nil:
		remember(refused)
	case f.class == fixable: // there is no further retry, so the client gets the error
		f.class = client
		r.lastClass = client
		r.classes |= 1 << client
	}
	return f
}

// ProviderScope returns the name of a candidate's provider in the health and traffic tables. A user's own server is
// named by its address, so that its failures do not affect the user's other servers.
func ProviderScope(c *keychain.Candidate) string {
	if c.Custom {
		return c.Provider.BaseURL
	}
	return c.Provider.Code
}
