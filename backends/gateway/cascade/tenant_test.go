package cascade

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
)

// forAccount returns the rig with another user's account.
func (r *rig) forAccount(account *keychain.Account) *rig {
	return &rig{t: r.t, clock: r.clock, engine: r.engine, account: account, catalog: r.catalog, alpha: r.alpha, beta: r.beta, gamma: r.gamma}
}

// TestUsersFailIndependently checks that a provider's failures for one user's requests do not affect other users.
func TestUsersFailIndependently(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]step{
		"500": refusal(500, "", "m"), "503 that asks to wait": refusal(503, "", "m", "Retry-After", "60"), "no answer": reply(200, `{"choices":[]}`),
		"reset": drop, "web page": reply(200, "<html>", "Content-Type", "text/html"), "429": refusal(429, "", "m"), "401": refusal(401, "", "m"), "402": refusal(402, "", "m"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys := []string{"alpha", "beta"}
			r := newRig(t, setup{keys: keys})
			other := r.forAccount(newAccount(t, r.catalog, setup{keys: keys}))
			r.alpha.defaultStep, r.beta.defaultStep = broken, reply(200, completion("hi"))
			for range 4 {
				r.ask("keychain-low").wantAnswer(t, "beta/b-low", "hi")
			}
			if e := r.ask("keychain-low"); e.Attempts != 1 {
				t.Errorf("alpha is not the last one for the user who broke it: %s", e.failedList())
			}
			r.alpha.setDefault(reply(200, completion("all well")))
			if e := other.ask("keychain-low"); e.Attempts != 1 || e.Candidate.Entry != "alpha/a-low" {
				t.Errorf("for another user: %s, failed %s", e.Candidate.Entry, e.failedList())
			}
			if plan, err := r.engine.Explain(t.Context(), r.request("keychain-low", false, nil)); err != nil || plan.Tried[0].Candidate.Entry != "beta/b-low" {
				t.Errorf("the plan of the user: %v, %+v", err, plan)
			}
			if plan, err := r.engine.Explain(t.Context(), other.request("keychain-low", false, nil)); err != nil || plan.Tried[0].Candidate.Entry != "alpha/a-low" || plan.Tried[0].Code != "" {
				t.Errorf("the plan of another user: %v, %+v", err, plan)
			}
		})
	}
}

// TestOutageCountsForEveryone checks that failures of three users' requests count against the provider for everyone.
func TestOutageCountsForEveryone(t *testing.T) {
	t.Parallel()
	keys := []string{"alpha", "beta"}
	r := newRig(t, setup{keys: keys})
	r.alpha.defaultStep, r.beta.defaultStep = refusal(500, "", "m"), reply(200, completion("hi"))
	for i := range usersToAct {
		user := r.forAccount(newAccount(t, r.catalog, setup{keys: keys}))
		if e := user.ask("keychain-low"); e.Attempts != 2 {
			t.Errorf("user %d: %d attempts", i, e.Attempts)
		}
	}
	r.mu.Lock()
	for i, a := range r.observed {
		if a.Provider == "alpha" && a.Everyone != (i == len(r.observed)-2) {
			t.Errorf("observed %+v", r.observed)
		}
	}
	r.mu.Unlock()
	if e := r.ask("keychain-low"); e.Attempts != 1 {
		t.Errorf("after an outage that three users met, %d attempts", e.Attempts)
	}
}

// TestUnreachableForEveryone checks that failed connections count for everyone, because no request can cause them.
func TestUnreachableForEveryone(t *testing.T) {
	t.Parallel()
	keys := []string{"alpha", "beta"}
	r := newRig(t, setup{keys: keys})
	alpha := r.alpha.server.Listener.Addr().String()
	transport := NewTransport()
	t.Cleanup(transport.CloseIdleConnections)
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == alpha {
			address = "127.0.0.1:1" // where nobody listens
		}
		return dial(ctx, network, address)
	}
	r.engine.Providers = transport
	r.beta.defaultStep = reply(200, completion("hi"))
	for range failuresToAct {
		if e := r.ask("keychain-low"); e.failedList() != "alpha:0:connection_error" {
			t.Errorf("failed %s", e.failedList())
		}
	}
	other := r.forAccount(newAccount(t, r.catalog, setup{keys: keys}))
	if e := other.ask("keychain-low"); e.Attempts != 1 {
		t.Errorf("%d attempts of another user", e.Attempts)
	}
}

// TestSharedAddressFailsIndependently checks that users with custom models at the same address fail independently.
func TestSharedAddressFailsIndependently(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{})
	first, second := newUpstream(t, "one"), newUpstream(t, "two")
	custom := setup{custom: []keychain.CustomModel{
		{Entry: "local/one", BaseURL: first.server.URL + "/v1", Model: "m", Tier: catalog.Low},
		{Entry: "local/two", BaseURL: second.server.URL + "/v1", Model: "m", Tier: catalog.Low},
	}}
	r.account = newAccount(t, r.catalog, custom)
	first.defaultStep, second.defaultStep = refusal(500, "", "m"), reply(200, completion("hi"))
	for range 2 {
		r.ask("keychain-low").wantAnswer(t, "local/two", "hi")
	}
	if e := r.ask("keychain-low"); e.Attempts != 1 {
		t.Errorf("%d attempts", e.Attempts)
	}
	first.setDefault(reply(200, completion("well")))
	for range usersToAct {
		other := r.forAccount(newAccount(t, r.catalog, custom))
		if e := other.ask("keychain-low"); e.Attempts != 1 || e.Candidate.Entry != "local/one" {
			t.Errorf("another user: failed %s", e.failedList())
		}
	}
}

// TestRefusedParametersAreLearnedPerUser checks that a refused parameter is left out only for the user whose request
// was refused, because that user may have chosen the words of the refusal.
func TestRefusedParametersAreLearnedPerUser(t *testing.T) {
	t.Parallel()
	keys := []string{"alpha"}
	r := newRig(t, setup{keys: keys})
	refused := reply(400, `{"error":{"message":"Invalid value: 'unsupported'. Supported values are: 'low', 'high'.","code":"invalid_value","param":"verbosity"}}`)
	ok := reply(200, completion("hi"))
	r.alpha.addSteps(refused, ok, ok, ok)
	r.ask("alpha/a-low", `"verbosity":"unsupported"`).wantAnswer(t, "alpha/a-low", "hi")
	other := r.forAccount(newAccount(t, r.catalog, setup{keys: keys}))
	for user, want := range map[*rig]bool{other: true, r: false} {
		user.ask("alpha/a-low", `"verbosity":"high"`).wantAnswer(t, "alpha/a-low", "hi")
		calls := r.alpha.requests()
		if body := calls[len(calls)-1].body; strings.Contains(body, `"verbosity":"high"`) != want {
			t.Errorf("the user whose parameter was refused: %t, sent %s", !want, body)
		}
	}
}
