package board

import (
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/conversations"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/mails"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestMailOfMessages checks who is mailed about private messages: once for each conversation until it is read again.
func TestMailOfMessages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx, all := t.Context(), s.service.Conversations
		s.exec("UPDATE board_users SET email_confirmed = 0")
		for _, name := range []string{"alice", "bob", "mod"} {
			s.exec("UPDATE board_users SET email_confirmed = 1, email = ? WHERE username = ?", name+"@example.com", name)
		}
		// claimed claims the mailings that are due and returns them without ending them.
		claimed := func() (list []*mails.Mailing) {
			t.Helper()
			s.clock.advance(following.InstantDelay)
			due, err := s.service.Mails.DueMail(ctx, 100)
			must(t, err)
			for _, recipient := range due {
				m, err := s.service.Mails.ClaimMail(ctx, recipient)
				must(t, err)
				list = append(list, m)
			}
			return list
		}
		want := func(label, names string) {
			t.Helper()
			var got []string
			for _, m := range claimed() {
				if len(m.Messages) > 0 && m.Email != "" {
					got = append(got, m.Name+" by "+m.Messages[0].Author)
				}
				must(t, s.service.Mails.MailSent(ctx, m))
			}
			if strings.Join(got, ", ") != names {
				t.Errorf("%s: mailed are %q, want %q", label, got, names)
			}
		}
		reply := func(user string, id int64) {
			t.Helper()
			must(t, all.Reply(ctx, s.actor(user), id, "some more text", posts.Once{}))
		}
		read := func(user string, id int64) {
			t.Helper()
			_, err := all.Open(ctx, s.actor(user), id, 0, 10)
			must(t, err)
		}
		id := s.talk("Private", "bob", "newbie") // newbie has no confirmed address
		want("a new conversation", "bob by alice")
		reply("alice", id)
		want("a second message, with the first one unread", "")
		read("bob", id)
		reply("alice", id)
		want("a message after reading", "bob by alice")
		read("bob", id)
		reply("bob", id)
		want("an answer", "alice by bob")
		reply("newbie", id)
		read("bob", id)
		want("a message that was read before the mail", "")

		// A message is posted while the mail about an earlier one, which was read, is being sent.
		reply("alice", id)
		pending := claimed()
		read("bob", id)
		reply("alice", id)
		for _, m := range pending {
			must(t, s.service.Mails.MailSent(ctx, m))
		}
		want("a message while a mail was under way", "bob by alice")

		read("bob", id)
		must(t, all.SetPreferences(ctx, s.actor("bob"), conversations.Preferences{Mails: false, Accepts: true}))
		reply("alice", id)
		want("to somebody who wants no mails", "")
		must(t, all.SetPreferences(ctx, s.actor("bob"), conversations.Preferences{Mails: true, Accepts: true}))
		reply("alice", id)
		must(t, all.Leave(ctx, s.actor("bob"), id))
		want("to somebody who left", "")
		other := s.talk("Another", "bob", "mod")
		must(t, all.SetPreferences(ctx, s.actor("mod"), conversations.Preferences{Mails: false, Accepts: true}))
		want("to one who has just switched mails off", "bob by alice")
		reply("alice", other)
		want("in the end", "")
	})
}
