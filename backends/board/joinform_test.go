package board

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestNetworkRegistrationLimit checks the number of members who may join from one network in a day, also in parallel,
// and that registrations refused for another reason do not count.
func TestNetworkRegistrationLimit(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		s.exec("INSERT INTO board_settings (name, value) VALUES ('network_members', '3')")
		join := func(name, address string) error {
			_, err := s.service.Accounts.Register(t.Context(), accounts.NewMember{Name: name, Email: name + "@example.com", Password: "correct horse", Address: address, Form: s.joinForm()})
			return err
		}
		for _, network := range []string{"192.0.2.%d", "2001:db8:0:%x::/64"} {
			for i := range 4 {
				refused(t, "taken", join("bob", fmt.Sprintf(network, i)), 422, "taken")
			}
			name := map[bool]string{true: "Four%c", false: "Six%c"}[network[0] == '1']
			errs := make([]error, 6)
			var wg sync.WaitGroup
			for i := range errs {
				wg.Go(func() { errs[i] = join(fmt.Sprintf(name, 'a'+i), fmt.Sprintf(network, i+10)) })
			}
			wg.Wait()
			in := 0
			for _, err := range errs {
				if err == nil {
					in++
				} else if e, ok := apierror.From(err); !ok || e.Status != 429 || e.RetryAfter != 24*time.Hour {
					t.Errorf("%v", err)
				}
			}
			if in != 3 {
				t.Errorf("%s: %d are in", network, in)
			}
		}
		must(t, join("Other", "192.0.3.1"))
		must(t, join("Sixth", "2001:db8:0:100::/64"))
		s.clock.advance(24 * time.Hour)
		must(t, join("Tomorrow", "192.0.2.1"))
		s.exec("UPDATE board_settings SET value = '0' WHERE name = 'network_members'")
		for i := range 5 {
			must(t, join(fmt.Sprintf("Free%c", 'a'+i), fmt.Sprintf("192.0.2.%d", 100+i)))
		}
	})
}

// TestTakenNameSpendsNoMail checks that registrations with a taken name do not use up the mails that an address may
// get, but count for the client.
func TestTakenNameSpendsNoMail(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newLinkSite(t, db)
		join := func(name, address string) error {
			_, err := s.service.Accounts.Register(t.Context(), accounts.NewMember{Name: name, Email: "new@example.com", Password: "correct horse", Address: address, Form: s.joinForm()})
			return err
		}
		for i := range accounts.NewAccounts.Max {
			refused(t, "taken", join([]string{"bob", "B0B"}[i%2], clientAddress), 422, []string{"taken", "alike"}[i%2])
		}
		refused(t, "too many", join("bob", clientAddress), 429, "")
		must(t, join("Newcomer", "198.51.100.1"))
		if s.mailed()["join new@example.com"] == nil {
			t.Error("no link came")
		}
	})
}
