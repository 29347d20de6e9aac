package board

import (
	"encoding/json"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestRevisionsAreBounded checks that the history of a post keeps few texts, however often the post was edited.
func TestRevisionsAreBounded(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		thread, post := s.threadOf("Public thread"), s.number("SELECT first_post_id FROM board_threads WHERE title = 'Public thread'")
		for i := range kernel.MaxPage + 2 {
			s.exec("INSERT INTO board_post_revisions (post_id, revision, message, edited_by, edited_at) VALUES (?, ?, 'text', 'alice', 1)", post, i+1)
		}
		answer := s.do("mod", "GET", path("/threads/%d/posts/%d/revisions", thread, post), "").want(200)
		var list struct{ Data []struct{ Revision int } }
		if err := json.Unmarshal([]byte(answer.body), &list); err != nil {
			t.Fatal(err)
		}
		if n := len(list.Data); n != kernel.MaxPage || list.Data[0].Revision != 3 || list.Data[n-1].Revision != kernel.MaxPage+2 {
			t.Errorf("%d texts: %+v", n, list.Data)
		}
	})
}
