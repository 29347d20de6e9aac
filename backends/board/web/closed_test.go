package web_test

import (
	"slices"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestPublicAnswers checks that answers which caches keep for everybody set no cookies, even if a session is due to
// be prolonged or a notice is waiting.
func TestPublicAnswers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		b := s.as("bob")
		const notice = "SGVsbG8" // Hello
		forum := at("/forums/%d", s.forum("public"))
		for path, status := range map[string]int{"/feed.atom": 200, forum + "/feed.atom": 200, "/forums/987654/feed.atom": 404, "/assets/board.css": 200, "/assets/nothing": 404, "/robots.txt": 200, "/sitemap.xml": 200, "/sitemap.xml?part=9": 404} {
			s.clock.advance(13 * 24 * time.Hour / 9) // no page that prolongs the session is requested in between
			b.keep("board_notice", notice)
			p := b.Get(path).Want(status)
			if set := p.Header.Values("Set-Cookie"); len(set) != 0 {
				t.Errorf("%s sets %v", path, set)
			}
		}
		p := b.Get("/account").Want(200, "Your account", "Hello")
		set := make([]string, 0, len(p.Cookies()))
		for _, c := range p.Cookies() {
			set = append(set, c.Name)
		}
		if !slices.Equal(set, []string{"board_session", "board_notice", "board_form"}) {
			t.Errorf("the session is not prolonged: %v", p.Header.Values("Set-Cookie"))
		}
	})
}

// TestFeedsOfMembersOnly checks that nobody, member or not, gets a feed of what guests cannot see, and that such a
// request is not redirected to the login.
func TestFeedsOfMembersOnly(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), web.Options{MembersOnly: true})
	for _, name := range []string{"", "bob"} {
		b := s.as(name)
		b.Get("/feed.atom").Want(404)
		b.Get("/sitemap.xml").Want(404)
		b.Get("/sitemap.xml?part=1").Want(404)
		if p := b.Get("/robots.txt").Want(200); p.Text != "User-agent: *\nDisallow: /\n" {
			t.Errorf("robots.txt is\n%s", p.Text)
		}
		b.Get(at("/forums/%d/feed.atom", s.forum("public"))).Want(404)
		b.Get("/assets/board.css").Want(200)
	}
}

// TestSuspendedModerator checks that moderators who may only read see the lists without the buttons to decide.
func TestSuspendedModerator(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		reported := s.post("common second")
		s.as("bob").Get(at("/posts/%d/report", reported)).Send(at("/posts/%d/report", reported), "reason", "bad").Want(200)
		s.exec(at("UPDATE board_users SET suspended_until = %d WHERE username = 'mod'", s.clock.now().Add(time.Hour).UnixMicro()))
		mod, held := s.as("mod"), s.post("common secretheld post")
		p := mod.Get("/moderation").Want(200, "common secretheld post", "read but not decide").Lacks(`value="approve"`, `value="reject"`, `name="shown"`, `form="several"`)
		p.Send("/moderation", "post", itoa(held), "do", "approve").Want(403, "read but not write")
		mod.Get("/moderation/reports").Want(200, "common second", "read but not decide").Lacks(`value="close"`, `value="delete"`)
		mod.Get(at("/threads/%d", s.thread("Open thread"))).Want(200, "common secretdeleted post").Lacks("/restore")
		s.clock.advance(time.Hour)
		mod.Get("/moderation").Want(200, `value="approve"`, `form="several"`).Lacks("read but not decide")
		mod.Get("/moderation/reports").Want(200, `value="close"`).Lacks("read but not decide")
	})
}

// TestBanOfAwaiting checks that the page of a member who awaits approval does not offer a ban.
func TestBanOfAwaiting(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		page := at("/admin/members/%d", s.user("awaiting"))
		p := s.as("ada").Get(page).Want(200, `value="approve"`, `value="delete"`).Lacks(`value="ban"`)
		p.Send(page, "do", "ban", "sure", "1", "days", "1").Want(409, "still waits for approval")
		p.Send(page, "do", "approve").Want(200, `value="ban"`)
	})
}

// TestRegisterOffline checks that nobody can register while the board is closed, and that a banned member cannot
// register again.
func TestRegisterOffline(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		carol := []string{"username", "carol", "email", "carol@example.com", "password", "a long password"}
		b, eve := s.guest(), s.as("eve")
		form, own := b.Get("/register").Want(200), eve.Get("/").Want(200)
		s.exec("UPDATE board_users SET state = 'banned' WHERE username = 'eve'")
		eve.Get("/register").Want(403)
		s.join(own, carol...).Want(403)
		s.exec("INSERT INTO board_settings (name, value) VALUES ('offline', '1')")
		s.exec("UPDATE board_permission_version SET version = version + 1")
		if p := b.Get("/register").Want(503, "Not available right now"); p.Header.Get("Retry-After") != "300" {
			t.Errorf("Retry-After: %s", p.Header.Get("Retry-After"))
		}
		s.join(form, carol...).Want(503)
		s.join(s.as("mod").Get("/").Want(200), carol...).Want(503)
		if n := s.number("SELECT count(*) FROM board_users WHERE username = 'carol'"); n != 0 {
			t.Error("somebody has joined")
		}
		s.exec("DELETE FROM board_settings WHERE name = 'offline'")
		s.exec("UPDATE board_permission_version SET version = version + 1")
		s.join(form, carol...).Want(200, "on its way to carol@example.com")
	})
}
