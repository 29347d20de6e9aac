package store

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/zap"
)

func TestSQLiteFilesArePrivate(t *testing.T) {
	t.Parallel()
	// A name made of characters that mean something in a URI.
	folder := filepath.Join(t.TempDir(), "new", "a b?c=d&e%20#f")
	p := place{dialect: SQLite, location: filepath.Join(folder, "x?y%41.db")}
	db := p.start(t)
	if err := writeItem(t.Context(), db, 1); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(folder)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o700 {
		t.Errorf("folder has mode %v", info.Mode())
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, f := range files {
		names[f.Name()] = true
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", f.Name(), info.Mode())
		}
	}
	if !names["x?y%41.db"] || !names["x?y%41.db-wal"] {
		t.Errorf("files are %v", names)
	}
}

func TestSQLiteSettings(t *testing.T) {
	t.Parallel()
	for option, want := range map[string]int{"": 2, "full": 2, "normal": 1} {
		db, err := NewSQLite(SQLiteOptions{Path: filepath.Join(t.TempDir(), "x.db"), Synchronous: option}, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		db.Start(t.Context())
		pragma := func(name string) (n int) {
			t.Helper()
			err := db.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				return tx.QueryRowContext(ctx, "PRAGMA "+name).Scan(&n)
			})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if got := pragma("synchronous"); got != want {
			t.Errorf("synchronous %q: pragma is %d, want %d", option, got, want)
		}
		if got := pragma("foreign_keys"); got != 1 {
			t.Errorf("foreign_keys is %d", got)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSQLiteReadersCannotWrite(t *testing.T) {
	t.Parallel()
	db := sqliteAt(t).start(t)
	err := db.Read(t.Context(), func(ctx context.Context, r *sql.DB) error {
		_, err := r.ExecContext(ctx, "INSERT INTO items (id, name) VALUES (1, 'x')")
		return err
	})
	if err == nil || has(t, db, 1) {
		t.Fatalf("a reader could write, error is %v", err)
	}
}

func TestSQLiteStartsOnceThePathIsUsable(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(folder, []byte("in the way"), 0o600); err != nil {
		t.Fatal(err)
	}
	logger, seen := logs()
	db, err := NewSQLite(SQLiteOptions{Path: filepath.Join(folder, "x.db")}, logger)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Register(testSchema()); err != nil {
		t.Fatal(err)
	}
	db.Start(t.Context())
	wantError(t, db.Ready(), ErrUnavailable)
	db.Start(t.Context())
	wantError(t, writeItem(t.Context(), db, 1), ErrUnavailable)
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	if err := db.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := writeItem(t.Context(), db, 1); err != nil {
		t.Fatal(err)
	}
	if down, back := said(seen, "database unavailable"), said(seen, "database is back"); down != 1 || back != 1 {
		t.Errorf("logged down %d times and back %d times, want once each", down, back)
	}
}
