package cascade

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
)

func newTestHealth() (*Health, *clock) {
	c := newClock()
	h := NewHealth(c.now)
	h.jitter = func() float64 { return 0 }
	return h, c
}

func TestHealthBackoff(t *testing.T) {
	t.Parallel()
	h, c := newTestHealth()
	if until := h.failed("p", ReasonErrors, 0); !until.IsZero() || h.failing("p") {
		t.Fatalf("one failure cools until %s", until)
	}
	// Two in a minute: 10 s, then doubling up to 5 min as long as it goes on failing.
	for _, want := range []time.Duration{10, 20, 40, 80, 160, 300, 300} {
		h.failed("p", ReasonErrors, 0)
		until := h.failed("p", ReasonErrors, 0)
		if got := until.Sub(c.now()); got != want*time.Second {
			t.Fatalf("cools for %s, want %ds", got, want)
		}
		state := h.Lookup("p", "", "")
		if !h.failing("p") || state.Status != CoolingDown || state.Reason != ReasonErrors || !state.Until.Equal(until) {
			t.Fatalf("state %+v", state)
		}
		c.advance(want*time.Second - 1)
		if !h.failing("p") {
			t.Fatal("ended too early")
		}
		c.advance(1)
		if h.failing("p") {
			t.Fatal("did not end")
		}
	}
	h.success("p", "k")
	h.failed("p", ReasonErrors, 0)
	if until := h.failed("p", ReasonErrors, 0); until.Sub(c.now()) != firstBackoff {
		t.Errorf("after a success it cools for %s", until.Sub(c.now()))
	}
}

func TestHealthBurstIsOneOutage(t *testing.T) {
	t.Parallel()
	h, c := newTestHealth()
	for range 50 { // requests under way when the provider broke
		h.failed("p", ReasonErrors, 0)
	}
	if got := h.Lookup("p", "", "").Until.Sub(c.now()); got != firstBackoff {
		t.Errorf("a burst of failures cools for %s", got)
	}
}

func TestHealthFailuresApart(t *testing.T) {
	t.Parallel()
	h, c := newTestHealth()
	for range 10 {
		h.failed("p", ReasonErrors, 0)
		if h.failing("p") {
			t.Fatal("failures that are minutes apart add up")
		}
		c.advance(failureWindow + time.Second)
	}
	// A long time of peace forgets the back-off.
	for range 4 {
		h.failed("p", ReasonErrors, 0)
		c.advance(11 * time.Second)
	}
	c.advance(time.Hour)
	h.failed("p", ReasonErrors, 0)
	if until := h.failed("p", ReasonErrors, 0); until.Sub(c.now()) != firstBackoff {
		t.Errorf("after an hour it cools for %s", until.Sub(c.now()))
	}
}

func TestHealthHonoursTheWait(t *testing.T) {
	t.Parallel()
	h, c := newTestHealth()
	if until := h.failed("p", ReasonOverloaded, 3*time.Second); until.Sub(c.now()) != 3*time.Second {
		t.Errorf("told to wait 3s it cools for %s", until.Sub(c.now()))
	}
	if until := h.failed("p", ReasonOverloaded, 3*time.Second); until.Sub(c.now()) != firstBackoff {
		t.Errorf("the second time it cools for %s", until.Sub(c.now()))
	}
	if until := h.failed("p", ReasonOverloaded, time.Minute); until.Sub(c.now()) != time.Minute {
		t.Errorf("told to wait a minute it cools for %s", until.Sub(c.now()))
	}
	if until := h.failed("p", ReasonOverloaded, 0); until.Sub(c.now()) != time.Minute {
		t.Errorf("a running cooldown became %s", until.Sub(c.now()))
	}
}

func TestHealthSuccessKeepsAReset(t *testing.T) {
	t.Parallel()
	h, c := newTestHealth()
	h.failed("p", ReasonErrors, 0)
	h.failed("p", ReasonErrors, 0)
	h.success("p", "k")
	if state := h.Lookup("p", "", ""); state.Status != CoolingDown || !h.failing("p") {
		t.Errorf("a success ended the cooldown: %+v", state)
	}
	c.advance(firstBackoff)
	if state := h.Lookup("p", "", ""); state.Status != Active || !state.Until.IsZero() || state.Reason != "" {
		t.Errorf("afterwards: %+v", state)
	}
}

func TestHealthKeys(t *testing.T) {
	t.Parallel()
	h, c := newTestHealth()
	if until, _ := h.blocked("p", "k", "m"); !until.IsZero() {
		t.Fatal("blocked from the beginning")
	}
	if state := h.Lookup("p", "k", ""); state.Status != Untested {
		t.Errorf("at first: %+v", state)
	}
	until := h.limit("p", "k", "m", ReasonRateLimited, time.Minute)
	if until.Sub(c.now()) != time.Minute {
		t.Errorf("limited for %s", until.Sub(c.now()))
	}
	for _, s := range []struct {
		provider, key, model string
		blocked              bool
	}{{"p", "k", "m", true}, {"p", "k", "other", false}, {"p", "other", "m", false}, {"other", "k", "m", false}} {
		if until, status := h.blocked(s.provider, s.key, s.model); until.IsZero() == s.blocked || (s.blocked && status != CoolingDown) {
			t.Errorf("%v: until %s, %s", s, until, status)
		}
	}
	if state := h.Lookup("p", "k", "m"); state.Status != CoolingDown || state.Reason != ReasonRateLimited || !state.Last429.Equal(c.now()) {
		t.Errorf("limited: %+v", state)
	}
	// A shorter limit does not cut a longer one.
	if again := h.limit("p", "k", "m", ReasonRateLimited, time.Second); !again.Equal(until) {
		t.Errorf("a shorter one: %s", again)
	}
	// A key without credit is blocked for all models, and the longer one counts.
	h.blockKey("p", "k", NoCredit)
	if until, status := h.blocked("p", "k", "m"); until.Sub(c.now()) != longCooldown || status != NoCredit {
		t.Errorf("no credit: %s, %s", until, status)
	}
	if until, status := h.blocked("p", "k", "other"); until.IsZero() || status != NoCredit {
		t.Errorf("no credit, other model: %s, %s", until, status)
	}
	h.blockKey("p", "k2", InvalidKey)
	if state := h.Lookup("p", "k2", ""); state.Status != InvalidKey {
		t.Errorf("invalid: %+v", state)
	}
	c.advance(longCooldown)
	for _, key := range []string{"k", "k2"} {
		if until, _ := h.blocked("p", key, "m"); !until.IsZero() {
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
		until := h.limit("p", "k", fmt.Sprint(j), ReasonRateLimited, 100*time.Second)
		if got := until.Sub(c.now()); got != 100*time.Second+time.Duration(j*float64(10*time.Second)) {
			t.Errorf("jitter %g: %s", j, got)
		}
	}
	real := NewHealth(c.now)
	for range 100 {
		if got := real.limit("p", "k", "m", ReasonRateLimited, 100*time.Second).Sub(c.now()); got < 100*time.Second || got > 110*time.Second {
			t.Fatalf("limited for %s", got)
		}
	}
}

func TestHealthIsBounded(t *testing.T) {
	t.Parallel()
	h, c := newTestHealth()
	h.limit("p", "keep", "m", ReasonRateLimited, time.Hour)
	for i := range maxStates + 1000 {
		h.failed(fmt.Sprint("https://", i), ReasonErrors, 0)
	}
	if n := len(h.states); n > maxStates {
		t.Errorf("%d states", n)
	}
	if until, _ := h.blocked("p", "keep", "m"); until.IsZero() {
		t.Error("a running cooldown was thrown out before states that do not matter")
	}
	for i := range maxStates + 1000 { // none can go by itself
		h.limit("p", fmt.Sprint(i), "m", ReasonRateLimited, time.Hour)
	}
	if n := len(h.states); n > maxStates {
		t.Errorf("%d running states", n)
	}
	_ = c
}

func TestHealthUnderLoad(t *testing.T) {
	t.Parallel()
	h := NewHealth(time.Now)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 500 {
				h.success("p", "k")
				h.failed("p", ReasonErrors, 0)
				h.limit("p", "k", fmt.Sprint(i), ReasonRateLimited, time.Nanosecond)
				h.blocked("p", "k", "m")
				h.failing("p")
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
		s := &shape{ChatShape: wire.ChatShape{Drop: []string{"user"}, MaxTokensField: catalog.FieldMaxCompletionTokens, StreamUsage: true}}
		l.apply("p", "m", s)
		return s
	}
	is := func(what, drop, limit string, usage bool) {
		t.Helper()
		s := learned()
		if fmt.Sprint(s.Drop) != drop || s.MaxTokensField != limit || s.StreamUsage != usage {
			t.Errorf("%s: %+v", what, *s)
		}
	}
	is("at first", "[user]", "max_completion_tokens", true)
	l.add("p", "other", "temperature")
	l.add("other", "m", "temperature")
	is("of others", "[user]", "max_completion_tokens", true)
	l.add("p", "m", "temperature")
	l.add("p", "m", "temperature")
	is("a parameter", "[user temperature]", "max_completion_tokens", true)
	l.add("p", "m", "max_completion_tokens")
	is("a limit", "[user temperature]", "max_tokens", true)
	l.add("p", "m", "max_tokens")
	is("the other limit", "[user temperature]", "max_completion_tokens", true)
	l.add("p", "m", "stream_options")
	is("options", "[user temperature stream_options]", "max_completion_tokens", false)
	c.advance(learnedFor - time.Second)
	is("a day later", "[user temperature stream_options]", "max_completion_tokens", false)
	c.advance(time.Second)
	is("after that", "[user]", "max_completion_tokens", true)
	l.add("p", "m", "top_p")
	is("learned anew", "[user top_p]", "max_completion_tokens", true)
	if learned().onlyChat {
		t.Error("the chat format was chosen for no reason")
	}
	l.add("p", "m", fixFormat)
	is("a format", "[user top_p]", "max_completion_tokens", true)
	if !learned().onlyChat {
		t.Error("that only chat works was not learned")
	}
	for i := range maxLearned + 10 {
		l.add("p", fmt.Sprint(i), "x")
	}
	if n := len(l.fix); n > maxLearned {
		t.Errorf("%d models are remembered", n)
	}
}
