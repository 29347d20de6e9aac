package openid_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/keys"
	"github.com/tollgate-gateway/tollgate/backends/authserver/login"
	"github.com/tollgate-gateway/tollgate/backends/authserver/openid"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/outbound"
	"github.com/tollgate-gateway/tollgate/internal/password"
)

// party is an application that receives logout tokens.
type party struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	told   []string // the logout tokens
}

func newParty(t *testing.T) *party {
	t.Helper()
	p := &party{status: http.StatusOK}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if r.Method != http.MethodPost || r.FormValue("logout_token") == "" {
			t.Errorf("%s without a token", r.Method)
		}
		p.told = append(p.told, r.PostFormValue("logout_token"))
		w.WriteHeader(p.status)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *party) answers(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
}

// take returns the logout tokens that were received, and forgets them.
func (p *party) take() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	logoutTokens := p.told
	p.told = nil
	return logoutTokens
}

// logins has the packages that sessions need, a user, a client and the application that it belongs to.
type logins struct {
	authtest.Kernel
	t      *testing.T
	openid *openid.OpenID
	login  *login.Login
	users  *users.Users
	ann    *users.User
	party  *party
	client *clients.Client
}

func newLogins(t *testing.T, k authtest.Kernel) *logins {
	t.Helper()
	l := &logins{Kernel: k, t: t, party: newParty(t)}
	quick := password.Hasher{Params: password.Params{Memory: 8, Passes: 1, Lanes: 1}}
	l.users = &users.Users{Server: k.Server, Passwords: quick}
	l.login = login.New(k.Server, l.users, login.Options{MaxAge: 24 * time.Hour, Failures: 3, Window: time.Minute, Lock: time.Minute, Identities: 10})
	known := clients.New(k.Server, clients.Options{Hasher: quick})
	l.openid = &openid.OpenID{
		Server: k.Server, Users: l.users, Clients: known, HTTP: outbound.NewClient([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, openid.LogoutTimeout), SessionLife: 24 * time.Hour,
		Keys: keys.New(k.Server, keys.Options{Store: keys.Files{Folder: t.TempDir()}, Algorithm: keys.ES256, Retain: time.Hour}),
	}
	var err error
	if l.ann, err = l.users.Create(t.Context(), users.New{Email: "ann@example.com", Password: "correct horse"}, ""); err != nil {
		t.Fatal(err)
	}
	l.client = &clients.Client{
		Name: "The App", Source: clients.Admin, AuthMethod: clients.MethodNone, Grants: []string{clients.GrantCode}, Redirects: []string{"https://app.example/cb"},
		Metadata: clients.Metadata{BackchannelLogout: l.party.URL + "/told"},
	}
	if _, err := known.Create(t.Context(), l.client); err != nil {
		t.Fatal(err)
	}
	return l
}

// signsIn begins a session in the browser that has a cookie.
func (l *logins) signsIn(former string) (cookie string) {
	l.t.Helper()
	cookie, _, err := l.login.SignIn(l.t.Context(), login.Attempt{Email: "ann@example.com", Password: "correct horse", Former: former, Address: "192.0.2.1"})
	if err != nil {
		l.t.Fatal(err)
	}
	return cookie
}

// claims returns the claims of an ID token that the client gets in the session of a cookie.
func (l *logins) claims(cookie string) map[string]any {
	l.t.Helper()
	session := l.login.Resume(l.t.Context(), cookie)
	text, err := l.openid.IDToken(l.t.Context(), tokens.Grant{
		Client: l.client.ID, User: l.ann.ID, Scope: []string{"openid"}, Session: session.ID, Methods: session.Methods, AuthTime: session.AuthTime,
	}, "token")
	if err != nil {
		l.t.Fatal(err)
	}
	return claimsOf(l.t, text)
}

func claimsOf(t *testing.T, token string) (claims map[string]any) {
	t.Helper()
	parts := strings.Split(token, ".")
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(raw, &claims)
	}
	if err != nil {
		t.Fatal(err)
	}
	return claims
}

// tells sends logout tokens, and returns those that the client has received.
func (l *logins) tells() []string {
	l.t.Helper()
	if _, err := l.openid.TellLogouts(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	return l.party.take()
}

// TestBackchannelLogout checks that a client is notified of the end of its session, for each way in which a session
// ends.
func TestBackchannelLogout(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(l *logins, cookie string) error{
		"signed out":   func(l *logins, cookie string) error { return l.login.SignOut(context.Background(), cookie, "") },
		"all sessions": func(l *logins, _ string) error { return l.login.EndSessions(context.Background(), l.ann.ID) },
		"by the user":  func(l *logins, _ string) error { return l.login.EndOtherBrowsers(context.Background(), l.ann.ID, 0) },
		"another password": func(l *logins, _ string) error {
			return authtest.SetPassword(context.Background(), l.users, l.ann.ID, "battery staple", "")
		},
		"the user disabled": func(l *logins, _ string) error {
			_, err := l.users.Disable(context.Background(), l.ann.ID, "")
			return err
		},
		"the user deleted": func(l *logins, _ string) error { return l.users.Delete(context.Background(), l.ann.ID, "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
				l := newLogins(t, k)
				cookie := l.signsIn("")
				l.signsIn("") // a session without the client
				id := l.claims(cookie)
				l.claims(cookie) // a second ID token in the session
				if logoutTokens := l.tells(); len(logoutTokens) != 0 {
					t.Errorf("notified of a session that continues: %q", logoutTokens)
				}
				if err := end(l, cookie); err != nil {
					t.Fatal(err)
				}
				logoutTokens := l.tells()
				if len(logoutTokens) != 1 {
					t.Fatalf("notified %d times, want once", len(logoutTokens))
				}
				if _, err := l.openid.Keys.Verify(t.Context(), keys.LogoutToken, logoutTokens[0]); err != nil {
					t.Error(err)
				}
				got := claimsOf(t, logoutTokens[0])
				events, _ := got["events"].(map[string]any)
				if got["sid"] != id["sid"] || got["sub"] != l.ann.ID || got["aud"] != l.client.ID || got["iss"] != authtest.Issuer || got["nonce"] != nil ||
					events["http://schemas.openid.net/event/backchannel-logout"] == nil || len(id["sid"].(string)) < 20 {
					t.Errorf("the logout token has %v, the ID token %v", got, id)
				}
				if extra := l.tells(); len(extra) != 0 {
					t.Errorf("notified once more: %q", extra)
				}
			})
		})
	}
}

// TestSignInAgainIsNoLogout checks that a client stays in the session of a user who signs in again in the same browser,
// with the same sid, and is notified when that session ends.
func TestSignInAgainIsNoLogout(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		l := newLogins(t, k)
		first := l.signsIn("")
		before := l.claims(first)
		second := l.signsIn(first)
		if logoutTokens := l.tells(); len(logoutTokens) != 0 {
			t.Errorf("notified of a logout: %q", logoutTokens)
		}
		if after := l.claims(second); after["sid"] != before["sid"] {
			t.Errorf("the sid is %v, was %v", after["sid"], before["sid"])
		}
		if err := l.login.SignOut(t.Context(), second, ""); err != nil {
			t.Fatal(err)
		}
		if logoutTokens := l.tells(); len(logoutTokens) != 1 || claimsOf(t, logoutTokens[0])["sid"] != before["sid"] {
			t.Errorf("notified of %q", logoutTokens)
		}
	})
}

// TestLogoutIsSentAgain checks that a logout token is sent again after a failed response, but not after a refusal.
func TestLogoutIsSentAgain(t *testing.T) {
	t.Parallel()
	l := newLogins(t, authtest.SQLite(t))
	ends := func() {
		t.Helper()
		cookie := l.signsIn("")
		l.claims(cookie)
		if err := l.login.SignOut(t.Context(), cookie, ""); err != nil {
			t.Fatal(err)
		}
	}
	ends()
	l.party.answers(http.StatusServiceUnavailable)
	if n := len(l.tells()); n != 1 {
		t.Fatalf("tried %d times", n)
	}
	if n := len(l.tells()); n != 0 {
		t.Errorf("tried at once again, %d times", n)
	}
	l.party.answers(http.StatusNoContent)
	l.Clock.Pass(time.Minute)
	if n := len(l.tells()); n != 1 {
		t.Errorf("tried %d times later", n)
	}
	l.party.answers(http.StatusBadRequest)
	ends()
	l.tells()
	l.Clock.Pass(2 * time.Hour)
	if n := len(l.tells()); n != 0 {
		t.Errorf("a client that refuses gets %d more requests", n)
	}
}

// TestFailingClientDelaysNoOther checks that a failing client is tried only a few times in a run, however many logout
// tokens wait for it.
func TestFailingClientDelaysNoOther(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		l := newLogins(t, k)
		const sessions, atOnce = 20, 8
		for range sessions {
			l.claims(l.signsIn(""))
		}
		if err := l.login.EndSessions(t.Context(), l.ann.ID); err != nil {
			t.Fatal(err)
		}
		l.party.answers(http.StatusServiceUnavailable)
		if n := len(l.tells()); n == 0 || n > atOnce {
			t.Errorf("tried %d times in a run, want at most %d", n, atOnce)
		}
		l.party.answers(http.StatusOK)
		l.Clock.Pass(30 * time.Second)
		if n := len(l.tells()); n != sessions {
			t.Errorf("notified of %d sessions later, want all %d", n, sessions)
		}
	})
}

// TestExpiredSessionIsNoLogout checks that clients are not notified of a session that expires.
func TestExpiredSessionIsNoLogout(t *testing.T) {
	t.Parallel()
	l := newLogins(t, authtest.SQLite(t))
	l.claims(l.signsIn(""))
	l.Clock.Pass(25 * time.Hour)
	for _, job := range l.login.Jobs() {
		if _, err := job.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if logoutTokens := l.tells(); len(logoutTokens) != 0 {
		t.Errorf("notified of %q", logoutTokens)
	}
}

// TestClientsWithoutBackchannelLogout checks that their ID tokens contain no sid.
func TestClientsWithoutBackchannelLogout(t *testing.T) {
	t.Parallel()
	l := newLogins(t, authtest.SQLite(t))
	if _, err := l.openid.Clients.Edit(t.Context(), l.client.ID, func(c *clients.Client) error {
		c.Metadata.BackchannelLogout = ""
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if id := l.claims(l.signsIn("")); id["sid"] != nil {
		t.Errorf("%v", id)
	}
}
