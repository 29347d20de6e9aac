package limits

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestDeclaredLimits checks that limits in a file apply while the server runs, that a second gateway gets the same
// limits from the file, and that limits that are removed from the file no longer apply.
func TestDeclaredLimits(t *testing.T) {
	t.Parallel()
	c := newCompany(t, "")
	key := gjson.Get(c.as("ada")("POST", "/users/init", "", 201).Body, "key.key").Str
	c.passes(key)
	write := func(n *e2e.Node, text string) {
		t.Helper()
		if err := os.WriteFile(n.Path("teams.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// becomes waits until the server applies a change that another process has made.
	becomes := func(description string, r refusal) {
		t.Helper()
		e2e.Eventually(t, e2e.WaitLimit, description, func() error { return r.of(c.ask(key, model)) })
	}
	write(c.Node, "teams:\n- name: Research\n  limits: {allowed_models: [groq/*]}\n  members: [ada]\n")
	if out := c.Tool("keychain", "apply", "-f", "teams.yaml", "--dry-run"); !strings.Contains(out, "+ team Research: member ada: member") {
		t.Errorf("a dry run: %s", out)
	}
	c.passes(key)
	c.Tool("keychain", "apply", "-f", "teams.yaml")
	becomes("the team's models bind", refusal{http.StatusForbidden, "the models that the operator allows its team"})
	audit := c.operator("GET", "/operator/audit", "", 200).Body
	for _, action := range []string{"team.created", "team.limited", "member.set"} {
		if entry := gjson.Get(audit, `data.#(action=="`+action+`").actor`).Str; entry != "command" {
			t.Errorf("%s was done by %q: %s", action, entry, audit)
		}
	}

	exported := c.Tool("keychain", "export")
	other := newCompany(t, "")
	write(other.Node, exported)
	other.Tool("keychain", "apply", "-f", "teams.yaml")
	if got := other.Tool("keychain", "export"); got != exported {
		t.Errorf("of another gateway the export is\n%s\nwant\n%s", got, exported)
	}
	if out := other.Tool("keychain", "apply", "-f", "teams.yaml", "--prune", "--json"); !gjson.Get(out, "changes").IsArray() || gjson.Get(out, "changes.#").Int() != 0 {
		t.Errorf("applied again: %s", out)
	}

	write(c.Node, "users: [{id: ada, suspended: true}]")
	c.Tool("keychain", "apply", "-f", "teams.yaml")
	becomes("ada is suspended", refusal{http.StatusUnauthorized, "the gateway key is not valid"})
	write(c.Node, "users: [{id: ada, suspended: false}]")
	if out := c.Tool("keychain", "apply", "-f", "teams.yaml", "--prune"); !strings.Contains(out, "- team Research") {
		t.Errorf("with prune: %s", out)
	}
	e2e.Eventually(t, e2e.WaitLimit, "no limit applies", func() error { return refusal{http.StatusOK, ""}.of(c.ask(key, model)) })
}

// TestDeclaredPrices checks that prices and provider keys in a file apply while the server runs, and after a reload.
func TestDeclaredPrices(t *testing.T) {
	t.Parallel()
	c := newCompany(t, "")
	if err := os.WriteFile(c.Path("openai.key"), []byte("sk-declared-0123456789\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	apply := func(text string) {
		t.Helper()
		if err := os.WriteFile(c.Path("gateway.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c.Tool("keychain", "apply", "-f", "gateway.yaml", "--prune")
	}
	costs := func(input float64) func() error {
		return func() error {
			answer := e2e.Get(t, e2e.Client, c.Base+"/models", "").Body
			if got := gjson.Get(answer, `models.#(id=="openai/gpt-5.4-nano").price.input_usd_per_million_tokens`).Float(); got != input {
				return fmt.Errorf("the input costs %g, want %g", got, input)
			}
			return nil
		}
	}
	apply("organisation: {provider_keys: [{provider: openai, label: company, key: \"{file." + c.Path("openai.key") + "}\"}]}\nprices: {openai/gpt-5.4-nano: {input: 7, output: 9}}")
	e2e.Eventually(t, e2e.WaitLimit, "the price applies", costs(7))
	keys := c.operator("GET", "/operator/organisation/provider-keys", "", 200).Body
	if gjson.Get(keys, "data.#").Int() != 1 || gjson.Get(keys, "data.0.key_label").Str != "company" || strings.Contains(keys, "0123456789") {
		t.Errorf("the keys are %s", keys)
	}
	c.Load(c.Config + "# reloaded\n")
	e2e.Eventually(t, e2e.WaitLimit, "the price applies after a reload", costs(7))
	apply("organisation: {provider_keys: []}\nprices: {openai/gpt-5.4-nano: {input: 8, output: 9}}")
	e2e.Eventually(t, e2e.WaitLimit, "another price applies", costs(8))
	if keys := c.operator("GET", "/operator/organisation/provider-keys", "", 200).Body; gjson.Get(keys, "data.#").Int() != 0 {
		t.Errorf("the keys are %s", keys)
	}
}
