package store

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

var errTest = errors.New("test")

func TestWriteIsAtomic(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		db := p.start(t)
		err := db.Write(t.Context(), func(c Conn) error {
			if err := insert(c, 1); err != nil {
				return err
			}
			if err := insert(c, 2); err != nil {
				return err
			}
			return errTest
		})
		wantError(t, err, errTest)
		if errors.Is(err, ErrUnavailable) {
			t.Fatalf("%v counts as unavailable", err)
		}
		if n := number(t, db, "SELECT count(*) FROM items"); n != 0 {
			t.Fatalf("%d rows of a failed change remain", n)
		}
		if err := writeItem(t.Context(), db, 1); err != nil {
			t.Fatal(err)
		}
		if !has(t, db, 1) {
			t.Fatal("an acknowledged row is not seen")
		}
	})
}

func TestParallelWritesDoNotTouchEachOther(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		db := p.start(t)
		const writers = 100
		errs := make([]error, writers)
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				errs[i] = db.Write(t.Context(), func(c Conn) error {
					if err := insert(c, i); err != nil {
						return err
					}
					switch i % 4 {
					case 1:
						return errTest
					case 2: // a name is taken within the same change
						_, err := c.Exec("INSERT INTO items (id, name) SELECT id + 1000, name FROM items WHERE id = ?", i)
						return err
					}
					return nil
				})
			})
		}
		wg.Wait()
		for i, err := range errs {
			switch i % 4 {
			case 1:
				wantError(t, err, errTest)
			case 2:
				if !IsUniqueViolation(err) {
					t.Fatalf("write %d: error is %v, want a unique violation", i, err)
				}
			default:
				if err != nil {
					t.Fatalf("write %d: %v", i, err)
				}
			}
		}
		if n := number(t, db, "SELECT count(*) FROM items"); n != writers/2 {
			t.Fatalf("%d rows, want %d", n, writers/2)
		}
	})
}

// TestReadModifyWriteLosesNothing checks that the rows that the function of a Write has read are unchanged when it
// commits.
func TestReadModifyWriteLosesNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		db := p.start(t)
		const writers = 100
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				err := db.Write(t.Context(), func(c Conn) error {
					var n int
					if err := c.Row("SELECT n FROM counters").Scan(&n); err != nil {
						return err
					}
					_, err := c.Exec("UPDATE counters SET n = ?", n+1)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := number(t, db, "SELECT n FROM counters"); n != writers {
			t.Fatalf("%d increments are left of %d", n, writers)
		}
	})
}

func TestCancelledWhileWaiting(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		p.conns = 1
		db := p.start(t)
		release := hold(t, db)

		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		called := make(chan struct{}, 1)
		go func() {
			done <- db.Write(ctx, func(Conn) error {
				called <- struct{}{}
				return nil
			})
		}()
		if p.dialect == SQLite {
			queued(t, db, 1)
		}
		cancel()
		wantError(t, <-done, context.Canceled) // while the writer is still held

		release()
		if err := writeItem(t.Context(), db, 1); err != nil { // waits behind the withdrawn write
			t.Fatal(err)
		}
		wantError(t, db.Write(ctx, func(Conn) error {
			called <- struct{}{}
			return nil
		}), context.Canceled)
		select {
		case <-called:
			t.Fatal("a function ran whose context had ended")
		default:
		}
	})
}

// TestCancelledInTheMiddle checks that a context that ends during a write leaves either all or none of its changes, and
// that Write reports which.
func TestCancelledInTheMiddle(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		db := p.start(t)
		ctx, cancel := context.WithCancel(t.Context())
		err := db.Write(ctx, func(c Conn) error {
			if err := insert(c, 1); err != nil {
				return err
			}
			cancel()
			return insert(c, 2)
		})
		if got := has(t, db, 1) && has(t, db, 2); got != (err == nil) {
			t.Fatalf("rows are there: %t, error: %v", got, err)
		}
		if (err == nil) != (p.dialect == SQLite) {
			t.Fatalf("error is %v", err)
		}
		if err := writeItem(t.Context(), db, 3); err != nil {
			t.Fatal(err)
		}
	})
}

func TestPanicIsTheCallers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		p.conns = 1
		db := p.start(t)
		sentinel := any(errTest) // the same value, not an error that wraps it
		for name, leave := range map[string]func(){
			"panic":  func() { panic(sentinel) },
			"goexit": runtime.Goexit,
		} {
			recovered := make(chan any, 1)
			go func() {
				defer func() { recovered <- recover() }()
				_ = db.Write(t.Context(), func(c Conn) error {
					if err := insert(c, 1); err != nil {
						return err
					}
					leave()
					return nil
				})
			}()
			if got := <-recovered; name == "panic" && got != sentinel {
				t.Fatalf("recovered %v", got)
			}
			if has(t, db, 1) {
				t.Fatalf("%s: the change remains", name)
			}
		}
		if err := writeItem(t.Context(), db, 1); err != nil {
			t.Fatal(err)
		}
	})
}

func TestNestedCallsAreRefused(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		p.conns = 1
		db := p.start(t)
		err := db.Write(t.Context(), func(c Conn) error {
			return writeItem(c.Context(), db, 1)
		})
		wantError(t, err, errNested)
		err = db.Write(t.Context(), func(c Conn) error {
			return db.Read(c.Context(), func(Conn) error { return nil })
		})
		wantError(t, err, errNested)
	})
}

func TestTwoDBsOnOneDatabase(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		const perDB, workers = 100, 4
		var wg sync.WaitGroup
		dbs := []*DB{p.start(t), p.start(t)}
		for d, db := range dbs {
			for w := range workers {
				wg.Go(func() {
					for i := range perDB / workers {
						if err := writeItem(t.Context(), db, d*perDB+w*perDB/workers+i); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
		}
		wg.Wait()
		for _, db := range dbs {
			if n := number(t, db, "SELECT count(*) FROM items"); n != 2*perDB {
				t.Fatalf("%d rows, want %d", n, 2*perDB)
			}
		}
	})
}

func TestNotOpen(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		db, err := p.open(zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		refused := func() {
			t.Helper()
			wantError(t, db.Ready(), ErrUnavailable)
			wantError(t, writeItem(t.Context(), db, 1), ErrUnavailable)
			wantError(t, db.Read(t.Context(), func(Conn) error { return nil }), ErrUnavailable)
		}
		refused()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err = db.WaitReady(ctx)
		wantError(t, err, ErrUnavailable)
		wantError(t, err, context.Canceled)

		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		refused()
		wantError(t, db.WaitReady(t.Context()), ErrUnavailable)
		db.Start(t.Context()) // has no effect and returns at once
		refused()
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestCloseRefusesThoseThatWait(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		db, err := p.open(zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Register(testSchema()); err != nil {
			t.Fatal(err)
		}
		testenv.Open(t, db)
		if p.dialect == Postgres {
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			wantError(t, writeItem(t.Context(), db, 1), ErrUnavailable)
			return
		}
		release := hold(t, db)
		done := make(chan error, 1)
		go func() { done <- writeItem(t.Context(), db, 1) }()
		queued(t, db, 1)
		closed := make(chan error, 1)
		go func() { closed <- db.Close() }()
		eventually(t, "Close has begun", func() bool { return errors.Is(db.Ready(), errClosed) })
		release()
		if err := <-closed; err != nil {
			t.Fatal(err)
		}
		// The write may or may not have joined the group that was being formed.
		err = <-done
		reopened := p.start(t)
		if has(t, reopened, 1) != (err == nil) {
			t.Fatalf("row is there: %t, error: %v", has(t, reopened, 1), err)
		}
	})
}

func TestIsUniqueViolation(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		db := p.start(t)
		if err := writeItem(t.Context(), db, 1); err != nil {
			t.Fatal(err)
		}
		for statement, want := range map[string]bool{
			"INSERT INTO items (id, name) VALUES (1, 'other')":  true,
			"INSERT INTO items (id, name) VALUES (2, 'item 1')": true,
			"INSERT INTO items (id, name) VALUES (2, NULL)":     false,
			"INSERT INTO parts (item) VALUES (7)":               false,
			"INSERT INTO nowhere (id) VALUES (1)":               false,
		} {
			err := db.Write(t.Context(), func(c Conn) error {
				_, err := c.Exec(statement)
				return err
			})
			if err == nil || IsUniqueViolation(err) != want {
				t.Errorf("%s: %v is a unique violation: %t, want %t", statement, err, IsUniqueViolation(err), want)
			}
			if errors.Is(err, ErrUnavailable) {
				t.Errorf("%s: %v counts as unavailable", statement, err)
			}
		}
	})
	if IsUniqueViolation(nil) || IsUniqueViolation(errTest) {
		t.Error("other errors count as unique violations")
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for name, try := range map[string]func() (*DB, error){
		"no path":      func() (*DB, error) { return NewSQLite(SQLiteOptions{}, zap.NewNop()) },
		"memory":       func() (*DB, error) { return NewSQLite(SQLiteOptions{Path: ":memory:"}, zap.NewNop()) },
		"uri":          func() (*DB, error) { return NewSQLite(SQLiteOptions{Path: "file:x.db"}, zap.NewNop()) },
		"zero byte":    func() (*DB, error) { return NewSQLite(SQLiteOptions{Path: "x\x00y"}, zap.NewNop()) },
		"few readers":  func() (*DB, error) { return NewSQLite(SQLiteOptions{Path: "x.db", Readers: -1}, zap.NewNop()) },
		"many readers": func() (*DB, error) { return NewSQLite(SQLiteOptions{Path: "x.db", Readers: 257}, zap.NewNop()) },
		"synchronous":  func() (*DB, error) { return NewSQLite(SQLiteOptions{Path: "x.db", Synchronous: "off"}, zap.NewNop()) },
		"busy timeout": func() (*DB, error) {
			return NewSQLite(SQLiteOptions{Path: "x.db", BusyTimeout: -time.Second}, zap.NewNop())
		},
		"no dsn":        func() (*DB, error) { return NewPostgres(PostgresOptions{DSN: " "}, zap.NewNop()) },
		"no such words": func() (*DB, error) { return NewPostgres(PostgresOptions{DSN: secret}, zap.NewNop()) },
		"broken url": func() (*DB, error) {
			return NewPostgres(PostgresOptions{DSN: "postgres://me:" + secret + "@[::1/x"}, zap.NewNop())
		},
		"broken port": func() (*DB, error) {
			return NewPostgres(PostgresOptions{DSN: "postgres://me:" + secret + "@h:" + secret + "/x"}, zap.NewNop())
		},
		"max conns": func() (*DB, error) {
			return NewPostgres(PostgresOptions{DSN: "host=h", MaxConns: 1001}, zap.NewNop())
		},
	} {
		db, err := try()
		if err == nil {
			t.Errorf("%s: no error", name)
			_ = db.Close()
			continue
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v repeats the secret", name, err)
		}
	}
}

func TestDialect(t *testing.T) {
	t.Parallel()
	lite, err := NewSQLite(SQLiteOptions{Path: "never made.db"}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	pg, err := NewPostgres(PostgresOptions{DSN: "host=localhost"}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	if lite.Dialect() != SQLite || pg.Dialect() != Postgres || SQLite.String() != "sqlite" || Postgres.String() != "postgres" {
		t.Fatalf("dialects are %v and %v", lite.Dialect(), pg.Dialect())
	}
	if q := "SELECT ?"; lite.Rebind(q) != q || pg.Rebind(q) != "SELECT $1" || pg.Rebind(q) != "SELECT $1" {
		t.Fatalf("queries are %q and %q", lite.Rebind(q), pg.Rebind(q))
	}
}
