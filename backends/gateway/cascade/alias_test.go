package cascade

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
)

// TestAliases checks that a request for an alias is served by the alias's model or tier, that the answer names the
// alias as its model, and that the alias lifts no limit.
func TestAliases(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha", "beta"}})
	cat, err := r.catalog.With(catalog.Options{Aliases: map[string]string{"gpt-4o": r.catalog.Models("beta")[0].EntryID(), "fast": "low"}})
	if err != nil {
		t.Fatal(err)
	}
	r.engine.Catalog = func() *catalog.Catalog { return cat }
	entry := cat.Aliases()["gpt-4o"]
	r.alpha.setDefault(reply(200, completion("hi")))
	r.beta.setDefault(reply(200, completion("hi")))
	got := r.ask("gpt-4o")
	if got.err != nil || got.Result.Candidate.Entry != entry || gjson.Get(got.body, "model").Str != "gpt-4o" {
		t.Errorf("%v, %s", got.err, got.body)
	}
	if got := r.ask("fast"); got.err != nil || got.Result.Tier != catalog.Low {
		t.Errorf("%v of tier %v", got.err, got.Result.Tier)
	}

	request := r.request("gpt-4o", false, nil)
	request.Forbids = func(c *keychain.Candidate) string {
		if c.Entry == entry {
			return "the key's allowed_models"
		}
		return ""
	}
	run := r.engine.newRun(t.Context(), nil, request)
	_, err = run.plan()
	if err == nil || !strings.Contains(err.Error(), "allowed_models") {
		t.Error("an alias got around allowed_models:", err)
	}
}

// TestDeprecation checks the Deprecation and Sunset headers in the answer of a model that will be retired.
func TestDeprecation(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha"}, models: `{"provider":"alpha","id":"old","tiers":["low"],"deprecated":"2025-06-01","retires":"2027-01-31",` + allAbilities + `}`})
	r.alpha.setDefault(reply(200, completion("hi")))
	got := r.ask("alpha/old")
	if got.err != nil || got.header.Get("Deprecation") != "@1748736000" || got.header.Get("Sunset") != "Sun, 31 Jan 2027 00:00:00 GMT" {
		t.Errorf("%v, %v", got.err, got.header)
	}
}
