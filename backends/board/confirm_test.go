package board

import (
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// member returns the state and the mail address of a member.
func (s *site) member(name string) (state, email, pending string, confirmed bool) {
	s.t.Helper()
	must(s.t, s.service.kernel.Read(s.t.Context(), func(c store.Conn) error {
		return c.Row("SELECT state, email, email_asked, email_confirmed FROM board_users WHERE username = ?", name).Scan(&state, &email, &pending, &confirmed)
	}))
	return state, email, pending, confirmed
}

// TestConfirmJoin checks the states of a member who registers with a mail address, for each way in which the board
// takes new members.
func TestConfirmJoin(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newLinkSite(t, db)
		ctx, b := t.Context(), s.service
		s.exec("INSERT INTO board_webhooks (url, topics, secret, created_by, created_at) VALUES ('https://example.com/', ?, '', 'admin', 1)", " "+kernel.TopicUserRegistered+" ")
		set := func(name, value string) {
			s.exec("INSERT INTO board_settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", name, value)
		}
		join := func(name, email string) accounts.Registered {
			t.Helper()
			s.exec("DELETE FROM board_attempts")
			done, err := b.Accounts.Register(ctx, accounts.NewMember{Name: name, Email: email, Password: "correct horse", Address: clientAddress, Form: s.joinForm()})
			must(t, err)
			return done
		}
		eventsAbout := func(name string) int64 {
			return s.number("SELECT count(*) FROM board_webhook_deliveries WHERE topic = ? AND body LIKE ?", kernel.TopicUserRegistered, "%"+name+"%")
		}
		for _, test := range []struct {
			name, mode, then, confirm string
			before, after             string
		}{
			{"Una", "open", "open", "1", "unconfirmed", "active"},
			{"Vera", "approval", "approval", "1", "unconfirmed", "awaiting"},
			{"Wilma", "open", "closed", "1", "unconfirmed", "awaiting"},
			{"Xenia", "open", "open", "", "active", "active"},
			{"Yara", "approval", "approval", "", "awaiting", "awaiting"},
		} {
			set("registration", test.mode)
			set("confirm_mail", test.confirm)
			email := test.name + "@example.com"
			done := join(test.name, email)
			if state, current, pending, confirmed := s.member(test.name); state != test.before || current != "" || pending != email || confirmed {
				t.Errorf("%s: %s %s %s %v", test.name, state, current, pending, confirmed)
			}
			if done.Asked != true || done.Closed != (test.before == "unconfirmed") || (done.Cookie == "") != (test.before == "awaiting") {
				t.Errorf("%s: %+v", test.name, done)
			}
			if n := eventsAbout(test.name); (n == 0) != (test.before == "unconfirmed") {
				t.Errorf("%s: %d webhook events before the confirmation", test.name, n)
			}
			m := s.mailed()["join "+email]
			if m == nil {
				t.Fatalf("%s: no link came", test.name)
			}
			set("registration", test.then)
			l, err := b.Accounts.ConfirmEmail(ctx, m.Link.Secret)
			if err != nil || l.Email != email || l.Joined != (test.before == "unconfirmed") || l.Awaits != (l.Joined && test.after == "awaiting") {
				t.Errorf("%s: %+v %v", test.name, l, err)
			}
			if state, current, pending, confirmed := s.member(test.name); state != test.after || current != email || pending != "" || !confirmed {
				t.Errorf("%s: %s %s %s %v", test.name, state, current, pending, confirmed)
			}
			if eventsAbout(test.name) != 1 {
				t.Errorf("%s: %d webhook events after the confirmation, want 1", test.name, eventsAbout(test.name))
			}
			_, err = b.Accounts.ConfirmEmail(ctx, m.Link.Secret)
			refused(t, "again", err, 410, "")
		}

		// Of two members who register with the same address, the one who opens the link first gets it.
		set("registration", "open")
		set("confirm_mail", "1")
		join("Zoe", "one@example.com")
		first := s.mailed()["join one@example.com"].Link.Secret
		join("Zita", "ONE@example.com")
		second := s.mailed()["join ONE@example.com"].Link.Secret
		_, err := b.Accounts.ConfirmEmail(ctx, second)
		must(t, err)
		_, err = b.Accounts.ConfirmEmail(ctx, first)
		refused(t, "of another member", err, 409, "")
		if state, _, _, _ := s.member("Zoe"); state != "unconfirmed" {
			t.Errorf("Zoe is %s", state)
		}

		// A member who was not let in can do nothing.
		zoe, _, err := b.Accounts.Resume(ctx, s.signIn("zoe", "correct horse"))
		must(t, err)
		refused(t, "unconfirmed", b.Rights.Admit(zoe), 403, "")
		s.clock.advance(24 * time.Hour)
		join("Anton", "late@example.com")
		late := s.mailed()["join late@example.com"].Link.Secret
		s.clock.advance(24 * time.Hour)
		_, err = b.Accounts.ConfirmEmail(ctx, late)
		refused(t, "too late", err, 410, "")
	})
}

// TestPurgeUnconfirmed checks that members who never open their link are deleted, and that their names are free
// again.
func TestPurgeUnconfirmed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newLinkSite(t, db)
		ctx := t.Context()
		before := s.number("SELECT count(*) FROM board_users")
		_, err := s.service.Accounts.Register(ctx, accounts.NewMember{Name: "Robot aa", Email: "r@example.com", Password: "correct horse", Address: clientAddress, Form: s.joinForm()})
		must(t, err)
		must(t, s.service.kernel.Write(ctx, func(c store.Conn) error {
			for i := range accounts.UnconfirmedBatch {
				add := accounts.NewUser{Name: "Robot " + string(rune('b'+i%25)) + string(rune('a'+i/25)), State: "unconfirmed", Groups: []string{"registered"}, Now: s.service.kernel.Moment()}
				if _, err := accounts.AddUser(c, add); err != nil {
					return err
				}
			}
			return nil
		}))
		s.clock.advance(accounts.KeepUnconfirmed - time.Minute)
		_, err = s.service.Accounts.Register(ctx, accounts.NewMember{Name: "Late", Email: "late@example.com", Password: "correct horse", Address: clientAddress, Form: s.joinForm()})
		must(t, err)
		_, err = s.service.Purge(ctx)
		must(t, err)
		if n := s.number("SELECT count(*) FROM board_users"); n != before+accounts.UnconfirmedBatch+2 {
			t.Errorf("%d are left too early", n-before)
		}
		s.clock.advance(time.Minute)
		_, err = s.service.Purge(ctx)
		must(t, err)
		if n := s.number("SELECT count(*) FROM board_users"); n != before+1 {
			t.Errorf("%d are left", n-before)
		}
		_, err = s.service.Accounts.Register(ctx, accounts.NewMember{Name: "robot aa", Email: "r@example.com", Password: "correct horse", Address: clientAddress, Form: s.joinForm()})
		must(t, err)
	})
}

// TestPurgeKeepsValidLinks checks that a member who has asked for the link once more has the time to open it.
func TestPurgeKeepsValidLinks(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newLinkSite(t, db)
		ctx := t.Context()
		for _, name := range []string{"Slow", "Gone"} {
			_, err := s.service.Accounts.Register(ctx, accounts.NewMember{Name: name, Email: name + "@example.com", Password: "correct horse", Address: clientAddress, Form: s.joinForm()})
			must(t, err)
		}
		s.clock.advance(accounts.KeepUnconfirmed - time.Minute)
		for _, name := range []string{"Slow", "Gone"} {
			a, err := s.service.Rights.Member(ctx, s.user(strings.ToLower(name)))
			must(t, err)
			must(t, s.service.Accounts.AskEmailAgain(ctx, a, clientAddress))
		}
		secret := s.mailed()["join Slow@example.com"].Link.Secret
		s.clock.advance(24*time.Hour - time.Second)
		_, err := s.service.Purge(ctx)
		must(t, err)
		_, err = s.service.Accounts.ConfirmEmail(ctx, secret)
		must(t, err)
		s.clock.advance(time.Second)
		_, err = s.service.Purge(ctx)
		must(t, err)
		if n := s.number("SELECT count(*) FROM board_users WHERE username IN ('Slow', 'Gone')"); n != 1 {
			t.Errorf("%d are left", n)
		}
		if state, _, _, _ := s.member("Slow"); state != "active" {
			t.Errorf("Slow is %s", state)
		}
	})
}

// TestPurgeSeeded checks that unconfirmed members of a fixture are deleted together with everything else that the
// fixture says of them.
func TestPurgeSeeded(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		_, err := s.seed(`{"users":[{"name":"Loaded","state":"unconfirmed","posts":5,"joinedAt":"2020-01-01T00:00:00Z"}]}`)
		must(t, err)
		_, err = s.service.Purge(t.Context())
		must(t, err)
		if n := s.number("SELECT count(*) FROM board_users WHERE username = 'Loaded'"); n != 0 {
			t.Error("the member is there still")
		}
		_, err = s.seed(`{"users":[{"name":"Odd","state":"asleep"}]}`)
		if err == nil || !strings.Contains(err.Error(), `Odd has the unknown state "asleep"; known states: active, unconfirmed, awaiting, banned, deleted`) {
			t.Errorf("%v", err)
		}
	})
}

// TestConfirmAPI asks for the link once more with the API.
func TestConfirmAPI(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newLinkSite(t, db)
		s.do("alice", "POST", "/email-confirmation", "").want(409, "conflict")
		s.exec("UPDATE board_users SET email_confirmed = 0 WHERE username = 'alice'")
		s.do("", "POST", "/email-confirmation", "").want(401)
		for range 3 {
			s.do("alice", "POST", "/email-confirmation", "").want(204)
		}
		s.do("alice", "POST", "/email-confirmation", "").want(429, "rate_limited")
		secret := s.mailed()["email alice@Example.com"].Link.Secret
		_, err := s.service.Accounts.ConfirmEmail(t.Context(), secret)
		must(t, err)
		if _, email, pending, confirmed := s.member("alice"); email != "alice@Example.com" || pending != "" || !confirmed {
			t.Errorf("%s %s %v", email, pending, confirmed)
		}
		s.service.kernel.Options.Mails = nil
		s.do("alice", "POST", "/email-confirmation", "").want(403, "forbidden", "no_mail")
	})
}
