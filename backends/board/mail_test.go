package board

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/mails"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// mails claims and ends all mailings that are due, and returns them by the name of the member and the mode.
func (s *site) mails() map[string]*mails.Mailing {
	s.t.Helper()
	due, err := s.service.Mails.DueMail(s.t.Context(), 100)
	if err != nil {
		s.t.Fatal(err)
	}
	list := make(map[string]*mails.Mailing)
	for _, recipient := range due {
		m, err := s.service.Mails.ClaimMail(s.t.Context(), recipient)
		if err != nil || m == nil {
			s.t.Fatal(m, err)
		}
		if len(m.Threads) > 0 {
			list[m.Name+" "+m.Mode] = m
		}
		if err := s.service.Mails.MailSent(s.t.Context(), m); err != nil {
			s.t.Fatal(err)
		}
	}
	if n := s.number("SELECT count(*) FROM board_mails WHERE due_at <= ?", s.service.kernel.Moment()); n != 0 {
		s.t.Errorf("%d rows stay", n)
	}
	return list
}

// TestMail checks that members are mailed about what they follow, in the mode that they chose, and only about what
// they may see when the mail is sent.
func TestMail(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		for _, name := range []string{"alice", "bob", "newbie", "mod", "admin"} {
			s.exec("UPDATE board_users SET email_confirmed = 1, email = ? WHERE username = ?", name+"@example.com", name)
		}
		thread := s.threadOf("Members thread")
		follow := func(name, mode string) {
			t.Helper()
			s.do(name, "PUT", path("/threads/%d/subscription", thread), `{"mode":"`+mode+`"}`).want(200)
		}
		reply := func(user, message string) int64 {
			t.Helper()
			return data[api.Replied](s.do(user, "POST", path("/threads/%d/posts", thread), `{"message":"`+message+`"}`).want(201)).ID
		}
		follow("alice", "instant")
		follow("newbie", "daily")
		follow("admin", "weekly")
		follow("mod", "none")
		follow("watched", "instant") // has no address
		first := reply("bob", "Some *news* for all")
		reply("bob", "And more of it")
		if len(s.mails()) != 0 {
			t.Error("nothing is due yet")
		}
		s.clock.advance(following.InstantDelay)
		list := s.mails()
		m := list["alice instant"]
		if len(list) != 1 || m == nil || m.Email != "alice@example.com" || len(m.Threads) != 1 || m.Threads[0].Count != 2 || m.Threads[0].Posts[0].ID != first || m.Threads[0].Posts[0].Author != "bob" {
			t.Fatalf("%+v", list)
		}
		if len(s.mails()) != 0 {
			t.Error("mailed twice")
		}
		s.clock.advance(24 * time.Hour) // 2026-01-03, 03:04, a Saturday, after the hour of the digests
		if list = s.mails(); len(list) != 1 || list["newbie daily"] == nil || list["newbie daily"].Threads[0].Count != 2 {
			t.Errorf("%+v", list)
		}
		s.clock.advance(3 * 24 * time.Hour)
		if list = s.mails(); len(list) != 1 || list["admin weekly"] == nil {
			t.Errorf("%+v", list)
		}

		// Posts that were read, deleted, moved out of sight, or are no longer followed are not mailed.
		for label, hide := range map[string]func(post int64){
			"read": func(post int64) {
				s.do("alice", "POST", path("/threads/%d/read", thread), path(`{"postId":%d}`, post)).want(200)
			},
			"deleted":  func(post int64) { s.do("mod", "DELETE", path("/threads/%d/posts/%d", thread, post), "").want(200) },
			"followed": func(int64) { follow("alice", "daily") },
			"banned":   func(int64) { s.exec("UPDATE board_users SET state = 'banned' WHERE username = 'alice'") },
			"hidden": func(int64) {
				s.exec("UPDATE board_forum_overrides SET clear_mask = ? WHERE forum_id = ?", int64(rights.ForumView), s.forum("members"))
				s.exec("INSERT INTO board_forum_overrides (forum_id, group_id, set_mask, clear_mask) SELECT ?, id, 0, ? FROM board_groups WHERE name = 'registered'", s.forum("members"), int64(rights.ForumView))
			},
		} {
			post := reply("bob", "News to be "+label)
			hide(post)
			s.clock.advance(following.InstantDelay)
			if list := s.mails(); len(list) != 0 {
				t.Errorf("%s: %+v", label, list["alice instant"])
			}
			s.exec("UPDATE board_users SET state = 'active' WHERE username = 'alice'")
			s.exec("DELETE FROM board_forum_overrides WHERE forum_id = ? AND group_id = (SELECT id FROM board_groups WHERE name = 'registered')", s.forum("members"))
			s.exec("DELETE FROM board_mails")
			follow("alice", "instant")
		}
		reply("bob", "Now all is well")
		s.clock.advance(following.InstantDelay)
		if list = s.mails(); len(list) != 1 {
			t.Errorf("%+v", list)
		}
	})
}

// TestMailOfForum checks that followers of a forum are mailed about new threads there, once these are approved.
func TestMailOfForum(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		s.exec("UPDATE board_users SET email_confirmed = 1, email = 'alice@example.com' WHERE username = 'alice'")
		ctx, alice, held := t.Context(), s.actor("alice"), s.forum("held")
		for forum, mode := range map[string]string{"staff": "instant", "root": "instant", "public": "always"} {
			if err := s.service.Following.SubscribeForum(ctx, alice, s.forum(forum), mode); err == nil {
				t.Errorf("%s by %s", forum, mode)
			}
		}
		if err := s.service.Following.SubscribeForum(ctx, s.actor(""), held, "instant"); err == nil {
			t.Error("a guest follows")
		}
		if err := s.service.Following.SubscribeForum(ctx, alice, held, "instant"); err != nil {
			t.Fatal(err)
		}
		if mode, ok, err := s.service.Following.ForumSubscription(ctx, alice, held); mode != "instant" || !ok || err != nil {
			t.Error(mode, ok, err)
		}
		created := data[api.Created](s.do("bob", "POST", path("/forums/%d/threads", held), `{"title":"Held at first","message":"To be approved"}`).want(201))
		s.clock.advance(time.Minute)
		if len(s.mails()) != 0 {
			t.Error("followers are mailed about a held thread")
		}
		s.do("mod", "POST", path("/moderation/queue/%d/approve", created.PostID), "").want(200)
		s.do("mod", "POST", path("/threads/%d/posts", created.ID), `{"message":"A reply is not a thread"}`).want(201)
		s.clock.advance(time.Minute)
		m := s.mails()["alice instant"]
		if m == nil || len(m.Threads) != 1 || m.Threads[0].Count != 1 || m.Threads[0].Title != "Held at first" {
			t.Fatalf("%+v", m)
		}
		if list := s.do("alice", "GET", "/notifications", "").want(200); !strings.Contains(list.body, `"kind":"thread"`) {
			t.Error(list.body)
		}
		u, err := s.service.Mails.ReadUnsubscription(m.Unsubscribe)
		if err != nil || u.Target() != "forum" {
			t.Fatal(u, err)
		}
		if err := s.service.Mails.EndUnsubscription(ctx, u); err != nil {
			t.Fatal(err)
		}
		if mode, _, err := s.service.Following.ForumSubscription(ctx, alice, held); mode != "none" || err != nil {
			t.Error(mode, err)
		}
		if list, err := s.service.Following.FollowedForums(ctx, alice); err != nil || len(list) != 1 || list[0].Slug != "held" {
			t.Errorf("%+v %v", list, err)
		}
		if err := s.service.Following.UnsubscribeForum(ctx, alice, held); err != nil {
			t.Fatal(err)
		}
		if list, err := s.service.Following.FollowedForums(ctx, alice); err != nil || len(list) != 0 {
			t.Errorf("%+v %v", list, err)
		}
	})
}

// TestMailQueue checks that a mailing belongs to one node, is tried again, and is given up at last.
func TestMailQueue(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		s.exec("UPDATE board_users SET email_confirmed = 1, email = 'alice@example.com' WHERE username = 'alice'")
		thread := s.threadOf("Public thread")
		s.do("alice", "PUT", path("/threads/%d/subscription", thread), `{"mode":"instant"}`).want(200)
		posts := path("/threads/%d/posts", thread)
		s.do("bob", "POST", posts, `{"message":"The first news"}`).want(201)
		s.clock.advance(time.Minute)
		recipient := mails.Recipient{User: s.actor("alice").ID(), Mode: "instant"}
		claim := func() *mails.Mailing {
			t.Helper()
			m, err := s.service.Mails.ClaimMail(t.Context(), recipient)
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		m := claim()
		if m == nil || claim() != nil {
			t.Fatal("it is claimed never or twice")
		}
		key := m.Key
		s.clock.advance(mails.MailLease)
		if m = claim(); m == nil || m.Key != key {
			t.Fatalf("after the lease: %+v", m)
		}
		// Posts that are written while a mail is being sent are not lost.
		s.do("bob", "POST", posts, `{"message":"The second news"}`).want(201)
		if err := s.service.Mails.MailSent(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		s.clock.advance(time.Minute)
		if m = claim(); m == nil || m.Threads[0].Count != 1 || m.Threads[0].Posts[0].Excerpt != "The second news" || m.Key == key {
			t.Fatalf("%+v", m)
		}
		for n := int64(1); ; n++ {
			retry, err := s.service.Mails.MailFailed(t.Context(), m)
			if err != nil || retry != (n < mails.MailAttempts) {
				t.Fatal(n, retry, err)
			}
			if !retry {
				break
			}
			if claim() != nil {
				t.Error("it is tried again at once")
			}
			s.clock.advance(jobs.Backoff(n))
			if m = claim(); m == nil {
				t.Fatalf("attempt %d is not due", n+1)
			}
		}
		s.clock.advance(24 * time.Hour)
		if claim() != nil {
			t.Error("it is tried for ever")
		}
		// While the board is offline mails wait.
		s.do("bob", "POST", posts, `{"message":"The third news"}`).want(201)
		s.exec("INSERT INTO board_settings (name, value) VALUES ('offline', '1')")
		s.clock.advance(time.Minute)
		m, err := s.service.Mails.ClaimMail(t.Context(), recipient)
		if err == nil || m == nil {
			t.Fatal(m, err)
		}
		if err := s.service.Mails.MailHeld(context.WithoutCancel(t.Context()), m, s.clock.now()); err != nil {
			t.Fatal(err)
		}
		s.exec("DELETE FROM board_settings WHERE name = 'offline'")
		if claim() == nil {
			t.Error("it is gone")
		}
		s.clock.advance(keepMails + time.Hour)
		if _, err := s.service.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := s.number("SELECT count(*) FROM board_mails"); n != 0 {
			t.Errorf("%d are kept", n)
		}
	})
}

// TestMailOfHeldPost checks that a held post is mailed when others can see it, also to members who have read later
// posts of the thread by then, and also while a mail is being sent.
func TestMailOfHeldPost(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		s.exec("UPDATE board_users SET email_confirmed = 1, email = 'alice@example.com' WHERE username = 'alice'")
		s.exec("INSERT INTO board_word_filters (pattern, replacement, action) VALUES ('casino', '', 'hold')")
		thread := s.threadOf("Public thread")
		s.do("alice", "PUT", path("/threads/%d/subscription", thread), `{"mode":"instant"}`).want(200)
		reply := func(message string) int64 {
			t.Helper()
			return data[api.Replied](s.do("bob", "POST", path("/threads/%d/posts", thread), `{"message":"`+message+`"}`).want(201)).ID
		}
		approve := func(post int64) {
			t.Helper()
			s.do("mod", "POST", path("/moderation/queue/%d/approve", post), "").want(200)
		}
		excerpts := func(m *mails.Mailing) (list []string) {
			if m == nil || len(m.Threads) != 1 {
				return nil
			}
			for _, p := range m.Threads[0].Posts {
				list = append(list, p.Excerpt)
			}
			return list
		}
		held, later := reply("The casino is held"), reply("What all see")
		s.do("alice", "POST", path("/threads/%d/read", thread), path(`{"postId":%d}`, later)).want(200)
		s.clock.advance(time.Minute)
		s.mails()
		approve(held)
		s.clock.advance(time.Minute)
		if got := excerpts(s.mails()["alice instant"]); !slices.Equal(got, []string{"The casino is held"}) {
			t.Errorf("behind what was read: %q", got)
		}

		held = reply("Another casino is held")
		reply("What is mailed")
		s.clock.advance(time.Minute)
		m, err := s.service.Mails.ClaimMail(t.Context(), mails.Recipient{User: s.actor("alice").ID(), Mode: "instant"})
		if got := excerpts(m); err != nil || !slices.Equal(got, []string{"What is mailed"}) {
			t.Fatal(got, err)
		}
		approve(held)
		must(t, s.service.Mails.MailSent(t.Context(), m))
		s.clock.advance(time.Minute)
		if got := excerpts(s.mails()["alice instant"]); !slices.Equal(got, []string{"Another casino is held"}) {
			t.Errorf("approved while a mail was on its way: %q", got)
		}
	})
}

// digest is a board on which alice is mailed about posts of bob.
type digest struct{ *site }

func newDigest(t *testing.T, db *store.DB) digest {
	t.Helper()
	s := digest{newSite(t, db, kernel.Options{NoFlood: true})}
	s.exec("UPDATE board_users SET email_confirmed = 1, email = 'alice@example.com' WHERE username = 'alice'")
	s.exec("INSERT INTO board_word_filters (pattern, replacement, action) VALUES ('casino', '', 'hold')")
	return s
}

func (s digest) follow(thread int64, mode string) {
	s.t.Helper()
	s.do("alice", "PUT", path("/threads/%d/subscription", thread), path(`{"mode":%q}`, mode)).want(200)
}

func (s digest) followForum(mode string) {
	s.t.Helper()
	must(s.t, s.service.Following.SubscribeForum(s.t.Context(), s.actor("alice"), s.forum("public"), mode))
}

func (s digest) start(message string) (thread int64) {
	s.t.Helper()
	return data[api.Created](s.do("bob", "POST", path("/forums/%d/threads", s.forum("public")), path(`{"title":"About news","message":%q}`, message)).want(201)).ID
}

func (s digest) reply(thread int64, message string) (post int64) {
	s.t.Helper()
	s.clock.advance(time.Second)
	return data[api.Replied](s.do("bob", "POST", path("/threads/%d/posts", thread), path(`{"message":%q}`, message)).want(201)).ID
}

func (s digest) read(thread, post int64) {
	s.t.Helper()
	s.clock.advance(time.Second)
	s.do("alice", "POST", path("/threads/%d/read", thread), path(`{"postId":%d}`, post)).want(200)
}

func (s digest) approve(post int64) {
	s.t.Helper()
	s.clock.advance(time.Second)
	s.do("mod", "POST", path("/moderation/queue/%d/approve", post), "").want(200)
}

// wantDigest fails unless the mail that alice gets in a mode, after a time, is about these posts.
func (s digest) wantDigest(after time.Duration, mode string, want ...string) {
	s.t.Helper()
	s.clock.advance(after)
	var got []string
	if m := s.mails()["alice "+mode]; m != nil {
		for _, t := range m.Threads {
			for _, p := range t.Posts {
				got = append(got, p.Excerpt)
			}
		}
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("%s: mailed about %q, want %q", mode, got, want)
	}
}

const day = 24 * time.Hour

// TestDigestOfLatePost checks that a held post is in the digest if it is approved before that, also if it lies among
// posts that were read by then, which are not mailed again.
func TestDigestOfLatePost(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newDigest(t, db)
		thread := s.threadOf("Public thread")
		s.follow(thread, "daily")
		first := s.reply(thread, "The first")
		held := s.reply(thread, "The casino between")
		s.read(thread, s.reply(thread, "The last"))
		s.approve(held)
		s.wantDigest(day, "daily", "The casino between")

		older := s.reply(thread, "An older casino")
		s.read(thread, s.reply(thread, "What is read"))
		s.approve(older)
		s.wantDigest(day, "daily", "An older casino")

		// Reading an earlier page does not mark it as read.
		held = s.reply(thread, "A casino behind that page")
		s.read(thread, s.reply(thread, "The end"))
		s.approve(held)
		s.read(thread, first)
		s.wantDigest(day, "daily", "A casino behind that page")

		// Reading to the end since then marks it as read.
		held = s.reply(thread, "A casino that is seen")
		last := s.reply(thread, "The new end")
		s.approve(held)
		s.read(thread, last)
		s.wantDigest(day, "daily")

		// A post that is approved while the mail is being sent.
		s.reply(thread, "Before it")
		held = s.reply(thread, "A casino meanwhile")
		s.reply(thread, "After it")
		s.clock.advance(day)
		m, err := s.service.Mails.ClaimMail(t.Context(), mails.Recipient{User: s.actor("alice").ID(), Mode: "daily"})
		must(t, err)
		if m == nil || len(m.Threads) != 1 || m.Threads[0].Count != 2 {
			t.Fatalf("%+v", m)
		}
		s.approve(held)
		must(t, s.service.Mails.MailSent(t.Context(), m))
		s.wantDigest(day, "daily", "Before it", "A casino meanwhile", "After it")
	})
}

// TestDigestOfForumAndThread checks that a member who follows a forum and a thread in it is mailed about both, also
// when the member stops following one of them or follows it in another mode.
func TestDigestOfForumAndThread(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		site := newDigest(t, db).site
		for label, test := range map[string]struct {
			change func(s digest, thread int64)
			want   []string
		}{
			"both":             {func(digest, int64) {}, []string{"It starts", "A reply"}},
			"not the forum":    {func(s digest, _ int64) { s.followForum("none") }, []string{"It starts", "A reply"}},
			"the forum weekly": {func(s digest, _ int64) { s.followForum("weekly") }, []string{"It starts", "A reply"}},
			"not the thread":   {func(s digest, thread int64) { s.follow(thread, "none") }, []string{"It starts"}},
			"neither": {func(s digest, thread int64) {
				s.followForum("none")
				s.follow(thread, "none")
			}, nil},
			"moved": {func(s digest, thread int64) {
				forum := s.forum("members")
				must(s.t, s.service.Posts.Change(s.t.Context(), s.actor("admin"), thread, posts.ThreadChange{Forum: &forum}))
			}, []string{"It starts", "A reply"}},
		} {
			t.Run(label, func(t *testing.T) {
				part := *site
				part.t = t
				s := digest{&part}
				s.followForum("daily")
				thread := s.start("It starts")
				s.follow(thread, "daily")
				s.reply(thread, "A reply")
				test.change(s, thread)
				s.wantDigest(day, "daily", test.want...)
				s.exec("DELETE FROM board_mails")
			})
		}
	})
}

// TestDigestOfOtherMode checks that what waits to be mailed moves to the mode in which its thread or forum is
// followed from now on.
func TestDigestOfOtherMode(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newDigest(t, db)
		thread := s.threadOf("Public thread")
		s.follow(thread, "weekly")
		s.reply(thread, "Of the week")
		s.follow(thread, "daily")
		s.reply(thread, "Of the day")
		s.wantDigest(day, "daily", "Of the week", "Of the day")
		s.wantDigest(7*day, "weekly")

		s.reply(thread, "Of another day")
		s.follow(thread, "weekly")
		s.follow(thread, "daily")
		s.follow(thread, "weekly")
		s.wantDigest(day, "daily")
		s.wantDigest(7*day, "weekly", "Of another day")

		s.reply(thread, "Of the last day")
		s.follow(thread, "none")
		s.follow(thread, "weekly") // a change of mode by mistake loses nothing
		s.wantDigest(7*day, "weekly", "Of the last day")
		s.follow(thread, "none")

		s.followForum("weekly")
		s.start("It starts a week")
		s.followForum("daily")
		s.wantDigest(day, "daily", "It starts a week")
		s.wantDigest(7*day, "weekly")
	})
}

// TestDigestOfHeldEdit checks that a post which an edit held before the digest is in the next digest after its
// approval, and that a post which was in a digest, or was read, is not mailed again.
func TestDigestOfHeldEdit(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newDigest(t, db)
		s.exec("UPDATE board_groups SET edit_window_min = 0")
		thread := s.threadOf("Public thread")
		s.follow(thread, "daily")
		edit := func(post int64) {
			t.Helper()
			s.clock.advance(time.Second)
			s.do("bob", "PATCH", path("/threads/%d/posts/%d", thread, post), `{"message":"Now a casino"}`).want(200)
		}
		post := s.reply(thread, "At first all is well")
		edit(post)
		s.wantDigest(day, "daily")
		s.approve(post)
		s.wantDigest(day, "daily", "Now a casino")

		post = s.reply(thread, "Mailed")
		s.wantDigest(day, "daily", "Mailed")
		edit(post)
		s.approve(post)
		s.wantDigest(day, "daily")

		post = s.reply(thread, "Read")
		s.read(thread, post)
		edit(post)
		s.wantDigest(day, "daily")
		s.approve(post)
		s.wantDigest(day, "daily")

		// The thread of the post, about which followers of the forum are mailed.
		s.followForum("daily")
		thread = s.start("A thread")
		post = s.postOf("A thread")
		edit(post)
		s.wantDigest(day, "daily")
		s.approve(post)
		s.wantDigest(day, "daily", "Now a casino")
	})
}

// TestNoMailOfReadPosts checks that a member is not mailed about posts that the member has read.
func TestNoMailOfReadPosts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		thread, other := s.threadOf("Public thread"), s.threadOf("Members thread")
		var last int64
		for _, id := range []int64{thread, other} {
			s.do("alice", "PUT", path("/threads/%d/subscription", id), "").want(200)
			for range 2 {
				last = data[api.Replied](s.do("bob", "POST", path("/threads/%d/posts", id), path(`{"message":"News %d"}`, last)).want(201)).ID
			}
		}
		unseen := func(want int) {
			t.Helper()
			if n, err := s.service.Following.Unseen(t.Context(), s.actor("alice")); err != nil || n != want {
				t.Errorf("%d are new, %v, want %d", n, err, want)
			}
		}
		unseen(4)
		s.do("alice", "POST", path("/threads/%d/read", other), path(`{"postId":%d}`, last-1)).want(200)
		unseen(3)
		s.do("alice", "POST", path("/threads/%d/read", thread), path(`{"postId":%d}`, last)).want(200)
		unseen(1)
		notifications := data[[]api.NotificationInfo](s.do("alice", "GET", "/notifications", "").want(200))
		if len(notifications) != 4 || notifications[0].ReadAt != nil || notifications[1].ReadAt == nil || notifications[2].ReadAt == nil || notifications[3].ReadAt == nil {
			t.Errorf("%+v", notifications)
		}
	})
}

// TestUnsubscribeToken checks that a token ends the subscription that it is for, and cannot be forged.
func TestUnsubscribeToken(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), kernel.Options{})
	thread, alice := s.threadOf("Public thread"), s.actor("alice")
	s.do("alice", "PUT", path("/threads/%d/subscription", thread), `{"mode":"daily"}`).want(200)
	for kind, target := range map[byte]string{'t': "thread", 'f': "forum", 'i': "instant", 'd': "daily", 'w': "weekly", 'm': "message"} {
		token := s.service.Mails.UnsubscribeToken(alice.ID(), kind, thread)
		u, err := s.service.Mails.ReadUnsubscription(token)
		if err != nil || u.Target() != target {
			t.Errorf("%c: %+v %v", kind, u, err)
		}
		for i := range token {
			other := []byte(token)
			other[i] = 'A' + (other[i]+1)%26
			if _, err := s.service.Mails.ReadUnsubscription(string(other)); err == nil && string(other) != token {
				t.Fatalf("%s is a token", other)
			}
		}
	}
	for _, token := range []string{"", "A", strings.Repeat("A", 44), strings.Repeat("A", 10_000)} {
		if _, err := s.service.Mails.ReadUnsubscription(token); err == nil {
			t.Errorf("%q is a token", token)
		}
	}
	mode := func() int64 {
		return s.number("SELECT count(*) FROM board_subscriptions WHERE user_id = ? AND mode = 'none'", alice.ID())
	}
	for kind, ended := range map[byte]int64{'w': 0, 'd': 1} {
		u, err := s.service.Mails.ReadUnsubscription(s.service.Mails.UnsubscribeToken(alice.ID(), kind, 0))
		if err != nil {
			t.Fatal(err)
		}
		s.exec("UPDATE board_subscriptions SET mode = 'daily'")
		if err := s.service.Mails.EndUnsubscription(t.Context(), u); err != nil || mode() != ended {
			t.Errorf("%c: %d end, %v", kind, mode(), err)
		}
	}
}
