package web_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestRegroupPages checks that a moderator splits, moves and merges by forms, and that old addresses lead to the new
// places.
func TestRegroupPages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		thread := s.thread("Open thread")
		second := s.post("common second")
		if p := s.as("bob").Get(at("/threads/%d/choose", thread)); p.StatusCode != http.StatusForbidden {
			t.Errorf("a member may choose: %d", p.StatusCode)
		}
		mod := s.as("mod")
		list := mod.Get(at("/threads/%d/choose", thread)).Want(200)
		list.Want(200, "common second", "Split into a new thread")
		if strings.Contains(list.Text, "common first") {
			t.Error("the first post can be chosen")
		}
		if p := list.Send("/moderation/chosen", "thread", itoa(thread), "do", "split"); !strings.Contains(p.Text, "Nothing was ticked.") {
			t.Errorf("nothing was chosen: %s", p.Text)
		}
		ask := list.Send("/moderation/chosen", "thread", itoa(thread), "do", "split", "post", itoa(second)).Want(200)
		ask.Want(200, "Split 1 post into a new thread", `value="Open thread"`)
		ask.Send("/moderation/chosen", "confirmed", "1", "thread", itoa(thread), "do", "split", "post", itoa(second), "title", "x", "forumId", itoa(s.forum("public"))).Want(422, "characters")
		done := ask.Send("/moderation/chosen", "confirmed", "1", "thread", itoa(thread), "do", "split", "post", itoa(second), "title", "Split off", "forumId", itoa(s.forum("members"))).Want(200)
		newThread := s.thread("Split off")
		if !strings.HasPrefix(done.Where(), at("/threads/%d", newThread)) {
			t.Errorf("after the split at %s", done.Where())
		}
		if p := s.as("").Get(at("/posts/%d", second)); p.StatusCode != http.StatusNotFound && !strings.HasPrefix(p.Where(), "/login") {
			t.Errorf("a guest sees the post in a forum for members: %d at %s", p.StatusCode, p.Where())
		}

		mod.Get(at("/threads/%d", thread)).Want(200, at(`<a id="post-2" href="/posts/%d">#2</a>`, second))

		// The posts go back into the first thread.
		manage := mod.Get(at("/threads/%d/manage", thread)).Want(200)
		manage.Send(at("/threads/%d/manage", thread), "do", "merge", "other", "no thread").Want(422, "There is no thread with this number that you can see")
		merged := manage.Send(at("/threads/%d/manage", thread), "do", "merge", "other", at("https://board.example/threads/%d-split-off?after=1#post-1", newThread), "kept", "One thread").Want(200)
		merged.Want(200, "One thread", "common second", "The threads are merged.")
		for _, old := range []string{at("/threads/%d", newThread), at("/threads/%d-split-off", newThread), at("/threads/%d/last", newThread), at("/threads/%d/unread", newThread), at("/posts/%d", second)} {
			if p := mod.Get(old).Want(200); !strings.HasPrefix(p.Where(), at("/threads/%d-one-thread", thread)) {
				t.Errorf("%s leads to %s", old, p.Where())
			}
		}
	})
}

// TestFindPages checks that a moderator finds posts and applies an action to several of them, after a confirmation.
func TestFindPages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		if p := s.as("bob").Get("/moderation/find"); p.StatusCode != http.StatusForbidden {
			t.Errorf("a member may find: %d", p.StatusCode)
		}
		mod := s.as("mod")
		mod.Get("/moderation/find").Want(200, "Find posts")
		if p := mod.Get("/moderation/find?member=bob&from=yesterday"); p.StatusCode != http.StatusBadRequest {
			t.Errorf("not a date: %d", p.StatusCode)
		}
		list := mod.Get("/moderation/find?member=bob&from=2026-01-01&to=2026-01-01").Want(200)
		list.Want(200, "common first", "common secretheld post")
		if strings.Contains(list.Text, "secretstaff") || strings.Contains(list.Text, "common second") {
			t.Error("the list has other posts")
		}
		held, first := s.post("common secretheld post"), s.post("common first")
		if p := mod.Get("/moderation/find?member=bob&to=2025-12-31").Want(200); strings.Contains(p.Text, "common first") {
			t.Error("the list has later posts")
		}
		fields := slices.Clip([]string{"query", "member=bob", "do", "approve", "post", itoa(held), "post", itoa(first)})
		ask := list.Send("/moderation/chosen", fields...).Want(200)
		ask.Want(200, "Approve 2 posts?", "common secretheld post")
		if n := s.number("SELECT visibility FROM board_posts WHERE id = " + itoa(held)); n != 1 {
			t.Error("approved without a confirmation")
		}
		done := ask.Send("/moderation/chosen", append(fields, "confirmed", "1")...).Want(200)
		done.Want(200, "Done: 1.", "this decision was already made")
		if done.Where() != "/moderation/find?member=bob" {
			t.Errorf("at %s", done.Where())
		}
		done.Send("/moderation/chosen", "do", "move", "post", itoa(first), "confirmed", "1", "forumId", itoa(s.forum("members"))).Want(200, "Done: 1.")
		if n := s.number("SELECT forum_id FROM board_threads WHERE title = 'Open thread'"); n != s.forum("members") {
			t.Error("the thread was not moved")
		}
	})
}
