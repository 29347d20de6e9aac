package upstreams_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/upstreams"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/people"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// desk has two providers, of which only open creates accounts, for users of example.com, and a user with a password.
type desk struct {
	*upstreams.Upstreams
	t      *testing.T
	k      authtest.Kernel
	open   *upstreams.Upstream
	closed *upstreams.Upstream
	ann    *users.User
}

func provider(t *testing.T, issuer string) *oidclogin.Provider {
	t.Helper()
	p, err := oidclogin.New(oidclogin.Options{Issuer: issuer, ClientID: "x"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newDesk(t *testing.T, k authtest.Kernel) *desk {
	t.Helper()
	all := &users.Users{Server: k.Server, Passwords: authtest.Quick}
	d := &desk{
		t: t, k: k,
		open: &upstreams.Upstream{
			Slug: "open", Name: "Open", Provider: provider(t, "https://open.example"), Registers: true,
			RegistrationDomains: []string{"example.com"},
		},
		closed: &upstreams.Upstream{
			Slug: "closed", Name: "Closed", Provider: provider(t, "https://closed.example"),
			Hidden: true, Domains: []string{"corp.example"},
		},
	}
	d.Upstreams = upstreams.New(k.Server, upstreams.Options{
		Users: all, List: []*upstreams.Upstream{d.open, d.closed},
		Ways: []func(c store.Conn, user string) (bool, error){users.HasPassword},
	})
	var err error
	if d.ann, err = all.Create(t.Context(),
		users.New{Email: "ann@example.com", Password: "correct horse", Groups: []string{"mine"}}, ""); err != nil {
		t.Fatal(err)
	}
	return d
}

// person returns a person of a provider, with a confirmed address.
func person(up *upstreams.Upstream, subject, email string, groups ...string) *oidclogin.Person {
	return &oidclogin.Person{
		Issuer: up.Issuer(), Subject: subject, Email: email, Confirmed: true,
		Username: "u-" + subject, Groups: groups,
	}
}

// enters signs in a person and returns the user. The sign-in must succeed.
func (d *desk) enters(up *upstreams.Upstream, p *oidclogin.Person) *users.User {
	d.t.Helper()
	u, err := d.SignIn(d.t.Context(), up, p)
	if err != nil {
		d.t.Fatalf("%s at %s: %v", p.Subject, up.Slug, err)
	}
	return u
}

// stored returns a user as stored in the database.
func (d *desk) stored(id string) *users.User {
	d.t.Helper()
	u, err := d.Users.Find(d.t.Context(), id)
	if err != nil {
		d.t.Fatal(err)
	}
	return u
}

// ids lists the accounts that a user has connected.
func (d *desk) ids(user string) (ids []int64) {
	d.t.Helper()
	list, err := d.Of(d.t.Context(), user)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, account := range list {
		ids = append(ids, account.ID)
	}
	return ids
}

func (d *desk) unlinks(user string, id int64, status int) {
	d.t.Helper()
	err := d.Unlink(d.t.Context(), user, id, func(store.Conn) error { return nil })
	if e, ok := apierror.From(err); (err == nil) != (status == 0) || err != nil && (!ok || e.Status != status) {
		d.t.Errorf("unlinking %d: %v, want %d", id, err, status)
	}
}

func (d *desk) links(user string, up *upstreams.Upstream, subject string, status int) {
	d.t.Helper()
	err := d.Link(d.t.Context(), user, up, subject, "u-"+subject)
	if e, ok := apierror.From(err); (err == nil) != (status == 0) || err != nil && (!ok || e.Status != status) {
		d.t.Errorf("linking %s: %v, want %d", subject, err, status)
	}
}

// TestSignIn checks the first sign-ins of persons. Nobody gets access to an account by its mail address.
func TestSignIn(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		d := newDesk(t, k)
		if _, err := d.Users.Create(t.Context(), users.New{Email: "none@example.com"}, ""); err != nil {
			t.Fatal(err)
		}
		unconfirmed := person(d.open, "s-3", "new@example.com")
		unconfirmed.Confirmed = false
		for _, test := range []struct {
			name   string
			up     *upstreams.Upstream
			p      *oidclogin.Person
			reason string
		}{
			{"no registration", d.closed, person(d.closed, "s-1", "new@example.com"), people.NoRegistration},
			{"no address", d.open, person(d.open, "s-2", ""), people.NoAddress},
			{"what is not an address", d.open, person(d.open, "s-2", "new"), people.NoAddress},
			{"not confirmed", d.open, unconfirmed, people.Unconfirmed},
			{"another domain", d.open, person(d.open, "s-4", "new@other.example"), upstreams.OtherDomain},
			{"a domain below", d.open, person(d.open, "s-4", "new@sub.example.com"), upstreams.OtherDomain},
			{"of a user with a password", d.open, person(d.open, "s-5", "Ann@Example.com"), people.Taken},
			{"of a user without one", d.open, person(d.open, "s-6", "none@example.com"), people.Taken},
		} {
			u, err := d.SignIn(t.Context(), test.up, test.p)
			if unknown, ok := errors.AsType[*people.RefusedError](err); !ok || unknown.Reason != test.reason {
				t.Errorf("%s: %+v, error %v", test.name, u, err)
			}
		}
		p := person(d.open, "s-7", "Bob@Example.com")
		p.Name = "Bob Stone"
		bob := d.enters(d.open, p)
		if bob.Email != "Bob@Example.com" || bob.Name != "Bob Stone" || !bob.EmailVerified ||
			bob.Provider != users.Upstream || bob.Role != users.RoleUser {
			t.Errorf("%+v", bob)
		}
		// A person stays the same user, even if the provider later sends another mail address.
		samePerson := person(d.open, "s-7", "ann@example.com")
		samePerson.Confirmed = false
		if u := d.enters(d.open, samePerson); u.ID != bob.ID || u.Email != bob.Email {
			t.Errorf("%+v", u)
		}
		// The same subject at another provider is another person.
		if _, err := d.SignIn(t.Context(), d.closed, person(d.closed, "s-7", "")); err == nil {
			t.Error("the same subject at another provider is accepted")
		}
		if d.enters(d.open, person(d.open, strings.Repeat("é", 120), "long@example.com")) == nil {
			t.Error("a long subject is refused")
		}
	})
}

// TestSignInAtOnce checks concurrent first sign-ins of one person in several tabs.
func TestSignInAtOnce(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		d := newDesk(t, k)
		found := make([]string, 8)
		var all sync.WaitGroup
		for i := range found {
			all.Go(func() {
				u, err := d.SignIn(t.Context(), d.open, person(d.open, "s-1", "bob@example.com"))
				if err != nil {
					t.Error(err)
					return
				}
				found[i] = u.ID
			})
		}
		all.Wait()
		if ids := slices.Compact(found); len(ids) != 1 {
			t.Errorf("they are %v", ids)
		}
	})
}

// TestGroups checks that groups follow the claims of each provider, and that the operator's groups stay.
func TestGroups(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		d := newDesk(t, k)
		d.links(d.ann.ID, d.open, "a", 0)
		d.links(d.ann.ID, d.closed, "b", 0)
		for i, test := range []struct {
			up     *upstreams.Upstream
			groups []string
			want   string
		}{
			{d.open, []string{"ops", "staff"}, "[mine ops staff]"},
			{d.closed, []string{"staff", "audit"}, "[mine ops staff audit]"},
			{d.open, []string{"ops"}, "[mine ops staff audit]"}, // the other provider still sends staff
			{d.closed, nil, "[mine ops]"},
			{d.open, []string{strings.Repeat("x", 101), "a\x00b"}, "[mine]"},
			{d.open, []string{"ops"}, "[mine ops]"},
		} {
			subject := map[*upstreams.Upstream]string{d.open: "a", d.closed: "b"}[test.up]
			d.enters(test.up, person(test.up, subject, "", test.groups...))
			if got := fmt.Sprint(d.stored(d.ann.ID).Groups); got != test.want {
				t.Errorf("%d: %s, want %s", i, got, test.want)
			}
		}
		many := make([]string, 300)
		for i := range many {
			many[i] = fmt.Sprint("g", i)
		}
		d.enters(d.open, person(d.open, "a", "", many...))
		if n := len(d.stored(d.ann.ID).Groups); n > 100 {
			t.Errorf("there are %d groups", n)
		}
		d.unlinks(d.ann.ID, d.ids(d.ann.ID)[0], 0)
		if got := fmt.Sprint(d.stored(d.ann.ID).Groups); got != "[mine]" {
			t.Errorf("after unlinking: %s", got)
		}
	})
}

// TestLinks checks that accounts can be connected and disconnected, but that the last way to sign in cannot be removed.
func TestLinks(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		d := newDesk(t, k)
		bob := d.enters(d.open, person(d.open, "bob", "bob@example.com"))
		d.links(d.ann.ID, d.closed, "ann", 0)
		d.links(d.ann.ID, d.closed, "ann", 0) // linking again changes nothing
		d.links(bob.ID, d.closed, "ann", http.StatusConflict)
		d.links(d.ann.ID, d.open, "bob", http.StatusConflict)
		d.links("nobody", d.closed, "x", http.StatusNotFound)
		if u := d.enters(d.closed, person(d.closed, "ann", "")); u.ID != d.ann.ID {
			t.Errorf("%+v", u)
		}
		list, err := d.Of(t.Context(), d.ann.ID)
		if err != nil || len(list) != 1 || list[0].Name() != "Closed" || list[0].Username != "u-ann" ||
			list[0].UsedAt.IsZero() {
			t.Fatalf("%+v, error %v", list, err)
		}

		// A user without another way to sign in cannot remove the connection; a user with a password can.
		d.unlinks(bob.ID, d.ids(bob.ID)[0], http.StatusConflict)
		d.unlinks(bob.ID, list[0].ID, http.StatusNotFound) // the connection of another user
		d.unlinks(d.ann.ID, list[0].ID, 0)
		d.unlinks(d.ann.ID, list[0].ID, http.StatusNotFound)
		if _, err := d.SignIn(t.Context(), d.closed, person(d.closed, "ann", "ann@example.com")); err == nil {
			t.Error("a disconnected person can sign in")
		}
		d.links(bob.ID, d.closed, "ann", 0)
		d.unlinks(bob.ID, d.ids(bob.ID)[0], 0)
		d.unlinks(bob.ID, d.ids(bob.ID)[0], http.StatusConflict)

		// A provider that was removed from the configuration does not count as a way to sign in.
		other := upstreams.New(k.Server, upstreams.Options{Users: d.Users, List: []*upstreams.Upstream{d.open}, Ways: d.Ways})
		if err := other.Link(t.Context(), bob.ID, d.open, "bob-2", ""); err != nil {
			t.Fatal(err)
		}
		list, err = other.Of(t.Context(), bob.ID)
		if err != nil || len(list) != 2 || list[0].Upstream != nil || list[0].Name() != "https://closed.example" {
			t.Fatalf("%+v, error %v", list, err)
		}
		if err := other.Unlink(t.Context(), bob.ID, list[1].ID, func(store.Conn) error { return nil }); err == nil {
			t.Error("the last way to sign in was removed")
		}
		if err := other.Unlink(t.Context(), bob.ID, list[0].ID,
			func(store.Conn) error { return errors.New("no") }); err == nil || len(d.ids(bob.ID)) != 2 {
			t.Errorf("error %v, %d are left", err, len(d.ids(bob.ID)))
		}
		if err := other.Unlink(t.Context(), bob.ID, list[0].ID, func(store.Conn) error { return nil }); err != nil {
			t.Error(err)
		}

		for i := range 25 {
			err = d.Link(t.Context(), d.ann.ID, d.open, fmt.Sprint("many-", i), "")
		}
		if err == nil || len(d.ids(d.ann.ID)) != 20 {
			t.Errorf("%d are connected, error %v", len(d.ids(d.ann.ID)), err)
		}
		used, err := d.Used(t.Context())
		if use := used["https://open.example"]; err != nil || use.Users != 21 || !use.LastAt.IsZero() {
			t.Errorf("%v, error %v", used, err)
		}
		if err := d.Users.Delete(t.Context(), d.ann.ID, ""); err != nil || len(d.ids(d.ann.ID)) != 0 {
			t.Errorf("error %v, %d are left", err, len(d.ids(d.ann.ID)))
		}
		for _, action := range []string{"user.upstream_linked", "user.upstream_unlinked"} {
			if k.Events.Count(action) == 0 {
				t.Errorf("there is no %s", action)
			}
		}
	})
}

// TestUnlinkedAtOnce checks that one way to sign in stays if a user's two ways are removed at the same time.
func TestUnlinkedAtOnce(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		d := newDesk(t, k)
		bob := d.enters(d.open, person(d.open, "bob", "bob@example.com"))
		for range 10 {
			if len(d.ids(bob.ID)) < 2 {
				d.links(bob.ID, d.closed, "bob", 0)
				d.links(bob.ID, d.open, "bob", 0)
			}
			var wg sync.WaitGroup
			for _, id := range d.ids(bob.ID) {
				wg.Go(func() { _ = d.Unlink(t.Context(), bob.ID, id, func(store.Conn) error { return nil }) })
			}
			wg.Wait()
			if n := len(d.ids(bob.ID)); n != 1 {
				t.Fatalf("%d ways are left", n)
			}
		}
	})
}

// TestProviderMovedFromOIDC checks that a person is recognized after the provider was moved from the section oidc to
// the list.
func TestProviderMovedFromOIDC(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		d := newDesk(t, k)
		before, err := d.Users.FindOrCreate(t.Context(),
			person(d.closed, "eve", "eve@example.com"))
		if err != nil {
			t.Fatal(err)
		}
		d.links(d.ann.ID, d.closed, "eve", http.StatusConflict)
		if u := d.enters(d.closed, person(d.closed, "eve", "")); u.ID != before.ID {
			t.Errorf("%+v", u)
		}
		d.links(before.ID, d.open, "eve", 0)
		d.unlinks(before.ID, d.ids(before.ID)[0], 0)
		if _, err := d.SignIn(t.Context(), d.closed, person(d.closed, "eve", "")); err == nil {
			t.Error("a disconnected person is recognized by the former row")
		}
	})
}

func TestChoice(t *testing.T) {
	t.Parallel()
	d := newDesk(t, authtest.SQLite(t))
	if d.Find("closed") != d.closed || d.Find("") != nil || d.Find("other") != nil ||
		d.At("https://open.example") != d.open || d.At("") != nil {
		t.Error("a wrong provider is found")
	}
	if shown := d.Shown(); len(shown) != 1 || shown[0] != d.open || !d.ByAddress() {
		t.Errorf("%v", shown)
	}
	for email, want := range map[string]*upstreams.Upstream{
		"ann@corp.example": d.closed, "Ann@CORP.example": d.closed, "ann@sub.corp.example": nil, "ann@example.com": nil,
		"corp.example": nil, "@corp.example": nil, "": nil,
	} {
		if d.OfAddress(email) != want {
			t.Errorf("%q leads to another provider", email)
		}
	}
}
