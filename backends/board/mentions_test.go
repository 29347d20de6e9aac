package board

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/mails"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// notificationKinds returns the kinds of a member's notifications, the newest first.
func (s *site) notificationKinds(name string) (kinds []string) {
	s.t.Helper()
	list, _, err := s.service.Following.Notifications(s.t.Context(), s.actor(name), 0, 50)
	must(s.t, err)
	for _, n := range list {
		kinds = append(kinds, n.Kind)
	}
	return kinds
}

// wantNotificationKinds fails unless a member has notifications of these kinds.
func (s *site) wantNotificationKinds(label, name string, want ...string) {
	s.t.Helper()
	if got := s.notificationKinds(name); !slices.Equal(got, want) {
		s.t.Errorf("%s: %s is notified of %v, want %v", label, name, got, want)
	}
}

// write replies in a thread and returns the id of the post.
func (s *site) write(user, title, message string) int64 {
	s.t.Helper()
	done, err := s.service.Posts.Reply(s.t.Context(), s.actor(user), s.threadOf(title), posts.NewReply{Message: message}, posts.Once{})
	must(s.t, err)
	return done.Post
}

// TestMentionsNotify checks whom a mention notifies, in new posts, edits and posts that were held.
func TestMentionsNotify(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx := t.Context()
		const open = "Public thread"
		id := s.write("alice", open, "@Bob and @alice, @nobody, @banned, `@mod`: look")
		s.wantNotificationKinds("a mention", "bob", "mention")
		s.wantNotificationKinds("code", "mod")
		s.wantNotificationKinds("oneself", "alice")
		if n := s.number("SELECT count(*) FROM board_notifications WHERE kind = 'mention'"); n != 1 {
			t.Errorf("%d are notified, want only bob", n)
		}
		var html string
		must(t, s.service.kernel.Read(ctx, func(c store.Conn) error {
			return c.Row("SELECT message_html FROM board_posts WHERE id = ?", id).Scan(&html)
		}))
		if want := path(`<a class="mention" href="/members/%d">@Bob</a> and <a class="mention" href="/members/%d">@alice</a>, @nobody, <a `, s.user("bob"), s.user("alice")); !strings.Contains(html, want) {
			t.Errorf("the post is %s, want %s", html, want)
		}

		// An edit notifies those whom it adds, once.
		edit := func(message string) {
			t.Helper()
			_, err := s.service.Posts.Edit(ctx, s.actor("alice"), s.threadOf(open), id, posts.PostEdit{Message: message})
			must(t, err)
		}
		edit("@bob and @mod: look")
		s.wantNotificationKinds("still there", "bob", "mention")
		s.wantNotificationKinds("added", "mod", "mention")
		edit("nobody: look")
		edit("@bob and @mod: look again")
		s.wantNotificationKinds("back again", "bob", "mention")
		s.wantNotificationKinds("back again", "mod", "mention")

		// A follower has one notification of the post.
		must(t, s.service.Following.Subscribe(ctx, s.actor("newbie"), s.threadOf(open), "instant"))
		s.write("alice", open, "hello @newbie")
		s.wantNotificationKinds("a follower", "newbie", "mention")
		s.write("alice", open, "hello everybody")
		s.wantNotificationKinds("a follower", "newbie", "reply", "mention")

		// A member who cannot see the post, or ignores its author, is not notified.
		s.write("mod", "Staff thread", "@bob and @admin, what do you think?")
		s.wantNotificationKinds("a forum that is hidden", "bob", "mention")
		must(t, s.service.kernel.Write(ctx, func(c store.Conn) error {
			_, err := c.Exec("INSERT INTO board_blocks (user_id, blocked_id, created_at) VALUES (?, ?, 1)", s.user("bob"), s.user("alice"))
			return err
		}))
		s.write("alice", open, "once more, @bob")
		s.wantNotificationKinds("the author is ignored", "bob", "mention")

		// A mention in a held post notifies when the post is approved, and so does one that is added by an edit which
		// holds the post.
		held := s.write("watched", open, "may I, @bob?")
		s.wantNotificationKinds("held", "bob", "mention")
		_, err := s.service.Posts.Approve(ctx, s.actor("mod"), held, posts.Decision{})
		must(t, err)
		s.wantNotificationKinds("approved", "bob", "mention", "mention")
		_, err = s.service.Posts.Edit(ctx, s.actor("watched"), s.threadOf(open), held, posts.PostEdit{Message: "may I, @bob and @newbie?"})
		must(t, err)
		s.wantNotificationKinds("held by the edit", "newbie", "reply", "reply", "mention")
		_, err = s.service.Posts.Approve(ctx, s.actor("mod"), held, posts.Decision{})
		must(t, err)
		s.wantNotificationKinds("approved after the edit", "newbie", "mention", "reply", "reply", "mention")
		s.wantNotificationKinds("told before", "bob", "mention", "mention")
	})
}

// TestMentionMails checks that a mention is mailed once, unless the member has read it, wants no such mails or gets it
// as a follower.
func TestMentionMails(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx := t.Context()
		for _, name := range []string{"bob", "mod", "newbie"} {
			s.exec("UPDATE board_users SET email = ?, email_key = ?, email_confirmed = 1 WHERE username = ?", name+"@example.com", name+"@example.com", name)
		}
		due := func() (mailed []string) {
			t.Helper()
			s.clock.advance(following.InstantDelay)
			list, err := s.service.Mails.DueMail(ctx, 10)
			must(t, err)
			for _, recipient := range list {
				m, err := s.service.Mails.ClaimMail(ctx, recipient)
				must(t, err)
				must(t, s.service.Mails.MailSent(ctx, m))
				if len(m.Threads) > 0 && m.Email != "" {
					mailed = append(mailed, m.Name+" "+m.Mode+" "+m.Threads[0].Posts[0].Excerpt)
					must(t, s.end(m))
				}
			}
			slices.Sort(mailed)
			return mailed
		}
		want := func(label string, want ...string) {
			t.Helper()
			if got := due(); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", label, got, want)
			}
		}
		must(t, s.service.Following.Subscribe(ctx, s.actor("newbie"), s.threadOf("Public thread"), "instant"))
		s.write("alice", "Public thread", "@bob, @mod and @newbie: hello")
		must(t, s.service.Following.MarkRead(ctx, s.actor("mod"), s.threadOf("Public thread"), 1<<40))
		want("mentions", "bob named @bob, @mod and @newbie: hello", "newbie instant @bob, @mod and @newbie: hello")
		want("sent")
		s.write("alice", "Public thread", "@bob, once more")
		want("after the link in the mail")
		must(t, s.service.Following.ChooseMentionMails(ctx, s.actor("bob"), true))
		s.write("alice", "Public thread", "@bob, hello again")
		want("switched on", "bob named @bob, hello again")
	})
}

// end follows the link in a mail that unsubscribes from mails of its kind.
func (s *site) end(m *mails.Mailing) error {
	u, err := s.service.Mails.ReadUnsubscription(m.Unsubscribe)
	if err != nil {
		return err
	}
	return s.service.Mails.EndUnsubscription(s.t.Context(), u)
}

// TestComplete checks who can have names completed, which names are offered, and how often one may ask.
func TestComplete(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		ctx := t.Context()
		for beginning, want := range map[string]string{"AL": "alice", "ba": "", "b": "", "": "", "bob": "bob", "al%": "", "a\x00": ""} {
			names, err := s.service.Accounts.Complete(ctx, s.actor("alice"), beginning)
			if got := strings.Join(names, ","); err != nil || got != want {
				t.Errorf("%q completes to %q (%v), want %q", beginning, got, err, want)
			}
		}
		s.exec("UPDATE board_groups SET allow_mask = allow_mask - 68719476736 WHERE kind = 'registered'")
		_, err := s.service.Accounts.Complete(ctx, s.actor("bob"), "al")
		refused(t, "without the right", err, 403, "no_permission")
		guest, err := s.service.Rights.Guest(ctx)
		must(t, err)
		_, err = s.service.Accounts.Complete(ctx, guest, "al")
		refused(t, "a guest", err, 403, "no_permission")
		var limited error
		for range 200 {
			if _, limited = s.service.Accounts.Complete(ctx, s.actor("mod"), "al"); limited != nil {
				break
			}
		}
		refused(t, "very often", limited, 429, "")
		s.clock.advance(time.Minute)
		_, err = s.service.Accounts.Complete(ctx, s.actor("mod"), "al")
		must(t, err)
	})
}
