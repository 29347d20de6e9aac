package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"

	"github.com/tollgate-gateway/tollgate/backends/gateway/management"
)

// documented calls an API and holds every exchange against the OpenAPI document
// that the API serves.
type documented struct {
	t     *testing.T
	base  string
	token string
	check validator.Validator
}

func newDocumented(t *testing.T, base string) *documented {
	t.Helper()
	text := get(t, http.DefaultClient, base+"/openapi.json", "").body
	document, err := libopenapi.NewDocument([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	check, errs := validator.NewValidator(document)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if ok, errs := check.ValidateDocument(); !ok {
		for _, e := range errs {
			t.Errorf("document: %s %s %v", e.Message, e.Reason, e.SchemaValidationErrors)
		}
	}
	return &documented{t: t, base: base, check: check}
}

func (d *documented) as(token string) *documented {
	other := *d
	other.token = token
	return &other
}

// call sends a request, wants a status, and checks that the answer is as the
// document says; so must the request be, where it is not refused.
func (d *documented) call(method, path, body string, status int) *answer {
	d.t.Helper()
	build := func() *http.Request {
		r, err := http.NewRequestWithContext(d.t.Context(), method, d.base+path, strings.NewReader(body))
		if err != nil {
			d.t.Fatal(err)
		}
		if body == "" {
			r.Body, r.ContentLength = http.NoBody, 0
		} else {
			r.Header.Set("Content-Type", "application/json")
		}
		if d.token != "" {
			r.Header.Set("Authorization", "Bearer "+d.token)
		}
		return r
	}
	resp, err := http.DefaultClient.Do(build()) //nolint:bodyclose // read does
	a := read(resp, err)
	if a.err != nil {
		d.t.Fatal(a.err)
	}
	if a.status != status {
		d.t.Errorf("%s %s %s: status %d, want %d: %.500s", method, path, body, a.status, status, a.body)
		return a
	}
	resp.Body = io.NopCloser(strings.NewReader(a.body))
	if ok, errs := d.check.ValidateHttpResponse(build(), resp); !ok {
		for _, e := range errs {
			d.t.Errorf("%s %s answered %d %.600s\nagainst the document: %s: %s %v", method, path, a.status, a.body, e.Message, e.Reason, e.SchemaValidationErrors)
		}
	}
	if status < 400 {
		if ok, errs := d.check.ValidateHttpRequest(build()); !ok {
			for _, e := range errs {
				d.t.Errorf("%s %s %s is accepted, against the document: %s: %s %v", method, path, body, e.Message, e.Reason, e.SchemaValidationErrors)
			}
		}
	}
	return a
}

func (d *documented) value(a *answer, into any) {
	d.t.Helper()
	if err := json.Unmarshal([]byte(a.body), into); err != nil {
		d.t.Fatalf("%v: %s", err, a.body)
	}
}

// TestManagement walks through the life of a user of the management API.
func TestManagement(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	g := newGateway(t, "")
	token := func(user string) string { return strings.TrimSpace(g.tool("keychain", "token", user)) }
	guest := newDocumented(t, g.base)
	mia := guest.as(token("mia"))

	for _, path := range []string{"/health", "/providers", "/models", "/openapi.json"} {
		guest.call("GET", path, "", 200)
	}
	for path, want := range map[string]string{
		"/docs": "swagger-ui-bundle.js", "/redoc": "<redoc", "/docs/swagger-ui-bundle.js": "SwaggerUIBundle", "/docs/swagger-ui.css": ".swagger-ui",
		"/docs/redoc.js": "Redoc", "/docs/docs.js": "openapi.json", "/docs/redoc-page.js": "prefers-color-scheme",
	} {
		if a := get(t, http.DefaultClient, g.base+path, ""); a.status != 200 || !strings.Contains(a.body, want) || strings.Contains(a.body, `src="http`) {
			t.Errorf("%s: status %d, %d bytes", path, a.status, len(a.body))
		}
	}
	get(t, http.DefaultClient, g.base+"/docs/nothing.js", "").refused(t, 404, "not_found")

	// A user and gateway keys.
	var user struct{ Key struct{ Key, ID string } }
	mia.value(mia.call("POST", "/users/init", "", 201), &user)
	mia.call("POST", "/users/init", "", 200)
	for body, status := range map[string]int{
		"": 201, `{}`: 201, `{"label":"ci","rate_limit_per_minute":7,"expires_at":"2200-01-01T00:00:00Z","allowed_models":["own/*"],"budgets":{"usd_per_day":1.5,"tokens_per_month":1000},"effort_mode":"model_wins"}`: 201,
		`{"rate_limit_per_minute":0}`: 400, `{"rate_limit_per_minute":"7"}`: 400, `{"lable":"x"}`: 400, `[]`: 400, `{"label":"` + strings.Repeat("x", 101) + `"}`: 400,
		`{"expires_at":"2001-01-01T00:00:00Z"}`: 400, `{"budgets":{"usd_per_day":0}}`: 400, `{"effort_mode":"x"}`: 400, `{"label":"x"`: 400, `{} {}`: 400,
		strings.Repeat("[", 100): 400, `{"label":"` + strings.Repeat("x", 1<<20) + `"}`: 413,
	} {
		mia.call("POST", "/users/mia/keychain-keys", body, status)
	}
	var keys struct {
		Keys []struct{ ID, Label, Masked, Status string }
	}
	list := mia.call("GET", "/users/mia/keychain-keys", "", 200)
	mia.value(list, &keys)
	if len(keys.Keys) != 4 || strings.Contains(list.body, user.Key.Key) {
		t.Errorf("keys: %s", list.body)
	}
	key := "/keychain-keys/" + keys.Keys[1].ID
	mia.call("PUT", key, `{"label":"renamed","rate_limit_per_minute":3}`, 200)
	mia.call("PUT", key, `{"clear_rate_limit":true,"clear_expiry":true,"allowed_models":null,"budgets":{}}`, 200)
	mia.call("PUT", key, `{"allowed_models":[]}`, 400)
	mia.call("PUT", key, `{"clear_rate_limit":true,"rate_limit_per_minute":3}`, 400)
	mia.call("PUT", key, ``, 400)
	mia.call("PUT", "/keychain-keys/gk_none", `{"label":"x"}`, 404)
	mia.call("PUT", "/keychain-keys/%00%ff", `{"label":"x"}`, 404)
	mia.call("DELETE", key, "", 204)
	mia.call("DELETE", key, "", 204)
	mia.call("PUT", key, `{"label":"x"}`, 409)
	var fresh struct{ Key string }
	mia.value(mia.call("POST", "/users/mia/regenerate-key", "", 201), &fresh)
	if a := ask(t.Context(), g.base, user.Key.Key, prompt("keychain-high", false)); a.status != 401 {
		t.Errorf("the key before regenerate-key: %d", a.status)
	}

	// Provider keys, models, preferences.
	var stored struct{ ID string }
	mia.value(mia.call("POST", "/users/mia/keys", `{"provider":"openai","api_key":"sk-000000000000000000000000000000000000000000001","key_label":"main"}`, 201), &stored)
	for _, body := range []string{`{"provider":"teapot","api_key":"sk-1"}`, `{"provider":"openai","api_key":""}`, `{"provider":"openai","api_key":"a b"}`, `{"provider":"openai"}`, ``} {
		mia.call("POST", "/users/mia/keys", body, 400)
	}
	if a := mia.call("GET", "/users/mia/keys", "", 200); strings.Contains(a.body, "00000000000000000000000000000") {
		t.Errorf("a provider key is shown: %s", a.body)
	}
	own := fmt.Sprintf(`{"model_entry":"own/one","base_url":%q,"model":%q,"tier":"high","priority":-5}`, up.base(), script("text", "Hello there"))
	mia.call("POST", "/users/mia/models", own, 201)
	mia.call("POST", "/users/mia/models", own, 409)
	mia.call("POST", "/users/mia/models", fmt.Sprintf(`{"model_entry":"own/bad","base_url":%q,"model":%q,"tier":"high","priority":-9}`, up.base(), script("fault", "500")), 201)
	mia.call("POST", "/users/mia/models", strings.Replace(own, `"high"`, `"huge"`, 1), 400)
	mia.call("POST", "/users/mia/models", strings.Replace(own, "http:", "ftp:", 1), 400)
	var models struct {
		Models []struct {
			ID       string
			Entry    string `json:"model_entry"`
			Provider string
		}
	}
	mia.value(mia.call("GET", "/users/mia/models", "", 200), &models)
	ids := make(map[string]string)
	catalogued := ""
	for _, m := range models.Models {
		ids[m.Entry] = m.ID
		if m.Provider == "openai" && catalogued == "" {
			catalogued = m.Entry
		}
	}
	mia.call("PUT", "/users/mia/models/"+ids["own/one"], `{"priority":-1}`, 200)
	// A name may be sent with its slash as it is, which no path of a document can say.
	if a := do(t, http.DefaultClient, "PUT", g.base+"/users/mia/models/own/one", mia.token, `{"enabled":true}`); a.status != 200 {
		t.Errorf("a name with a slash: %d %s", a.status, a.body)
	}
	catalogued = url.PathEscape(catalogued)
	mia.call("PUT", "/users/mia/models/own%2Fone", `{"enabled":true}`, 200)
	mia.call("PUT", "/users/mia/models/"+catalogued, `{"enabled":false}`, 200)
	mia.call("PUT", "/users/mia/models/own%2Fnone", `{"enabled":false}`, 404)
	mia.call("PUT", "/users/mia/models/own%2Fone", `{"priority":10000000}`, 400)
	mia.call("DELETE", "/users/mia/models/"+catalogued, "", 204)
	mia.call("DELETE", "/users/mia/models/"+catalogued, "", 404)
	mia.call("GET", "/users/mia/preferences", "", 200)
	mia.call("PUT", "/users/mia/preferences", `{"preferred_providers":["groq"],"excluded_providers":["openai"],"excluded_models":[]}`, 200)
	mia.call("PUT", "/users/mia/preferences", `{"preferred_providers":["teapot"]}`, 400)
	mia.call("PUT", "/users/mia/preferences", `{"excluded_models":["own/none"]}`, 400)

	// Where a request goes, and that it does.
	var route struct {
		Tier       string
		Candidates []struct {
			Entry string `json:"model_entry"`
		}
		Skipped []struct {
			Entry, Reason string
		}
	}
	dry := mia.call("POST", "/users/mia/route", `{"model":"keychain-high"}`, 200)
	mia.value(dry, &route)
	if len(route.Candidates) != 2 || route.Candidates[0].Entry != "own/bad" || route.Candidates[1].Entry != "own/one" || route.Tier != "high" || !strings.Contains(dry.body, "provider_excluded") {
		t.Errorf("route: %s", dry.body)
	}
	mia.call("POST", "/users/mia/route", `{"model":"own/one","key_id":"gk_none"}`, 404)
	mia.call("POST", "/users/mia/route", `{"model":"no such model"}`, 200)
	mia.call("POST", "/users/mia/route", `{"surface":"messages","request":{"model":"vendor-opus-4-6","max_tokens":5,"messages":[{"role":"user","content":"Hi"}]}}`, 200)
	mia.call("POST", "/users/mia/route", `{"surface":"responses","request":{"model":"keychain-low","input":"Hi"}}`, 200)
	mia.call("POST", "/users/mia/route", `{"surface":"messages","request":{"model":"vendor-opus-4-6"}}`, 400)
	mia.call("POST", "/users/mia/route", `{"surface":"telex","request":{}}`, 400)
	mia.call("POST", "/users/mia/route", `{}`, 400)
	a := ask(t.Context(), g.base, fresh.Key, prompt("keychain-high", true))
	if text, _ := streamed(t, a.body); text != "Hello there" {
		t.Errorf("answer %d %s", a.status, a.body)
	}
	g.awaitUsage(a.header.Get("X-Request-Id"))

	// What is seen of it.
	var health struct {
		Providers []struct {
			Name, Status string
			LastDay      int `json:"requests_last_day"`
		}
	}
	seen := mia.call("GET", "/users/mia/providers/health", "", 200)
	mia.value(seen, &health)
	status := make(map[string]string)
	for _, p := range health.Providers {
		status[p.Name] = fmt.Sprint(p.Status, " ", p.LastDay)
	}
	if status["own/one"] != "active 1" || status["OpenAI"] != "untested 0" || !strings.HasSuffix(status["own/bad"], " 1") {
		t.Errorf("health: %s", seen.body)
	}
	var report struct {
		Totals struct{ Requests, Succeeded int }
	}
	usage := mia.call("GET", "/users/mia/usage?group=provider,model,day,hour,key,tier", "", 200)
	mia.value(usage, &report)
	if report.Totals.Requests != 1 || report.Totals.Succeeded != 1 {
		t.Errorf("usage: %s", usage.body)
	}
	for _, query := range []string{"?from=2026-01-01&to=2026-01-02", "?from=2026-01-01T00:00:00%2B01:00&to=2026-01-02T00:00:00Z&group=hour"} {
		mia.call("GET", "/users/mia/usage"+query, "", 200)
	}
	for _, query := range []string{"?from=x", "?group=x", "?from=2026-01-02&to=2026-01-01", "?format=xml", "?format=csv&group=day,key", "?from=2000-01-01"} {
		mia.call("GET", "/users/mia/usage"+query, "", 400)
	}
	recent := mia.call("GET", "/users/mia/usage/recent?limit=1", "", 200)
	if !strings.Contains(recent.body, `"attempt_count":2`) || strings.Count(recent.body, `"latency_ms"`) != 3 {
		t.Errorf("recent: %s", recent.body)
	}
	for _, query := range []string{"?limit=0", "?limit=501", "?limit=x", "?cursor=x", "?cursor=%00"} {
		mia.call("GET", "/users/mia/usage/recent"+query, "", 400)
	}
	for path, want := range map[string]string{"/usage?format=csv": "provider,model,day", "/usage/recent?format=csv": "at,request_id"} {
		a := get(t, http.DefaultClient, g.base+"/users/mia"+path, mia.token)
		if !strings.HasPrefix(a.body, want) || strings.Count(a.body, "\r\n") != 2 || !strings.Contains(a.header.Get("Content-Disposition"), "attachment") {
			t.Errorf("%s: %q", path, a.body)
		}
	}

	// A key that is tried.
	var probe struct {
		OK     bool
		Status string
	}
	tried := mia.call("POST", "/users/mia/keys/"+ids["own/one"]+"/test", "", 200)
	mia.value(tried, &probe)
	if !probe.OK || probe.Status != "active" {
		t.Errorf("test: %s", tried.body)
	}
	mia.value(mia.call("POST", "/users/mia/keys/"+ids["own/bad"]+"/test", "", 200), &probe)
	if probe.OK {
		t.Error("a broken server passes the test")
	}
	mia.call("POST", "/users/mia/keys/pk_none/test", "", 404)

	// What another user, and nobody, can do with it: nothing.
	bob := guest.as(token("bob"))
	bob.call("POST", "/users/init", "", 201)
	stranger := guest.as(fresh.Key) // a gateway key is no user token
	for _, route := range new(management.Service).Routes() {
		if route.Guest || route.Path == "/users/init" {
			continue
		}
		path := strings.NewReplacer("{user_id}", "mia", "{model_id...}", "own%2Fone", "keys/{key_id}", "keys/"+stored.ID).Replace(route.Path)
		want := 403
		if !strings.HasPrefix(path, "/users/") {
			path, want = "/keychain-keys/"+keys.Keys[0].ID, 404
		}
		body := ""
		if route.Body != "" {
			body = "{}"
		}
		bob.call(route.Method, path, body, want)
		guest.call(route.Method, path, body, 401)
		stranger.call(route.Method, path, body, 401)
		if a := do(t, http.DefaultClient, "PATCH", g.base+path, mia.token, body); a.status != 405 || a.header.Get("Allow") == "" {
			t.Errorf("PATCH %s: %d %v", path, a.status, a.header)
		}
	}
	mia.call("DELETE", "/users/mia/keys/"+stored.ID, "", 204)
	mia.call("DELETE", "/users/mia/keys/"+stored.ID, "", 404)
	mia.call("DELETE", "/users/mia/models/own%2Fbad", "", 204)
	guest.as("ak-nonsense").call("GET", "/users/mia/keys", "", 401)
	guest.as(strings.TrimSuffix(mia.token, mia.token[len(mia.token)-4:])+"AAAA").call("GET", "/users/mia/keys", "", 401)
}

// TestKeyBudget spends a key's tokens.
func TestKeyBudget(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	g := newGateway(t, "")
	g.user("kim", up, script("text", "one two three"), script("text", "four"))
	kim := newDocumented(t, g.base).as(strings.TrimSpace(g.tool("keychain", "token", "kim")))
	var key struct{ ID, Key string }
	kim.value(kim.call("POST", "/users/kim/keychain-keys", `{"budgets":{"tokens_per_day":1},"allowed_models":["own/1"]}`, 201), &key)
	if a := ask(t.Context(), g.base, key.Key, prompt("own/2", false)); a.status != 403 || !strings.Contains(a.body, "permission_denied") {
		t.Errorf("a model that is not allowed: %d %s", a.status, a.body)
	}
	if a := get(t, http.DefaultClient, g.base+"/v1/models", key.Key); !strings.Contains(a.body, "own/1") || strings.Contains(a.body, "own/2") {
		t.Errorf("models of the key: %s", a.body)
	}
	if a := ask(t.Context(), g.base, key.Key, prompt("own/1", false)); a.status != 200 {
		t.Errorf("the first request: %d %s", a.status, a.body)
	}
	a := ask(t.Context(), g.base, key.Key, prompt("keychain-high", false))
	a.refused(t, 402, "insufficient_quota")
	if a.header.Get("Retry-After") == "" {
		t.Errorf("headers: %v", a.header)
	}
	kim.call("PUT", "/keychain-keys/"+key.ID, `{"budgets":{}}`, 200)
	eventually(t, waitLimit, "the key without a budget is served", func() error {
		if a := ask(t.Context(), g.base, key.Key, prompt("keychain-high", false)); a.status != 200 {
			return fmt.Errorf("status %d: %s", a.status, a.body)
		}
		return nil
	})
}
