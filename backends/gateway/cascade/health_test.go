package cascade

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat/native"
)

func newTestHealth() (*Health, *clock) {
	c := newClock()
	h := NewHealth(c.now)
	h.jitter = func() float64 { return 0 }
	return h, c
}

// recordFailureOf records a failure of the provider p for a user.
func (h *Health) recordFailureOf(user, reason string, wait time.Duration) time.Time {
	end, _ := h.failed(incident{provider: "p", user: user, reason: reason, wait: wait})
	return end
}

func TestHealthBackoff(t *testing.T) {
	t.Parallel()
	h, c := newTestHealth()
	if end := h.recordFailureOf("u", ReasonErrors, 0); !end.IsZero() || h.failing("p", "u") {
		t.Fatalf("one failure cools until %s", end)
	}
	// Two failures within a minute cool the provider for 10 s. The time doubles with each further round, up to 5 min.
	for _, want := range []time.Duration{10, 20, 40, 80, 160, 300, 300} {
		h.recordFailureOf("u", ReasonErrors, 0)
		end := h.recordFailureOf("u", ReasonErrors, 0)
		if got := end.Sub(c.now()); got != want*time.Second {
			t.Fatalf("cools for %s, want %ds", got, want)
		}
		state := h.Provider("p", "u")
		if !h.failing("p", "u") || state.Status != CoolingDown || state.Reason != ReasonErrors || !state.Until.Equal(end) {
			t.Fatalf("state %+v", state)
		}
		c.advance(want*time.Second - 1)
		if !h.failing("p", "u") {
			t.Fatal("ended too early")
		}
		c.advance(1)
		if h.failing("p", "u") {
			t.Fatal("did not end")
		}
	}
	h.success("p", "u", "k")
	h.recordFailureOf("u", ReasonErrors, 0)
	if end := h.recordFailureOf("u", ReasonErrors, 0); end.Sub(c.now()) != firstBackoff {
		t.Errorf("after a success it cools for %s", end.Sub(c.now()))
	}
}

func TestHealthBurstIsOneOutage(t *testing.T) {
	t.Parallel()
	h, c := newTestHealth()
	for range 50 { // requests under way when the provider broke
		h.recordFailureOf("u", ReasonErrors, 0)
	}
	if got := h.Provider("p", "u").Until.Sub(c.now()); got != firstBackoff {
		t.Errorf("a burst of failures cools for %s", got)
	}
}

func TestHealthFailuresFarApart(t *testing.T) {
	t.Parallel()
	h, c := newTestHealth()
	for range 10 {
		h.recordFailureOf("u", ReasonErrors, 0)
		if h.failing("p", "u") {
			t.Fatal("failures that are minutes apart add up")
		}
		c.advance(failureWindow + time.Second)
	}
	// After a long time without failures, the back-off begins anew.
	for range 4 {
		h.recordFailureOf("u", ReasonErrors, 0)
		c.advance(11 * time.Second)
	}
	c.advance(time.Hour)
	h.recordFailureOf("u", ReasonErrors, 0)
	if end := h.recordFailureOf("u", ReasonErrors, 0); end.Sub(c.now()) != firstBackoff {
		t.Errorf("after an hour it cools for %s", end.Sub(c.now()))
	}
}

func TestHealthHonoursTheWait(t *testing.T) {
	t.Parallel()
	h, c := newTestHealth()
	if end := h.recordFailureOf("u", ReasonOverloaded, 3*time.Second); end.Sub(c.now()) != 3*time.Second {
		t.Errorf("told to wait 3s it cools for %s", end.Sub(c.now()))
	}
	if end := h.recordFailureOf("u", ReasonOverloaded, 3*time.Second); end.Sub(c.now()) != firstBackoff {
		t.Errorf("the second time it cools for %s", end.Sub(c.now()))
	}
	if end := h.recordFailureOf("u", ReasonOverloaded, time.Minute); end.Sub(c.now()) != time.Minute {
		t.Errorf("told to wait a minute it cools for %s", end.Sub(c.now()))
	}
	if end := h.recordFailureOf("u", ReasonOverloaded, 0); end.Sub(c.now()) != time.Minute {
		t.Errorf("a running cooldown became %s", end.Sub(c.now()))
	}
}

func TestHealthSuccessKeepsAReset(t *testing.T) {
	t.Parallel()
	h, c := newTestHealth()
	h.recordFailureOf("u", ReasonErrors, 0)
	h.recordFailureOf("u", ReasonErrors, 0)
	h.success("p", "u", "k")
	if state := h.Provider("p", "u"); state.Status != CoolingDown || !h.failing("p", "u") {
		t.Errorf("a success ended the cooldown: %+v", state)
	}
	c.advance(firstBackoff)
	if state := h.Provider("p", "u"); state.Status != Active || !state.Until.IsZero() || state.Reason != "" {
		t.Errorf("afterwards: %+v", state)
	}
}

func TestHealthKeys(t *testing.T) {
	t.Parallel()
	h, c := newTestHealth()
	if end, _ := h.blocked("p", "k", "m"); !end.IsZero() {
		t.Fatal("blocked from the beginning")
	}
	if state := h.Lookup("p", "k", ""); state.Status != Untested {
		t.Errorf("at first: %+v", state)
	}
	end := h.limitModel("p", "k", "m", ReasonRateLimited, time.Minute)
	if end.Sub(c.now()) != time.Minute {
		t.Errorf("limited for %s", end.Sub(c.now()))
	}
	for _, s := range []struct {
		provider, key, model string
		blocked              bool
	}{{"p", "k", "m", true}, {"p", "k", "other", false}, {"p", "other", "m", false}, {"other", "k", "m", false}} {
		if end, status := h.blocked(s.provider, s.key, s.model); end.IsZero() == s.blocked || (s.blocked && status != CoolingDown) {
			t.Errorf("%v: until %s, %s", s, end, status)
		}
	}
	if state := h.Lookup("p", "k", "m"); state.Status != CoolingDown || state.Reason != ReasonRateLimited || !state.Last429.Equal(c.now()) {
		t.Errorf("limited: %+v", state)
	}
	// A shorter limit does not shorten a longer one.
	if got := h.limitModel("p", "k", "m", ReasonRateLimited, time.Second); !got.Equal(end) {
		t.Errorf("a shorter one: %s", got)
	}
	// A key without credit is blocked for all models. The longer of the two blocks applies.
	h.blockKey("p", "k", NoCredit)
	if end, status := h.blocked("p", "k", "m"); end.Sub(c.now()) != longCooldown || status != NoCredit {
		t.Errorf("no credit: %s, %s", end, status)
	}
	if end, status := h.blocked("p", "k", "other"); end.IsZero() || status != NoCredit {
		t.Errorf("no credit, other model: %s, %s", end, status)
	}
	h.blockKey("p", "k2", InvalidKey)
	if state := h.Lookup("p", "k2", ""); state.Status != InvalidKey {
		t.Errorf("invalid: %+v", state)
	}
	c.advance(longCooldown)
	for _, key := range []string{"k", "k2"} {
		if end, _ := h.blocked("p", key, "m"); !end.IsZero() {
			t.Errorf("%s is still blocked", key)
		}
		if state := h.Lookup("p", key, ""); state.Status != Untested || state.LastFailure.IsZero() {
			t.Errorf("%s afterwards: %+v", key, state)
		}
	}
}

func TestHealthJitter(t *testing.T) {
	t.Parallel()
	h, c := newTestHealth()
	for _, j := range []float64{0, 0.5, 0.999} {
		h.jitter = func() float64 { return j }
		end := h.limitModel("p", "k", fmt.Sprint(j), ReasonRateLimited, 100*time.Second)
		if got := end.Sub(c.now()); got != 100*time.Second+time.Duration(j*float64(10*time.Second)) {
			t.Errorf("jitter %g: %s", j, got)
		}
	}
	real := NewHealth(c.now)
	for range 100 {
		if got := real.limitModel("p", "k", "m", ReasonRateLimited, 100*time.Second).Sub(c.now()); got < 100*time.Second || got > 110*time.Second {
			t.Fatalf("limited for %s", got)
		}
	}
}

func TestHealthIsBounded(t *testing.T) {
	t.Parallel()
	h, c := newTestHealth()
	h.limitModel("p", "keep", "m", ReasonRateLimited, time.Hour)
	for i := range maxStates + 1000 {
		h.failed(incident{provider: fmt.Sprint("https://", i), user: "u", userServer: true, reason: ReasonErrors})
	}
	if n := len(h.states); n > maxStates {
		t.Errorf("%d states", n)
	}
	if end, _ := h.blocked("p", "keep", "m"); end.IsZero() {
		t.Error("a running cooldown was thrown out before states that do not matter")
	}
	for i := range maxStates + 1000 { // none of these expires before the others
		h.limitModel("p", fmt.Sprint(i), "m", ReasonRateLimited, time.Hour)
	}
	if n := len(h.states); n > maxStates {
		t.Errorf("%d running states", n)
	}
	// A state for all users stays, even if one user's incidents fill the table.
	for range failuresToAct {
		h.failed(incident{provider: "down", user: "other", unreachable: true, reason: ReasonErrors})
	}
	for i := range 2 * maxStates {
		h.limitModel("p", fmt.Sprint("more ", i), "m", ReasonRateLimited, 2*time.Hour)
	}
	if !h.failing("down", "nobody") || len(h.states) > maxStates {
		t.Errorf("%d states, down fails for everyone: %t", len(h.states), h.failing("down", "nobody"))
	}
	troubled := 0
	for _, state := range h.states {
		if state.troubled() {
			troubled++
		}
	}
	if troubled != h.troubled {
		t.Errorf("%d states are troubled, %d counted", troubled, h.troubled)
	}
	_ = c
}

// TestHealthOfOneUser checks that failures of one user's requests count only for that user, however many there are.
func TestHealthOfOneUser(t *testing.T) {
	t.Parallel()
	h, c := newTestHealth()
	for range 10 {
		h.recordFailureOf("u", ReasonErrors, time.Minute)
	}
	if !h.failing("p", "u") || h.failing("p", "v") || h.failing("p", "") {
		t.Errorf("failing for u %t, for v %t", h.failing("p", "u"), h.failing("p", "v"))
	}
	if state := h.Provider("p", "v"); state.Status != Untested || !state.LastFailure.IsZero() {
		t.Errorf("v sees %+v", state)
	}
	// Neither failures of two users nor those of three users minutes apart count for everyone.
	h.recordFailureOf("v", ReasonErrors, 0)
	h.recordFailureOf("v", ReasonErrors, 0)
	if h.failing("p", "w") {
		t.Error("two users make it fail for a third")
	}
	c.advance(failureWindow + time.Second)
	h.recordFailureOf("w", ReasonErrors, 0)
	if h.failing("p", "x") || h.failing("p", "w") {
		t.Error("old failures count")
	}
}

// TestHealthOfEveryone checks that failures of three users within a minute count for everyone. The cooling time grows
// with each outage.
func TestHealthOfEveryone(t *testing.T) {
	t.Parallel()
	h, c := newTestHealth()
	outage := func() time.Time {
		h.recordFailureOf("u", ReasonErrors, 0)
		h.recordFailureOf("v", ReasonOverloaded, 0)
		end, everyone := h.failed(incident{provider: "p", user: "w", reason: ReasonOverloaded})
		if !everyone || !h.failing("p", "x") {
			t.Fatal("three users do not make it fail for everyone")
		}
		return end
	}
	for _, want := range []time.Duration{10, 20, 40, 80, 160, 300, 300} {
		end := outage()
		if got := end.Sub(c.now()); got != want*time.Second {
			t.Fatalf("cools for %s, want %ds", got, want)
		}
		if state := h.Provider("p", "x"); state.Status != CoolingDown || state.Reason != ReasonOverloaded || !state.Until.Equal(end) || !state.LastFailure.IsZero() {
			t.Fatalf("x sees %+v", state)
		}
		c.advance(want * time.Second)
		if h.failing("p", "x") {
			t.Fatal("did not end")
		}
	}
	// A success of any user resets the count for everyone.
	h.recordFailureOf("u", ReasonErrors, 0)
	h.recordFailureOf("v", ReasonErrors, 0)
	h.success("p", "x", "k")
	h.recordFailureOf("w", ReasonErrors, 0)
	if h.failing("p", "x") {
		t.Error("failures before a success count")
	}
	c.advance(time.Hour)
	if end := outage(); end.Sub(c.now()) != firstBackoff {
		t.Errorf("after an hour it cools for %s", end.Sub(c.now()))
	}
	// Three different users count, however often each of them fails.
	h, c = newTestHealth()
	for _, user := range []string{"a", "b", "a", "b", "a"} {
		h.recordFailureOf(user, ReasonErrors, 0)
		c.advance(failureWindow / 4)
	}
	h.recordFailureOf("c", ReasonErrors, 0)
	if !h.failing("p", "x") {
		t.Error("users who failed repeatedly are not counted once each")
	}
}

// TestHealthUnreachable checks that an unreachable provider counts for everyone at once, but a user's own server only
// for its user.
func TestHealthUnreachable(t *testing.T) {
	t.Parallel()
	h, _ := newTestHealth()
	for range failuresToAct {
		h.failed(incident{provider: "p", user: "u", unreachable: true, reason: ReasonErrors})
		h.failed(incident{provider: "http://own", user: "u", userServer: true, unreachable: true, reason: ReasonErrors})
	}
	if !h.failing("p", "u") || !h.failing("p", "v") {
		t.Error("an unreachable provider does not fail for everyone")
	}
	if !h.failing("http://own", "u") || h.failing("http://own", "v") {
		t.Error("a user's own server fails for others, or not at all")
	}
	for _, user := range []string{"v", "w", "x"} {
		h.failed(incident{provider: "http://own", user: user, userServer: true, reason: ReasonErrors})
	}
	if h.failing("http://own", "y") {
		t.Error("a user's own server has a state for everyone")
	}
}

// TestHealthIsCheap checks that the health table allocates nothing while there are no failures.
func TestHealthIsCheap(t *testing.T) {
	h, _ := newTestHealth()
	h.success("p", "u", "k")
	if n := testing.AllocsPerRun(100, func() {
		if h.failing("p", "u") {
			t.Error("failing")
		}
		h.success("p", "u", "k")
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if len(h.states) != 1 {
		t.Errorf("%d states of one key that works", len(h.states))
	}
}

func BenchmarkHealth(b *testing.B) {
	h, _ := newTestHealth()
	b.ReportAllocs()
	for b.Loop() {
		for range 9 {
			h.failing("p", "u")
		}
		h.blocked("p", "k", "m")
		h.success("p", "u", "k")
	}
}

func TestHealthUnderLoad(t *testing.T) {
	t.Parallel()
	h := NewHealth(time.Now)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 500 {
				h.success("p", "u", "k")
				h.recordFailureOf("u", ReasonErrors, 0)
				h.limitModel("p", "k", fmt.Sprint(i), ReasonRateLimited, time.Nanosecond)
				h.blocked("p", "k", "m")
				h.failing("p", "u")
				h.Lookup("p", "k", "")
			}
		})
	}
	wg.Wait()
}

func TestLearned(t *testing.T) {
	t.Parallel()
	c := newClock()
	l := NewLearned(c.now)
	learned := func() *shape {
		s := &shape{Shape: native.Shape{Drop: []string{"user"}, MaxTokensField: catalog.FieldMaxCompletionTokens, StreamUsage: true}}
		l.apply("p", "u", "m", s)
		return s
	}
	check := func(name, drop, limit string, usage bool) {
		t.Helper()
		s := learned()
		if fmt.Sprint(s.Drop) != drop || s.MaxTokensField != limit || s.StreamUsage != usage {
			t.Errorf("%s: %+v", name, *s)
		}
	}
	check("at first", "[user]", "max_completion_tokens", true)
	l.add("p", "u", "other", "temperature")
	l.add("other", "u", "m", "temperature")
	l.add("p", "other", "m", "temperature")
	check("of others", "[user]", "max_completion_tokens", true)
	l.add("p", "u", "m", "temperature")
	l.add("p", "u", "m", "temperature")
	check("a parameter", "[user temperature]", "max_completion_tokens", true)
	l.add("p", "u", "m", "max_completion_tokens")
	check("a limit", "[user temperature]", "max_tokens", true)
	l.add("p", "u", "m", "max_tokens")
	check("the other limit", "[user temperature]", "max_completion_tokens", true)
	l.add("p", "u", "m", "stream_options")
	check("options", "[user temperature stream_options]", "max_completion_tokens", false)
	c.advance(learnedFor - time.Second)
	check("a day later", "[user temperature stream_options]", "max_completion_tokens", false)
	c.advance(time.Second)
	check("after that", "[user]", "max_completion_tokens", true)
	l.add("p", "u", "m", "top_p")
	check("learned anew", "[user top_p]", "max_completion_tokens", true)
	if learned().onlyChat {
		t.Error("the chat format was chosen for no reason")
	}
	l.add("p", "u", "m", fixFormat)
	check("a format", "[user top_p]", "max_completion_tokens", true)
	if !learned().onlyChat {
		t.Error("that only chat works was not learned")
	}
	for i := range maxLearned + 10 {
		l.add("p", "u", fmt.Sprint(i), "x")
	}
	if n := len(l.fix); n > maxLearned {
		t.Errorf("%d models are remembered", n)
	}
}
