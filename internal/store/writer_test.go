package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sqlitelib "modernc.org/sqlite/lib"

	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

func sqliteAt(tb testing.TB) place {
	tb.Helper()
	return place{dialect: SQLite, location: filepath.Join(tb.TempDir(), "test.db")}
}

func TestWritesThatWaitShareACommit(t *testing.T) {
	t.Parallel()
	db := sqliteAt(t).start(t)
	w := db.engine.(*sqlite).pools.Load().writer
	const writers = 200
	release := hold(t, db)
	before := w.commits.Load()
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			if err := writeItem(t.Context(), db, i); err != nil {
				t.Error(err)
			}
		})
	}
	queued(t, db, writers)
	release()
	wg.Wait()
	commits := w.commits.Load() - before
	t.Logf("%d commits for %d writes", commits, writers+1)
	// The time limit may end a group early, but not so early that each write has its own commit.
	if commits > writers/4 {
		t.Errorf("%d commits for %d writes", commits, writers+1)
	}
	if n := number(t, db, "SELECT count(*) FROM items"); n != writers {
		t.Errorf("%d rows, want %d", n, writers)
	}
}

// group runs the writes as one group, in their order, and returns their errors.
func group(t *testing.T, db *DB, writes ...func(Conn) error) []error {
	t.Helper()
	release := hold(t, db)
	errs := make([]error, len(writes))
	var wg sync.WaitGroup
	for i, fn := range writes {
		wg.Go(func() { errs[i] = db.Write(t.Context(), fn) })
		queued(t, db, i+1)
	}
	release()
	wg.Wait()
	return errs
}

// TestChangeThatSpoilsTheTransaction checks cases in which SQLite rolls back the whole transaction: only the change at
// fault may fail.
func TestChangeThatSpoilsTheTransaction(t *testing.T) {
	t.Parallel()
	full := func(c Conn) error {
		var pages int
		if err := c.Row("PRAGMA page_count").Scan(&pages); err != nil {
			return err
		}
		if _, err := c.Exec("PRAGMA max_page_count = 1"); err != nil { // SQLite uses the current number of pages
			return err
		}
		defer func() { _, _ = c.Exec("PRAGMA max_page_count = 4294967294") }()
		_, err := c.Exec("INSERT INTO items (id, name) VALUES (1000, hex(zeroblob(1000000)))")
		return err
	}
	interrupted := func(c Conn) error {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		_, err := c.q.ExecContext(ctx, `INSERT INTO items (id, name)
			WITH RECURSIVE n (i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n) SELECT i, 'x' || i FROM n`)
		return err
	}
	deferred := func(c Conn) error {
		_, err := c.Exec("INSERT INTO parts (item) VALUES (1000)")
		return err
	}
	atTheEnd := func(c Conn) error { return c.Last("INSERT INTO items (id, name) VALUES (1000, NULL)") }
	silentAtTheEnd := func(c Conn) error {
		_ = full(c)
		return c.Last("INSERT INTO items (id, name) VALUES (1000, 'left')")
	}
	silent := func(c Conn) error {
		_ = full(c)
		return nil
	}
	ends := func(statement string) func(Conn) error {
		return func(c Conn) error {
			_, err := c.Exec(statement)
			return err
		}
	}

	for name, test := range map[string]struct {
		spoiler func(Conn) error
		others  bool // the other changes of the group succeed
		check   func(error) bool
	}{
		"disk full":           {full, true, func(err error) bool { return sqliteCode(err) == sqlitelib.SQLITE_FULL }},
		"interrupted":         {interrupted, true, func(err error) bool { return err != nil }},
		"deferred constraint": {deferred, true, func(err error) bool { return sqliteCode(err)&0xff == sqlitelib.SQLITE_CONSTRAINT }},
		"disk full, silently": {silent, true, func(err error) bool { return err != nil }},
		"at the end":          {atTheEnd, true, func(err error) bool { return sqliteCode(err)&0xff == sqlitelib.SQLITE_CONSTRAINT }},
		"full, left the end":  {silentAtTheEnd, true, func(err error) bool { return err != nil }},
		"commits":             {ends("COMMIT"), false, func(err error) bool { return err != nil }},
		"rolls back":          {ends("ROLLBACK"), true, func(err error) bool { return err != nil }},
	} {
		for _, place := range []int{0, 2} { // the first change has no savepoint
			t.Run(fmt.Sprintf("%s at %d", name, place), func(t *testing.T) {
				t.Parallel()
				db := sqliteAt(t).start(t)
				changes := make([]func(Conn) error, 0, 4)
				for id := range 3 {
					changes = append(changes, func(c Conn) error { return insert(c, id) })
				}
				errs := group(t, db, slices.Insert(changes, place, test.spoiler)...)
				fault := errs[place]
				if !test.check(fault) {
					t.Errorf("the change at fault got %v", fault)
				}
				if errors.Is(fault, ErrUnavailable) != (name == "disk full") {
					t.Errorf("%v: unavailable %t", fault, errors.Is(fault, ErrUnavailable))
				}
				for id, err := range slices.Delete(errs, place, place+1) {
					if test.others && err != nil {
						t.Errorf("write %d: %v", id, err)
					}
					if err == nil && !has(t, db, id) {
						t.Errorf("write %d was acknowledged and is not there", id)
					}
				}
				if number(t, db, "SELECT count(*) FROM items WHERE id >= 1000") != 0 || number(t, db, "SELECT count(*) FROM parts") != 0 {
					t.Error("something of the change at fault remains")
				}
				if err := writeItem(t.Context(), db, 4); err != nil {
					t.Errorf("afterwards: %v", err)
				}
			})
		}
	}
}

// TestUnclosedRowsEndWithTransaction checks that rows that nobody closes end with their transaction. They block neither
// later transactions nor Close, and do not keep the log from being checkpointed.
func TestUnclosedRowsEndWithTransaction(t *testing.T) {
	t.Parallel()
	p := sqliteAt(t)
	db := p.start(t)
	for id := range 3 {
		if err := writeItem(t.Context(), db, id); err != nil {
			t.Fatal(err)
		}
	}
	var forgotten *sql.Rows
	err := db.Write(t.Context(), func(c Conn) (err error) {
		forgotten, err = c.Rows("SELECT id FROM items") //nolint:sqlclosecheck,rowserrcheck // the point of the test
		if err != nil {
			return err
		}
		forgotten.Next()
		c.Row("SELECT id FROM items")
		return insert(c, 3)
	})
	if err != nil {
		t.Fatal(err)
	}
	if forgotten.Next() || !errors.Is(forgotten.Err(), errRowsEnded) {
		t.Errorf("the rows go on after the transaction: %v", forgotten.Err())
	}
	if err := writeItem(t.Context(), db, 4); err != nil {
		t.Fatal(err)
	}
	merging, err := openSingle(fileURI(p.location))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = merging.Close() }()
	var busy, pages, merged int
	if err := merging.QueryRowContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &merged); err != nil || busy != 0 || pages != 0 {
		t.Errorf("merging the log: busy %d, %d pages are left, %v", busy, pages, err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

func TestLockedOutByAnotherProcess(t *testing.T) {
	t.Parallel()
	p := sqliteAt(t)
	logger, seen := logs()
	db, err := NewSQLite(SQLiteOptions{Path: p.location, BusyTimeout: 50 * time.Millisecond}, logger)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Register(testSchema()); err != nil {
		t.Fatal(err)
	}
	testenv.Open(t, db)

	other := p.start(t)
	release := hold(t, other)
	for range 3 {
		wantError(t, writeItem(t.Context(), db, 1), ErrUnavailable)
	}
	if has(t, db, 1) || db.Ready() != nil {
		t.Error("reading stops with writing")
	}
	release()
	if err := writeItem(t.Context(), db, 1); err != nil {
		t.Fatal(err)
	}
	if down, up := logged(seen, "database unavailable"), logged(seen, "database is back"); down != 1 || up != 1 {
		t.Errorf("logged down %d times and back %d times, want once each", down, up)
	}
}

// TestLoneWriteIsWithdrawn checks that a write that waits for the lock of another process ends with its context, even
// if no other caller forms the group.
func TestLoneWriteIsWithdrawn(t *testing.T) {
	t.Parallel()
	p := sqliteAt(t)
	db := p.start(t)
	release := hold(t, p.start(t))
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { left <- writeItem(ctx, db, 1) }()
	w := db.engine.(*sqlite).pools.Load().writer
	eventually(t, "the write makes its group", func() bool {
		free := w.group.TryLock()
		if free {
			w.group.Unlock()
		}
		return !free
	})
	cancel()
	wantError(t, <-left, context.Canceled)
	release()
	if err := writeItem(t.Context(), db, 2); err != nil {
		t.Fatal(err)
	}
	if has(t, db, 1) {
		t.Error("the change that was withdrawn is there")
	}
}

// TestWritesDuringClose checks that every caller that writes while the database closes learns whether its change was
// kept, no matter which caller formed its group.
func TestWritesDuringClose(t *testing.T) {
	t.Parallel()
	p := sqliteAt(t)
	const writers = 6
	acknowledged, id := make(map[int]bool), new(atomic.Int64)
	for range 12 {
		db := p.start(t)
		var (
			mu   sync.Mutex
			wg   sync.WaitGroup
			some = make(chan struct{}, 1)
		)
		for range writers {
			wg.Go(func() {
				for {
					n := int(id.Add(1))
					err := writeItem(t.Context(), db, n)
					mu.Lock()
					acknowledged[n] = err == nil
					mu.Unlock()
					if err != nil {
						if !errors.Is(err, ErrUnavailable) {
							t.Error(err)
						}
						return
					}
					select {
					case some <- struct{}{}:
					default:
					}
				}
			})
		}
		<-some
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	}
	db := p.start(t)
	for n, want := range acknowledged {
		if has(t, db, n) != want {
			t.Errorf("change %d was acknowledged: %t; it is there: %t", n, want, !want)
		}
	}
}

// TestPanicSparesOtherWrites checks that a panic in the function of a Write does not affect the other writes.
func TestPanicSparesOtherWrites(t *testing.T) {
	t.Parallel()
	db := sqliteAt(t).start(t)
	var wg sync.WaitGroup
	for n := range 60 {
		wg.Go(func() {
			defer func() { _ = recover() }()
			err := db.Write(t.Context(), func(c Conn) error {
				if err := insert(c, n); err != nil {
					return err
				}
				if n%3 == 0 {
					panic("test")
				}
				return nil
			})
			if err != nil {
				t.Errorf("change %d: %v", n, err)
			}
		})
	}
	wg.Wait()
	for n := range 60 {
		if has(t, db, n) != (n%3 != 0) {
			t.Errorf("change %d is there: %t", n, n%3 == 0)
		}
	}
}

func BenchmarkWriteParallel(b *testing.B) {
	db := sqliteAt(b).start(b)
	w := db.engine.(*sqlite).pools.Load().writer
	var id atomic.Int64
	before := w.commits.Load()
	b.ReportAllocs()
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := writeItem(context.Background(), db, int(id.Add(1))); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/float64(max(1, w.commits.Load()-before)), "writes/commit")
}

// BenchmarkWriteOneByOne measures writes that have a commit each, to compare with BenchmarkWriteParallel.
func BenchmarkWriteOneByOne(b *testing.B) {
	db := sqliteAt(b).start(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := writeItem(context.Background(), db, i); err != nil {
			b.Fatal(err)
		}
	}
}
