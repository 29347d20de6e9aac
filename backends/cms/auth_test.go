package cms_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/cms"
	"github.com/tollgate-gateway/tollgate/backends/cms/accounts"
	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
)

const own = "http://example.com" // the origin of the host of httptest

func TestSession(t *testing.T) {
	t.Parallel()
	onBoth(t, settings.Settings{Auth: settings.Session}, func(s *site) {
		s.expect("GET", "/api/users", "", 200, "*")
		s.expect("GET", "/api/test", "", 401, `{"error":"authorization required"}`)
		s.expect("POST", "/api/auth", `{"username":"ann"}`, 400, `{"error":"Required parameter 'password' is missing"}`)
		s.expect("POST", "/api/auth", `{"password":"x"}`, 400, `{"error":"Required parameter 'username' is missing"}`)
		s.expect("POST", "/api/auth", `{"username":1,"password":"x"}`, 400, `{"error":"'username' is not a string"}`)
		s.expect("POST", "/api/auth", s.login(), 403, "*", "Origin", "https://evil.example")
		w := s.expect("POST", "/api/auth", "username=Ann&password="+s.password, 200, `{"message":"logged in: ann"}`)
		cookie := w.Result().Cookies()[0]
		if !cookie.HttpOnly || cookie.Secure || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || len(cookie.Value) != 43 {
			t.Errorf("cookie %v", cookie)
		}
		s.expect("GET", "/api/test", "", 200, `{"message":"test successful"}`)
		first := s.cookie
		s.expect("POST", "/api/auth", s.login(), 200, "*", "Origin", own)
		if s.cookie == first {
			t.Error("the session is not renewed at login")
		}
		second := s.cookie
		s.cookie = first
		s.expect("GET", "/api/test", "", 401, "*")
		s.cookie = second

		// What a session remembers, and who may send what changes something.
		s.expect("POST", "/api/go/count", "", 200, `{"n":1}`, "Origin", own)
		s.expect("POST", "/api/go/count", "", 200, `{"n":2}`, "Origin", own)
		s.expect("POST", "/api/go/count", "", 403, "*")
		s.expect("POST", "/api/go/count", "", 403, "*", "Origin", "null")
		s.expect("POST", "/api/go/count", "", 403, "*", "Origin", "http://example.com.evil.example")
		s.expect("POST", "/api/go/echo", "", 403, "*", "Origin", "https://evil.example") // also where no authorization is needed
		s.expect("DELETE", "/api/auth", "", 403, "*")

		// A superuser has every role.
		s.expect("GET", "/api/go/secret", "", 200, "*")
		bob := "a password of bob"
		if _, err := s.server.Accounts().Create(t.Context(), nil, "bob", accounts.Change{Password: &bob}); err != nil {
			t.Fatal(err)
		}
		mine := s.cookie
		s.cookie = ""
		s.expect("POST", "/api/auth", `{"username":"bob","password":"`+bob+`"}`, 200, "*")
		s.expect("GET", "/api/go/secret", "", 403, `{"error":"forbidden"}`)
		s.cookie = mine

		s.expect("DELETE", "/api/auth", "", 200, `{"message":"logged out: ann"}`, "Origin", own)
		s.cookie = mine
		s.expect("GET", "/api/test", "", 401, "*")

		// It ends when nobody has used it for a day, and not before.
		s.cookie = ""
		s.expect("POST", "/api/auth", "", 200, "*", "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("ann:"+s.password)))
		s.clock.Add(int64(23 * time.Hour))
		s.expect("GET", "/api/test", "", 200, "*")
		s.clock.Add(int64(23 * time.Hour))
		s.expect("GET", "/api/test", "", 200, "*")
		s.clock.Add(int64(24*time.Hour + time.Second))
		s.expect("GET", "/api/test", "", 401, "*")

		// Another password ends it.
		s.cookie = ""
		s.expect("POST", "/api/auth", s.login(), 200, "*")
		ann, err := s.server.Accounts().Named(t.Context(), "ann")
		if err != nil {
			t.Fatal(err)
		}
		fresh := "another long password"
		if _, err := s.server.Accounts().Update(t.Context(), nil, ann.ID, accounts.Change{Password: &fresh}); err != nil {
			t.Fatal(err)
		}
		s.expect("GET", "/api/test", "", 401, "*")
	})
}

func TestAttempts(t *testing.T) {
	t.Parallel()
	onBoth(t, settings.Settings{Auth: settings.JWT}, func(s *site) {
		wrong := `{"username":"ann","password":"wrong"}`
		for range 5 {
			s.expect("POST", "/api/auth", wrong, 401, `{"error":"Login not successful"}`, "X-Test-Address", "192.0.2.1")
		}
		w := s.expect("POST", "/api/auth", s.login(), 429, "*", "X-Test-Address", "192.0.2.1")
		if w.Header().Get("Retry-After") != "900" {
			t.Errorf("Retry-After: %s", w.Header().Get("Retry-After"))
		}
		s.expect("POST", "/api/auth", s.login(), 200, "*", "X-Test-Address", "192.0.2.2")
		s.expect("POST", "/api/auth", `{"username":"nobody","password":"x"}`, 401, `{"error":"Login not successful"}`, "X-Test-Address", "192.0.2.1")
		s.clock.Add(int64(15*time.Minute + time.Second))
		s.expect("POST", "/api/auth", s.login(), 200, "*", "X-Test-Address", "192.0.2.1")
		if want := []string{"bad", "bad", "bad", "bad", "bad", "limited", "good", "bad", "good"}; !slices.Equal(s.logins, want) {
			t.Errorf("logins %v", s.logins)
		}
	})
}

type issued struct {
	JWT     string
	Expires int64
	Refresh string
}

func (s *site) issue(path, body string) issued {
	s.Helper()
	w := s.expect("POST", path, body, 200, "*")
	var t issued
	if err := json.Unmarshal(w.Body.Bytes(), &t); err != nil || t.JWT == "" {
		s.Fatalf("%s", w.Body)
	}
	return t
}

func (s *site) claims(token string) map[string]any {
	s.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err != nil {
		s.Fatal(err)
	}
	var claims map[string]any
	if err := json.Unmarshal(raw, &claims); err != nil {
		s.Fatal(err)
	}
	return claims
}

// forge signs claims as one may who has the secret.
func forge(header string, claims map[string]any, secret []byte) string {
	body, _ := json.Marshal(claims) // texts and numbers
	text := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString(body)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func TestJWT(t *testing.T) {
	t.Parallel()
	onBoth(t, settings.Settings{Auth: settings.JWT}, func(s *site) {
		w := s.expect("GET", "/api/test", "", 401, `{"error":"authorization required"}`)
		if w.Header().Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("WWW-Authenticate: %q", w.Header().Get("WWW-Authenticate"))
		}
		s.expect("GET", "/api/users", "", 200, "*")
		token := s.issue("/api/auth", s.login())
		if token.Expires != s.clock.Load()/1e9+86_400 || token.Refresh != "" {
			t.Errorf("%+v", token)
		}
		for _, form := range []string{"Bearer ", "Bearer+", "Bearer", "bearer ", "BEARER+"} {
			s.expect("GET", "/api/test", "", 200, `{"message":"test successful"}`, "Authorization", form+token.JWT)
		}
		s.expect("GET", "/api/go/echo", "", 200, `{"base":"http://example.com/api","data":{"userId":2},"method":"GET","path":"go/echo","user":"ann"}`, "Authorization", "Bearer "+token.JWT)

		good := s.claims(token.JWT)
		if good["iss"] != "example.com" || good["aud"] != "example.com" || good["sub"] != "ann" || good["userId"] != 2.0 || good["exp"].(float64)-good["iat"].(float64) != 86_400 {
			t.Errorf("claims %v", good)
		}
		secret := []byte(s.server.Settings().Current().JWTSecret)
		const hs256 = `{"alg":"HS256","typ":"JWT"}`
		now := float64(s.clock.Load() / 1e9)
		variant := func(name string, value any) map[string]any {
			c := maps.Clone(good)
			if c[name] = value; value == nil {
				delete(c, name)
			}
			return c
		}
		s.expect("GET", "/api/test", "", 200, "*", "Authorization", "Bearer "+forge(hs256, good, secret))
		s.expect("GET", "/api/test", "", 200, "*", "Authorization", "Bearer "+forge(hs256, variant("exp", now+1), secret))
		for label, bad := range map[string]string{
			"nothing":       "",
			"no token":      "x",
			"none":          forge(`{"alg":"none"}`, good, nil),
			"none unsigned": strings.TrimRight(forge(`{"alg":"none"}`, good, nil), "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
			"RS256":         forge(`{"alg":"RS256"}`, good, secret),
			"HS512":         forge(`{"alg":"HS512"}`, good, secret),
			"secret":        forge(hs256, good, []byte("another secret of the same length")),
			"empty secret":  forge(hs256, good, nil),
			"type":          forge(`{"alg":"HS256","typ":"at+jwt"}`, good, secret),
			"tampered":      token.JWT[:len(token.JWT)-60] + "A" + token.JWT[len(token.JWT)-59:],
			"iss":           forge(hs256, variant("iss", "other.example"), secret),
			"aud":           forge(hs256, variant("aud", "other.example"), secret),
			"no exp":        forge(hs256, variant("exp", nil), secret),
			"expired":       forge(hs256, variant("exp", now), secret),
			"nbf":           forge(hs256, variant("nbf", now+1), secret),
			"iat":           forge(hs256, variant("iat", now+1), secret),
			"jti":           forge(hs256, variant("jti", nil), secret),
			"user":          forge(hs256, variant("userId", 99), secret),
			"guest":         forge(hs256, variant("userId", 1), secret),
			"half a user":   forge(hs256, variant("userId", 2.5), secret),
			"name":          forge(hs256, variant("sub", "bob"), secret),
			"epoch":         forge(hs256, variant("epoch", 77), secret),
		} {
			w := s.do("GET", "/api/test", "", "Authorization", "Bearer "+bad)
			if w.Code != 401 || w.Body.String() != `{"error":"invalid token"}` {
				t.Errorf("%s: %d %s", label, w.Code, w.Body)
			}
		}
		s.expect("GET", "/api/test", "", 401, `{"error":"invalid token"}`, "Authorization", "Basic "+token.JWT)
		s.expect("GET", "/api/users", "", 200, "*", "Authorization", "Bearer x") // needs nothing

		s.expect("DELETE", "/api/auth", "", 200, `{"message":"logged out: ann"}`, "Authorization", "Bearer "+token.JWT)
		s.expect("GET", "/api/test", "", 401, `{"error":"invalid token"}`, "Authorization", "Bearer "+token.JWT)
		token = s.issue("/api/auth", s.login())
		s.expect("GET", "/api/test", "", 200, "*", "Authorization", "Bearer "+token.JWT)

		bob := "a password of bob"
		account, err := s.server.Accounts().Create(t.Context(), nil, "bob", accounts.Change{Password: &bob})
		if err != nil {
			t.Fatal(err)
		}
		his := s.issue("/api/auth", `{"username":"bob","password":"`+bob+`"}`)
		s.expect("GET", "/api/test", "", 200, "*", "Authorization", "Bearer "+his.JWT)
		disabled := accounts.StatusDisabled
		if _, err := s.server.Accounts().Update(t.Context(), nil, account.ID, accounts.Change{Status: &disabled}); err != nil {
			t.Fatal(err)
		}
		s.expect("GET", "/api/test", "", 401, `{"error":"invalid token"}`, "Authorization", "Bearer "+his.JWT)

		changed := *s.server.Settings().Current()
		changed.JWTSecret = settings.NewSecret()
		if err := s.server.Settings().Save(changed); err != nil {
			t.Fatal(err)
		}
		s.expect("GET", "/api/test", "", 401, `{"error":"invalid token"}`, "Authorization", "Bearer "+token.JWT)
	})
}

func TestNoSecret(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), settings.Settings{})
	if err := os.WriteFile(filepath.Join(s.folder, settings.File), []byte(`{"auth":"jwt"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.server.Reload(); err != nil {
		t.Fatal(err)
	}
	s.expect("GET", "/api/test", "", 500, `{"error":"no JWT secret: save the module settings once"}`)
	s.expect("POST", "/api/auth", s.login(), 500, `{"error":"no JWT secret: save the module settings once"}`)
	s.expect("GET", "/api/users", "", 200, "*")
	if err := s.server.Settings().Save(*s.server.Settings().Current()); err != nil {
		t.Fatal(err)
	}
	s.expect("GET", "/api/test", "", 401, "*")
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	onBoth(t, settings.Settings{Auth: settings.JWT, JWTRefresh: true}, func(s *site) {
		first := s.issue("/api/auth", s.login())
		next := func(refresh string) string { return `{"refresh":"` + refresh + `"}` }
		second := s.issue("/api/auth/access", next(first.Refresh))
		if second.Expires != s.clock.Load()/1e9+3600 || second.Refresh == first.Refresh {
			t.Errorf("%+v", second)
		}
		s.expect("GET", "/api/test", "", 200, "*", "Authorization", "Bearer "+second.JWT)
		third := s.issue("/api/auth/access", next(second.Refresh))
		s.clock.Add(int64(11 * time.Second))
		s.expect("POST", "/api/auth/access", next(first.Refresh), 401, `{"error":"invalid token"}`) // again: somebody else has it
		s.expect("POST", "/api/auth/access", next(third.Refresh), 401, `{"error":"invalid token"}`)
		s.expect("POST", "/api/auth/access", next("x"), 401, "*")
		s.expect("POST", "/api/auth/access", "", 400, `{"error":"Required parameter 'refresh' is missing"}`)

		login := s.issue("/api/auth", s.login())
		s.expect("DELETE", "/api/auth", "", 200, "*", "Authorization", "Bearer "+login.JWT)
		s.expect("POST", "/api/auth/access", next(login.Refresh), 401, "*")
		login = s.issue("/api/auth", s.login())
		s.clock.Add(int64(31 * 24 * time.Hour))
		s.expect("POST", "/api/auth/access", next(login.Refresh), 401, "*")
	})
}

// TestRefreshAtOnce checks that six concurrent uses of a refresh token all succeed, as does one after a lost
// answer.
func TestRefreshAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, settings.Settings{Auth: settings.JWT, JWTRefresh: true}, func(s *site) {
		next := func(refresh string) string { return `{"refresh":"` + refresh + `"}` }
		first := s.issue("/api/auth", s.login())
		var tabs [6]issued
		var wait sync.WaitGroup
		for i := range tabs {
			wait.Go(func() { tabs[i] = s.issue("/api/auth/access", next(first.Refresh)) })
		}
		wait.Wait()
		s.clock.Add(int64(9 * time.Second))
		late := s.issue("/api/auth/access", next(first.Refresh))
		var token issued
		for _, tab := range append(tabs[:], late) {
			s.clock.Add(int64(time.Hour))
			token = s.issue("/api/auth/access", next(tab.Refresh))
			s.expect("GET", "/api/test", "", 200, "*", "Authorization", "Bearer "+token.JWT)
		}
		s.expect("POST", "/api/auth/access", next(first.Refresh), 401, "*") // ten seconds are over: all of them end
		s.expect("POST", "/api/auth/access", next(token.Refresh), 401, "*")
	})
}

func TestCORS(t *testing.T) {
	t.Parallel()
	const app = "https://app.example"
	s := newSite(t, databases.SQLite(t), settings.Settings{Auth: settings.Session, Origins: []string{app}})
	w := s.expect("OPTIONS", "/api/users", "", 204, "", "Origin", app, "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "content-type")
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin": app, "Access-Control-Allow-Credentials": "true", "Access-Control-Allow-Methods": "GET, HEAD",
		"Access-Control-Allow-Headers": "content-type", "Access-Control-Max-Age": "600", "Vary": "Origin",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	w = s.expect("OPTIONS", "/api/auth", "", 204, "", "Origin", app, "Access-Control-Request-Method", "POST")
	if got := w.Header().Get("Access-Control-Allow-Methods"); got != "DELETE, OPTIONS, POST" {
		t.Errorf("methods of /auth: %s", got)
	}
	w = s.expect("GET", "/api/users", "", 200, "*", "Origin", "https://other.example")
	if w.Header().Get("Access-Control-Allow-Origin") != "" || w.Header().Get("Vary") != "Origin" {
		t.Errorf("another origin: %v", w.Header())
	}
	if w = s.expect("GET", "/api/go/closed", "", 200, "*", "Origin", app); w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Error("a route without CORS has CORS headers")
	}
	if w = s.expect("GET", "/api/test", "", 401, "*", "Origin", app); w.Header().Get("Access-Control-Allow-Origin") != app {
		t.Error("an error answer has no CORS headers for an allowed origin")
	}
	s.expect("POST", "/api/auth", s.login(), 200, "*", "Origin", app)
	s.expect("POST", "/api/go/count", "", 200, `{"n":1}`, "Origin", app)

	all := newSite(t, databases.SQLite(t), settings.Settings{Auth: settings.Session, Origins: []string{"*"}})
	w = all.expect("GET", "/api/users", "", 200, "*", "Origin", "https://other.example")
	if w.Header().Get("Access-Control-Allow-Origin") != "*" || w.Header().Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("any origin: %v", w.Header())
	}
	all.expect("POST", "/api/auth", all.login(), 200, "*")
	all.expect("POST", "/api/go/count", "", 403, "*", "Origin", "https://other.example")

	s.expect("DELETE", "/api/auth", "", 200, "*", "Origin", app)
	// A route of any method, and one that varies by itself.
	s.file("api/Any.js", `exports.Any = class Any {
  static any(data, ctx) { ctx.setHeader("Vary", "Accept-Language"); return {method: ctx.method} }
}`)
	s.file("api/Routes.php", `<?php
require 'Any.js';
$routes = [
  ['*', 'any', Any::class, 'any'],
  ['*', 'inner', Any::class, 'any', ['cors' => false]],
  ['GET', 'open', Any::class, 'any', ['auth' => false]],
];`)
	s.reload()
	w = s.expect("OPTIONS", "/api/any", "", 204, "", "Origin", app, "Access-Control-Request-Method", "PUT")
	if got := w.Header().Get("Access-Control-Allow-Methods"); got != "PUT" || w.Header().Get("Access-Control-Allow-Origin") != app {
		t.Errorf("a route of any method: %v", w.Header())
	}
	s.expect("OPTIONS", "/api/any", "", 401, "*", "Origin", app)
	s.expect("OPTIONS", "/api/any", "", 401, "*", "Origin", "https://other.example", "Access-Control-Request-Method", "PUT")
	s.expect("OPTIONS", "/api/inner", "", 401, "*", "Origin", app, "Access-Control-Request-Method", "PUT")
	s.expect("PUT", "/api/any", "", 401, "*", "Origin", app)
	w = s.expect("GET", "/api/open", "", 200, "*", "Origin", app)
	if got := strings.Join(w.Header().Values("Vary"), ", "); got != "Origin, Accept-Language" {
		t.Errorf("it varies with %q", got)
	}

	none := newSite(t, databases.SQLite(t), settings.Settings{})
	if w := none.expect("OPTIONS", "/api/users", "", 405, "*", "Origin", app); w.Header().Get("Vary") != "" {
		t.Error("there are CORS headers without allowed origins")
	}
}

// TestLoginTiming checks that logins with unknown and known names take the same work: each verifies one password.
func TestLoginTiming(t *testing.T) {
	onBoth(t, settings.Settings{Auth: settings.JWT}, loginTiming)
}

func loginTiming(s *site) {
	measure := func(name string) time.Duration {
		best := time.Hour
		for i := range 30 {
			began := time.Now()
			s.do("POST", "/api/auth", `{"username":"`+name+`","password":"wrong"}`, "X-Test-Address", "192.0.2."+string(rune('a'+i)))
			best = min(best, time.Since(began))
		}
		return best
	}
	known, unknown := measure("ann"), measure("nobody")
	if known > 3*unknown || unknown > 3*known {
		s.Errorf("a known name takes %v, an unknown one %v", known, unknown)
	}
}

// TestNodes checks two nodes that share the files and the database of a site. Each accepts what the other one has
// issued, and what one revokes is invalid on both within five seconds.
func TestNodes(t *testing.T) {
	t.Parallel()
	onBoth(t, settings.Settings{Auth: settings.JWT, JWTRefresh: true}, func(s *site) {
		other := &site{T: s.T, folder: s.folder, password: s.password, clock: s.clock}
		var err error
		other.server, err = cms.New(cms.Options{Site: s.folder, DB: s.server.DB, Now: s.server.Now, Passwords: s.server.Passwords})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(other.server.Close)
		token := s.issue("/api/auth", s.login())
		bearer := []string{"Authorization", "Bearer " + token.JWT}
		other.expect("GET", "/api/test", "", 200, "*", bearer...) // and remembers that it is not revoked
		next := other.issue("/api/auth/access", `{"refresh":"`+token.Refresh+`"}`)
		s.expect("GET", "/api/test", "", 200, "*", "Authorization", "Bearer "+next.JWT)
		s.expect("DELETE", "/api/auth", "", 200, "*", bearer...)
		s.clock.Add(int64(5 * time.Second)) // what a node remembers of another's rows is four seconds old at most
		other.expect("GET", "/api/test", "", 401, "*", bearer...)
		other.expect("POST", "/api/auth/access", `{"refresh":"`+next.Refresh+`"}`, 401, "*")

		changed := *s.server.Settings().Current()
		changed.Auth = settings.Session
		if err := s.server.Settings().Save(changed); err != nil {
			t.Fatal(err)
		}
		if err := other.server.Reload(); err != nil {
			t.Fatal(err)
		}
		s.expect("POST", "/api/auth", s.login(), 200, "*")
		other.cookie = s.cookie
		other.expect("POST", "/api/go/count", "", 200, `{"n":1}`, "Origin", own)
		s.expect("POST", "/api/go/count", "", 200, `{"n":2}`, "Origin", own)
	})
}
