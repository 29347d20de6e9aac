package board

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/moderation"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/search"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// started starts a thread with replies by bob, and returns its id and the ids of its posts.
func (s *site) started(forum, title string, replies int) (thread int64, ids []int64) {
	s.t.Helper()
	created := data[api.Created](s.do("alice", "POST", path("/forums/%d/threads", s.forum(forum)), `{"title":`+quoted(title)+`,"message":`+quoted(title+" first")+`}`).want(201))
	ids = append(ids, created.PostID)
	for i := range replies {
		ids = append(ids, data[api.Replied](s.do("bob", "POST", path("/threads/%d/posts", created.ID), `{"message":`+quoted(path("%s reply %d", title, i+1))+`}`).want(201)).ID)
	}
	return created.ID, ids
}

// TestMerge checks that a merge moves all posts, and what belongs to them, to the thread that begins earlier.
func TestMerge(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		mod := s.actor("mod")
		target, first := s.started("public", "Kept thread", 2)
		other, second := s.started("members", "Other thread", 2)
		must(t, s.service.Following.Subscribe(t.Context(), s.actor("alice"), other, "instant"))
		reply := data[api.Replied](s.do("bob", "POST", path("/threads/%d/posts", other), `{"message":"told to alice"}`).want(201)).ID
		third := data[api.Replied](s.do("bob", "POST", path("/threads/%d/posts", target), `{"message":"the latest"}`).want(201)).ID
		s.do("alice", "POST", path("/threads/%d/read", target), path(`{"postId":%d}`, third)).want(200)
		s.do("alice", "POST", path("/threads/%d/read", other), path(`{"postId":%d}`, second[2])).want(200)
		s.do("bob", "POST", path("/threads/%d/read", target), path(`{"postId":%d}`, third)).want(200)
		s.do("bob", "POST", path("/threads/%d/read", other), path(`{"postId":%d}`, reply)).want(200)

		_, err := s.service.Moderation.Merge(t.Context(), s.actor("bob"), target, other, "")
		refused(t, "by a member", err, http.StatusForbidden, "no_permission")
		_, err = s.service.Moderation.Merge(t.Context(), mod, target, target, "")
		refused(t, "with itself", err, http.StatusUnprocessableEntity, "same")
		_, err = s.service.Moderation.Merge(t.Context(), mod, target, 9999, "")
		refused(t, "with nothing", err, http.StatusUnprocessableEntity, "unknown")
		_, err = s.service.Moderation.Merge(t.Context(), mod, target, s.threadOf("Deleted thread"), "")
		refused(t, "with a deleted one", err, http.StatusUnprocessableEntity, "not_visible")

		merged, err := s.service.Moderation.Merge(t.Context(), mod, other, target, "Both threads")
		must(t, err)
		if merged != target {
			t.Fatalf("merged into %d, want the earlier one, %d", merged, target)
		}
		if entry := s.lastLog(); entry.Action != "thread.merge" || entry.Thread != target {
			t.Errorf("logged %+v", entry)
		}
		view, err := s.service.Posts.ReadThread(t.Context(), mod, target, 0, 50)
		must(t, err)
		ids := make([]int64, 0, len(view.Posts))
		for _, p := range view.Posts {
			ids = append(ids, p.ID)
		}
		want := append(append(slices.Clone(first), second...), reply, third)
		if !slices.Equal(ids, want) {
			t.Errorf("posts %v, want %v", ids, want)
		}
		if th := view.Thread; th.Title != "Both threads" || th.ReplyCount != 7 || th.LastPostID != third {
			t.Errorf("thread %+v", th)
		}
		s.do("mod", "GET", path("/threads/%d", other), "").want(404)
		if id, post, err := s.service.Moderation.MergedInto(t.Context(), s.actor("bob"), other); id != target || post != second[0] || err != nil {
			t.Errorf("leads to %d %d: %v", id, post, err)
		}
		if n := s.number("SELECT count(*) FROM board_subscriptions WHERE user_id = ? AND target_id = ?", s.user("alice"), target); n != 1 {
			t.Error("alice does not follow the thread")
		}
		if list, _, err := s.service.Following.Notifications(t.Context(), s.actor("alice"), 0, 10); err != nil || len(list) != 1 || list[0].Thread != target {
			t.Errorf("notifications %+v: %v", list, err)
		}
		if n, err := s.service.Following.Unseen(t.Context(), s.actor("alice")); n != 1 || err != nil {
			t.Errorf("%d unseen: %v", n, err)
		}
		found, _, err := s.service.Search.Find(t.Context(), mod, search.Query{Text: "Both threads", Limit: 10})
		if err != nil || len(found) != 1 || found[0].Post.ID != first[0] {
			t.Errorf("found by the title: %v %v", found, err)
		}
		s.counted()

		// A thread that was merged before leads to where its thread is merged now.
		earliest := s.threadOf("Public thread")
		if _, err := s.service.Moderation.Merge(t.Context(), mod, target, earliest, ""); err != nil {
			t.Fatal(err)
		}
		if id, _, err := s.service.Moderation.MergedInto(t.Context(), s.actor("bob"), other); id != earliest || err != nil {
			t.Errorf("leads to %d: %v", id, err)
		}
		s.counted()
	})
}

// TestMergeResumes checks that a merge of a long thread, with archived posts, goes on after an interruption.
func TestMergeResumes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		target, _ := s.started("public", "Kept thread", 1)
		long := s.spammed("Long thread", s.clock.now().Add(-31*24*time.Hour), posts.ArchiveRun+100, 200)
		if moved, err := s.service.Posts.Archive(t.Context()); moved != posts.ArchiveRun+100 || err != nil {
			t.Fatal(moved, err)
		}
		all := s.number("SELECT count(*) FROM board_post_ids WHERE thread_id = ?", long)
		old := s.number("SELECT count(*) FROM board_post_ids WHERE thread_id = ?", target)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		mod := s.actor("mod")
		s.service.Moderation.Pause = cancel // after the first transaction
		if _, err := s.service.Moderation.Merge(ctx, mod, target, long, ""); !errors.Is(err, context.Canceled) {
			t.Fatalf("the merge was not interrupted: %v", err)
		}
		s.counted()
		if n := s.number("SELECT count(*) FROM board_post_ids WHERE thread_id = ?", long); n == 0 || n == all {
			t.Fatalf("%d posts of %d are left", n, all)
		}
		_, err := s.service.Moderation.Merge(t.Context(), mod, target, long, "")
		refused(t, "a merge of the same threads", err, http.StatusConflict, "")
		s.service.Moderation.Pause = func() {}
		if n, err := s.service.Moderation.ResumeMerges(t.Context()); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if n := s.number("SELECT count(*) FROM board_post_ids WHERE thread_id = ?", target); n != old+all {
			t.Errorf("%d posts, want %d", n, old+all)
		}
		if n := s.number("SELECT count(*) FROM board_posts_archive WHERE thread_id = ?", target); n != posts.ArchiveRun+100 {
			t.Errorf("%d posts in the archive", n)
		}
		if n, err := s.service.Moderation.ResumeMerges(t.Context()); n != 0 || err != nil {
			t.Error(n, err)
		}
		s.counted()
	})
}

// TestSplit checks that posts become a thread of their own, and move to another thread.
func TestSplit(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		mod, members := s.actor("mod"), s.forum("members")
		target, _ := s.started("public", "Target thread", 0)
		thread, ids := s.started("public", "Long thread", 4)
		later, _ := s.started("public", "Later thread", 0)
		s.do("alice", "POST", path("/threads/%d/read", thread), path(`{"postId":%d}`, ids[4])).want(200)
		split := moderation.Split{Posts: []int64{ids[3], ids[1]}, Title: "Split off", Forum: members}

		_, err := s.service.Moderation.Split(t.Context(), s.actor("bob"), thread, split)
		refused(t, "by a member", err, http.StatusForbidden, "no_permission")
		_, err = s.service.Moderation.Split(t.Context(), mod, thread, moderation.Split{Posts: ids, Title: "All of it", Forum: members})
		refused(t, "the first post", err, http.StatusUnprocessableEntity, "first")
		_, err = s.service.Moderation.Split(t.Context(), mod, thread, moderation.Split{Title: "Nothing", Forum: members})
		refused(t, "no post", err, http.StatusUnprocessableEntity, "required")
		_, err = s.service.Moderation.Split(t.Context(), mod, thread, moderation.Split{Posts: ids[1:2], Title: "Prefix", Forum: s.forum("prefixed")})
		refused(t, "to a forum with prefixes", err, http.StatusUnprocessableEntity, "required")

		newThread, err := s.service.Moderation.Split(t.Context(), mod, thread, split)
		must(t, err)
		if entry := s.lastLog(); entry.Action != "thread.split" || entry.Thread != newThread {
			t.Errorf("logged %+v", entry)
		}
		view, err := s.service.Posts.ReadThread(t.Context(), s.actor("alice"), newThread, 0, 50)
		must(t, err)
		if th := view.Thread; th.ForumID != members || th.AuthorUsername != "bob" || th.ReplyCount != 1 || th.FirstPostID != ids[1] || th.LastPostID != ids[3] || *th.Unread {
			t.Errorf("thread %+v", th)
		}
		if view.Posts[0].Number != 1 || view.Posts[1].Number != 2 {
			t.Errorf("posts %+v", view.Posts)
		}
		s.counted()
		if n := data[api.Replied](s.do("bob", "POST", path("/threads/%d/posts", newThread), `{"message":"one more"}`).want(201)).ID; s.number("SELECT number FROM board_posts WHERE id = ?", n) != 3 {
			t.Error("the next number is wrong")
		}

		if left, err := s.service.Posts.ReadThread(t.Context(), s.actor("alice"), thread, 0, 50); err != nil || !slices.Equal(left.Moved, []posts.MovedPost{{Number: 2, Post: ids[1]}, {Number: 4, Post: ids[3]}}) {
			t.Errorf("moved from the page: %+v %v", left.Moved, err)
		}
		refused(t, "to a later thread", s.service.Moderation.MovePosts(t.Context(), mod, thread, later, ids[2:3]), http.StatusUnprocessableEntity, "later")
		refused(t, "of another thread", s.service.Moderation.MovePosts(t.Context(), mod, thread, target, ids[1:2]), http.StatusNotFound, "")
		must(t, s.service.Moderation.MovePosts(t.Context(), mod, thread, target, []int64{ids[2], ids[4]}))
		if entry := s.lastLog(); entry.Action != "post.move" || entry.Post != ids[4] || entry.Thread != target {
			t.Errorf("logged %+v", entry)
		}
		if place, err := s.service.Posts.PlaceOf(t.Context(), s.actor("bob"), ids[4], 20); err != nil || place.Thread.ID != target || place.Number != 3 {
			t.Errorf("place %+v: %v", place, err)
		}
		if n := s.number("SELECT reply_count FROM board_threads WHERE id = ?", thread); n != 0 {
			t.Errorf("%d replies are left", n)
		}
		s.counted()
	})
}

// TestMentionReadAfterSplit checks that reading a thread marks the mention of a member who does not follow it as read,
// also if the post was split off from another thread.
func TestMentionReadAfterSplit(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		thread, _ := s.started("public", "Long thread", 2)
		post := s.write("alice", "Long thread", "what do you think, @newbie?")
		s.wantNotificationKinds("mentioned", "newbie", "mention")
		newThread, err := s.service.Moderation.Split(t.Context(), s.actor("mod"), thread,
			moderation.Split{Posts: []int64{post}, Title: "Split off", Forum: s.forum("public")})
		must(t, err)
		must(t, s.service.Following.MarkRead(t.Context(), s.actor("newbie"), newThread, post))
		if n, err := s.service.Following.Unseen(t.Context(), s.actor("newbie")); n != 0 || err != nil {
			t.Errorf("%d notifications are unread, want 0: %v", n, err)
		}
	})
}

// TestRandomMovesAndMerges checks that all counters are exact after any order of merges, splits, moves and decisions.
func TestRandomMovesAndMerges(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		mod := s.actor("mod")
		var threads []int64
		for i := range 8 {
			thread, _ := s.started([]string{"public", "members"}[i%2], path("Thread %d", i), 5)
			threads = append(threads, thread)
		}
		random := rand.New(rand.NewPCG(1, 2))
		some := func(list []int64) int64 {
			if len(list) == 0 {
				return 0
			}
			return list[random.IntN(len(list))]
		}
		done := make(map[string]int)
		for range 60 {
			thread, other := some(threads), some(threads)
			var ids []int64
			must(t, s.service.kernel.Read(t.Context(), func(c store.Conn) error {
				ids = nil
				return c.All("SELECT id FROM board_posts WHERE thread_id = ? ORDER BY id", []any{thread}, func(r store.Row) error {
					var id int64
					err := r.Scan(&id)
					ids = append(ids, id)
					return err
				})
			}))
			chosen := []int64{some(ids), some(ids)}
			action := []string{"merge", "split", "split", "post", "post", "delete", "restore", "move"}[random.IntN(8)]
			var err error
			switch action {
			case "merge":
				_, err = s.service.Moderation.Merge(t.Context(), mod, thread, other, "")
			case "split":
				var newThread int64
				newThread, err = s.service.Moderation.Split(t.Context(), mod, thread, moderation.Split{Posts: chosen, Title: "Split off", Forum: s.forum([]string{"public", "members"}[random.IntN(2)])})
				if err == nil {
					threads = append(threads, newThread)
				}
			case "post":
				err = s.service.Moderation.MovePosts(t.Context(), mod, thread, other, chosen)
			case "delete":
				_, err = s.service.Posts.Delete(t.Context(), mod, thread, chosen[0], nil)
			case "restore":
				_, err = s.service.Posts.Restore(t.Context(), mod, chosen[0])
			case "move":
				forum := s.forum("members")
				err = s.service.Posts.Change(t.Context(), mod, thread, posts.ThreadChange{Forum: &forum})
			}
			if _, ok := apierror.From(err); err != nil && !ok {
				t.Fatalf("%s: %v", action, err)
			}
			if err == nil {
				done[action]++
			}
			if s.counted(); t.Failed() {
				t.Fatalf("after %s of %d", action, thread)
			}
		}
		if len(done) != 7-1 {
			t.Errorf("only these were done: %v", done)
		}
		if n := s.number("SELECT count(*) FROM board_threads t JOIN board_posts p ON p.thread_id = t.id AND p.number = 1 WHERE p.id <> t.first_post_id OR p.id <> (SELECT min(id) FROM board_posts WHERE thread_id = t.id)"); n != 0 {
			t.Errorf("%d threads do not begin with their first post", n)
		}
	})
}

// TestBulkActions checks that an action is applied to each of several posts, and that what is refused does not keep the
// others from being done.
func TestBulkActions(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		mod := s.actor("mod")
		thread, ids := s.started("public", "Spam thread", 3)
		list := func(q moderation.Query) (ids []int64) {
			q.Limit = 100
			items, _, err := s.service.Moderation.Find(t.Context(), mod, q)
			must(t, err)
			for _, item := range items {
				ids = append(ids, item.Post.ID)
			}
			return ids
		}
		newest := []int64{ids[3], ids[2], ids[1]}
		start := kernel.MomentOf(s.clock.now().Add(-time.Second))
		for name, got := range map[string][]int64{
			"by member": list(moderation.Query{Member: "Bob", From: start}),
			"by words":  list(moderation.Query{Words: "spam reply", Member: "bob"}),
			"by forum":  list(moderation.Query{Forum: s.forum("public"), From: start, Member: "bob"}),
		} {
			if !slices.Equal(got, newest) {
				t.Errorf("%s: %v, want %v", name, got, newest)
			}
		}
		if got := list(moderation.Query{Starts: true, From: start}); !slices.Equal(got, ids[:1]) {
			t.Errorf("threads: %v", got)
		}
		if got := list(moderation.Query{Member: "bob", To: start, From: start.Add(-time.Second)}); len(got) != 0 {
			t.Errorf("before: %v", got)
		}
		_, _, err := s.service.Moderation.Find(t.Context(), s.actor("bob"), moderation.Query{Limit: 10})
		refused(t, "the list of a member", err, http.StatusForbidden, "no_permission")

		out, err := s.service.Moderation.Apply(t.Context(), mod, moderation.Bulk{Posts: append(newest, s.postOf("public deleted")), Do: moderation.Delete})
		if err != nil || out.Done != 3 || len(out.Refused) != 1 {
			t.Errorf("deleted %+v: %v", out, err)
		}
		held := s.postOf("public held")
		out, err = s.service.Moderation.Apply(t.Context(), mod, moderation.Bulk{Posts: []int64{held}, Do: moderation.Approve, Seen: map[int64]string{held: "of another text"}})
		if err != nil || out.Done != 0 || len(out.Refused) != 1 {
			t.Errorf("approved although it has changed: %+v: %v", out, err)
		}
		out, err = s.service.Moderation.Apply(t.Context(), mod, moderation.Bulk{Posts: append(newest, held), Do: moderation.Approve})
		if err != nil || out.Done != 1 || len(out.Refused) != 3 {
			t.Errorf("approved %+v: %v", out, err)
		}
		out, err = s.service.Moderation.Apply(t.Context(), mod, moderation.Bulk{Posts: append(newest, ids[0]), Do: moderation.Lock})
		if err != nil || out.Done != 1 || s.number("SELECT is_locked FROM board_threads WHERE id = ?", thread) != 1 {
			t.Errorf("locked %+v: %v", out, err)
		}
		out, err = s.service.Moderation.Apply(t.Context(), mod, moderation.Bulk{Posts: ids, Do: moderation.Move, Forum: s.forum("members")})
		if err != nil || out.Done != 1 || s.number("SELECT forum_id FROM board_threads WHERE id = ?", thread) != s.forum("members") {
			t.Errorf("moved %+v: %v", out, err)
		}
		out, err = s.service.Moderation.Apply(t.Context(), s.actor("bob"), moderation.Bulk{Posts: ids[:1], Do: moderation.Delete})
		if err != nil || out.Done != 0 || len(out.Refused) != 1 {
			t.Errorf("by a member: %+v: %v", out, err)
		}
		_, err = s.service.Moderation.Apply(t.Context(), mod, moderation.Bulk{Posts: make([]int64, 0), Do: moderation.Delete})
		refused(t, "nothing", err, http.StatusUnprocessableEntity, "required")
		s.exact()
	})
}
