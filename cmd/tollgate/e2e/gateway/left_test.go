package gateway

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestLeavingIsCharged checks that a client that leaves before the first content is charged for the prompt that was
// sent to an upstream: in the usage log, which names the upstream, in the budgets of its key, and in a budget that
// charges tokens.
func TestLeavingIsCharged(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	const limit = 1_000_000
	g := e2e.NewGateway(t, "", "\ttollgate gateway\n", fmt.Sprintf(`	route {
		budget {
			name tokens
			key all
			limit %d
			window 1h
			cost 0 GET /health
			cost 0 POST /v1/chat/completions
			charge {http.cascade.total_tokens}
		}
		tollgate gateway
	}
`, limit))
	key := g.User("ada", up, e2e.Script("status", "500"), e2e.Script("fault", "hang"))
	keys, err := g.Keys(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.UpdateKey(t.Context(), "ada", keys[0].ID, keychain.KeyChange{Limits: func(l *keychain.Limits) { l.Budgets = keychain.Budgets{TokensPerDay: new(int64(100))} }}); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("word ", 1000)
	body := strings.Replace(e2e.Prompt("keychain-high", true), `"messages":[`, `"messages":[{"role":"user","content":"`+long+`"},`, 1)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	go func() {
		_ = up.AwaitRequests(t.Context(), 2)
		leave()
	}()
	if a := e2e.Ask(ctx, g.Base, key, body); a.Err == nil {
		t.Fatalf("answered %d: %s", a.Status, a.Body)
	}
	var left e2e.Usage
	e2e.Eventually(t, e2e.WaitLimit, "the request is in the usage log", func() error {
		for _, left = range g.UsageLog() {
			return nil
		}
		return errors.New("it is not")
	})
	if left.Status != 499 || left.Provider != "custom" || left.Model != "own/2" || left.Attempts != 2 || left.Source != "estimated" ||
		left.Input < 1000 || left.Output != 0 || !strings.Contains(left.Failed, `"own/1"`) || !strings.Contains(left.Failed, `"own/2"`) {
		t.Errorf("usage %+v", left)
	}
	e2e.Eventually(t, e2e.WaitLimit, "the tokens of the log are charged", func() error {
		remaining, err := strconv.ParseInt(e2e.Get(t, e2e.Client, g.Base+"/health", "").Header.Get("X-RateLimit-Remaining"), 10, 64)
		if err == nil && limit-remaining != left.Input {
			err = fmt.Errorf("%d are, %d are in the log", limit-remaining, left.Input)
		}
		return err
	})
	e2e.Ask(t.Context(), g.Base, key, e2e.Prompt("keychain-high", true)).Refused(t, 402, "insufficient_quota")
}
