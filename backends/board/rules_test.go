package board

import (
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestPostsPerDay checks that the daily limit of a group counts the last 24 hours, and that of several groups the one
// with the largest limit applies.
func TestPostsPerDay(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		s.exec("UPDATE board_groups SET max_posts_per_day = 2 WHERE name = 'registered'")
		s.clock.advance(48 * time.Hour) // the posts of the fixture no longer count
		count := 0
		reply := func(user string) *answer {
			count++
			s.clock.advance(2 * time.Minute)
			return s.do(user, "POST", path("/threads/%d/posts", s.threadOf("Public thread")), path(`{"message":"number %d"}`, count))
		}
		reply("alice").want(201)
		reply("alice").want(201)
		reply("alice").want(429, "flood_limited")
		reply("bob").want(201)
		s.do("alice", "DELETE", path("/threads/%d/posts/%d", s.threadOf("Public thread"), s.postOf("number 1")), "").want(200)
		reply("alice").want(429, "flood_limited") // deleted ones count
		s.clock.advance(24*time.Hour - 10*time.Minute)
		reply("alice").want(201)
		reply("alice").want(201)
		reply("alice").want(429, "flood_limited")
		s.exec("INSERT INTO board_user_groups (user_id, group_id) VALUES (?, ?)", s.user("alice"), s.group("members"))
		reply("alice").want(201) // that group has no limit
	})
}

// TestMove checks that a moderator can move a thread to forums that the moderator sees and may start threads in, and
// that its reports and held posts move to the moderators there.
func TestMove(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		thread := path("/threads/%d", s.threadOf("Public thread"))
		move := func(user, slug string) *answer {
			return s.do(user, "PATCH", thread, path(`{"forumId":%d}`, s.forum(slug)))
		}
		s.do("bob", "POST", path("/posts/%d/report", s.postOf("public first")), `{"reason":"look at this"}`).want(201)
		s.exec("INSERT INTO board_forum_overrides (forum_id, group_id, set_mask, clear_mask) VALUES (?, ?, 0, ?), (?, ?, 0, ?), (?, ?, 0, ?)",
			s.forum("below-staff"), s.group("moderators"), rights.ForumView,
			s.forum("tickets"), s.group("moderators"), rights.ThreadPost,
			s.forum("held"), s.group("registered"), rights.ForumView)
		s.exec("UPDATE board_forum_overrides SET clear_mask = clear_mask | ? WHERE forum_id = ? AND group_id = ?", rights.ThreadPost, s.forum("tickets"), s.group("registered"))
		move("alice", "members").want(403, "forbidden")
		move("mod", "below-staff").want(422, "validation_failed", "unknown") // as one that is not there
		s.do("mod", "PATCH", thread, `{"forumId":987654}`).want(422, "validation_failed", "unknown")
		move("mod", "root").want(422, "validation_failed", "not_a_forum")
		move("mod", "link").want(422, "validation_failed", "not_a_forum")
		move("mod", "prefixed").want(422, "validation_failed", "required")
		move("mod", "tickets").want(403, "forbidden")
		move("mod", "held").want(200)
		s.do("alice", "GET", thread, "").want(404)
		s.do("", "GET", thread+"/posts", "").want(200) // the guest was denied nothing
		s.exact()
		for _, query := range []string{
			"SELECT count(*) FROM board_reports WHERE forum_id = ?",
			"SELECT count(*) FROM board_post_ids WHERE forum_id = ? AND visibility = 1",
		} {
			if n := s.number(query, s.forum("held")); n != 1 {
				t.Errorf("%s: %d", query, n)
			}
		}
	})
}

// TestDeleteOwn checks that authors can delete their own posts while the thread is open, and the first post while
// nobody has replied.
func TestDeleteOwn(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		remove := func(user, title, message string) *answer {
			return s.do(user, "DELETE", path("/threads/%d/posts/%d", s.threadOf(title), s.postOf(message)), "")
		}
		remove("alice", "Public thread", "public first").want(403, "forbidden", "no_permission") // bob has replied
		remove("alice", "Public thread", "public second").want(403, "forbidden", "no_permission")
		remove("alice", "Locked thread", "locked first").want(403, "forbidden", "thread_locked")
		s.exec("UPDATE board_forums SET is_open = 0 WHERE slug = 'public'")
		remove("bob", "Public thread", "public second").want(403, "forbidden", "forum_closed")
		s.exec("UPDATE board_forums SET is_open = 1 WHERE slug = 'public'")
		s.exec("UPDATE board_users SET suspended_until = ? WHERE username = 'bob'", s.clock.now().Add(time.Hour).UnixMicro())
		remove("bob", "Public thread", "public second").want(403, "forbidden", "suspended")
		s.exec("UPDATE board_users SET suspended_until = NULL")
		remove("bob", "Public thread", "public second").want(200)
		remove("alice", "Public thread", "public first").want(200)
		s.do("alice", "GET", path("/threads/%d", s.threadOf("Public thread")), "").want(404)
		s.exact()
	})
}

// TestSearchRight checks that a search finds nothing in forums that the member may read but not search, and never
// anything that is hidden.
func TestSearchRight(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		found := func(user, query string) (n int) {
			t.Helper()
			var list struct {
				Data []struct{ Post content.PostInfo }
			}
			s.do(user, "GET", "/search?"+query, "").want(200).into(&list)
			return len(list.Data)
		}
		if n := found("", "q=public"); n != 2 {
			t.Errorf("a guest finds %d posts, want 2", n)
		}
		s.do("mod", "DELETE", path("/threads/%d/posts/%d", s.threadOf("Public thread"), s.postOf("public first")), "").want(200)
		if n := found("mod", "q=public"); n != 0 {
			t.Errorf("a moderator finds %d posts of a thread that is deleted", n)
		}
		s.do("mod", "POST", path("/posts/%d/restore", s.postOf("public first")), "").want(200)
		s.exec("INSERT INTO board_forum_overrides (forum_id, group_id, set_mask, clear_mask) VALUES (?, ?, 0, ?)", s.forum("public"), s.group("guest"), rights.ForumSearch)
		for query, want := range map[string][2]int{"q=public": {0, 2}, path("q=public&forum=%d", s.forum("public")): {0, 2}} {
			if guest, alice := found("", query), found("alice", query); guest != want[0] || alice != want[1] {
				t.Errorf("%s: a guest finds %d and a member %d", query, guest, alice)
			}
		}
	})
}
