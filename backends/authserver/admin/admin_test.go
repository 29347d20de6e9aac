package admin_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/config"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
)

const (
	key    = "0123456789abcdef0123456789abcdef"
	master = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
)

// api is the administration API of a server under test.
type api struct {
	*authserver.Server
	t     *testing.T
	clock *authtest.Clock
}

func newAPI(t *testing.T, k authtest.Kernel, text string, env map[string]string) *api {
	t.Helper()
	folder := t.TempDir()
	cfg, err := config.Parse([]byte("admin: {api_key: '"+key+"'}\n"+text), func(name string) (string, bool) {
		if name == "AUTHSERVER_SIGNING_KEY_PATH" {
			return folder, true
		}
		value, ok := env[name]
		return value, ok
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := authserver.New(authserver.Options{Passwords: authtest.Quick, Config: cfg, DB: k.DB, Counters: k.Counters, Key: []byte(key), Now: k.Clock.Now, Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &api{s, t, k.Clock}
}

// do sends a request to the administration API and returns the JSON object of the response, if there is one.
func (a *api) do(method, path, body string, status int) map[string]any {
	a.t.Helper()
	build := func() *http.Request {
		r := httptest.NewRequest(method, "/admin"+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+key)
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		return r
	}
	reply := a.send(a.Admin(), build(), status)
	if status < 400 {
		a.checkRequest(build())
	}
	return reply
}

func (a *api) send(h http.Handler, r *http.Request, status int) map[string]any {
	a.t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	a.checkDocumented(r, w)
	var reply map[string]any
	if w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil {
			a.t.Fatalf("%s %s: %s", r.Method, r.URL, w.Body)
		}
	}
	if w.Code != status {
		a.t.Fatalf("%s %s: %d %s, want %d", r.Method, r.URL, w.Code, w.Body, status)
	}
	kind, want := w.Header().Get("Content-Type"), "application/json"
	if status >= 400 {
		want = "application/problem+json"
		if reply["type"] != "about:blank" || reply["status"] != float64(status) || reply["title"] != http.StatusText(status) || reply["detail"] == "" || len(reply) != 4 {
			a.t.Errorf("%s %s: %s", r.Method, r.URL, w.Body)
		}
	}
	if h == a.Admin() && (w.Body.Len() > 0 && kind != want || w.Header().Get("Cache-Control") != "no-store") {
		a.t.Errorf("%s %s: %v", r.Method, r.URL, w.Header())
	}
	return reply
}

// token gets an access token for a client.
func (a *api) token(id, secret string, status int) string {
	a.t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/oauth/token", strings.NewReader("grant_type=client_credentials"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(id, secret)
	w := httptest.NewRecorder()
	if a.Public().ServeHTTP(w, r); w.Code != status {
		a.t.Fatalf("%d %s", w.Code, w.Body)
	}
	var reply struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil {
		a.t.Fatal(err)
	}
	return reply.Token
}

func (a *api) active(id, secret, token string) bool {
	a.t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/oauth/introspect", strings.NewReader("token="+token))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(id, secret)
	active, _ := a.send(a.Public(), r, http.StatusOK)["active"].(bool)
	return active
}

func TestClients(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		a := newAPI(t, k, "", nil)
		resp := a.do("POST", "/clients", `{"client_name":"M","grant_types":["client_credentials"],"scope":"read write"}`, 201)
		id, secret := resp["client_id"].(string), resp["client_secret"].(string)
		if id == "" || resp["id"] != nil || resp["client_name"] != "M" || resp["scope"] != "read write" || resp["status"] != "active" || resp["registration_source"] != "admin" || resp["issued_at"] == "" {
			t.Errorf("%v", resp)
		}
		own := a.do("POST", "/clients", `{"client_name":"Own","redirect_uris":["https://c.example/cb"],"first_party":true}`, 201)
		clientPath := "/clients/" + own["client_id"].(string)
		if own["first_party"] != true || resp["first_party"] != false || a.do("GET", clientPath, "", 200)["first_party"] != true || a.do("PATCH", clientPath, `{"first_party":false}`, 200)["first_party"] != false {
			t.Errorf("%v", own)
		}
		a.do("DELETE", clientPath, "", 204)
		a.do("POST", "/clients", `{"client_name":"x","grant_types":["password"]}`, 400)
		a.do("POST", "/clients", `{"name":"x"}`, 400)
		a.do("POST", "/clients", `{"redirect_uris":["https://c.example/#x"]}`, 400)
		obj := a.do("GET", "/clients/"+id, "", 200)
		if obj["client_secret"] != nil || obj["scope"] != "read write" || obj["token_endpoint_auth_method"] != "client_secret_basic" || obj["agent"] != false {
			t.Errorf("%v", obj)
		}
		if got := a.do("GET", "/clients?status=active&source=admin&limit=1", "", 200); len(got["clients"].([]any)) != 1 || got["has_more"] != false || got["limit"] != float64(1) {
			t.Errorf("%v", got)
		}
		if got := a.do("GET", "/clients?q=m", "", 200)["clients"].([]any); len(got) != 1 {
			t.Errorf("%v", got)
		}
		if got := a.do("GET", "/clients?agent=true", "", 200)["clients"].([]any); len(got) != 0 {
			t.Errorf("%v", got)
		}
		for _, bad := range []string{"q=" + strings.Repeat("x", 201), "limit=0", "limit=1001", "limit=x", "offset=-1", "offset=100001", "status=x", "source=x", "agent=x"} {
			a.do("GET", "/clients?"+bad, "", 400)
		}
		obj = a.do("PATCH", "/clients/"+id, `{"client_name":"N","scope":"read"}`, 200)
		if obj["client_name"] != nil || obj["name"] != "N" || obj["scope"] != "read" || len(obj["grant_types"].([]any)) != 1 {
			t.Errorf("%v", obj)
		}
		a.do("PATCH", "/clients/"+id, `{"grant_types":["authorization_code"]}`, 400) // without a redirect URI
		a.do("PATCH", "/clients/x", `{}`, 404)
		token := a.token(id, secret, 200)
		if !a.active(id, secret, token) {
			t.Error("the token is not active")
		}
		a.do("DELETE", "/clients/"+id, "", 409)
		if got := a.do("PATCH", "/clients/"+id+"/suspend", "", 200); got["status"] != "suspended" {
			t.Errorf("%v", got)
		}
		a.token(id, secret, 401)
		a.do("PATCH", "/clients/"+id+"/reactivate", "", 200)
		fresh := a.do("POST", "/clients/"+id+"/rotate-secret", "", 200)["client_secret"].(string)
		a.token(id, secret, 401)
		other := a.token(id, fresh, 200)

		// The list contains the client's tokens.
		list := a.do("GET", "/tokens?client="+id, "", 200)["tokens"].([]any)
		if len(list) != 2 {
			t.Fatalf("%v", list)
		}
		latest := list[0].(map[string]any)
		if latest["client_id"] != id || latest["revoked_at"] != nil || len(latest["scopes"].([]any)) != 1 {
			t.Errorf("%v", latest)
		}
		a.do("DELETE", "/tokens/"+latest["jti"].(string), "", 204)
		if a.active(id, fresh, other) || !a.active(id, fresh, token) {
			t.Error("the wrong token was revoked")
		}
		a.do("DELETE", "/tokens/x", "", 404)
		row := a.do("GET", "/issuances/"+latest["id"].(string), "", 200)
		if row["revoked_at"] == nil {
			t.Errorf("%v", row)
		}
		a.do("DELETE", "/issuances/"+list[1].(map[string]any)["id"].(string), "", 204)
		if a.active(id, fresh, token) {
			t.Error("the token is still active")
		}
		a.do("GET", "/issuances/0", "", 404)
		if got := a.do("GET", "/issuances?client="+id+"&since=2000-01-01", "", 200)["issuances"].([]any); len(got) != 2 {
			t.Errorf("%v", got)
		}
		a.token(id, fresh, 200)
		a.do("PATCH", "/clients/"+id+"/revoke", "", 200)
		a.do("PATCH", "/clients/"+id+"/reactivate", "", 409)
		if got := a.do("GET", "/tokens", "", 200)["tokens"].([]any); len(got) != 0 {
			t.Errorf("%v are still active", got)
		}
		a.do("DELETE", "/clients/"+id, "", 204)
		a.do("GET", "/clients/"+id, "", 404)
		resp = a.do("POST", "/clients", `{"client_name":"F","grant_types":["client_credentials"],"scope":"read"}`, 201)
		id = resp["client_id"].(string)
		a.token(id, resp["client_secret"].(string), 200)
		a.do("DELETE", "/clients/"+id+"?force=true", "", 204)
		public := a.do("POST", "/clients", `{"token_endpoint_auth_method":"none","redirect_uris":["https://c.example/"]}`, 201)
		if public["client_secret"] != nil {
			t.Errorf("%v", public)
		}
		a.do("POST", "/clients/"+public["client_id"].(string)+"/rotate-secret", "", 409)
	})
}

// TestDocumentClient checks that the scope of a client with a metadata document can be set.
func TestDocumentClient(t *testing.T) {
	t.Parallel()
	k := authtest.SQLite(t)
	a := newAPI(t, k, "", nil)
	if err := k.Write(t.Context(), func(c kernel.Conn) error {
		_, err := c.Exec("INSERT INTO authserver_clients (id, name, auth_method, redirects, grants, responses, status, source, issued_at, updated_at)" +
			" VALUES ('https://c.example/app', 'C', 'none', '[\"https://c.example/\"]', '[\"authorization_code\"]', '[\"code\"]', 'active', 'cimd', 1, 1)")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	const path = "/clients/https%3A%2F%2Fc.example%2Fapp"
	for _, body := range []string{`{"client_name":"D"}`, `{"redirect_uris":["https://evil.example/"]}`, `{"grant_types":["client_credentials"]}`} {
		a.do("PATCH", path, body, 409)
	}
	if got := a.do("PATCH", path, `{"scope":"read"}`, 200); got["scope"] != "read" || got["name"] != "C" || got["cimd_url"] != "https://c.example/app" {
		t.Errorf("%v", got)
	}
}

func TestUsersAndGrants(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		a := newAPI(t, k, "", nil)
		user := a.do("POST", "/users", `{"email":"ann@example.com","name":"Ann","password":"correct horse battery"}`, 201)
		id := user["id"].(string)
		if user["password"] != nil || user["role"] != "user" || user["status"] != "active" || user["provider"] != "local" || user["created_at"] == "" {
			t.Errorf("%v", user)
		}
		a.do("POST", "/users", `{"email":"ANN@example.com","password":"correct horse battery"}`, 409)
		if got := a.do("GET", "/users", "", 200)["users"].([]any); len(got) != 1 {
			t.Errorf("%v", got)
		}
		if got := a.do("PATCH", "/users/"+id, `{"role":"admin"}`, 200); got["role"] != "admin" || got["name"] != "Ann" {
			t.Errorf("%v", got)
		}
		if got := a.do("PATCH", "/users/"+id+"/disable", "", 200); got["status"] != "disabled" {
			t.Errorf("%v", got)
		}
		if got := a.do("PATCH", "/users/"+id+"/enable", "", 200); got["status"] != "active" {
			t.Errorf("%v", got)
		}
		if got := a.do("DELETE", "/users/"+id+"/tokens", "", 200); got["user_id"] != id || got["tokens_revoked"] != float64(0) {
			t.Errorf("%v", got)
		}
		if got := a.do("GET", "/users/"+id+"/grants", "", 200); len(got["consent_grants"].([]any)) != 0 || len(got["broker_grants"].([]any)) != 0 {
			t.Errorf("%v", got)
		}
		if got := a.do("GET", "/users/"+id+"/tokens", "", 200)["tokens"].([]any); len(got) != 0 {
			t.Errorf("%v", got)
		}
		a.do("DELETE", "/grants/consent/x", "", 404)
		a.do("DELETE", "/users/"+id, "", 204)
		a.do("GET", "/users/"+id, "", 404)
		a.do("GET", "/users/"+id+"/grants", "", 404)
		a.do("DELETE", "/users/"+id+"/tokens", "", 404)
	})
}

func TestResources(t *testing.T) {
	t.Parallel()
	a := newAPI(t, authtest.SQLite(t), "", nil)
	resource := a.do("POST", "/resources", `{"slug":"mail","uri":"https://api.example/mail","backend_kind":"mint","display_name":"Mail","scopes":[{"name":"read","description":"Read"}]}`, 201)
	id := resource["id"].(string)
	if resource["created_at"] == "" || len(resource["scopes"].([]any)) != 1 {
		t.Errorf("%v", resource)
	}
	a.do("POST", "/resources", `{"slug":"mail","uri":"https://api.example/other"}`, 409)
	a.do("POST", "/resources", `{"slug":"other","uri":"https://api.example/mail"}`, 409)
	a.do("POST", "/resources", `{"slug":"other"}`, 400)
	for _, name := range []string{id, "mail"} {
		if got := a.do("GET", "/resources/"+name, "", 200); got["id"] != id {
			t.Errorf("%v", got)
		}
	}
	if got := a.do("PATCH", "/resources/mail", `{"display_name":"Post"}`, 200); got["display_name"] != "Post" || got["uri"] != "https://api.example/mail" {
		t.Errorf("%v", got)
	}
	for path, test := range map[string][3]string{
		"exchange/allowed-clients":    {`{"client_id":"c1"}`, "/c1", "allowed_client_ids"},
		"runtime/client-ids":          {`{"client_id":"c1"}`, "/c1", "client_ids"},
		"connect/allowed-return-urls": {`{"url":"https://c.example/x"}`, "?url=https://c.example/x", "allowed_return_urls"},
	} {
		path = "/resources/mail/policy/" + path
		a.do("POST", path, test[0], 201)
		a.do("POST", path, test[0], 201) // creates it once
		a.do("POST", path, `{}`, 400)
		if got := a.do("GET", path, "", 200)[test[2]].([]any); len(got) != 1 {
			t.Errorf("%s: %v", path, got)
		}
		a.do("DELETE", path+test[1], "", 204)
		a.do("DELETE", path+test[1], "", 404)
		if got := a.do("GET", path, "", 200)[test[2]].([]any); len(got) != 0 {
			t.Errorf("%s: %v", path, got)
		}
	}
	a.do("GET", "/resources/https%3A%2F%2Fapi.example%2Fmail", "", 404) // only ids and slugs are accepted
	a.do("POST", "/resources/mail/policy/runtime/client-ids", `{"client_id":"c","url":"https://c.example/"}`, 400)
	a.do("PATCH", "/resources/mail", `{"policy":{"runtime":{"client_ids":["c"`+strings.Repeat(`,"c"`, 999)+`]}}}`, 200)
	a.do("POST", "/resources/mail/policy/runtime/client-ids", `{"client_id":"d"}`, 422)

	a.do("POST", "/broker-providers", `{"slug":"keys","display_name":"Keys","protocol":"api_key"}`, 201)
	a.do("PATCH", "/broker-providers/keys", `{"display_name":"X","protocol":"oauth"}`, 400)
	if got := a.do("PATCH", "/broker-providers/keys", `{"protocol":"api_key"}`, 200); got["display_name"] != "Keys" {
		t.Errorf("a change that was refused is stored: %v", got)
	}
	if got := a.do("GET", "/resources?offset=5", "", 200); len(got["resources"].([]any)) != 0 {
		t.Errorf("%v", got)
	}
	a.do("DELETE", "/resources/mail", "", 204)
	a.do("GET", "/resources/"+id, "", 404)
}

func TestSystem(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		a := newAPI(t, k, "signing: {key_store: postgres_key}\ndata_encryption: {driver: aes_master, aes_master: {key_env: MASTER}}\n"+
			"storage: {driver: postgres, postgres: {dsn: 'postgres://x'}}", map[string]string{"MASTER": master})
		if got := a.do("POST", "/auth/verify", "", 200); got["valid"] != true || got["version"] != "v1" {
			t.Errorf("%v", got)
		}
		first := a.do("GET", "/keys", "", 200)["keys"].([]any)
		if len(first) != 1 || first[0].(map[string]any)["status"] != "active" || first[0].(map[string]any)["use"] != "sig" {
			t.Errorf("%v", first)
		}
		newKey := a.do("POST", "/keys/rotate", "", 200)
		pair := a.do("GET", "/keys", "", 200)["keys"].([]any)
		if len(pair) != 2 || pair[0].(map[string]any)["kid"] != newKey["kid"] || pair[1].(map[string]any)["status"] != "rotated" || newKey["alg"] != "ES256" {
			t.Errorf("%v", pair)
		}
		if now, old := pair[0].(map[string]any), pair[1].(map[string]any); now["signs"] != true || old["signs"] != false || now["rotated_at"] != nil ||
			now["accepted_until"] != nil || old["rotated_at"] != now["created_at"] || old["accepted_until"] == nil {
			t.Errorf("%v", pair)
		}
		if got := a.do("POST", "/encryption/re-encrypt", "", 200); got["scanned"] != float64(2) || got["rewritten"] != float64(0) || got["failed"] != float64(0) {
			t.Errorf("%v", got)
		}
		if got := a.do("GET", "/settings/dcr", "", 200); got["mode"] != "open" {
			t.Errorf("%v", got)
		}
		if got := a.do("PATCH", "/settings/dcr", `{"mode":"admin_only"}`, 200); got["mode"] != "admin_only" {
			t.Errorf("%v", got)
		}
		a.do("PATCH", "/settings/dcr", `{"mode":"x"}`, 400)
		if got := a.do("GET", "/stats", "", 200); got["clients"] != float64(0) || got["users"] != float64(0) {
			t.Errorf("%v", got)
		}
		if got := a.do("GET", "/system/status", "", 200); got["version"] != "v1" || got["subsystems"].(map[string]any)["db"] != "ok" {
			t.Errorf("%v", got)
		}
		config := a.do("GET", "/system/config", "", 200)["config"].(map[string]any)
		if config["signing.algorithm"] != "ES256" || strings.Contains(mustJSON(t, config), key) || strings.Contains(mustJSON(t, config), master) {
			t.Errorf("%v", config)
		}
		if got := a.do("GET", "/notices", "", 200)["notices"].([]any); len(got) == 0 {
			t.Error("no notices")
		}

		// The audit feed can be filtered by action and time.
		feed := a.do("GET", "/audit", "", 200)
		events := feed["events"].([]any)
		if len(events) != 3 || events[0].(map[string]any)["action"] != "dcr.mode_updated" || events[0].(map[string]any)["detail"] != "mode=admin_only" || feed["has_more"] != false || feed["until"] == "" {
			t.Errorf("%v", feed)
		}
		if got := a.do("GET", "/audit?action=key.&limit=1&offset=0", "", 200)["events"].([]any); len(got) != 1 {
			t.Errorf("%v", got)
		}
		timestamp := func(d time.Duration) string { return k.Clock.Now().Add(d).UTC().Format(time.RFC3339) }
		a.do("GET", "/audit?since="+timestamp(-720*time.Hour), "", 200)
		a.do("GET", "/audit?since="+timestamp(-721*time.Hour), "", 400)
		a.do("GET", "/audit?since="+timestamp(-time.Hour)+"&until="+timestamp(-2*time.Hour), "", 400)
		a.do("GET", "/audit?since=yesterday", "", 400)
		a.do("GET", "/audit?until="+timestamp(-25*time.Hour), "", 400) // before the default of since
	})
}

func mustJSON(tb testing.TB, v any) string {
	tb.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// TestRoutesNeedKey checks that no route can be used without the right key.
func TestRoutesNeedKey(t *testing.T) {
	t.Parallel()
	a := newAPI(t, authtest.SQLite(t), "", nil)
	for _, route := range [][2]string{{"GET", "/clients"}, {"POST", "/users"}, {"POST", "/keys/rotate"}, {"GET", "/audit"}, {"POST", "/auth/verify"}, {"DELETE", "/resources/x"}} {
		for _, auth := range []string{"", "Bearer x", "Bearer " + key + "x", "Basic " + key, "Bearer"} {
			r := httptest.NewRequest(route[0], "/admin"+route[1], nil)
			r.Header.Set("Authorization", auth)
			w := httptest.NewRecorder()
			if a.Admin().ServeHTTP(w, r); w.Code != http.StatusUnauthorized || w.Header().Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%v with %q: %d %s", route, auth, w.Code, w.Body)
			}
		}
	}
	if got := a.do("GET", "/audit?action=admin.auth_failed", "", 200)["events"].([]any); len(got) != 30 {
		t.Errorf("%d events", len(got))
	}
	// Many unauthorized requests do not fill the database with events.
	for range 200 {
		r := httptest.NewRequest("GET", "/admin/clients", nil)
		w := httptest.NewRecorder()
		if a.Admin().ServeHTTP(w, r); w.Code != http.StatusUnauthorized {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	if got := a.do("GET", "/audit?action=admin.auth_failed&limit=1000", "", 200)["events"].([]any); len(got) != 100 {
		t.Errorf("%d events", len(got))
	}
	a.clock.Pass(2 * time.Second)
	for _, address := range []string{"192.0.2.1:1", "192.0.2.1:2", "192.0.2.1:3", "198.51.100.1:1"} {
		r := httptest.NewRequest("GET", "/admin/clients", nil)
		r.RemoteAddr = address
		a.Admin().ServeHTTP(httptest.NewRecorder(), r)
	}
	if got := a.do("GET", "/audit?action=admin.auth_failed&limit=1000", "", 200)["events"].([]any); len(got) != 103 {
		t.Errorf("%d events", len(got))
	}
	a.do("GET", "/nothing", "", 404)
	a.do("DELETE", "/audit", "", 405)
}

// TestAdminLimit checks that the requests of an address to the administration API are rate limited.
func TestAdminLimit(t *testing.T) {
	t.Parallel()
	k := authtest.SQLite(t)
	cfg, err := config.Parse([]byte("admin: {requests_per_second: 1, burst: 2}"), func(name string) (string, bool) {
		if name == "AUTHSERVER_SIGNING_KEY_PATH" {
			return t.TempDir(), true
		}
		return "", false
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := authserver.New(authserver.Options{Passwords: authtest.Quick, Config: cfg, DB: k.DB, Counters: k.Counters, Key: []byte(key), Now: k.Clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	for i, want := range []int{200, 200, 429} { // no key is configured
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "http://localhost:9001/admin/stats", nil)
		r.RemoteAddr = "127.0.0.1:1234"
		if s.Admin().ServeHTTP(w, r); w.Code != want || want == 429 && w.Header().Get("Retry-After") != "1" {
			t.Errorf("request %d: %d %s", i, w.Code, w.Body)
		}
	}
}

// TestForeignPagesWithoutKey checks which requests of web pages of other sites a server without a key refuses.
func TestForeignPagesWithoutKey(t *testing.T) {
	t.Parallel()
	k, folder := authtest.SQLite(t), t.TempDir()
	cfg, err := config.Parse([]byte("server: {issuer: 'http://localhost:9000'}\n"), func(name string) (string, bool) {
		if name == "AUTHSERVER_SIGNING_KEY_PATH" {
			return folder, true
		}
		return "", false
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := authserver.New(authserver.Options{Passwords: authtest.Quick, Config: cfg, DB: k.DB, Counters: k.Counters, Key: []byte(key), Now: k.Clock.Now, Version: "v1", Address: func(r *http.Request) string { return cmp.Or(r.Header.Get("Test-Client"), "127.0.0.1") }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	a := &api{s, t, k.Clock}
	for name, status := range map[string]int{
		"Test-Client": http.StatusForbidden, "": http.StatusOK, "Sec-Fetch-Site": http.StatusForbidden, "Origin": http.StatusForbidden, "Host": http.StatusForbidden,
		"X-Forwarded-For": http.StatusForbidden, "X-Forwarded-Proto": http.StatusForbidden, "Via": http.StatusForbidden, "Forwarded": http.StatusForbidden, "elsewhere": http.StatusForbidden,
	} {
		r := httptest.NewRequest(http.MethodPost, "http://localhost:9001/admin/keys/rotate", nil)
		r.RemoteAddr = "[::1]:1234"
		switch name {
		case "":
		case "elsewhere":
			r.RemoteAddr = "192.0.2.1:1234"
		case "Host":
			r.Host = "evil.example:9001" // a name that resolves to this machine
		default:
			r.Header.Set(name, map[string]string{"X-Forwarded-For": "127.0.0.1", "Test-Client": "192.0.2.1", "Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}[name])
		}
		a.send(a.Admin(), r, status)
	}
}

// TestInvitations checks that the response contains the invitation link only if the server sends no mails.
func TestInvitations(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		a := newAPI(t, k, "", nil)
		user := a.do("POST", "/users/invite", `{"email":"ann@example.com","name":"Ann"}`, 201)
		if link, _ := user["invitation_link"].(string); user["status"] != "pending" || !strings.Contains(link, "/choose-password?link=") {
			t.Errorf("%v", user)
		}
		a.do("POST", "/users", `{"email":"bob@example.com","password":"correct horse battery"}`, 201)
		a.do("POST", "/users/invite", `{"email":"bob@example.com"}`, 409)
		a.do("POST", "/users/invite", `{"email":"no address"}`, 422)

		mails := newAPI(t, k, "mail: {url: 'smtp://127.0.0.1:9', from: a@example.com}", nil)
		if user := mails.do("POST", "/users/invite", `{"email":"eve@example.com"}`, 201); user["invitation_link"] != nil {
			t.Errorf("%v", user)
		}
	})
}

// TestClientsWithTheirOwnSecrets checks that a client can keep its id and its secret from another server.
func TestClientsWithTheirOwnSecrets(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		a := newAPI(t, k, "", nil)
		const secret = "the secret of before"
		body := `{"client_id":"shop","client_secret":"` + secret + `","grant_types":["client_credentials"],"token_endpoint_auth_method":"client_secret_basic","scope":"openid"}`
		client := a.do("POST", "/clients", body, 201)
		if client["client_id"] != "shop" || client["client_secret"] != nil {
			t.Errorf("%v", client)
		}
		a.token("shop", secret, 200)
		a.token("shop", "another secret of it", 401)
		a.do("POST", "/clients", body, 409)
		a.do("POST", "/clients", strings.Replace(body, secret, "short", 1), 400)
		a.do("POST", "/clients", strings.Replace(body, `"shop"`, `"a shop"`, 1), 400)
		a.do("POST", "/clients", strings.Replace(body, `"shop"`, `"https://shop.example/client.json"`, 1), 400)
	})
}
