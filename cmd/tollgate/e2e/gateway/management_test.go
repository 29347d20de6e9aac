package gateway

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/management"
	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestManagement goes through the routes of the management API in the order in which a user needs them.
func TestManagement(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	g := e2e.NewGateway(t, "")
	token := func(user string) string { return strings.TrimSpace(g.Tool("keychain", "token", user)) }
	guest := e2e.NewDocumented(t, g.Base)
	mia := guest.As(token("mia"))

	for _, path := range []string{"/health", "/providers", "/models", "/openapi.json"} {
		guest.Call("GET", path, "", 200)
	}
	for path, want := range map[string]string{
		"/docs": "swagger-ui-bundle.js", "/redoc": "<redoc", "/docs/swagger-ui-bundle.js": "SwaggerUIBundle", "/docs/swagger-ui.css": ".swagger-ui",
		"/docs/redoc.js": "Redoc", "/docs/docs.js": "openapi.json", "/docs/redoc-page.js": "prefers-color-scheme",
	} {
		if a := e2e.Get(t, http.DefaultClient, g.Base+path, ""); a.Status != 200 || !strings.Contains(a.Body, want) || strings.Contains(a.Body, `src="http`) {
			t.Errorf("%s: status %d, %d bytes", path, a.Status, len(a.Body))
		}
	}
	e2e.Get(t, http.DefaultClient, g.Base+"/docs/nothing.js", "").Refused(t, 404, "not_found")

	// Creates the user and gateway keys.
	var user struct{ Key struct{ Key, ID string } }
	mia.Value(mia.Call("POST", "/users/init", "", 201), &user)
	mia.Call("POST", "/users/init", "", 200)
	for body, status := range map[string]int{
		"": 201, `{}`: 201, `{"label":"ci","rate_limit_per_minute":7,"expires_at":"2200-01-01T00:00:00Z","allowed_models":["own/*"],"budgets":{"usd_per_day":1.5,"tokens_per_month":1000},"effort_mode":"model_wins"}`: 201,
		`{"rate_limit_per_minute":0}`: 400, `{"rate_limit_per_minute":"7"}`: 400, `{"lable":"x"}`: 400, `[]`: 400, `{"label":"` + strings.Repeat("x", 101) + `"}`: 400,
		`{"expires_at":"2001-01-01T00:00:00Z"}`: 400, `{"budgets":{"usd_per_day":0}}`: 400, `{"effort_mode":"x"}`: 400, `{"label":"x"`: 400, `{} {}`: 400,
		strings.Repeat("[", 100): 400, `{"label":"` + strings.Repeat("x", 1<<20) + `"}`: 413,
	} {
		mia.Call("POST", "/users/mia/keychain-keys", body, status)
	}
	var keys struct {
		Keys []struct{ ID, Label, Masked, Status string }
	}
	list := mia.Call("GET", "/users/mia/keychain-keys", "", 200)
	mia.Value(list, &keys)
	if len(keys.Keys) != 4 || strings.Contains(list.Body, user.Key.Key) {
		t.Errorf("keys: %s", list.Body)
	}
	key := "/keychain-keys/" + keys.Keys[1].ID
	mia.Call("PUT", key, `{"label":"renamed","rate_limit_per_minute":3}`, 200)
	mia.Call("PUT", key, `{"clear_rate_limit":true,"clear_expiry":true,"allowed_models":null,"budgets":{}}`, 200)
	mia.Call("PUT", key, `{"allowed_models":[]}`, 400)
	mia.Call("PUT", key, `{"clear_rate_limit":true,"rate_limit_per_minute":3}`, 400)
	mia.Call("PUT", key, ``, 400)
	mia.Call("PUT", "/keychain-keys/gk_none", `{"label":"x"}`, 404)
	mia.Call("PUT", "/keychain-keys/%00%ff", `{"label":"x"}`, 404)
	mia.Call("DELETE", key, "", 204)
	mia.Call("DELETE", key, "", 204)
	mia.Call("PUT", key, `{"label":"x"}`, 409)
	var fresh struct{ Key string }
	mia.Value(mia.Call("POST", "/users/mia/regenerate-key", "", 201), &fresh)
	if a := e2e.Ask(t.Context(), g.Base, user.Key.Key, e2e.Prompt("keychain-high", false)); a.Status != 401 {
		t.Errorf("the key before regenerate-key: %d", a.Status)
	}

	// Manages provider keys, models and preferences.
	var stored struct{ ID string }
	mia.Value(mia.Call("POST", "/users/mia/keys", `{"provider":"openai","api_key":"sk-000000000000000000000000000000000000000000001","key_label":"main"}`, 201), &stored)
	for _, body := range []string{`{"provider":"teapot","api_key":"sk-1"}`, `{"provider":"openai","api_key":""}`, `{"provider":"openai","api_key":"a b"}`, `{"provider":"openai"}`, ``} {
		mia.Call("POST", "/users/mia/keys", body, 400)
	}
	if a := mia.Call("GET", "/users/mia/keys", "", 200); strings.Contains(a.Body, "00000000000000000000000000000") {
		t.Errorf("a provider key is shown: %s", a.Body)
	}
	own := fmt.Sprintf(`{"model_entry":"own/one","base_url":%q,"model":%q,"tier":"high","priority":-5}`, up.Base(), e2e.Script("text", "Hello there"))
	mia.Call("POST", "/users/mia/models", own, 201)
	mia.Call("POST", "/users/mia/models", own, 409)
	mia.Call("POST", "/users/mia/models", fmt.Sprintf(`{"model_entry":"own/bad","base_url":%q,"model":%q,"tier":"high","priority":-9}`, up.Base(), e2e.Script("fault", "500")), 201)
	mia.Call("POST", "/users/mia/models", strings.Replace(own, `"high"`, `"huge"`, 1), 400)
	mia.Call("POST", "/users/mia/models", strings.Replace(own, "http:", "ftp:", 1), 400)
	var models struct {
		Models []struct {
			ID       string
			Entry    string `json:"model_entry"`
			Provider string
		}
	}
	mia.Value(mia.Call("GET", "/users/mia/models", "", 200), &models)
	ids := make(map[string]string)
	catalogued := ""
	for _, m := range models.Models {
		ids[m.Entry] = m.ID
		if m.Provider == "openai" && catalogued == "" {
			catalogued = m.Entry
		}
	}
	mia.Call("PUT", "/users/mia/models/"+ids["own/one"], `{"priority":-1}`, 200)
	// The slash in a name may be sent unescaped, which no path of an OpenAPI document can express.
	if a := e2e.Do(t, http.DefaultClient, "PUT", g.Base+"/users/mia/models/own/one", mia.Token, `{"enabled":true}`); a.Status != 200 {
		t.Errorf("a name with a slash: %d %s", a.Status, a.Body)
	}
	catalogued = url.PathEscape(catalogued)
	mia.Call("PUT", "/users/mia/models/own%2Fone", `{"enabled":true}`, 200)
	mia.Call("PUT", "/users/mia/models/"+catalogued, `{"enabled":false}`, 200)
	mia.Call("PUT", "/users/mia/models/own%2Fnone", `{"enabled":false}`, 404)
	mia.Call("PUT", "/users/mia/models/own%2Fone", `{"priority":10000000}`, 400)
	mia.Call("DELETE", "/users/mia/models/"+catalogued, "", 204)
	mia.Call("DELETE", "/users/mia/models/"+catalogued, "", 404)
	mia.Call("GET", "/users/mia/preferences", "", 200)
	mia.Call("PUT", "/users/mia/preferences", `{"preferred_providers":["groq"],"excluded_providers":["openai"],"excluded_models":[]}`, 200)
	mia.Call("PUT", "/users/mia/preferences", `{"preferred_providers":["teapot"]}`, 400)
	mia.Call("PUT", "/users/mia/preferences", `{"excluded_models":["own/none"]}`, 400)

	// A dry run shows the route of a request, and the request is answered.
	var route struct {
		Tier       string
		Candidates []struct {
			Entry string `json:"model_entry"`
		}
		Skipped []struct {
			Entry, Reason string
		}
	}
	dry := mia.Call("POST", "/users/mia/route", `{"model":"keychain-high"}`, 200)
	mia.Value(dry, &route)
	if len(route.Candidates) != 2 || route.Candidates[0].Entry != "own/bad" || route.Candidates[1].Entry != "own/one" || route.Tier != "high" || !strings.Contains(dry.Body, "provider_excluded") {
		t.Errorf("route: %s", dry.Body)
	}
	mia.Call("POST", "/users/mia/route", `{"model":"own/one","key_id":"gk_none"}`, 404)
	mia.Call("POST", "/users/mia/route", `{"model":"no such model"}`, 200)
	mia.Call("POST", "/users/mia/route", `{"surface":"messages","request":{"model":"vendor-opus-4-6","max_tokens":5,"messages":[{"role":"user","content":"Hi"}]}}`, 200)
	mia.Call("POST", "/users/mia/route", `{"surface":"responses","request":{"model":"keychain-low","input":"Hi"}}`, 200)
	mia.Call("POST", "/users/mia/route", `{"surface":"messages","request":{"model":"vendor-opus-4-6"}}`, 400)
	mia.Call("POST", "/users/mia/route", `{"surface":"telex","request":{}}`, 400)
	mia.Call("POST", "/users/mia/route", `{}`, 400)
	a := e2e.Ask(t.Context(), g.Base, fresh.Key, e2e.Prompt("keychain-high", true))
	if text, _ := e2e.Streamed(t, a.Body); text != "Hello there" {
		t.Errorf("answer %d %s", a.Status, a.Body)
	}
	g.AwaitUsage(a.Header.Get("X-Request-Id"))

	// The health and the usage show that request.
	var health struct {
		Providers []struct {
			Name, Status string
			LastDay      int `json:"requests_last_day"`
		}
	}
	seen := mia.Call("GET", "/users/mia/providers/health", "", 200)
	mia.Value(seen, &health)
	status := make(map[string]string)
	for _, p := range health.Providers {
		status[p.Name] = fmt.Sprint(p.Status, " ", p.LastDay)
	}
	if status["own/one"] != "active 1" || status["OpenAI"] != "untested 0" || !strings.HasSuffix(status["own/bad"], " 1") {
		t.Errorf("health: %s", seen.Body)
	}
	var report struct {
		Totals struct{ Requests, Succeeded int }
	}
	usage := mia.Call("GET", "/users/mia/usage?group=provider,model,day,hour,key,tier", "", 200)
	mia.Value(usage, &report)
	if report.Totals.Requests != 1 || report.Totals.Succeeded != 1 {
		t.Errorf("usage: %s", usage.Body)
	}
	for _, query := range []string{"?from=2026-01-01&to=2026-01-02", "?from=2026-01-01T00:00:00%2B01:00&to=2026-01-02T00:00:00Z&group=hour"} {
		mia.Call("GET", "/users/mia/usage"+query, "", 200)
	}
	for _, query := range []string{"?from=x", "?group=x", "?from=2026-01-02&to=2026-01-01", "?format=xml", "?format=csv&group=day,key", "?from=2000-01-01"} {
		mia.Call("GET", "/users/mia/usage"+query, "", 400)
	}
	recent := mia.Call("GET", "/users/mia/usage/recent?limit=1", "", 200)
	if !strings.Contains(recent.Body, `"attempt_count":2`) || strings.Count(recent.Body, `"latency_ms"`) != 3 {
		t.Errorf("recent: %s", recent.Body)
	}
	for _, query := range []string{"?limit=0", "?limit=501", "?limit=x", "?cursor=x", "?cursor=%00"} {
		mia.Call("GET", "/users/mia/usage/recent"+query, "", 400)
	}
	for path, want := range map[string]string{"/usage?format=csv": "provider,model,day", "/usage/recent?format=csv": "at,request_id"} {
		a := e2e.Get(t, http.DefaultClient, g.Base+"/users/mia"+path, mia.Token)
		if !strings.HasPrefix(a.Body, want) || strings.Count(a.Body, "\r\n") != 2 || !strings.Contains(a.Header.Get("Content-Disposition"), "attachment") {
			t.Errorf("%s: %q", path, a.Body)
		}
	}

	// A provider key is tested.
	var probe struct {
		OK     bool
		Status string
	}
	tried := mia.Call("POST", "/users/mia/keys/"+ids["own/one"]+"/test", "", 200)
	mia.Value(tried, &probe)
	if !probe.OK || probe.Status != "active" {
		t.Errorf("test: %s", tried.Body)
	}
	mia.Value(mia.Call("POST", "/users/mia/keys/"+ids["own/bad"]+"/test", "", 200), &probe)
	if probe.OK {
		t.Error("a broken server passes the test")
	}
	mia.Call("POST", "/users/mia/keys/pk_none/test", "", 404)

	// Other users and guests have no access to mia's resources.
	bob := guest.As(token("bob"))
	bob.Call("POST", "/users/init", "", 201)
	stranger := guest.As(fresh.Key) // a gateway key is no user token
	for _, route := range new(management.Service).Routes() {
		if route.Guest || route.Path == "/users/init" {
			continue
		}
		path := strings.NewReplacer("{user_id}", "mia", "{model_id...}", "own%2Fone", "keys/{key_id}", "keys/"+stored.ID, "{team_id}", "team_none").Replace(route.Path)
		want := 403
		switch {
		case strings.HasPrefix(path, "/operator/self"): // returns the rights of the caller
			want = 200
		case path == "/operator/invitations/accept": // open to everybody with an invitation
			want = 400
		case strings.HasPrefix(path, "/keychain-keys/"):
			path, want = "/keychain-keys/"+keys.Keys[0].ID, 404
		}
		body := ""
		if route.Body != "" {
			body = "{}"
		}
		bob.Call(route.Method, path, body, want)
		guest.Call(route.Method, path, body, 401)
		stranger.Call(route.Method, path, body, 401)
		if strings.HasPrefix(path, "/operator/teams/") {
			continue // PATCH exists for one of these paths
		}
		if a := e2e.Do(t, http.DefaultClient, "PATCH", g.Base+path, mia.Token, body); a.Status != 405 || a.Header.Get("Allow") == "" {
			t.Errorf("PATCH %s: %d %v", path, a.Status, a.Header)
		}
	}
	mia.Call("DELETE", "/users/mia/keys/"+stored.ID, "", 204)
	mia.Call("DELETE", "/users/mia/keys/"+stored.ID, "", 404)
	mia.Call("DELETE", "/users/mia/models/own%2Fbad", "", 204)
	guest.As("ak-nonsense").Call("GET", "/users/mia/keys", "", 401)
	guest.As(strings.TrimSuffix(mia.Token, mia.Token[len(mia.Token)-4:])+"AAAA").Call("GET", "/users/mia/keys", "", 401)
}

// TestKeyBudget checks a key whose budget of tokens is spent.
func TestKeyBudget(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	g := e2e.NewGateway(t, "")
	g.User("kim", up, e2e.Script("text", "one two three"), e2e.Script("text", "four"))
	kim := e2e.NewDocumented(t, g.Base).As(strings.TrimSpace(g.Tool("keychain", "token", "kim")))
	var key struct{ ID, Key string }
	kim.Value(kim.Call("POST", "/users/kim/keychain-keys", `{"budgets":{"tokens_per_day":1},"allowed_models":["own/1"]}`, 201), &key)
	if a := e2e.Ask(t.Context(), g.Base, key.Key, e2e.Prompt("own/2", false)); a.Status != 403 || !strings.Contains(a.Body, "permission_denied") {
		t.Errorf("a model that is not allowed: %d %s", a.Status, a.Body)
	}
	if a := e2e.Get(t, http.DefaultClient, g.Base+"/v1/models", key.Key); !strings.Contains(a.Body, "own/1") || strings.Contains(a.Body, "own/2") {
		t.Errorf("models of the key: %s", a.Body)
	}
	if a := e2e.Ask(t.Context(), g.Base, key.Key, e2e.Prompt("own/1", false)); a.Status != 200 {
		t.Errorf("the first request: %d %s", a.Status, a.Body)
	}
	a := e2e.Ask(t.Context(), g.Base, key.Key, e2e.Prompt("keychain-high", false))
	a.Refused(t, 402, "insufficient_quota")
	if a.Header.Get("Retry-After") == "" {
		t.Errorf("headers: %v", a.Header)
	}
	kim.Call("PUT", "/keychain-keys/"+key.ID, `{"budgets":{}}`, 200)
	e2e.Eventually(t, e2e.WaitLimit, "the key without a budget is served", func() error {
		if a := e2e.Ask(t.Context(), g.Base, key.Key, e2e.Prompt("keychain-high", false)); a.Status != 200 {
			return fmt.Errorf("status %d: %s", a.Status, a.Body)
		}
		return nil
	})
}
