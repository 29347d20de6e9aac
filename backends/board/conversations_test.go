package board

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/conversations"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// talk starts a conversation of alice with others, without flood limits.
func (s *site) talk(title string, recipients ...string) int64 {
	s.t.Helper()
	id, err := s.service.Conversations.Start(s.t.Context(), s.actor("alice"), conversations.NewConversation{
		Recipients: recipients, Title: title, Message: "the **first** message",
	}, posts.Once{})
	must(s.t, err)
	return id
}

// TestConversations lets members write to each other, read, leave, and checks the lists and what is unread.
func TestConversations(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx, all := t.Context(), s.service.Conversations
		unread := func(name string, want int) {
			t.Helper()
			if n, err := all.Unread(ctx, s.actor(name)); err != nil || n != want {
				t.Errorf("%s has %d unread conversations, want %d (%v)", name, n, want, err)
			}
		}
		id := s.talk("Three of us", "BOB", " mod ", "bob")
		unread("alice", 0)
		unread("bob", 1)
		page, err := all.Open(ctx, s.actor("bob"), id, 0, 10)
		must(t, err)
		if len(page.People) != 3 || page.Title != "Three of us" || !strings.Contains(page.Messages[0].HTML, "<strong>first</strong>") {
			t.Errorf("bob reads %+v", page)
		}
		unread("bob", 0)
		once := posts.Once{Key: "k", Hash: "h"}
		for range 2 { // the second has no effect
			must(t, all.Reply(ctx, s.actor("bob"), id, "an answer", once))
		}
		unread("bob", 0)
		unread("alice", 1)
		if n := s.number("SELECT count(*) FROM board_conversation_messages"); n != 2 {
			t.Errorf("%d messages, want 2", n)
		}

		// Pages of messages and of conversations.
		page, err = all.Open(ctx, s.actor("alice"), id, 0, 1)
		must(t, err)
		if page.Earlier == 0 || page.Messages[0].Author.Name != "bob" {
			t.Errorf("the last page is %+v", page)
		}
		page, err = all.Open(ctx, s.actor("alice"), id, page.Earlier, 1)
		must(t, err)
		if page.Earlier != 0 || page.Messages[0].Author.Name != "alice" {
			t.Errorf("the first page is %+v", page)
		}
		for i := range 4 {
			s.talk(fmt.Sprintf("Number %d", i), "bob")
		}
		must(t, all.Reply(ctx, s.actor("alice"), id, "and again", posts.Once{}))
		var titles []string
		for before := int64(0); ; {
			list, older, err := all.List(ctx, s.actor("bob"), before, 2)
			must(t, err)
			for _, v := range list {
				titles = append(titles, v.Title)
			}
			if before = older; older == 0 {
				break
			}
		}
		if got := strings.Join(titles, ", "); got != "Three of us, Number 3, Number 2, Number 1, Number 0" {
			t.Errorf("bob's list: %s", got)
		}

		// A member who has left can neither read nor write there. When the last member leaves, the conversation is
		// deleted.
		must(t, all.Leave(ctx, s.actor("bob"), id))
		_, err = all.Open(ctx, s.actor("bob"), id, 0, 10)
		refused(t, "reading after leaving", err, 404, "")
		refused(t, "a reply after leaving", all.Reply(ctx, s.actor("bob"), id, "still here", posts.Once{}), 404, "")
		refused(t, "leaving twice", all.Leave(ctx, s.actor("bob"), id), 404, "")
		must(t, all.Leave(ctx, s.actor("mod"), id))
		refused(t, "a reply to nobody", all.Reply(ctx, s.actor("alice"), id, "hello?", posts.Once{}), 403, "alone")
		must(t, all.Leave(ctx, s.actor("alice"), id))
		if n := s.number("SELECT count(*) FROM board_conversation_messages WHERE conversation_id = ?", id); n != 0 {
			t.Errorf("%d messages are left of a conversation of nobody", n)
		}
	})
}

// TestConversationsRefuse makes hostile attempts on conversations.
func TestConversationsRefuse(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx, all := t.Context(), s.service.Conversations
		id := s.talk("Secret", "bob")
		for _, name := range []string{"mod", "admin", "watched"} { // no right opens it
			_, err := all.Open(ctx, s.actor(name), id, 0, 10)
			refused(t, name+" reads", err, 404, "")
			refused(t, name+" replies", all.Reply(ctx, s.actor(name), id, "let me in", posts.Once{}), 404, "")
			refused(t, name+" leaves", all.Leave(ctx, s.actor(name), id), 404, "")
		}
		start := func(user, recipients, message string) error {
			_, err := all.Start(ctx, s.actor(user), conversations.NewConversation{
				Recipients: strings.Split(recipients, ","), Title: "A title", Message: message,
			}, posts.Once{})
			return err
		}
		refused(t, "a name that nobody has", start("alice", "nobody", "hello you"), 422, "not_accepted")
		refused(t, "somebody banned", start("alice", "banned", "hello you"), 422, "not_accepted")
		refused(t, "somebody not let in", start("alice", "awaiting", "hello you"), 422, "not_accepted")
		refused(t, "no one", start("alice", " ,", "hello you"), 422, "required")
		refused(t, "oneself", start("alice", "bob,alice", "hello you"), 422, "self")
		refused(t, "very many", start("alice", strings.Repeat("bob,", 21), "hello you"), 422, "too_many")
		refused(t, "by somebody banned", start("banned", "bob", "hello you"), 403, "")
		refused(t, "by somebody not let in", start("awaiting", "bob", "hello you"), 403, "")
		refused(t, "links of a new member", start("newbie", "bob", "see https://a.example https://b.example https://c.example"), 422, "links")

		s.exec("UPDATE board_users SET suspended_until = ? WHERE username = 'bob'", s.clock.now().Add(time.Hour).UnixMicro())
		refused(t, "by somebody suspended", start("bob", "alice", "hello you"), 403, "suspended")
		refused(t, "a reply of somebody suspended", all.Reply(ctx, s.actor("bob"), id, "hello you", posts.Once{}), 403, "suspended")
		s.exec("UPDATE board_users SET suspended_until = NULL, moderated = 1 WHERE username = 'bob'")
		refused(t, "by somebody who is moderated", start("bob", "alice", "hello you"), 403, "author_moderated")
		s.exec("UPDATE board_users SET moderated = 0, moderated_until = ? WHERE username = 'bob'",
			s.clock.now().Add(time.Hour).UnixMicro())
		refused(t, "by somebody with warnings", start("bob", "alice", "hello you"), 403, "author_moderated")
		s.exec("UPDATE board_users SET moderated_until = 0 WHERE username = 'bob'")

		// A member who is blocked gets the same answer as for a recipient who does not exist.
		alice, bob := s.user("alice"), s.user("bob")
		must(t, s.service.Following.Ignore(ctx, s.actor("alice"), bob))
		must(t, s.service.Following.Ignore(ctx, s.actor("alice"), bob))
		refused(t, "by somebody blocked", start("bob", "alice", "hello you"), 422, "not_accepted")
		refused(t, "to somebody blocked", start("alice", "bob", "hello you"), 422, "blocked")
		refused(t, "a reply of somebody blocked", all.Reply(ctx, s.actor("bob"), id, "hello you", posts.Once{}), 403, "not_accepted")
		refused(t, "a reply to somebody blocked", all.Reply(ctx, s.actor("alice"), id, "hello you", posts.Once{}), 403, "not_accepted")
		if list, err := s.service.Following.Ignored(ctx, s.actor("alice")); err != nil || len(list) != 1 || list[0].Name != "bob" {
			t.Errorf("blocked: %v, %v", list, err)
		}
		must(t, s.service.Following.Unignore(ctx, s.actor("alice"), bob))
		must(t, all.Reply(ctx, s.actor("bob"), id, "hello again", posts.Once{}))
		refused(t, "blocking oneself", s.service.Following.Ignore(ctx, s.actor("alice"), alice), 422, "self")
		refused(t, "blocking nobody", s.service.Following.Ignore(ctx, s.actor("alice"), 1<<40), 404, "")

		// The word filter refuses a message with a word for which a post would be held.
		s.exec("INSERT INTO board_word_filters (pattern, replacement, action) VALUES ('casino', '', 'hold')")
		refused(t, "a word that holds posts", start("alice", "bob", "come to the casino"), 422, "word_filter")
	})
}

// TestConversationsFlood checks that messages count against the limits of posts, and how many conversations a new
// member may start in a day.
func TestConversationsFlood(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		ctx, all := t.Context(), s.service.Conversations
		start := func() error {
			_, err := all.Start(ctx, s.actor("newbie"), conversations.NewConversation{
				Recipients: []string{"bob"}, Title: "A title", Message: "hello you",
			}, posts.Once{})
			return err
		}
		must(t, start())
		must(t, start())
		refused(t, "too fast", start(), 429, "")
		s.clock.advance(time.Hour)
		must(t, start())
		s.clock.advance(time.Hour)
		refused(t, "the fourth of a day", start(), 429, "")
		s.clock.advance(23 * time.Hour)
		must(t, start())
	})
}

// TestConversationsOfDeleted checks that the messages of a deleted member stay for the others without its name.
func TestConversationsOfDeleted(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx, all := t.Context(), s.service.Conversations
		id := s.talk("With bob", "bob")
		must(t, s.service.Following.Ignore(ctx, s.actor("alice"), s.user("mod")))
		must(t, s.service.Admin.DeleteMember(ctx, s.actor("admin"), s.user("alice")))
		page, err := all.Open(ctx, s.actor("bob"), id, 0, 10)
		must(t, err)
		if len(page.People) != 1 || page.Messages[0].Author != (conversations.Person{Name: conversations.DeletedName}) {
			t.Errorf("bob reads %+v", page)
		}
		if n := s.number("SELECT count(*) FROM board_blocks"); n != 0 {
			t.Errorf("%d blocks are left", n)
		}
		must(t, s.service.Admin.DeleteMember(ctx, s.actor("admin"), s.user("bob")))
		if n := s.number("SELECT count(*) FROM board_conversations"); n != 0 {
			t.Errorf("%d conversations of nobody are left", n)
		}
	})
}
