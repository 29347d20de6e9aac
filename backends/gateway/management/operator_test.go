package management

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/cascade"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/mail"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// newOperatorRouter returns a service with the operators root and boss@example.com, and with auditors determined by a
// group, the router of its routes, and the id of the team red. This team has the administrator mia and the member max.
// The users ada and rob are in no team.
func newOperatorRouter(t *testing.T) (rt *rest.Router, s *Service, team string) {
	t.Helper()
	s = newService(t)
	s.Engine = &cascade.Engine{Memory: cascade.NewMemory(time.Now), Now: time.Now}
	s.Operators = Who{Users: []string{"root", "boss@example.com"}}
	s.Auditors = Who{Claims: map[string][]string{"groups": {"auditors", "finance"}}}
	for _, id := range []string{"mia", "max", "rob"} {
		if _, _, _, err := s.Keychain.InitUser(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	red, err := s.Keychain.AddTeam(t.Context(), "red")
	if err != nil {
		t.Fatal(err)
	}
	for user, role := range map[string]string{"mia": keychain.RoleAdmin, "max": keychain.RoleMember} {
		if err := s.Keychain.SetMember(t.Context(), red.ID, user, keychain.Membership{Role: role}); err != nil {
			t.Fatal(err)
		}
	}
	return rest.NewRouter("", s.Routes()), s, red.ID
}

// callers are the callers of the tests, by role.
var callers = map[string]*Caller{
	"operator": NewCaller("root", nil),
	"boss":     NewCaller("b-1", map[string]any{"email": "Boss@example.com", "email_verified": true}),
	"auditor":  NewCaller("eve", map[string]any{"groups": []any{"x", "finance"}}),
	"admin":    NewCaller("mia", nil),
	"member":   NewCaller("max", nil),
	"stranger": NewCaller("ada", map[string]any{"groups": []any{"finance department"}, "email": "boss@example.com"}),
}

// requestAs sends a request as a caller, and returns the status and the body of the response.
func requestAs(t *testing.T, rt *rest.Router, caller, method, path, body string) (status int, answer gjson.Result) {
	t.Helper()
	w := httptest.NewRecorder()
	found, ok := rt.Find(httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
	if !ok {
		t.Fatalf("there is no route %s %s", method, path)
	}
	if err := found.Serve(w, callers[caller]); err != nil {
		e, ok := apierror.From(err)
		if !ok {
			t.Fatal(err)
		}
		return e.Status, gjson.Parse(`{"code":"` + e.Code + `"}`)
	}
	return w.Code, gjson.ParseBytes(w.Body.Bytes())
}

// TestOperatorRoutesByRole requests every operator route in every role.
func TestOperatorRoutesByRole(t *testing.T) {
	t.Parallel()
	rt, s, team := newOperatorRouter(t)
	bodies := map[string]string{
		"PUT /operator/prices/{name...}": `{"discount":5}`,
		"POST /operator/users":           `{"id":"new"}`, "POST /operator/teams": `{"name":"blue"}`, "PATCH /operator/teams/{team_id}": `{"name":"green"}`,
		"POST /operator/invitations": `{"email":"new@example.com"}`, "POST /operator/invitations/accept": `{"token":"none"}`,
		"POST /operator/teams/{team_id}/provider-keys": `{"provider":"openai","api_key":"sk-0123456789"}`, "POST /operator/organisation/provider-keys": `{"provider":"openai","api_key":"sk-0123456789"}`,
	}
	ofTeam := map[string]bool{
		"GET /operator/teams/{team_id}": true, "GET /operator/teams/{team_id}/members": true, "GET /operator/teams/{team_id}/spending": true,
		"PUT /operator/teams/{team_id}/members/{user_id}": true, "DELETE /operator/teams/{team_id}/members/{user_id}": true,
		"GET /operator/teams/{team_id}/keychain-keys": true, "POST /operator/teams/{team_id}/keychain-keys": true,
		"DELETE /operator/teams/{team_id}/keychain-keys/{key_id}": true,
		"GET /operator/teams/{team_id}/provider-keys":             true, "POST /operator/teams/{team_id}/provider-keys": true,
		"DELETE /operator/teams/{team_id}/provider-keys/{key_id}": true, "PUT /operator/teams/{team_id}/provider-keys/{key_id}/limits": true,
		"POST /operator/teams/{team_id}/provider-keys/{key_id}/test": true,
		"GET /operator/teams/{team_id}/limits":                       true, "GET /operator/teams/{team_id}/raise": true,
		"GET /operator/teams/{team_id}/own-limits": true, "PUT /operator/teams/{team_id}/own-limits": true,
		"POST /operator/teams/{team_id}/keychain-keys/{key_id}/regenerate": true, "GET /operator/teams/{team_id}/audit": true,
	}
	routes := s.operatorRoutes()
	for _, caller := range []string{"stranger", "member", "admin", "auditor", "boss", "operator"} {
		for i := range routes {
			route := &routes[i]
			name := route.Method + " " + route.Path
			path := strings.NewReplacer("{team_id}", team, "{user_id}", "rob", "{key_id}", "gk_none", "{name...}", "openai/*").Replace(route.Path)
			body := bodies[name]
			if route.Body == "Limits" || route.Body == "KeyLimits" {
				body = `{"budgets":{"usd_per_month":5}}`
			}
			if route.Body == "Raise" {
				body = `{"until":"2026-12-01T00:00:00Z","limits":{"budgets":{"usd_per_month":5}}}`
			}
			if route.Method == http.MethodDelete && !ofTeam[name] && caller == "operator" || caller == "operator" && name == "PATCH /operator/teams/{team_id}" {
				continue // after a deletion, a second one would find nothing; see TestOperatorFlow
			}
			if caller == "boss" && route.Method == http.MethodDelete {
				continue
			}
			allowed := strings.HasPrefix(route.Path, "/operator/self") || route.Path == "/operator/invitations/accept"
			switch caller {
			case "operator", "boss":
				allowed = true
			case "auditor":
				allowed = allowed || route.Method == http.MethodGet
			case "admin":
				allowed = allowed || ofTeam[name]
			}
			status, answer := requestAs(t, rt, caller, route.Method, path, body)
			refused := status == http.StatusForbidden && answer.Get("code").Str == "forbidden"
			if refused == allowed {
				t.Errorf("%s %s: status %d, %s", caller, name, status, answer.Raw)
			}
		}
	}
	for caller, role := range map[string]string{"operator": "operator", "boss": "operator", "auditor": "auditor", "admin": "member", "stranger": "member"} {
		if _, answer := requestAs(t, rt, caller, "GET", "/operator/self", ""); answer.Get("role").Str != role {
			t.Errorf("%s is %s", caller, answer.Raw)
		}
	}
}

// TestOperatorFlow performs an operator's usual tasks on a user and a team.
func TestOperatorFlow(t *testing.T) {
	t.Parallel()
	rt, s, team := newOperatorRouter(t)
	send := func(want int, method, path, body string) gjson.Result {
		t.Helper()
		status, answer := requestAs(t, rt, "operator", method, path, body)
		if status != want {
			t.Fatalf("%s %s: status %d, %s", method, path, status, answer.Raw)
		}
		return answer
	}
	user := send(201, "POST", "/operator/users", `{"id":"kim"}`)
	send(409, "POST", "/operator/users", `{"id":"kim"}`)
	if list := send(200, "GET", "/operator/users?q=ki", ""); list.Get("data.#").Int() != 1 || list.Get("data.0.status").Str != "active" {
		t.Errorf("the list is %s", list.Raw)
	}
	first := send(200, "GET", "/operator/users?limit=2", "")
	if next := send(200, "GET", "/operator/users?limit=2&after="+first.Get("next_after").Str, ""); next.Get("data.0.id").Str <= first.Get("data.1.id").Str {
		t.Errorf("%s, then %s", first.Raw, next.Raw)
	}
	send(204, "PUT", "/operator/teams/"+team+"/members/kim", `{"role":"admin","default":true}`)
	send(200, "PUT", "/operator/users/kim/limits", `{"rate_limit_per_minute":7,"budgets":{"usd_total":3}}`)
	send(200, "PUT", "/operator/teams/"+team+"/limits", `{"allowed_models":["openai/*"]}`)
	send(200, "PUT", "/operator/organisation/limits", `{"budgets":{"usd_per_week":9}}`)
	send(400, "PUT", "/operator/organisation/limits", `{"budgets":{"usd_per_year":9}}`)
	send(404, "PUT", "/operator/teams/none/limits", `{}`)
	details := send(200, "GET", "/operator/users/kim", "")
	if details.Get("limits.budgets.usd_total").Float() != 3 || details.Get("teams.0.name").Str != "red" {
		t.Errorf("the user is %s", details.Raw)
	}
	key := send(201, "POST", "/operator/users/kim/keychain-keys", `{"label":"ci","budgets":{"tokens_per_day":100}}`)
	if key.Get("imposed.#").Int() != 4 || key.Get("budgets.tokens_per_day").Type != gjson.Null {
		t.Errorf("the key is %s", key.Raw)
	}
	send(204, "DELETE", "/operator/users/kim/keychain-keys/"+key.Get("id").Str, "")
	send(204, "POST", "/operator/users/kim/suspend", "")
	if _, err := s.Keychain.Authenticate(t.Context(), user.Get("key.key").Str); err == nil {
		t.Error("the key of a suspended user is accepted")
	}
	callers := map[string]*Caller{"kim": NewCaller("kim", nil)}
	w := httptest.NewRecorder()
	found, _ := rt.Find(httptest.NewRequestWithContext(t.Context(), "GET", "/users/kim/keychain-keys", nil))
	if e, ok := apierror.From(found.Serve(w, callers["kim"])); !ok || e.Code != "user_suspended" {
		t.Errorf("a suspended user gets %v, %s", e, w.Body)
	}
	send(204, "POST", "/operator/users/kim/resume", "")
	send(204, "DELETE", "/operator/teams/"+team+"/members/kim", "")
	send(404, "DELETE", "/operator/teams/"+team+"/members/kim", "")
	send(204, "DELETE", "/operator/users/kim", "")
	send(404, "GET", "/operator/users/kim", "")
	if renamed := send(200, "PATCH", "/operator/teams/"+team, `{"name":"crimson"}`); renamed.Get("name").Str != "crimson" || renamed.Get("members").Int() != 2 {
		t.Errorf("the team is %s", renamed.Raw)
	}
	send(204, "DELETE", "/operator/teams/"+team, "")
	send(200, "GET", "/operator/spending?by=team,day", "")
	send(400, "GET", "/operator/spending?by=nothing", "")
	send(200, "GET", "/operator/spending?by=team&limit=1", "")
	send(400, "GET", "/operator/spending?by=team&limit=0", "")
	audit := send(200, "GET", "/operator/audit?limit=3", "")
	if audit.Get("data.0.action").Str != "team.removed" || audit.Get("data.0.actor").Str != "root" || audit.Get("next_cursor").Str == "" {
		t.Errorf("the audit is %s", audit.Raw)
	}
	if before := send(200, "GET", "/operator/audit?cursor="+audit.Get("next_cursor").Str, ""); before.Get("data.#").Int() < 10 {
		t.Errorf("before it was %s", before.Raw)
	}
}

// TestSignInPolicies signs users in by an invitation, by a rule and by approval.
func TestSignInPolicies(t *testing.T) {
	t.Parallel()
	rt, s, _ := newOperatorRouter(t)
	s.NewUsers = keychain.NewUsers{Approve: true}
	mails := new(mailbox)
	s.Mail = mails
	s.Teams = TeamRules{{Claim: "groups", Value: "ml", Team: "research"}}
	post := func(caller *Caller, path, body string) (status int, answer gjson.Result) {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader(body))
		found, _ := rt.Find(r)
		w := httptest.NewRecorder()
		if err := found.Serve(w, caller); err != nil {
			refusal, _ := apierror.From(err)
			return refusal.Status, gjson.Parse(`{"code":"` + refusal.Code + `"}`)
		}
		return w.Code, gjson.Parse(w.Body.String())
	}
	ruled := NewCaller("ruth", map[string]any{"groups": []any{"ml"}})
	if status, answer := post(ruled, "/users/init", ""); status != 201 || !answer.Get("key.team_id").Exists() {
		t.Errorf("by a rule: %d, %s", status, answer.Raw)
	}
	new := NewCaller("nina", map[string]any{"name": "Nina"})
	if status, answer := post(new, "/users/init", ""); status != 403 || answer.Get("code").Str != "user_waiting" {
		t.Errorf("someone new: %d, %s", status, answer.Raw)
	}
	if _, answer := requestAs(t, rt, "operator", "GET", "/operator/users/nina", ""); answer.Get("status").Str != "waiting" || answer.Get("name").Str != "Nina" {
		t.Errorf("she is %s", answer.Raw)
	}
	if status, answer := requestAs(t, rt, "operator", "POST", "/operator/users/nina/resume", ""); status != 204 {
		t.Errorf("approving nina: got status %d, want 204: %s", status, answer.Raw)
	}
	if status, answer := post(new, "/users/init", ""); status != 201 || !answer.Get("created").Bool() || answer.Get("key.key").Str == "" {
		t.Errorf("after approval: %d, %s", status, answer.Raw)
	}
	status, invitation := requestAs(t, rt, "operator", "POST", "/operator/invitations", `{"email":"ivy@example.com"}`)
	if token := invitation.Get("token").Str; status != 201 || token == "" || !strings.HasSuffix(invitation.Get("link").Str, "/console/#invitation="+token) {
		t.Fatalf("inviting ivy: got status %d, want 201 with a token and a link: %s", status, invitation.Raw)
	}
	if !invitation.Get("mailed").Bool() || len(mails.sent) != 1 || mails.sent[0].Email != "ivy@example.com" || !strings.Contains(mails.sent[0].Text, invitation.Get("link").Str) {
		t.Errorf("mailed is %s: %+v", invitation.Get("mailed").Raw, mails.sent)
	}
	mails.down = true
	if status, invitation := requestAs(t, rt, "operator", "POST", "/operator/invitations", `{"email":"ida@example.com"}`); status != 201 || invitation.Get("mailed").Bool() || invitation.Get("link").Str == "" {
		t.Errorf("without a mail server: %d, %s", status, invitation.Raw)
	}
	body := `{"token":"` + invitation.Get("token").Str + `"}`
	if status, answer := post(NewCaller("ivy", nil), "/operator/invitations/accept", body); status != 201 || answer.Get("key.key").Str == "" {
		t.Errorf("by an invitation: %d, %s", status, answer.Raw)
	}
	if status, answer := post(NewCaller("eve", nil), "/operator/invitations/accept", body); status != 403 || answer.Get("code").Str != "invitation_invalid" {
		t.Errorf("by a used one: %d, %s", status, answer.Raw)
	}
	if _, list := requestAs(t, rt, "auditor", "GET", "/operator/invitations", ""); list.Get(`data.#(email=="ivy@example.com").accepted_by`).Str != "ivy" || list.Get("data.0.token").Exists() {
		t.Errorf("the list is %s", list.Raw)
	}
}

// mailbox is a mail transport that stores mails, or fails if it is down.
type mailbox struct {
	sent []mail.Message
	down bool
}

// Open implements mail.Transport.
func (m *mailbox) Open(context.Context) (mail.Session, error) {
	if m.down {
		return nil, errors.New("the mail server is down")
	}
	return m, nil
}

// Send implements mail.Session.
func (m *mailbox) Send(_ context.Context, message *mail.Message) error {
	m.sent = append(m.sent, *message)
	return nil
}

// Close implements mail.Session.
func (*mailbox) Close() {}

// TestProfileAtSignIn checks that the verified email address and the name of a user are stored at sign-in.
func TestProfileAtSignIn(t *testing.T) {
	t.Parallel()
	rt, s, _ := newOperatorRouter(t)
	for name, claims := range map[string]map[string]any{
		"a": {"email": "A@example.com", "email_verified": true, "name": "Ann"},
		"b": {"email": "b@example.com", "email_verified": "true", "name": 7},
		"c": {"email": 7, "email_verified": true},
	} {
		found, _ := rt.Find(httptest.NewRequestWithContext(t.Context(), "POST", "/users/init", nil))
		if err := found.Serve(httptest.NewRecorder(), NewCaller(name, claims)); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string]keychain.Profile{"a": {Email: "a@example.com", Name: "Ann"}, "b": {}, "c": {}} {
		if user, err := s.Keychain.User(t.Context(), id); err != nil || user.Email != want.Email || user.Name != want.Name {
			t.Errorf("%+v, error %v, want %+v", user, err, want)
		}
	}
}

// TestLimitOnKey checks that operators replace the limits on keys of users and teams, and that this is recorded.
// Administrators of the team cannot lift these limits.
func TestLimitOnKey(t *testing.T) {
	t.Parallel()
	rt, _, team := newOperatorRouter(t)
	send := func(caller string, want int, method, path, body string) gjson.Result {
		t.Helper()
		status, answer := requestAs(t, rt, caller, method, path, body)
		if status != want {
			t.Fatalf("%s %s %s: status %d, %s", caller, method, path, status, answer.Raw)
		}
		return answer
	}
	for _, holder := range []string{"/operator/users/max", "/operator/teams/" + team} {
		list := holder + "/keychain-keys"
		path := list + "/" + send("operator", 201, "POST", list, `{"budgets":{"usd_per_day":5}}`).Get("id").Str + "/limits"
		key := send("operator", 200, "PUT", path, `{"rate_limit_per_minute":9,"allowed_models":["openai/*"]}`)
		imposed := key.Get(`imposed.#(on=="key")`)
		if imposed.Get("rate_limit_per_minute").Int() != 9 || imposed.Get("budgets.usd_per_day").Type != gjson.Null {
			t.Errorf("%s: the key is %s", holder, key.Raw)
		}
		send("operator", 400, "PUT", path, `{"allowed_models":["nowhere/none"]}`)
		send("operator", 404, "PUT", list+"/gk_none/limits", `{}`)
		for _, caller := range []string{"admin", "member", "auditor"} {
			send(caller, 403, "PUT", path, `{}`)
		}
		entry := send("operator", 200, "GET", "/operator/audit?limit=1", "").Get("data.0")
		if entry.Get("action").Str != "key.limited" || entry.Get("details.rate_limit_per_minute").Int() != 9 {
			t.Errorf("%s: the audit log has %s", holder, entry.Raw)
		}
		if key := send("operator", 200, "PUT", path, `{}`); key.Get(`imposed.#(on=="key")`).Exists() {
			t.Errorf("%s: without limits the key is %s", holder, key.Raw)
		}
	}
}

// TestOperatorsAreLetIn checks that operators are admitted at their first sign-in under policies that refuse other new
// users or make them wait.
func TestOperatorsAreLetIn(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]keychain.NewUsers{"refuse": {Refuse: true}, "approve": {Approve: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rt, s, _ := newOperatorRouter(t)
			s.NewUsers = policy
			for caller, want := range map[string]int{
				"operator": http.StatusCreated, "boss": http.StatusCreated, "auditor": http.StatusForbidden,
			} {
				if status, answer := requestAs(t, rt, caller, http.MethodPost, "/users/init", ""); status != want {
					t.Errorf("%s: status %d, %s", caller, status, answer.Raw)
				}
			}
		})
	}
}
