package web_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/web"
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

// TestAdministrationHidden checks that the pages do not exist for anybody but administrators, and that forms of
// others change nothing.
func TestAdministrationHidden(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), web.Options{})
	wildcard := regexp.MustCompile(`\{[^}]+\}`)
	before := s.number("SELECT version FROM board_permission_version")
	for _, name := range []string{"", "bob", "mod"} {
		b := s.as(name)
		home := b.Get("/login")
		if name != "" {
			home = b.Get("/account")
		}
		for _, rt := range web.AdminRoutes {
			path := wildcard.ReplaceAllString(rt.Path, "1")
			if rt.Method == http.MethodGet {
				switch p := b.Get(path); {
				case name == "" && !strings.HasPrefix(p.Where(), "/login?next="):
					t.Errorf("a guest at %s gets %d", path, p.StatusCode)
				case name != "" && p.StatusCode != http.StatusNotFound:
					t.Errorf("%s at %s gets %d", name, path, p.StatusCode)
				}
				continue
			}
			if p := home.Send(path, "name", "x"); p.StatusCode != http.StatusNotFound && p.StatusCode != http.StatusForbidden {
				t.Errorf("%q posts to %s and gets %d", name, path, p.StatusCode)
			}
		}
	}
	if after := s.number("SELECT version FROM board_permission_version"); after != before {
		t.Errorf("%d changes were made", after-before)
	}
	for _, name := range []string{"bob", "eve"} {
		b := s.as(name)
		for _, path := range []string{"/moderation", "/moderation/reports", "/moderation/log"} {
			b.Get(path).Want(403)
		}
		b.Get("/account").Lacks(`href="/moderation"`, `href="/admin"`)
	}
	s.as("mod").Get("/").Want(200, `href="/moderation"`).Lacks(`href="/admin"`)
}

// TestPasswordAgain checks that administration asks for the password after half an hour, and then continues on the
// page that was requested.
func TestPasswordAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), web.Options{})
	b := s.as("ada")
	p := b.Get("/admin/settings").Want(200, "Settings")
	s.clock.advance(31 * time.Minute)
	p = p.Send("/admin/settings", "name", "Changed")
	if !strings.HasPrefix(p.Where(), "/confirm?next=") {
		t.Fatalf("after half an hour: %s", p.Where())
	}
	if set, err := s.service.Rights.Settings(t.Context()); err != nil || set.Name == "Changed" {
		t.Errorf("changed without a password: %+v %v", set, err)
	}
	p = b.Get("/admin/words")
	if !strings.HasPrefix(p.Where(), "/confirm?next=%2Fadmin%2Fwords") {
		t.Fatalf("after half an hour: %s", p.Where())
	}
	p.Send("/confirm", "password", "wrong horse", "next", "/admin/words").Want(422)
	p.Send("/confirm", "password", "correct horse", "next", "/admin/words").Want(200, "Word filter")
	b.Get("/moderation").Want(200) // does not ask for the password
}

// TestAdministration uses every form of the pages.
func TestAdministration(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		b := s.as("ada")
		bob, member, guest := s.as("bob"), s.group("registered"), s.group("guest")

		// The forms of the settings.
		p := b.Get("/admin/settings").Want(200, "Registration", `value="120"`)
		all := func(change ...string) (fields []string) {
			set, err := s.service.Rights.Settings(t.Context())
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
		p.Send("/admin/settings", all("name", "Our board", "title_max", "9999", "message_min", "many")...).
			Want(422, `value="9999"`, `value="many"`, `value="Our board"`, `id="title_max-problem"`, `id="message_min-problem"`)
		p = p.Send("/admin/settings", all("name", "Our <board>", "images", "", "registration", "closed")...).Want(200, "Saved.", "Our &lt;board&gt;", `value="closed" selected`)
		s.guest().Get("/register").Want(403)
		p.Send("/admin/settings", all("registration", "open", "images", "1")...).Want(200, `name="images" value="1" checked`)

		// The forms of forums.
		p = b.Get("/admin/forums").Want(200, "secretstaff forum")
		p = p.Get(at("/admin/forums/new?parent=%d", s.forum("root"))).Want(200, "New forum", at(`<option value="%d" selected`, s.forum("root")))
		p.Send("/admin/forums/new", "title", "", "type", "forum", "parent", "0").Want(422)
		p.Send("/admin/forums/new", "title", "Away", "type", "link", "parent", "0", "link_url", "javascript:x").Want(422, `id="link_url-problem"`, `value="Away"`)
		p = p.Send("/admin/forums/new", "title", "Café <b>", "type", "forum", "parent", itoa(s.forum("root")), "open", "1", "allow_threads", "1", "allow_replies", "1", "flood_seconds", "7", "max_words", "50").
			Want(200, "Café &lt;b&gt;", "The forum is created")
		cafe := s.forum("cafe-b")
		edit := at("/admin/forums/%d", cafe)
		p = p.Get(edit).Want(200, `value="7"`, `value="50"`)
		p.Send(edit, "title", "Café", "type", "forum", "parent", itoa(cafe)).Want(422, `id="parent-problem"`)
		p.Send(edit, "title", "Café", "type", "forum", "parent", itoa(s.forum("link"))).Want(422, `id="parent-problem"`)
		p = p.Send(edit, "title", "Café", "type", "forum", "parent", "0", "open", "1").Want(200, "Saved.")
		if strings.Contains(p.Text, at(`action="/admin/forums/%d/shift"`, cafe)) {
			p.Send(at("/admin/forums/%d/shift", cafe), "to", "up").Want(200)
		}
		p.Send(at("/admin/forums/%d", s.forum("public")), "do", "delete", "sure", "1").Want(409, "has threads")
		p.Send(edit, "do", "delete").Want(200, "Delete Café", "This cannot be undone.")
		p.Send(edit, "do", "delete", "sure", "1").Want(200, "Café was deleted.").Lacks(">Café<")

		// The matrix: a forum becomes private, and public again.
		public := s.forum("public")
		rights := at("/admin/forums/%d/rights", public)
		p = b.Get(rights).Want(200, "See the forum", "registered", "✓ inherited", "✗ inherited").Lacks("Administer the board")
		bob.Get(at("/forums/%d", public)).Want(200)
		b.Get(at("%s?group=%d", rights, guest)).Want(200, web.MatrixField(guest, 0)).Lacks(web.MatrixField(member, 0))
		p = p.Send(rights, web.MatrixField(member, 0), "deny", web.MatrixField(guest, 0), "deny", web.MatrixField(guest, 1), "allow").Want(200, "Saved.", `value="deny" selected`)
		bob.Get(at("/forums/%d", public)).Want(404)
		s.guest().Get("/").Lacks("Open thread")
		p = p.Send(rights, web.MatrixField(member, 0), "", web.MatrixField(guest, 0), "").Want(200).Lacks(`value="deny" selected`)
		bob.Get(at("/forums/%d", public)).Want(200)
		p.Send(rights, web.MatrixField(member, 40), "allow").Want(422)
		if n := s.number("SELECT count(*) FROM board_forum_overrides WHERE forum_id = " + itoa(public)); n != 0 {
			t.Errorf("%d overrides are left", n)
		}

		// The forms of groups.
		p = b.Get("/admin/groups").Want(200, "Everybody who is not signed in").Get("/admin/groups/new").Want(200)
		p.Send("/admin/groups/new", "name", "registered", "edit_window", "5", "posts_per_day", "0").Want(422, `id="name-problem"`)
		p = p.Send("/admin/groups/new", "name", "Insiders", "allow", "forum.view", "allow", "thread.view", "restrict", "reply.needsApproval", "edit_window", "5", "posts_per_day", "0").Want(200, "Insiders")
		insiders := s.group("Insiders")
		p = p.Get(at("/admin/groups/%d", insiders)).Want(200, `value="forum.view" checked`, `value="reply.needsApproval" checked`)
		p = p.Send(at("/admin/groups/%d", insiders), "name", "Insiders", "allow", "forum.view", "edit_window", "0", "posts_per_day", "3").Want(200, "3 posts a day")
		p.Send(at("/admin/groups/%d", member), "allow", "admin.access", "edit_window", "5", "posts_per_day", "0").Want(422, "administrator")
		p.Send(at("/admin/groups/%d", member), "do", "delete", "sure", "1").Want(409)

		// The forms of members.
		p = b.Get("/admin/members?name=bo").Want(200, ">bob<").Lacks(">eve<")
		b.Get("/admin/members?state=banned").Want(200, ">banned<").Lacks(">bob<")
		b.Get("/admin/members?sort=posts&state=active").Want(200, ">bob<", `aria-sort="descending"`, "sort=posts&amp;state=active").Lacks(`gone">banned<`)
		b.Get(at("/admin/members?group=%d", s.group("moderators"))).Want(200, ">mod<").Lacks(">bob<", "aria-sort")
		b.Get("/admin/members?state=banned&format=csv").Want(200, "Name,State,Mail,Posts,Joined,Last seen\r\nbanned,banned,")
		target := at("/admin/members/%d", s.user("bob"))
		p = p.Get(target).Want(200, "bob@example.com")
		p = p.Send(target, "groups", itoa(member), "groups", itoa(insiders), "moderated", "1").Want(200, "Saved.", at(`value="%d" checked`, insiders), `name="moderated" value="1" checked`)
		b.Get(at("/admin/members?group=%d", insiders)).Want(200, ">bob<")
		p = p.Send(target, "groups", itoa(member)).Want(200).Lacks(`name="moderated" value="1" checked`, at(`value="%d" checked`, insiders))
		p.Send(target, "do", "suspend").Want(200, "<h1>Suspend bob", "can only read")
		p.Send(target, "do", "suspend", "sure", "1", "days", "0").Want(422, "Give an end")
		p = b.Get(target)
		p = p.Send(target, "do", "suspend", "sure", "1", "days", "3", "reason", "too loud").Want(200, "bob was suspended.", "reads only until")
		p = p.Send(target, "do", "unsuspend").Want(200).Lacks("reads only until")
		p = p.Send(target, "do", "ban", "sure", "1", "date", "2026-03-01").Want(200, "until", "2 Mar 2026")
		bob.Get("/account").Want(200, "<h1>Sign in</h1>") // signed out
		p = p.Send(target, "do", "unban").Want(200, "bob was unbanned.")
		p.Send(target, "do", "password").Want(200, "The present password ends")
		p = p.Send(target, "do", "password", "sure", "1").Want(200, "shown only once")
		password := regexp.MustCompile(`class="secret">([^<]+)<`).FindStringSubmatch(p.Text)[1]
		b.Get(target).Lacks(password)
		// The new password opens only the page on which it is changed.
		bob = s.guest()
		bob.Get("/login").Send("/login", "name", "bob", "password", password).Want(200, "shown to an administrator", `name="current"`)
		if p = bob.Get("/account/tokens"); p.Where() != "/account/password" {
			t.Errorf("a password to be changed opens %s", p.Where())
		}
		p = p.Send("/account/password", "current", password, "password", "battery staple").Want(200, "The password was changed")
		p.Get("/account/tokens").Want(200, "New token")
		p = b.Get(target)
		p.Send(target, "do", "nothing").Want(400)
		p = b.Get("/admin").Want(200, "Members waiting for approval", ">awaiting<")
		p.Send("/admin/members?state=awaiting", "one", at("approve %d awaiting", s.user("awaiting"))).Want(200, "awaiting was approved.", "No member is found")
		// Several members at once: each refusal is shown beside its member.
		several := []string{"row", itoa(s.user("eve")) + " eve", "row", itoa(s.user("ada")) + " ada", "row", itoa(s.user("mod")) + " mod"}
		p = b.Get("/admin/members").Want(200, "Tick eve", "Ban…")
		p.Send("/admin/members", append(several, "do", "ban")...).Want(200, "<li>eve</li>", "<li>ada</li>", `min="2026-01-02"`)
		p = p.Send("/admin/members", append(several, "do", "ban", "sure", "1", "days", "1")...).Want(409, "2 of 3 members were banned and signed out.", "Ada: you cannot ban yourself")
		p.Send("/admin/members?state=banned", "do", "unban", "row", itoa(s.user("eve"))+" eve", "row", itoa(s.user("mod"))+" mod").Want(200, "2 members were unbanned.").Lacks(">eve<")
		self := at("/admin/members/%d", s.user("ada"))
		p = p.Get(self).Want(200).Lacks(`value="ban"`, `value="delete"`)
		p.Send(self, "do", "delete", "sure", "1").Want(409)
		p.Send(self, "groups", itoa(member)).Want(409, "without an administrator")

		// The forms of moderators.
		p = b.Get("/admin/moderators").Want(200, "No forum has moderators").Get(at("/admin/moderators/new?forum=%d", public)).Want(200, at(`value="%d" selected`, public))
		p.Send("/admin/moderators/new", "user", "nobody", "forum", itoa(public), "rights", "content.approve").Want(422, `id="user-problem"`, `value="nobody"`)
		p = p.Send("/admin/moderators/new", "user", "eve", "forum", itoa(public), "rights", "content.approve", "rights", "thread.lock").Want(200, ">eve<")
		entry := s.number("SELECT max(id) FROM board_forum_moderators")
		target = at("/admin/moderators/%d", entry)
		p.Get(target).Want(200, "Rights of eve in Public", `value="thread.lock" checked`).Send(target, "rights", "content.approve").Want(200, "Saved.")
		entry = s.number("SELECT max(id) FROM board_forum_moderators")
		p.Get(at("/admin/moderators/%d", entry)).Want(200, `value="content.approve" checked`).Lacks(`value="thread.lock" checked`)
		b.Get(at("/admin/moderators?forum=%d", s.forum("staff"))).Want(200, "No moderator is found")
		s.as("eve").Get("/moderation").Want(200, "common secretheld")
		p.Send("/admin/moderators", "one", at("remove %d eve", entry)).Want(200, "No forum has moderators")
		s.as("eve").Get("/moderation").Want(403)

		// The forms of prefixes and filtered words.
		p = b.Get("/admin/prefixes").Want(200, "Question")
		p = p.Send("/admin/prefixes/new", "label", "Solved", "position", "3", "forum", itoa(public)).Want(200, "Solved")
		p.Send("/admin/prefixes/new", "label", "Solved").Want(422, `id="label-problem"`)
		solved := s.number("SELECT id FROM board_prefixes WHERE label = 'Solved'")
		target = at("/admin/prefixes/%d", solved)
		p.Get(target).Want(200, "Prefix Solved", at(`value="%d" checked`, public))
		p = p.Send(target, "label", "Solved", "position", "1").Want(200, "0 forums")
		p.Send("/admin/prefixes", "one", at("delete %d Solved", solved)).Want(200, "They are removed from all threads.")
		p.Send("/admin/prefixes", "do", "delete", "sure", "1", "row", itoa(solved)+" Solved").Want(200, "Solved was deleted.").Lacks("Solved<")
		p = b.Get("/admin/words").Want(200, "No word is filtered")
		p.Send("/admin/words/new", "pattern", "x", "action", "replace").Want(422, `id="pattern-problem"`)
		p = p.Send("/admin/words/new", "pattern", "<darn>", "replacement", "gosh", "action", "replace").Want(200, "&lt;darn&gt;")
		p.Send("/admin/words", "one", at("delete %d darn", s.number("SELECT max(id) FROM board_word_filters"))).Want(200, "No word is filtered")

		// The forms of tokens.
		p = b.Get("/admin/tokens?user=eve").Want(200, `value="eve"`)
		p.Send("/admin/tokens/new", "user", "nobody", "name", "x", "scopes", "posts:read", "expires", "1").Want(422, `id="user-problem"`)
		b.Get("/admin/tokens/new?user=eve").Want(200, `value="eve"`, `value="posts:read" checked`)
		p = p.Send("/admin/tokens/new", "user", "eve", "name", "laptop", "scopes", "posts:read", "expires", "1").Want(200, "brd_pat_", "laptop")
		id := s.number("SELECT max(id) FROM board_api_tokens")
		b.Get("/admin/tokens").Want(200, "laptop").Lacks("brd_pat_")
		b.Get("/admin/tokens?user=bob").Want(200).Lacks("laptop")
		s.exec(at("UPDATE board_api_tokens SET expires_at = 1 WHERE id = %d", id))
		b.Get("/admin/tokens").Want(200, `gone">expired<`)
		p.Send("/admin/tokens?user=eve", "do", "revoke", "sure", "1", "row", itoa(id)+" laptop").Want(200, "laptop was revoked.", `gone">revoked<`).Lacks("Revoke laptop")

		// The forms of webhooks.
		p = b.Get("/admin/webhooks").Want(200, "There are no webhooks")
		p.Send("/admin/webhooks/new", "url", "ftp://example.com/", "topics", "post.created").Want(422, `id="url-problem"`)
		p.Send("/admin/webhooks/new", "url", "https://hooks.example.com/in", "topics", "post.created", "topics", "report.created").Want(200, "shown only once", "whsec_")
		hook := at("/admin/webhooks/%d", s.number("SELECT max(id) FROM board_webhooks"))
		p = b.Get(hook).Want(200, "post.created").Lacks("whsec_")
		p = p.Send(hook, "do", "test").Want(200, "was sent a test.", "pending")
		p = p.Send(hook, "do", "off").Want(200, `value="on"`)
		p.Send(hook, "do", "rotate", "sure", "1").Want(200, "whsec_")
		p.Send(hook, "do", "delete", "sure", "1").Want(200, "There are no webhooks")

		p.Send(at("/admin/groups/%d", insiders), "do", "delete", "sure", "1").Want(200, "Insiders was deleted.").Lacks(">Insiders<")

		// The log shows all of these changes.
		p = b.Get("/moderation/log").Want(200, "<code>webhook.delete</code>")
		for _, action := range admin.LogActions {
			if kind, _, _ := strings.Cut(action, "."); slices.Contains([]string{"settings", "group", "moderator", "prefix", "filter", "token"}, kind) {
				p.Get("/moderation/log?action="+action).Want(200, "<code>"+action+"</code>")
			}
		}
		b.Get("/moderation/log?actor=ada&forum="+itoa(public)).Want(200, "<code>forum.rights</code>").Lacks("<code>webhook.delete</code>")
		b.Get("/moderation/log?actor=nobody").Want(200, "No entry is found")
		b.Get("/moderation/log?action=webhook.delete&format=csv").Want(200, "When,Who,What,Where,Detail", ",ada,webhook.delete,")
		b.Get("/moderation/log?after=x").Want(400)
		for _, path := range []string{"/moderation/log?actor=%00&action=%00&forum=0", "/admin/members?name=%00&state=%00&after=%00", "/admin/members?name=%FF@%00"} {
			b.Get(path).Want(200)
		}
	})
}

// TestModeration works through the queue and the reports.
func TestModeration(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		check := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		ada, err := s.service.Rights.Member(t.Context(), s.user("ada"))
		check(err)
		check(s.service.Admin.SetModerated(t.Context(), ada, s.user("eve"), true))
		eve := s.as("eve")
		thread := at("/threads/%d", s.thread("Open thread"))
		for _, text := range []string{"one", "two", "three", "four"} {
			eve.Get(thread).Send(thread+"/reply", "message", "held number "+text)
		}
		mod := s.as("mod")
		p := mod.Get("/moderation").Want(200, "held number one", "every post of this member is held", "common second", "10 posts").Lacks("secretstaff")
		first, second := s.post("held number one"), s.post("held number two")
		// After one click the next post has the focus.
		next := regexp.MustCompile(at(`name="then" value="(\d+)"><input type="hidden" name="post" value="%d"`, first)).FindStringSubmatch(p.Text)[1]
		if next != itoa(second) {
			t.Errorf("behind %d comes %s, want %d", first, next, second)
		}
		p = p.Send("/moderation", "post", itoa(first), "then", next, "do", "approve").Want(200, "1 post approved.", "autofocus").Lacks(at(`id="held-%d"`, first))
		if focus := regexp.MustCompile(`value="(\d+)">\n<button name="do" value="approve" autofocus`).FindStringSubmatch(p.Text); focus == nil || focus[1] != next {
			t.Errorf("the focus is on %v", focus)
		}
		s.guest().Get(thread).Want(200, "held number one").Lacks("held number two")
		// Another moderator has already settled the post.
		p.Send("/moderation", "post", itoa(first), "do", "reject").Want(200, "0 posts rejected. 1 was already decided by another moderator.")
		p.Send("/moderation", "do", "approve", "which", "ticked").Want(200, "Nothing was ticked.")
		p.Send("/moderation", "post", itoa(second), "do", "burn").Want(400)
		p.Send("/moderation", "post", itoa(second), "do", "reject", "reason", strings.Repeat("x", 201)).Want(422)
		// Several posts are settled at once.
		p = p.Send("/moderation", "post", itoa(second), "post", itoa(s.post("held number three")), "shown", itoa(s.post("held number four")), "which", "ticked", "do", "approve").Want(200, "2 posts approved.", "held number four")
		p.Send("/moderation", "shown", itoa(s.post("held number four")), "which", "all", "do", "reject", "reason", "spam").Want(200, "1 post rejected.").Lacks("held number four")
		mod.Get("/moderation/log?action=post.reject").Want(200, "spam", "Public")
		mod.Get(at("/moderation?forum=%d", s.forum("public"))).Want(200, "common secretheld")
		mod.Get(at("/moderation?forum=%d", s.forum("staff"))).Want(404)
		mod.Get(at("/moderation?forum=%d", s.forum("tickets"))).Want(200, "Nothing is waiting")
		mod.Get("/moderation?after=99999").Want(200, "common secretheld") // redirects to the first page
		mod.Get("/moderation?after=x").Want(400)
		// A post that its author changes while a moderator looks at it must be looked at again.
		check(s.service.Admin.SetModerated(t.Context(), ada, s.user("eve"), true))
		eve.Get(thread).Send(thread+"/reply", "message", "held number five")
		five := s.post("held number five")
		p = mod.Get(thread).Want(200, at(`href="/moderation?forum=%d&amp;after=%d"`, s.forum("public"), five-1))
		p = p.Get(at("/moderation?forum=%d&after=%d", s.forum("public"), five-1)).Want(200, at(`id="held-%d"`, five)).Lacks("common secretheld")
		seen := p.Hidden("seen")
		edit := at("/threads/%d/posts/%d/edit", s.thread("Open thread"), five)
		eve.Get(edit).Send(edit, "message", "BUY number six").Want(200)
		for _, action := range []string{"approve", "reject"} {
			p = p.Send("/moderation", "seen", seen, "post", itoa(five), "do", action).Want(200, "0 posts "+action[:6], "1 has changed since you saw it", "BUY number six")
		}
		p.Send("/moderation", "seen", p.Hidden("seen"), "post", itoa(five), "do", "reject").Want(200, "1 post rejected.")
		// Members cannot approve or reject.
		eve.Get(thread).Send("/moderation", "post", itoa(s.post("common secretheld")), "do", "approve")
		s.guest().Get("/").Lacks("secretheld")

		// The forms of reports.
		mod.Get("/moderation/reports").Want(200, "There are no open reports")
		for name, post := range map[string]string{"eve": "common first", "ada": "common first", "bob": "common second"} {
			id := s.post(post)
			s.as(name).Get(at("/posts/%d/report", id)).Send(at("/posts/%d/report", id), "reason", "bad <i>"+name).Want(200)
		}
		staff := s.post("common secretstaff")
		s.as("ada").Get(at("/posts/%d/report", staff)).Send(at("/posts/%d/report", staff), "reason", "secretstaff report").Want(200)
		p = mod.Get("/moderation/reports").Want(200, "bad &lt;i&gt;eve", "bad &lt;i&gt;ada", "common first", "common second").Lacks("secretstaff")
		p = p.Send("/moderation/reports", "post", itoa(s.post("common first")), "do", "close", "note", "fine").Want(200, "The report is closed").Lacks("common first<")
		p.Send("/moderation/reports", "post", itoa(s.post("common first")), "do", "close").Want(409)
		p.Send("/moderation/reports", "post", itoa(staff), "do", "close").Want(404)
		p.Send("/moderation/reports", "post", itoa(s.post("common second")), "do", "delete", "note", "bad").Want(200, "There are no open reports")
		s.guest().Get(thread).Want(200, "common first").Lacks("common second")
	})
}
