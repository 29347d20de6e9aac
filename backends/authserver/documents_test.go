package authserver_test

import (
	"crypto/elliptic"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	golang "github.com/golang-jwt/jwt/v5"
	"golang.org/x/oauth2"

	"github.com/tollgate-gateway/tollgate/internal/jwks/jwkstest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// documentSite publishes metadata documents of clients: one under each path, with the members stored in it.
type documentSite struct {
	*httptest.Server
	members atomic.Pointer[string]
	fetches atomic.Int64
}

func newDocumentSite(t *testing.T, members string) *documentSite {
	t.Helper()
	s := new(documentSite)
	s.members.Store(&members)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.fetches.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"client_id":"`+s.URL+r.URL.Path+`",`+*s.members.Load()+"}")
	}))
	t.Cleanup(s.Close)
	return s
}

// do sends a request to the public site, or with the key to the administration API.
func (l *live) do(method, path, form string, status int) map[string]any {
	l.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	h := l.server.Public()
	if strings.HasPrefix(path, "/admin/") {
		r.Header.Set("Authorization", "Bearer 0123456789abcdef0123456789abcdef")
		r.Header.Set("Content-Type", "application/json")
		h = l.server.Admin()
	}
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != status {
		l.t.Fatalf("%s %s: %d %s, want %d", method, path, w.Code, w.Body, status)
	}
	var reply map[string]any
	if w.Body.Len() > 0 && strings.Contains(w.Header().Get("Content-Type"), "json") {
		if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil {
			l.t.Fatal(err)
		}
	}
	return reply
}

// status returns the status of the response to a form.
func (l *live) status(path, form string) int {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	l.server.Public().ServeHTTP(w, r)
	return w.Code
}

// TestDocumentClient checks a sign-in for a client that is only known by the URL of its metadata document.
func TestDocumentClient(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		l := newLive(t, db)
		if d := l.do("GET", "/.well-known/oauth-authorization-server", "", 200); d["client_id_metadata_document_supported"] != true {
			t.Errorf("%v", d)
		}
		site := newDocumentSite(t, `"client_name":"Notes","redirect_uris":["https://app.example/cb"]`)
		host := strings.TrimPrefix(site.URL, "http://")
		c := &oauth2.Config{
			ClientID: site.URL + "/c.json", RedirectURL: "https://app.example/cb", Scopes: []string{"read"},
			Endpoint: oauth2.Endpoint{AuthURL: l.url + "/oauth/authorize", TokenURL: l.url + "/oauth/token", AuthStyle: oauth2.AuthStyleInParams},
		}
		verifier := oauth2.GenerateVerifier()
		ask := c.AuthCodeURL("s0", oauth2.S256ChallengeOption(verifier))
		location, _ := l.send(http.MethodGet, ask, nil)
		_, form := l.send(http.MethodGet, location, nil)
		fields := url.Values{"email": {"ann@example.com"}, "password": {"correct horse"}}
		for _, match := range field.FindAllStringSubmatch(form, -1) {
			fields.Add(match[1], match[2])
		}
		location, _ = l.send(http.MethodPost, "/login", fields)
		if _, page := l.send(http.MethodGet, location, nil); !strings.Contains(page, host) || !strings.Contains(page, "Notes") || !strings.Contains(page, "app.example") {
			t.Errorf("the page does not name the client: %s", page)
		}
		token, err := c.Exchange(t.Context(), l.codeOf(c, verifier), oauth2.VerifierOption(verifier))
		if err != nil {
			t.Fatal(err)
		}
		token.Expiry = time.Now().Add(-time.Second)
		if _, err := c.TokenSource(t.Context(), token).Token(); err != nil || site.fetches.Load() != 1 {
			t.Errorf("renewed: %v, %d fetches", err, site.fetches.Load())
		}
		if location, _ := l.send(http.MethodGet, ask, nil); !strings.HasPrefix(location, "https://app.example/cb?code=") {
			t.Errorf("asked again: leads to %s", location)
		}

		// If the redirect URIs of the document change, users are asked for consent again.
		members := `"client_name":"Notes","redirect_uris":["https://app.example/cb","https://app.example/other"]`
		site.members.Store(&members)
		admin := "/admin/clients/" + url.PathEscape(c.ClientID)
		if reply := l.do("POST", admin+"/refresh", "", 200); len(reply["redirect_uris"].([]any)) != 2 || reply["cimd_url"] != c.ClientID || reply["registration_source"] != "cimd" || reply["cimd_fresh_until"] == "" {
			t.Errorf("%v", reply)
		}
		if location, _ := l.send(http.MethodGet, ask, nil); !strings.HasPrefix(location, "/consent") {
			t.Errorf("its redirect URIs have changed: leads to %s", location)
		}
		members = `"client_name":""`
		site.members.Store(&members)
		l.do("POST", admin+"/refresh", "", 422)
		l.do("PATCH", admin, `{"client_name":"Else"}`, 409)
		if reply := l.do("PATCH", admin, `{"scope":"read"}`, 200); reply["scope"] != "read" {
			t.Errorf("%v", reply)
		}
		l.do("POST", "/admin/clients/none/refresh", "", 404)
		if list := l.do("GET", "/admin/clients?source=cimd", "", 200)["clients"].([]any); len(list) != 1 {
			t.Errorf("%v", list)
		}

		// If an administrator suspends the client, its document is not fetched any more.
		fetches := site.fetches.Load()
		l.do("PATCH", admin+"/suspend", "", 200)
		l.do("GET", "/oauth/authorize?"+strings.SplitN(ask, "?", 2)[1], "", 400)
		refresh := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token.RefreshToken}, "client_id": {c.ClientID}}
		if reply := l.do("POST", "/oauth/token", refresh.Encode(), 401); reply["error"] != "invalid_client" || site.fetches.Load() != fetches {
			t.Errorf("%v, %d fetches", reply, site.fetches.Load())
		}
		for _, bad := range []string{"http://127.0.0.1:1/c", site.URL + "/", site.URL + "/a/../b", "https://ann@c.example/c"} {
			v := url.Values{"client_id": {bad}, "response_type": {"code"}, "redirect_uri": {"https://app.example/cb"}}
			l.do("GET", "/oauth/authorize?"+v.Encode(), "", 400)
			if reply := l.do("POST", "/oauth/token", "grant_type=authorization_code&code=x&client_id="+url.QueryEscape(bad), 401); reply["error"] != "invalid_client" {
				t.Errorf("%s: %v", bad, reply)
			}
		}

		// The number of fetches from one site is limited.
		for l.status("/oauth/token", "grant_type=authorization_code&code=x&client_id="+url.QueryEscape(site.URL+"/more")) == 401 { // invalid document
		}
		more := url.Values{"client_id": {site.URL + "/more"}, "response_type": {"code"}, "redirect_uri": {"https://app.example/cb"}}
		l.do("GET", "/oauth/authorize?"+more.Encode(), "", 503)
	})
}

// TestDocumentKey checks that a client whose document contains a key must prove that it has the key.
func TestDocumentKey(t *testing.T) {
	t.Parallel()
	l := newLive(t, databases.SQLite(t))
	key, other := jwkstest.NewEC(elliptic.P256()), jwkstest.NewEC(elliptic.P256())
	site := newDocumentSite(t, `"client_name":"Notes","redirect_uris":["https://app.example/cb"],"token_endpoint_auth_method":"private_key_jwt","jwks":`+jwkstest.Keys(jwkstest.JWK("k", key)))
	c := &oauth2.Config{
		ClientID: site.URL + "/c.json", RedirectURL: "https://app.example/cb", Scopes: []string{"read"}, Endpoint: oauth2.Endpoint{AuthURL: l.url + "/oauth/authorize"},
	}
	verifier := oauth2.GenerateVerifier()
	assertion := func(jti string, signer any, change func(claims map[string]any)) string {
		claims := golang.MapClaims{"iss": c.ClientID, "sub": c.ClientID, "aud": l.url, "exp": time.Now().Add(time.Minute).Unix(), "jti": jti}
		change(claims)
		return jwkstest.Sign(t, "ES256", signer, map[string]any{"kid": "k"}, claims)
	}
	redeem := func(extra url.Values, status int) {
		t.Helper()
		form := url.Values{"grant_type": {"authorization_code"}, "code": {l.codeOf(c, verifier)}, "code_verifier": {verifier}, "redirect_uri": {c.RedirectURL}}
		maps.Copy(form, extra)
		l.do("POST", "/oauth/token", form.Encode(), status)
	}
	proves := func(text string) url.Values {
		return url.Values{"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}, "client_assertion": {text}}
	}
	same := func(map[string]any) {}
	good := assertion("1", key, same)
	redeem(proves(good), 200)
	redeem(proves(good), 401) // replayed
	redeem(proves(assertion("2", other, same)), 401)
	redeem(proves(assertion("3", key, func(claims map[string]any) { claims["aud"] = "https://other.example" })), 401)
	redeem(proves(assertion("4", key, func(claims map[string]any) { claims["exp"] = time.Now().Add(2 * time.Hour).Unix() })), 401)
	redeem(proves(assertion("5", key, func(claims map[string]any) { claims["sub"] = site.URL + "/other.json" })), 401)
	redeem(url.Values{"client_id": {c.ClientID}}, 401)
	redeem(url.Values{"client_id": {c.ClientID}, "client_secret": {"x"}}, 401)
	redeem(proves(assertion("6", key, same)), 200)
}
