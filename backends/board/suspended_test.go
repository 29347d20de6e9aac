package board

import (
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestSuspendedModerator checks that a suspended moderator can settle nothing, and is offered nothing to settle.
func TestSuspendedModerator(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		held, deleted, thread := s.postOf("public held"), s.postOf("public deleted"), s.threadOf("Public thread")
		end := s.clock.now().Add(time.Hour)
		must(t, s.service.Admin.Suspend(t.Context(), s.actor("admin"), s.user("mod"), kernel.MomentOf(end), ""))
		offered := func() (n int) {
			t.Helper()
			page, err := s.service.Posts.ReadThread(t.Context(), s.actor("mod"), thread, 0, 50)
			must(t, err)
			for _, p := range page.Posts {
				if p.Approve || p.Restore {
					n++
				}
			}
			return n
		}
		approve, reject, restore := path("/moderation/queue/%d/approve", held), path("/moderation/queue/%d/reject", held), path("/posts/%d/restore", deleted)
		for _, target := range []string{approve, reject, restore} {
			s.do("mod", "POST", target, "").want(403, "forbidden", "suspended")
		}
		s.do("mod", "POST", path("/posts/%d/report", s.postOf("public first")), `{"reason":"look at this"}`).want(403, "forbidden", "suspended")
		s.do("alice", "POST", restore, "").want(404) // the right is checked first
		if _, err := s.service.Admin.SettleAll(t.Context(), s.actor("mod"), []int64{held}, true, "", nil); err == nil {
			t.Error("settled from the page")
		}
		if n := offered(); n != 0 {
			t.Errorf("%d posts are offered", n)
		}
		s.do("mod", "GET", "/moderation/queue", "").want(200) // reading is still allowed
		s.clock.advance(time.Hour)
		if n := offered(); n != 2 {
			t.Errorf("%d posts are offered, want 2", n)
		}
		s.do("mod", "POST", approve, "").want(200)
		s.do("mod", "POST", restore, "").want(200)
		s.exact()
	})
}
