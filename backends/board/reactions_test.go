package board

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/moderation"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/reactions"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	like   = "👍 Like"
	thanks = "🙏 Thanks"
)

// given returns how many have given a reaction to a post, as a reader of its thread sees it, and whether the reader
// has.
func (s *site) given(user string, post int64, kind string) (n int64, own bool) {
	s.t.Helper()
	list := s.view(user, post).Reactions
	if i := slices.IndexFunc(list, func(c reactions.Count) bool { return c.Kind == kind }); i >= 0 {
		return list[i].N, list[i].Own
	}
	return -1, false
}

// view returns a post of a thread of a single page as a reader of the thread sees it.
func (s *site) view(user string, post int64) posts.PostView {
	s.t.Helper()
	page := s.reading(user, s.number("SELECT thread_id FROM board_post_ids WHERE id = ?", post))
	i := slices.IndexFunc(page.Posts, func(p posts.PostView) bool { return p.ID == post })
	if i < 0 {
		s.t.Fatalf("%s does not see post %d", user, post)
	}
	return page.Posts[i]
}

// reading returns the first page of a thread.
func (s *site) reading(user string, thread int64) *posts.Reading {
	s.t.Helper()
	a, err := s.service.Rights.Guest(s.t.Context())
	must(s.t, err)
	if user != "" {
		a = s.actor(user)
	}
	page, err := s.service.Posts.ReadThread(s.t.Context(), a, thread, 0, 100)
	must(s.t, err)
	return page
}

// reacted fails the test if the numbers of reactions differ from a recount.
func (s *site) reacted() {
	s.t.Helper()
	for _, query := range []string{
		`SELECT count(*) FROM board_reaction_counts n WHERE n.n <> (SELECT count(*) FROM board_reactions r WHERE r.post_id = n.post_id AND r.kind = n.kind)`,
		`SELECT count(*) FROM board_reactions r WHERE NOT EXISTS (SELECT 1 FROM board_reaction_counts n WHERE n.post_id = r.post_id AND n.kind = r.kind)`,
	} {
		if n := s.number(query); n != 0 {
			s.t.Errorf("%d numbers of reactions are wrong: %s", n, query)
		}
	}
}

// notices returns the notifications of a member, newest first, and how many of them count as unread.
func (s *site) notices(name string) ([]following.Notification, int) {
	s.t.Helper()
	list, _, err := s.service.Following.Notifications(s.t.Context(), s.actor(name), 0, 100)
	must(s.t, err)
	unseen, err := s.service.Following.Unseen(s.t.Context(), s.actor(name))
	must(s.t, err)
	return list, unseen
}

// TestReactions gives, changes and takes back reactions, and checks who may do so, the numbers of reactions, and the
// notifications.
func TestReactions(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx := t.Context()
		react := func(user string, post int64, kind string) error {
			return s.service.Reactions.React(ctx, s.actor(user), post, kind)
		}
		thread, ids := s.started("members", "Liked thread", 1)
		first, reply := ids[0], ids[1]
		if v := s.view("bob", first); !v.React || len(v.Reactions) != 4 || v.Reactions[0] != (reactions.Count{Kind: like}) {
			t.Errorf("bob sees %+v", v)
		}

		guest, err := s.service.Rights.Guest(ctx)
		must(t, err)
		refused(t, "a guest who does not see the forum", s.service.Reactions.React(ctx, guest, first, like), 404, "")
		public := s.postOf("locked first")
		refused(t, "a guest who sees it", s.service.Reactions.React(ctx, guest, public, like), 404, "")
		must(t, react("bob", public, like)) // also where nobody may reply
		if v := s.view("", public); v.React {
			t.Error("a guest may react")
		}
		refused(t, "in a forum that is not seen", react("bob", s.postOf("staff first"), like), 404, "")
		refused(t, "to a held post that is not seen", react("alice", s.postOf("heldthread first"), like), 404, "")
		refused(t, "to a held post", react("mod", s.postOf("heldthread first"), like), 403, "not_visible")
		refused(t, "to nothing", react("bob", 1<<40, like), 404, "")
		refused(t, "to one's own post", react("alice", first, like), 403, "own")
		refused(t, "by another word", react("bob", first, "👎 Dislike"), 422, "unknown")
		s.exec("UPDATE board_users SET suspended_until = ? WHERE username = 'newbie'", s.clock.now().Add(time.Hour).UnixMicro())
		refused(t, "by one who is suspended", react("newbie", first, like), 403, "suspended")

		must(t, react("bob", first, like))
		must(t, react("bob", first, like)) // has no effect
		if n, own := s.given("bob", first, like); n != 1 || !own {
			t.Errorf("%d like it, bob %t", n, own)
		}
		if list, unseen := s.notices("alice"); len(list) != 2 || unseen != 2 || list[1].Actor != "bob" || list[0].Kind != following.KindReaction || list[0].Count != 1 {
			t.Errorf("alice is notified of %+v, %d unread", list, unseen) // the other one is of the locked thread
		}
		must(t, react("mod", first, thanks))
		must(t, react("admin", first, like))
		must(t, react("mod", first, like))
		if n, own := s.given("alice", first, like); n != 3 || own {
			t.Errorf("%d like it, alice %t", n, own)
		}
		if n, _ := s.given("alice", first, thanks); n != 0 {
			t.Errorf("%d give thanks", n)
		}
		if list, unseen := s.notices("alice"); len(list) != 2 || unseen != 2 || list[0].Post != first || list[0].Count != 3 {
			t.Errorf("alice is notified of %+v, %d unread", list, unseen)
		}
		if n := s.number("SELECT count(*) FROM board_mails"); n != 0 {
			t.Errorf("%d mails about reactions", n)
		}
		s.reacted()

		// The members who have reacted are listed page by page.
		var entries []string
		for after := int64(0); ; {
			list, next, err := s.service.Reactions.Who(ctx, s.actor("alice"), first, after, 2)
			must(t, err)
			for _, r := range list {
				entries = append(entries, r.Name+" "+r.Kind)
			}
			if after = next; after == 0 {
				break
			}
		}
		if want := []string{"admin " + like, "mod " + like, "bob " + like}; !slices.Equal(entries, want) {
			t.Errorf("%q reacted, want %q", entries, want)
		}
		_, _, err = s.service.Reactions.Who(ctx, guest, first, 0, 2)
		refused(t, "who reacted, for a guest", err, 404, "")

		// The author has read the notification, and the next reaction notifies again. When the last reaction is taken
		// back, the notification is deleted.
		must(t, s.service.Following.MarkRead(ctx, s.actor("alice"), thread, reply))
		must(t, react("bob", first, ""))
		must(t, react("bob", first, thanks))
		if list, unseen := s.notices("alice"); len(list) != 3 || unseen != 2 || list[0].Read != 0 || list[0].Count != 3 {
			t.Errorf("alice is notified of %+v, %d unread", list, unseen)
		}
		for _, name := range []string{"bob", "mod", "admin"} {
			must(t, react(name, first, ""))
		}
		if _, unseen := s.notices("alice"); unseen != 1 {
			t.Errorf("%d unread after everything is taken back, want the one of the locked thread", unseen)
		}
		s.reacted()

		// A member who wants no notifications, or ignores the member who reacts, gets none.
		must(t, s.service.Following.Ignore(ctx, s.actor("alice"), s.user("mod")))
		must(t, react("mod", first, like))
		must(t, s.service.Following.SetNotices(ctx, s.actor("alice"), false))
		must(t, react("bob", first, like))
		if _, unseen := s.notices("alice"); unseen != 1 {
			t.Errorf("%d unread that alice does not want", unseen)
		}

		// A reaction that is no longer offered stays, and can only be taken back.
		must(t, s.service.Admin.ChangeSettings(ctx, s.actor("admin"), map[string]string{"reactions": thanks}, nil))
		if n, _ := s.given("bob", first, like); n != 2 {
			t.Errorf("%d like it", n)
		}
		refused(t, "what is no longer offered", react("admin", first, like), 422, "unknown")
		must(t, react("bob", first, ""))
		refused(t, "nine reactions", s.service.Admin.ChangeSettings(ctx, s.actor("admin"), map[string]string{"reactions": "a\nb\nc\nd\ne\nf\ng\nh\ni"}, nil), 422, "length")
		must(t, s.service.Admin.ChangeSettings(ctx, s.actor("admin"), map[string]string{"reactions": ""}, nil))
		if v := s.view("bob", reply); len(v.Reactions) != 0 {
			t.Errorf("a board without reactions offers %+v", v.Reactions)
		}
		s.reacted()
	})
}

// TestReactionsInParallel lets many members react to a post at the same time, each several times.
func TestReactionsInParallel(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		_, ids := s.started("public", "Busy thread", 0)
		var all sync.WaitGroup
		for _, name := range []string{"bob", "mod", "admin", "watched"} {
			a := s.actor(name)
			for _, kind := range []string{like, thanks, "", like} {
				all.Go(func() {
					if err := s.service.Reactions.React(t.Context(), a, ids[0], kind); err != nil {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		s.reacted()
	})
}

// TestAnswers marks replies as the answers of threads and takes that back. It checks who may do so, and what the lists,
// the log and the author of the reply get to know of it.
func TestAnswers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx := t.Context()
		mark := func(user string, post int64, marked bool) error {
			return s.service.Posts.SetAnswer(ctx, s.actor(user), post, marked)
		}
		solved := func(thread int64) bool {
			t.Helper()
			list, _, err := s.service.Posts.Threads(ctx, s.actor("bob"), s.forum("public"), "", 100)
			must(t, err)
			for _, info := range list {
				if info.ID == thread {
					return info.Solved
				}
			}
			t.Fatalf("thread %d is not in the list", thread)
			return false
		}
		thread, ids := s.started("public", "A question", 3)
		refused(t, "where it is off", mark("alice", ids[1], true), 403, "no_answers")
		row, err := s.service.Admin.ForumByID(ctx, s.actor("admin"), s.forum("public"))
		must(t, err)
		row.Answers = true
		must(t, s.service.Admin.EditForum(ctx, s.actor("admin"), row.ID, row.ForumSpec, nil))

		refused(t, "the question itself", mark("alice", ids[0], true), 403, "not_a_reply")
		refused(t, "by another member", mark("bob", ids[1], true), 403, "no_permission")
		refused(t, "where it is not seen", mark("bob", s.postOf("staff first"), true), 404, "")
		must(t, mark("alice", ids[1], true))
		must(t, mark("alice", ids[2], true)) // instead
		page := s.reading("", thread)
		if page.Answer == nil || page.Answer.ID != ids[2] || page.Posts[1].IsAnswer || !page.Posts[2].IsAnswer || !page.Thread.Solved || !solved(thread) {
			t.Errorf("the page is %+v", page)
		}
		if v := s.view("bob", ids[2]); v.Answers {
			t.Error("bob may choose the answer")
		}
		if list, unseen := s.notices("bob"); len(list) != 2 || unseen != 2 || list[0].Kind != following.KindAnswer || list[0].Actor != "alice" {
			t.Errorf("bob is notified of %+v, %d unread", list, unseen)
		}
		if e := s.lastLog(); e.Action == "thread.answer" {
			t.Errorf("the author is in the log: %+v", e)
		}
		must(t, mark("mod", ids[2], false))
		if e := s.lastLog(); e.Action != "thread.answer" || e.ActorName != "mod" || e.Post != ids[2] || e.Detail != "taken back" {
			t.Errorf("the log has %+v", e)
		}
		if _, unseen := s.notices("bob"); unseen != 1 || solved(thread) {
			t.Errorf("%d unread after the answer was taken back", unseen)
		}
		must(t, mark("alice", ids[2], false)) // it is no longer the answer

		// A deleted reply is no longer the answer, even after it is restored. A held reply is not shown as the answer.
		must(t, mark("mod", ids[3], true))
		s.do("mod", "DELETE", path("/threads/%d/posts/%d", thread, ids[3]), "").want(200)
		s.do("mod", "POST", path("/posts/%d/restore", ids[3]), "").want(200)
		if solved(thread) {
			t.Error("a deleted reply is the answer")
		}
		must(t, mark("mod", ids[3], true))
		s.exec("UPDATE board_posts SET visibility = 1 WHERE id = ?", ids[3])
		if page := s.reading("alice", thread); page.Answer != nil {
			t.Errorf("a held answer is shown: %+v", page.Answer)
		}
		s.exec("UPDATE board_posts SET visibility = 0 WHERE id = ?", ids[3])

		// The answer of a locked thread can be changed.
		s.exec("UPDATE board_threads SET is_locked = 1 WHERE id = ?", thread)
		must(t, mark("alice", ids[3], false))
		must(t, mark("mod", ids[3], true))
		row.ForumSpec.Answers = false
		must(t, s.service.Admin.EditForum(ctx, s.actor("admin"), row.ID, row.ForumSpec, nil))
		if page := s.reading("alice", thread); page.Answer != nil || page.Thread.Solved || page.Posts[3].IsAnswer {
			t.Errorf("the forum has no answers, and the page is %+v", page)
		}
	})
}

// TestReactionsMove checks that reactions, bookmarks and notifications stay with posts that are moved, deleted,
// archived and restored, and that a thread loses its answer when the answer leaves it.
func TestReactionsMove(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx, mod := t.Context(), s.actor("mod")
		s.exec("UPDATE board_forums SET answers = 1")
		target, first := s.started("public", "Kept thread", 2)
		other, second := s.started("members", "Other thread", 3)
		moved := slices.Concat(second, first[1:])
		for _, id := range moved {
			must(t, s.service.Reactions.React(ctx, mod, id, like))
			must(t, s.service.Reactions.Bookmark(ctx, s.actor("newbie"), id, "for later"))
		}
		stays := func(label string) {
			t.Helper()
			s.reacted()
			for _, id := range moved {
				if v := s.view("newbie", id); !v.Bookmarked || v.Reactions[0] != (reactions.Count{Kind: like, N: 1}) {
					t.Errorf("%s: post %d has %+v", label, id, v)
				}
			}
			for _, name := range []string{"alice", "bob"} { // the authors, of whom bob follows nothing
				list, _, err := s.service.Following.Notifications(ctx, s.actor(name), 0, 50)
				must(t, err)
				for _, n := range list {
					if thread := s.number("SELECT thread_id FROM board_post_ids WHERE id = ?", n.Post); n.Thread != thread {
						t.Errorf("%s: a notification of %s leads to thread %d, want %d", label, name, n.Thread, thread)
					}
				}
			}
		}
		answer := func(thread int64) int64 { return s.number("SELECT answer_id FROM board_threads WHERE id = ?", thread) }
		must(t, s.service.Posts.SetAnswer(ctx, mod, first[1], true))
		must(t, s.service.Posts.SetAnswer(ctx, mod, second[1], true))

		newThread, err := s.service.Moderation.Split(ctx, mod, other, moderation.Split{Posts: []int64{second[1], second[2]}, Title: "Split off", Forum: s.forum("members")})
		must(t, err)
		if answer(other) != 0 || answer(newThread) != 0 {
			t.Errorf("the answer was split off, and the threads have %d and %d", answer(other), answer(newThread))
		}
		stays("after a split")
		must(t, s.service.Moderation.MovePosts(ctx, mod, other, target, []int64{second[3]}))
		if answer(target) != first[1] {
			t.Errorf("a post came to a thread, which has the answer %d, want %d", answer(target), first[1])
		}
		stays("after a move")
		must(t, s.service.Posts.SetAnswer(ctx, mod, second[2], true))
		_, err = s.service.Moderation.Merge(ctx, mod, target, newThread, "")
		must(t, err)
		if answer(target) != first[1] || answer(newThread) != 0 {
			t.Errorf("merged, and the threads have %d and %d", answer(target), answer(newThread))
		}
		stays("after a merge")

		s.do("mod", "DELETE", path("/threads/%d/posts/%d", target, second[2]), "").want(200)
		list, next, err := s.service.Reactions.Bookmarks(ctx, s.actor("newbie"), 0, 100)
		must(t, err)
		if len(list) != len(moved)-1 || next != 0 {
			t.Errorf("%d bookmarks, want all but that of a deleted post", len(list))
		}
		archived := "INSERT INTO board_posts_archive SELECT * FROM board_posts WHERE id = ?"
		for _, statement := range []string{archived, "DELETE FROM board_posts WHERE id = ?", "UPDATE board_post_ids SET visibility = 3 WHERE id = ?"} {
			s.exec(statement, second[2])
		}
		s.do("mod", "POST", path("/posts/%d/restore", second[2]), "").want(200)
		stays("after the archive")

		must(t, s.service.Admin.DeleteMember(ctx, s.actor("admin"), s.user("mod")))
		must(t, s.service.Admin.DeleteMember(ctx, s.actor("admin"), s.user("newbie")))
		s.reacted()
		for _, table := range []string{"board_reactions", "board_bookmarks"} {
			if n := s.number("SELECT count(*) FROM " + table); n != 0 {
				t.Errorf("%s: %d rows are left of deleted members", table, n)
			}
		}
		if n, _ := s.given("bob", second[0], like); n != 0 {
			t.Errorf("%d like it", n)
		}
		if list, _ := s.notices("alice"); len(list) == 0 || list[0].Count != 0 {
			t.Errorf("alice is notified of %+v", list)
		}
	})
}

// TestIgnoring checks that the posts of an ignored member are collapsed, and that nothing that the member does is
// notified or mailed.
func TestIgnoring(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx, all, alice := t.Context(), s.service.Following, s.actor("alice")
		s.exec("UPDATE board_users SET email = 'alice@example.com', email_confirmed = 1 WHERE username = 'alice'")
		thread, ids := s.started("public", "Alice asks", 1)
		must(t, all.Subscribe(ctx, alice, thread, "instant"))
		must(t, all.SubscribeForum(ctx, alice, s.forum("public"), "instant"))
		must(t, all.Ignore(ctx, alice, s.user("bob")))
		if v := s.view("alice", ids[1]); !v.Ignored {
			t.Error("bob's post is not collapsed")
		}
		for _, name := range []string{"", "bob", "mod"} {
			if v := s.view(name, ids[1]); v.Ignored {
				t.Errorf("bob's post is collapsed for %q", name)
			}
		}
		s.do("bob", "POST", path("/threads/%d/posts", thread), `{"message":"ignored reply"}`).want(201)
		s.do("bob", "POST", path("/forums/%d/threads", s.forum("public")), `{"title":"Ignored thread","message":"ignored thread"}`).want(201)
		if list, unseen := s.notices("alice"); len(list) != 0 || unseen != 0 || s.number("SELECT count(*) FROM board_mails") != 0 {
			t.Errorf("alice is notified of %+v", list)
		}
		s.do("mod", "POST", path("/threads/%d/posts", thread), `{"message":"another reply"}`).want(201)
		if list, _ := s.notices("alice"); len(list) != 1 || list[0].Actor != "mod" || s.number("SELECT count(*) FROM board_mails") != 1 {
			t.Errorf("alice is notified of %+v", list)
		}
		s.do("bob", "POST", path("/threads/%d/posts", thread), `{"message":"ignored in between"}`).want(201)
		s.do("mod", "POST", path("/threads/%d/posts", thread), `{"message":"the last reply"}`).want(201)
		s.clock.advance(following.InstantDelay)
		if m := s.mails()["alice instant"]; m == nil || len(m.Threads) != 1 || m.Threads[0].Count != 2 || m.Threads[0].Posts[1].Author != "mod" {
			t.Errorf("alice is mailed %+v", m)
		}
		must(t, all.Unignore(ctx, alice, s.user("bob")))
		s.do("bob", "POST", path("/threads/%d/posts", thread), `{"message":"heard again"}`).want(201)
		if list, _ := s.notices("alice"); len(list) != 3 || list[0].Actor != "bob" || s.view("alice", ids[1]).Ignored {
			t.Errorf("alice is notified of %+v", list)
		}
	})
}

// TestBookmarks saves, lists, changes and removes bookmarks.
func TestBookmarks(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx, all, bob := t.Context(), s.service.Reactions, s.actor("bob")
		_, ids := s.started("public", "Bookmarked thread", 4)
		refused(t, "a post that is not seen", all.Bookmark(ctx, bob, s.postOf("staff first"), ""), 404, "")
		refused(t, "a long note", all.Bookmark(ctx, bob, ids[0], string(make([]byte, reactions.MaxNote+1))), 422, "length")
		refused(t, "a note of two lines", all.Bookmark(ctx, bob, ids[0], "two\nlines"), 422, "length")
		for i, id := range ids {
			must(t, all.Bookmark(ctx, bob, id, path("note %d", i)))
		}
		must(t, all.Bookmark(ctx, bob, ids[0], "  another note "))
		if note, found, err := all.BookmarkOf(ctx, bob, ids[0]); err != nil || !found || note != "another note" {
			t.Errorf("the bookmark is %q, %t, %v", note, found, err)
		}
		if _, found, err := all.BookmarkOf(ctx, s.actor("alice"), ids[0]); err != nil || found {
			t.Errorf("alice has the bookmark of bob: %v", err)
		}
		must(t, all.Unbookmark(ctx, bob, ids[3]))
		s.exec("UPDATE board_posts SET visibility = 2 WHERE id = ?", ids[1])
		var notes []string
		for before := int64(0); ; {
			list, next, err := all.Bookmarks(ctx, bob, before, 2)
			must(t, err)
			for _, b := range list {
				notes = append(notes, b.Note)
			}
			if before = next; before == 0 {
				break
			}
		}
		if want := []string{"note 4", "note 2", "another note"}; !slices.Equal(notes, want) {
			t.Errorf("bob's bookmarks are %q, want %q", notes, want)
		}
		s.exec("INSERT INTO board_bookmarks (user_id, post_id, note, created_at) SELECT ?, 1000000 + a.n * 1000 + b.n, '', 1"+
			" FROM (WITH RECURSIVE c (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n < 4) SELECT n FROM c) a,"+
			" (WITH RECURSIVE c (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n < 999) SELECT n FROM c) b", s.user("alice"))
		refused(t, "one too many", all.Bookmark(ctx, s.actor("alice"), ids[0], ""), 409, "")
	})
}
