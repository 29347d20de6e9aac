package board

import (
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestReportAgain checks that a member can report a post again after the report was closed, if the post was edited
// since or a day has passed.
func TestReportAgain(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx, mod := t.Context(), s.actor("mod")
		thread, post := s.threadOf("Public thread"), s.postOf("public first")
		report := func(user string, status int, words ...string) {
			t.Helper()
			s.do(user, "POST", path("/posts/%d/report", post), `{"reason":"this is spam"}`).want(status, words...)
		}
		open := func(want int64) {
			t.Helper()
			if n := s.number("SELECT count(*) FROM board_reports WHERE post_id = ? AND closed_at IS NULL", post); n != want {
				t.Errorf("%d open reports, want %d", n, want)
			}
		}
		report("bob", 201)
		report("bob", 409, "conflict")
		must(t, s.service.Admin.CloseReports(ctx, mod, post, "all is well"))
		report("bob", 409, "conflict")
		report("mod", 201) // another member is free to
		open(1)
		must(t, s.service.Admin.CloseReports(ctx, mod, post, ""))

		// The post was edited, by its author a moment after it was posted or by anybody later.
		s.clock.advance(time.Minute)
		s.do("mod", "PATCH", path("/threads/%d/posts/%d", thread, post), `{"message":"public first, now with an advertisement"}`).want(200)
		report("bob", 201)
		report("bob", 409, "conflict")
		open(1)
		must(t, s.service.Admin.CloseReports(ctx, mod, post, ""))
		report("bob", 409, "conflict")
		s.clock.advance(24 * time.Hour)
		report("bob", 201)
		open(1)
		if n := s.number("SELECT count(*) FROM board_reports WHERE post_id = ?", post); n != 4 {
			t.Errorf("%d reports are kept, want all 4", n)
		}
		if err := db.Write(ctx, func(c store.Conn) error {
			_, err := c.Exec("INSERT INTO board_reports (post_id, forum_id, user_id, reason, created_at) SELECT post_id, forum_id, user_id, reason, 1 FROM board_reports WHERE closed_at IS NULL")
			return err
		}); err == nil {
			t.Error("two reports of a member of one post are open")
		}
	})
}

// TestDeleteReported checks that a reported post is deleted and its reports closed, or neither.
func TestDeleteReported(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		ctx, mod, post := t.Context(), s.actor("mod"), s.postOf("public second")
		stands := func(visibility, open int64) {
			t.Helper()
			if v := s.number("SELECT visibility FROM board_posts WHERE id = ?", post); v != visibility {
				t.Errorf("the post is %s, want %s", rights.VisibilityNames[v], rights.VisibilityNames[visibility])
			}
			if n := s.number("SELECT count(*) FROM board_reports WHERE post_id = ? AND closed_at IS NULL", post); n != open {
				t.Errorf("%d open reports, want %d", n, open)
			}
			s.exact()
		}
		refused(t, "what nobody reported", s.service.Admin.DeleteReported(ctx, mod, post, ""), 409, "")
		stands(rights.Visible, 0)
		s.do("bob", "POST", path("/posts/%d/report", post), `{"reason":"this is spam"}`).want(201)
		refused(t, "a note that is none", s.service.Admin.DeleteReported(ctx, mod, post, strings.Repeat("x", 201)), 422, "too_long")
		stands(rights.Visible, 1)
		refused(t, "a member", s.service.Admin.DeleteReported(ctx, s.actor("bob"), post, ""), 403, "no_permission")
		stands(rights.Visible, 1)
		must(t, s.service.Admin.DeleteReported(ctx, mod, post, "spam"))
		stands(rights.Deleted, 0)

		// A report of a post that was deleted meanwhile is closed.
		s.exec("UPDATE board_reports SET closed_at = NULL")
		must(t, s.service.Admin.DeleteReported(ctx, mod, post, ""))
		stands(rights.Deleted, 0)
	})
}
