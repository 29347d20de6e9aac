package board

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// lastMessage returns the id of the last message of a conversation.
func (s *site) lastMessage(id int64) int64 {
	s.t.Helper()
	return s.number("SELECT max(id) FROM board_conversation_messages WHERE conversation_id = ?", id)
}

// TestReportMessage reports a private message, and checks what the moderators see of the conversation and what is left
// when it, its members and the report are gone.
func TestReportMessage(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx, all := t.Context(), s.service.Conversations
		id := s.talk("Private title", "bob")
		for _, message := range []string{"the second", "the third", "the fourth", "the **fifth**", "the sixth"} {
			must(t, all.Reply(ctx, s.actor("alice"), id, message, posts.Once{}))
		}
		fifth := s.lastMessage(id) - 1
		must(t, all.Report(ctx, s.actor("bob"), id, fifth, "an insult"))
		refused(t, "a second time", all.Report(ctx, s.actor("bob"), id, fifth, "an insult"), 409, "")

		// The copies stay when everybody has left, and without the names of those who are deleted.
		must(t, all.Leave(ctx, s.actor("alice"), id))
		must(t, all.Leave(ctx, s.actor("bob"), id))
		if n := s.number("SELECT count(*) FROM board_conversation_messages"); n != 0 {
			t.Fatalf("%d messages are left", n)
		}
		for _, name := range []string{"mod", "admin"} {
			list, more, err := all.Reports(ctx, s.actor(name), 10)
			must(t, err)
			if len(list) != 1 || more {
				t.Fatalf("%s sees %d reports, more: %t", name, len(list), more)
			}
			r := list[0]
			var texts []string
			for _, m := range r.Messages {
				texts = append(texts, strings.TrimSpace(m.HTML))
			}
			want := []string{"<p>the second</p>", "<p>the third</p>", "<p>the fourth</p>", "<p>the <strong>fifth</strong></p>"}
			if !slices.Equal(texts, want) || r.User.Name != "bob" || r.Reason != "an insult" || r.Reported().Author.Name != "alice" {
				t.Errorf("%s sees %+v with %q", name, r, texts)
			}
		}
		must(t, s.service.Admin.DeleteMember(ctx, s.actor("admin"), s.user("alice")))
		must(t, s.service.Admin.DeleteMember(ctx, s.actor("admin"), s.user("bob")))
		list, _, err := all.Reports(ctx, s.actor("mod"), 10)
		must(t, err)
		if len(list) != 1 || list[0].User.ID != 0 || list[0].Reported().Author.ID != 0 {
			t.Fatalf("after the deletion of both: %+v", list)
		}

		must(t, all.CloseReport(ctx, s.actor("mod"), list[0].ID, "warned"))
		refused(t, "closing twice", all.CloseReport(ctx, s.actor("mod"), list[0].ID, ""), 409, "")
		if list, _, err = all.Reports(ctx, s.actor("mod"), 10); err != nil || len(list) != 0 {
			t.Errorf("open after closing: %+v, %v", list, err)
		}
		if n := s.number("SELECT count(*) FROM board_reported_messages"); n != 0 {
			t.Errorf("%d copies are left of a closed report", n)
		}
		for _, action := range []string{"report.create", "report.close"} {
			n := s.number("SELECT count(*) FROM board_moderation_log WHERE action = ? AND detail LIKE 'private message, report %'", action)
			if n != 1 {
				t.Errorf("the log has %d entries %s, want 1", n, action)
			}
		}
	})
}

// TestReportMessageRefused makes hostile attempts on reports of private messages.
func TestReportMessageRefused(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx, all := t.Context(), s.service.Conversations
		id, other := s.talk("Secret", "bob"), s.talk("Another one", "mod")
		message := s.lastMessage(id)
		for _, name := range []string{"mod", "admin", "newbie"} { // a member who does not take part can neither report nor read the form
			refused(t, name+" reports", all.Report(ctx, s.actor(name), id, message, "let me see"), 404, "")
			_, err := all.Reportable(ctx, s.actor(name), id, message)
			refused(t, name+" reads", err, 404, "")
		}
		// The message belongs to another conversation than the actor's.
		refused(t, "by another conversation", all.Report(ctx, s.actor("mod"), other, message, "let me see"), 404, "")
		refused(t, "one's own", all.Report(ctx, s.actor("alice"), id, message, "look at me"), 422, "self")
		refused(t, "without a reason", all.Report(ctx, s.actor("bob"), id, message, " . "), 422, "required")
		s.exec("UPDATE board_users SET suspended_until = ? WHERE username = 'bob'", s.clock.now().Add(time.Hour).UnixMicro())
		refused(t, "by somebody suspended", all.Report(ctx, s.actor("bob"), id, message, "an insult"), 403, "suspended")
		s.exec("UPDATE board_users SET suspended_until = NULL WHERE username = 'bob'")

		// Without a report a moderator sees nothing. With a report only moderators see it.
		if list, _, err := all.Reports(ctx, s.actor("mod"), 10); err != nil || len(list) != 0 {
			t.Errorf("without a report a moderator sees %+v, %v", list, err)
		}
		must(t, all.Report(ctx, s.actor("bob"), id, message, "an insult"))
		report := s.number("SELECT id FROM board_message_reports")
		_, err := all.Open(ctx, s.actor("mod"), id, 0, 10)
		refused(t, "the conversation of a reported message", err, 404, "")
		for _, name := range []string{"alice", "bob", "newbie"} {
			if list, _, err := all.Reports(ctx, s.actor(name), 10); err != nil || len(list) != 0 {
				t.Errorf("%s sees %+v, %v", name, list, err)
			}
			refused(t, name+" closes", all.CloseReport(ctx, s.actor(name), report, ""), 404, "")
		}

		// The daily limit applies whatever the flood limits are.
		messages := make([]int64, 0, 20)
		for range 20 {
			must(t, all.Reply(ctx, s.actor("alice"), id, "one more", posts.Once{}))
			messages = append(messages, s.lastMessage(id))
		}
		for _, m := range messages[:19] {
			must(t, all.Report(ctx, s.actor("bob"), id, m, "an insult"))
		}
		refused(t, "the 21st of a day", all.Report(ctx, s.actor("bob"), id, messages[19], "an insult"), 429, "")
		list, more, err := all.Reports(ctx, s.actor("mod"), 7)
		must(t, err)
		if len(list) != 7 || !more {
			t.Errorf("a list of 7 has %d, more: %t", len(list), more)
		}
		s.clock.advance(24 * time.Hour)
		must(t, all.Report(ctx, s.actor("bob"), id, messages[19], "an insult"))
	})
}
