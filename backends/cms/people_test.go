package cms_test

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/cms/accounts"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/people/peopletest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestPeople attacks the linking of outside people to users.
func TestPeople(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, settings.Settings{})
		all := s.server.Accounts()
		if _, err := all.SaveRole(t.Context(), kernel.Site(), accounts.Role{Name: "staff", Label: "Staff"}); err != nil {
			t.Fatal(err)
		}
		var names atomic.Int64
		add := func(email string) *accounts.Account {
			t.Helper()
			account, err := all.Create(t.Context(), kernel.Site(), fmt.Sprint("victim", names.Add(1)), accounts.Change{Email: &email})
			if err != nil {
				t.Fatal(err)
			}
			return account
		}
		number := func(account string) int64 {
			id, err := strconv.ParseInt(account, 10, 64)
			if err != nil {
				t.Error(err)
			}
			return id
		}
		set := func(account, status string) {
			t.Helper()
			if _, err := all.Update(t.Context(), kernel.Site(), number(account), accounts.Change{Status: &status}); err != nil {
				t.Error(err)
			}
		}
		peopletest.Attack(t, &peopletest.Service{
			SignOn: func(p *oidclogin.Person) (string, error) {
				p.Groups = []string{"staff"}
				user, _, err := all.SignOn(t.Context(), p, []string{"staff"})
				if err != nil {
					return "", err
				}
				return strconv.FormatInt(user.ID, 10), nil
			},
			Member: func(email string) string { return strconv.FormatInt(add(email).ID, 10) },
			Unproven: func(email string) string {
				account := add("first-" + email)
				self, _, err := all.User(t.Context(), account.ID)
				if err == nil {
					_, err = all.Update(t.Context(), self, account.ID, accounts.Change{Email: &email})
				}
				if err != nil {
					t.Fatal(err)
				}
				return strconv.FormatInt(account.ID, 10)
			},
			Suspend: func(account string) { set(account, accounts.StatusDisabled) },
			Restore: func(account string) { set(account, accounts.StatusActive) },
			Delete: func(account string) {
				if err := all.Delete(t.Context(), kernel.Site(), number(account)); err != nil {
					t.Error(err)
				}
			},
			Adopts: true, Across: true,
		})
	})
}
