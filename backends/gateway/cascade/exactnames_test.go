package cascade

import (
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
)

// TestExactNames checks that a model whose exact id is requested comes first if the user's keys reach it,
// and then the models of its tier.
func TestExactNames(t *testing.T) {
	t.Parallel()
	const models = `{"provider":"alpha","id":"x-high","tiers":["high"],` + allAbilities + `},{"provider":"alpha","id":"x-low","tiers":["low"],` + allAbilities + `},` +
		`{"provider":"beta","id":"claude-opus-5-5","tiers":["high"],` + allAbilities + `},{"provider":"beta","id":"claude-haiku-5-5","tiers":["low"],` + allAbilities + `},` +
		`{"provider":"beta","id":"claude-opus-3","tiers":[],` + allAbilities + `},{"provider":"beta","id":"gpt-5.6","tiers":["low"],` + allAbilities + `},{"provider":"beta","id":"old","tiers":[],` + allAbilities + `},` +
		`{"provider":"gamma","id":"claude-opus-5-5","tiers":["high"],` + allAbilities + `},{"provider":"gamma","id":"vendor/gpt-5.6","tiers":["low"],` + allAbilities + `}`
	all := []string{"alpha", "beta", "gamma"}
	for _, c := range []struct {
		name  string
		setup setup
		model string
		tier  catalog.Tier
		want  string
	}{
		{"at two providers", setup{keys: all}, "claude-opus-5-5", catalog.High, "beta/claude-opus-5-5 gamma/claude-opus-5-5 alpha/x-high alpha/x-low beta/claude-haiku-5-5 beta/gpt-5.6 gamma/vendor/gpt-5.6"},
		{"with the context suffix", setup{keys: []string{"alpha", "beta"}}, "claude-haiku-5-5[1m]", catalog.Low, "beta/claude-haiku-5-5 alpha/x-low beta/gpt-5.6"},
		{"of no family", setup{keys: []string{"alpha", "beta"}}, "gpt-5.6", catalog.Low, "beta/gpt-5.6 alpha/x-low beta/claude-haiku-5-5"},
		{"with a slash in it", setup{keys: []string{"gamma", "alpha"}}, "vendor/gpt-5.6", catalog.Low, "gamma/vendor/gpt-5.6 alpha/x-low"},
		{"of no tier", setup{keys: []string{"alpha", "beta"}}, "old", 0, "beta/old"},
		{"of a family and no tier", setup{keys: []string{"alpha", "beta"}}, "claude-opus-3", catalog.High, "beta/claude-opus-3 alpha/x-high beta/claude-opus-5-5 alpha/x-low beta/claude-haiku-5-5 beta/gpt-5.6"},
		{"without the key", setup{keys: []string{"alpha"}}, "claude-opus-5-5", catalog.High, "alpha/x-high alpha/x-low"},
		{"with a provider that has no key", setup{keys: []string{"alpha"}}, "beta/claude-opus-5-5", catalog.High, "alpha/x-high alpha/x-low"},
		{
			"excluded",
			setup{keys: []string{"alpha", "beta"}, prefer: keychain.Preferences{ExcludedModels: []string{"beta/claude-opus-5-5"}}},
			"claude-opus-5-5", catalog.High, "alpha/x-high alpha/x-low beta/claude-haiku-5-5 beta/gpt-5.6",
		},
		{"the entry", setup{keys: all}, "gamma/claude-opus-5-5", 0, "gamma/claude-opus-5-5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.setup.models = models
			got, run, err := newRig(t, c.setup).planFor(c.model)
			if err != nil || strings.Join(got, " ") != c.want || run.result.Tier != c.tier {
				t.Errorf("%v of tier %v, %v\nwant %s of tier %v", got, run.result.Tier, err, c.want, c.tier)
			}
		})
	}
	t.Run("not allowed", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, setup{keys: all, models: models})
		request := r.request("claude-opus-5-5", false, nil)
		request.Forbids = func(c *keychain.Candidate) string {
			if strings.HasPrefix(c.Entry, "beta/") {
				return "the key's allowed_models"
			}
			return ""
		}
		run := r.engine.newRun(t.Context(), nil, request)
		if plan, err := run.plan(); err != nil || plan[0].Entry != "gamma/claude-opus-5-5" {
			t.Errorf("%v, %v", plan, err)
		}
	})
}
