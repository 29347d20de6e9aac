package board

import (
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestTitleHeld checks that a title is held for the same reasons as a post.
func TestTitleHeld(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := editable(newSite(t, db, kernel.Options{NoFlood: true}))
		s.exec("INSERT INTO board_word_filters (pattern, replacement, action) VALUES ('casino', '', 'hold'), ('darn', '', 'replace'), ('grow', '" + strings.Repeat("x", 100) + "', 'replace')")
		start := func(user, title string) (thread string) {
			t.Helper()
			created := data[api.Created](s.do(user, "POST", path("/forums/%d/threads", s.forum("public")), `{"title":"`+title+`","message":"About `+title+path(" %d", s.number("SELECT count(*) FROM board_posts"))+`"}`).want(201))
			return path("/threads/%d", created.ID)
		}
		title := func(user, thread, title string) *answer {
			t.Helper()
			return s.do(user, "PATCH", thread, path(`{"title":%q}`, title))
		}
		for _, test := range []struct {
			as, title string
			prepare   string // SQL
			held      bool
		}{
			{"alice", "A fine title", "", false},
			{"alice", "The best CASINO", "", true},
			{"mod", "A casino of moderators", "", false},
			{"newbie", "To be looked at", path("UPDATE board_groups SET restrict_mask = %d WHERE kind = 'registered'", int64(rights.EditNeedsApproval)), true},
			{"newbie", "Before", path("UPDATE board_groups SET restrict_mask = 0"), false},
			{"bob", "Of a moderated one", "UPDATE board_users SET moderated = 1 WHERE username = 'bob'", true},
		} {
			thread := start(test.as, "Title of "+test.as)
			if strings.Contains(test.prepare, "UPDATE") {
				s.exec(test.prepare)
			}
			title(test.as, thread, test.title).want(200)
			status := 200
			if test.held {
				status = 404
			}
			s.do("", "GET", thread, "").want(status)
			if n := s.number("SELECT count(*) FROM board_post_ids WHERE held_reason = 'edit' AND thread_id = ?", s.threadOf(test.title)); n != int64(kernel.Bool(test.held)) {
				t.Errorf("%s by %s: %d held", test.title, test.as, n)
			}
			s.exact()
		}

		// The title with the replaced words must be valid, too.
		thread := start("alice", "Plain title")
		title("alice", thread, "darn").want(422, "validation_failed", "too_short")
		title("alice", thread, "grow and grow").want(422, "validation_failed", "too_long")
		title("alice", thread, "darn Plain darn").want(200)

		// A change by somebody else is logged with the previous title.
		title("mod", thread, "Better title").want(200)
		log, _, err := s.service.Admin.Log(t.Context(), s.actor("mod"), admin.LogQuery{Action: "thread.edit", Limit: 1})
		if err != nil || len(log) != 1 || log[0].Detail != "was: Plain" {
			t.Errorf("%+v %v", log, err)
		}

		title("alice", thread, "While open").want(200)
		s.exec("UPDATE board_forums SET is_open = ? WHERE slug = 'public'", 0)
		title("alice", thread, "While closed").want(403, "forbidden", "no_permission")
		title("mod", thread, "While closed").want(200)
	})
}

// TestTitleFlood checks that changes of titles count for the flood control of edits, but not if the title stays the
// same.
func TestTitleFlood(t *testing.T) {
	t.Parallel()
	s := editable(newSite(t, databases.SQLite(t), kernel.Options{}))
	thread := path("/threads/%d", s.threadOf("Public thread"))
	for i := range 10 {
		s.do("alice", "PATCH", thread, path(`{"title":"Title %d"}`, i)).want(200)
	}
	s.do("alice", "PATCH", thread, `{"title":"Title 9"}`).want(200)
	s.do("alice", "PATCH", thread, `{"title":"One too many"}`).want(429)
}

// TestFilteredText checks that a text must pass the rules again after the word filter has changed it.
func TestFilteredText(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := editable(newSite(t, db, kernel.Options{NoFlood: true}))
		s.exec("INSERT INTO board_word_filters (pattern, replacement, action) VALUES ('darn', '', 'replace'), ('grow', '" + strings.Repeat("x", 100) + "', 'replace'), ('two', 'not one', 'replace')")
		long := strings.Repeat("grow ", 400)
		for _, test := range []struct{ forum, title, message, reason string }{
			{"public", "darn", "A message", "too_short"},
			{"public", "grow grow", "A message", "too_long"},
			{"public", "A title", "darn darn", "too_short"},
			{"public", "A title", long, "too_long"},
			{"wordy", "A title", "one darn word", "too_few_words"},
			{"wordy", "A title", "two is not but five", "too_many_words"},
		} {
			s.do("alice", "POST", path("/forums/%d/threads", s.forum(test.forum)), path(`{"title":%q,"message":%q}`, test.title, test.message)).want(422, "validation_failed", test.reason)
		}
		list := path("/threads/%d/posts", s.threadOf("Public thread"))
		s.do("alice", "POST", list, `{"message":"darn darn"}`).want(422, "validation_failed", "too_short")
		first := path("%s/%d", list, s.postOf("public first"))
		s.do("alice", "PATCH", first, `{"message":"darn darn"}`).want(422, "validation_failed", "too_short")
		s.do("alice", "PATCH", first, path(`{"message":%q}`, long)).want(422, "validation_failed", "too_long")
		s.do("alice", "PATCH", first, `{"message":"darn *fine* darn"}`).want(200)
		if p := data[content.PostInfo](s.do("", "GET", first, "").want(200)); p.Message != "*fine*" || p.MessageHTML != "<p><em>fine</em></p>\n" {
			t.Errorf("%+v", p)
		}
		refused(t, "a title that grows", s.service.Accounts.SetProfile(t.Context(), s.actor("alice"), accounts.Profile{Title: "grow", Bio: "Hello"}), 422, "too_long")
		refused(t, "a text that grows", s.service.Accounts.SetProfile(t.Context(), s.actor("alice"), accounts.Profile{Title: "Hello", Bio: long}), 422, "too_long")
		must(t, s.service.Accounts.SetProfile(t.Context(), s.actor("alice"), accounts.Profile{Title: "darn good", Bio: "grow"}))
		if n := s.number("SELECT count(*) FROM board_users WHERE title = 'good' AND length(bio) = 100"); n != 1 {
			t.Error("the profile is not filtered")
		}
	})
}

// TestEditedLinks checks that a post of a new member is also held if an edit brings the links.
func TestEditedLinks(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := editable(newSite(t, db, kernel.Options{NoFlood: true}))
		for _, test := range []struct {
			as     string
			status int
		}{{"newbie", 404}, {"alice", 200}} {
			post := data[api.Replied](s.do(test.as, "POST", path("/threads/%d/posts", s.threadOf("Public thread")), `{"message":"Hello to all"}`).want(201))
			target := path("/threads/%d/posts/%d", post.ThreadID, post.ID)
			s.do(test.as, "PATCH", target, `{"message":"http://a.b http://c.d"}`).want(200)
			s.do("", "GET", target, "").want(200)
			s.do(test.as, "PATCH", target, `{"message":"http://a.b http://c.d http://e.f"}`).want(200)
			s.do("", "GET", target, "").want(test.status)
			s.exact()
		}
	})
}

// TestSubscribeByPosting checks that a member who may not subscribe in a forum does not subscribe by posting there.
func TestSubscribeByPosting(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		post := func() (subscribed int64) {
			t.Helper()
			created := data[api.Created](s.do("alice", "POST", path("/forums/%d/threads", s.forum("public")), `{"title":"A title","message":"A message","subscribe":true}`).want(201))
			s.do("alice", "POST", path("/threads/%d/posts", s.threadOf("Public thread")), path(`{"message":"Answer %d","subscribe":true}`, created.ID)).want(201)
			return s.number("SELECT count(*) FROM board_subscriptions WHERE user_id = ?", s.user("alice"))
		}
		s.exec("INSERT INTO board_forum_overrides (forum_id, group_id, set_mask, clear_mask) VALUES (?, ?, 0, ?)", s.forum("public"), s.group("registered"), int64(rights.ForumSubscribe))
		if n := post(); n != 0 {
			t.Errorf("%d subscriptions without the right", n)
		}
		s.exec("DELETE FROM board_forum_overrides WHERE forum_id = ?", s.forum("public"))
		if n := post(); n != 2 {
			t.Errorf("%d subscriptions with the right", n)
		}
	})
}

// TestNotifiedOnce checks that followers are notified of a post once, when they can first see it.
func TestNotifiedOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := editable(newSite(t, db, kernel.Options{NoFlood: true}))
		s.exec("INSERT INTO board_word_filters (pattern, replacement, action) VALUES ('casino', '', 'hold')")
		s.exec("UPDATE board_users SET email_confirmed = 1, email = username || '@example.com'")
		wantNotified := func(user string, post, want int64) {
			t.Helper()
			if n := s.number("SELECT count(*) FROM board_notifications n JOIN board_users u ON u.id = n.user_id WHERE u.username = ? AND n.post_id = ?", user, post); n != want {
				t.Errorf("%s is notified %d times of post %d, want %d", user, n, post, want)
			}
		}
		approve := func(post int64) {
			t.Helper()
			s.do("mod", "POST", path("/moderation/queue/%d/approve", post), "").want(200)
		}
		follow := func(user string, thread int64) {
			t.Helper()
			s.do(user, "PUT", path("/threads/%d/subscription", thread), `{"mode":"instant"}`).want(200)
		}
		reply := func(user string, thread int64, message string) int64 {
			t.Helper()
			return data[api.Replied](s.do(user, "POST", path("/threads/%d/posts", thread), `{"message":"`+message+`"}`).want(201)).ID
		}
		// An edit held the post.
		thread := s.threadOf("Public thread")
		follow("bob", thread)
		post := reply("alice", thread, "As all see")
		wantNotified("bob", post, 1)
		s.do("alice", "PATCH", path("/threads/%d/posts/%d", thread, post), `{"message":"Now a casino"}`).want(200)
		approve(post)
		wantNotified("bob", post, 1)
		held := reply("alice", thread, "First a casino")
		wantNotified("bob", held, 0)
		approve(held)
		wantNotified("bob", held, 1)

		// An edit held the thread. Followers who can see it are notified of a reply at once, the others when the thread
		// is visible again.
		s.clock.advance(following.InstantDelay)
		follow("mod", thread)
		follow("alice", thread)
		s.mails()
		first := s.postOf("public first")
		s.do("alice", "PATCH", path("/threads/%d/posts/%d", thread, first), `{"message":"A thread of casino"}`).want(200)
		inside := reply("mod", thread, "Inside the held thread")
		second := reply("alice", thread, "Another inside")
		wantNotified("alice", inside, 1)
		wantNotified("bob", inside, 0)
		wantNotified("mod", inside, 0)
		wantNotified("mod", second, 1)
		s.clock.advance(following.InstantDelay)
		if list := s.mails(); len(list) != 1 || list["mod instant"] == nil { // alice has read it, because she has replied
			t.Errorf("%+v", list)
		}
		approve(first)
		for user, want := range map[string][]int64{"alice": {0, 1, 0}, "bob": {0, 1, 1}, "mod": {0, 0, 1}} {
			for i, p := range []int64{first, inside, second} {
				wantNotified(user, p, want[i])
			}
		}
		wantNotified("bob", post, 1)
		wantNotified("mod", post, 0) // posted before mod followed the thread
		s.clock.advance(following.InstantDelay)
		if list := s.mails(); len(list) != 1 || list["bob instant"] == nil || list["bob instant"].Threads[0].Count != 2 {
			t.Errorf("%+v", list)
		}

		// The thread was held from the beginning.
		must(t, s.service.Following.SubscribeForum(t.Context(), s.actor("bob"), s.forum("held"), "instant"))
		created := data[api.Created](s.do("alice", "POST", path("/forums/%d/threads", s.forum("held")), `{"title":"Held","message":"Held message"}`).want(201))
		wantNotified("bob", created.PostID, 0)
		approve(created.PostID)
		wantNotified("bob", created.PostID, 1)
		s.exact()
	})
}
