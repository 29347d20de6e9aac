package cascade

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
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

// The reasons of a cooldown.
const (
	ReasonRateLimited = "rate_limited"
	ReasonOverloaded  = "overloaded"
	ReasonErrors      = "errors"
	ReasonUnknown     = "unknown_model"
)

// scope names what a state belongs to: a provider as one user has met it (key and model empty), a provider for everyone
// (user empty too), a key, or a model through a key. A key that several users share has a second name for what one user
// alone has met, see keychain.Key.
type scope struct{ provider, user, key, model string }

// ofProvider reports whether the state belongs to a provider rather than to a key or to a model through a key.
func (s scope) ofProvider() bool { return s.key == "" && s.model == "" }

func (s scope) ofEveryone() bool { return s.ofProvider() && s.user == "" }

// State is what is known of one scope.
type State struct {
	Status Status
	// Reason is that of the cooldown, one of the Reason constants.
	Reason string
	// Until is the end of the cooldown. It is zero if none runs.
	Until                             time.Time
	LastSuccess, LastFailure, Last429 time.Time

	failures    int           // of a provider, inside the window
	firstOfMany time.Time     // when the window began
	backoff     time.Duration // the last cooldown of a provider
	witnesses   *witnesses    // of a provider for everyone; nil if there are none
}

// troubled reports whether a success would change the state of a provider. A nil state is not troubled.
func (s *State) troubled() bool {
	return s != nil && (s.failures > 0 || s.backoff > 0 || s.witnesses != nil)
}

// witnesses are the users who last saw a provider fail.
type witnesses [usersToAct]struct {
	user string
	at   time.Time
}

// enough records a user's failure and reports whether enough different users have had one within failureWindow.
func (w *witnesses) enough(user string, now time.Time) bool {
	at, recent := 0, 1
	for i := range w {
		if w[i].user == user {
			at = i
			break
		}
		if w[i].at.Before(w[at].at) {
			at = i // the oldest gives way
		}
	}
	w[at].user, w[at].at = user, now
	for i := range w {
		if i != at && !w[i].at.IsZero() && now.Sub(w[i].at) <= failureWindow {
			recent++
		}
	}
	return recent == len(w)
}

// Limits of the table, and the back-off of failing providers (specification 13.3).
const (
	maxStates     = 100_000
	failureWindow = time.Minute
	failuresToAct = 2
	usersToAct    = 3
	firstBackoff  = 10 * time.Second
	lastBackoff   = 5 * time.Minute
	longCooldown  = time.Hour
)

// Health remembers which providers, keys and models are not worth a try now. It lives as long as the process and
// survives reloads. A failure that one user can cause alone, by a request that breaks a provider or by a server of
// their own, counts for that user only. For everyone count failures that no request can cause, and those that several
// users have met.
type Health struct {
	mu       sync.RWMutex
	states   map[scope]*State
	troubled int          // number of provider states that a success changes
	backedUp atomic.Int64 // when the last back-off of any provider ends, in Unix nanoseconds
	now      func() time.Time
	jitter   func() float64 // returns a number from 0 to 1
}

// NewHealth returns an empty table that takes the time from now.
func NewHealth(now func() time.Time) *Health {
	return &Health{states: make(map[scope]*State), now: now, jitter: rand.Float64}
}

// blocked returns the time until which a key must not be tried, and why: the key has no credit or is bad, or the model
// is limited or unknown through it. A zero time means that the key may be tried.
func (h *Health) blocked(provider, key, model string) (until time.Time, status Status) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, s := range [...]scope{{provider: provider, key: key}, {provider: provider, key: key, model: model}} {
		if state := h.states[s]; state != nil && state.Until.After(until) {
			until, status = state.Until, state.Status
		}
	}
	if until.IsZero() || !until.After(h.now()) {
		return time.Time{}, ""
	}
	return until, status
}

// blockedFor returns the time until which one user must not try a key, and why, as blocked does. If several users share
// the key, the failures that only this user has met count too, and the later of the two times is returned.
func (h *Health) blockedFor(provider string, key *keychain.Key, model string) (until time.Time, status Status) {
	until, status = h.blocked(provider, key.ID, model)
	if key.Shared() {
		if mine, other := h.blocked(provider, key.Mine, model); mine.After(until) {
			return mine, other
		}
	}
	return until, status
}

// failing reports whether a provider is in a back-off, for everyone or for the user, so that it is tried last. It does
// not look at the table while no provider is in a back-off.
func (h *Health) failing(provider, user string) bool {
	now := h.now()
	if now.UnixNano() >= h.backedUp.Load() {
		return false
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, s := range [...]scope{{provider: provider}, {provider: provider, user: user}} {
		if state := h.states[s]; state != nil && state.Until.After(now) {
			return true
		}
	}
	return false
}

// update changes the state of a scope, creating the state if there is none. It returns the end of the cooldown that
// runs after the change, or a zero time if none runs.
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
	if state.troubled() {
		h.troubled--
	}
	change(state, now)
	if state.troubled() {
		h.troubled++
	}
	if !state.Until.After(now) {
		return time.Time{}
	}
	if s.ofProvider() {
		h.backedUp.Store(max(h.backedUp.Load(), state.Until.UnixNano()))
	}
	return state.Until
}

// evict makes room in the table. States whose cooldown is over go first, then any others. The states of everyone stay:
// there are only as many as providers, and no user must be able to drive them out. The caller holds the lock.
func (h *Health) evict(now time.Time) {
	for _, running := range []bool{false, true} {
		for s, state := range h.states {
			if len(h.states) < maxStates*9/10 {
				return
			}
			if s.ofEveryone() || state.Until.After(now) != running {
				continue
			}
			if state.troubled() {
				h.troubled--
			}
			delete(h.states, s)
		}
	}
}

// success records a good answer. It ends the count of failures but not a cooldown. In the usual case, in which all was
// well before and a success was recorded within the last second, it takes no write lock.
func (h *Health) success(provider, user, key string) {
	ofKey := scope{provider: provider, key: key}
	ofProvider := [...]scope{{provider: provider}, {provider: provider, user: user}}
	h.mu.RLock()
	k := h.states[ofKey]
	noted := k != nil && k.Status == Active && h.now().Sub(k.LastSuccess) < time.Second
	troubled := h.troubled > 0 && (h.states[ofProvider[0]].troubled() || h.states[ofProvider[1]].troubled())
	h.mu.RUnlock()
	if !noted {
		h.update(ofKey, func(state *State, now time.Time) {
			state.LastSuccess = now
			state.settle(now)
		})
	}
	if !troubled {
		return
	}
	for _, s := range ofProvider {
		h.mu.RLock()
		known := h.states[s] != nil
		h.mu.RUnlock()
		if known {
			h.update(s, func(state *State, now time.Time) {
				state.LastSuccess = now
				state.failures, state.backoff, state.witnesses = 0, 0, nil
				state.settle(now)
			})
		}
	}
}

// settle makes a state active if its cooldown is over.
func (s *State) settle(now time.Time) {
	if !s.Until.After(now) {
		s.Status, s.Reason = Active, ""
	}
}

// incident is a transient failure of a provider, as a user has met it.
type incident struct {
	provider, user string
	// own is set if the provider is the user's own server.
	own bool
	// unreachable is set if there was no connection, which no request can cause.
	unreachable bool
	reason      string
	wait        time.Duration // the time that the provider asked for; 0 if it asked for none
}

// failed records an incident. The second one in a minute starts the provider's back-off for the user. The back-off is
// for everyone if the provider was unreachable or if several users have met an incident. It returns the time until
// which the provider is tried last, and whether that is for everyone.
func (h *Health) failed(i incident) (until time.Time, everyone bool) {
	until = h.update(scope{provider: i.provider, user: i.user}, func(state *State, now time.Time) {
		h.count(state, now, i.reason, i.wait)
	})
	if i.own {
		return until, false
	}
	ofAll := h.update(scope{provider: i.provider}, func(state *State, now time.Time) {
		if i.unreachable {
			h.count(state, now, i.reason, i.wait)
			return
		}
		if state.witnesses == nil {
			state.witnesses = new(witnesses)
		}
		if state.witnesses.enough(i.user, now) {
			h.backOff(state, now, i.reason, i.wait)
		}
	})
	if ofAll.IsZero() {
		return until, false
	}
	if ofAll.After(until) {
		until = ofAll
	}
	return until, true
}

// count records a failure of a provider. The second one in a minute starts a back-off. If the provider asks to be left
// alone, the first one starts a cooldown.
func (h *Health) count(state *State, now time.Time, reason string, wait time.Duration) {
	state.LastFailure = now
	if now.Sub(state.firstOfMany) > failureWindow {
		state.failures, state.firstOfMany = 0, now
	}
	state.failures++
	switch {
	case state.failures >= failuresToAct:
		h.backOff(state, now, reason, wait)
	case wait > 0:
		h.cool(state, now, CoolingDown, reason, wait)
	}
}

// backOff cools a provider down, each time for twice as long, and starts again from the shortest time after a minute
// without a back-off. Failures during a back-off do not lengthen the next one, since they may belong to requests that
// were under way when it began.
func (h *Health) backOff(state *State, now time.Time, reason string, wait time.Duration) {
	state.LastFailure = now
	if !state.Until.After(now.Add(-failureWindow)) {
		state.backoff = 0
	}
	if state.backoff == 0 || !state.Until.After(now) {
		state.backoff = min(max(2*state.backoff, firstBackoff), lastBackoff)
	}
	h.cool(state, now, CoolingDown, reason, max(wait, state.backoff))
}

// limit stops the use of a model through a key for a time. It returns the end of the cooldown.
func (h *Health) limit(provider, key, model, reason string, wait time.Duration) time.Time {
	return h.update(scope{provider: provider, key: key, model: model}, func(state *State, now time.Time) {
		state.LastFailure = now
		if reason == ReasonRateLimited {
			state.Last429 = now
		}
		h.cool(state, now, CoolingDown, reason, wait)
	})
}

// blockKey records that a key has no credit or is invalid. It returns the end of the cooldown.
func (h *Health) blockKey(provider, key string, status Status) time.Time {
	return h.update(scope{provider: provider, key: key}, func(state *State, now time.Time) {
		state.LastFailure = now
		h.cool(state, now, status, "", longCooldown)
	})
}

// cool starts a cooldown that is up to 10 % longer than wait, so that not all nodes come back at the same moment. It
// never shortens one that runs.
func (h *Health) cool(state *State, now time.Time, status Status, reason string, wait time.Duration) {
	until := now.Add(wait + time.Duration(h.jitter()*float64(wait)/10))
	if until.After(state.Until) {
		state.Until = until
	}
	state.Status, state.Reason = status, reason
}

// Provider returns the current state of a provider for a user: what the user has met, and the back-off for everyone if
// that ends later.
func (h *Health) Provider(provider, user string) State {
	found := h.lookup(scope{provider: provider, user: user})
	if all := h.lookup(scope{provider: provider}); all.Until.After(found.Until) {
		found.Status, found.Reason, found.Until = all.Status, all.Reason, all.Until
	}
	return found
}

// Lookup returns the current state of a key (if model is empty) or of a model through a key.
func (h *Health) Lookup(provider, key, model string) State {
	return h.lookup(scope{provider: provider, key: key, model: model})
}

// Key returns the state of a key, or of a model through it, as one user sees it. If several users share the key, the
// cooldown that only this user has met is returned if it ends later.
func (h *Health) Key(provider string, key *keychain.Key, model string) State {
	found := h.Lookup(provider, key.ID, model)
	if !key.Shared() {
		return found
	}
	if mine := h.Lookup(provider, key.Mine, model); mine.Until.After(found.Until) {
		found.Status, found.Reason, found.Until = mine.Status, mine.Reason, mine.Until
	}
	return found
}

func (h *Health) lookup(s scope) State {
	h.mu.RLock()
	defer h.mu.RUnlock()
	state := h.states[s]
	if state == nil {
		return State{Status: Untested}
	}
	found := *state
	found.witnesses = nil
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
