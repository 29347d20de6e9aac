package board

import (
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/drafts"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestDrafts saves, lists, replaces and deletes drafts, and checks their limits and how long they last.
func TestDrafts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx, all, bob := t.Context(), s.service.Drafts, s.actor("bob")
		reply := drafts.Place{Kind: drafts.Reply, ID: s.threadOf("Public thread")}
		save := func(d drafts.Draft) {
			t.Helper()
			s.clock.advance(time.Second)
			must(t, all.Save(ctx, bob, d))
		}
		draft := func(name string, place drafts.Place) string {
			t.Helper()
			d, err := all.Of(ctx, s.actor(name), place)
			must(t, err)
			if d == nil {
				return ""
			}
			return d.Title + "|" + d.Recipients + "|" + d.Tags + d.Message
		}
		save(drafts.Draft{Place: reply, Message: " first\r\nline\x00 "})
		save(drafts.Draft{Place: reply, Message: "second"})
		save(drafts.Draft{Place: drafts.Place{Kind: drafts.Thread, ID: s.forum("public")}, Title: "A title", Prefix: 1, Tags: " cats, dogs "})
		save(drafts.Draft{Place: drafts.Place{Kind: drafts.Message}, Recipients: "alice", Title: "Hello", Message: "you"})
		save(drafts.Draft{Place: drafts.Place{Kind: drafts.Reply, ID: s.threadOf("Staff thread")}, Message: "not for me"})
		if got := draft("bob", reply); got != "||second" {
			t.Errorf("the draft is %q", got)
		}
		if got := draft("bob", drafts.Place{Kind: drafts.Thread, ID: s.forum("public")}); got != "A title||cats, dogs" {
			t.Errorf("the draft of a thread is %q", got)
		}
		if got := draft("alice", reply); got != "" {
			t.Errorf("another member reads %q", got)
		}
		list, err := all.List(ctx, bob)
		must(t, err)
		in := make([]string, 0, len(list))
		for _, d := range list {
			in = append(in, d.In+" "+d.Path())
			if d.Gone() != (d.Message == "not for me") {
				t.Errorf("%+v is gone: %t", d, d.Gone())
			}
		}
		want := path(" /threads/%d/reply; /conversations/new;Public /forums/%d/new;Public thread /threads/%d/reply", s.threadOf("Staff thread"), s.forum("public"), reply.ID)
		if got := strings.Join(in, ";"); got != want {
			t.Errorf("the list is %q, want %q", got, want)
		}
		refused(t, "the draft of another member", all.Discard(ctx, s.actor("alice"), list[0].Row), 404, "")
		must(t, all.Discard(ctx, bob, list[0].Row))
		must(t, all.Delete(ctx, bob, drafts.Place{Kind: drafts.Message}))
		save(drafts.Draft{Place: reply, Message: " \n "}) // nothing is left of it
		if n := s.number("SELECT count(*) FROM board_drafts"); n != 1 {
			t.Errorf("%d drafts are left, want 1", n)
		}

		limit := s.actor("bob").Settings().MaxMessage
		refused(t, "a very long draft", all.Save(ctx, bob, drafts.Draft{Place: reply, Message: strings.Repeat("ä", int(2*limit+1))}), 422, "too_long")
		refused(t, "very many tags", all.Save(ctx, bob, drafts.Draft{Place: reply, Message: "text", Tags: strings.Repeat("x", 1001)}), 422, "too_long")
		save(drafts.Draft{Place: reply, Message: strings.Repeat("ä", int(2*limit))})
		for n := range drafts.MaxEach - 2 {
			save(drafts.Draft{Place: drafts.Place{Kind: drafts.Message, ID: int64(n + 1)}, Message: "one of many"})
		}
		refused(t, "one too many", all.Save(ctx, bob, drafts.Draft{Place: drafts.Place{Kind: drafts.Message, ID: 999}, Message: "too many"}), 409, "")
		save(drafts.Draft{Place: reply, Message: "instead"}) // replaces one of them

		s.clock.advance(drafts.Keep - time.Second)
		must(t, purged(s))
		if n := s.number("SELECT count(*) FROM board_drafts"); n != 1 {
			t.Errorf("after 90 days %d drafts are left, want the one that was saved last", n)
		}
		must(t, s.service.Admin.DeleteMember(ctx, s.actor("admin"), s.user("bob")))
		if n := s.number("SELECT count(*) FROM board_drafts"); n != 0 {
			t.Errorf("%d drafts of a deleted member are left", n)
		}
	})
}
