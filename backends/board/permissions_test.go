package board

import (
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestEachConditionRefuses checks that each condition alone refuses an action that a member may otherwise do.
func TestEachConditionRefuses(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		thread := path("/threads/%d", s.threadOf("Public thread"))
		first := path("%s/posts/%d", thread, s.postOf("public first"))
		allow := func(right rights.Mask, allowed bool) {
			t.Helper()
			s.exec("UPDATE board_groups SET allow_mask = allow_mask & ~CAST(? AS BIGINT) WHERE name = 'registered'", right)
			if allowed {
				s.exec("UPDATE board_groups SET allow_mask = allow_mask | CAST(? AS BIGINT) WHERE name = 'registered'", right)
			}
		}

		report := func() *answer {
			return s.do("alice", "POST", path("/posts/%d/report", s.postOf("public second")), `{"reason":"this is spam"}`)
		}
		allow(rights.ReportCreate, false)
		report().want(403, "forbidden", "no_permission")
		allow(rights.ReportCreate, true)
		report().want(201)

		follow := func() *answer { return s.do("alice", "PUT", thread+"/subscription", `{"mode":"daily"}`) }
		allow(rights.ForumSubscribe, false)
		follow().want(403, "forbidden", "no_permission")
		allow(rights.ForumSubscribe, true)
		follow().want(200)

		// A title can be edited as long as the first post, whose edit window has ended.
		retitle := func() *answer { return s.do("alice", "PATCH", thread, `{"title":"Another title"}`) }
		retitle().want(403, "forbidden", "no_permission")
		editable(s)
		retitle().want(200)

		edit := func() *answer { return s.do("alice", "PATCH", first, `{"message":"Edited anew"}`) }
		s.exec("UPDATE board_forums SET is_open = 0 WHERE slug = 'public'")
		edit().want(403, "forbidden", "forum_closed")
		s.exec("UPDATE board_forums SET is_open = 1 WHERE slug = 'public'")
		edit().want(200)

		for user, status := range map[string]int{"": 401, "bob": 403, "alice": 200, "mod": 200} {
			s.do(user, "GET", first+"/revisions", "").want(status)
		}

		start := func(user string) *answer {
			return s.do(user, "POST", path("/forums/%d/threads", s.forum("public")), path(`{"title":"A thread of %s","message":"Its first post"}`, user))
		}
		s.exec("UPDATE board_forums SET allow_threads = 0 WHERE slug = 'public'")
		start("alice").want(403, "forbidden", "forum_closed")
		start("mod").want(201) // the moderator may post in closed forums
		s.exec("UPDATE board_forums SET allow_threads = 1 WHERE slug = 'public'")
		start("alice").want(201)

		s.do("mod", "DELETE", first, "").want(200)
		s.do("mod", "POST", thread+"/posts", `{"message":"To what is gone"}`).want(403, "forbidden", "thread_deleted")
	})
}

// TestSuspendedAccounts checks that a suspended member can change neither the own profile nor the board.
func TestSuspendedAccounts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		ctx, b := t.Context(), s.service
		attempts := map[string]func() error{
			"profile":    func() error { return b.Accounts.SetProfile(ctx, s.actor("alice"), accounts.Profile{Title: "Gardener"}) },
			"administer": func() error { return b.Admin.SetModerated(ctx, s.actor("admin"), s.user("bob"), true) },
		}
		s.exec("UPDATE board_users SET suspended_until = ?", s.clock.now().Add(time.Hour).UnixMicro())
		for name, attempt := range attempts {
			refused(t, name, attempt(), 403, "suspended")
		}
		s.clock.advance(time.Hour)
		for _, attempt := range attempts {
			must(t, attempt())
		}
	})
}

// TestRevokeForeignToken checks that members can revoke only their own tokens, and that a token cannot create others.
func TestRevokeForeignToken(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		ctx, b := t.Context(), s.service
		own, err := b.Accounts.OwnTokens(ctx, s.actor("bob"))
		must(t, err)
		if len(own) != 1 {
			t.Fatalf("%+v", own)
		}
		refused(t, "another's token", b.Accounts.RevokeOwnToken(ctx, s.actor("alice"), own[0].ID), 404, "")
		s.do("bob", "GET", "/forums", "").want(200)
		must(t, b.Accounts.RevokeOwnToken(ctx, s.actor("bob"), own[0].ID))
		s.do("bob", "GET", "/forums", "").want(401)

		s.exec("UPDATE board_users SET password_hash = ? WHERE username = 'alice'", hashed(t, "correct horse"))
		actor, err := b.Accounts.Authenticate(ctx, s.tokens["alice"])
		must(t, err)
		request := accounts.TokenRequest{Name: "more", Scopes: []string{"forums:read"}}
		_, err = b.Accounts.IssueOwnToken(ctx, actor, request, "correct horse", "192.0.2.1")
		refused(t, "by a token", err, 403, "no_permission")
		_, err = b.Accounts.IssueOwnToken(ctx, s.actor("alice"), request, "correct horse", "192.0.2.1")
		must(t, err)
	})
}

// TestRestrictionOfAllGroups checks that a restriction applies if all groups of the member have it, in whatever order
// they are.
func TestRestrictionOfAllGroups(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		s.exec("INSERT INTO board_user_groups (user_id, group_id) VALUES (?, ?)", s.user("alice"), s.group("members"))
		for restricted, want := range map[string]string{"": "visible", "'registered'": "visible", "'members'": "visible", "'members', 'registered'": "unapproved"} {
			s.exec("UPDATE board_groups SET restrict_mask = 0")
			if restricted != "" {
				s.exec("UPDATE board_groups SET restrict_mask = ? WHERE name IN ("+restricted+")", int64(rights.ReplyNeedsApproval))
			}
			got := data[api.Replied](s.do("alice", "POST", path("/threads/%d/posts", s.threadOf("Public thread")), path(`{"message":%q}`, "Restricted: "+restricted)).want(201))
			if got.Visibility != want {
				t.Errorf("%s restricted: %s, want %s", restricted, got.Visibility, want)
			}
		}
	})
}

// TestFirstPostsHeld checks that as many posts are held as the option says.
func TestFirstPostsHeld(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true, HoldFirst: 2})
		for i, want := range []string{"unapproved", "unapproved", "visible"} {
			got := data[api.Replied](s.do("newbie", "POST", path("/threads/%d/posts", s.threadOf("Public thread")), path(`{"message":"number %d"}`, i)).want(201))
			if got.Visibility != want {
				t.Errorf("post %d is %s, want %s", i+1, got.Visibility, want)
			}
			if got.Visibility != "visible" {
				s.do("mod", "POST", path("/moderation/queue/%d/approve", got.ID), "").want(200)
			}
		}
	})
}

// TestAsAdministratorInHiddenForum checks that the log records a right as used by an administrator if the member has
// the right in the forum but does not see the forum.
func TestAsAdministratorInHiddenForum(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		s.exec("UPDATE board_groups SET allow_mask = ? WHERE name = 'administrators'", int64(rights.AdminAccess))
		s.exec("INSERT INTO board_user_groups (user_id, group_id) VALUES (?, ?)", s.user("newbie"), s.group("administrators"))
		s.do("newbie", "POST", path("/threads/%d/posts", s.threadOf("Public thread")), `{"message":"As everybody"}`).want(201)
		if n := s.number("SELECT count(*) FROM board_moderation_log WHERE action = 'reply.post'"); n != 0 {
			t.Error("a reply where all reply is in the log")
		}
		s.do("newbie", "POST", path("/threads/%d/posts", s.threadOf("Staff thread")), `{"message":"As administrator"}`).want(201)
		if e := s.lastLog(); e.Action != "reply.post" || !strings.HasPrefix(e.Detail, rights.AsAdministrator) {
			t.Errorf("the log has %+v", e)
		}
	})
}
