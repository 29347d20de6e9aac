package board

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// BenchmarkThreadList is a page of 25 threads for a guest, in process.
func BenchmarkThreadList(b *testing.B) {
	db, err := store.NewSQLite(store.SQLiteOptions{Path: filepath.Join(b.TempDir(), "board.db")}, zap.NewNop())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Register(Schema()); err != nil {
		b.Fatal(err)
	}
	testenv.Open(b, db)
	s := New(db, Options{}, zap.NewNop(), time.Now)
	defer s.Close()
	if err := s.Ready(b.Context()); err != nil {
		b.Fatal(err)
	}
	err = s.write(b.Context(), func(c conn) error {
		for n := range 100 {
			_, err := c.exec("INSERT INTO board_threads (forum_id, title, slug, author_name, visibility, last_poster_name, created_at, last_post_at)"+
				" VALUES (2, ?, ?, 'alice', 0, 'bob', ?, ?)", fmt.Sprintf("The title of thread %d", n), fmt.Sprintf("the-title-of-thread-%d", n), n, n)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	api := s.API()
	b.ReportAllocs()
	for b.Loop() {
		guest, err := s.Guest(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, Mount+"/forums/2/threads", http.NoBody)
		if err := api.Serve(w, r, guest); err != nil || w.Code != http.StatusOK {
			b.Fatal(w.Code, err)
		}
	}
}
