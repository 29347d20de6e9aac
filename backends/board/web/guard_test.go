package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/pages/pagestest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const sessionCookie = "board_session"

// heldSession returns the session cookie of the browser, or an empty string if it has none.
func (b *browser) heldSession() string {
	b.t.Helper()
	u, err := url.Parse(b.server.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range b.Client.Jar.Cookies(u) {
		if c.Name == sessionCookie {
			return c.Value
		}
	}
	return ""
}

// keep puts a cookie into the browser.
func (b *browser) keep(name, value string) {
	b.t.Helper()
	u, err := url.Parse(b.server.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Client.Jar.SetCookies(u, []*http.Cookie{{Name: name, Value: value, Path: "/"}}) //nolint:gosec // set by an attacker
}

// TestForgedForms checks that a form which no page of the board made for this browser has no effect, whatever is wrong
// with it.
func TestForgedForms(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), web.Options{})
	bob, eve := s.as("bob"), s.as("eve")
	page := bob.Get("/account").Want(200)
	good := page.Hidden("token")
	form := func(token string) string { return values("token", token, "title", "changed", "bio", "") }
	for name, test := range map[string]struct {
		body   string
		header []string
		status int
	}{
		"no token":                 {form(""), nil, 403},
		"wrong token":              {form("x" + good[1:]), nil, 403},
		"token of another":         {form(eve.Get("/account").Hidden("token")), nil, 403},
		"token of a guest":         {form(s.guest().Get("/login").Hidden("token")), nil, 403},
		"another site":             {form(good), []string{"Origin", "https://evil.example"}, 403},
		"another site, told so":    {form(good), []string{"Sec-Fetch-Site", "cross-site"}, 403},
		"sibling site":             {form(good), []string{"Sec-Fetch-Site", "same-site"}, 403},
		"as plain text":            {form(good), []string{"Content-Type", "text/plain"}, 400},
		"with files":               {form(good), []string{"Content-Type", "multipart/form-data; boundary=x"}, 400},
		"not a form":               {"token=%zz", nil, 400},
		"too large":                {form(good) + "&x=" + strings.Repeat("x", 300<<10), nil, 413},
		"token in the address":     {"title=changed", nil, 403},
		"token of the same, later": {form(good), nil, 200},
	} {
		path := "/account"
		if name == "token in the address" {
			path += "?token=" + good
		}
		p := bob.Do(http.MethodPost, path, test.body, test.header...)
		if p.StatusCode != test.status {
			t.Errorf("%s: %d, want %d", name, p.StatusCode, test.status)
		}
	}

	// A form for a guest is bound to the guest's browser, too.
	token := s.guest().Get("/login").Hidden("token")
	other := s.guest()
	other.Get("/login")
	other.Do(http.MethodPost, "/login", url.Values{"token": {token}, "name": {"bob"}, "password": {"correct horse"}}.Encode()).Want(403)
	if other.heldSession() != "" {
		t.Error("a form of another browser has signed in")
	}
	// A GET request never changes anything.
	for _, path := range []string{"/logout", "/read", "/posts/1/restore", "/threads/1/subscription", "/account/tokens/1/revoke"} {
		bob.Get(path).Want(404)
	}
	bob.Get("/account").Want(200)
}

// TestSessions checks that each sign-in has a cookie of its own, which ends with the sign-out, a new password,
// time, or the account.
func TestSessions(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		// Session fixation: a cookie that somebody else has set before the sign-in is not used after it.
		b := s.guest()
		planted := strings.Repeat("A", 43)
		b.keep(sessionCookie, planted)
		b.Get("/login").Send("/login", "name", "bob", "password", "correct horse", "next", "/account").Want(200, "Your account")
		first := b.heldSession()
		if first == planted || len(first) != 43 {
			t.Fatalf("the cookie is %q", first)
		}
		if n := s.number("SELECT count(*) FROM board_sessions WHERE secret_hash LIKE '%" + first[:10] + "%'"); n != 0 {
			t.Error("the cookie is stored as it is")
		}

		// A copy of the cookie is valid until the sign-out.
		thief := s.guest()
		thief.keep(sessionCookie, first)
		thief.Get("/account").Want(200, "Your account")
		b.Get("/").Send("/logout").Want(200)
		thief.Get("/account").Want(200, "<h1>Sign in</h1>")

		// A new password signs out everywhere else.
		b, other := s.as("bob"), s.as("bob")
		p := b.Get("/account/password").Want(200)
		p.Send(p.Where(), "current", "wrong", "password", "another password").Want(422, "The password is wrong", `id="current-problem"`)
		p.Send(p.Where(), "current", "correct horse", "password", "short").Want(422, "at least 10")
		p.Send(p.Where(), "current", "correct horse", "password", "bob@example.com").Want(200, "The password was changed")
		other.Get("/account").Want(200, "<h1>Sign in</h1>")
		b.Get("/account").Want(200, "Your account")
		s.guest().Get("/login").Send("/login", "name", "bob", "password", "correct horse").Want(422)
		s.guest().Get("/login").Send("/login", "name", "BOB@example.com", "password", "bob@example.com").Want(200)

		// A session that is used now and then continues; an unused one ends.
		for range 3 {
			s.clock.advance(13 * 24 * time.Hour)
			p := b.Get("/account").Want(200, "Your account")
			if cookies := strings.Join(p.Header.Values("Set-Cookie"), " "); !strings.Contains(cookies, "Max-Age=1209600") {
				t.Errorf("the browser is not told to keep the cookie: %s", cookies)
			}
		}
		s.clock.advance(15 * 24 * time.Hour)
		b.Get("/account").Want(200, "<h1>Sign in</h1>")

		// The oldest sessions end when there are very many.
		for i := range 60 {
			s.exec(at("INSERT INTO board_sessions (secret_hash, user_id, created_at, seen_at, confirmed_at) SELECT 'x%d', id, 1, %d, 1 FROM board_users WHERE username = 'mod'",
				i, s.clock.now().UnixMicro()))
		}
		s.as("mod").Get("/account").Want(200, "Your account")
		if n := s.number("SELECT count(*) FROM board_sessions n JOIN board_users u ON u.id = n.user_id WHERE u.username = 'mod'"); n != 50 {
			t.Errorf("%d sessions, want 50", n)
		}

		// The member is banned while signed in.
		eve := s.as("eve")
		s.exec("UPDATE board_users SET state = 'banned' WHERE username = 'eve'")
		s.exec("UPDATE board_permission_version SET version = version + 1")
		eve.Get("/account").Want(403)
		eve.Get("/").Want(403).Send("/logout").Want(200)

		// Actions that need a fresh session ask for the password.
		ada := s.as("ada")
		page := ada.Get("/confirm?next=/account/tokens").Want(200)
		page.Send("/confirm", "password", "wrong", "next", "/account/tokens").Want(422)
		page.Send("/confirm", "password", "correct horse", "next", "/account/tokens").Want(200, "New token")
	})
}

func (s *site) exec(query string) {
	s.t.Helper()
	err := s.db.Write(s.t.Context(), func(c store.Conn) error {
		_, err := c.Exec(query)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestLockout checks that five wrong passwords lock an account for an address, whether or not the account exists,
// and for no other address.
func TestLockout(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		for _, name := range []string{"bob", "nobody"} {
			p := s.guest().Get("/login")
			try := func(password, address string) *pagestest.Page {
				return p.Do(http.MethodPost, "/login", url.Values{"token": {p.Hidden("token")}, "name": {name}, "password": {password}}.Encode(), "X-Test-Address", address)
			}
			for range 5 {
				try("wrong password", "192.0.2.7").Want(422, "The name or the password is wrong")
			}
			locked := try("correct horse", "192.0.2.7").Want(429, "15 minutes")
			if locked.Header.Get("Retry-After") != "900" {
				t.Errorf("Retry-After: %s", locked.Header.Get("Retry-After"))
			}
			s.clock.advance(14 * time.Minute)
			try("correct horse", "192.0.2.7").Want(429)
			if name == "bob" {
				s.as("bob") // from another address
			}
			s.clock.advance(2 * time.Minute)
			status := 422
			if name == "bob" {
				status = 200
			}
			p.Do(http.MethodPost, "/login", url.Values{"token": {p.Hidden("token")}, "name": {name}, "password": {"correct horse"}}.Encode(), "X-Test-Address", "192.0.2.7").Want(status)
		}
		// One address cannot try out all names.
		p := s.guest().Get("/login")
		for i := range 50 {
			p.Do(http.MethodPost, "/login", url.Values{"token": {p.Hidden("token")}, "name": {at("name%d", i)}, "password": {"x"}}.Encode(), "X-Test-Address", "2001:db8::1").Want(422)
		}
		p.Do(http.MethodPost, "/login", url.Values{"token": {p.Hidden("token")}, "name": {"bob"}, "password": {"correct horse"}}.Encode(), "X-Test-Address", "2001:db8::2").Want(429)
	})
}

// TestJoining checks who may become a member.
func TestJoining(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		b := s.guest()
		p := b.Get("/register").Want(200)
		s.join(p, "username", "BOB", "email", "other@example.com", "password", "a long password").Want(422, "name is taken")
		s.join(p, "username", "bobbybobby", "email", "x@example.com", "password", "BobbyBobby").Want(422, "must not be the name")
		s.join(p, "username", "<b>", "email", "x@example.com", "password", "a long password").Want(422)

		s.noMails.Store(true)
		s.join(p, "username", "bobby", "email", "Bob@example.com", "password", "a long password").Want(422, "already has this mail address")
		s.exec("INSERT INTO board_settings (name, value) VALUES ('registration', 'approval')")
		s.exec("UPDATE board_permission_version SET version = version + 1")
		p = p.Get("/register").Want(200, "An administrator approves new members")
		s.join(p, "username", "carol", "email", "carol@example.com", "password", "a long password").Want(200, "after an administrator has approved your account")
		p.Get("/login").Send("/login", "name", "carol", "password", "a long password").Want(403, "not approved your registration yet")
		if b.heldSession() != "" {
			t.Error("a member who awaits approval is signed in")
		}
		s.exec("UPDATE board_users SET state = 'active' WHERE username = 'carol'")
		p.Get("/login").Send("/login", "name", "carol", "password", "a long password").Want(200)

		s.exec("UPDATE board_settings SET value = 'closed' WHERE name = 'registration'")
		s.exec("UPDATE board_permission_version SET version = version + 1")
		p = s.guest().Get("/").Want(200).Lacks("/register")
		p.Get("/register").Want(403)
		s.join(p.Get("/login"), "username", "dave", "email", "dave@example.com", "password", "a long password").Want(403)
		s.guest().Get("/login").Send("/login", "name", "awaiting", "password", "correct horse").Want(403)
		s.guest().Get("/login").Send("/login", "name", "banned", "password", "correct horse").Want(403)
	})
}

// TestRefusals checks that error pages are HTML and have the right status.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), web.Options{})
	guest, bob := s.guest(), s.as("bob")
	guest.Get("/nothing").Want(404, "Page not found")
	guest.Get(at("/forums/%d", s.forum("staff"))).Want(404, "Page not found")
	guest.Get("/threads/0").Want(404)
	guest.Get("/threads/99999999999999999999").Want(404)
	guest.Get("/threads/+1").Want(404)
	guest.Get("/threads/1?after=x").Want(400)
	guest.Get(at("/forums/%d/new", s.forum("public"))).Want(200, "<h1>Sign in</h1>")
	bob.Get("/threads/1/posts/2/edit").Want(403, "may not edit")
	bob.Get("/admin").Want(404)
	open := s.thread("Open thread")
	bob.Get(at("/threads/%d", open)).Send(at("/threads/%d/manage", open), "do", "lock").Want(403, "may not change")
	s.as("mod").Get(at("/threads/%d/manage", open)).Send(at("/threads/%d/manage", open), "do", "lock").Want(200, "The thread is locked", "Manage thread")
	bob.Get(at("/threads/%d", open)).Want(200, "This thread is locked").Send(at("/threads/%d/reply", open), "message", "let me in").Want(403, "locked", "let me in</textarea>")
	s.as("mod").Get(at("/threads/%d/manage", open)).Send(at("/threads/%d/manage", open), "do", "move", "forumId", itoa(s.forum("members"))).Want(200, "moved", "secretmember forum")
	guest.Get(at("/threads/%d", open)).Want(404)

	header := bob.Get("/account").Header
	if header.Get("Cache-Control") != "private, no-store" || header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Referrer-Policy") != "same-origin" {
		t.Errorf("headers %v", header)
	}
	for next, want := range map[string]string{"/account": "/account", "//evil.example": "/", "https://evil.example": "/", `/\evil.example`: "/", "javascript:alert(1)": "/", "": "/"} {
		p := s.guest().Get("/login").Send("/login", "name", "mod", "password", "correct horse", "next", next).Want(200)
		if p.Where() != want {
			t.Errorf("next %q leads to %s", next, p.Where())
		}
	}

	// A form that is sent twice makes one post; the same form with another text makes another one.
	p := bob.Get(at("/forums/%d/new", s.forum("public"))).Want(200)
	for range 2 {
		p.Send(p.Where(), "once", "word", "title", "Sent twice", "message", "only once").Want(200, "<h1>Sent twice</h1>")
	}
	p.Send(p.Where(), "once", "word", "title", "Sent twice", "message", "and another").Want(200)
	if n := s.number("SELECT count(*) FROM board_threads WHERE title = 'Sent twice'"); n != 2 {
		t.Errorf("%d threads, want 2", n)
	}

	if policy := bob.Get("/").Header.Get("Content-Security-Policy"); !strings.Contains(policy, "img-src 'self' https:;") {
		t.Errorf("policy %s", policy)
	}
	s.exec("INSERT INTO board_settings (name, value) VALUES ('images', '')")
	s.exec("UPDATE board_permission_version SET version = version + 1")
	if policy := bob.Get("/").Header.Get("Content-Security-Policy"); !strings.Contains(policy, "img-src 'self';") {
		t.Errorf("policy without images %s", policy)
	}

	s.exec("INSERT INTO board_settings (name, value) VALUES ('offline', '1')")
	s.exec("UPDATE board_permission_version SET version = version + 1")
	if p := guest.Get("/").Want(503, "Not available right now", `href="/login"`); p.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	guest.Get("/feed.atom").Want(503)
	bob.Get("/").Want(503)
	guest.Get("/assets/board.css").Want(200)
	s.as("mod").Get("/").Want(200)
}

// TestMembersOnly checks that guests see only the ways to sign in or join.
func TestMembersOnly(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), web.Options{MembersOnly: true})
	b := s.guest()
	for _, page := range s.everyPage() {
		b.Get(page).Lacks("common", "Open thread", "Public")
	}
	b.Get("/register").Want(200, "<h1>Join</h1>")
	s.as("bob").Get("/").Want(200, "Public")
}

// TestCookies checks that cookies on HTTPS are hidden from other hosts and from scripts.
func TestCookies(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), web.Options{})
	pages := s.service.Pages(web.Options{BaseURL: "https://forum.example.com"}, zap.NewNop())
	w := httptest.NewRecorder()
	pages.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://forum.example.com/login", nil))
	cookies := w.Result().Cookies()
	if len(cookies) != 1 {
		t.Fatalf("cookies %v", cookies)
	}
	if c := cookies[0]; c.Name != "__Host-board_form" || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
		t.Errorf("cookie %v", c)
	}
	if cookies := s.guest().Get("/").Header.Values("Set-Cookie"); len(cookies) != 0 {
		t.Errorf("a page without a form sets %v", cookies)
	}
}

// TestTokens checks that members make and revoke tokens with their password, if their groups may.
func TestTokens(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		b := s.as("bob")
		p := b.Get("/account/tokens").Want(200, "You have no tokens")
		p.Send(p.Where(), "name", "laptop", "scope", "posts:read", "days", "30", "password", "wrong").Want(422, "The password is wrong", `value="laptop"`)
		p.Send(p.Where(), "name", "laptop", "days", "30", "password", "correct horse").Want(422, "Scopes must be some of")
		page := p.Send(p.Where(), "name", "laptop", "scope", "posts:read", "scope", "forums:read", "days", "30", "password", "correct horse").Want(200, "brd_pat_", "Copy it now")
		text := page.Text[strings.Index(page.Text, `<code class="secret">`)+len(`<code class="secret">`):]
		text, _, _ = strings.Cut(text, "<")
		if _, err := s.service.Accounts.Authenticate(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		b.Get("/account/tokens").Want(200, "laptop").Lacks(text)
		id := s.number("SELECT max(id) FROM board_api_tokens")
		s.as("eve").Get("/account/tokens").Send(at("/account/tokens/%d/revoke", id)).Want(404)
		b.Get("/account/tokens").Send(at("/account/tokens/%d/revoke", id)).Want(200, "The token was revoked")
		if _, err := s.service.Accounts.Authenticate(t.Context(), text); err == nil {
			t.Error("a revoked token is good")
		}
		s.exec("UPDATE board_groups SET allow_mask = allow_mask - 274877906944 WHERE kind = 'registered'") // token.issue
		s.exec("UPDATE board_permission_version SET version = version + 1")
		b.Get("/account/tokens").Want(200).Lacks("New token").
			Send("/account/tokens", "name", "laptop", "scope", "posts:read", "days", "30", "password", "correct horse").Want(403)
	})
}
