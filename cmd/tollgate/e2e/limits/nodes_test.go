package limits

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// gate delays the requests to a provider until it is opened.
type gate struct {
	now, most atomic.Int64
	mu        sync.Mutex
	opened    chan struct{}
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.opened = make(chan struct{})
	g.most.Store(0)
}

func (g *gate) open() { close(g.opened) }

// pass waits until the gate is open.
func (g *gate) pass(_ http.ResponseWriter, r *http.Request) bool {
	g.mu.Lock()
	opened := g.opened
	g.most.Store(max(g.most.Load(), g.now.Add(1)))
	g.mu.Unlock()
	defer g.now.Add(-1)
	select {
	case <-opened:
	case <-r.Context().Done():
	}
	return false
}

// TestConcurrentRequestsOnNodes sends 200 requests at once to three nodes that share PostgreSQL and Redis. All nodes
// together admit exactly as many as a limit allows.
func TestConcurrentRequestsOnNodes(t *testing.T) {
	t.Parallel()
	const crowd, parallel, rate = 200, 7, 20
	up, doors := e2e.NewUpstream(t), new(gate)
	up.Answer = doors.pass
	pg, redis := testenv.Postgres(t), testenv.Redis(t)
	service := e2e.Administration(t, pg.DSN())
	nodes := make([]*e2e.Gateway, 3)
	for i := range nodes {
		nodes[i] = e2e.Clustered(t, pg.DSN(), redis.URL())
		nodes[i].Start()
		nodes[i].Healthy()
	}
	for _, h := range holders {
		for _, k := range []struct {
			name    string
			limits  keychain.KeyChange
			allowed int
			text    string
		}{
			{"parallel", keychain.KeyChange{Limits: func(l *keychain.Limits) { l.ParallelRequests = new(int64(parallel)) }}, parallel, h.subject + " has 7 requests under way"},
			{"minute", keychain.KeyChange{Limits: func(l *keychain.Limits) { l.RateLimitPerMinute = new(int64(rate)) }}, rate, `"` + h.budget + `"`},
		} {
			// The users and teams are new, so no node has cached their previous limits.
			user := h.name + "-" + k.name
			keys := append(make([]string, 0, 2), e2e.AddUser(t, service, user, up, "scripted"))
			team, err := service.AddTeam(t.Context(), user)
			if err != nil {
				t.Fatal(err)
			}
			if err := service.SetMember(t.Context(), team.ID, user, keychain.Membership{}); err != nil {
				t.Fatal(err)
			}
			second, err := service.CreateKey(t.Context(), user, keychain.KeyOptions{})
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, second.Key)
			level, id := map[string]string{"user": keychain.OnUser, "team": keychain.OnTeam, "organisation": keychain.OnOrganisation}[h.name],
				map[string]string{"user": user, "team": team.ID, "organisation": keychain.Organisation}[h.name]
			if _, err := service.Impose(t.Context(), level, id, k.limits); err != nil {
				t.Fatal(err)
			}
			passed, refused := rush(t, nodes, keys, doors, crowd, k.allowed, refusal{429, k.text})
			if peak := doors.most.Load(); passed != k.allowed || refused != crowd-k.allowed || peak != int64(k.allowed) {
				t.Errorf("%s: %d passed, %d at once at the provider, %d were refused", user, passed, peak, refused)
			}
			if _, err := service.SetLimits(t.Context(), level, id, keychain.Limits{}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, n := range nodes {
		n.Stop()
	}
}

// rush sends requests with all keys to all nodes at once. The admitted requests wait at the provider until all others
// are refused.
func rush(t *testing.T, nodes []*e2e.Gateway, keys []string, doors *gate, crowd, allowed int, want refusal) (passed, refused int) {
	t.Helper()
	e2e.AwayFromMinuteEnd()
	doors.close()
	answers := make(chan *e2e.Answer, crowd)
	for i := range crowd {
		go func() {
			s := e2e.Surfaces[0]
			answers <- e2e.Ask(t.Context(), nodes[i%len(nodes)].Base, keys[i%len(keys)], s.Body("keychain-high", i%5 == 0, fmt.Sprint("Hi ", i)))
		}()
	}
	for range crowd - allowed {
		a := <-answers
		switch {
		case a.Err != nil:
			t.Error(a.Err)
		case a.Status == http.StatusOK:
			t.Error("the provider has answered too early")
		default:
			want.want(t, "one of many", a)
			refused++
		}
	}
	e2e.Eventually(t, e2e.WaitLimit, "all admitted requests are at the provider", func() error {
		if n := doors.now.Load(); n < int64(allowed) {
			return fmt.Errorf("%d are", n)
		}
		return nil
	})
	doors.open()
	for range allowed {
		if a := <-answers; a.Err != nil || a.Status != http.StatusOK {
			t.Errorf("an admitted request: %v %d %s", a.Err, a.Status, a.Body)
			continue
		}
		passed++
	}
	return passed, refused
}
