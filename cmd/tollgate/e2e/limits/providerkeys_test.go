package limits

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// payers is a gateway on which the user ada is in the team red, which mia administers. Ada has a provider key unless
// the policy forbids it; the team, the organisation and the operator may have one each.
type payers struct {
	*company
	key, team string
	own       string // the id of ada's key; empty if she may not have one
	ada, mia  call
}

func newPayers(t *testing.T, policy string) *payers {
	t.Helper()
	up := e2e.NewUpstream(t)
	option := ""
	if policy != "" {
		option = "\t\t\town_keys " + policy + "\n"
	}
	g := e2e.NewGateway(t, "\t\tcatalog {\n"+option+"\t\t\tprovider openai {\n\t\t\t\tbase_url "+up.URL+"/v1\n\t\t\t\tapi_key sk-operator-0123456789\n\t\t\t}\n\t\t}",
		"\ttollgate gateway\n", "\ttollgate gateway {\n\t\toperators {\n\t\t\tuser boss\n\t\t}\n\t}\n")
	documented := e2e.NewDocumented(t, g.Base)
	callAs := func(user string) call {
		return documented.As(strings.TrimSpace(g.Tool("keychain", "token", user))).Call
	}
	p := &payers{company: &company{Gateway: g, t: t, up: up, as: callAs, operator: callAs("boss")}}
	p.key = g.User("ada", up)
	g.User("mia", up)
	p.ada, p.mia = callAs("ada"), callAs("mia")
	p.team = p.company.team("red", "ada")
	p.operator("PUT", "/operator/teams/"+p.team+"/members/mia", `{"role":"admin"}`, 204)
	status := 201
	if policy == "never" {
		status = 403
	}
	added := p.ada("POST", "/users/ada/keys", `{"provider":"openai","api_key":"sk-own-0123456789"}`, status).Body
	if p.own = gjson.Get(added, "id").Str; status == 403 && gjson.Get(added, "error.code").Str != "own_keys_not_used" {
		t.Errorf("refused by %s", added)
	}
	return p
}

// add stores a key with a request and returns its id.
func (p *payers) add(caller call, path, text string) (id string) {
	p.t.Helper()
	return gjson.Get(caller("POST", path, fmt.Sprintf(`{"provider":"openai","api_key":%q}`, text), 201).Body, "id").Str
}

// paid sends a request and returns the provider key that was used for it.
func (p *payers) paid() string {
	p.t.Helper()
	p.passes(p.key)
	requests := p.up.Requests()
	return strings.TrimPrefix(requests[len(requests)-1].Header.Get("Authorization"), "Bearer ")
}

func (p *payers) ofTeam() string { return "/operator/teams/" + p.team + "/provider-keys" }

const ofOrganisation = "/operator/organisation/provider-keys"

// TestKeyThatPays removes the provider keys one after the other, under each policy, and checks which key pays next.
func TestKeyThatPays(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		policy string
		paid   []string // with all keys, then without the own one, the team's, the organisation's
	}{
		{"", []string{"sk-own-0123456789", "sk-team-0123456789", "sk-org-0123456789", "sk-operator-0123456789"}},
		{"never", []string{"sk-team-0123456789", "sk-team-0123456789", "sk-org-0123456789", "sk-operator-0123456789"}},
		{"only", []string{"sk-own-0123456789"}},
	} {
		t.Run("own_keys "+test.policy, func(t *testing.T) {
			t.Parallel()
			p := newPayers(t, test.policy)
			team := p.add(p.mia, p.ofTeam(), "sk-team-0123456789")
			organisation := p.add(p.operator, ofOrganisation, "sk-org-0123456789")
			p.mia("POST", ofOrganisation, `{"provider":"openai","api_key":"sk-0123456789"}`, 403)
			p.ada("GET", p.ofTeam(), "", 403)
			take := []func(){
				func() {
					if p.own != "" {
						p.ada("DELETE", "/users/ada/keys/"+p.own, "", 204)
					}
				},
				func() { p.mia("DELETE", p.ofTeam()+"/"+team, "", 204) },
				func() { p.operator("DELETE", ofOrganisation+"/"+organisation, "", 204) },
			}
			for i, want := range test.paid {
				if got := p.paid(); got != want {
					t.Errorf("%d: %s paid, want %s", i, got, want)
				}
				if i == 0 {
					p.seesNoKeys()
				}
				if i < len(take) {
					take[i]()
				}
			}
			if test.policy == "only" {
				if a := p.ask(p.key, "keychain-low"); a.Status != http.StatusBadRequest || gjson.Get(a.Body, "error.code").Str != "no_provider_keys" {
					t.Errorf("without a key of her own: %d %s", a.Status, a.Body)
				}
			}
		})
	}
}

// seesNoKeys checks that a member sees no part of the keys of others.
func (p *payers) seesNoKeys() {
	p.t.Helper()
	health := p.ada("GET", "/users/ada/providers/health", "", 200).Body
	for label, text := range map[string]string{"key of the team": "sk-team-0123456789", "key of the organisation": "sk-org-0123456789"} {
		k := gjson.Get(health, `providers.#(provider=="openai").keys.#(key_label=="`+label+`")`)
		if strings.Contains(health, text[:6]) || k.Exists() && k.Get("masked").Str != "" {
			p.t.Errorf("she sees %s", health)
		}
	}
}

// TestSpentKeyIsPassedOver spends the budget of the team's key with a request, and checks that the next requests use
// the key of the organisation, until its budget is spent too.
func TestSpentKeyIsPassedOver(t *testing.T) {
	t.Parallel()
	p := newPayers(t, "never")
	team := p.add(p.mia, p.ofTeam(), "sk-team-0123456789")
	limited := p.mia("PUT", p.ofTeam()+"/"+team+"/limits", `{"budgets":{"tokens_per_day":1}}`, 200).Body
	if gjson.Get(limited, "limits.budgets.tokens_per_day").Int() != 1 || gjson.Get(limited, "health.status").Str != "untested" {
		t.Errorf("limited: %s", limited)
	}
	p.add(p.operator, ofOrganisation, "sk-org-0123456789")
	for i, want := range []string{"sk-team-0123456789", "sk-org-0123456789", "sk-org-0123456789"} {
		if got := p.paid(); got != want {
			t.Errorf("request %d: %s paid, want %s", i, got, want)
		}
	}
	e2e.Eventually(t, e2e.WaitLimit, "the list shows what the key spent", func() error {
		list := p.mia("GET", p.ofTeam(), "", 200).Body
		if gjson.Get(list, "data.0.today.tokens").Int() < 1 || gjson.Get(list, "data.0.this_month.tokens").Int() < 1 || gjson.Get(list, "data.0.health.status").Str != "active" {
			return fmt.Errorf("the list is %s", list)
		}
		return nil
	})
	if strings.Contains(p.mia("GET", p.ofTeam(), "", 200).Body, "sk-team-0123456789") {
		t.Error("the list has the key")
	}
	route := p.ada("POST", "/users/ada/route", `{"model":"`+model+`"}`, 200).Body
	if id := gjson.Get(route, "candidates.0.provider_key_id").Str; !strings.HasPrefix(id, "pk_") || id == team {
		t.Errorf("the dry run says %s", route)
	}
	out := p.Tool("keychain", "provider-keys", "list", "--team", "red")
	if !strings.Contains(out, team) || !strings.Contains(out, "1 tokens") || strings.Contains(out, "sk-team-0123456789") {
		t.Errorf("the command shows\n%s", out)
	}
	p.Tool("keychain", "provider-keys", "limit", team, "--team", "red", "--lift")
	e2e.Eventually(t, e2e.WaitLimit, "the key of the team pays again", func() error {
		if got := p.paid(); got != "sk-team-0123456789" {
			return fmt.Errorf("%s pays", got)
		}
		return nil
	})
}

// TestNothingLeftToPay checks that a refusal says that provider keys have spent their budgets, but not whose keys.
func TestNothingLeftToPay(t *testing.T) {
	t.Parallel()
	p := newPayers(t, "only")
	p.Tool("keychain", "provider-keys", "limit", p.own, "--user", "ada", "--tokens-total", "1")
	e2e.Eventually(t, e2e.WaitLimit, "her key has spent its budget", func() error {
		a := p.ask(p.key, model)
		if a.Status != http.StatusBadGateway || !strings.Contains(a.Body, "the provider keys for it have spent their budgets") {
			return fmt.Errorf("%d %s", a.Status, a.Body)
		}
		if strings.Contains(a.Body, p.own) || strings.Contains(a.Body, "sk-own") {
			t.Errorf("the refusal shows the key: %s", a.Body)
		}
		return nil
	})
}
