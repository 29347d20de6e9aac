package web

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

func (s *site) group(name string) int64 {
	s.t.Helper()
	return s.number("SELECT id FROM board_groups WHERE name = '" + name + "'")
}

func (s *site) user(name string) int64 {
	s.t.Helper()
	return s.number("SELECT id FROM board_users WHERE username = '" + name + "'")
}

// TestWhoSeesAdministration: for all but administrators the pages are not there,
// and what is posted to them changes nothing.
func TestWhoSeesAdministration(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), Options{})
	wildcard := regexp.MustCompile(`\{[^}]+\}`)
	before := s.number("SELECT version FROM board_permission_version")
	for _, name := range []string{"", "bob", "mod"} {
		b := s.as(name)
		home := b.get("/login")
		if name != "" {
			home = b.get("/account")
		}
		for _, rt := range adminRoutes {
			path := wildcard.ReplaceAllString(rt.Path, "1")
			if rt.Method == get {
				switch p := b.get(path); {
				case name == "" && !strings.HasPrefix(p.path, "/login?next="):
					t.Errorf("a guest at %s gets %d", path, p.status)
				case name != "" && p.status != http.StatusNotFound:
					t.Errorf("%s at %s gets %d", name, path, p.status)
				}
				continue
			}
			if p := home.send(path, "name", "x"); p.status != http.StatusNotFound && p.status != http.StatusForbidden {
				t.Errorf("%q posts to %s and gets %d", name, path, p.status)
			}
		}
	}
	if after := s.number("SELECT version FROM board_permission_version"); after != before {
		t.Errorf("%d changes were made", after-before)
	}
	for _, name := range []string{"bob", "eve"} {
		b := s.as(name)
		for _, path := range []string{"/moderation", "/moderation/reports", "/moderation/log"} {
			b.get(path).want(403)
		}
		b.get("/account").lacks(`href="/moderation"`, `href="/admin"`)
	}
	s.as("mod").get("/").want(200, `href="/moderation"`).lacks(`href="/admin"`)
}

// TestPasswordAgain: administration asks for the password after half an hour, and
// goes on where one was.
func TestPasswordAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), Options{})
	b := s.as("ada")
	p := b.get("/admin/settings").want(200, "Settings")
	s.clock.advance(31 * time.Minute)
	p = p.send("/admin/settings", "name", "Changed")
	if !strings.HasPrefix(p.path, "/confirm?next=") {
		t.Fatalf("after half an hour: %s", p.path)
	}
	if set, err := s.service.Settings(t.Context()); err != nil || set.Name == "Changed" {
		t.Errorf("changed without a password: %+v %v", set, err)
	}
	p = b.get("/admin/words")
	if !strings.HasPrefix(p.path, "/confirm?next=%2Fadmin%2Fwords") {
		t.Fatalf("after half an hour: %s", p.path)
	}
	p.send("/confirm", "password", "wrong horse", "next", "/admin/words").want(422)
	p.send("/confirm", "password", "correct horse", "next", "/admin/words").want(200, "Word filter")
	b.get("/moderation").want(200) // asks for none
}

// TestAdministration uses every form of the pages.
func TestAdministration(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, Options{})
		b := s.as("ada")
		bob, member, guest := s.as("bob"), s.group("registered"), s.group("guest")

		// Settings.
		p := b.get("/admin/settings").want(200, "Registration", `value="120"`)
		all := func(change ...string) (fields []string) {
			set, err := s.service.Settings(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, setting := range kernel.AllSettings() {
				value := setting.Value(&set)
				for i := 0; i < len(change); i += 2 {
					if change[i] == setting.Name {
						value = change[i+1]
					}
				}
				if setting.Kind != kernel.KindFlag || value != "" {
					fields = append(fields, setting.Name, value)
				}
			}
			return fields
		}
		p.send("/admin/settings", all("name", "Our board", "title_max", "9999", "message_min", "many")...).
			want(422, `value="9999"`, `value="many"`, `value="Our board"`, `id="title_max-problem"`, `id="message_min-problem"`)
		p = p.send("/admin/settings", all("name", "Our <board>", "images", "", "registration", "closed")...).want(200, "Saved.", "Our &lt;board&gt;", `value="closed" selected`)
		s.guest().get("/register").want(403)
		p.send("/admin/settings", all("registration", "open", "images", "1")...).want(200, `name="images" value="1" checked`)

		// Forums.
		p = b.get("/admin/forums").want(200, "secretstaff forum")
		p = p.get(at("/admin/forums/new?parent=%d", s.forum("root"))).want(200, "New forum", at(`<option value="%d" selected`, s.forum("root")))
		p.send("/admin/forums/new", "title", "", "type", "forum", "parent", "0").want(422)
		p.send("/admin/forums/new", "title", "Away", "type", "link", "parent", "0", "link_url", "javascript:x").want(422, `id="link_url-problem"`, `value="Away"`)
		p = p.send("/admin/forums/new", "title", "Café <b>", "type", "forum", "parent", itoa(s.forum("root")), "open", "1", "allow_threads", "1", "allow_replies", "1", "flood_seconds", "7", "max_words", "50").
			want(200, "Café &lt;b&gt;", "The forum is made")
		cafe := s.forum("cafe-b")
		edit := at("/admin/forums/%d", cafe)
		p = p.get(edit).want(200, `value="7"`, `value="50"`)
		p.send(edit, "title", "Café", "type", "forum", "parent", itoa(cafe)).want(422, `id="parent-problem"`)
		p.send(edit, "title", "Café", "type", "forum", "parent", itoa(s.forum("link"))).want(422, `id="parent-problem"`)
		p = p.send(edit, "title", "Café", "type", "forum", "parent", "0", "open", "1").want(200, "Saved.")
		if strings.Contains(p.body, at(`action="/admin/forums/%d/shift"`, cafe)) {
			p.send(at("/admin/forums/%d/shift", cafe), "to", "up").want(200)
		}
		p.send(at("/admin/forums/%d/delete", s.forum("public"))).want(409, "has threads")
		p.send(edit+"/delete").want(200, "The forum is deleted").lacks("Café")

		// The matrix: a forum becomes private, and public again.
		public := s.forum("public")
		rights := at("/admin/forums/%d/rights", public)
		p = b.get(rights).want(200, "See the forum", "registered", "✓ inherited", "✗ inherited").lacks("Administer the board")
		bob.get(at("/forums/%d", public)).want(200)
		b.get(at("%s?group=%d", rights, guest)).want(200, matrixField(guest, 0)).lacks(matrixField(member, 0))
		p = p.send(rights, matrixField(member, 0), "deny", matrixField(guest, 0), "deny", matrixField(guest, 1), "allow").want(200, "Saved.", `value="deny" selected`)
		bob.get(at("/forums/%d", public)).want(404)
		s.guest().get("/").lacks("Open thread")
		p = p.send(rights, matrixField(member, 0), "", matrixField(guest, 0), "").want(200).lacks(`value="deny" selected`)
		bob.get(at("/forums/%d", public)).want(200)
		p.send(rights, matrixField(member, 40), "allow").want(422)
		if n := s.number("SELECT count(*) FROM board_forum_overrides WHERE forum_id = " + itoa(public)); n != 0 {
			t.Errorf("%d overrides are left", n)
		}

		// Groups.
		p = b.get("/admin/groups").want(200, "Everybody who is not signed in").get("/admin/groups/new").want(200)
		p.send("/admin/groups/new", "name", "registered", "edit_window", "5", "posts_per_day", "0").want(422, `id="name-problem"`)
		p = p.send("/admin/groups/new", "name", "Insiders", "allow", "forum.view", "allow", "thread.view", "restrict", "reply.needsApproval", "edit_window", "5", "posts_per_day", "0").want(200, "Insiders")
		insiders := s.group("Insiders")
		p = p.get(at("/admin/groups/%d", insiders)).want(200, `value="forum.view" checked`, `value="reply.needsApproval" checked`)
		p = p.send(at("/admin/groups/%d", insiders), "name", "Insiders", "allow", "forum.view", "edit_window", "0", "posts_per_day", "3").want(200, "3 posts a day")
		p.send(at("/admin/groups/%d", member), "allow", "admin.access", "edit_window", "5", "posts_per_day", "0").want(422, "administrator")
		p.send(at("/admin/groups/%d/delete", member)).want(409)

		// Members.
		p = b.get("/admin/members?name=bo").want(200, ">bob<").lacks(">eve<")
		b.get("/admin/members?state=banned").want(200, ">banned<").lacks(">bob<")
		one := at("/admin/members/%d", s.user("bob"))
		p = p.get(one).want(200, "bob@example.com")
		p = p.send(one, "do", "groups", "group", itoa(member), "group", itoa(insiders)).want(200, at(`value="%d" checked`, insiders))
		p.get(at("/admin/groups/%d", insiders)).want(200, ">bob<")
		p = p.send(one, "do", "moderate", "moderated", "1").want(200, `name="moderated" value="1" checked`)
		p = p.send(one, "do", "moderate").want(200).lacks(`name="moderated" value="1" checked`)
		p.send(one, "do", "suspend", "days", "0").want(422, "Give an end")
		p = b.get(one)
		p = p.send(one, "do", "suspend", "days", "3", "reason", "too loud").want(200, "reads only until")
		p = p.send(one, "do", "unsuspend").want(200).lacks("reads only until")
		p = p.send(one, "do", "ban", "date", "2026-03-01").want(200, "until", "2 Mar 2026")
		bob.get("/account").want(200, "<h1>Sign in</h1>") // signed out
		p = p.send(one, "do", "unban").want(200, "The ban is over")
		p = p.send(one, "do", "password").want(200, "shown this once")
		password := regexp.MustCompile(`class="secret">([^<]+)<`).FindStringSubmatch(p.body)[1]
		b.get(one).lacks(password)
		// It opens nothing but the page on which it is changed.
		bob = s.guest()
		bob.get("/login").send("/login", "name", "bob", "password", password).want(200, "shown to an administrator", `name="current"`)
		if p = bob.get("/account/tokens"); p.path != "/account/password" {
			t.Errorf("a password to be changed opens %s", p.path)
		}
		p = p.send("/account/password", "current", password, "password", "battery staple").want(200, "The password is changed")
		p.get("/account/tokens").want(200, "New token")
		p = b.get(one)
		p.send(one, "do", "nothing").want(400)
		awaiting := at("/admin/members/%d", s.user("awaiting"))
		p = b.get("/admin").want(200, "Members who await approval", ">awaiting<")
		p.send(awaiting, "do", "approve", "back", "admin").want(200).lacks(">awaiting<")
		self := at("/admin/members/%d", s.user("ada"))
		p = p.get(self).want(200).lacks(`value="ban"`, `value="delete"`)
		p.send(self, "do", "delete").want(409)
		p.send(self, "do", "groups", "group", itoa(member)).want(409, "without an administrator")

		// Moderators.
		p = b.get("/admin/moderators").want(200, "Add a moderator")
		p.send("/admin/moderators", "user", "nobody", "forum", itoa(public), "rights", "content.approve").want(422, `id="user-problem"`, `value="nobody"`)
		p = p.send("/admin/moderators", "user", "eve", "forum", itoa(public), "rights", "content.approve", "rights", "thread.lock").want(200, "<b>eve</b>")
		entry := s.number("SELECT max(id) FROM board_forum_moderators")
		p.get(at("/admin/moderators?edit=%d", entry)).want(200, "Change eve in Public", `value="thread.lock" checked`)
		s.as("eve").get("/moderation").want(200, "common secretheld")
		p.send(at("/admin/moderators/%d/remove", entry)).want(200, "No forum has moderators")
		s.as("eve").get("/moderation").want(403)

		// Prefixes and words.
		p = b.get("/admin/prefixes").want(200, "Question")
		p = p.send("/admin/prefixes", "label", "Solved", "position", "3", "forum", itoa(public)).want(200, "Solved")
		p.send("/admin/prefixes", "label", "Solved").want(422, `id="label-problem"`)
		solved := s.number("SELECT id FROM board_prefixes WHERE label = 'Solved'")
		p.get(at("/admin/prefixes?edit=%d", solved)).want(200, "Change Solved", at(`value="%d" checked`, public))
		p = p.send("/admin/prefixes", "id", itoa(solved), "label", "Solved", "position", "1").want(200, "in 0 forums, place 1")
		p.send(at("/admin/prefixes/%d/delete", solved)).want(200).lacks("Solved<")
		p = b.get("/admin/words").want(200, "No word is filtered")
		p.send("/admin/words", "pattern", "x", "action", "replace").want(422, `id="pattern-problem"`)
		p = p.send("/admin/words", "pattern", "<darn>", "replacement", "gosh", "action", "replace").want(200, "&lt;darn&gt;")
		p.send(at("/admin/words/%d/delete", s.number("SELECT max(id) FROM board_word_filters"))).want(200, "No word is filtered")

		// Tokens.
		p = b.get("/admin/tokens?user=eve").want(200, `value="eve"`)
		p.send("/admin/tokens", "user", "nobody", "name", "x", "scope", "posts:read", "days", "1").want(422, `id="user-problem"`)
		p = p.send("/admin/tokens", "user", "eve", "name", "laptop", "scope", "posts:read", "days", "1").want(200, "brd_pat_", "laptop")
		id := s.number("SELECT max(id) FROM board_api_tokens")
		b.get("/admin/tokens").want(200, "laptop").lacks("brd_pat_")
		p.send(at("/admin/tokens/%d/revoke", id), "user", itoa(s.user("eve"))).want(200, "revoked")

		// Webhooks.
		p = b.get("/admin/webhooks").want(200, "There are no webhooks")
		p.send("/admin/webhooks", "url", "ftp://example.com/", "topics", "post.created").want(422, `id="url-problem"`)
		p.send("/admin/webhooks", "url", "https://hooks.example.com/in", "topics", "post.created", "topics", "report.created").want(200, "shown this once", "whsec_")
		hook := at("/admin/webhooks/%d", s.number("SELECT max(id) FROM board_webhooks"))
		p = b.get(hook).want(200, "post.created").lacks("whsec_")
		p = p.send(hook, "do", "test").want(200, "A test is on its way", "pending")
		p = p.send(hook, "do", "off").want(200, `value="on"`)
		p.send(hook, "do", "rotate").want(200, "whsec_")
		p.send(hook, "do", "delete").want(200, "There are no webhooks")

		p.send(at("/admin/groups/%d/delete", insiders)).want(200, "The group is deleted").lacks("Insiders")

		// All of it is in the log.
		p = b.get("/moderation/log").want(200, "<code>webhook.delete</code>")
		for _, action := range admin.LogActions {
			if kind, _, _ := strings.Cut(action, "."); slices.Contains([]string{"settings", "group", "moderator", "prefix", "filter", "token"}, kind) {
				p.get("/moderation/log?action="+action).want(200, "<code>"+action+"</code>")
			}
		}
		b.get("/moderation/log?actor=ada&forum="+itoa(public)).want(200, "<code>forum.rights</code>").lacks("<code>webhook.delete</code>")
		b.get("/moderation/log?actor=nobody").want(200, "nothing in the log")
		for _, path := range []string{"/moderation/log?actor=%00&action=%00&forum=0", "/admin/members?name=%00&state=%00&after=%00", "/admin/members?name=%FF@%00"} {
			b.get(path).want(200)
		}
	})
}

// TestModeration works through the queue and the reports.
func TestModeration(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, Options{})
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		ada, err := s.service.Member(t.Context(), s.user("ada"))
		must(err)
		must(s.service.SetModerated(t.Context(), ada, s.user("eve"), true))
		eve := s.as("eve")
		thread := at("/threads/%d", s.thread("Open thread"))
		for _, text := range []string{"one", "two", "three", "four"} {
			eve.get(thread).send(thread+"/reply", "message", "held number "+text)
		}
		mod := s.as("mod")
		p := mod.get("/moderation").want(200, "held number one", "every post of this member is held", "common second", "10 posts").lacks("secretstaff")
		first, second := s.post("held number one"), s.post("held number two")
		// One click, and the next one has the focus.
		then := regexp.MustCompile(at(`name="then" value="(\d+)"><input type="hidden" name="post" value="%d"`, first)).FindStringSubmatch(p.body)[1]
		if then != itoa(second) {
			t.Errorf("behind %d comes %s, want %d", first, then, second)
		}
		p = p.send("/moderation", "post", itoa(first), "then", then, "do", "approve").want(200, "1 post approved.", "autofocus").lacks(at(`id="held-%d"`, first))
		if focus := regexp.MustCompile(`value="(\d+)">\n<button name="do" value="approve" autofocus`).FindStringSubmatch(p.body); focus == nil || focus[1] != then {
			t.Errorf("the focus is on %v", focus)
		}
		s.guest().get(thread).want(200, "held number one").lacks("held number two")
		// Somebody else was faster.
		p.send("/moderation", "post", itoa(first), "do", "reject").want(200, "0 posts rejected. 1 was settled by somebody else.")
		p.send("/moderation", "do", "approve", "which", "ticked").want(200, "Nothing was ticked.")
		p.send("/moderation", "post", itoa(second), "do", "burn").want(400)
		p.send("/moderation", "post", itoa(second), "do", "reject", "reason", strings.Repeat("x", 201)).want(422)
		// Several at once.
		p = p.send("/moderation", "post", itoa(second), "post", itoa(s.post("held number three")), "shown", itoa(s.post("held number four")), "which", "ticked", "do", "approve").want(200, "2 posts approved.", "held number four")
		p.send("/moderation", "shown", itoa(s.post("held number four")), "which", "all", "do", "reject", "reason", "spam").want(200, "1 post rejected.").lacks("held number four")
		mod.get("/moderation/log?action=post.reject").want(200, "spam", "Public")
		mod.get(at("/moderation?forum=%d", s.forum("public"))).want(200, "common secretheld")
		mod.get(at("/moderation?forum=%d", s.forum("staff"))).want(404)
		mod.get(at("/moderation?forum=%d", s.forum("tickets"))).want(200, "Nothing waits")
		mod.get("/moderation?after=99999").want(200, "common secretheld") // leads back
		mod.get("/moderation?after=x").want(400)
		// Members do not settle.
		eve.get(thread).send("/moderation", "post", itoa(s.post("common secretheld")), "do", "approve")
		s.guest().get("/").lacks("secretheld")

		// Reports.
		mod.get("/moderation/reports").want(200, "There are no open reports")
		for name, post := range map[string]string{"eve": "common first", "ada": "common first", "bob": "common second"} {
			id := s.post(post)
			s.as(name).get(at("/posts/%d/report", id)).send(at("/posts/%d/report", id), "reason", "bad <i>"+name).want(200)
		}
		staff := s.post("common secretstaff")
		s.as("ada").get(at("/posts/%d/report", staff)).send(at("/posts/%d/report", staff), "reason", "secretstaff report").want(200)
		p = mod.get("/moderation/reports").want(200, "bad &lt;i&gt;eve", "bad &lt;i&gt;ada", "common first", "common second").lacks("secretstaff")
		p = p.send("/moderation/reports", "post", itoa(s.post("common first")), "do", "close", "note", "fine").want(200, "The report is closed").lacks("common first<")
		p.send("/moderation/reports", "post", itoa(s.post("common first")), "do", "close").want(409)
		p.send("/moderation/reports", "post", itoa(staff), "do", "close").want(404)
		p.send("/moderation/reports", "post", itoa(s.post("common second")), "do", "delete", "note", "bad").want(200, "There are no open reports")
		s.guest().get(thread).want(200, "common first").lacks("common second")
	})
}
