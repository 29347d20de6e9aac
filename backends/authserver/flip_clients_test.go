package authserver_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/tollgate-gateway/tollgate/internal/jwks/jwkstest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const publicClient = `{"client_name":"App","redirect_uris":["https://app.example/cb"],"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"token_endpoint_auth_method":"none"}`

// registers registers a public client.
func (l *lab) registers() *httptest.ResponseRecorder {
	l.t.Helper()
	return l.ask(http.MethodPost, "/oauth/register", publicClient, "Content-Type", "application/json")
}

// app returns a public client that has registered itself.
func (l *lab) app() *oauth2.Config {
	l.t.Helper()
	return &oauth2.Config{
		ClientID: member(l.t, l.registers(), "client_id"), RedirectURL: "https://app.example/cb", Scopes: []string{"openid", "read"},
		Endpoint: oauth2.Endpoint{AuthURL: l.url + "/oauth/authorize", TokenURL: l.url + "/oauth/token"},
	}
}

// until counts the calls that return the given status before another status is returned. It returns "all" if all calls,
// as many as limit, return it.
func until(limit, status int, call func() int) string {
	for i := range limit {
		if call() != status {
			return strconv.Itoa(i)
		}
	}
	return "all"
}

// slow returns a handler that answers after half a second, unless the request is cancelled.
func slow(answer func(w http.ResponseWriter, r *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(500 * time.Millisecond):
			answer(w, r)
		case <-r.Context().Done():
		}
	}
}

// documentAsked returns the status of an authorization request of a client with a metadata document.
func documentAsked(t *testing.T, s settings) string {
	t.Helper()
	l := newLab(t, s)
	site := newDocumentSite(t, `"client_name":"App","redirect_uris":["https://app.example/cb"]`)
	return l.asksAs(site.URL + "/c.json")
}

// asksAs returns the status of an authorization request of a client.
func (l *lab) asksAs(client string) string {
	l.t.Helper()
	return l.status(http.MethodGet, "/oauth/authorize?"+url.Values{
		"response_type": {"code"}, "client_id": {client}, "redirect_uri": {"https://app.example/cb"}, "scope": {"read"}, "code_challenge": {strings.Repeat("v", 43)}, "code_challenge_method": {"S256"},
	}.Encode(), "")
}

// left returns "1" if a client that registered the given number of days ago remains after an even older client has been
// removed, and "0" if it does not. If seen is set, the client was last used at its registration.
func left(t *testing.T, s settings, days int, seen bool) string {
	t.Helper()
	db := databases.SQLite(t)
	if err := db.Write(t.Context(), func(c store.Conn) error {
		for id, days := range map[string]int{"old": days, "older": 10 * days} {
			issued, last := time.Now().AddDate(0, 0, -days).UnixMicro(), int64(0)
			if seen {
				last = issued
			}
			if _, err := c.Exec("INSERT INTO authserver_clients (id, name, auth_method, redirects, grants, responses, status, source, issued_at, updated_at, seen_at) VALUES (?, '', 'none', '[]', '[]', '[]', 'active', 'dcr', ?, ?, ?)", id, issued, issued, last); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	l := newLabOn(t, db, s)
	for l.row("SELECT count(*) FROM authserver_clients WHERE id = 'older'") != "0" {
		runtime.Gosched()
	}
	return l.row("SELECT count(*) FROM authserver_clients WHERE id = 'old'")
}

var nearDocuments = settings{"cimd.require_https": "false", "cimd.allow_private_addresses": "true"}

// flipsOfClients are the tests of the configuration keys for the registration and the authentication of clients.
var flipsOfClients = map[string]flip{
	"server.allow_networks": {Other: `["127.0.0.0/8"]`, With: settings{"cimd.require_https": "false"}, Want: [2]string{"400", "302"}, See: documentAsked},
	"server.allowed_origins": {Other: `["https://app.example"]`, Want: [2]string{"", "https://app.example"}, See: func(t *testing.T, s settings) string {
		return newLab(t, s).ask(http.MethodGet, "/.well-known/openid-configuration", "", "Origin", "https://app.example").Header().Get("Access-Control-Allow-Origin")
	}},
	"server.issuer": {First: "http://localhost:9000", Other: "http://localhost:9100", Want: [2]string{"http://localhost:9000", "http://localhost:9100"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		return member(t, l.ask(http.MethodGet, "/.well-known/openid-configuration", ""), "issuer")
	}},

	"dcr.approved_redirects": {Other: `["https://app.example/cb"]`, With: settings{"dcr.mode": "approved_redirects"}, Want: [2]string{"400", "201"}, See: func(t *testing.T, s settings) string {
		return strconv.Itoa(newLab(t, s).registers().Code)
	}},
	"dcr.mode": {Other: "admin_only", Want: [2]string{"201", "403"}, See: func(t *testing.T, s settings) string {
		return strconv.Itoa(newLab(t, s).registers().Code)
	}},
	"dcr.rate_limit": {Other: "2", Want: [2]string{"10", "2"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		until(100, http.StatusCreated, func() int { return l.registers().Code })
		l.clock.Pass(time.Second)
		return until(100, http.StatusCreated, func() int { return l.registers().Code })
	}},
	"dcr.rate_limit_burst": {Other: "3", Want: [2]string{"20", "3"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		return until(100, http.StatusCreated, func() int { return l.registers().Code })
	}},
	"dcr.unused_client_expiry": {Other: "2400h", Want: [2]string{"0", "1"}, See: func(t *testing.T, s settings) string { return left(t, s, 40, false) }},
	"dcr.idle_client_expiry":   {Other: "9600h", Want: [2]string{"0", "1"}, See: func(t *testing.T, s settings) string { return left(t, s, 200, true) }},
	"dcr.default_token_expiry": {Other: "5m", Want: [2]string{"900", "300"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		return member(t, l.ask(http.MethodPost, "/oauth/token", l.redeem(l.app()).Encode()), "expires_in")
	}},
	"dcr.default_refresh_expiry": {Other: "1h", Want: [2]string{"200", "400"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		app := l.app()
		token := member(t, l.ask(http.MethodPost, "/oauth/token", l.redeem(app).Encode()), "refresh_token")
		l.clock.Pass(2 * time.Hour)
		return l.refreshes(app, token)
	}},

	"cimd.allow_private_addresses": {Other: "true", With: settings{"cimd.require_https": "false"}, Want: [2]string{"400", "302"}, See: documentAsked},
	"cimd.enabled":                 {Other: "false", With: nearDocuments, Want: [2]string{"302", "400"}, See: documentAsked},
	"cimd.require_https":           {Other: "false", With: settings{"cimd.allow_private_addresses": "true"}, Want: [2]string{"400", "302"}, See: documentAsked},
	"cimd.cache_ttl": {Other: "10m", With: nearDocuments, Want: [2]string{"1", "2"}, See: func(t *testing.T, s settings) string {
		l, site := newLab(t, s), newDocumentSite(t, `"client_name":"App","redirect_uris":["https://app.example/cb"]`)
		l.asksAs(site.URL + "/c.json")
		l.clock.Pass(30 * time.Minute)
		l.asksAs(site.URL + "/c.json")
		return strconv.FormatInt(site.fetches.Load(), 10)
	}},
	"cimd.fetch_timeout": {Other: "50ms", With: nearDocuments, Want: [2]string{"302", "400"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		var site *httptest.Server
		site = httptest.NewServer(slow(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"client_id":"` + site.URL + `/c.json","client_name":"App","redirect_uris":["https://app.example/cb"]}`))
		}))
		t.Cleanup(site.Close)
		return l.asksAs(site.URL + "/c.json")
	}},

	"client_secret_pepper": {Other: "a pepper of thirty-two characters", Want: [2]string{"argon2id", "hmac"}, See: func(t *testing.T, s settings) string {
		l := newLab(t, s)
		l.machine()
		stored := l.row("SELECT secret FROM authserver_clients")
		for _, scheme := range []string{"argon2id", "hmac"} {
			if strings.Contains(stored, scheme) {
				return scheme
			}
		}
		return stored
	}},
	"agents.enable_jwks_listing": {Other: "true", Want: [2]string{"<nil>", "[]"}, See: func(t *testing.T, s settings) string {
		return member(t, newLab(t, s).ask(http.MethodGet, "/.well-known/jwks.json", ""), "agents")
	}},

	"xaa.enabled": {Other: "false", Want: [2]string{"200", "404"}, See: func(t *testing.T, s settings) string {
		return newLab(t, s).status(http.MethodGet, "/admin/idps", "")
	}},
	"xaa.jwks_cache_ttl": {Other: "10m", With: nearby, Want: [2]string{"1", "2"}, See: func(t *testing.T, s settings) string {
		a := newAsserting(t, s)
		a.redeem(nil)
		a.clock.Pass(30 * time.Minute)
		a.redeem(nil)
		return strconv.Itoa(a.idp.Count())
	}},
	"xaa.max_assertion_age": {Other: "1m", With: nearby, Want: [2]string{"200", "400"}, See: func(t *testing.T, s settings) string {
		a := newAsserting(t, s)
		return strconv.Itoa(a.redeem(map[string]any{"iat": a.clock.Now().Add(-2 * time.Minute).Unix()}).Code)
	}},
	"xaa.require_resource": {Other: "true", With: nearby, Want: [2]string{"200", "400"}, See: func(t *testing.T, s settings) string {
		return strconv.Itoa(newAsserting(t, s).redeem(map[string]any{"resource": nil}).Code)
	}},
	"xaa.subject_mode": {Other: "strict", With: nearby, Want: [2]string{"200", "400"}, See: func(t *testing.T, s settings) string {
		return strconv.Itoa(newAsserting(t, s).redeem(nil).Code)
	}},
	"xaa.token_expiry": {Other: "10m", With: nearby, Want: [2]string{"3600", "600"}, See: func(t *testing.T, s settings) string {
		return member(t, newAsserting(t, s).redeem(nil), "expires_in")
	}},
}

// refreshes returns the status of a public client's refresh request.
func (l *lab) refreshes(app *oauth2.Config, token string) string {
	l.t.Helper()
	return l.status(http.MethodPost, "/oauth/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}, "client_id": {app.ClientID}}.Encode())
}

// machine registers a client with a secret and returns the form with which it requests a token for itself.
func (l *lab) machine() url.Values {
	l.t.Helper()
	response := l.ask(http.MethodPost, "/admin/clients", `{"client_name":"Robot","grant_types":["client_credentials","`+exchangeGrant+`"],"scope":"read write","token_endpoint_auth_method":"client_secret_post"}`)
	return url.Values{"grant_type": {"client_credentials"}, "client_id": {member(l.t, response, "client_id")}, "client_secret": {member(l.t, response, "client_secret")}, "scope": {"read"}}
}

// asserting is a lab with an identity provider and a client that brings its assertions.
type asserting struct {
	*lab
	idp  *jwkstest.Provider
	form url.Values // without the assertion
	n    int
}

var nearby = settings{"server.allow_networks": `["127.0.0.0/8"]`}

func newAsserting(t *testing.T, s settings) *asserting {
	t.Helper()
	a := &asserting{lab: newLab(t, s), idp: jwkstest.New(t, jwkstest.JWK("k", enterpriseKey))}
	if response := a.ask(http.MethodPost, "/admin/idps", `{"name":"Corp","issuer":"`+a.idp.URL+`"}`); response.Code != http.StatusCreated {
		t.Fatalf("%d %s", response.Code, response.Body)
	}
	response := a.ask(http.MethodPost, "/admin/clients", `{"client_name":"Agent","grant_types":["urn:ietf:params:oauth:grant-type:jwt-bearer"],"scope":"read","agent":true,"token_endpoint_auth_method":"client_secret_post"}`)
	a.form = url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "client_id": {member(t, response, "client_id")}, "client_secret": {member(t, response, "client_secret")}}
	return a
}

// redeem returns the response to an assertion that is made now, with changed claims; nil removes a claim.
func (a *asserting) redeem(changes map[string]any) *httptest.ResponseRecorder {
	a.t.Helper()
	a.n++
	now := a.clock.Now()
	claims := map[string]any{
		"iss": a.idp.URL, "sub": "u1", "aud": a.url, "client_id": a.form.Get("client_id"), "jti": strconv.Itoa(a.n), "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(),
		"scope": "read", "resource": "https://files.example",
	}
	for name, value := range changes {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	a.form.Set("assertion", jwkstest.Sign(a.t, "ES256", enterpriseKey, map[string]any{"kid": "k", "typ": "oauth-id-jag+jwt"}, claims))
	return a.ask(http.MethodPost, "/oauth/token", a.form.Encode())
}
