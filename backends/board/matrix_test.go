package board

import (
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestHiddenLooksMissing requests every route as every kind of actor for every kind of forum. It checks that the
// response for something hidden is exactly that for something that does not exist, and contains no word of it.
func TestHiddenLooksMissing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		// Each kind of forum has a word that only its content contains.
		kinds := []struct {
			forum, title, message, secret string
			sees                          []string
		}{
			{"public", "Public thread", "public first", "public first", []string{"", "alice", "bob", "mod", "admin"}},
			{"members", "Members thread", "members first", "members first", []string{"alice", "bob", "mod", "admin"}},
			{"staff", "Staff thread", "staff first", "staff first", []string{"mod", "admin"}},
			{"below-staff", "Below staff thread", "belowstaff first", "belowstaff first", []string{"mod", "admin"}},
			{"tickets", "Alice ticket", "ticket first", "ticket first", []string{"alice", "mod", "admin"}},
			{"public", "Held thread", "heldthread first", "heldthread first", []string{"bob", "mod", "admin"}},
			{"public", "Deleted thread", "deletedthread first", "deletedthread first", []string{"mod", "admin"}},
			{"public", "Public thread", "public held", "public held", []string{"bob", "mod", "admin"}},
			{"public", "Public thread", "public deleted", "public deleted", []string{"mod", "admin"}},
		}
		bodies := map[string]string{
			"NewThread": `{"title":"A title","message":"A message"}`, "NewReply": `{"message":"A message"}`, "PostEdit": `{"message":"Changed text"}`,
			"ThreadChange": `{"isLocked":false}`, "SubscriptionChange": `{"mode":"none"}`, "ReadPost": `{"postId":1}`, "NewReport": `{"reason":"bad"}`, "Reason": `{}`,
		}
		requests := 0
		for _, kind := range kinds {
			thread, post := s.threadOf(kind.title), s.postOf(kind.message)
			forum := s.forum(kind.forum)
			hiddenPost := kind.title == "Public thread" && kind.message != "public first"
			for _, user := range []string{"", "alice", "bob", "mod", "admin"} {
				sees := slices.Contains(kind.sees, user)
				for _, r := range api.Routes() {
					ofPost, ofThread, ofForum := strings.Contains(r.Path, "{postId}"), strings.Contains(r.Path, "{threadId}"), strings.Contains(r.Path, "{forumId}")
					write := r.Method != "GET"
					if sees && write || user == "" && !r.Guest {
						continue // the rights of actors who see it are tested elsewhere
					}
					if ofForum && kind.forum == "public" || ofForum && kind.forum == "tickets" {
						ofForum = false // the actor sees the forum itself
						if write {
							continue
						}
					}
					if hiddenPost && !ofPost && write {
						continue
					}
					target := strings.NewReplacer("{forumId}", kernel.Itoa(forum), "{threadId}", kernel.Itoa(thread), "{postId}", kernel.Itoa(post), "{userId}", "1").Replace(r.Path)
					absent := strings.NewReplacer("{forumId}", "987654", "{threadId}", "987654", "{postId}", "987654", "{userId}", "987654").Replace(r.Path)
					if r.Path == "/search" {
						target += "?q=" + strings.ReplaceAll(kind.secret, " ", "+")
					}
					if r.Path == "/notifications/read" {
						continue
					}
					requests++
					got := s.do(user, r.Method, target, bodies[r.Body])
					hides := !sees && (ofPost || ofThread && !hiddenPost || ofForum)
					if hides {
						want := s.do(user, r.Method, absent, bodies[r.Body])
						if got.status != 404 || got.body != want.body {
							t.Errorf("%q %s %s: %d %s, want as for %s: %d %s", user, r.Method, target, got.status, got.body, absent, want.status, want.body)
						}
					}
					if !sees && r.Path != "/openapi.json" && strings.Contains(got.body, kind.secret) {
						t.Errorf("%q %s %s tells of %q: %s", user, r.Method, target, kind.secret, got.body)
					}
					if sees && r.Method == "GET" && (r.Path == "/threads/{threadId}/posts/{postId}") && got.status != 200 {
						t.Errorf("%q %s %s: %d %s", user, r.Method, target, got.status, got.body)
					}
				}
				// The list of forums reveals neither counts nor the last post of tickets.
				for _, f := range data[[]content.ForumInfo](s.do(user, "GET", "/forums", "").want(200)) {
					if f.Slug != kind.forum {
						continue
					}
					if kind.forum == "tickets" && user != "admin" && user != "mod" && (f.ThreadCount != 0 || f.PostCount != 0 || f.LastPostAt != nil) {
						t.Errorf("%q learns of tickets: %+v", user, f)
					}
					if strings.Contains(kind.forum, "staff") && !sees {
						t.Errorf("%q sees the forum %s", user, f.Slug)
					}
				}
			}
		}
		if requests < 500 {
			t.Errorf("only %d requests", requests)
		}
		s.exact()
	})
}

// TestNotificationsOfHidden checks that notifications of what a member can no longer see are not shown.
func TestNotificationsOfHidden(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		thread := s.threadOf("Members thread")
		s.do("alice", "PUT", path("/threads/%d/subscription", thread), "").want(200)
		s.do("bob", "POST", path("/threads/%d/posts", thread), `{"message":"news for you"}`).want(201)
		if got := s.do("alice", "GET", "/notifications", ""); !strings.Contains(got.body, "Members thread") {
			t.Fatalf("no notification: %s", got.body)
		}
		unseen := func(want int) {
			t.Helper()
			if n, err := s.service.Following.Unseen(t.Context(), s.actor("alice")); err != nil || n != want {
				t.Errorf("%d are new, want %d: %v", n, want, err)
			}
		}
		unseen(1)
		post := s.postOf("news for you")
		s.do("mod", "DELETE", path("/threads/%d/posts/%d", thread, post), "").want(200)
		unseen(0)
		s.do("mod", "POST", path("/posts/%d/restore", post), "").want(200)
		unseen(1)
		if got := s.do("alice", "GET", "/subscriptions", ""); !strings.Contains(got.body, "Members thread") {
			t.Fatalf("not subscribed: %s", got.body)
		}
		s.exec("INSERT INTO board_forum_overrides (forum_id, group_id, set_mask, clear_mask) SELECT ?, id, 0, 1 FROM board_groups WHERE name = 'registered'", s.forum("members"))
		for _, list := range []string{"/notifications", "/subscriptions"} {
			if got := s.do("alice", "GET", list, "").want(200); strings.Contains(got.body, "Members thread") {
				t.Errorf("%s tells of what is hidden now: %s", list, got.body)
			}
		}
		s.do("alice", "GET", path("/threads/%d", thread), "").want(404)
		unseen(0)
	})
}

// TestRights checks how masks are resolved to rights.
func TestRights(t *testing.T) {
	t.Parallel()
	a := &rights.Access{
		Groups: map[int64]*rights.Group{1: {ID: 1, Name: "a", Allow: rights.ForumView | rights.ThreadView, Restrict: 3, EditWindow: 10}, 2: {ID: 2, Name: "b", Allow: rights.ForumView | rights.ThreadPost, Restrict: 1, EditWindow: 0}},
		Forums: map[int64]*rights.Node{1: {ID: 1}, 2: {ID: 2, Parent: 1}, 3: {ID: 3, Parent: 2}},
		Order:  []int64{1, 2, 3}, Rights: make(map[string]*rights.Rights),
		Overrides:  map[[2]int64]rights.Override{{2, 1}: {Clear: rights.ForumView}, {3, 1}: {Set: rights.ReplyPost}, {2, 2}: {Clear: rights.ThreadPost}},
		Moderators: []rights.Moderator{{Forum: 2, User: 7, Rights: rights.ThreadLock, Cascades: true}, {Forum: 2, Group: 2, Rights: rights.ThreadStick}},
	}
	single := a.Of(0, []int64{1})
	if single.Forums[2].Visible || single.Forums[3].Visible || !single.Forums[1].Visible {
		t.Errorf("a forum below one that is hidden is seen: %+v", single.Forums)
	}
	combined := a.Of(7, []int64{1, 2})
	want := map[int64]rights.Mask{
		1: rights.ForumView | rights.ThreadView | rights.ThreadPost,
		2: rights.ForumView | rights.ThreadView | rights.ThreadLock | rights.ThreadStick,
		3: rights.ForumView | rights.ThreadView | rights.ReplyPost | rights.ThreadLock,
	}
	for id, mask := range want {
		if got := combined.Forums[id].Mask; got != mask {
			t.Errorf("forum %d: %b, want %b", id, got, mask)
		}
	}
	if combined.Forums[1].Restrict != 1 || combined.EditWindow != 0 || single.EditWindow != 10 {
		t.Errorf("restrict %b, edit windows %d and %d", combined.Forums[1].Restrict, combined.EditWindow, single.EditWindow)
	}
	if stale := a.Of(0, []int64{0, 1}); stale.EditWindow != 10 || stale.Forums[1].Restrict != 3 {
		t.Errorf("beside a group that is deleted: restrict %b, edit window %d", stale.Forums[1].Restrict, stale.EditWindow)
	}
	if a.Of(8, []int64{1, 2}).Forums[3].Mask.Has(rights.ThreadLock) {
		t.Error("a moderator's rights went to somebody else")
	}
	// A member and a group with the same id never share a key of the cached rights.
	for id := int64(1); id < 300; id++ {
		b := &rights.Access{
			Groups: map[int64]*rights.Group{id: {ID: id}, 301: {ID: 301}}, Forums: map[int64]*rights.Node{1: {ID: 1}}, Order: []int64{1}, Rights: make(map[string]*rights.Rights),
			Moderators: []rights.Moderator{{Forum: 1, User: id, Rights: rights.ThreadLock}},
		}
		if !b.Of(id, []int64{301}).Forums[1].Mask.Has(rights.ThreadLock) || b.Of(400, []int64{id, 301}).Forums[1].Mask != 0 {
			t.Errorf("the moderator %d and the group of that number are mixed up", id)
		}
	}
	if rights.Everything != maskOfAll(t) {
		t.Errorf("everything is %b, the rights are %b", rights.Mask(rights.Everything), maskOfAll(t))
	}
}

func maskOfAll(t *testing.T) (all rights.Mask) {
	t.Helper()
	for _, bit := range rights.MaskNames {
		all |= bit
	}
	return all
}
