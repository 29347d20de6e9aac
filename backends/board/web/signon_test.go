package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin/oidclogintest"
	"github.com/tollgate-gateway/tollgate/internal/pages/pagestest"
	"github.com/tollgate-gateway/tollgate/internal/people/peopletest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// signOn is a board whose members sign in at a provider.
type signOn struct {
	*site
	at *oidclogintest.Provider
}

func newSignOn(t *testing.T, db *store.DB) *signOn {
	t.Helper()
	s := &signOn{at: oidclogintest.New(t)}
	memory := counters.NewMemory(nil)
	provider, err := oidclogin.New(oidclogin.Options{
		Issuer: s.at.URL, ClientID: oidclogintest.ClientID, Secret: oidclogintest.Secret,
		Groups: map[string][]string{"root": {"administrators"}, "staff": {"moderators", "nobodys"}},
		Key:    func() []byte { return s.service.Key() }, Counters: func() counters.Store { return memory },
	})
	if err != nil {
		t.Fatal(err)
	}
	s.site = newSite(t, db, web.Options{OIDC: provider, OIDCLabel: "Example"})
	return s
}

// come signs a person in with a new browser, and returns the page on which that ends.
func (s *signOn) come(loginPath string, claims map[string]any) (*pagestest.Browser, *pagestest.Page) {
	s.t.Helper()
	b := pagestest.New(s.t, s.server.URL, false)
	return b, s.comeAgain(b, loginPath, claims)
}

func (s *signOn) comeAgain(b *pagestest.Browser, loginPath string, claims map[string]any) *pagestest.Page {
	s.t.Helper()
	s.at.Claims = claims
	led := b.Get(loginPath).Want(http.StatusSeeOther)
	return b.Get("/login/oidc/callback?" + s.at.Visit(led.Header.Get("Location")).Encode())
}

func claims(sub, email string, more ...any) map[string]any {
	c := map[string]any{"sub": sub, "email": email, "email_verified": true}
	for i := 0; i+1 < len(more); i += 2 {
		c[more[i].(string)] = more[i+1]
	}
	return c
}

func (s *signOn) groups(name string) int64 {
	return s.number("SELECT count(*) FROM board_user_groups g JOIN board_users u ON u.id = g.user_id JOIN board_groups n ON n.id = g.group_id WHERE u.username = '" + name + "' AND n.name IN ('administrators', 'moderators')")
}

func TestSignOn(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSignOn(t, db)
		set := func(registration string) {
			s.exec("INSERT INTO board_settings (name, value) VALUES ('registration', '" + registration + "') ON CONFLICT (name) DO UPDATE SET value = excluded.value")
			s.exec("UPDATE board_permission_version SET version = version + 1")
		}
		set("open")
		members := s.number("SELECT count(*) FROM board_users")
		s.guest().Get("/login?next=/search").Want(http.StatusOK, "Sign in with Example", `href="/login/oidc?next=%2fsearch"`)

		// A person whose address is confirmed on both sides is the member who has it, and remains that member if
		// the address changes.
		b, p := s.come("/login/oidc?next=/account", claims("s-bob", "BOB@example.com"))
		p.Want(http.StatusSeeOther).Leads("/account")
		b.Get("/account").Want(http.StatusOK, "bob")
		_, p = s.come("/login/oidc", claims("s-bob", "robert@example.com"))
		p.Want(http.StatusSeeOther)
		if n := s.number("SELECT count(*) FROM board_users"); n != members {
			t.Errorf("%d members, want %d", n, members)
		}
		// Another person who later gets the address does not get the account.
		_, p = s.come("/login/oidc", claims("s-bob-2", "bob@example.com"))
		p.Want(http.StatusConflict, "Another person")

		// An address that is unconfirmed on either side opens nothing.
		_, p = s.come("/login/oidc", claims("s-eve", "eve@example.com", "email_verified", false))
		p.Want(http.StatusForbidden, "does not confirm")
		_, p = s.come("/login/oidc", claims("s-eve", ""))
		p.Want(http.StatusForbidden)
		s.exec("UPDATE board_users SET email_confirmed = 0 WHERE username = 'eve'")
		_, p = s.come("/login/oidc", claims("s-eve", "eve@example.com"))
		p.Want(http.StatusConflict, "has not confirmed it")
		s.exec("UPDATE board_users SET state = 'banned', email_confirmed = 1 WHERE username = 'eve'")
		_, p = s.come("/login/oidc", claims("s-eve", "eve@example.com"))
		p.Want(http.StatusForbidden)

		// Other persons join in the way in which the board accepts members.
		_, p = s.come("/login/oidc", claims("s-new", "new@example.com", "preferred_username", "bob", "name", "Nina <New>"))
		p.Want(http.StatusSeeOther)
		if n := s.number("SELECT count(*) FROM board_users WHERE username = 'Nina New' AND email = 'new@example.com' AND email_confirmed = 1 AND password_hash = '' AND state = 'active'"); n != 1 {
			t.Error("a new person has not become a member")
		}
		set("approval")
		for range 2 {
			_, p = s.come("/login/oidc", claims("s-later", "later@example.com"))
			p.Want(http.StatusSeeOther).Leads("/login")
		}
		set("closed")
		_, p = s.come("/login/oidc", claims("s-last", "last@example.com"))
		p.Want(http.StatusForbidden, "takes no new members")
	})
}

func TestSignOnGroups(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSignOn(t, db)
		for _, c := range []struct {
			groups any
			want   int64
		}{{[]any{"root", "staff", "x"}, 2}, {"staff", 1}, {nil, 0}, {[]any{"administrators"}, 0}} {
			_, p := s.come("/login/oidc", claims("s-bob", "bob@example.com", "groups", c.groups))
			p.Want(http.StatusSeeOther)
			if got := s.groups("bob"); got != c.want {
				t.Errorf("%v: in %d groups, want %d", c.groups, got, c.want)
			}
		}
	})
}

// TestSignOnLastAdministrator checks that a provider which no longer names any administrators does not leave the
// board without one. The sign-in succeeds, and the log shows what happened.
func TestSignOnLastAdministrator(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSignOn(t, db)
		sign := func(name string, groups any, want, wantLogged int64) *pagestest.Browser {
			t.Helper()
			before := s.number("SELECT count(*) FROM board_moderation_log")
			b, p := s.come("/login/oidc", claims("s-"+name, name+"@example.com", "groups", groups))
			p.Want(http.StatusSeeOther)
			if got := s.groups(name); got != want {
				t.Errorf("%s, %v: in %d groups, want %d", name, groups, got, want)
			}
			if n := s.number("SELECT count(*) FROM board_moderation_log") - before; n != wantLogged {
				t.Errorf("%s, %v: %d log entries, want %d", name, groups, n, wantLogged)
			}
			return b
		}
		sign("ada", "staff", 2, 1).Get("/admin").Want(http.StatusSeeOther).Leads("/confirm") // not 403
		if n := s.number("SELECT count(*) FROM board_moderation_log WHERE actor_id IS NULL AND action = 'member.groups' AND detail = 'ada: stays in administrators as the last administrator, against single sign-on'"); n != 1 {
			t.Error("the log does not say which member stays in which group")
		}
		sign("ada", nil, 1, 1) // moderators is still there, but does not make an administrator
		// A member who cannot act does not count as another administrator.
		sign("bob", "root", 1, 0)
		s.exec("UPDATE board_users SET suspended_until = " + at("%d", s.clock.now().Add(time.Hour).UnixMicro()) + " WHERE username = 'bob'")
		sign("ada", nil, 1, 1)
		s.exec("UPDATE board_users SET suspended_until = NULL WHERE username = 'bob'")
		sign("ada", nil, 0, 0)
		sign("bob", nil, 1, 1)

		// Two administrators at the same time cannot both lose the right.
		sign("ada", "root", 1, 0)
		errs := make(chan error, 2)
		for _, name := range []string{"ada", "bob"} {
			go func() {
				_, err := s.service.Accounts.SignOn(t.Context(), &oidclogin.Person{Issuer: s.at.URL, Subject: "s-" + name}, []string{"administrators"}, "")
				errs <- err
			}()
		}
		for range 2 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if n := s.groups("ada") + s.groups("bob"); n != 1 {
			t.Errorf("%d administrators are left", n)
		}
	})
}

// TestSignOnAgain checks that pages which ask for the password are opened by signing in again at the provider.
func TestSignOnAgain(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSignOn(t, db)
		b, p := s.come("/login/oidc", claims("s-ada", "ada@example.com", "groups", "root"))
		p.Want(http.StatusSeeOther)
		b.Get("/admin").Want(http.StatusSeeOther).Leads("/confirm") // a session of the provider may be old
		b.Get("/confirm?next=/admin").Want(http.StatusOK, "Sign in with Example once more")
		freshClaims := claims("s-ada", "ada@example.com", "groups", "root", "auth_time", time.Now().Unix())
		s.clock.micros.Store(time.Now().UnixMicro())
		s.comeAgain(b, "/login/oidc?again=1&next=/admin", freshClaims).Want(http.StatusSeeOther).Leads("/admin")
		b.Get("/admin").Want(http.StatusOK)
	})
}

// TestSignOnOnce checks that a sign-in ends where it began, and works only once.
func TestSignOnOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSignOn(t, db)
		s.at.Claims = claims("s-bob", "bob@example.com")
		b := pagestest.New(t, s.server.URL, false)
		query := s.at.Visit(b.Get("/login/oidc?next=https://evil.example.com/").Header.Get("Location"))
		pagestest.New(t, s.server.URL, false).Get("/login/oidc/callback?"+query.Encode()).Want(http.StatusForbidden, "another browser")
		if u := b.Get("/login/oidc/callback?" + query.Encode()).Want(http.StatusSeeOther).Header.Get("Location"); u != "/" {
			t.Errorf("led to %q", u)
		}
		b.Get("/login/oidc/callback?" + query.Encode()).Want(http.StatusForbidden)
		s.at.Down = true
		other := pagestest.New(t, s.server.URL, false)
		if query = s.at.Visit(other.Get("/login/oidc").Header.Get("Location")); query.Get("state") == "" {
			t.Fatal("no state")
		}
		other.Get("/login/oidc/callback?" + query.Encode()).Want(http.StatusServiceUnavailable)
		other.Get("/login/oidc/callback?" + url.Values{"state": {strings.Repeat("x", 50)}}.Encode()).Want(http.StatusForbidden)

		plain := newSite(t, db, web.Options{})
		plain.guest().Get("/login").Lacks("/login/oidc")
		plain.guest().Get("/login/oidc").Want(http.StatusNotFound)
		plain.guest().Get("/login/oidc/callback").Want(http.StatusNotFound)
	})
}

// TestEndSessions checks that a sign-out at the provider ends the sessions that began there, and those of nobody
// else.
func TestEndSessions(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSignOn(t, db)
		signedIn := func(b *pagestest.Browser, want bool) {
			t.Helper()
			if got := strings.Contains(b.Get("/account").Text, "Sign out"); got != want {
				t.Errorf("signed in: %t", got)
			}
		}
		bob, p := s.come("/login/oidc", claims("s-bob", "bob@example.com"))
		p.Want(http.StatusSeeOther)
		ada, p := s.come("/login/oidc", claims("s-ada", "ada@example.com"))
		p.Want(http.StatusSeeOther)
		password := s.as("bob")
		for _, identity := range [][2]string{{s.at.URL, "s-nobody"}, {"https://other.example", "s-bob"}} {
			if err := s.service.Accounts.EndSessions(t.Context(), identity[0], identity[1]); err != nil {
				t.Error(err)
			}
		}
		signedIn(bob, true)
		if err := s.service.Accounts.EndSessions(t.Context(), s.at.URL, "s-bob"); err != nil {
			t.Fatal(err)
		}
		signedIn(bob, false)
		signedIn(ada, true)
		signedIn(password.Browser, true)
	})
}

// TestSignOnAttacks attacks the sign-in at the provider with several browsers.
func TestSignOnAttacks(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSignOn(t, db)
		s.exec("INSERT INTO board_settings (name, value) VALUES ('registration', 'open') ON CONFLICT (name) DO UPDATE SET value = excluded.value")
		s.exec("UPDATE board_permission_version SET version = version + 1")
		peopletest.AttackSite(t, &peopletest.Site{
			URL: s.server.URL, Provider: s.at, Start: "/login/oidc", Callback: "/login/oidc/callback", Inside: "/account",
		})
	})
}
