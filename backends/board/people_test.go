package board

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/people/peopletest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestPeopleLinking attacks the linking of outside people to members.
func TestPeopleLinking(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		s.exec("INSERT INTO board_settings (name, value) VALUES ('registration', 'open')" +
			" ON CONFLICT (name) DO UPDATE SET value = excluded.value")
		s.exec("UPDATE board_permission_version SET version = version + 1")
		var names atomic.Int64
		add := func(email string, confirmed bool) string {
			t.Helper()
			name := fmt.Sprint("victim", names.Add(1))
			if err := db.Write(t.Context(), func(c store.Conn) error {
				_, err := accounts.AddUser(c, accounts.NewUser{Name: name, Email: email, Confirmed: confirmed, Now: s.service.Accounts.Moment()})
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return kernel.Itoa(s.user(name))
		}
		peopletest.Attack(t, &peopletest.Service{
			SignOn: func(p *oidclogin.Person) (string, error) {
				if _, err := s.service.Accounts.SignOn(t.Context(), p, nil, ""); err != nil {
					return "", err
				}
				return kernel.Itoa(s.number("SELECT user_id FROM board_identities WHERE issuer = ? AND subject = ?", p.Issuer, p.Subject)), nil
			},
			Member:   func(email string) string { return add(email, true) },
			Unproven: func(email string) string { return add(email, false) },
			Suspend:  func(member string) { s.exec("UPDATE board_users SET state = 'banned' WHERE id = " + member) },
			Restore:  func(member string) { s.exec("UPDATE board_users SET state = 'active' WHERE id = " + member) },
			Delete: func(member string) {
				number, err := strconv.ParseInt(member, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.service.Admin.DeleteMember(t.Context(), s.actor("admin"), number); err != nil {
					t.Fatal(err)
				}
			},
			Adopts: true, Across: true,
		})
	})
}
