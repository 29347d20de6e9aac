package cascade

import (
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
)

// setOperatorKey sets the operator's alpha key.
func (r *rig) setOperatorKey(secret string) {
	r.t.Helper()
	cat, err := r.catalog.With(catalog.Options{Overrides: map[string]catalog.Override{"alpha": {APIKey: secret}}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.catalog = cat
	r.engine.Catalog = func() *catalog.Catalog { return cat }
}

// TestOperatorKey checks that a user without an alpha key is served by the operator's key. A user with keys uses these
// first, in turn, and then the operator's key.
func TestOperatorKey(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{})
	r.setOperatorKey("sk-operator")
	r.alpha.defaultStep = reply(200, completion("hi"))
	e := r.ask("keychain-low")
	if e.wantAnswer(t, "alpha/a-low", "hi"); e.Key != keychain.OperatorKey || r.alpha.keys()[0] != "sk-operator" {
		t.Errorf("through %s, %q was sent", e.Key, r.alpha.keys())
	}
	own := r.forAccount(newAccount(t, r.catalog, setup{keys: []string{"alpha", "alpha"}}))
	for range 30 { // enough conversations that each key has some
		if e := own.ask("keychain-low"); !strings.HasPrefix(e.Key, "pk_") || e.Attempts != 1 {
			t.Errorf("through %s", e.Key)
		}
	}
	if sentKeys := r.alpha.keys()[1:]; countOf(sentKeys, "key-alpha-1") == 0 || countOf(sentKeys, "key-alpha-2") == 0 || countOf(sentKeys, "key-alpha-1")+countOf(sentKeys, "key-alpha-2") != 30 {
		t.Errorf("sent %q", sentKeys)
	}
	r.alpha.addSteps(refusal(401, "", "m"), refusal(429, "", "m"))
	if e := own.ask("keychain-low"); e.Key != keychain.OperatorKey || e.Attempts != 3 {
		t.Errorf("through %s after %d attempts", e.Key, e.Attempts)
	}
	plan, err := r.engine.Explain(t.Context(), own.request("keychain-low", false, nil))
	if err != nil || len(plan.Tried) != 1 || plan.Tried[0].Key != keychain.OperatorKey {
		t.Errorf("%v, %+v", err, plan)
	}
}

// TestOperatorKeyHealth checks that a provider's verdict on the operator's key counts for every user, unless one user's
// request may have caused it.
func TestOperatorKeyHealth(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step     step
		everyone bool
	}{
		"429":                        {refusal(429, "rate_limit_exceeded", "m", "Retry-After", "60"), true},
		"429 without credit":         {refusal(429, "insufficient_quota", "m"), true},
		"402":                        {refusal(402, "", "m"), true},
		"401":                        {refusal(401, "", "m"), true},
		"403 of the key":             {refusal(403, "invalid_api_key", "m"), true},
		"unknown model":              {refusal(404, "model_not_found", "m"), true},
		"400 of the key":             {refusal(400, "invalid_api_key", "m"), true},
		"200 with an error":          {reply(200, `{"error":{"message":"m","code":401}}`), true},
		"used up":                    {reply(200, completion("hi"), "X-Ratelimit-Remaining-Requests", "0", "X-Ratelimit-Reset-Requests", "60s"), true},
		"words of no credit":         {refusal(400, "invalid_value", "Invalid value: 'insufficient balance'"), false},
		"words of a bad key":         {refusal(400, "invalid_value", "Invalid value: 'invalid api key'"), false},
		"words of a model":           {refusal(400, "invalid_value", "Unknown tool: 'the model does not exist'"), false},
		"words of a forbidden token": {refusal(403, "flagged", "not allowed: 'token'"), false},
		"something else is missing":  {refusal(404, "response_not_found", "m"), false},
		"402 of the size":            {refusal(402, "", "This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens"), false},
		"429 of the size":            {refusal(429, "rate_limit_exceeded", "Request too large for a-low on tokens per min (TPM): Limit 30000, Requested 60000"), false},
		"200 with a 402 of the size": {reply(200, `{"error":{"message":"can only afford 10 tokens, reduce max_tokens","code":402}}`), false},
		"500":                        {refusal(500, "", "m"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, setup{keys: []string{"beta"}})
			r.setOperatorKey("sk-operator")
			r.beta.defaultStep = reply(200, completion("hi"))
			r.alpha.addSteps(c.step)
			r.ask("keychain-low")
			r.alpha.setDefault(reply(200, completion("well")))
			other := r.forAccount(newAccount(t, r.catalog, setup{keys: []string{"beta"}}))
			if e := other.ask("keychain-low"); (e.Candidate.Entry == "beta/b-low") != c.everyone {
				t.Errorf("another user is served by %s, failed %s", e.Candidate.Entry, e.failedList())
			}
			key, _ := other.account.OperatorKey(r.catalog.Providers()[0])
			mine, _ := r.account.OperatorKey(r.catalog.Providers()[0])
			health := r.engine.Memory.Health
			end, _ := health.blockedFor("alpha", &key, "a-low")
			if end.IsZero() == c.everyone {
				t.Errorf("for another user the key is blocked until %s", end)
			}
			if end, _ := health.blockedFor("alpha", &mine, "a-low"); end.IsZero() && name != "500" {
				t.Error("for the user whose request failed, the key is not blocked")
			}
			// A new operator key begins without a recorded state.
			r.setOperatorKey("sk-another")
			if e := r.forAccount(newAccount(t, r.catalog, setup{keys: []string{"beta"}})).ask("keychain-low"); e.Candidate.Entry != "alpha/a-low" {
				t.Errorf("with another key: %s", e.Candidate.Entry)
			}
		})
	}
}

// TestOperatorKeyStaysInside checks that the operator's key is sent only to the provider.
func TestOperatorKeyStaysInside(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{})
	r.setOperatorKey("an-operators-secret")
	own := newUpstream(t, "own")
	own.defaultStep = reply(200, completion("hi"))
	r.account = newAccount(t, r.catalog, setup{custom: []keychain.CustomModel{{Entry: "local/one", BaseURL: own.server.URL, Model: "m", Tier: catalog.Low, Priority: -1}}})
	r.ask("local/one").wantAnswer(t, "local/one", "hi")
	if call := own.requests()[0]; call.key != "" || strings.Contains(call.body, "secret") {
		t.Errorf("a user's own server got %+v", call)
	}
	r.alpha.addSteps(refusal(401, "", "Incorrect key an-operators-secret provided"))
	e := r.ask("alpha/a-low")
	if e.wantError(t, 502, "all_providers_failed"); strings.Contains(e.Failed[0].Message, "secret") {
		t.Errorf("failed %+v", e.Failed)
	}
	if !slices.Equal(r.alpha.keys(), []string{"an-operators-secret"}) {
		t.Errorf("sent %q", r.alpha.keys())
	}
}
