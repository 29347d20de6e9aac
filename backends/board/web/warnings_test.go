package web_test

import (
	"net/http"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestWarningPages checks that a moderator warns a member and keeps a record of the member, and what the member sees
// of both.
func TestWarningPages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		second, thread, eve := s.post("common second"), s.thread("Open thread"), s.user("eve")
		form := at("/posts/%d/warn", second)
		if p := s.as("bob").Get(form); p.StatusCode != http.StatusForbidden {
			t.Errorf("a member may warn: %d", p.StatusCode)
		}
		s.as("bob").Get(at("/threads/%d", thread)).Want(200).Lacks(form)
		mod := s.as("mod")
		mod.Get(at("/threads/%d", thread)).Want(200, form)
		ask := mod.Get(form).Want(200, "Warn eve")
		ask.Send(form, "reason", "", "points", "1", "days", "9").Want(422, "Tell the member the reason")
		ask.Send(form, "reason", "rude words", "points", "3", "days", "9").Want(200, "The member is warned.", "rude words", "3 points count")

		member := at("/members/%d", eve)
		mod.Get(member).Send(member+"/record", "do", "note", "message", "came from another board").Want(200, "came from another board")
		mod.Get(member).Send(member+"/record", "do", "note", "message", "").Want(422)
		for _, name := range []string{"bob", "eve"} {
			s.as(name).Get(member).Want(200).Lacks("rude words", "came from another board", "For moderators")
		}
		victim := s.as("eve")
		victim.Get("/account/notifications").Want(200, "warned you", "Open thread")
		victim.Get("/account/warnings").Want(200, "rude words", "Counts until")
		if p := victim.Get(member).Send(member+"/record", "do", "withdraw", "id", "1"); p.StatusCode != http.StatusNotFound {
			t.Errorf("the member withdraws the warning: %d", p.StatusCode)
		}
		mod.Get(member).Send(member+"/record", "do", "withdraw", "id", "1").Want(200, "withdrawn", "0 points count")
		mod.Get(member).Send(member+"/record", "do", "forget", "id", "1").Want(200, "The note is deleted.")
		mod.Get(member).Send(member+"/record", "do", "other").Want(400)
		victim.Get("/account/warnings").Want(200, "withdrawn")
	})
}
