package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
)

// TestLeavingIsCharged: a client that leaves before the first content pays for the
// prompt that an upstream was sent: in the usage log, which names who was asked, in
// the budgets of its key, and in a budget that charges tokens.
func TestLeavingIsCharged(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	const limit = 1_000_000
	g := newGateway(t, "", "\ttollgate gateway\n", fmt.Sprintf(`	route {
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
	key := g.user("ada", up, script("status", "500"), script("fault", "hang"))
	made, err := g.Keys(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.UpdateKey(t.Context(), "ada", made[0].ID, keychain.KeyChange{Budgets: &keychain.Budgets{TokensPerDay: new(int64(100))}}); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("word ", 1000)
	body := strings.Replace(prompt("keychain-high", true), `"messages":[`, `"messages":[{"role":"user","content":"`+long+`"},`, 1)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	go func() {
		_ = up.awaitRequests(t.Context(), 2)
		leave()
	}()
	if a := ask(ctx, g.base, key, body); a.err == nil {
		t.Fatalf("answered %d: %s", a.status, a.body)
	}
	var left usage
	eventually(t, waitLimit, "the request is in the usage log", func() error {
		for _, left = range g.usage() {
			return nil
		}
		return errors.New("it is not")
	})
	if left.status != 499 || left.provider != "custom" || left.model != "own/2" || left.attempts != 2 || left.source != "estimated" ||
		left.input < 1000 || left.output != 0 || !strings.Contains(left.failed, `"own/1"`) || !strings.Contains(left.failed, `"own/2"`) {
		t.Errorf("usage %+v", left)
	}
	eventually(t, waitLimit, "the tokens of the log are charged", func() error {
		remaining, err := strconv.ParseInt(get(t, client, g.base+"/health", "").header.Get("X-RateLimit-Remaining"), 10, 64)
		if err == nil && limit-remaining != left.input {
			err = fmt.Errorf("%d are, %d are in the log", limit-remaining, left.input)
		}
		return err
	})
	ask(t.Context(), g.base, key, prompt("keychain-high", true)).refused(t, 402, "insufficient_quota")
}
