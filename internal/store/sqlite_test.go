package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// TestFileNamed checks that the error about a file that cannot be opened names it.
func TestFileNamed(t *testing.T) {
	t.Parallel()
	for ending, open := range map[string]func(*testing.T, place) error{
		".migrate.lock": func(t *testing.T, p place) error {
			_, err := lockFile(t.Context(), p.location+".migrate.lock", migrateLockWait)
			return err
		},
		LockEnding: func(t *testing.T, p place) error {
			_, err := HoldSQLite(t.Context(), p.location)
			return err
		},
		"": func(t *testing.T, p place) error {
			db, err := p.open(zap.NewNop())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			db.Start(t.Context())
			return db.Ready()
		},
	} {
		t.Run(ending, func(t *testing.T) {
			t.Parallel()
			p := sqliteAt(t)
			if err := os.MkdirAll(p.location+ending, 0o700); err != nil { // a folder: permissions do not stop root
				t.Fatal(err)
			}
			if err := open(t, p); err == nil || !strings.Contains(err.Error(), p.location+ending+", which may belong to another user") {
				t.Errorf("the error does not name the file: %v", err)
			}
		})
	}
}

func TestSQLiteFilesArePrivate(t *testing.T) {
	t.Parallel()
	// A name of characters that have a meaning in a URI.
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
		testenv.Open(t, db)
		pragma := func(name string) (n int) {
			t.Helper()
			err := db.Write(t.Context(), func(c Conn) error {
				return c.Row("PRAGMA " + name).Scan(&n)
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
	err := db.Read(t.Context(), func(c Conn) error {
		_, err := c.Exec("INSERT INTO items (id, name) VALUES (1, 'x')")
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
	if down, up := logged(seen, "database unavailable"), logged(seen, "database is back"); down != 1 || up != 1 {
		t.Errorf("logged down %d times and back %d times, want once each", down, up)
	}
}

// TestSQLiteFull checks that a full disk makes writes, and only writes, unavailable until one succeeds. A limit of
// pages stands for the disk.
func TestSQLiteFull(t *testing.T) {
	t.Parallel()
	logger, seen := logs()
	db, err := sqliteAt(t).open(logger)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Register(testSchema()); err != nil {
		t.Fatal(err)
	}
	testenv.Open(t, db)
	setting := func(pragma string) {
		t.Helper()
		// The PRAGMA is executed on the writer's connection outside of a transaction, since it has no effect inside.
		if _, err := db.engine.(*sqlite).pools.Load().writer.conn.ExecContext(t.Context(), pragma); err != nil {
			t.Fatal(err)
		}
	}
	fill := func() error {
		return db.Write(t.Context(), func(c Conn) error {
			_, err := c.Exec("INSERT INTO items (id, name) VALUES (1, ?)", strings.Repeat("x", 1<<20))
			return err
		})
	}
	setting("PRAGMA max_page_count = 1") // SQLite uses the current number of pages
	for range 3 {
		wantError(t, fill(), ErrUnavailable)
	}
	wantError(t, db.Ready(), ErrUnavailable)
	if has(t, db, 1) {
		t.Error("a row of a failed write is there")
	}
	if n := logged(seen, "database cannot be written"); n != 1 {
		t.Errorf("logged %d times", n)
	}
	setting("PRAGMA max_page_count = 1000000")
	if err := fill(); err != nil {
		t.Fatal(err)
	}
	if err := db.Ready(); err != nil || logged(seen, "database can be written again") != 1 {
		t.Errorf("after a write: %v", err)
	}

	// Without a further write, the keeper notices that the database is writable again.
	setting("PRAGMA query_only = on")
	wantError(t, writeItem(t.Context(), db, 2), ErrUnavailable)
	wantError(t, db.Ready(), ErrUnavailable)
	setting("PRAGMA query_only = off")
	eventually(t, "the keeper has written", func() bool { return db.Ready() == nil })
}

// TestSQLiteWriteInReadIsCallersFault checks that an attempt to write in a Read is the fault of the caller.
func TestSQLiteWriteInReadIsCallersFault(t *testing.T) {
	t.Parallel()
	db := sqliteAt(t).start(t)
	err := db.Read(t.Context(), func(c Conn) error {
		_, err := c.Exec("INSERT INTO items (id, name) VALUES (1, 'x')")
		return err
	})
	if err == nil || errors.Is(err, ErrUnavailable) || db.Ready() != nil {
		t.Errorf("error %v, ready %v", err, db.Ready())
	}
}

// TestSQLiteFileRemoved checks that a removed file is noticed, and that a file that takes its place is opened.
func TestSQLiteFileRemoved(t *testing.T) {
	t.Parallel()
	p := sqliteAt(t)
	logger, seen := logs()
	db, err := p.open(logger)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Register(testSchema()); err != nil {
		t.Fatal(err)
	}
	testenv.Open(t, db)
	if err := writeItem(t.Context(), db, 1); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(p.location + suffix); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the file is missed", func() bool { return logged(seen, "database unavailable") == 2 })
	wantError(t, db.Ready(), ErrUnavailable)
	wantError(t, writeItem(t.Context(), db, 2), ErrUnavailable)
	if _, err := os.Stat(p.location); err == nil {
		t.Error("an empty database has replaced the removed file")
	}

	other := p.start(t)
	if err := writeItem(t.Context(), other, 3); err != nil {
		t.Fatal(err)
	}
	if err := db.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := writeItem(t.Context(), db, 4); err != nil {
		t.Fatal(err)
	}
	if has(t, db, 1) || !has(t, db, 3) || !has(t, other, 4) {
		t.Errorf("the two work on different databases: %t %t %t", has(t, db, 1), has(t, db, 3), has(t, other, 4))
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := writeItem(t.Context(), other, 5); err != nil || !has(t, other, 5) {
		t.Errorf("behind the close of the first: %v", err)
	}
}

// TestSQLiteFileReplaced checks that a backup that replaces the file does not get the pages that are still in the log
// of the old file.
func TestSQLiteFileReplaced(t *testing.T) {
	t.Parallel()
	p := sqliteAt(t)
	logger, seen := logs()
	db, err := p.open(logger)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Register(testSchema()); err != nil {
		t.Fatal(err)
	}
	testenv.Open(t, db)
	if err := writeItem(t.Context(), db, 1); err != nil {
		t.Fatal(err)
	}
	backup := p.location + ".backup"
	if err := db.Read(t.Context(), func(c Conn) error {
		_, err := c.Exec("VACUUM INTO ?", backup)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := writeItem(t.Context(), db, 2); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(backup, p.location); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the log of the file before is missed", func() bool { return logged(seen, "database unavailable") >= 2 })
	wantError(t, db.Ready(), ErrUnavailable)
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Rename(p.location+suffix, p.location+suffix+".old"); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !has(t, db, 1) || has(t, db, 2) {
		t.Errorf("the row of the backup is there: %t, the later row: %t", has(t, db, 1), has(t, db, 2))
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestHold checks that one process at a time holds a file, and that the error names the process.
func TestHold(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "new", "x.db")
	release, err := HoldSQLite(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	var held *HeldError
	if _, err := HoldSQLite(t.Context(), file); !errors.As(err, &held) || held.Process != int64(os.Getpid()) || held.File != file {
		t.Errorf("got the error %v, want a HeldError with this process", err)
	}
	release()
	release, err = HoldSQLite(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	release()
}
