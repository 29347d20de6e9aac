package authserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/config"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// live is a server at an address, for tests with client libraries, with a user.
type live struct {
	t      *testing.T
	url    string
	config *config.Config
	server *authserver.Server
	users  *users.Users
	ann    *users.User
	people *http.Client // a browser that does not follow redirects
}

// environment returns the environment of the servers, which contains the master key of data_encryption.
func environment(name string) (string, bool) {
	if name == "MASTER" {
		return strings.Repeat("0a", 32), true
	}
	return "", false
}

func newLive(t *testing.T, db *store.DB, more ...string) *live {
	t.Helper()
	l := &live{t: t}
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.server.Public().ServeHTTP(w, r) }))
	t.Cleanup(listener.Close)
	l.url = listener.URL
	cfg, err := config.Parse([]byte(`
server: {issuer: "`+l.url+`"}
signing: {key_path: "`+t.TempDir()+`"}
dcr: {mode: open}
cimd: {require_https: false, allow_private_addresses: true}
admin: {api_key: "0123456789abcdef0123456789abcdef"}
rate_limit: {enabled: false}
resources:
  - {slug: files, uri: "https://files.example", backend_kind: mint, display_name: Files, scopes: [{name: read, description: Read your files}, {name: write}, {name: delete}]}
  - {slug: mail, uri: "https://mail.example", backend_kind: mint, scopes: [{name: send}]}
`+strings.Join(more, "\n")), environment)
	if err != nil {
		t.Fatal(err)
	}
	l.config = cfg
	l.server = l.node(db)
	k := authserver.Offline(db, time.Now)
	t.Cleanup(k.Close)
	l.users = authserver.OfflineUsers(k)
	l.users.Passwords = authtest.Quick
	if l.ann, err = l.users.Create(t.Context(), users.New{Email: "ann@example.com", Name: "Ann", Password: "correct horse", EmailVerified: true}, ""); err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	l.people = &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return l
}

// node returns a server with the same configuration, like another node.
func (l *live) node(db *store.DB) *authserver.Server {
	l.t.Helper()
	shared := counters.NewMemory(time.Now)
	s, err := authserver.New(authserver.Options{Passwords: authtest.Quick, Config: l.config, DB: db, Counters: shared, Key: make([]byte, 32), Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		l.t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		s.Close()
		if err := shared.Close(); err != nil {
			l.t.Error(err)
		}
	})
	for s.Ready(l.t.Context()) != nil { // wait until the resources are stored
		runtime.Gosched()
	}
	return s
}

// send sends a request of the browser and returns the address of the redirect, or the page.
func (l *live) send(method, target string, fields url.Values) (location, page string) {
	l.t.Helper()
	if strings.HasPrefix(target, "/") {
		target = l.url + target
	}
	r, err := http.NewRequestWithContext(l.t.Context(), method, target, strings.NewReader(fields.Encode()))
	if err != nil {
		l.t.Fatal(err)
	}
	if fields != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := l.people.Do(r)
	if err != nil {
		l.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= http.StatusBadRequest {
		l.t.Fatalf("%s: %d %s: %v", target, response.StatusCode, text, err)
	}
	return response.Header.Get("Location"), string(text)
}

var field = regexp.MustCompile(`<input type="(?:hidden|checkbox)" name="([^"]*)" value="([^"]*)"`)

// answers follows redirects and submits forms, beginning at the address target, until it gets to another site or to a
// page without a form.
func (l *live) answers(target string) (location, page string) {
	l.t.Helper()
	for range 10 {
		if target != "" && !strings.HasPrefix(target, "/") && !strings.HasPrefix(target, l.url) {
			return target, ""
		}
		next, page := l.send(http.MethodGet, target, nil)
		for next == "" && strings.Contains(page, "<form") {
			fields := url.Values{"email": {"ann@example.com"}, "password": {"correct horse"}, "action": {"allow"}}
			for _, match := range field.FindAllStringSubmatch(page, -1) {
				fields.Add(match[1], strings.ReplaceAll(match[2], "&#43;", "+"))
			}
			if code := regexp.MustCompile(`name="user_code" value="([^"]*)"`).FindStringSubmatch(page); code != nil {
				fields.Set("user_code", code[1])
				fields.Del("action")
			}
			path := strings.ReplaceAll(regexp.MustCompile(`method="post" action="([^"]*)"`).FindStringSubmatch(page)[1], "&amp;", "&")
			next, page = l.send(http.MethodPost, path, fields)
		}
		if next == "" {
			return "", page
		}
		target = next
	}
	l.t.Fatal("it leads on and on")
	return "", ""
}

// register registers a client (RFC 7591) and returns its configuration for x/oauth2.
func (l *live) register(provider *oidc.Provider, metadata string) *oauth2.Config {
	l.t.Helper()
	r, err := http.NewRequestWithContext(l.t.Context(), http.MethodPost, l.url+"/oauth/register", strings.NewReader(metadata))
	if err != nil {
		l.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		l.t.Fatal(err)
	}
	defer response.Body.Close()
	var client struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	if err := json.NewDecoder(response.Body).Decode(&client); err != nil || response.StatusCode != http.StatusCreated {
		l.t.Fatalf("registering: %d, %v", response.StatusCode, err)
	}
	return &oauth2.Config{ClientID: client.ID, ClientSecret: client.Secret, Endpoint: provider.Endpoint(), RedirectURL: "https://app.example/cb", Scopes: []string{"openid", "email", "read"}}
}

// TestClients checks the server with client libraries: discovery, a sign-in, user info, renewal of tokens, and the
// connection of a device.
func TestClients(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		l := newLive(t, db)
		ctx := t.Context()
		provider, err := oidc.NewProvider(ctx, l.url)
		if err != nil {
			t.Fatal(err)
		}
		c := l.register(provider, `{"client_name": "The App", "redirect_uris": ["https://app.example/cb"], "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"]}`)
		verifier := oauth2.GenerateVerifier()
		location, _ := l.answers(c.AuthCodeURL("s0", oidc.Nonce("n0"), oauth2.S256ChallengeOption(verifier)))
		dest, err := url.Parse(location)
		if err != nil || dest.Host != "app.example" || dest.Query().Get("state") != "s0" || dest.Query().Get("iss") != l.url {
			t.Fatalf("leads to %q: %v", location, err)
		}
		code := dest.Query().Get("code")
		if _, err := c.Exchange(ctx, code, oauth2.VerifierOption(oauth2.GenerateVerifier())); err == nil {
			t.Error("the code is good with another verifier")
		}
		token, err := c.Exchange(ctx, code, oauth2.VerifierOption(verifier))
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := token.Extra("id_token").(string)
		id, err := provider.VerifierContext(ctx, &oidc.Config{ClientID: c.ClientID}).Verify(ctx, raw)
		if err != nil {
			t.Fatal(err)
		}
		if err := id.VerifyAccessToken(token.AccessToken); err != nil || id.Subject != l.ann.ID || id.Nonce != "n0" {
			t.Errorf("%+v: %v", id, err)
		}
		var class struct{ ACR string }
		if err := id.Claims(&class); err != nil || class.ACR != "1" {
			t.Errorf("acr is %q: %v", class.ACR, err)
		}
		info, err := provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
		if err != nil || info.Subject != l.ann.ID || info.Email != "ann@example.com" || !info.EmailVerified {
			t.Errorf("%+v: %v", info, err)
		}
		token.Expiry = time.Now().Add(-time.Second)
		renewed, err := c.TokenSource(ctx, token).Token()
		if err != nil || renewed.AccessToken == token.AccessToken || renewed.RefreshToken == token.RefreshToken {
			t.Fatalf("renewed: %v", err)
		}

		device := l.register(provider, `{"client_name": "TV", "redirect_uris": [], "response_types": [], "grant_types": ["urn:ietf:params:oauth:grant-type:device_code"], "token_endpoint_auth_method": "none"}`)
		device.RedirectURL, device.Scopes = "", []string{"openid"}
		waits, err := device.DeviceAuth(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, page := l.answers(waits.VerificationURIComplete); !strings.Contains(page, "The device is connected") {
			t.Fatalf("%s", page)
		}
		waits.Interval = 1
		soon, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		connected, err := device.DeviceAccessToken(soon, waits)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := provider.UserInfo(ctx, oauth2.StaticTokenSource(connected)); err != nil || info.Subject != l.ann.ID {
			t.Errorf("%+v: %v", info, err)
		}

		// Disabling a user ends the session and all tokens at once.
		left := l.codeOf(c, verifier)
		if _, err := l.users.Disable(ctx, l.ann.ID, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Exchange(ctx, left, oauth2.VerifierOption(verifier)); err == nil {
			t.Error("the code of a disabled user is good")
		}
		renewed.Expiry = time.Now().Add(-time.Second)
		if _, err := c.TokenSource(ctx, renewed).Token(); err == nil {
			t.Error("the refresh token of a disabled user is good")
		}
		if location, _ := l.send(http.MethodGet, c.AuthCodeURL("s", oauth2.S256ChallengeOption(verifier)), nil); !strings.HasPrefix(location, "/login?") {
			t.Errorf("the session of a disabled user leads to %s", location)
		}
	})
}

// codeOf returns another code of an app to which the user has already given consent.
func (l *live) codeOf(c *oauth2.Config, verifier string) string {
	l.t.Helper()
	location, _ := l.answers(c.AuthCodeURL("s1", oauth2.S256ChallengeOption(verifier)))
	dest, err := url.Parse(location)
	if err != nil || dest.Query().Get("code") == "" {
		l.t.Fatalf("leads to %q: %v", location, err)
	}
	return dest.Query().Get("code")
}

// TestUserInfoShared checks that pages of an allowed origin can read the user info, as they can get tokens (OpenID
// Connect Core section 5.3), and that other pages cannot.
func TestUserInfoShared(t *testing.T) {
	t.Parallel()
	l := newLab(t, settings{"server.allowed_origins": `["https://app.example"]`})
	for origin, want := range map[string]string{"https://app.example": "https://app.example", "https://other.example": ""} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodOptions} {
			h := l.ask(method, "/oauth/userinfo", "", "Origin", origin).Header()
			if h.Get("Access-Control-Allow-Origin") != want || h.Get("Vary") != "Origin" || h.Get("Access-Control-Allow-Credentials") != "" ||
				(method == http.MethodOptions && want != "") != strings.Contains(h.Get("Access-Control-Allow-Headers"), "Authorization") {
				t.Errorf("%s from %s: %v", method, origin, h)
			}
		}
	}
}

// TestRefusalsShared checks that a page of an allowed origin can read that it exceeds the rate limit or uses a wrong
// method, and that its preflight requests are not counted.
func TestRefusalsShared(t *testing.T) {
	t.Parallel()
	l := newLab(t, settings{"server.allowed_origins": `["https://app.example"]`, "rate_limit.enabled": "true", "rate_limit.burst": "2", "rate_limit.requests_per_second": "0.001"})
	for _, status := range []int{http.StatusMethodNotAllowed, http.StatusMethodNotAllowed, http.StatusTooManyRequests} {
		for range 2 {
			if a := l.ask(http.MethodOptions, "/oauth/token", "", "Origin", "https://app.example"); a.Code != http.StatusNoContent || a.Header().Get("Access-Control-Allow-Origin") == "" {
				t.Errorf("a preflight: %d %v", a.Code, a.Header())
			}
		}
		if a := l.ask(http.MethodGet, "/oauth/token", "", "Origin", "https://app.example"); a.Code != status || a.Header().Get("Access-Control-Allow-Origin") != "https://app.example" || a.Header().Get("Vary") != "Origin" {
			t.Errorf("%d %v, want %d", a.Code, a.Header(), status)
		}
	}
	for path, origin := range map[string]string{"/oauth/token": "https://other.example", "/login": "https://app.example"} {
		if a := l.ask(http.MethodPost, path, "", "Origin", origin); a.Code != http.StatusTooManyRequests || a.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d %v", path, a.Code, a.Header())
		}
	}
}

// TestAuditAddresses checks that the audit feed contains the address of each action.
func TestAuditAddresses(t *testing.T) {
	t.Parallel()
	l := newLive(t, databases.SQLite(t))
	user := l.do("POST", "/admin/users", `{"email":"bob@example.com","password":"another horse"}`, 201)
	l.do("DELETE", fmt.Sprint("/admin/users/", user["id"], "/factors"), "", 200)
	l.do("PATCH", fmt.Sprint("/admin/users/", user["id"], "/disable"), "", 200)
	l.do("POST", "/admin/keys/rotate", "", 200)
	for _, action := range []string{"user.created", "user.factors_reset", "user.disabled", "key.rotated"} {
		events, _ := l.do("GET", "/admin/audit?action="+action, "", 200)["events"].([]any)
		if len(events) != 1 || events[0].(map[string]any)["ip"] != "192.0.2.1" {
			t.Errorf("%s: %v", action, events)
		}
	}
}
