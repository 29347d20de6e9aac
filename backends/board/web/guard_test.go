package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

const sessionCookie = "board_session"

// cookie is a cookie that the browser holds; empty: none.
func (b *browser) cookie(name string) string {
	b.t.Helper()
	u, err := url.Parse(b.server.URL)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range b.client.Jar.Cookies(u) {
		if c.Name == name {
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
	b.client.Jar.SetCookies(u, []*http.Cookie{{Name: name, Value: value, Path: "/"}}) //nolint:gosec // put there by whoever attacks
}

// TestForms: a form that no page of the board made for this browser does
// nothing, whatever is wrong with it.
func TestForms(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), Options{})
	bob, eve := s.as("bob"), s.as("eve")
	page := bob.get("/account").want(200)
	good := page.token()
	form := func(token string) string { return values("token", token, "title", "changed", "bio", "") }
	for name, test := range map[string]struct {
		body   string
		header []string
		status int
	}{
		"no token":                 {form(""), nil, 403},
		"wrong token":              {form("x" + good[1:]), nil, 403},
		"token of another":         {form(eve.get("/account").token()), nil, 403},
		"token of a guest":         {form(s.guest().get("/login").token()), nil, 403},
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
		p := bob.do(http.MethodPost, path, test.body, test.header...)
		if p.status != test.status {
			t.Errorf("%s: %d, want %d", name, p.status, test.status)
		}
	}

	// A form of a guest is bound to the guest's browser, too.
	token := s.guest().get("/login").token()
	other := s.guest()
	other.get("/login")
	other.do(http.MethodPost, "/login", url.Values{"token": {token}, "name": {"bob"}, "password": {"correct horse"}}.Encode()).want(403)
	if other.cookie(sessionCookie) != "" {
		t.Error("a form of another browser has signed in")
	}
	// What changes something is never a GET.
	for _, path := range []string{"/logout", "/read", "/posts/1/restore", "/threads/1/subscription", "/account/tokens/1/revoke"} {
		bob.get(path).want(404)
	}
	bob.get("/account").want(200)
}

// TestSessions: a sign in has a cookie of its own, which ends with a sign out,
// with a new password, with time and with the account.
func TestSessions(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, Options{})
		// Fixation: what another put there before is not what counts after.
		b := s.guest()
		planted := strings.Repeat("A", 43)
		b.keep(sessionCookie, planted)
		b.get("/login").send("/login", "name", "bob", "password", "correct horse", "next", "/account").want(200, "Your account")
		first := b.cookie(sessionCookie)
		if first == planted || len(first) != 43 {
			t.Fatalf("the cookie is %q", first)
		}
		if n := s.number("SELECT count(*) FROM board_sessions WHERE secret_hash LIKE '%" + first[:10] + "%'"); n != 0 {
			t.Error("the cookie is stored as it is")
		}

		// A copy of the cookie is good until the sign out.
		thief := s.guest()
		thief.keep(sessionCookie, first)
		thief.get("/account").want(200, "Your account")
		b.get("/").send("/logout").want(200)
		thief.get("/account").want(200, "<h1>Sign in</h1>")

		// A new password signs out everywhere else.
		b, other := s.as("bob"), s.as("bob")
		p := b.get("/account/password").want(200)
		p.send(p.path, "current", "wrong", "password", "another password").want(422, "The password is wrong", `id="current-problem"`)
		p.send(p.path, "current", "correct horse", "password", "short").want(422, "at least 10")
		p.send(p.path, "current", "correct horse", "password", "bob@example.com").want(200, "The password is changed")
		other.get("/account").want(200, "<h1>Sign in</h1>")
		b.get("/account").want(200, "Your account")
		s.guest().get("/login").send("/login", "name", "bob", "password", "correct horse").want(422)
		s.guest().get("/login").send("/login", "name", "BOB@example.com", "password", "bob@example.com").want(200)

		// Used now and then it goes on; left alone it ends.
		for range 3 {
			s.clock.advance(13 * 24 * time.Hour)
			p := b.get("/account").want(200, "Your account")
			if cookies := strings.Join(p.header.Values("Set-Cookie"), " "); !strings.Contains(cookies, "Max-Age=1209600") {
				t.Errorf("the browser is not told to keep the cookie: %s", cookies)
			}
		}
		s.clock.advance(15 * 24 * time.Hour)
		b.get("/account").want(200, "<h1>Sign in</h1>")

		// The oldest end when there are very many.
		for i := range 60 {
			s.exec(at("INSERT INTO board_sessions (secret_hash, user_id, created_at, seen_at, confirmed_at) SELECT 'x%d', id, 1, %d, 1 FROM board_users WHERE username = 'mod'",
				i, s.clock.now().UnixMicro()))
		}
		s.as("mod").get("/account").want(200, "Your account")
		if n := s.number("SELECT count(*) FROM board_sessions n JOIN board_users u ON u.id = n.user_id WHERE u.username = 'mod'"); n != 50 {
			t.Errorf("%d sessions, want 50", n)
		}

		// Banned while signed in.
		eve := s.as("eve")
		s.exec("UPDATE board_users SET state = 'banned' WHERE username = 'eve'")
		s.exec("UPDATE board_permission_version SET version = version + 1")
		eve.get("/account").want(403)
		eve.get("/").want(403).send("/logout").want(200)

		// A password for what needs a fresh one.
		ada := s.as("ada")
		page := ada.get("/confirm?next=/account/tokens").want(200)
		page.send("/confirm", "password", "wrong", "next", "/account/tokens").want(422)
		page.send("/confirm", "password", "correct horse", "next", "/account/tokens").want(200, "New token")
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

// TestLockout: five wrong passwords close an account for an address, whether
// there is one or not, and for no other.
func TestLockout(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, Options{})
		for _, name := range []string{"bob", "nobody"} {
			p := s.guest().get("/login")
			try := func(password, address string) *shown {
				return p.do(http.MethodPost, "/login", url.Values{"token": {p.token()}, "name": {name}, "password": {password}}.Encode(), "X-Test-Address", address)
			}
			for range 5 {
				try("wrong password", "192.0.2.7").want(422, "The name or the password is wrong")
			}
			locked := try("correct horse", "192.0.2.7").want(429, "15 minutes")
			if locked.header.Get("Retry-After") != "900" {
				t.Errorf("Retry-After: %s", locked.header.Get("Retry-After"))
			}
			s.clock.advance(14 * time.Minute)
			try("correct horse", "192.0.2.7").want(429)
			if name == "bob" {
				s.as("bob") // from another address
			}
			s.clock.advance(2 * time.Minute)
			status := 422
			if name == "bob" {
				status = 200
			}
			p.do(http.MethodPost, "/login", url.Values{"token": {p.token()}, "name": {name}, "password": {"correct horse"}}.Encode(), "X-Test-Address", "192.0.2.7").want(status)
		}
		// One address cannot try all names.
		p := s.guest().get("/login")
		for i := range 50 {
			p.do(http.MethodPost, "/login", url.Values{"token": {p.token()}, "name": {at("name%d", i)}, "password": {"x"}}.Encode(), "X-Test-Address", "2001:db8::1").want(422)
		}
		p.do(http.MethodPost, "/login", url.Values{"token": {p.token()}, "name": {"bob"}, "password": {"correct horse"}}.Encode(), "X-Test-Address", "2001:db8::2").want(429)
	})
}

// TestJoining: who may become a member.
func TestJoining(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, Options{})
		b := s.guest()
		p := b.get("/register").want(200)
		p.join("username", "BOB", "email", "other@example.com", "password", "a long password").want(422, "name is taken")
		p.join("username", "bobbybobby", "email", "x@example.com", "password", "BobbyBobby").want(422, "must not be the name")
		p.join("username", "<b>", "email", "x@example.com", "password", "a long password").want(422)

		s.noMails.Store(true)
		p.join("username", "bobby", "email", "Bob@example.com", "password", "a long password").want(422, "mail address already")
		s.exec("INSERT INTO board_settings (name, value) VALUES ('registration', 'approval')")
		s.exec("UPDATE board_permission_version SET version = version + 1")
		p.get("/register").want(200, "An administrator lets new members in").
			join("username", "carol", "email", "carol@example.com", "password", "a long password").want(200, "when an administrator has let you in")
		p.get("/login").send("/login", "name", "carol", "password", "a long password").want(403, "not let you in yet")
		if b.cookie(sessionCookie) != "" {
			t.Error("who awaits approval is signed in")
		}
		s.exec("UPDATE board_users SET state = 'active' WHERE username = 'carol'")
		p.get("/login").send("/login", "name", "carol", "password", "a long password").want(200)

		s.exec("UPDATE board_settings SET value = 'closed' WHERE name = 'registration'")
		s.exec("UPDATE board_permission_version SET version = version + 1")
		p = s.guest().get("/").want(200).lacks("/register")
		p.get("/register").want(403)
		p.get("/login").join("username", "dave", "email", "dave@example.com", "password", "a long password").want(403)
		s.guest().get("/login").send("/login", "name", "awaiting", "password", "correct horse").want(403)
		s.guest().get("/login").send("/login", "name", "banned", "password", "correct horse").want(403)
	})
}

// TestRefusals: pages of errors have their status and are HTML.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), Options{})
	guest, bob := s.guest(), s.as("bob")
	guest.get("/nothing").want(404, "Nothing here")
	guest.get(at("/forums/%d", s.forum("staff"))).want(404, "Nothing here")
	guest.get("/threads/0").want(404)
	guest.get("/threads/99999999999999999999").want(404)
	guest.get("/threads/+1").want(404)
	guest.get("/threads/1?after=x").want(400)
	guest.get(at("/forums/%d/new", s.forum("public"))).want(200, "<h1>Sign in</h1>")
	bob.get("/threads/1/posts/2/edit").want(403, "may not edit")
	bob.get("/admin").want(404)
	open := s.thread("Open thread")
	bob.get(at("/threads/%d", open)).send(at("/threads/%d/manage", open), "do", "lock").want(403, "may not change")
	s.as("mod").get(at("/threads/%d/manage", open)).send(at("/threads/%d/manage", open), "do", "lock").want(200, "The thread is locked", "Manage thread")
	bob.get(at("/threads/%d", open)).want(200, "This thread is locked").send(at("/threads/%d/reply", open), "message", "let me in").want(403, "locked", "let me in</textarea>")
	s.as("mod").get(at("/threads/%d/manage", open)).send(at("/threads/%d/manage", open), "do", "move", "forumId", itoa(s.forum("members"))).want(200, "moved", "secretmember forum")
	guest.get(at("/threads/%d", open)).want(404)

	header := bob.get("/account").header
	if header.Get("Cache-Control") != "private, no-store" || header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Referrer-Policy") != "same-origin" {
		t.Errorf("headers %v", header)
	}
	for next, want := range map[string]string{"/account": "/account", "//evil.example": "/", "https://evil.example": "/", `/\evil.example`: "/", "javascript:alert(1)": "/", "": "/"} {
		p := s.guest().get("/login").send("/login", "name", "mod", "password", "correct horse", "next", next).want(200)
		if p.path != want {
			t.Errorf("next %q leads to %s", next, p.path)
		}
	}

	// What a form sends twice is there once; another text of the same form is another.
	p := bob.get(at("/forums/%d/new", s.forum("public"))).want(200)
	for range 2 {
		p.send(p.path, "once", "word", "title", "Sent twice", "message", "only once").want(200, "<h1>Sent twice</h1>")
	}
	p.send(p.path, "once", "word", "title", "Sent twice", "message", "and another").want(200)
	if n := s.number("SELECT count(*) FROM board_threads WHERE title = 'Sent twice'"); n != 2 {
		t.Errorf("%d threads, want 2", n)
	}

	if policy := bob.get("/").header.Get("Content-Security-Policy"); !strings.Contains(policy, "img-src 'self' https:;") {
		t.Errorf("policy %s", policy)
	}
	s.exec("INSERT INTO board_settings (name, value) VALUES ('images', '')")
	s.exec("UPDATE board_permission_version SET version = version + 1")
	if policy := bob.get("/").header.Get("Content-Security-Policy"); !strings.Contains(policy, "img-src 'self';") {
		t.Errorf("policy without images %s", policy)
	}

	s.exec("INSERT INTO board_settings (name, value) VALUES ('offline', '1')")
	s.exec("UPDATE board_permission_version SET version = version + 1")
	if p := guest.get("/").want(503, "Closed for now", `href="/login"`); p.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	guest.get("/feed.atom").want(503)
	bob.get("/").want(503)
	guest.get("/assets/board.css").want(200)
	s.as("mod").get("/").want(200)
}

// TestMembersOnly: guests see how to get in, and nothing else.
func TestMembersOnly(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), Options{MembersOnly: true})
	b := s.guest()
	for _, page := range s.everyPage() {
		b.get(page).lacks("common", "Open thread", "Public")
	}
	b.get("/register").want(200, "<h1>Join</h1>")
	s.as("bob").get("/").want(200, "Public")
}

// TestCookies: on https cookies are kept from other hosts and from scripts.
func TestCookies(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), Options{})
	pages := New(s.service, Options{BaseURL: "https://forum.example.com"}, zap.NewNop())
	w := httptest.NewRecorder()
	pages.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://forum.example.com/login", nil))
	cookies := w.Result().Cookies()
	if len(cookies) != 1 {
		t.Fatalf("cookies %v", cookies)
	}
	if c := cookies[0]; c.Name != "__Host-board_form" || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
		t.Errorf("cookie %v", c)
	}
	if cookies := s.guest().get("/").header.Values("Set-Cookie"); len(cookies) != 0 {
		t.Errorf("a page without a form sets %v", cookies)
	}
}

// TestTokens: a member makes and revokes tokens with the password, where the
// groups allow it.
func TestTokens(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, Options{})
		b := s.as("bob")
		p := b.get("/account/tokens").want(200, "You have no tokens")
		p.send(p.path, "name", "laptop", "scope", "posts:read", "days", "30", "password", "wrong").want(422, "The password is wrong", `value="laptop"`)
		p.send(p.path, "name", "laptop", "days", "30", "password", "correct horse").want(422, "Scopes must be some of")
		made := p.send(p.path, "name", "laptop", "scope", "posts:read", "scope", "forums:read", "days", "30", "password", "correct horse").want(200, "brd_pat_", "Copy it now")
		text := made.body[strings.Index(made.body, `<code class="secret">`)+len(`<code class="secret">`):]
		text, _, _ = strings.Cut(text, "<")
		if _, err := s.service.Authenticate(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		b.get("/account/tokens").want(200, "laptop").lacks(text)
		id := s.number("SELECT max(id) FROM board_api_tokens")
		s.as("eve").get("/account/tokens").send(at("/account/tokens/%d/revoke", id)).want(404)
		b.get("/account/tokens").send(at("/account/tokens/%d/revoke", id)).want(200, "The token is revoked")
		if _, err := s.service.Authenticate(t.Context(), text); err == nil {
			t.Error("a revoked token is good")
		}
		s.exec("UPDATE board_groups SET allow_mask = allow_mask - 274877906944 WHERE kind = 'registered'") // token.issue
		s.exec("UPDATE board_permission_version SET version = version + 1")
		b.get("/account/tokens").want(200).lacks("New token").
			send("/account/tokens", "name", "laptop", "scope", "posts:read", "days", "30", "password", "correct horse").want(403)
	})
}
