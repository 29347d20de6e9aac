package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/mails"
	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// mailed returns the mail of a kind that a member gets now, or nil if there is none.
func (s *site) mailed(name, kind string) *mails.Mailing {
	s.t.Helper()
	ctx := s.t.Context()
	m, err := s.service.Mails.ClaimMail(ctx, mails.Recipient{User: s.number("SELECT id FROM board_users WHERE username_key = '" + name + "'"), Mode: kind})
	if err != nil {
		s.t.Fatal(err)
	}
	if m != nil {
		if err := s.service.Mails.MailSent(ctx, m); err != nil {
			s.t.Fatal(err)
		}
	}
	return m
}

// TestForgottenPassword checks that a member who reads the mail gets in again, and that nobody learns who is a
// member.
func TestForgottenPassword(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{MembersOnly: true})
		before, b := s.as("bob"), s.guest()
		b.Get("/login").Want(200, `href="/forgot"`)
		b.Get("/forgot").Send("/forgot", "email", "bob").Want(422, "name@example.com", `value="bob"`)
		known := b.Get("/forgot").Send("/forgot", "email", "bob@example.com").Want(200, "If bob@example.com is the address of a member")
		unknown := s.guest().Get("/forgot").Send("/forgot", "email", "nobody@example.com").Want(200)
		if strings.ReplaceAll(unknown.Text, "nobody@", "bob@") != known.Text {
			t.Errorf("the answers differ:\n%s\n%s", known.Text, unknown.Text)
		}
		m := s.mailed("bob", accounts.LinkReset)
		link := "/reset?token=" + m.Link.Secret
		p := b.Get(link).Want(200, "New password of bob").Lacks("next=/reset", "next=%2Freset") // the links do not pass the secret on, because URLs are logged
		if p.Header.Get("Cache-Control") != "private, no-store" || p.Header.Get("Referrer-Policy") != "strict-origin" {
			t.Errorf("%v", p.Header)
		}
		b.Get(link).Want(200) // opening the page does not use the link up
		b.Do(http.MethodPost, "/reset", "secret="+m.Link.Secret+"&password=battery+staple").Want(403, "form is out of date")
		b.Get(link).Send("/reset", "secret", m.Link.Secret, "password", "short").Want(422, "at least 10 characters", "New password of bob", m.Link.Secret)
		b.Get(link).Send("/reset", "secret", "x", "password", "battery staple").Want(410, "This link has expired")
		before.Get("/account").Want(200, "Your account")
		b.Get(link).Send("/reset", "secret", m.Link.Secret, "password", "battery staple").Want(200, "The password was changed", "<h1>Sign in</h1>")
		before.Get("/account").Want(200, "<h1>Sign in</h1>")
		b.Get(link).Want(410, "This link has expired", `<a href="/forgot">Ask for another link</a>`).Lacks("New password of bob")
		b.Get("/reset").Want(410)
		b.Get("/login").Send("/login", "name", "bob", "password", "battery staple").Want(200, "Sign out")

		s.noMails.Store(true)
		b.Get("/forgot").Want(200, "This board sends no mails. An administrator can give you a new password.").Lacks(`name="email"`)
		p = b.Get("/login") // a page with a form
		p.Send("/forgot", "email", "bob@example.com").Want(403, "This board sends no mails")
	})
}

// TestForgottenTooOften checks that the page tells how long to wait.
func TestForgottenTooOften(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), web.Options{})
	b := s.guest()
	for range 3 {
		b.Get("/forgot").Send("/forgot", "email", "bob@example.com").Want(200)
	}
	p := b.Get("/forgot").Send("/forgot", "email", "bob@example.com").Want(429, "Too many mails", "60 minutes")
	if p.Header.Get("Retry-After") != "3600" {
		t.Errorf("%v", p.Header)
	}
}

// TestMailAddress checks that the address changes when the link to it is used.
func TestMailAddress(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		bob := s.as("bob")
		form := bob.Get("/account/email").Want(200, "Mails go to bob@example.com.")
		form.Send("/account/email", "email", "new@example.com", "password", "wrong horse").Want(422, "The password is wrong", `value="new@example.com"`)
		form.Send("/account/email", "email", "new@example.com", "password", "correct horse").Want(200, "on its way to new@example.com", "Mails go to bob@example.com.")
		notice, m := s.mailed("bob", accounts.LinkNotice), s.mailed("bob", accounts.LinkEmail)
		if notice == nil || notice.Email != "bob@example.com" || m == nil || m.Email != "new@example.com" {
			t.Fatalf("%+v %+v", notice, m)
		}
		link := "/email?token=" + m.Link.Secret
		reader := s.guest() // another browser
		p := reader.Get(link).Want(200, "bob go to new@example.com")
		bob.Get("/account/email").Want(200, "Mails go to bob@example.com.")
		p.Send("/email", "secret", "x").Want(410, "This link has expired")
		p.Send("/email", "secret", m.Link.Secret).Want(200, "Your mail address is new@example.com now.")
		bob.Get("/account/email").Want(200, "Mails go to new@example.com.")
		reader.Get(link).Want(410, "This link has expired", `<a href="/account/email">Ask for another link</a>`)
		s.guest().Get("/account/email").Want(200, "<h1>Sign in</h1>")
		s.noMails.Store(true)
		bob.Get("/account/email").Want(200, "cannot be confirmed").Lacks(`name="email"`)
		form.Send("/account/email", "email", "newer@example.com", "password", "correct horse").Want(403)
	})
}

// TestTimeZone checks that members see times in the zone of their choice, that everybody else sees them in UTC, and
// that programs get the same times.
func TestTimeZone(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		thread := at("/threads/%d", s.thread("Open thread"))
		s.guest().Get(thread).Want(200, `<time datetime="2026-01-01T00:00:00Z" title="Thursday, 1 January 2026, 00:00:00 UTC">1 Jan 2026, 00:00</time>`, "All times are in UTC.")
		bob := s.as("bob")
		form := bob.Get("/account").Want(200, `name="timeZone" value="UTC"`, `<option value="America/New_York">`)
		form.Send("/account", "timeZone", "America/Nowhere").Want(422, "not the name of a time zone", `value="America/Nowhere"`)
		form.Send("/account", "timeZone", "America/New_York").Want(200, "Saved.", "All times are in America/New_York")
		const localTime = `<time datetime="2026-01-01T00:00:00Z" title="Wednesday, 31 December 2025, 19:00:00 EST">31 Dec 2025, 19:00</time>`
		bob.Get(thread).Want(200, localTime)
		bob.Get(at("/forums/%d", s.forum("public"))).Want(200, localTime)
		bob.Get("/").Want(200, " EST")
		s.as("eve").Get(thread).Want(200, "1 Jan 2026, 00:00", "All times are in UTC")

		s.exec("UPDATE board_users SET time_zone = 'Pacific/Auckland' WHERE username = 'ada'")
		ada, eve := s.as("ada"), at("/admin/members/%d", s.number("SELECT id FROM board_users WHERE username = 'eve'"))
		ada.Get(eve).Want(200, "2 Jan 2026, 16:04").Send(eve, "do", "suspend").Want(200, ` min="2026-01-02"`).Send(eve, "do", "suspend", "sure", "1", "date", "2026-01-31").Want(200)
		ada.Get(eve).Want(200, `<time datetime="2026-01-31T11:00:00Z" title="Sunday, 1 February 2026, 00:00:00 NZDT">`)
		s.clock.advance(8 * time.Hour)
		s.as("ada").Get(eve).Send(eve, "do", "suspend").Want(200, ` min="2026-01-03"`)
	})
}

// TestJoin checks that people are not invited to join while they cannot.
func TestJoin(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), web.Options{})
	const join = `href="/register"`
	for _, test := range []struct {
		sql    string
		status int
		joins  bool
	}{
		{"", 200, true},
		{"INSERT INTO board_settings (name, value) VALUES ('registration', 'approval')", 200, true},
		{"UPDATE board_settings SET value = 'closed' WHERE name = 'registration'", 200, false},
		{"UPDATE board_settings SET name = 'offline', value = '1' WHERE name = 'registration'", 503, false},
	} {
		if test.sql != "" {
			s.exec(test.sql)
			s.exec("UPDATE board_permission_version SET version = version + 1")
		}
		for path, status := range map[string]int{"/": test.status, "/login": 200, "/nothing": 404} {
			if p := s.guest().Get(path).Want(status); strings.Contains(p.Text, join) != test.joins {
				t.Errorf("%s after %q: joins %v", path, test.sql, !test.joins)
			}
		}
	}
}

// TestErrorPage checks the page for a request that is refused in front of the board.
func TestErrorPage(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{429: "<h1>Too many requests</h1>\n<p>Too &lt;b&gt; much.</p>\n<p>Try again in 61 seconds.</p>", 418: "<h1>Something went wrong</h1>", 503: "<h1>Not available right now</h1>"} {
		header, body := web.ErrorPage("", &apierror.Error{Status: status, Message: "too <b> much", RetryAfter: 61 * time.Second})
		if text := string(body); !strings.Contains(text, want) || !strings.Contains(text, "/assets/board.css") || header.Get("Content-Type") != "text/html; charset=utf-8" ||
			!strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%d: %v\n%s", status, header, text)
		}
	}
}
