package board

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/mails"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/secret"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const clientAddress = "192.0.2.1"

// newLinkSite returns a board that sends mails, with members who have an address.
func newLinkSite(t *testing.T, db *store.DB) *site {
	t.Helper()
	s := newSite(t, db, kernel.Options{Mails: func() bool { return true }})
	for _, name := range []string{"bob", "alice", "awaiting"} {
		s.exec("UPDATE board_users SET email = ?, email_key = ?, email_confirmed = 1, password_hash = ? WHERE username = ?", name+"@Example.com", name+"@example.com", hashed(t, "correct horse"), name)
	}
	return s
}

// mailed claims the mails that are due, ends them as if they were sent, and returns them by kind and address.
func (s *site) mailed() map[string]*mails.Mailing {
	s.t.Helper()
	ctx, all := s.t.Context(), make(map[string]*mails.Mailing)
	due, err := s.service.Mails.DueMail(ctx, 100)
	must(s.t, err)
	for _, recipient := range due {
		m, err := s.service.Mails.ClaimMail(ctx, recipient)
		must(s.t, err)
		if m.Email != "" {
			all[m.Mode+" "+m.Email] = m
		}
		must(s.t, s.service.Mails.MailSent(ctx, m))
	}
	return all
}

// resetLink asks for a link to reset the password of bob and returns its secret.
func (s *site) resetLink() string {
	s.t.Helper()
	must(s.t, s.service.Accounts.AskReset(s.t.Context(), "bob@Example.com", clientAddress))
	m := s.mailed()["reset bob@Example.com"]
	if m == nil {
		s.t.Fatal("no link came")
	}
	return m.Link.Secret
}

func (s *site) signIn(name, password string) string {
	s.t.Helper()
	cookie, err := s.service.Accounts.Login(s.t.Context(), name, password, clientAddress, "")
	must(s.t, err)
	return cookie
}

// signedIn reports whether a cookie has a valid session.
func (s *site) signedIn(cookie string) bool {
	s.t.Helper()
	_, session, err := s.service.Accounts.Resume(s.t.Context(), cookie)
	must(s.t, err)
	return session != nil
}

// TestReset checks that a link sets a password once, and signs the member out everywhere.
func TestReset(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newLinkSite(t, db)
		ctx, b := t.Context(), s.service
		former := s.signIn("bob", "correct horse")
		for range 5 {
			_, err := b.Accounts.Login(ctx, "bob@example.com", "forgotten it", clientAddress, "")
			refused(t, "guess", err, 422, "wrong")
		}
		s.exec("UPDATE board_users SET password_once = 1 WHERE username = 'bob'")
		first := s.resetLink()
		must(t, b.Accounts.AskReset(ctx, " BOB@example.com", clientAddress))
		mail := s.mailed()["reset bob@Example.com"] // mailed to the stored address, not to what was typed
		if mail == nil || mail.Name != "bob" || !mail.Link.Ends.Equal(s.clock.now().Add(time.Hour)) || mail.Link.Secret == first {
			t.Fatalf("%+v", mail)
		}
		if s.number("SELECT count(*) FROM board_links WHERE secret_hash = ?", first) != 0 || s.number("SELECT count(*) FROM board_links WHERE secret_hash = ?", secret.Hash(first)) != 1 {
			t.Error("not the hash is stored")
		}

		refused(t, "short", b.Accounts.Reset(ctx, first, "short", clientAddress), 422, "too_short")
		refused(t, "name", b.Accounts.Reset(ctx, first, "bob@example.com", clientAddress), 422, "guessable")
		for _, wrong := range []string{"", "x", secret.New(), first + "A", strings.ToUpper(first)} {
			refused(t, "secret "+wrong, b.Accounts.Reset(ctx, wrong, "battery staple", clientAddress), 410, "")
		}
		_, err := b.Accounts.ConfirmEmail(ctx, first)
		refused(t, "another kind", err, 410, "")
		if l, err := b.Accounts.ReadLink(ctx, first, accounts.LinkReset); err != nil || l != (accounts.Linked{Name: "bob", Email: "bob@Example.com"}) {
			t.Errorf("%+v %v", l, err)
		}
		if !s.signedIn(former) {
			t.Error("a refused request ended a session")
		}

		must(t, b.Accounts.Reset(ctx, first, "battery staple", clientAddress))
		if s.signedIn(former) || s.number("SELECT password_once FROM board_users WHERE username = 'bob'") != 0 {
			t.Error("a session or the password for once is left")
		}
		s.signIn("bob@example.com", "battery staple") // in spite of too many wrong passwords before
		refused(t, "again", b.Accounts.Reset(ctx, first, "another horse", clientAddress), 410, "")
		refused(t, "the other one", b.Accounts.Reset(ctx, mail.Link.Secret, "another horse", clientAddress), 410, "")
		_, err = b.Accounts.ReadLink(ctx, first, accounts.LinkReset)
		refused(t, "to read", err, 410, "")
	})
}

// TestResetOnce checks that of many parallel uses of a link one succeeds.
func TestResetOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newLinkSite(t, db)
		secret := s.resetLink()
		var done atomic.Int64
		var users sync.WaitGroup
		for range 4 {
			users.Go(func() {
				if err := s.service.Accounts.Reset(t.Context(), secret, "battery staple", clientAddress); err == nil {
					done.Add(1)
				} else {
					refused(t, "at the same time", err, 410, "")
				}
			})
		}
		users.Wait()
		if done.Load() != 1 {
			t.Errorf("it was used %d times", done.Load())
		}
	})
}

// TestLinksExpire checks that a link is void after its hour and after every other change of what it leads to, and that
// a void link is no longer mailed.
func TestLinksExpire(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newLinkSite(t, db)
		ctx, b, admin := t.Context(), s.service, s.actor("admin")
		use := func(secret string) error { return b.Accounts.Reset(ctx, secret, "battery staple", clientAddress) }
		next := func() string {
			s.clock.advance(3 * time.Hour) // so that the limits do not apply
			return s.resetLink()
		}
		for name, end := range map[string]func(){
			"time": func() { s.clock.advance(time.Hour) },
			"own password": func() {
				a, _, err := b.Accounts.Resume(ctx, s.signIn("bob", "correct horse"))
				must(t, err)
				_, err = b.Accounts.SetPassword(ctx, a, "correct horse", "another horse", clientAddress)
				must(t, err)
				s.exec("UPDATE board_users SET password_hash = ? WHERE username = 'bob'", hashed(t, "correct horse"))
			},
			"administrator's password": func() {
				_, err := b.Admin.ResetPassword(ctx, admin, s.user("bob"))
				must(t, err)
				s.exec("UPDATE board_users SET password_hash = ? WHERE username = 'bob'", hashed(t, "correct horse"))
			},
			"ban": func() {
				must(t, b.Admin.Ban(ctx, admin, s.user("bob"), 0, ""))
				must(t, b.Admin.Unban(ctx, admin, s.user("bob")))
			},
		} {
			secret := next()
			end()
			refused(t, name, use(secret), 410, "")
		}
		secret := next()
		s.clock.advance(time.Hour - time.Microsecond)
		must(t, use(secret))

		s.clock.advance(3 * time.Hour)
		must(t, b.Accounts.AskReset(ctx, "bob@example.com", clientAddress))
		s.clock.advance(time.Hour)
		must(t, b.Accounts.AskReset(ctx, "awaiting@example.com", clientAddress))
		if got := s.mailed(); len(got) != 0 {
			t.Errorf("%v", got)
		}
		if _, err := b.Purge(ctx); err != nil {
			t.Fatal(err)
		}
		if n := s.number("SELECT count(*) FROM board_links"); n != 1 { // the one that has not expired yet
			t.Errorf("%d links are left", n)
		}
		must(t, b.Accounts.AskReset(ctx, "alice@example.com", clientAddress))
		must(t, b.Admin.DeleteMember(ctx, admin, s.user("alice")))
		if n := s.number("SELECT count(*) FROM board_links WHERE user_id = ?", s.user("alice")); n != 0 || len(s.mailed()) != 0 {
			t.Errorf("%d links of a deleted member", n)
		}
	})
}

// TestLinkMailedAgain checks that a mail which is sent again has another link, and that the previous one is void.
func TestLinkMailedAgain(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newLinkSite(t, db)
		ctx, b := t.Context(), s.service
		s.exec("INSERT INTO board_settings (name, value) VALUES ('offline', '1')") // links must also work while the board is offline
		must(t, b.Accounts.AskReset(ctx, "bob@example.com", clientAddress))
		recipient := mails.Recipient{User: s.user("bob"), Mode: accounts.LinkReset}
		s.exec("INSERT INTO board_mails (user_id, mode, source, thread_id, first_post_id, last_post_id, due_at, created_at) VALUES (?, 'daily', 'thread', 1, 1, 1, 1, 1)", s.user("alice"))
		if due, err := b.Mails.DueMail(ctx, 1); err != nil || len(due) != 1 || due[0] != recipient { // first, although others have waited longer
			t.Errorf("%v %v", due, err)
		}
		first, err := b.Mails.ClaimMail(ctx, recipient)
		must(t, err)
		if other, err := b.Mails.ClaimMail(ctx, recipient); err != nil || other != nil {
			t.Errorf("it is sent twice: %+v %v", other, err)
		}
		if retry, err := b.Mails.MailFailed(ctx, first); err != nil || !retry {
			t.Fatal(retry, err)
		}
		s.clock.advance(time.Minute)
		second, err := b.Mails.ClaimMail(ctx, recipient)
		must(t, err)
		if second.Key == first.Key || !second.Link.Ends.Equal(first.Link.Ends) {
			t.Errorf("%+v, before %+v", second, first)
		}
		refused(t, "first", b.Accounts.Reset(ctx, first.Link.Secret, "battery staple", clientAddress), 410, "")
		must(t, b.Accounts.Reset(ctx, second.Link.Secret, "battery staple", clientAddress))
	})
}

// TestResetRevealsNoAddress checks that responses and limits are the same whether or not a member has the address.
func TestResetRevealsNoAddress(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newLinkSite(t, db)
		s.service.kernel.Options.Address = func(r *http.Request) string { return r.Header.Get("X-Test-Address") }
		ask := func(user, email, address string) *answer {
			t.Helper()
			r := s.request(user, "POST", "/password-reset", `{"email":`+quoted(email)+`}`)
			r.Header.Set("X-Test-Address", address)
			return s.send(r)
		}
		for i, email := range []string{"bob@example.com", "nobody@example.com", "awaiting@example.com"} {
			address := path("2001:db8:0:%d00::", i)
			for range 3 {
				if a := ask("", email, address).want(204); a.body != "" || len(a.header) != 1 {
					t.Errorf("%s: %q %v", email, a.body, a.header)
				}
			}
			ask("", email, address).want(429, "rate_limited")
			ask("", strings.ToUpper(email), "198.51.100.1").want(429, "rate_limited") // counted for the mail address
			for n := range 6 {
				ask("alice", path("%d.%s", n, email), address).want(204)
			}
			ask("", "other."+email, address).want(429, "rate_limited")
		}
		if got := s.mailed(); len(got) != 1 || got["reset bob@Example.com"] == nil {
			t.Errorf("%v", got)
		}
		s.clock.advance(time.Hour)
		ask("", "bob@example.com", "192.0.2.9").want(204)
		ask("", "no address", "192.0.2.9").want(422, "validation_failed", "form")
		ask("brd_pat_wrong", "bob@example.com", "192.0.2.9").want(401)
		s.do("", "POST", "/password-reset", `{}`).want(400, "invalid_body")
		s.do("", "GET", "/password-reset", "").want(405, "method_not_allowed")
		s.service.kernel.Options.Mails = nil
		ask("", "bob@example.com", "192.0.2.9").want(403, "forbidden", "no_mail")
		ask("", "nobody@example.com", "192.0.2.9").want(403, "forbidden", "no_mail")
	})
}

// TestLinksOfNetwork checks the limits for a client and for a network, and that refused requests of a client do not
// count for its network.
func TestLinksOfNetwork(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newLinkSite(t, db)
		n := 0
		ask := func(address string) error {
			n++
			return s.service.Accounts.AskReset(t.Context(), path("nobody%d@example.com", n), address)
		}
		for _, network := range []string{"192.0.2.%d", "2001:db8:0:%x::/64"} {
			client := 0
			for count := int64(0); count < accounts.LinksFrom.Max; client++ {
				for range 10 {
					must(t, ask(path(network, client)))
					count++
				}
				for range accounts.LinksFrom.Max {
					refused(t, "of a client", ask(path(network, client)), 429, "")
				}
			}
			refused(t, "of the network", ask(path(network, client)), 429, "")
		}
		must(t, ask("192.0.3.1"))
		must(t, ask("2001:db8:0:100::/64"))
		s.clock.advance(time.Hour)
		must(t, ask("192.0.2.1"))
	})
}

// TestChangeEmail checks that a member gets a new address only when the link mailed to it was opened.
func TestChangeEmail(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newLinkSite(t, db)
		ctx, b := t.Context(), s.service
		bob, _, err := b.Accounts.Resume(ctx, s.signIn("bob", "correct horse"))
		must(t, err)
		ask := func(email, password string) error {
			return b.Accounts.AskEmail(ctx, bob, email, password, clientAddress)
		}
		refused(t, "password", ask("new@example.com", "wrong horse"), 422, "wrong")
		refused(t, "form", ask("new", "correct horse"), 422, "form")
		refused(t, "same", ask("BOB@example.com", "correct horse"), 422, "same")
		refused(t, "guest", b.Accounts.AskEmail(ctx, &rights.Actor{}, "new@example.com", "correct horse", clientAddress), 404, "")
		if got := s.mailed(); len(got) != 0 {
			t.Errorf("%v", got)
		}

		reset := s.resetLink()
		must(t, ask("alice@example.com", "correct horse")) // another member has this address
		if got := s.mailed(); len(got) != 1 || got["notice bob@Example.com"] == nil || got["notice bob@Example.com"].Link.Secret != "" {
			t.Errorf("%v", got)
		}
		must(t, ask("new@example.com", "correct horse"))
		must(t, ask("newer@example.com", "correct horse"))
		got := s.mailed()
		if len(got) != 2 || got["notice bob@Example.com"] == nil || got["email newer@example.com"] == nil {
			t.Fatalf("%v", got)
		}
		secret := got["email newer@example.com"].Link.Secret
		if m, err := b.Accounts.MailAddress(ctx, bob); err != nil || m != (accounts.MailAddress{Now: "bob@Example.com", Confirmed: true, Asked: "newer@example.com"}) {
			t.Errorf("it changed before the link was opened: %+v %v", m, err)
		}
		refused(t, "another kind", b.Accounts.Reset(ctx, secret, "battery staple", clientAddress), 410, "")

		s.exec("UPDATE board_users SET email = 'x', email_key = 'newer@example.com' WHERE username = 'alice'")
		_, err = b.Accounts.ConfirmEmail(ctx, secret)
		refused(t, "taken meanwhile", err, 409, "")
		s.exec("UPDATE board_users SET email = '', email_key = NULL WHERE username = 'alice'")
		if done, err := b.Accounts.ConfirmEmail(ctx, secret); err != nil || done.Email != "newer@example.com" || done.Joined {
			t.Fatal(done, err)
		}
		if m, err := b.Accounts.MailAddress(ctx, bob); err != nil || m != (accounts.MailAddress{Now: "newer@example.com", Confirmed: true, Asked: ""}) {
			t.Errorf("%+v %v", m, err)
		}
		_, err = b.Accounts.ConfirmEmail(ctx, secret)
		refused(t, "again", err, 410, "")
		refused(t, "what the former address got", b.Accounts.Reset(ctx, reset, "battery staple", clientAddress), 410, "")
		s.signIn("Newer@example.com", "correct horse")

		s.clock.advance(time.Hour)
		must(t, ask("old@example.com", "correct horse"))
		secret = s.mailed()["email old@example.com"].Link.Secret
		s.clock.advance(time.Hour)
		_, err = b.Accounts.ConfirmEmail(ctx, secret)
		refused(t, "too late", err, 410, "")
		for range 3 {
			must(t, ask("spam@example.com", "correct horse"))
		}
		refused(t, "too often", ask("spam@example.com", "correct horse"), 429, "")

		// An old address that is not confirmed gets the notice, too, unless the new address is the same one in another
		// spelling.
		s.exec("UPDATE board_users SET email_confirmed = 0 WHERE username = 'alice'")
		s.exec("UPDATE board_users SET email = 'alice@Example.com', email_key = 'alice@example.com' WHERE username = 'alice'")
		s.mailed()
		alice, _, err := b.Accounts.Resume(ctx, s.signIn("alice", "correct horse"))
		must(t, err)
		must(t, b.Accounts.AskEmail(ctx, alice, "ALICE@example.com", "correct horse", "198.51.100.1"))
		if got := s.mailed(); len(got) != 1 || got["email ALICE@example.com"] == nil {
			t.Errorf("%v", got)
		}
		must(t, b.Accounts.AskEmail(ctx, alice, "else@example.com", "correct horse", "198.51.100.1"))
		if got := s.mailed(); len(got) != 2 || got["notice alice@Example.com"] == nil || got["email else@example.com"] == nil {
			t.Errorf("%v", got)
		}
		b.kernel.Options.Mails = nil
		refused(t, "no mails", ask("spam@example.com", "correct horse"), 403, "no_mail")
	})
}

// TestMailsOfMember checks how many links a member can have mailed in a day, to whatever addresses and from whatever
// clients.
func TestMailsOfMember(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newLinkSite(t, db)
		ctx := t.Context()
		bob, _, err := s.service.Accounts.Resume(ctx, s.signIn("bob", "correct horse"))
		must(t, err)
		for i := range accounts.LinksOf.Max - 1 {
			must(t, s.service.Accounts.AskEmail(ctx, bob, path("stranger%d@example.com", i), "correct horse", path("2001:db8:%d::/64", i)))
		}
		askAgain := func() error { return s.service.Accounts.AskEmailAgain(ctx, bob, "198.51.100.1") }
		must(t, askAgain())
		refused(t, "again", askAgain(), 429, "")
		refused(t, "another", s.service.Accounts.AskEmail(ctx, bob, "other@example.com", "correct horse", "192.0.2.77"), 429, "")
		alice, _, err := s.service.Accounts.Resume(ctx, s.signIn("alice", "correct horse"))
		must(t, err)
		must(t, s.service.Accounts.AskEmail(ctx, alice, "other@example.com", "correct horse", "192.0.2.77"))
		s.clock.advance(24 * time.Hour)
		must(t, askAgain())
	})
}

// TestChangeEmailMeanwhile checks that a right password does not suffice if it is changed before the request is
// carried out.
func TestChangeEmailMeanwhile(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newLinkSite(t, db)
		ctx := t.Context()
		bob, _, err := s.service.Accounts.Resume(ctx, s.signIn("bob", "correct horse"))
		must(t, err)
		other := hashed(t, "battery staple")
		err = s.meanwhile(func() error {
			return s.service.Accounts.AskEmail(ctx, bob, "new@example.com", "correct horse", clientAddress)
		},
			func() { s.exec("UPDATE board_users SET password_hash = ? WHERE username = 'bob'", other) })
		refused(t, "new password", err, 422, "wrong")
		if got := s.mailed(); len(got) != 0 {
			t.Errorf("%v", got)
		}
	})
}

// TestTimeZones checks which time zones a member can set, and that an unknown one means UTC.
func TestTimeZones(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), kernel.Options{})
	bob := s.actor("bob")
	for name, good := range map[string]bool{
		"Europe/Vienna": true, "Asia/Kolkata": true, "US/Eastern": true, "": true, " UTC ": true,
		"Local": false, "localtime": false, "right/Europe/Vienna": false, "posix/Europe/Vienna": false, "Europe//Vienna": false, "Europe/./Vienna": false, "./UTC": false, ".": false, "europe/nowhere": false, "../etc/passwd": false, "/etc/localtime": false, `..\x`: false, "Europe": false, "UTC\x00": false,
		strings.Repeat("a/", 4000): false,
	} {
		err := s.service.Accounts.SetProfile(t.Context(), bob, accounts.Profile{TimeZone: name})
		if !good {
			refused(t, name, err, 422, "unknown")
			continue
		}
		must(t, err)
		a, err := s.service.Rights.Member(t.Context(), bob.User.ID)
		must(t, err)
		if want := strings.TrimSpace(name); a.User.Zone().String() != want && want != "" {
			t.Errorf("%q: %s", name, a.User.Zone())
		}
	}
	var nobody *rights.User
	if nobody.Zone() != time.UTC || (&rights.User{TimeZone: "Gone/Away"}).Zone() != time.UTC {
		t.Error("not UTC without a time zone")
	}
}
