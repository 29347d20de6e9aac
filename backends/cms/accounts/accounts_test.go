package accounts_test

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/cms/accounts"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/migrations"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

var databases = storetest.Fixture{Schemas: migrations.Schemas()}

// cheap hashes passwords at no cost.
var cheap = password.Params{Memory: 8, Passes: 1, Lanes: 1}

func onBoth(t *testing.T, test func(t *testing.T, a *accounts.Accounts)) {
	t.Helper()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) { test(t, node(t, db)) })
}

func node(t *testing.T, db *store.DB) *accounts.Accounts {
	t.Helper()
	var clock atomic.Int64
	clock.Store(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMicro())
	a := accounts.New(&kernel.Server{
		DB: db, Logger: zap.NewNop, Now: func() time.Time { return time.UnixMicro(clock.Load()) },
		Passwords: password.Hasher{Params: cheap, Gate: make(chan struct{}, 2)},
	})
	t.Cleanup(a.Close)
	return a
}

func add(t *testing.T, a *accounts.Accounts, name string, roles ...string) *accounts.Account {
	t.Helper()
	account, err := a.Create(t.Context(), nil, name, accounts.Change{Password: new("a long password"), Roles: &roles})
	if err != nil {
		t.Fatal(err)
	}
	return account
}

func actor(t *testing.T, a *accounts.Accounts, account *accounts.Account) *kernel.User {
	t.Helper()
	u, _, err := a.User(t.Context(), account.ID)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestLogin(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, a *accounts.Accounts) {
		guest, err := a.Guest(t.Context())
		if err != nil || guest.ID == 0 || !guest.Guest() || !slices.Equal(guest.Roles, []string{"guest"}) {
			t.Fatalf("guest %+v, error %v", guest, err)
		}
		typed, err := a.Install(t.Context(), "admin")
		if err != nil || typed == "" {
			t.Fatal(typed, err)
		}
		if got, err := a.Install(t.Context(), "other"); got != "" || err != nil {
			t.Errorf("installed twice: %q, %v", got, err)
		}
		u, epoch, err := a.Login(t.Context(), " Admin ", typed)
		if err != nil || u.Name != "admin" || !u.Superuser() || !u.May(kernel.PermissionUsers) {
			t.Fatalf("%+v, error %v", u, err)
		}
		for name, typed := range map[string]string{"adm\x00in": typed, "admin": typed + "x", "nobody": typed, "guest": "", "": ""} {
			if _, _, err := a.Login(t.Context(), name, typed); !errors.Is(err, accounts.ErrLogin) {
				t.Errorf("%s: %v", name, err)
			}
		}
		disabled, other := accounts.StatusDisabled, add(t, a, "second", "superuser")
		if _, err := a.Update(t.Context(), actor(t, a, other), u.ID, accounts.Change{Status: &disabled}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := a.Login(t.Context(), "admin", typed); !errors.Is(err, accounts.ErrLogin) {
			t.Errorf("disabled: %v", err)
		}
		if _, _, err := a.User(t.Context(), u.ID); !kernel.IsNotFound(err) {
			t.Errorf("a disabled user acts: %v", err)
		}
		admin, err := a.Named(t.Context(), "admin")
		if err != nil {
			t.Fatal(err)
		}
		fresh, active := "another long password", accounts.StatusActive
		if _, err := a.Update(t.Context(), nil, admin.ID, accounts.Change{Password: &fresh, Status: &active}); err != nil {
			t.Fatal(err)
		}
		if _, now, err := a.Login(t.Context(), "admin", fresh); err != nil || now <= epoch {
			t.Errorf("epoch %d after %d, error %v", now, epoch, err)
		}
	})
}

func TestStaleHash(t *testing.T) {
	t.Parallel()
	db := databases.SQLite(t)
	a := node(t, db)
	add(t, a, "ann")
	a.Passwords.Passes = 2
	if _, _, err := a.Login(t.Context(), "ann", "a long password"); err != nil {
		t.Fatal(err)
	}
	var stored string
	err := db.Read(t.Context(), func(c store.Conn) error {
		return c.Row("SELECT password_hash FROM cms_users WHERE name = 'ann'").Scan(&stored)
	})
	if err != nil || !strings.Contains(stored, "t=2") {
		t.Errorf("stored %q, error %v", stored, err)
	}
}

func TestAccounts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, a *accounts.Accounts) {
		admin := actor(t, a, add(t, a, "admin", "superuser"))
		editor, err := a.SaveRole(t.Context(), admin, accounts.Role{Name: "editor", Permissions: []string{"users", "admin", "users"}})
		if err != nil || !slices.Equal(editor.Permissions, []string{"admin", "users"}) {
			t.Fatalf("%+v, error %v", editor, err)
		}
		if _, err := a.SaveRole(t.Context(), admin, accounts.Role{Name: "designer", Permissions: []string{"templates"}}); err != nil {
			t.Fatal(err)
		}
		ann := add(t, a, "ann", "editor", "guest")
		bob := add(t, a, "bob")
		if !slices.Equal(ann.Roles, []string{"editor"}) {
			t.Errorf("roles %v", ann.Roles)
		}
		asAnn, asBob := actor(t, a, ann), actor(t, a, bob)
		if !asAnn.May("users") || asAnn.May("settings") || asBob.May("users") {
			t.Errorf("%+v %+v", asAnn, asBob)
		}
		super, design, email, none, disabled, short := []string{"superuser"}, []string{"designer"}, "Ann@Example.com", []string{}, "disabled", "short"
		unknown, takenEmail := []string{"none"}, "ann@example.COM"
		for _, c := range []struct {
			name string
			err  func() error
			want int
		}{
			{"own email", func() error {
				_, err := a.Update(t.Context(), asAnn, ann.ID, accounts.Change{Email: &email})
				return err
			}, 0},
			{"another's", func() error {
				_, err := a.Update(t.Context(), asBob, ann.ID, accounts.Change{Email: &email})
				return err
			}, 403},
			{"email taken", func() error {
				_, err := a.Update(t.Context(), asBob, bob.ID, accounts.Change{Email: &takenEmail})
				return err
			}, 422},
			{"own roles", func() error {
				_, err := a.Update(t.Context(), asBob, bob.ID, accounts.Change{Roles: &super})
				return err
			}, 403},
			{"superuser by none", func() error {
				_, err := a.Update(t.Context(), asAnn, bob.ID, accounts.Change{Roles: &super})
				return err
			}, 403},
			{"more than one has", func() error {
				_, err := a.Update(t.Context(), asAnn, bob.ID, accounts.Change{Roles: &design})
				return err
			}, 403},
			{"a superuser's password", func() error {
				_, err := a.Update(t.Context(), asAnn, admin.ID, accounts.Change{Password: &email})
				return err
			}, 403},
			{"unknown role", func() error {
				_, err := a.Update(t.Context(), admin, bob.ID, accounts.Change{Roles: &unknown})
				return err
			}, 422},
			{"short", func() error {
				_, err := a.Update(t.Context(), asBob, bob.ID, accounts.Change{Password: &short})
				return err
			}, 422},
			{"last superuser", func() error {
				_, err := a.Update(t.Context(), admin, admin.ID, accounts.Change{Roles: &none})
				return err
			}, 409},
			{"last superuser disabled", func() error {
				_, err := a.Update(t.Context(), admin, admin.ID, accounts.Change{Status: &disabled})
				return err
			}, 409},
			{"last superuser gone", func() error { return a.Delete(t.Context(), admin, admin.ID) }, 409},
			{"the guest", func() error { return a.Delete(t.Context(), admin, guestID(t, a)) }, 409},
			{"a superuser gone", func() error { return a.Delete(t.Context(), asAnn, admin.ID) }, 403},
			{"taken", func() error { _, err := a.Create(t.Context(), admin, "ann", accounts.Change{}); return err }, 422},
			{"bad name", func() error { _, err := a.Create(t.Context(), admin, "Ann!", accounts.Change{}); return err }, 422},
			{"guest's permissions", func() error {
				_, err := a.SaveRole(t.Context(), admin, accounts.Role{ID: 1, Name: "guest", Permissions: []string{"admin"}})
				return err
			}, 409},
			{"role taken", func() error { _, err := a.SaveRole(t.Context(), admin, accounts.Role{Name: "editor"}); return err }, 422},
			{"role by none", func() error { _, err := a.SaveRole(t.Context(), asAnn, accounts.Role{Name: "x"}); return err }, 403},
			{"role unknown", func() error { _, err := a.SaveRole(t.Context(), admin, accounts.Role{ID: 99, Name: "x"}); return err }, 404},
			{"gone", func() error { return a.Delete(t.Context(), asAnn, bob.ID) }, 0},
			{"gone twice", func() error { return a.Delete(t.Context(), asAnn, bob.ID) }, 404},
			{"role gone", func() error { return a.DeleteRole(t.Context(), admin, editor.ID) }, 0},
		} {
			if err := c.err(); kernel.Status(err) != c.want {
				t.Errorf("%s: %v, want %d", c.name, err, c.want)
			}
		}
		if actor(t, a, ann).May("users") {
			t.Error("a deleted role still grants its permissions")
		}
		list, err := a.List(t.Context(), 0, 500)
		if err != nil || len(list) != 3 || list[2].Name != "ann" || list[2].Email != "Ann@Example.com" {
			t.Errorf("%v, error %v", list, err)
		}
		for _, find := range []struct {
			accounts.Query
			want string
		}{
			{accounts.Query{Text: "A"}, "admin ann"},
			{accounts.Query{Text: "an"}, "ann"},
			{accounts.Query{Text: "ann@EXAMPLE.com"}, "ann"},
			{accounts.Query{Text: "a", Role: kernel.RoleSuperuser}, "admin"},
			{accounts.Query{}, "admin ann guest"},
			{accounts.Query{Newest: true}, "ann admin guest"},
			{accounts.Query{Status: accounts.StatusActive}, "admin ann guest"},
			{accounts.Query{Status: accounts.StatusActive, Newest: true}, "ann admin guest"},
			{accounts.Query{Status: accounts.StatusDisabled}, ""},
			{accounts.Query{Role: kernel.RoleSuperuser, Status: accounts.StatusActive, Newest: true}, "admin"},
			{accounts.Query{Role: "none"}, ""},
			{accounts.Query{Text: "\x00"}, ""},
		} {
			var names []string
			find.Limit = 1
			for more := true; more; more = find.After != "" {
				list, next, err := a.Find(t.Context(), find.Query)
				if err != nil || len(list) > 1 {
					t.Fatalf("%+v: %d users, error %v", find.Query, len(list), err)
				}
				for _, u := range list {
					names = append(names, u.Name)
				}
				find.After = next
			}
			if got := strings.Join(names, " "); got != find.want {
				t.Errorf("%+v: %s, want %s", find.Query, got, find.want)
			}
		}
		roles, err := a.Roles(t.Context())
		if err != nil || len(roles) != 3 || !roles[0].System || len(roles[1].Permissions) != len(kernel.Permissions) || roles[2].Name != "designer" {
			t.Errorf("%v, error %v", roles, err)
		}
	})
}

func guestID(t *testing.T, a *accounts.Accounts) int64 {
	t.Helper()
	u, err := a.Guest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return u.ID
}

// TestOtherNode checks that a change on one node takes effect on the others as soon as they are notified.
func TestOtherNode(t *testing.T) {
	t.Parallel()
	db := databases.Postgres(t)
	first, second := node(t, db), node(t, db)
	ann := add(t, first, "ann", "superuser")
	add(t, first, "second", "superuser")
	actor(t, second, ann)
	disabled := accounts.StatusDisabled
	if _, err := first.Update(t.Context(), nil, ann.ID, accounts.Change{Status: &disabled}); err != nil {
		t.Fatal(err)
	}
	for { // the test's own time limit ends it
		if _, _, err := second.User(t.Context(), ann.ID); kernel.IsNotFound(err) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
