package keychain

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema/schematest"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/counters"
)

// wantTooMany checks that a request is refused with 429, and that the message begins with prefix.
func wantTooMany(t *testing.T, err error, prefix string) {
	t.Helper()
	refusal, ok := apierror.From(err)
	if !ok || refusal.Status != http.StatusTooManyRequests || refusal.Code != "rate_limit_exceeded" || refusal.RetryAfter < time.Second ||
		!strings.HasPrefix(refusal.Message, prefix) {
		t.Errorf("error %v, want a refusal of %s", err, prefix)
	}
}

// TestParallelRequests checks that no more requests run at the same time than each limit allows.
func TestParallelRequests(t *testing.T) {
	t.Parallel()
	n := cluster{schematest.Place{Location: t.TempDir() + "/test.db"}}.start(t)
	count := counters.NewMemory(n.now)
	two, three := int64(2), int64(3)
	alice := &Identity{UserID: "alice", KeyID: "a", Limits: Limits{Rates: Rates{ParallelRequests: &two}}, Imposed: []Imposed{
		{On: OnTeam, Holder: "red", Limits: Limits{Rates: Rates{ParallelRequests: &three}}},
	}}
	bob := &Identity{UserID: "bob", KeyID: "b", Imposed: alice.Imposed}
	admit := func(id *Identity) *Admission {
		t.Helper()
		a, err := n.Admit(t.Context(), count, id)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	refuse := func(id *Identity, prefix string) {
		t.Helper()
		_, err := n.Admit(t.Context(), count, id)
		wantTooMany(t, err, prefix)
	}
	first, second := admit(alice), admit(alice)
	refuse(alice, "the gateway key has 2 requests")
	third := admit(bob)
	refuse(bob, "the team of the gateway key has 3 requests")
	if err := first.Done(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	// The key and its team each have one free slot, which this request takes.
	fourth := admit(alice)
	refuse(alice, "the gateway key")
	for _, a := range []*Admission{second, third, fourth, fourth, nil} {
		if err := a.Done(t.Context(), 10); err != nil {
			t.Error(err)
		}
	}
	for range 3 {
		admit(bob)
	}
	refuse(alice, "the team") // the slot of alice's key was given back
	n.clock.Offset.Add(int64(holdFor))
	admit(alice)
	admit(alice)

	if a := admit(&Identity{UserID: "carol", KeyID: "c"}); a != nil {
		t.Errorf("a key without limits has taken %+v", a)
	}
}

// TestTokensPerMinute checks that requests are refused once the tokens of the minute are used up.
func TestTokensPerMinute(t *testing.T) {
	t.Parallel()
	n := cluster{schematest.Place{Location: t.TempDir() + "/test.db"}}.start(t)
	count := counters.NewMemory(n.now)
	hundred := int64(100)
	id := &Identity{UserID: "alice", KeyID: "a", Imposed: []Imposed{
		{On: OnOrganisation, Holder: Organisation, Limits: Limits{Rates: Rates{TokensPerMinute: &hundred}}},
	}}
	for _, tokens := range []int64{60, 0, 40} {
		a, err := n.Admit(t.Context(), count, id)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Done(t.Context(), tokens); err != nil {
			t.Fatal(err)
		}
	}
	_, err := n.Admit(t.Context(), count, id)
	wantTooMany(t, err, "the organisation has used 100 tokens")
	n.clock.Offset.Add(int64(2 * time.Minute))
	if _, err := n.Admit(t.Context(), count, id); err != nil {
		t.Error(err)
	}
}

// TestParallelRequestsAtOnce checks that the limit holds when three nodes admit 200 requests at the same time.
func TestParallelRequestsAtOnce(t *testing.T) {
	t.Parallel()
	p := cluster{schematest.Place{Location: t.TempDir() + "/test.db"}}
	nodes := []*node{p.start(t), p.start(t), p.start(t)}
	count := counters.NewMemory(nil) // shared by all nodes
	limit := int64(7)
	id := &Identity{UserID: "alice", KeyID: "a", Limits: Limits{Rates: Rates{ParallelRequests: &limit}}}
	var peak, now, refused atomic.Int64
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			a, err := nodes[i%len(nodes)].Admit(t.Context(), count, id)
			if err != nil {
				wantTooMany(t, err, "the gateway key")
				refused.Add(1)
				return
			}
			current := now.Add(1)
			for old := peak.Load(); current > old && !peak.CompareAndSwap(old, current); old = peak.Load() {
				continue
			}
			now.Add(-1)
			if err := a.Done(t.Context(), 1); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if peak.Load() > limit || refused.Load() == 200 {
		t.Errorf("%d at once, %d refused", peak.Load(), refused.Load())
	}
	for range limit {
		if _, err := nodes[0].Admit(t.Context(), count, id); err != nil {
			t.Errorf("a place was not given back: %v", err)
		}
	}
}
