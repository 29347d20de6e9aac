package store

import (
	"context"
	"database/sql"
	"os"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"
)

// unmerged is a DB whose log nobody merges, and what starts a merger of logs of
// some size.
func unmerged(t *testing.T) (db *DB, file string, start func(size int)) {
	t.Helper()
	p := sqliteAt(t)
	db = p.start(t)
	engine := db.engine.(*sqlite)
	pools := engine.pools.Load()
	if err := pools.merger.close(); err != nil {
		t.Fatal(err)
	}
	start = func(size int) {
		t.Helper()
		merging, err := engine.openMerging(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pools.merger = newMerger(merging, pools.writer, size, pageSize, zap.NewNop())
	}
	return db, p.location, start
}

// rewrite changes a row of so many bytes.
func rewrite(t *testing.T, db *DB, bytes int) {
	t.Helper()
	err := db.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO items (id, name) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET name = excluded.name", strings.Repeat("x", bytes))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func fileSize(t *testing.T, file string) int64 {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestCommitsDoNotMerge: a commit that finds a long log leaves it to the merger,
// which needs no other commit to end before it.
func TestCommitsDoNotMerge(t *testing.T) {
	t.Parallel()
	db, file, start := unmerged(t)
	const bytes = 40 << 20
	rewrite(t, db, bytes)
	if size := fileSize(t, file); size > bytes {
		t.Errorf("a commit has merged the log: the file has %d bytes", size)
	}
	start(walMerge)
	rewrite(t, db, 1)
	release := hold(t, db)
	// The pages that the large row has left are free, and the file keeps them.
	eventually(t, "the log is merged beside a transaction", func() bool { return fileSize(t, file) > bytes })
	release()
	logged := &db.engine.(*sqlite).pools.Load().writer.logged
	eventually(t, "the log begins anew", func() bool { return logged.Load() < walMerge/pageSize })
	if number(t, db, "SELECT length(name) FROM items") != 1 {
		t.Error("the last change is lost")
	}
}

// TestLogIsBounded: the log begins anew while there are always readers and commits.
func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	db, file, start := unmerged(t)
	const merge, most, each, changes = 1 << 20, 12 << 20, 256 << 10, 160
	start(merge)
	rewrite(t, db, each)
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	defer readers.Wait()
	defer stop()
	for range 3 {
		readers.Go(func() {
			for ctx.Err() == nil {
				_ = db.Read(ctx, func(ctx context.Context, r *sql.DB) error {
					var n int
					return r.QueryRowContext(ctx, "SELECT length(name) FROM items").Scan(&n)
				})
			}
		})
	}
	for n := range changes {
		rewrite(t, db, each+n)
	}
	if size := fileSize(t, file+"-wal"); size > most {
		t.Errorf("the log has %d bytes after %d were written, more than %d", size, each*changes, most)
	}
}

// TestLogOfALongRead: what a reader holds back is merged once it is gone.
func TestLogOfALongRead(t *testing.T) {
	t.Parallel()
	db, _, start := unmerged(t)
	const merge = 1 << 20
	start(merge)
	rewrite(t, db, 1)
	var tx *sql.Tx
	err := db.Read(t.Context(), func(ctx context.Context, r *sql.DB) (err error) {
		if tx, err = r.BeginTx(t.Context(), nil); err != nil {
			return err
		}
		var n int
		return tx.QueryRowContext(ctx, "SELECT length(name) FROM items").Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 8 {
		rewrite(t, db, merge)
	}
	logged := &db.engine.(*sqlite).pools.Load().writer.logged
	if pages := logged.Load(); pages < 8*merge/pageSize {
		t.Errorf("only %d pages are in the log", pages)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the log begins anew", func() bool {
		rewrite(t, db, merge/8)
		return logged.Load() < merge/pageSize
	})
}
