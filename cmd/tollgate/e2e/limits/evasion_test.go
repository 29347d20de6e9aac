package limits

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// holder is a kind of owner of limits, with its names in refusals.
type holder struct {
	name    string
	path    func(user, team string) string // the path below /operator
	subject string                         // the subject in refusals of budgets
	budget  string                         // the name of the budget of requests a minute
	models  string                         // whose list of models it is, in refusals
}

var holders = []holder{
	{"user", func(user, _ string) string { return "users/" + user }, "the user of the gateway key", "operator-user", "allows its user"},
	{"team", func(_, team string) string { return "teams/" + team }, "the team of the gateway key", "operator-team", "allows its team"},
	{"organisation", func(_, _ string) string { return "organisation" }, "the organisation", "operator-organisation", "allows everybody"},
}

// kind is a kind of limit with its lowest value.
type kind struct {
	name, limits string
	refusal      func(h holder) refusal
}

func kinds() []kind {
	list := append(make([]kind, 0, 12), []kind{
		{"models", `{"allowed_models":["groq/*"]}`, func(h holder) refusal { return refusal{403, "the models that the operator " + h.models} }},
		{"requests a minute", `{"rate_limit_per_minute":1}`, func(h holder) refusal { return refusal{429, `"` + h.budget + `"`} }},
		{"tokens a minute", `{"tokens_per_minute":1}`, func(h holder) refusal { return refusal{429, h.subject + " has used 1 tokens in a minute"} }},
		{"requests at once", `{"parallel_requests":1}`, func(h holder) refusal { return refusal{429, h.subject + " has 1 requests under way"} }},
	}...)
	for _, window := range []string{"per_day", "per_week", "per_month", "total"} {
		for unit, amount := range map[string]string{"tokens_": "1", "usd_": "0.000001"} {
			list = append(list, kind{unit + window, `{"budgets":{"` + unit + window + `":` + amount + `}}`, func(h holder) refusal {
				return refusal{402, h.subject + " has spent the budget " + unit + window + " that the operator has set"}
			}})
		}
	}
	return list
}

// member is a user who tries to exceed their limits.
type member struct {
	*company
	id    string
	call  call
	first string // the primary key
	other string // a key for a team without limits
}

func (c *company) member(id string) *member {
	c.t.Helper()
	m := &member{company: c, id: id, call: c.as(id)}
	m.first = gjson.Get(m.call("POST", "/users/init", "", 201).Body, "key.key").Str
	own := fmt.Sprintf(`{"model_entry":"own/1","base_url":%q,"model":"scripted","tier":"high"}`, c.up.Base())
	m.call("POST", "/users/"+id+"/models", own, 201)
	m.call("POST", "/users/"+id+"/keys", `{"provider":"openai","api_key":"sk-of-the-member-0123456789"}`, 201)
	m.call("PUT", "/users/"+id+"/aliases/groq-like", `{"target":"`+model+`"}`, 200)
	return m
}

// key creates a key with the requested options, and returns its text and its id.
func (m *member) key(body string) (key, id string) {
	m.t.Helper()
	response := gjson.Parse(m.call("POST", "/users/"+m.id+"/keychain-keys", body, 201).Body)
	return response.Get("key").Str, response.Get("id").Str
}

// much has the limits that a member would like to have.
const much = `"tokens_per_minute":1000000,"parallel_requests":1000000,"rate_limit_per_minute":1000000,"expires_at":"2199-01-01T00:00:00Z","allowed_models":["openai/*","groq/*","own/*"],
	"budgets":{"tokens_per_day":1000000000,"tokens_per_month":1000000000,"usd_per_day":1000000,"usd_per_month":1000000}`

// raised is a raise that a member would like to have.
const raised = `{"until":"2199-01-01T00:00:00Z","limits":{"budgets":{"usd_per_day":1000000}}}`

// lift tries all routes that could extend the member's limits, and calls try with the keys that the member then has.
func (m *member) lift(team, foreign string, try func(key string)) {
	m.t.Helper()
	list := "/users/" + m.id + "/keychain-keys"
	for _, id := range gjson.Get(m.call("GET", list, "", 200).Body, `keys.#(revoked==false)#.id`).Array() {
		m.call("PUT", "/operator/users/"+m.id+"/keychain-keys/"+id.Str+"/limits", `{}`, 403)
		m.call("PUT", "/keychain-keys/"+id.Str, `{`+much+`}`, 200)
		m.call("PUT", "/keychain-keys/"+id.Str, `{"rate_limit_per_minute":null,"expires_at":null,"allowed_models":null,"budgets":null,
			"tokens_per_minute":null,"parallel_requests":null}`, 200)
	}
	m.call("POST", list, `{"team_id":"`+foreign+`"}`, 404)
	for _, route := range [][3]string{
		{"PUT", "users/" + m.id + "/limits", `{}`},
		{"PUT", "teams/" + team + "/limits", `{}`},
		{"PUT", "organisation/limits", `{}`},
		{"PUT", "users/" + m.id + "/raise", raised},
		{"PUT", "teams/" + team + "/raise", raised},
		{"PUT", "organisation/raise", raised},
		{"PUT", "teams/" + team + "/own-limits", `{}`},
		{"PUT", "prices/openai%2F*", `{"discount":100}`},
		{"DELETE", "prices/openai%2F*"},
		{"PUT", "organisation/aliases/groq-like", `{"target":"` + model + `"}`},
		{"PUT", "teams/" + team + "/aliases/groq-like", `{"target":"` + model + `"}`},
		{"POST", "teams/" + team + "/keychain-keys", `{}`},
		{"POST", "teams/" + team + "/provider-keys", `{"provider":"openai","api_key":"sk-mine-0123456789"}`},
		{"POST", "organisation/provider-keys", `{"provider":"openai","api_key":"sk-mine-0123456789"}`},
		{"POST", "invitations", `{"email":"puppet@example.com"}`},
		{"POST", "invitations/accept", `{"token":"made-up"}`},
		{"POST", "users", `{"id":"puppet-of-` + m.id + `"}`},
		{"POST", "users/" + m.id + "/resume"},
		{"DELETE", "users/" + m.id},
		{"POST", "users/" + m.id + "/keychain-keys", `{}`},
		{"POST", "teams", `{"name":"mine-` + m.id + `"}`},
		{"PATCH", "teams/" + team, `{"name":"gone"}`},
		{"DELETE", "teams/" + team},
		{"DELETE", "teams/" + team + "/members/" + m.id},
		{"PUT", "teams/" + foreign + "/members/" + m.id, `{"default":true}`},
	} {
		m.call(route[0], "/operator/"+route[1], route[2], 403)
	}
	before := m.first
	m.first = gjson.Get(m.call("POST", "/users/"+m.id+"/regenerate-key", "", 201).Body, "key").Str
	if a := m.ask(before, model); a.Status != http.StatusUnauthorized {
		m.t.Errorf("the key that was replaced: %d %s", a.Status, a.Body)
	}
	try(m.first)
	for _, body := range []string{"", `{"label":"more",` + much + `}`, `{"team_id":"` + team + `"}`} {
		key, id := m.key(body)
		try(key)
		m.call("DELETE", "/keychain-keys/"+id, "", 204)
	}
}

// refused sends requests of all kinds with a key and checks that each is refused.
func (m *member) refused(t *testing.T, key string, want refusal) {
	t.Helper()
	for _, s := range e2e.Surfaces {
		for _, stream := range []bool{false, true} {
			want.want(t, s.Name, e2e.Do(t, e2e.Client, http.MethodPost, m.Base+s.Path, key, s.Body(model, stream, "Hi")))
		}
	}
	want.want(t, "embeddings", e2e.Do(t, e2e.Client, http.MethodPost, m.Base+"/v1/embeddings", key, `{"model":"`+embedding+`","input":"Hi"}`))
	want.want(t, "a model of their own", m.ask(key, "own/1"))
	want.want(t, "another name of the model", m.ask(key, "groq-like"))
	for path, body := range others {
		want.want(t, path, e2e.Do(t, e2e.Client, http.MethodPost, m.Base+path, key, body))
	}
}

// others are requests that cost something, besides those of e2e.Surfaces.
var others = map[string]string{
	"/model/" + url.PathEscape(model) + "/converse":        `{"messages":[{"role":"user","content":[{"text":"Hi"}]}]}`,
	"/model/" + url.PathEscape(model) + "/converse-stream": `{"messages":[{"role":"user","content":[{"text":"Hi"}]}]}`,
	"/v1/audio/speech":       `{"model":"openai/tts-1","input":"Hi","voice":"alloy"}`,
	"/v1/images/generations": `{"model":"openai/gpt-image-1","prompt":"Hi"}`,
	"/v1/moderations":        `{"model":"openai/omni-moderation-latest","input":"Hi"}`,
}

// TestEvasion checks that a member cannot evade any kind of limit on the user, the team or the organisation: not by
// more keys, by limits on keys, by other surfaces, by a custom model, provider key or model alias, by another team, or
// by the routes of operators. Each refusal names the owner of the limit.
func TestEvasion(t *testing.T) {
	t.Parallel()
	c := newCompany(t, "")
	foreign := c.team("foreign")
	for _, h := range holders {
		m := c.member("member-" + h.name)
		team := c.team("limited-"+h.name, m.id)
		free := c.team("free-"+h.name, m.id)
		m.other, _ = m.key(`{"team_id":"` + free + `"}`)
		path := h.path(m.id, team)
		for _, k := range kinds() {
			ok := t.Run(h.name+"/"+k.name, func(t *testing.T) {
				c.t, m.t = t, t
				want := k.refusal(h)
				c.limit(path, k.limits)
				leave := func() {}
				if k.name == "requests at once" {
					leave = m.stay(t)
				}
				e2e.Eventually(t, e2e.WaitLimit, "the limit is reached", func() error { return want.of(m.ask(m.first, model)) })
				m.lift(team, foreign, func(key string) { m.refused(t, key, want) })
				if h.name == "team" {
					c.passes(m.other)
				} else {
					m.refused(t, m.other, want)
				}
				leave()
				if k.name == "requests at once" {
					e2e.Eventually(t, e2e.WaitLimit, "there is a place again", func() error {
						if a := m.ask(m.first, model); a.Status != http.StatusOK {
							return fmt.Errorf("%d %s", a.Status, a.Body)
						}
						return nil
					})
				}
				c.limit(path, `{}`)
				c.passes(m.first)
			})
			if !ok {
				break
			}
		}
	}
	c.t = t
	c.Stop()
}

// stay sends a request that runs until the returned function is called.
func (m *member) stay(t *testing.T) (leave func()) {
	t.Helper()
	begun := m.up.Stats().Requests
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		e2e.Ask(ctx, m.Base, m.first, e2e.Surfaces[0].Body(model, true, "scripted?fault=hang"))
	}()
	if err := m.up.AwaitRequests(t.Context(), begun+1); err != nil {
		t.Fatal(err)
	}
	return func() {
		cancel()
		<-left
	}
}

// TestSecondTeam checks that a member of two teams may use the second one, and that the usage counts for that team.
func TestSecondTeam(t *testing.T) {
	t.Parallel()
	c := newCompany(t, "")
	m := c.member("ada")
	red, blue := c.team("red", m.id), c.team("blue", m.id)
	c.limit("teams/"+red, `{"budgets":{"tokens_total":1}}`)
	c.passes(m.first)
	spent := refusal{402, "the team of the gateway key has spent the budget tokens_total"}
	e2e.Eventually(t, e2e.WaitLimit, "the team has spent its budget", func() error { return spent.of(c.ask(m.first, model)) })
	key, _ := m.key(`{"team_id":"` + blue + `"}`)
	c.AwaitUsage(c.passes(key).Header.Get("X-Request-Id"))
	report := gjson.Get(c.operator("GET", "/operator/spending?by=team", "", 200).Body, "data")
	for _, name := range []string{"red", "blue"} {
		if n := report.Get(`#(team=="` + name + `").succeeded`).Int(); n != 1 {
			t.Errorf("%d requests count for %s: %s", n, name, report)
		}
	}
	c.limit("teams/"+blue, `{"budgets":{"tokens_total":1}}`)
	spent.want(t, "the second team", c.ask(key, model))
	c.limit("teams/"+blue, `{}`)
	c.limit("organisation", `{"budgets":{"tokens_total":1}}`)
	refusal{402, "the organisation has spent the budget tokens_total"}.want(t, "the organisation", c.ask(key, model))
	c.limit("organisation", `{}`)

	// When the member leaves the second team, the key counts for the first team.
	c.operator("DELETE", "/operator/teams/"+blue+"/members/ada", "", 204)
	spent.want(t, "out of the second team", c.ask(key, model))
	c.Stop()
}

// TestNewUsers checks that a person who signs in under another name has the limits of new users, while the limits of
// the team and the organisation still apply.
func TestNewUsers(t *testing.T) {
	t.Parallel()
	c := newCompany(t, "\t\tnew_users allow {\n\t\t\tteam newcomers\n\t\t\ttokens_per_day 1\n\t\t\tallow openai/*\n\t\t}\n")
	eve := c.member("eve")
	refusal{403, "the models that the operator allows its user"}.want(t, "a model", c.ask(eve.first, "groq/llama-3.1-8b-instant"))
	c.passes(eve.first)
	spent := refusal{402, "the user of the gateway key has spent the budget tokens_per_day"}
	e2e.Eventually(t, e2e.WaitLimit, "the user has spent the budget", func() error { return spent.of(c.ask(eve.first, model)) })
	another, _ := eve.key(`{` + much + `}`)
	spent.want(t, "another key", c.ask(another, model))

	second := c.member("eve2")
	c.passes(second.first)
	e2e.Eventually(t, e2e.WaitLimit, "the second name has spent the budget", func() error { return spent.of(c.ask(second.first, model)) })

	self := second.call("GET", "/operator/self", "", 200).Body
	team := gjson.Get(self, `teams.#(name=="newcomers").id`).Str
	if team == "" || strings.Contains(self, `"role":"operator"`) {
		t.Fatalf("the new user gets %s", self)
	}
	c.limit("teams/"+team, `{"budgets":{"tokens_per_month":1}}`)
	third := c.member("eve3")
	refusal{402, "the team of the gateway key has spent the budget tokens_per_month"}.want(t, "a third name", c.ask(third.first, model))
	c.limit("teams/"+team, `{}`)
	c.limit("organisation", `{"budgets":{"usd_total":0.000001}}`)
	refusal{402, "the organisation has spent the budget usd_total"}.want(t, "the organisation", c.ask(third.first, model))
	c.Stop()
}

// TestSuspended checks that all keys of a suspended user are refused on all routes, until the operator ends the
// suspension.
func TestSuspended(t *testing.T) {
	t.Parallel()
	c := newCompany(t, "")
	m := c.member("ada")
	team := c.team("red")
	c.operator("PUT", "/operator/teams/"+team+"/members/ada", `{"role":"admin"}`, 204)
	second, _ := m.key("")
	c.passes(second)
	c.operator("POST", "/operator/users/ada/suspend", "", 204)
	for _, key := range []string{m.first, second} {
		m.refused(t, key, refusal{401, ""})
	}
	for _, route := range [][3]string{
		{"POST", "/users/init"},
		{"GET", "/users/ada/keychain-keys"},
		{"POST", "/users/ada/keychain-keys"},
		{"POST", "/users/ada/regenerate-key"},
		{"POST", "/operator/users/ada/resume"},
		{"GET", "/operator/teams/" + team + "/members"},
		{"PUT", "/operator/teams/" + team + "/members/ada"},
	} {
		m.call(route[0], route[1], route[2], 403)
	}
	c.operator("POST", "/operator/users/ada/resume", "", 204)
	c.passes(second)
	m.call("GET", "/users/ada/keychain-keys", "", 200)
	c.Stop()
}

// TestLeavingCounts checks that a client that leaves a stream early is charged for the prompt and for the text that was
// generated until then.
func TestLeavingCounts(t *testing.T) {
	t.Parallel()
	c := newCompany(t, "")
	// The organisation comes first, since at that time it has no usage yet.
	for _, h := range []holder{holders[2], holders[1], holders[0]} {
		m := c.member("leaver-" + h.name)
		path := h.path(m.id, c.team("left-"+h.name, m.id))
		c.limit(path, `{"budgets":{"tokens_total":50}}`)
		ctx, leave := context.WithCancel(t.Context())
		text := strings.Repeat("word ", 200) + "\nscripted?chunk_delay=1s"
		resp, err := e2e.Open(ctx, c.Base, m.first, strings.Replace(e2e.Prompt(model, true), "Hi", strings.ReplaceAll(text, "\n", `\n`), 1))
		if err != nil {
			t.Fatal(err)
		}
		e2e.FirstEvent(t, resp)
		leave()
		_ = resp.Body.Close()
		want := refusal{402, h.subject + " has spent the budget tokens_total"}
		e2e.Eventually(t, e2e.WaitLimit, "the abandoned stream is charged", func() error {
			return want.of(e2e.Do(t, e2e.Client, http.MethodPost, c.Base+"/v1/embeddings", m.first, `{"model":"`+embedding+`","input":"Hi"}`))
		})
		if u := c.AwaitUsage(resp.Header.Get("X-Request-Id")); u.Code != "client_closed_request" || u.Input < 200 || u.Output == 0 {
			t.Errorf("%s: the usage log has %+v", h.name, u)
		}
		c.limit(path, `{}`)
	}
	c.Stop()
}
