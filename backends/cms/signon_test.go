package cms_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/cms"
	"github.com/tollgate-gateway/tollgate/backends/cms/accounts"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin/oidclogintest"
	"github.com/tollgate-gateway/tollgate/internal/pages/pagestest"
	"github.com/tollgate-gateway/tollgate/internal/people/peopletest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// signOn is an administration whose users sign in at a provider.
type signOn struct {
	*office
	at *oidclogintest.Provider
}

func newSignOn(t *testing.T, db *store.DB) *signOn {
	t.Helper()
	provider, memory := oidclogintest.New(t), counters.NewMemory(nil)
	s := newSite(t, db, settings.Settings{}, func(o *cms.Options) {
		var err error
		o.OIDCLabel = "Example"
		o.OIDC, err = oidclogin.New(oidclogin.Options{
			Issuer: provider.URL, ClientID: oidclogintest.ClientID, Secret: oidclogintest.Secret, Key: o.Key, Counters: func() counters.Store { return memory },
			Groups: map[string][]string{"root": {"superuser"}, "staff": {"editor", "nobodys"}},
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	if _, err := s.server.Accounts().SaveRole(t.Context(), kernel.Site(), accounts.Role{Name: "editor", Label: "Editors", Permissions: []string{kernel.PermissionAdmin}}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.server)
	t.Cleanup(server.Close)
	return &signOn{&office{s, server.URL}, provider}
}

// come signs a person in by a new browser, and is the page that the sign-in ends on.
func (s *signOn) come(sub, email string, confirmed bool, groups ...any) *pagestest.Page {
	s.Helper()
	s.at.Claims = map[string]any{"sub": sub, "email": email, "email_verified": confirmed, "groups": groups}
	b := pagestest.New(s.T, s.url, false)
	led := b.Get("/admin/login/oidc?next=/trash").Want(http.StatusSeeOther)
	p := b.Get("/admin/login/oidc/callback?" + s.at.Visit(led.Header.Get("Location")).Encode())
	if p.StatusCode == http.StatusSeeOther {
		p.Leads("/admin/trash")
	}
	return p
}

// TestEndSessions checks that a sign-out at the provider ends the sessions that began there, and no others.
func TestEndSessions(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		s := newSignOn(t, db)
		come := func(sub string) *pagestest.Browser {
			t.Helper()
			return s.come(sub, sub+"@example.com", true, "root").Want(http.StatusSeeOther).Browser
		}
		ann, bob := come("s-ann"), come("s-bob")
		for _, identity := range [][2]string{{s.at.URL, "s-nobody"}, {"https://other.example", "s-ann"}} {
			if err := s.server.EndSessions(t.Context(), identity[0], identity[1]); err != nil {
				t.Error(err)
			}
		}
		ann.Get("/admin/trash").Want(http.StatusOK)
		if err := s.server.EndSessions(t.Context(), s.at.URL, "s-ann"); err != nil {
			t.Fatal(err)
		}
		ann.Get("/admin/trash").Want(http.StatusSeeOther)
		bob.Get("/admin/trash").Want(http.StatusOK)
	})
}

// roles returns the roles of a user.
func (s *signOn) roles(name string) string {
	s.Helper()
	account, err := s.server.Accounts().Named(s.Context(), name)
	if err != nil {
		s.Fatal(err)
	}
	return strings.Join(account.Roles, " ")
}

func TestSignOn(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		s := newSignOn(t, db)
		pagestest.New(t, s.url, true).Get("/admin/login").Want(http.StatusOK, "Sign in with Example", `href="/admin/login/oidc?next=`)

		// A user is made for whom a group gives a role, and has the roles of the groups of the newest sign-in.
		s.come("s-bob", "bob@example.com", true).Want(http.StatusForbidden, "o group of yours")
		s.come("s-bob", "bob@example.com", false, "staff").Want(http.StatusForbidden, "does not confirm")
		p := s.come("s-bob", "bob@example.com", true, "staff").Want(http.StatusSeeOther)
		p.Browser.Get("/admin/trash").Want(http.StatusOK, "bob").Lacks("/admin/roles")
		if got := s.roles("bob"); got != "editor" {
			t.Errorf("roles %q", got)
		}
		s.come("s-bob", "robert@example.com", false, "root", "staff").Want(http.StatusSeeOther)
		p.Browser.Get("/admin/roles").Want(http.StatusOK) // of the session before, too
		s.come("s-bob", "", false).Want(http.StatusSeeOther)
		p.Browser.Get("/admin/trash").Want(http.StatusForbidden)
		if got := s.roles("bob"); got != "" {
			t.Errorf("roles %q", got)
		}

		// Another person who has the address now does not get the account.
		s.come("s-bob-2", "bob@example.com", true, "root").Want(http.StatusConflict, "nother person")

		// An address counts that an administrator has set, and not one of a user's own choice.
		ctx, all := t.Context(), s.server.Accounts()
		mallory, err := all.Create(ctx, kernel.Site(), "mallory", accounts.Change{Email: new("mallory@example.com"), Roles: &[]string{"editor"}})
		if err != nil {
			t.Fatal(err)
		}
		self, _, err := all.User(ctx, mallory.ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := all.Update(ctx, self, mallory.ID, accounts.Change{Email: new("eve@example.com")}); err != nil {
			t.Fatal(err)
		}
		s.come("s-eve", "eve@example.com", true, "root").Want(http.StatusConflict, "no administrator has confirmed")
		for _, email := range []string{"eve@example.com", "mallory@example.com"} {
			if _, err := all.Update(ctx, kernel.Site(), mallory.ID, accounts.Change{Email: &email}); err != nil {
				t.Fatal(err)
			}
		}
		s.come("s-mallory", "Mallory@example.com", true, "staff").Want(http.StatusSeeOther)
		if _, err := all.Update(ctx, kernel.Site(), mallory.ID, accounts.Change{Status: new(accounts.StatusDisabled)}); err != nil {
			t.Fatal(err)
		}
		s.come("s-mallory", "mallory@example.com", true, "staff").Want(http.StatusForbidden, "disabled")

		// The last superuser with a password stays one, whatever the provider says.
		ann, err := all.Named(ctx, "ann")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := all.Update(ctx, kernel.Site(), ann.ID, accounts.Change{Email: new("ann@example.com")}); err != nil {
			t.Fatal(err)
		}
		s.come("s-ann", "ann@example.com", true, "staff").Want(http.StatusConflict, "last active superuser")
		s.come("s-ann", "ann@example.com", true, "root").Want(http.StatusSeeOther)
		if got := s.roles("ann"); got != "superuser" {
			t.Errorf("roles %q", got)
		}
	})
}

func TestSignOnWithoutProvider(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		o := newOffice(t, db)
		b := pagestest.New(t, o.url, true)
		b.Get("/admin/login").Want(http.StatusOK).Lacks("oidc")
		b.Get("/admin/login/oidc").Want(http.StatusNotFound)
		b.Get("/admin/login/oidc/callback?state=x").Want(http.StatusNotFound)
	})
}

// TestSignOnAttacked attacks the sign-in at the provider with several browsers.
func TestSignOnAttacked(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		s := newSignOn(t, db)
		peopletest.AttackSite(t, &peopletest.Site{
			URL: s.url, Provider: s.at, Start: "/admin/login/oidc", Callback: "/admin/login/oidc/callback",
			Inside: "/admin/trash", Claims: map[string]any{"groups": []any{"root"}},
		})
	})
}
