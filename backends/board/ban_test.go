package board

import (
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestBanOfAwaiting checks that banning a member who waits for approval, which would let the member in later, is
// refused.
func TestBanOfAwaiting(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx, admin, awaiting := t.Context(), s.actor("admin"), s.user("awaiting")
		refused(t, "ban for an hour", s.service.Admin.Ban(ctx, admin, awaiting, kernel.MomentOf(s.clock.now().Add(time.Hour)), ""), 409, "")
		refused(t, "ban for ever", s.service.Admin.Ban(ctx, admin, awaiting, 0, ""), 409, "")
		refused(t, "unban", s.service.Admin.Unban(ctx, admin, awaiting), 409, "")
		s.clock.advance(2 * time.Hour)
		s.do("awaiting", "GET", "/me", "").want(403, "owner_unavailable")
		must(t, s.service.Admin.ApproveMember(ctx, admin, awaiting))
		must(t, s.service.Admin.Ban(ctx, admin, awaiting, 0, ""))
	})
}

// TestMailAfterBan checks that a banned member is mailed again once the ban has ended.
func TestMailAfterBan(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		s.exec("UPDATE board_users SET email_confirmed = 1, email = 'alice@example.com' WHERE username = 'alice'")
		thread := path("/threads/%d", s.threadOf("Members thread"))
		s.do("alice", "PUT", thread+"/subscription", `{"mode":"instant"}`).want(200)
		alice := s.user("alice")
		mailed := func(message string) bool {
			s.do("bob", "POST", thread+"/posts", `{"message":"`+message+`"}`).want(201)
			s.clock.advance(time.Hour)
			return s.mails()["alice instant"] != nil
		}
		must(t, s.service.Admin.Ban(t.Context(), s.actor("admin"), alice, kernel.MomentOf(s.clock.now().Add(90*time.Minute)), ""))
		if mailed("While the ban lasts") {
			t.Error("a banned member is mailed")
		}
		s.clock.advance(time.Hour)
		if !mailed("After the ban") {
			t.Error("a member whose ban has ended is not mailed")
		}
		must(t, s.service.Admin.Ban(t.Context(), s.actor("admin"), alice, 0, ""))
		if mailed("Banned for ever") {
			t.Error("a member who is banned forever is mailed")
		}
	})
}
