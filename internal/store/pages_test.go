package store

import (
	"database/sql"
	"path/filepath"
	"testing"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// TestPageSize checks that new files get large pages, and that files of an earlier version keep their page size and
// accept writes.
func TestPageSize(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, page, merge int }{
		"new":      {0, 16384, 512},
		"existing": {4096, 4096, 2048},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "x.db")
			if c.before != 0 {
				old, err := sql.Open("sqlite", fileURI(file)+"?_pragma="+pragma("page_size", c.before))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := old.ExecContext(t.Context(), "CREATE TABLE there (n INTEGER)"); err != nil {
					t.Fatal(err)
				}
				if err := old.Close(); err != nil {
					t.Fatal(err)
				}
			}
			db, err := NewSQLite(SQLiteOptions{Path: file}, zap.NewNop())
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			testenv.Open(t, db)
			got := map[string]int{}
			err = db.Write(t.Context(), func(c Conn) error {
				for _, name := range []string{"page_size", "wal_autocheckpoint", "cache_size", "temp_store"} {
					var n int
					if err := c.Row("PRAGMA " + name).Scan(&n); err != nil {
						return err
					}
					got[name] = n
				}
				_, err := c.Exec("CREATE TABLE more (n INTEGER)")
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range map[string]int{"page_size": c.page, "wal_autocheckpoint": c.merge, "cache_size": -32 << 10, "temp_store": 2} {
				if got[name] != want {
					t.Errorf("%s is %d, want %d", name, got[name], want)
				}
			}
		})
	}
}
