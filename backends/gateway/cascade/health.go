package cascade

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
)

// Status is the health of a key or a provider.
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

// scope is the key of a state in the health table. A state belongs to a provider for all users (only provider is set),
// to a provider for one user (user is set too), to a key, or to a model through a key. For a key that several users
// share, key is either keychain.Key.ID, for all users, or keychain.Key.Mine, for one user.
type scope struct{ provider, user, key, model string }

// ofProvider reports whether the state belongs to a provider rather than to a key or to a model through a key.
func (s scope) ofProvider() bool { return s.key == "" && s.model == "" }

// ofEveryone reports whether the state belongs to a provider for all users.
func (s scope) ofEveryone() bool { return s.ofProvider() && s.user == "" }

// State is the health of one scope.
type State struct {
	Status Status
	// Reason is the reason of the cooldown, one of the Reason constants.
	Reason string
	// Until is the end of the cooldown, or zero if no cooldown runs.
	Until                             time.Time
	LastSuccess, LastFailure, Last429 time.Time

	failures    int           // failures of a provider within the window
	windowStart time.Time     // start of the window
	backoff     time.Duration // length of a provider's last cooldown
	witnesses   *witnesses    // only for the state of a provider for all users; nil if no user saw a failure
}

// troubled reports whether a success would change a provider's state. A nil state is not troubled.
func (s *State) troubled() bool {
	return s != nil && (s.failures > 0 || s.backoff > 0 || s.witnesses != nil)
}

// witnesses are the last users for whom a provider failed, with the times of their failures.
type witnesses [usersToAct]struct {
	user   string
	failed time.Time
}

// record records a user's failure. It reports whether usersToAct different users have had a failure within
// failureWindow.
func (w *witnesses) record(user string, now time.Time) bool {
	slot := 0 // the user's entry, or else the oldest one, which is replaced
	for i := range w {
		if w[i].user == user {
			slot = i
			break
		}
		if w[i].failed.Before(w[slot].failed) {
			slot = i
		}
	}
	w[slot].user, w[slot].failed = user, now
	recent := 1
	for i := range w {
		if i != slot && !w[i].failed.IsZero() && now.Sub(w[i].failed) <= failureWindow {
			recent++
		}
	}
	return recent == len(w)
}

// Limits of the table, and the back-off of failing providers.
const (
	maxStates     = 100_000
	failureWindow = time.Minute
	failuresToAct = 2
	usersToAct    = 3
	firstBackoff  = 10 * time.Second
	lastBackoff   = 5 * time.Minute
	longCooldown  = time.Hour
)

// Health records the cooldowns of providers, keys and models. It lives as long as the process and survives reloads. A
// failure that one user can cause alone, such as a request that breaks a provider or a failure of the user's own
// server, counts for that user only. Two kinds of failures count for everyone: those that no request can cause, and
// those that several users have had.
type Health struct {
	mu             sync.RWMutex // guards states, the states themselves and troubled
	states         map[scope]*State
	troubled       int          // number of states that are troubled
	lastBackOffEnd atomic.Int64 // when the last back-off of any provider ends, in Unix nanoseconds
	now            func() time.Time
	jitter         func() float64 // returns a number from 0 to 1
}

// NewHealth returns an empty table. now is its clock.
func NewHealth(now func() time.Time) *Health {
	return &Health{states: make(map[scope]*State), now: now, jitter: rand.Float64}
}

// blocked returns the time until which a key must not be tried for a model. The status is the reason: the key has no
// credit or is invalid, or the model is rate-limited or unknown with this key. A zero time means that the key may be
// tried.
func (h *Health) blocked(provider, key, model string) (end time.Time, status Status) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, s := range [...]scope{{provider: provider, key: key}, {provider: provider, key: key, model: model}} {
		if state := h.states[s]; state != nil && state.Until.After(end) {
			end, status = state.Until, state.Status
		}
	}
	if end.IsZero() || !end.After(h.now()) {
		return time.Time{}, ""
	}
	return end, status
}

// blockedFor returns the time until which one user must not try a key, and the reason, like blocked. For a key that
// several users share it returns the later of two times: the one for all users and the one for this user.
func (h *Health) blockedFor(provider string, key *keychain.Key, model string) (end time.Time, status Status) {
	end, status = h.blocked(provider, key.ID, model)
	if key.Shared() {
		if userUntil, userStatus := h.blocked(provider, key.Mine, model); userUntil.After(end) {
			return userUntil, userStatus
		}
	}
	return end, status
}

// failing reports whether a provider is in a back-off, for everyone or for the user, so that the provider's candidates
// are tried last. While no provider is in a back-off it returns without taking the lock.
func (h *Health) failing(provider, user string) bool {
	now := h.now()
	if now.UnixNano() >= h.lastBackOffEnd.Load() {
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

// update applies change to a scope's state, which it creates if necessary. It returns the end of the cooldown that runs
// after the change, or a zero time if no cooldown runs.
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
	if state.troubled() { // counted again below, if it still is after the change
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
		h.lastBackOffEnd.Store(max(h.lastBackOffEnd.Load(), state.Until.UnixNano()))
	}
	return state.Until
}

// evict makes room in the table. States without a running cooldown are removed first, then any others. A provider's
// state for everyone is never removed: there is only one for each provider, and a user must not be able to displace it.
// The caller holds the lock.
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

// success records a good answer. It resets the count of failures but does not end a cooldown. It takes no write lock in
// the usual case: the states were good before, and a success was recorded within the last second.
func (h *Health) success(provider, user, key string) {
	keyScope := scope{provider: provider, key: key}
	providerScopes := [...]scope{{provider: provider}, {provider: provider, user: user}}
	h.mu.RLock()
	keyState := h.states[keyScope]
	recentlyRecorded := keyState != nil && keyState.Status == Active && h.now().Sub(keyState.LastSuccess) < time.Second
	troubled := h.troubled > 0 && (h.states[providerScopes[0]].troubled() || h.states[providerScopes[1]].troubled())
	h.mu.RUnlock()
	if !recentlyRecorded {
		h.update(keyScope, func(state *State, now time.Time) {
			state.LastSuccess = now
			state.settle(now)
		})
	}
	if !troubled {
		return
	}
	for _, s := range providerScopes {
		h.updateKnown(s, func(state *State, now time.Time) {
			state.LastSuccess = now
			state.failures, state.backoff, state.witnesses = 0, 0, nil
			state.settle(now)
		})
	}
}

// updateKnown is like update, but changes nothing if the scope has no state.
func (h *Health) updateKnown(s scope, change func(state *State, now time.Time)) {
	h.mu.RLock()
	known := h.states[s] != nil
	h.mu.RUnlock()
	if known {
		h.update(s, change)
	}
}

// settle makes a state active if its cooldown is over.
func (s *State) settle(now time.Time) {
	if !s.Until.After(now) {
		s.Status, s.Reason = Active, ""
	}
}

// incident is one failure of a provider in a request of one user. The failure is likely to pass.
type incident struct {
	provider, user string
	// userServer is set if the provider is the user's own server.
	userServer bool
	// unreachable is set if there was no connection, which no request can cause.
	unreachable bool
	reason      string
	wait        time.Duration // wait requested by the provider, or 0
}

// failed records an incident. The second incident within a minute starts the provider's back-off for the user. The
// back-off is for everyone if the provider was unreachable, or if several users have had an incident. failed returns
// the end of the back-off and whether the back-off is for everyone.
func (h *Health) failed(i incident) (end time.Time, everyone bool) {
	end = h.update(scope{provider: i.provider, user: i.user}, func(state *State, now time.Time) {
		h.countFailure(state, now, i.reason, i.wait)
	})
	if i.userServer { // nobody else uses it
		return end, false
	}
	everyoneUntil := h.update(scope{provider: i.provider}, func(state *State, now time.Time) {
		if i.unreachable {
			h.countFailure(state, now, i.reason, i.wait)
			return
		}
		if state.witnesses == nil {
			state.witnesses = new(witnesses)
		}
		if state.witnesses.record(i.user, now) {
			h.backOff(state, now, i.reason, i.wait)
		}
	})
	if everyoneUntil.IsZero() {
		return end, false
	}
	if everyoneUntil.After(end) {
		end = everyoneUntil
	}
	return end, true
}

// countFailure records a failure of a provider. The second failure within a minute starts a back-off. If the provider
// asks for a wait, the first failure already starts a cooldown of that length.
func (h *Health) countFailure(state *State, now time.Time, reason string, wait time.Duration) {
	state.LastFailure = now
	if now.Sub(state.windowStart) > failureWindow {
		state.failures, state.windowStart = 0, now
	}
	state.failures++
	switch {
	case state.failures >= failuresToAct:
		h.backOff(state, now, reason, wait)
	case wait > 0:
		h.startCooldown(state, now, CoolingDown, reason, wait)
	}
}

// backOff starts a provider's cooldown, each time twice as long as the one before. After a minute without a back-off it
// starts again with the shortest time. Failures during a back-off do not lengthen the next one, since they may belong
// to requests that were sent before it.
func (h *Health) backOff(state *State, now time.Time, reason string, wait time.Duration) {
	state.LastFailure = now
	if !state.Until.After(now.Add(-failureWindow)) {
		state.backoff = 0
	}
	if state.backoff == 0 || !state.Until.After(now) {
		state.backoff = min(max(2*state.backoff, firstBackoff), lastBackoff)
	}
	h.startCooldown(state, now, CoolingDown, reason, max(wait, state.backoff))
}

// limitModel stops the use of a model through a key for the duration wait. It returns the end of the cooldown.
func (h *Health) limitModel(provider, key, model, reason string, wait time.Duration) time.Time {
	return h.update(scope{provider: provider, key: key, model: model}, func(state *State, now time.Time) {
		state.LastFailure = now
		if reason == ReasonRateLimited {
			state.Last429 = now
		}
		h.startCooldown(state, now, CoolingDown, reason, wait)
	})
}

// blockKey records that a key has no credit or is invalid, as status says. It returns the end of the cooldown.
func (h *Health) blockKey(provider, key string, status Status) time.Time {
	return h.update(scope{provider: provider, key: key}, func(state *State, now time.Time) {
		state.LastFailure = now
		h.startCooldown(state, now, status, "", longCooldown)
	})
}

// startCooldown starts a cooldown that is up to 10 % longer than wait, so that not all nodes end it at the same moment.
// It never shortens a running cooldown.
func (h *Health) startCooldown(state *State, now time.Time, status Status, reason string, wait time.Duration) {
	end := now.Add(wait + time.Duration(h.jitter()*float64(wait)/10))
	if end.After(state.Until) {
		state.Until = end
	}
	state.Status, state.Reason = status, reason
}

// Provider returns the current state of a provider for a user. It is the user's own state, but with the back-off for
// everyone if that ends later.
func (h *Health) Provider(provider, user string) State {
	found := h.lookup(scope{provider: provider, user: user})
	if everyone := h.lookup(scope{provider: provider}); everyone.Until.After(found.Until) {
		found.Status, found.Reason, found.Until = everyone.Status, everyone.Reason, everyone.Until
	}
	return found
}

// Lookup returns the current state of a key (if model is empty) or of a model through a key.
func (h *Health) Lookup(provider, key, model string) State {
	return h.lookup(scope{provider: provider, key: key, model: model})
}

// Key returns the state of a provider key as it applies to one user, or the state of a model through the key if model
// is not empty. A key that several users share has two cooldowns, one for all its users and one for this user. The
// state has the one that ends later.
func (h *Health) Key(provider string, key *keychain.Key, model string) State {
	found := h.Lookup(provider, key.ID, model)
	if !key.Shared() {
		return found
	}
	if userState := h.Lookup(provider, key.Mine, model); userState.Until.After(found.Until) {
		found.Status, found.Reason, found.Until = userState.Status, userState.Reason, userState.Until
	}
	return found
}

// lookup returns a copy of a state as it is now: a cooldown that is over is left out. A scope without a state is
// untested.
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
		found.Until, found.Reason, found.Status = time.Time{}, "", Untested
		if !found.LastSuccess.IsZero() {
			found.Status = Active
		}
	}
	return found
}
