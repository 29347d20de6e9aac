package users_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

var databases = storetest.Fixture{Schemas: []store.Schema{authserver.Schema()}}

// cheap are parameters with which password hashes are fast.
var cheap = password.Params{Memory: 8, Passes: 1, Lanes: 1}

// people are the users of a test, with the events about them and the ids of deleted users.
type people struct {
	*users.Users
	t      *testing.T
	events []string
	gone   []string
	hashes atomic.Int64
}

// setPassword sets the password of the user with the given id. The change is attributed to actor.
func (p *people) setPassword(id, pass, actor string) error {
	_, err := p.Update(p.t.Context(), id, users.Change{Password: &pass}, actor)
	return err
}

func newPeople(t *testing.T, db *store.DB) *people {
	t.Helper()
	p := &people{t: t}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	gate := make(chan struct{})
	go func() { // permits one hash after another, and counts them
		for {
			select {
			case <-gate:
				p.hashes.Add(1)
				gate <- struct{}{}
			case <-t.Context().Done():
				return
			}
		}
	}()
	p.Users = &users.Users{
		Server: &kernel.Server{
			DB: db, Now: func() time.Time { now = now.Add(time.Second); return now },
			Audit: func(_ context.Context, e kernel.Event) { p.events = append(p.events, e.Action+" "+e.Actor) },
		},
		Passwords: password.Hasher{Params: cheap, Gate: gate},
		Gone:      []func(c store.Conn, user string) error{func(_ store.Conn, user string) error { p.gone = append(p.gone, user); return nil }},
	}
	return p
}

func (p *people) add(n users.New) *users.User {
	p.t.Helper()
	u, err := p.Create(p.t.Context(), n, "admin")
	if err != nil {
		p.t.Fatal(err)
	}
	return u
}

// signs checks whether a user can sign in with a password, and that this takes one hash.
func (p *people) signs(email, pass string, want bool) {
	p.t.Helper()
	before := p.hashes.Load()
	u, err := p.Verify(p.t.Context(), email, pass)
	if (err == nil) != want || err != nil && !errors.Is(err, users.ErrCredentials) || want != (u != nil) {
		p.t.Errorf("%q signs in: %v, want %v", email, err, want)
	}
	if n := p.hashes.Load() - before; n != 1 {
		p.t.Errorf("%q costs %d hashes", email, n)
	}
}

func refused(t *testing.T, err error, status int, field string) {
	t.Helper()
	e, ok := apierror.From(err)
	if !ok || e.Status != status || e.Param != field {
		t.Errorf("refused by %v, want %d of %q", err, status, field)
	}
}

func TestUsers(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		p := newPeople(t, db)
		ctx := t.Context()
		ann := p.add(users.New{Email: " Ann@Example.com ", Name: "Ann", Password: "correct horse", Groups: []string{"staff"}})
		if ann.Email != "Ann@Example.com" || ann.Role != users.RoleUser || !ann.Active() || ann.Provider != users.Local || ann.ID == "" || strings.HasPrefix(ann.ID, "http") {
			t.Errorf("created %+v", ann)
		}
		bob := p.add(users.New{Email: "bob@example.com", Role: users.RoleAdmin, EmailVerified: true})
		found, err := p.FindByEmail(ctx, "aNN@example.COM")
		if err != nil || found.ID != ann.ID || found.Name != "Ann" || !slices.Equal(found.Groups, []string{"staff"}) {
			t.Errorf("found %+v: %v", found, err)
		}
		if list, err := p.List(ctx, "", kernel.Page{Limit: 10, Newest: true}); err != nil || len(list) != 2 || list[0].ID != bob.ID || !list[0].EmailVerified || list[1].ID != ann.ID {
			t.Errorf("listed %+v: %v", list, err)
		}
		if list, err := p.List(ctx, "", kernel.Page{Limit: 10, Offset: 1, Newest: true}); err != nil || len(list) != 1 || list[0].ID != ann.ID {
			t.Errorf("listed %+v: %v", list, err)
		}
		for text, want := range map[string]int{"ANN": 1, "@example": 2, "example_com": 0, "%": 0, "carol": 0} {
			if list, err := p.List(ctx, text, kernel.Page{Limit: 10, Newest: true}); err != nil || len(list) != want {
				t.Errorf("%q: %d users, %v", text, len(list), err)
			}
		}
		if n, err := p.Total(ctx, "", 10); n != 2 || err != nil {
			t.Errorf("counted %d: %v", n, err)
		}
		p.signs("ann@example.com", "correct horse", true)
		for _, wrong := range [][2]string{{"ann@example.com", "wrong horse"}, {"ann@example.com", ""}, {"bob@example.com", ""}, {"bob@example.com", "correct horse"}, {"nobody@example.com", "correct horse"}, {"", ""}, {"ann@example.com", strings.Repeat("x", 1<<20)}, {"\x00", "\x00"}} {
			p.signs(wrong[0], wrong[1], false)
		}

		mail, short, admin := "ann@example.org", "x", users.RoleAdmin
		if _, err := p.Update(ctx, ann.ID, users.Change{Password: &short}, "admin"); err == nil {
			t.Error("a short password is accepted")
		}
		if u, err := p.Update(ctx, ann.ID, users.Change{Email: &mail, Role: &admin}, "admin"); err != nil || u.Email != mail || u.Role != admin || u.Name != "Ann" || u.UpdatedAt == u.CreatedAt {
			t.Errorf("changed to %+v: %v", u, err)
		}
		p.signs("ann@example.com", "correct horse", false)
		if err := p.setPassword(ann.ID, "battery staple", "admin"); err != nil {
			t.Error(err)
		}
		p.signs(mail, "correct horse", false)
		p.signs(mail, "battery staple", true)

		if u, err := p.Disable(ctx, ann.ID, "admin"); err != nil || u.Active() {
			t.Errorf("disabled %+v: %v", u, err)
		}
		p.signs(mail, "battery staple", false)
		if u, err := p.Enable(ctx, ann.ID, "admin"); err != nil || !u.Active() {
			t.Errorf("enabled %+v: %v", u, err)
		}
		p.signs(mail, "battery staple", true)
		if err := p.SignOut(ctx, ann.ID, "admin"); err != nil {
			t.Error(err)
		}
		if err := p.Delete(ctx, bob.ID, "admin"); err != nil {
			t.Error(err)
		}
		for name, err := range map[string]error{
			"find": func() error { _, err := p.Find(ctx, bob.ID); return err }(), "delete": p.Delete(ctx, bob.ID, ""), "sign out": p.SignOut(ctx, bob.ID, ""),
			"disable": func() error { _, err := p.Disable(ctx, "\x00", ""); return err }(), "update": func() error { _, err := p.Update(ctx, bob.ID, users.Change{}, ""); return err }(),
		} {
			if !users.IsNone(err) {
				t.Errorf("%s of an unknown user: %v", name, err)
			}
		}
		if want := []string{ann.ID, ann.ID, ann.ID, bob.ID}; !slices.Equal(p.gone, want) {
			t.Errorf("deleted users %q, want %q", p.gone, want)
		}
		want := []string{"user.created admin", "user.created admin", "user.updated admin", "user.updated admin", "user.disabled admin", "user.enabled admin", "user.force_logout admin", "user.deleted admin"}
		if !slices.Equal(p.events, want) {
			t.Errorf("notified of %q", p.events)
		}
	})
}

// TestDeletionsAreReadAgain checks that an account is kept if its user cancels the deletion while other accounts are
// deleted.
func TestDeletionsAreReadAgain(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		p := newPeople(t, db)
		first, second := p.add(users.New{Email: "one@example.com"}), p.add(users.New{Email: "two@example.com"})
		for _, u := range []*users.User{first, second} {
			if err := p.PlanDeletion(t.Context(), u.ID, time.UnixMicro(1)); err != nil {
				t.Fatal(err)
			}
		}
		p.Gone = append(p.Gone, func(c store.Conn, user string) error { // the other user cancels the deletion
			_, err := c.Exec("UPDATE authserver_users SET delete_at = NULL WHERE id <> ?", user)
			return err
		})
		if n, err := p.SweepDeleted(t.Context()); n != 1 || err != nil {
			t.Errorf("%d are deleted, want 1, error %v", n, err)
		}
	})
}

// TestPasswordOfPending checks that a pending user can sign in once an administrator has set a password.
func TestPasswordOfPending(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		p := newPeople(t, db)
		var u *users.User
		if err := db.Write(t.Context(), func(c store.Conn) (err error) {
			u, _, err = p.Pend(c, "new@example.com", "New")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		p.signs("new@example.com", "", false)
		if err := p.setPassword(u.ID, "correct horse", "admin"); err != nil {
			t.Fatal(err)
		}
		p.signs("new@example.com", "correct horse", true)
	})
}

func TestRefused(t *testing.T) {
	t.Parallel()
	p := newPeople(t, databases.SQLite(t))
	p.add(users.New{Email: "ann@example.com"})
	for field, n := range map[string]users.New{
		"email":    {Email: "ann"},
		"name":     {Email: "x@example.com", Name: "a\nb"},
		"role":     {Email: "x@example.com", Role: "root"},
		"groups":   {Email: "x@example.com", Groups: []string{""}},
		"password": {Email: "x@example.com", Password: "short"},
	} {
		_, err := p.Create(t.Context(), n, "")
		refused(t, err, http.StatusUnprocessableEntity, field)
	}
	for _, pass := range []string{"X@example.com", strings.Repeat("x", 257)} {
		_, err := p.Create(t.Context(), users.New{Email: "x@example.com", Password: pass}, "")
		refused(t, err, http.StatusUnprocessableEntity, "password")
	}
	_, err := p.Create(t.Context(), users.New{Email: "ANN@example.com"}, "")
	refused(t, err, http.StatusConflict, "")
	other := p.add(users.New{Email: "other@example.com"})
	email := "ann@example.com"
	_, err = p.Update(t.Context(), other.ID, users.Change{Email: &email}, "")
	refused(t, err, http.StatusConflict, "")
}

// TestImported checks that a user can sign in with an imported bcrypt hash, which is then replaced by an argon2id hash.
func TestImported(t *testing.T) {
	t.Parallel()
	p := newPeople(t, databases.SQLite(t))
	hashed := func(cost int) string {
		hash, err := bcrypt.GenerateFromPassword([]byte("correct horse"), cost)
		if err != nil {
			t.Fatal(err)
		}
		return string(hash)
	}
	for _, hash := range []string{hashed(9), "plain", "$argon2i$x"} {
		_, err := p.Create(t.Context(), users.New{Email: "x@example.com", Hash: hash}, "")
		refused(t, err, http.StatusUnprocessableEntity, "password")
	}
	_, err := p.Create(t.Context(), users.New{Email: "x@example.com", Hash: hashed(10), Password: "correct horse"}, "")
	refused(t, err, http.StatusUnprocessableEntity, "password")
	p.add(users.New{Email: "ann@example.com", Hash: hashed(10)})
	p.signs("ann@example.com", "wrong horse", false)
	if _, err := p.Verify(t.Context(), "ann@example.com", "correct horse"); err != nil {
		t.Fatal(err)
	}
	var stored string
	err = p.Read(t.Context(), func(c store.Conn) error { return c.Row("SELECT password FROM authserver_users").Scan(&stored) })
	if err != nil || !strings.HasPrefix(stored, "$argon2id$") {
		t.Errorf("stored as %q: %v", stored, err)
	}
	p.signs("ann@example.com", "correct horse", true)
}
