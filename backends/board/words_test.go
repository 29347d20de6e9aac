package board

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/search"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestWordsAreFolded checks that on PostgreSQL the words of new posts do not stay in the pending list of the index.
func TestWordsAreFolded(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		if db.Dialect() == store.SQLite {
			return
		}
		s := newSite(t, db, kernel.Options{NoFlood: true})
		s.exec("CREATE EXTENSION pgstattuple")
		listed := func() int64 {
			return s.number("SELECT pending_tuples FROM pgstatginindex('board_search_words')")
		}
		thread := s.number("SELECT min(id) FROM board_threads WHERE visibility = 0 AND forum_id = ?", s.forum("public"))
		s.do("bob", "POST", path("/threads/%d/posts", thread), `{"message":"the first of many"}`).want(201)
		if listed() == 0 {
			t.Fatal("no words are listed")
		}
		for range search.WordsToFold {
			s.service.Search.CountWords()
		}
		for deadline := time.Now().Add(2 * time.Minute); listed() != 0; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the words stay in the list")
			}
		}
	})
}

// TestWordIndexLeafSize checks that on SQLite the index of words has small leaves, so that a reply that merges some of
// them does not take long.
func TestWordIndexLeafSize(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		if db.Dialect() != store.SQLite {
			return
		}
		s := newSite(t, db, kernel.Options{NoFlood: true})
		thread := s.number("SELECT min(id) FROM board_threads WHERE visibility = 0 AND forum_id = ?", s.forum("public"))
		for i := range 20 {
			var words strings.Builder
			for j := range 200 {
				fmt.Fprintf(&words, "word%dx%d ", i, j)
			}
			s.do("bob", "POST", path("/threads/%d/posts", thread), `{"message":"`+words.String()+`"}`).want(201)
		}
		if n, maxSize := s.number("SELECT count(*) FROM board_search_data"), s.number("SELECT max(length(block)) FROM board_search_data"); n < 20 || maxSize > 1100 {
			t.Errorf("the largest of %d leaves has %d bytes", n, maxSize)
		}
	})
}
