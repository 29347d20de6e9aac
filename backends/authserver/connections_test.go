package authserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/config"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestConnections checks that a user connects an account, that a client gets its token by exchange while the user
// permits it, and that the administration API shows the connection without its credential.
func TestConnections(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		revoked := make(chan string, 1)
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.FormValue("client_secret") != "upstream secret" {
				t.Errorf("%v", r.Form)
			}
			if r.URL.Path == "/revoke" {
				revoked <- r.FormValue("token")
				return
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "access_token": "bot", "authed_user": map[string]any{"access_token": "xoxp-1", "refresh_token": "xoxe-1", "expires_in": 43200, "scope": "channels:read,chat:write"}})
		}))
		defer up.Close()
		l := newLive(t, db, `data_encryption: {driver: aes_master, aes_master: {key_env: MASTER}}
connect: {state_secret: 0123456789abcdef0123456789abcdef, allowed_return_urls: ["https://app.example/done"]}
token_exchange: {allow_self_exchange: true}
broker_providers:
  - {slug: chat, display_name: Chat, protocol: oauth, config_data: {client_id: c, client_secret: upstream secret, authorize_url: "`+up.URL+`/authorize", token_url: "`+up.URL+`/token", revoke_url: "`+up.URL+`/revoke", response_format: slack, scope_separator: ","}}`)
		provider := l.do("GET", "/admin/broker-providers/chat", "", 200)
		if strings.Contains(fmt.Sprint(provider), "upstream secret") || provider["config_fault"] != nil {
			t.Errorf("%v", provider)
		}
		l.do("POST", "/admin/resources", `{"slug":"far","backend_kind":"broker","broker_provider_slug":"nobody"}`, 400)
		resource := l.do("POST", "/admin/resources", `{"slug":"chat-api","backend_kind":"broker","broker_provider_slug":"chat","scopes":[{"name":"listen","upstream":"channels:read"},{"name":"speak","upstream":["chat:write"]},{"name":"rule","upstream":"admin"}]}`, 201)
		if resource["broker_provider_id"] != provider["id"] {
			t.Errorf("%v", resource)
		}
		l.do("DELETE", "/admin/broker-providers/chat", "", 409)
		app := l.party("app", false)
		l.do("PATCH", "/admin/clients/"+app.config.ClientID, `{"scope":"read listen speak rule"}`, 200)
		subject := app.signIn("listen speak", "chat-api")

		missing := app.exchange(subject, "resource", "chat-api", "scope", "listen")
		missing.is(t, "not connected", 400, "consent_required")
		if missing.text("cause") != "consent_missing" || missing.text("consent_url") != l.url+"/connect/chat" {
			t.Errorf("%v", missing.body)
		}

		// The browser connects the account.
		location, _ := l.send(http.MethodGet, "/connect/chat?scope=listen+speak", nil)
		target, err := url.Parse(location)
		if err != nil || target.Path != "/authorize" || target.Query().Get("scope") != "channels:read,chat:write" || target.Query().Get("redirect_uri") != l.url+"/connect/chat/callback" {
			t.Fatalf("%q: %v", location, err)
		}
		if location, _ = l.send(http.MethodGet, "/connect/chat/callback?"+url.Values{"code": {"x"}, "state": {target.Query().Get("state")}}.Encode(), nil); location != "https://app.example/done?connected=chat" {
			t.Errorf("leads to %q", location)
		}
		_, page := l.send(http.MethodGet, "/connections", nil)
		if !strings.Contains(page, `"provider":"chat","display_name":"Chat","scopes_granted":["listen","speak"]`) || strings.Contains(page, "xox") {
			t.Errorf("%s", page)
		}

		answer := app.exchange(subject, "resource", "chat-api")
		if answer.is(t, "exchange", 200, ""); answer.text("access_token") != "xoxp-1" || answer.text("token_type") != "Bearer" || answer.text("scope") != "listen speak" || answer.body["expires_in"].(float64) < 43000 || answer.text("issued_token_type") != accessType {
			t.Errorf("%v", answer.body)
		}
		if reply := app.exchange(subject, "resource", "chat-api", "scope", "speak"); reply.text("scope") != "speak" {
			t.Errorf("%v", reply.body)
		}
		app.exchange(subject, "resource", "chat-api", "scope", "rule").is(t, "not granted here", 400, "consent_required")
		app.signIn("listen speak rule", "chat-api")
		narrow := app.exchange(subject, "resource", "chat-api", "scope", "rule")
		narrow.is(t, "not granted there", 400, "consent_required")
		if narrow.text("cause") != "scope_insufficient" || narrow.text("consent_url") != l.url+"/connect/chat" {
			t.Errorf("%v", narrow.body)
		}
		app.exchange(subject, "resource", "chat-api", "scope", "read").is(t, "not declared", 400, "invalid_scope")
		app.exchange(subject, "resource", "chat-api", "actor_token", subject, "actor_token_type", accessType).is(t, "an actor", 400, "invalid_request")
		machine := l.token(url.Values{"grant_type": {"client_credentials"}, "scope": {"read"}, "client_id": {app.config.ClientID}, "client_secret": {app.config.ClientSecret}}).text("access_token")
		app.exchange(machine, "resource", "chat-api", "scope", "listen").is(t, "a machine", 400, "invalid_grant")
		l.party("stranger", false).exchange(subject, "resource", "chat-api", "scope", "listen").is(t, "another client", 400, "access_denied")

		// Guests and other sites cannot change anything.
		stranger := func(method, path string, header ...string) (status int) {
			r, err := http.NewRequestWithContext(t.Context(), method, l.url+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			client := http.DefaultClient
			for i := 0; i+1 < len(header); i += 2 {
				r.Header.Set(header[i], header[i+1])
				client = l.people
			}
			response, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			return response.StatusCode
		}
		if got := stranger(http.MethodGet, "/connections"); got != 401 {
			t.Errorf("a guest sees connections: %d", got)
		}
		if got := stranger(http.MethodDelete, "/connections/chat", "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"); got != 403 {
			t.Errorf("another site ends a connection: %d", got)
		}

		// The administration API lists the connection.
		grants := l.do("GET", "/admin/users/"+l.ann.ID+"/grants", "", 200)["broker_grants"].([]any)
		if len(grants) != 1 || strings.Contains(fmt.Sprint(grants), "xox") || grants[0].(map[string]any)["provider"] != "chat" {
			t.Errorf("%v", grants)
		}
		if sealed := l.do("POST", "/admin/encryption/re-encrypt", "", 200); sealed["scanned"] != 2.0 || sealed["failed"] != 0.0 {
			t.Errorf("%v", sealed)
		}
		l.do("DELETE", "/admin/grants/broker/"+grants[0].(map[string]any)["id"].(string), "", 204)
		if token := <-revoked; token != "xoxe-1" {
			t.Errorf("the provider gets a revocation of %q", token)
		}
		app.exchange(subject, "resource", "chat-api", "scope", "listen").is(t, "removed", 400, "consent_required")

		// Users can end their connections.
		location, _ = l.send(http.MethodGet, "/connect/chat?scope=listen", nil)
		if target, err = url.Parse(location); err != nil {
			t.Fatal(err)
		}
		l.send(http.MethodGet, "/connect/chat/callback?"+url.Values{"code": {"x"}, "state": {target.Query().Get("state")}}.Encode(), nil)
		if got := stranger(http.MethodDelete, "/connections/chat", "Sec-Fetch-Site", "same-origin"); got != 204 {
			t.Errorf("ending it: %d", got)
		}
		if got := stranger(http.MethodDelete, "/connections/chat", "Sec-Fetch-Site", "same-origin"); got != 404 {
			t.Errorf("ending it again: %d", got)
		}
		events := fmt.Sprint(l.do("GET", "/admin/audit?action=broker_grant.", "", 200), l.do("GET", "/admin/audit?action=upstream.token.", "", 200))
		for _, action := range []string{"broker_grant.created", "broker_grant.revoked_admin", "broker_grant.revoked ", "upstream.token.issued"} {
			if !strings.Contains(events, action) {
				t.Errorf("no event %s: %s", action, events)
			}
		}
		if strings.Contains(events, "xox") {
			t.Errorf("%s", events)
		}
	})
}

// TestProvidersAlone checks that the providers of a configuration without clients and resources are stored.
func TestProvidersAlone(t *testing.T) {
	t.Parallel()
	cfg, err := config.Parse([]byte(`
signing: {key_path: "`+t.TempDir()+`"}
admin: {api_key: "0123456789abcdef0123456789abcdef"}
connect: {state_secret: 0123456789abcdef0123456789abcdef}
broker_providers: [{slug: maps, protocol: api_key, config_data: {header_name: X-Key}}]`), environment)
	if err != nil {
		t.Fatal(err)
	}
	shared := counters.NewMemory(time.Now)
	s, err := authserver.New(authserver.Options{Passwords: authtest.Quick, Config: cfg, DB: databases.SQLite(t), Counters: shared, Key: make([]byte, 32)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		if err := shared.Close(); err != nil {
			t.Error(err)
		}
	})
	for s.Ready(t.Context()) != nil { // wait until the providers are stored
		runtime.Gosched()
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/admin/broker-providers/maps", nil)
	r.Header.Set("Authorization", "Bearer 0123456789abcdef0123456789abcdef")
	w := httptest.NewRecorder()
	if s.Admin().ServeHTTP(w, r); w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
