package cascade

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Status is the health of a key or a provider (specification 13.5).
type Status string

// The health states.
const (
	Untested    Status = "untested"
	Active      Status = "active"
	CoolingDown Status = "cooling_down"
	NoCredit    Status = "no_credit"
	InvalidKey  Status = "invalid_key"
)

// Why a cooldown runs.
const (
	ReasonRateLimited = "rate_limited"
	ReasonOverloaded  = "overloaded"
	ReasonErrors      = "errors"
	ReasonUnknown     = "unknown_model"
)

// scope names what a state belongs to: a provider alone (key and model empty),
// a key, or a model through a key.
type scope struct{ provider, key, model string }

// State is what is known of one scope.
type State struct {
	Status Status
	// Reason of a cooldown; see the constants.
	Reason string
	// Until is the end of a cooldown, zero when none runs.
	Until                             time.Time
	LastSuccess, LastFailure, Last429 time.Time

	failures    int           // of a provider, inside the window
	firstOfMany time.Time     // when the window began
	backoff     time.Duration // the last cooldown of a provider
}

// Limits of the table and the back-off of failing providers (specification 13.3).
const (
	maxStates     = 100_000
	failureWindow = time.Minute
	failuresToAct = 2
	firstBackoff  = 10 * time.Second
	lastBackoff   = 5 * time.Minute
	longCooldown  = time.Hour
)

// Health remembers which providers, keys and models are not worth a try now.
// It lives as long as the process and survives reloads.
type Health struct {
	mu     sync.RWMutex
	states map[scope]*State
	now    func() time.Time
	jitter func() float64 // 0..1
}

// NewHealth returns an empty table.
func NewHealth(now func() time.Time) *Health {
	return &Health{states: make(map[scope]*State), now: now, jitter: rand.Float64}
}

// blocked tells until when a try through a key makes no sense: the key has no
// credit or is bad, or the model is limited or unknown through it. Zero: try.
func (h *Health) blocked(provider, key, model string) (until time.Time, status Status) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, s := range [...]scope{{provider, key, ""}, {provider, key, model}} {
		if state := h.states[s]; state != nil && state.Until.After(until) {
			until, status = state.Until, state.Status
		}
	}
	if until.IsZero() || !until.After(h.now()) {
		return time.Time{}, ""
	}
	return until, status
}

// failing reports whether a provider is in a back-off: it is tried last.
func (h *Health) failing(provider string) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	state := h.states[scope{provider: provider}]
	return state != nil && !state.Until.IsZero() && state.Until.After(h.now())
}

// update changes the state of a scope, making it when there is none yet. It
// returns the end of the cooldown that runs then; zero: none.
func (h *Health) update(s scope, change func(state *State, now time.Time)) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	state := h.states[s]
	now := h.now()
	if state == nil {
		if len(h.states) >= maxStates {
			h.evict(now)
		}
		state = &State{Status: Untested}
		h.states[s] = state
	}
	change(state, now)
	if !state.Until.After(now) {
		return time.Time{}
	}
	return state.Until
}

// evict makes room: states whose cooldown is over go first, else any.
func (h *Health) evict(now time.Time) {
	for s, state := range h.states {
		if !state.Until.After(now) {
			delete(h.states, s)
		}
		if len(h.states) < maxStates*9/10 {
			return
		}
	}
	for s := range h.states {
		if len(h.states) < maxStates*9/10 {
			return
		}
		delete(h.states, s)
	}
}

// success notes a good answer. It ends the count of failures, not a cooldown.
// The usual case, all well before and noted in this second, takes no write lock.
func (h *Health) success(provider, key string) {
	h.mu.RLock()
	now := h.now()
	p, k := h.states[scope{provider: provider}], h.states[scope{provider: provider, key: key}]
	noted := p != nil && k != nil && p.failures == 0 && p.backoff == 0 && p.Status == Active && k.Status == Active &&
		now.Sub(k.LastSuccess) < time.Second && now.Sub(p.LastSuccess) < time.Second
	h.mu.RUnlock()
	if noted {
		return
	}
	for _, s := range [...]scope{{provider: provider}, {provider: provider, key: key}} {
		h.update(s, func(state *State, now time.Time) {
			state.LastSuccess = now
			state.failures, state.backoff = 0, 0
			if !state.Until.After(now) {
				state.Status, state.Reason = Active, ""
			}
		})
	}
}

// failed notes a transient failure of a provider and starts its back-off after
// the second one in a minute. after is what the provider asked for; zero: none.
// It returns until when the provider is tried last only.
func (h *Health) failed(provider, reason string, after time.Duration) time.Time {
	return h.update(scope{provider: provider}, func(state *State, now time.Time) {
		state.LastFailure = now
		if now.Sub(state.firstOfMany) > failureWindow {
			state.failures, state.firstOfMany = 0, now
			if !state.Until.After(now.Add(-failureWindow)) {
				state.backoff = 0
			}
		}
		state.failures++
		wait := after
		if state.failures >= failuresToAct {
			// Requests that were under way when a back-off began tell nothing new:
			// only a failure after its end makes the next one longer.
			if state.backoff == 0 || !state.Until.After(now) {
				state.backoff = min(max(2*state.backoff, firstBackoff), lastBackoff)
			}
			wait = max(wait, state.backoff)
		}
		if wait > 0 {
			h.cool(state, now, CoolingDown, reason, wait)
		}
	})
}

// limit notes that a model is not to be asked through a key for a time.
func (h *Health) limit(provider, key, model, reason string, wait time.Duration) time.Time {
	return h.update(scope{provider, key, model}, func(state *State, now time.Time) {
		state.LastFailure = now
		if reason == ReasonRateLimited {
			state.Last429 = now
		}
		h.cool(state, now, CoolingDown, reason, wait)
	})
}

// blockKey notes that a key has no credit or is invalid.
func (h *Health) blockKey(provider, key string, status Status) time.Time {
	return h.update(scope{provider: provider, key: key}, func(state *State, now time.Time) {
		state.LastFailure = now
		h.cool(state, now, status, "", longCooldown)
	})
}

// cool starts a cooldown with up to 10 % more, so that not all nodes come back
// in the same moment. A running longer one stays.
func (h *Health) cool(state *State, now time.Time, status Status, reason string, wait time.Duration) {
	until := now.Add(wait + time.Duration(h.jitter()*float64(wait)/10))
	if until.After(state.Until) {
		state.Until = until
	}
	state.Status, state.Reason = status, reason
}

// Lookup tells the state of a provider (key and model empty), a key, or a
// model through a key, as of now.
func (h *Health) Lookup(provider, key, model string) State {
	h.mu.RLock()
	defer h.mu.RUnlock()
	state := h.states[scope{provider, key, model}]
	if state == nil {
		return State{Status: Untested}
	}
	found := *state
	if !found.Until.After(h.now()) {
		found.Until, found.Reason = time.Time{}, ""
		switch {
		case !found.LastSuccess.IsZero():
			found.Status = Active
		default:
			found.Status = Untested
		}
	}
	return found
}
