package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/pages/pagestest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestJoinByMail checks that new members are admitted when they open the link that was mailed to their address, and
// not before.
func TestJoinByMail(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		b := s.guest()
		join := func(b *browser, name, email string) *pagestest.Page {
			t.Helper()
			return s.join(b.Get("/register").Want(200, "We will send you a link"), "username", name, "email", email, "password", "a long password")
		}
		p := join(b, "carol", "carol@example.com").Want(200, "<h1>Confirm your mail address</h1>", "on its way to carol@example.com", "Sign out").Lacks("Notifications", "Profile")
		for _, path := range []string{"/", "/account", "/account/tokens", "/register", at("/threads/%d", s.thread("Open thread")), "/notifications"} {
			if p := b.Get(path); path != "/notifications" && p.Where() != "/account/email" {
				t.Errorf("%s leads to %s", path, p.Where())
			}
		}
		p.Send(at("/threads/%d/reply", s.thread("Open thread")), "message", "Let me in").Want(200, "<h1>Confirm your mail address</h1>")
		if s.number("SELECT count(*) FROM board_posts WHERE message = 'Let me in'") != 0 {
			t.Error("a member whose address is not confirmed has posted")
		}
		s.guest().Get(at("/members/%d", s.user("carol"))).Want(404)

		// A mistyped address can be corrected, also in another browser.
		other := s.guest()
		p = other.Get("/login").Send("/login", "name", "carol", "password", "a long password").Want(200, "<h1>Confirm your mail address</h1>")
		p = p.Send("/account/email", "email", "carola@example.com", "password", "a long password").Want(200, "on its way to carola@example.com")
		m := s.mailed("carol", accounts.LinkJoin)
		if m.Email != "carola@example.com" || !m.Link.Ends.Equal(s.clock.now().Add(24*time.Hour)) {
			t.Errorf("%+v %v", m, m.Link)
		}
		p.Send("/account/email/again").Want(200, "Another mail is on its way", "on its way to carola@example.com")
		m = s.mailed("carol", accounts.LinkJoin)
		p = s.guest().Get("/email?token="+m.Link.Secret).Want(200, "carol go to carola@example.com")
		p.Send("/email", "secret", m.Link.Secret).Want(200, "carola@example.com is confirmed. Welcome!", "<h1>Sign in</h1>")
		b.Get("/account/email").Want(200, "Mails go to carola@example.com.", "Profile")
		b.Get("/email?token=" + m.Link.Secret).Want(410)

		// Another mail can be requested, but not without limit.
		bob := s.as("bob")
		form := bob.Get("/account/email")
		form.Send("/account/email/again").Want(409, "no mail address that waits for confirmation")
		form = form.Send("/account/email", "email", "new@example.com", "password", "correct horse").Want(200, "on its way to new@example.com", "Mails go to bob@example.com.")
		form.Send("/account/email/again").Want(200)
		form.Send("/account/email/again").Want(200)
		if p := form.Send("/account/email/again").Want(429, "Too many mails"); p.Header.Get("Retry-After") == "" {
			t.Errorf("%v", p.Header)
		}

		// Where no mails are sent, an administrator admits members.
		join(s.guest(), "dora", "dora@example.com").Want(200)
		s.noMails.Store(true)
		dora := s.guest()
		p = dora.Get("/login").Send("/login", "name", "dora", "password", "a long password").Want(200, "an administrator can approve your account").Lacks(`name="email"`)
		p.Send("/account/email/again").Want(403, "sends no mails")
		page := at("/admin/members/%d", s.user("dora"))
		s.as("ada").Get(page).Want(200, "asked for dora@example.com (not confirmed)", `value="approve"`).Lacks(`value="ban"`).Send(page, "do", "approve").Want(200)
		dora.Get("/account/email").Want(200, "<h1>Your account</h1>")
	})
}

// TestJoinWithPasswordGiven checks that a password from an administrator confirms no address, and must be changed
// as soon as the address is confirmed.
func TestJoinWithPasswordGiven(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), web.Options{})
	s.join(s.guest().Get("/register"), "username", "carol", "email", "carol@example.com", "password", "a long password").Want(200)
	page := at("/admin/members/%d", s.user("carol"))
	given := s.as("ada").Get(page).Want(200).Send(page, "do", "password", "sure", "1").Want(200)
	_, rest, _ := strings.Cut(given.Text, `class="secret">`)
	password, _, _ := strings.Cut(rest, "<")
	carol := s.guest()
	carol.Get("/login").Send("/login", "name", "carol", "password", password).Want(200, "<h1>Confirm your mail address</h1>").
		Send("/account/email/again").Want(200, "Another mail is on its way")
	secret := s.mailed("carol", accounts.LinkJoin).Link.Secret
	carol.Get("/email?token="+secret).Send("/email", "secret", secret).Want(200, "Choose one of your own first.")
}

// TestJoinAwaitsApproval checks that a member who also needs approval stays a guest until then, in the browser that
// joined and in others.
func TestJoinAwaitsApproval(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		s.exec("INSERT INTO board_settings (name, value) VALUES ('registration', 'approval')")
		b, bob := s.guest(), s.as("bob")
		for _, test := range []struct {
			name string
			in   *browser
		}{{"carol", b}, {"dora", bob}} {
			joined := s.guest()
			if test.in == b {
				joined = b
			}
			s.join(joined.Get("/register"), "username", test.name, "email", test.name+"@example.com", "password", "a long password").Want(200, "<h1>Confirm your mail address</h1>")
			secret := s.mailed(test.name, accounts.LinkJoin).Link.Secret
			p := test.in.Get("/email?token="+secret).Want(200).Send("/email", "secret", secret).Want(200, "is confirmed. You can sign in after an administrator has approved your account.")
			if p.Where() != map[bool]string{true: "/login", false: "/"}[test.in == b] {
				t.Errorf("%s: at %s", test.name, p.Where())
			}
			joined.Get("/").Want(200, "Sign in")
			joined.Get("/login").Send("/login", "name", test.name, "password", "a long password").Want(403, "has not approved your registration yet")
		}
		bob.Get("/account").Want(200, "<h1>Your account</h1>") // opening the link of another member does not change who is signed in
	})
}

// TestJoinRevealsNoAddress checks that joining does not reveal whether anybody has a mail address.
func TestJoinRevealsNoAddress(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		for _, confirm := range []string{"1", ""} {
			s := newSite(t, db, web.Options{})
			s.exec("DELETE FROM board_attempts")
			s.exec("DELETE FROM board_settings WHERE name = 'confirm_mail'")
			s.exec("INSERT INTO board_settings (name, value) VALUES ('confirm_mail', '" + confirm + "')")
			s.exec("UPDATE board_permission_version SET version = version + 1")
			join := func(name, email string) *pagestest.Page {
				t.Helper()
				return s.join(s.guest().Get("/register"), "username", name, "email", email, "password", "a long password").Want(200)
			}
			// Names and addresses of equal length, so that nothing else differs.
			dan, fay := "dan"+confirm, "fay"+confirm
			unknown, known := join(dan, "dan@example.com"), join(fay, "bob@example.com")
			plain := func(p *pagestest.Page, name, email string) string {
				return strings.NewReplacer(email, "EMAIL", name, "NAME", p.Hidden("token"), "TOKEN").Replace(p.Text)
			}
			if a, b := plain(unknown, dan, "dan@example.com"), plain(known, fay, "bob@example.com"); a != b || unknown.Where() != known.Where() {
				t.Errorf("the answers differ:\n%s\n%s", a, b)
			}
			resend := func(p *pagestest.Page) *pagestest.Page {
				return p.Get("/account/email").Want(200).Send("/account/email/again").Want(200)
			}
			if a, b := plain(resend(unknown), dan, "dan@example.com"), plain(resend(known), fay, "bob@example.com"); a != b {
				t.Errorf("the answers differ, once more:\n%s\n%s", a, b)
			}
			m := s.mailed("bob", accounts.LinkKnown)
			if m == nil || m.Email != "bob@example.com" || m.Name != "bob" || m.Link.Secret != "" {
				t.Errorf("the member gets no mail: %+v", m)
			}
			if m := s.mailed(dan, accounts.LinkJoin); m == nil || m.Email != "dan@example.com" {
				t.Errorf("%+v", m)
			}
			if m := s.mailed(fay, accounts.LinkJoin); m != nil {
				t.Errorf("bob is asked to confirm the account of somebody else: %+v", m)
			}
			s.exec("UPDATE board_users SET email = '', email_key = NULL WHERE username = 'dan1'")
		}
	})
}

// TestUnconfirmedAddress checks that an unconfirmed address gets no mails until a link that was sent to it is
// opened, also one for a new password.
func TestUnconfirmedAddress(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		s.exec("UPDATE board_users SET email_confirmed = 0 WHERE username IN ('bob', 'eve')")
		thread := at("/threads/%d", s.thread("Open thread"))
		bob := s.as("bob")
		bob.Get(thread).Send(thread+"/subscription", "mode", "instant").Want(200)
		bob.Get("/account/subscriptions").Want(200, "You will not receive mail until", `href="/account/email"`)
		reply := func(text string) {
			t.Helper()
			s.as("mod").Get(thread).Send(thread+"/reply", "message", text).Want(200)
			s.clock.advance(time.Minute)
		}
		reply("Nobody is told of this")
		if m := s.mailed("bob", "instant"); m != nil {
			t.Errorf("%+v", m)
		}
		p := bob.Get("/account/email").Want(200, "bob@example.com is not confirmed", "Mail me a link that confirms it")
		p.Send("/account/email/again").Want(200, "Another mail is on its way")
		m := s.mailed("bob", accounts.LinkEmail)
		bob.Get("/email?token="+m.Link.Secret).Send("/email", "secret", m.Link.Secret).Want(200)
		bob.Get("/account/email").Want(200, "Mails go to bob@example.com.")
		bob.Get("/account/subscriptions").Want(200).Lacks("No mails come")
		p = bob.Get("/account/subscriptions").Want(200, `<option value="6" selected>6:00`, `<option value="1" selected>Monday`, "your time zone, UTC")
		p.Send("/account/digests", "hour", "18", "day", "5").Want(200, "Saved.", `<option value="18" selected>18:00`, `<option value="5" selected>Friday`)
		p.Send("/account/digests", "hour", "24", "day", "5").Want(422)
		reply("Bob is told of this")
		if m := s.mailed("bob", "instant"); m == nil || m.Email != "bob@example.com" || len(m.Threads) != 1 {
			t.Errorf("%+v", m)
		}

		eve := s.guest()
		eve.Get("/forgot").Send("/forgot", "email", "eve@example.com").Want(200)
		m = s.mailed("eve", accounts.LinkReset)
		eve.Get("/reset?token="+m.Link.Secret).Send("/reset", "secret", m.Link.Secret, "password", "battery staple").Want(200)
		eve.Get("/login").Send("/login", "name", "eve", "password", "battery staple").Want(200)
		eve.Get("/account/email").Want(200, "Mails go to eve@example.com.")
	})
}
