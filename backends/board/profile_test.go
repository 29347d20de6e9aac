package board

import (
	"slices"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestProfileKeepsRights checks that changing a profile does not invalidate the cached rights, and that the member sees
// the change at once.
func TestProfileKeepsRights(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		ctx := t.Context()
		const current = "SELECT version FROM board_permission_version"
		before := s.number(current)
		for _, title := range []string{"Old hand", "Older hand"} {
			a, err := s.service.Accounts.Authenticate(ctx, s.tokens["bob"]) // now the token is cached
			must(t, err)
			must(t, s.service.Accounts.SetProfile(ctx, a, accounts.Profile{Title: title, Bio: "Hello"}))
			a, err = s.service.Accounts.Authenticate(ctx, s.tokens["bob"])
			must(t, err)
			if a.User.Title != title {
				t.Errorf("the title is %q, want %q", a.User.Title, title)
			}
		}
		if after := s.number(current); after != before {
			t.Errorf("the version of the rights went from %d to %d", before, after)
		}
	})
}

// TestProfileHidden checks that an actor who may not see members finds none.
func TestProfileHidden(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		alice, bob := path("/members/%d", s.user("alice")), path("/members/%d", s.user("bob"))
		s.do("", "GET", alice, "").want(200)
		s.exec("UPDATE board_groups SET allow_mask = allow_mask - ? WHERE kind IN ('guest', 'registered')", int64(rights.ProfileView))
		for _, user := range []string{"", "bob"} {
			got, absent := s.do(user, "GET", alice, "").want(404), s.do(user, "GET", "/members/987654", "").want(404)
			if got.body != absent.body {
				t.Errorf("%q: %s, want as for nobody: %s", user, got.body, absent.body)
			}
		}
		s.do("bob", "GET", bob, "").want(200) // oneself
		s.do("admin", "GET", alice, "").want(200)
	})
}

// TestProfileCountsVisiblePosts checks that a profile counts only posts that the reader could read, whatever happens to
// the posts.
func TestProfileCountsVisiblePosts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		actors := []string{"", "alice", "bob", "mod", "admin"}
		// counted returns the number of posts that each of the actors sees on the profile of mod.
		profile := path("/members/%d", s.user("mod"))
		counted := func() map[string]int64 {
			t.Helper()
			counts := make(map[string]int64)
			for _, u := range actors {
				counts[u] = data[api.MemberInfo](s.do(u, "GET", profile, "").want(200)).PostCount
			}
			return counts
		}
		before := counted()
		// changes checks that the number grows by more for the given readers, and does not change for any other.
		changes := func(name string, more int64, readers ...string) {
			t.Helper()
			after := counted()
			for _, u := range actors {
				want := before[u]
				if slices.Contains(readers, u) {
					want += more
				}
				if after[u] != want {
					t.Errorf("%s: %q reads %d posts, want %d", name, u, after[u], want)
				}
			}
			before = after
			s.exact()
		}
		for _, forum := range []struct {
			slug string
			sees []string
		}{
			{"public", actors},
			{"members", []string{"alice", "bob", "mod", "admin"}},
			{"staff", []string{"mod", "admin"}},
			{"below-staff", []string{"mod", "admin"}},
			{"tickets", []string{"mod", "admin"}},
		} {
			created := data[api.Created](s.do("mod", "POST", path("/forums/%d/threads", s.forum(forum.slug)), `{"title":"A thread","message":"Its beginning"}`).want(201))
			changes("a thread in "+forum.slug, 1, forum.sees...)
			answer := data[api.Replied](s.do("mod", "POST", path("/threads/%d/posts", created.ID), `{"message":"An answer"}`).want(201))
			changes("an answer in "+forum.slug, 1, forum.sees...)
			s.do("admin", "DELETE", path("/threads/%d/posts/%d", created.ID, answer.ID), "").want(200)
			changes("a deleted answer in "+forum.slug, -1, forum.sees...)
			s.do("admin", "POST", path("/posts/%d/restore", answer.ID), "").want(200)
			changes("a restored answer in "+forum.slug, 1, forum.sees...)
			s.do("admin", "DELETE", path("/threads/%d/posts/%d", created.ID, created.PostID), "").want(200)
			changes("a deleted thread in "+forum.slug, -2, forum.sees...)
			s.do("admin", "POST", path("/posts/%d/restore", created.PostID), "").want(200)
			changes("a restored thread in "+forum.slug, 2, forum.sees...)
			if forum.slug == "public" {
				continue
			}
			s.do("admin", "PATCH", path("/threads/%d", created.ID), path(`{"forumId":%d}`, s.forum("public"))).want(200)
			hidden := slices.DeleteFunc(slices.Clone(actors), func(u string) bool { return slices.Contains(forum.sees, u) })
			changes("a thread moved from "+forum.slug, 2, hidden...)
		}
		// Changed rights take effect at once. 10 posts are from before the board.
		s.exec("INSERT INTO board_forum_overrides (forum_id, group_id, set_mask, clear_mask) SELECT ?, id, 0, 1 FROM board_groups WHERE kind IN ('guest', 'registered')", s.forum("public"))
		for u, n := range counted() {
			if u == "" && n != 10 || u == "admin" && n != before["admin"] {
				t.Errorf("%q reads %d posts of a forum that was hidden", u, n)
			}
		}
	})
}

// TestRecordCountsVisiblePosts checks that the record of an author counts only posts in forums that the moderator sees.
func TestRecordCountsVisiblePosts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx := t.Context()
		must(t, s.service.Admin.SetModerator(ctx, s.actor("admin"), admin.Moderator{Forum: s.forum("public"), UserName: "alice", Rights: rights.ContentApprove}))
		s.do("alice", "POST", path("/posts/%d/report", s.postOf("public second")), `{"reason":"bad"}`).want(201)
		record := func(user string) (records [2]admin.AuthorRecord) {
			t.Helper()
			held, _, err := s.service.Admin.QueuePage(ctx, s.actor(user), s.forum("public"), 0, 1)
			must(t, err)
			reported, _, err := s.service.Admin.Reports(ctx, s.actor(user), s.forum("public"), 0, 1)
			must(t, err)
			return [...]admin.AuthorRecord{held[0].Author, reported[0].Author}
		}
		alice, mod := record("alice"), record("mod")
		s.exec("INSERT INTO board_member_posts (user_id, forum_id, posts) VALUES (?, ?, 3)", s.user("bob"), s.forum("staff"))
		for visibility := range int64(4) { // 3: deleted and archived
			s.exec("INSERT INTO board_post_ids (thread_id, forum_id, author_id, visibility, created_at) VALUES (?, ?, ?, ?, 1)", s.threadOf("Staff thread"), s.forum("staff"), s.user("bob"), visibility)
		}
		if got := record("alice"); got != alice || alice[0].Recent == 0 || alice[0].Held == 0 || alice[0].Deleted == 0 || alice[0] != alice[1] {
			t.Errorf("alice learns of the forum of the staff: %+v, before %+v", got, alice)
		}
		for i, got := range record("mod") {
			want := mod[i]
			want.Posts, want.Recent, want.Held, want.Deleted = want.Posts+3, want.Recent+4, want.Held+1, want.Deleted+2
			if got != want {
				t.Errorf("who sees it: %+v, want %+v", got, want)
			}
		}
	})
}
