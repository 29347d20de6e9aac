package board

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// meanwhile runs change after act has read the password hash and before it has compared the password with it.
func (s *site) meanwhile(act func() error, change func()) error {
	s.t.Helper()
	tries := func() int64 { return s.number("SELECT CAST(COALESCE(sum(tries), 0) AS BIGINT) FROM board_attempts") }
	before, gate := tries(), s.service.kernel.Options.Passwords.Gate
	for range cap(gate) {
		gate <- struct{}{}
	}
	ended := make(chan error, 1)
	go func() { ended <- act() }()
	for tries() == before { // the attempt is counted and the hash is read in one transaction
		if err := context.Cause(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
	}
	change()
	for range cap(gate) {
		<-gate
	}
	return <-ended
}

// TestPasswordChangesMeanwhile checks that a password which was right when its hash was read is refused if it was
// changed, or the member excluded, before the comparison is done.
func TestPasswordChangesMeanwhile(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx, b, bob := t.Context(), s.service, s.user("bob")
		const password, address = "correct horse", "192.0.2.1"
		hash, other := hashed(t, password), hashed(t, "battery staple")
		reset := func() {
			s.exec("UPDATE board_users SET password_hash = ?, state = 'banned', banned_until = 1 WHERE id = ?", hash, bob) // a ban that has ended
		}
		reset()
		cookie, err := b.Accounts.Login(ctx, "bob", password, address, "")
		must(t, err)
		actor, session, err := b.Accounts.Resume(ctx, cookie)
		must(t, err)
		session.ConfirmedAt = time.Time{}

		changes := map[string]func(){
			"new password": func() { s.exec("UPDATE board_users SET password_hash = ? WHERE id = ?", other, bob) },
			"new state":    func() { s.exec("UPDATE board_users SET state = 'awaiting' WHERE id = ?", bob) },
			"new ban": func() {
				s.exec("UPDATE board_users SET banned_until = ? WHERE id = ?", s.service.kernel.Moment()+1, bob)
			},
			"ban for ever": func() { s.exec("UPDATE board_users SET banned_until = NULL WHERE id = ?", bob) },
		}
		acts := map[string]func() error{
			"login": func() error {
				_, err := b.Accounts.Login(ctx, "bob", password, address, "")
				return err
			},
			"confirm": func() error { return b.Accounts.Confirm(ctx, actor, session, password, address) },
			"token": func() error {
				_, err := b.Accounts.IssueOwnToken(ctx, actor, accounts.TokenRequest{Name: "mine", Scopes: []string{"posts:read"}}, password, address)
				return err
			},
			"password": func() error {
				_, err := b.Accounts.SetPassword(ctx, actor, password, "another password", address)
				return err
			},
		}
		counts := func() [2]int64 {
			return [2]int64{s.number("SELECT count(*) FROM board_sessions"), s.number("SELECT count(*) FROM board_api_tokens")}
		}
		before := counts()
		for change, run := range changes {
			for act, try := range acts {
				reset()
				refused(t, act+" and "+change, s.meanwhile(try, run), 422, "wrong")
				if got := counts(); got != before {
					t.Errorf("%s and %s: %v sessions and tokens, want %v", act, change, got, before)
					before = got
				}
			}
		}
		if !session.ConfirmedAt.IsZero() || s.number("SELECT count(*) FROM board_users WHERE password_hash NOT IN ('', ?, ?)", hash, other) != 0 {
			t.Error("something was confirmed, or a password set")
		}
		reset()
		must(t, s.meanwhile(acts["login"], func() {}))
		must(t, s.meanwhile(acts["confirm"], func() {}))
		if session.ConfirmedAt.IsZero() {
			t.Error("not confirmed")
		}
		must(t, acts["token"]())
		must(t, acts["password"]())
	})
}

// TestRegisterOffline checks that a board that is offline takes no new members.
func TestRegisterOffline(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		register := func() error {
			_, err := s.service.Accounts.Register(t.Context(), accounts.NewMember{Name: "carol", Email: "carol@example.com", Password: "correct horse", Address: "192.0.2.1", Form: s.joinForm()})
			return err
		}
		s.exec("INSERT INTO board_settings (name, value) VALUES ('offline', '1')")
		refused(t, "offline", register(), 503, "")
		if n := s.number("SELECT count(*) FROM board_users WHERE username = 'carol'"); n != 0 {
			t.Error("somebody has joined")
		}
		s.exec("DELETE FROM board_settings WHERE name = 'offline'")
		must(t, register())
	})
}

// TestMailAddressSpellings checks that different spellings of a mail address count as the same address, however it was
// entered.
func TestMailAddressSpellings(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		ctx, composed, other := t.Context(), "ädmin@example.com", " A\u0308dmin@Example.com "
		s := &site{t: t, clock: newClock()}
		s.service = New(db, kernel.Options{Passwords: password.Hasher{Params: cheap}}, zap.NewNop(), s.clock.now)
		t.Cleanup(s.service.Close)
		once, err := s.service.Init(ctx, "ada", other)
		must(t, err)
		_, err = s.seed(`{"users": [{"name": "gina", "email": "G\u0069\u0301na@Example.com", "password": "correct horse"}]}`)
		must(t, err)
		must(t, s.service.Ready(ctx))
		for name, password := range map[string]string{composed: once, other: once, "gína@example.com": "correct horse"} {
			if _, err := s.service.Accounts.Login(ctx, name, password, clientAddress, ""); err != nil {
				t.Errorf("%q: %v", name, err)
			}
		}
		for _, email := range []string{composed, other, "GÍNA@example.com"} {
			_, err := s.service.Accounts.Register(ctx, accounts.NewMember{Name: "nele", Email: email, Password: "correct horse", Address: clientAddress, Form: s.joinForm()})
			refused(t, email, err, 422, "taken")
		}
		_, err = s.service.Init(ctx, "ida", "no address")
		refused(t, "no address", err, 422, "form")
		if _, err := s.seed(`{"users": [{"name": "ida", "email": "no address"}]}`); err == nil {
			t.Error("a member with an address that is none")
		}
	})
}

// TestPasswordIsHashedAgain checks that a sign-in replaces an outdated password hash.
func TestPasswordIsHashedAgain(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx, old := t.Context(), password.Hasher{Params: password.Params{Memory: 16, Passes: 1, Lanes: 1}}
		stored, err := old.Hash(ctx, "correct horse")
		must(t, err)
		s.exec("UPDATE board_users SET password_hash = ? WHERE username = 'bob'", stored)
		hash := func() (stored string) {
			must(t, s.service.kernel.Read(ctx, func(c store.Conn) error {
				return c.Row("SELECT password_hash FROM board_users WHERE username = 'bob'").Scan(&stored)
			}))
			return stored
		}
		_, err = s.service.Accounts.Login(ctx, "bob", "wrong horse", clientAddress, "")
		refused(t, "wrong", err, 422, "wrong")
		if hash() != stored {
			t.Error("a wrong password changes what is stored")
		}
		cookies, errs := make([]string, 4), make([]error, 4)
		var together sync.WaitGroup
		for i := range cookies { // one of these sign-ins is the first to store the hash
			together.Go(func() { cookies[i], errs[i] = s.service.Accounts.Login(ctx, "bob", "correct horse", clientAddress, "") })
		}
		together.Wait()
		must(t, errors.Join(errs...))
		cookie, now := cookies[0], hash()
		if !s.signedIn(cookie) || now == stored || s.service.kernel.Options.Passwords.Stale(now) {
			t.Errorf("%s is stored", now)
		}
		_, err = s.service.Accounts.Login(ctx, "bob", "correct horse", clientAddress, "")
		must(t, err)
		if hash() != now {
			t.Error("hashed again, for nothing")
		}
	})
}
