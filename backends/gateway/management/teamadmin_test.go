package management

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
)

// TestTeamAdministratorDay performs the usual tasks of a team administrator.
func TestTeamAdministratorDay(t *testing.T) {
	t.Parallel()
	rt, s, team := newOperatorRouter(t)
	base := "/operator/teams/" + team
	send := func(want int, method, path, body string) gjson.Result {
		t.Helper()
		status, answer := requestAs(t, rt, "admin", method, path, body)
		if status != want {
			t.Fatalf("%s %s: status %d, %s", method, path, status, answer.Raw)
		}
		return answer
	}
	if self := send(200, "GET", "/operator/self", ""); self.Get("teams.0.role").Str != "admin" {
		t.Errorf("she is %s", self.Raw)
	}
	arrival := keychain.Arrival{ID: "rob", Profile: keychain.Profile{Email: "rob@example.com"}}
	if _, _, _, err := s.Keychain.SignIn(t.Context(), arrival, keychain.NewUsers{}); err != nil {
		t.Fatal(err)
	}
	send(204, "PUT", base+"/members/rob@example.com", `{}`)
	send(204, "PUT", base+"/members/rob", `{"role":"admin"}`)
	send(403, "PUT", base+"/members/rob", `{"default":true}`)
	if list := send(200, "GET", base+"/members", ""); list.Get(`data.#(user_id=="rob").role`).Str != "admin" {
		t.Errorf("the members are %s", list.Raw)
	}
	send(200, "PUT", base+"/own-limits", `{"rate_limit_per_minute":5,"budgets":{"usd_per_day":2}}`)
	if own := send(200, "GET", base+"/own-limits", ""); own.Get("rate_limit_per_minute").Int() != 5 {
		t.Errorf("the team has set %s", own.Raw)
	}
	if theirs := send(200, "GET", base+"/limits", ""); theirs.Get("rate_limit_per_minute").Type != gjson.Null {
		t.Errorf("the operator has set %s", theirs.Raw)
	}
	key := send(201, "POST", base+"/keychain-keys", `{"label":"ci","budgets":{"tokens_per_day":100}}`)
	next := send(201, "POST", base+"/keychain-keys/"+key.Get("id").Str+"/regenerate", "")
	if next.Get("label").Str != "ci" || next.Get("key").Str == key.Get("key").Str ||
		next.Get(`imposed.#(on=="key").budgets.tokens_per_day`).Int() != 100 || next.Get(`imposed.#(by=="team").on`).Str != "team" {
		t.Errorf("the new key is %s", next.Raw)
	}
	if _, err := s.Keychain.Authenticate(t.Context(), key.Get("key").Str); err == nil {
		t.Error("the replaced key is still accepted")
	}
	if _, err := s.Keychain.Authenticate(t.Context(), next.Get("key").Str); err != nil {
		t.Errorf("the new key: %v", err)
	}
	send(409, "POST", base+"/keychain-keys/"+key.Get("id").Str+"/regenerate", "")
	send(204, "DELETE", base+"/keychain-keys/"+next.Get("id").Str, "")
	send(200, "GET", base+"/spending?by=user,day", "")
	send(400, "GET", base+"/spending?by=user,model", "")
	send(400, "GET", base+"/spending?by=key", "")
	audit := send(200, "GET", base+"/audit", "")
	entries := audit.Get("data").Array()
	actions := make([]string, 0, len(entries))
	for _, e := range entries {
		actions = append(actions, e.Get("actor").Str+" "+e.Get("action").Str)
	}
	if got := strings.Join(actions[:min(6, len(actions))], ", "); got != "mia key.revoked, mia key.replaced, mia key.created, mia team_own.limited, mia member.set, mia member.set" {
		t.Errorf("the audit is %s", got)
	}
	send(200, "GET", base+"/audit?limit=2&cursor="+send(200, "GET", base+"/audit?limit=2", "").Get("next_cursor").Str, "")
}

// TestTeamAdministratorAttempts checks that an administrator of one team can neither reach another team nor lift the
// operator's limits.
func TestTeamAdministratorAttempts(t *testing.T) {
	t.Parallel()
	rt, s, red := newOperatorRouter(t)
	blue, err := s.Keychain.AddTeam(t.Context(), "blue")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Keychain.SetMember(t.Context(), blue.ID, "rob", keychain.Membership{}); err != nil {
		t.Fatal(err)
	}
	theirs, err := s.Keychain.CreateTeamKey(t.Context(), blue.ID, keychain.KeyOptions{Label: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	personal, err := s.Keychain.CreateKey(t.Context(), "max", keychain.KeyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Keychain.AddKeyOf(t.Context(), keychain.Owner{Kind: keychain.OnTeam, ID: blue.ID}, "openai", "sk-0123456789", "blue's", knownTo(s.Catalog())); err != nil {
		t.Fatal(err)
	}
	providerKeys, err := s.Keychain.KeysOf(t.Context(), keychain.Owner{Kind: keychain.OnTeam, ID: blue.ID})
	if err != nil || len(providerKeys) != 1 {
		t.Fatal(providerKeys, err)
	}
	rate := int64(10)
	strict := keychain.Limits{RateLimitPerMinute: &rate, AllowedModels: []string{"openai/*"}}
	for kind, holder := range map[string]string{keychain.OnTeam: red, keychain.OnOrganisation: keychain.Organisation, keychain.OnUser: "max"} {
		if _, err := s.Keychain.SetLimits(t.Context(), kind, holder, strict, s.Catalog()); err != nil {
			t.Fatal(err)
		}
	}
	mine, other := "/operator/teams/"+red, "/operator/teams/"+blue.ID
	for _, attempt := range []struct{ method, path, body string }{
		// Access to another team.
		{"GET", other, ""},
		{"GET", "/operator/teams/blue", ""},
		{"GET", other + "/members", ""},
		{"PUT", other + "/members/mia", `{"role":"admin"}`},
		{"DELETE", other + "/members/rob", ""},
		{"GET", other + "/limits", ""},
		{"GET", other + "/raise", ""},
		{"GET", other + "/own-limits", ""},
		{"PUT", other + "/own-limits", `{}`},
		{"GET", other + "/keychain-keys", ""},
		{"POST", other + "/keychain-keys", `{}`},
		{"POST", other + "/keychain-keys/" + theirs.ID + "/regenerate", ""},
		{"DELETE", other + "/keychain-keys/" + theirs.ID, ""},
		{"GET", other + "/provider-keys", ""},
		{"POST", other + "/provider-keys", `{"provider":"openai","api_key":"sk-0123456789"}`},
		{"DELETE", other + "/provider-keys/" + providerKeys[0].ID, ""},
		{"GET", other + "/spending", ""},
		{"GET", other + "/audit", ""},
		{"GET", other + "/aliases", ""},
		// Objects of another team, through paths of the administrator's own team.
		{"POST", mine + "/keychain-keys/" + theirs.ID + "/regenerate", ""},
		{"DELETE", mine + "/keychain-keys/" + theirs.ID, ""},
		{"DELETE", mine + "/provider-keys/" + providerKeys[0].ID, ""},
		{"PUT", mine + "/provider-keys/" + providerKeys[0].ID + "/limits", `{}`},
		{"POST", mine + "/provider-keys/" + providerKeys[0].ID + "/test", ""},
		{"DELETE", mine + "/members/rob", ""},
		// Keys of a member of the administrator's team.
		{"POST", mine + "/keychain-keys/" + personal.ID + "/regenerate", ""},
		{"DELETE", mine + "/keychain-keys/" + personal.ID, ""},
		{"GET", "/operator/users/max/keychain-keys", ""},
		{"DELETE", "/operator/users/max/keychain-keys/" + personal.ID, ""},
		// Limits that the operator has set.
		{"PUT", mine + "/limits", `{}`},
		{"PUT", mine + "/raise", `{"until":"2026-12-01T00:00:00Z","limits":{"rate_limit_per_minute":1000}}`},
		{"DELETE", mine + "/raise", ""},
		{"PUT", "/operator/users/max/limits", `{}`},
		{"PUT", "/operator/organisation/limits", `{}`},
		{"DELETE", mine, ""},
		{"PATCH", mine, `{"name":"crimson"}`},
		{"PUT", mine + "/members/max", `{"default":true}`},
		{"DELETE", mine + "/members/max", ""}, // red is the only team of max, and its limits bind him
		// Data of all users and teams.
		{"GET", "/operator/spending?by=team", ""},
		{"GET", "/operator/users", ""},
		{"GET", "/operator/users/rob", ""},
		{"GET", "/operator/teams", ""},
		{"GET", "/operator/audit", ""},
		{"GET", "/operator/overview", ""},
		{"GET", "/operator/organisation/provider-keys", ""},
	} {
		status, answer := requestAs(t, rt, "admin", attempt.method, attempt.path, attempt.body)
		if status != http.StatusForbidden && status != http.StatusNotFound {
			t.Errorf("%s %s: status %d, %s", attempt.method, attempt.path, status, answer.Raw)
		}
	}
	// Wide limits that the team sets itself do not lift the operator's limits.
	if status, answer := requestAs(t, rt, "admin", "PUT", mine+"/own-limits", `{"rate_limit_per_minute":1000,"allowed_models":["*"],"budgets":{}}`); status != 200 && status != 400 {
		t.Errorf("setting own limits for all models: got status %d, want 200 or 400: %s", status, answer.Raw)
	}
	if status, answer := requestAs(t, rt, "admin", "PUT", mine+"/own-limits", `{"rate_limit_per_minute":1000,"allowed_models":["openai/*","groq/*"],"budgets":{}}`); status != 200 {
		t.Errorf("setting wide own limits: got status %d, want 200: %s", status, answer.Raw)
	}
	id, err := s.Keychain.Authenticate(t.Context(), personal.Key)
	if err != nil || *id.RateLimit() != rate {
		t.Errorf("%+v, error %v", id, err)
	} else if holder, limit := id.ImposedRate(keychain.OnTeam); holder != red || *limit != rate || id.Forbids(&keychain.Candidate{Entry: "groq/x"}) == "" {
		t.Errorf("the limit of %s is %d", holder, *limit)
	}
	if got, err := s.Keychain.ImposedLimits(t.Context(), keychain.OnTeam, red); err != nil || *got.RateLimitPerMinute != rate {
		t.Errorf("the operator has set %+v, error %v", got, err)
	}
	if _, err := s.Keychain.Authenticate(t.Context(), theirs.Key); err != nil {
		t.Errorf("the key of the other team: %v", err)
	}
}
