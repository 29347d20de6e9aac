package board

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// threadLister returns what reads a page of 25 threads for a guest, in process.
func threadLister(tb testing.TB) (list func() error) {
	tb.Helper()
	db, err := store.NewSQLite(store.SQLiteOptions{Path: filepath.Join(tb.TempDir(), "board.db")}, zap.NewNop())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	if err := db.Register(Schema()); err != nil {
		tb.Fatal(err)
	}
	testenv.Open(tb, db)
	s := New(db, kernel.Options{}, zap.NewNop(), time.Now)
	tb.Cleanup(s.Close)
	if err := s.Ready(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	err = s.kernel.Write(tb.Context(), func(c store.Conn) error {
		for n := range 100 {
			_, err := c.Exec("INSERT INTO board_threads (forum_id, title, slug, author_name, visibility, last_poster_name, created_at, last_post_at)"+
				" VALUES (2, ?, ?, 'alice', 0, 'bob', ?, ?)", fmt.Sprintf("The title of thread %d", n), fmt.Sprintf("the-title-of-thread-%d", n), n, n)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	api := s.API()
	return func() error {
		guest, err := s.Rights.Guest(tb.Context())
		if err != nil {
			return err
		}
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(tb.Context(), http.MethodGet, kernel.Mount+"/forums/2/threads", http.NoBody)
		if err := api.Serve(w, r, guest); err != nil || w.Code != http.StatusOK {
			return fmt.Errorf("%d: %w", w.Code, err)
		}
		return nil
	}
}

func BenchmarkThreadList(b *testing.B) {
	list := threadLister(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := list(); err != nil {
			b.Fatal(err)
		}
	}
}

// TestThreadListAllocations checks that the number of allocations per listed thread is bounded.
func TestThreadListAllocations(t *testing.T) {
	list := threadLister(t)
	const limit = 400
	if n := testing.AllocsPerRun(100, func() {
		if err := list(); err != nil {
			t.Fatal(err)
		}
	}); n > limit {
		t.Errorf("a list of 25 threads allocates %.0f times, more than %d", n, limit)
	}
}
