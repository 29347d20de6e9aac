package web_test

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestHistory checks that the history of a post that was edited often has several pages with few edits each.
func TestHistory(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		post := s.post("common second")
		for i := range 25 {
			s.exec(at("INSERT INTO board_post_revisions (post_id, revision, message, edited_by, edited_at) VALUES (%d, %d, 'text %d.', 'eve', %d)", post, i+1, i+1, begins.UnixMicro()))
		}
		first := at("/threads/%d/posts/%d/history", s.thread("Open thread"), post)
		b := s.as("eve")
		p := b.Get(first).Want(200, "Edit 25 by eve", "<del>text 25.", "<ins>common second", "Edit 16 by", "<del>text 16.", "<ins>text 17.", "?before=16").Lacks("Edit 15 by")
		p = p.Get(first+"?before=16").Want(200, "Edit 15 by", "<del>text 15.", "<ins>text 16.", "Edit 6 by", "?before=6").Lacks("Edit 16 by").Lacks("Edit 5 by")
		p = p.Get(first+"?before=6").Want(200, "Edit 5 by", "<ins>text 6.", "Edit 1 by", "<del>text 1.").Lacks("?before=")
		p.Get(first+"?before=1").Want(200, "not edited").Lacks("?before=")
		p.Get(first + "?before=x").Want(400)
	})
}
