package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// grouped are writes of one name that wait while the first of them is held, so that it
// takes them along.
type grouped struct {
	t      *testing.T
	db     *DB
	engine *postgres
	mu     sync.Mutex
	within map[string][]string // the transactions that each was called in
	ended  map[string]error
}

func newGrouped(t *testing.T) *grouped {
	t.Helper()
	db := place{dialect: Postgres, location: testenv.Postgres(t).DSN(), conns: 6}.start(t)
	engine := db.engine.(*postgres)
	engine.turnTime = time.Minute // on a busy machine, too
	return &grouped{t: t, db: db, engine: engine, within: make(map[string][]string), ended: make(map[string]error)}
}

// write runs fn in turn, and notes its transaction.
func (g *grouped) write(ctx context.Context, name string, fn func(c Conn) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.ended[name] = err
	}()
	return g.db.Write(InTurn(ReleaseEarly(ReadCommitted(ctx)), "one"), func(c Conn) error {
		var id string
		if err := c.Row("SELECT CAST(pg_current_xact_id() AS TEXT)").Scan(&id); err != nil {
			return err
		}
		g.mu.Lock()
		g.within[name] = append(g.within[name], id)
		g.mu.Unlock()
		return fn(c)
	})
}

// waiting waits until n writes wait for their turn.
func (g *grouped) waiting(n int) {
	g.t.Helper()
	eventually(g.t, fmt.Sprint(n, " wait for their turn"), func() bool {
		g.engine.turns.mu.Lock()
		defer g.engine.turns.mu.Unlock()
		return g.engine.turns.waiting.Len() == n
	})
}

// step is a write that the first one finds waiting.
type step struct {
	name string
	fn   func(c Conn) error
}

// run starts a first write, which returns failed, and lets the steps wait behind it in their order. It returns when all
// have ended.
func (g *grouped) run(failed error, steps ...step) {
	g.t.Helper()
	release := make(chan struct{})
	var writers sync.WaitGroup
	writers.Go(func() {
		_ = g.write(g.t.Context(), "first", func(c Conn) error {
			<-release
			if err := c.Later("INSERT INTO items (id, name) VALUES (1, 'first')"); err != nil {
				return err
			}
			return failed
		})
	})
	eventually(g.t, "the first runs", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.within["first"]) == 1
	})
	for i, s := range steps {
		writers.Go(func() { _ = g.write(g.t.Context(), s.name, s.fn) })
		g.waiting(i + 1)
	}
	close(release)
	writers.Wait()
	g.waiting(0)
	if g.engine.turns.free != turnsLeast || len(g.engine.turns.running) != 0 {
		g.t.Errorf("left are: %d free, %v", g.engine.turns.free, g.engine.turns.running)
	}
}

// want compares the names of items.
func (g *grouped) want(names ...string) {
	g.t.Helper()
	var got []string
	err := g.db.Read(g.t.Context(), func(c Conn) (err error) {
		got, err = List(c, func(r Row) (name string, err error) { return name, r.Scan(&name) }, "SELECT name FROM items ORDER BY id")
		return err
	})
	if err != nil || !slices.Equal(got, names) {
		g.t.Errorf("items are %v (%v), want %v; the writes ended with %v", got, err, names, g.ended)
	}
}

// together reports whether each of the names ran once, in the same transaction.
func (g *grouped) together(names ...string) bool {
	for _, name := range names {
		if len(g.within[name]) != 1 || g.within[name][0] != g.within[names[0]][0] {
			return false
		}
	}
	return true
}

func add(id int, name string) func(c Conn) error {
	return func(c Conn) error {
		var before int
		if err := c.Row("SELECT count(*) FROM items").Scan(&before); err != nil { // it sees what those before have left for their end
			return err
		}
		if before != id-1 {
			return fmt.Errorf("%s finds %d items", name, before)
		}
		return c.Later("INSERT INTO items (id, name) VALUES (?, ?)", id, name)
	}
}

// TestGroup checks that waiting writes of one name share a transaction and see each other's changes.
func TestGroup(t *testing.T) {
	t.Parallel()
	g := newGrouped(t)
	g.run(nil, step{"a", add(2, "a")}, step{"b", add(3, "b")}, step{"c", add(4, "c")})
	g.want("first", "a", "b", "c")
	if !g.together("first", "a", "b", "c") {
		t.Errorf("they ran in %v", g.within)
	}
}

// TestGroupFollowerFails checks that a write that fails takes back only its own changes. If the error comes from the
// server, the write is tried again by itself, since the others may be to blame.
func TestGroupFollowerFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fn    func(g *grouped, c Conn) error
		want  func(err error) bool
		calls int
		apart bool // the others too
	}{
		"refused": {
			fn: func(_ *grouped, c Conn) error {
				if err := c.Later("INSERT INTO items (id, name) VALUES (9, 'left')"); err != nil {
					return err
				}
				if err := insert(c, 10); err != nil {
					return err
				}
				return errTest
			},
			want: func(err error) bool { return errors.Is(err, errTest) }, calls: 1,
		},
		"refused, with nothing asked since": {
			fn: func(_ *grouped, c Conn) error {
				if err := c.Later("INSERT INTO items (id, name) VALUES (9, 'left')"); err != nil {
					return err
				}
				return errTest
			},
			want: func(err error) bool { return errors.Is(err, errTest) }, calls: 1,
		},
		"panic": {
			fn: func(_ *grouped, c Conn) error {
				if err := insert(c, 10); err != nil {
					return err
				}
				panic("at the disco")
			},
			want: func(err error) bool { return err != nil && err.Error() == "panic: at the disco" }, calls: 1,
		},
		"a statement": {
			fn: func(_ *grouped, c Conn) error {
				_, err := c.Exec("INSERT INTO items (id, name) VALUES (1, 'twice')")
				return err
			},
			want: IsUniqueViolation, calls: 2,
		},
		"a statement for later": {
			fn: func(_ *grouped, c Conn) error {
				return c.Later("INSERT INTO items (id, name) VALUES (9, NULL)")
			},
			want: func(err error) bool { return errors.As(err, new(*pgconn.PgError)) }, calls: 2, apart: true,
		},
		"at the commit": {
			fn: func(_ *grouped, c Conn) error {
				_, err := c.Exec("INSERT INTO parts (item) VALUES (77)")
				return err
			},
			want: func(err error) bool { return err != nil && !errors.Is(err, errAlone) }, calls: 2, apart: true,
		},
		"its connection": {
			fn: func(_ *grouped, c Conn) error {
				_, err := c.Exec("SELECT pg_terminate_backend(pg_backend_pid())")
				return err
			},
			want: func(err error) bool { return errors.Is(err, ErrUnavailable) }, calls: 2, apart: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGrouped(t)
			g.run(nil, step{"a", insertItem(2, "a")}, step{"bad", func(conn Conn) error { return c.fn(g, conn) }}, step{"b", insertItem(3, "b")})
			g.want("first", "a", "b")
			if err := g.ended["bad"]; !c.want(err) || len(g.within["bad"]) != c.calls {
				t.Errorf("the bad one was called in %v and ended with %v", g.within["bad"], err)
			}
			for _, name := range []string{"first", "a", "b"} {
				if err := g.ended[name]; err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if g.together("first", "a", "b") == c.apart {
				t.Errorf("they ran in %v", g.within)
			}
		})
	}
}

func insertItem(id int, name string) func(c Conn) error {
	return func(c Conn) error {
		var n int // so that each asks for something
		if err := c.Row("SELECT 1").Scan(&n); err != nil {
			return err
		}
		return c.Later("INSERT INTO items (id, name) VALUES (?, ?)", id, name)
	}
}

// TestGroupLeaderFails checks that the writes behind a first one that fails are carried out.
func TestGroupLeaderFails(t *testing.T) {
	t.Parallel()
	g := newGrouped(t)
	g.run(errTest, step{"a", insertItem(2, "a")}, step{"b", insertItem(3, "b")})
	g.want("a", "b")
	if !errors.Is(g.ended["first"], errTest) || !g.together("a", "b") {
		t.Errorf("they ended with %v, in %v", g.ended, g.within)
	}
}

// TestGroupOfOneKind checks that a write with another kind of transaction, or whose caller leaves while it waits, is
// not taken along.
func TestGroupOfOneKind(t *testing.T) {
	t.Parallel()
	g := newGrouped(t)
	release, running := make(chan struct{}), make(chan struct{})
	var writers sync.WaitGroup
	writers.Go(func() {
		_ = g.write(t.Context(), "first", func(Conn) error { close(running); <-release; return nil })
	})
	<-running
	gone, leave := context.WithCancel(t.Context())
	writers.Go(func() {
		if err := g.write(gone, "gone", func(Conn) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("who left ended with %v", err)
		}
	})
	g.waiting(1)
	leave()
	g.waiting(0)
	var level string
	writers.Go(func() {
		err := g.db.Write(InTurn(t.Context(), "one"), func(c Conn) error { return c.Row("SHOW transaction_isolation").Scan(&level) })
		if err != nil || level != "serializable" {
			t.Errorf("the other kind: %v, of the level %s", err, level)
		}
	})
	g.waiting(1)
	writers.Go(func() { _ = g.write(t.Context(), "last", func(Conn) error { return nil }) })
	g.waiting(2)
	close(release)
	writers.Wait()
	if len(g.within["gone"]) != 0 || g.together("first", "last") {
		t.Errorf("they ran in %v", g.within)
	}
}

// TestGroupFollowerCallerGone checks that a write that was taken along is completed even if its caller leaves.
func TestGroupFollowerCallerGone(t *testing.T) {
	t.Parallel()
	g := newGrouped(t)
	ctx, leave := context.WithCancel(t.Context())
	release, running := make(chan struct{}), make(chan struct{})
	var writers sync.WaitGroup
	writers.Go(func() {
		_ = g.write(t.Context(), "first", func(Conn) error { close(running); <-release; return nil })
	})
	<-running
	writers.Go(func() {
		_ = g.write(ctx, "a", func(c Conn) error { leave(); return insertItem(2, "a")(c) })
	})
	g.waiting(1)
	close(release)
	writers.Wait()
	g.want("a")
	if g.ended["a"] != nil || !g.together("first", "a") {
		t.Errorf("they ended with %v, in %v", g.ended, g.within)
	}
}

// TestGroupFollowerIsHeld checks that a write that waits for a lock held by somebody else does not make the others wait
// with it.
func TestGroupFollowerIsHeld(t *testing.T) {
	t.Parallel()
	g := newGrouped(t)
	held, release := make(chan struct{}), make(chan struct{})
	other := make(chan error, 1)
	go func() {
		other <- g.db.Write(ReadCommitted(t.Context()), func(c Conn) error {
			_, err := c.Exec("UPDATE counters SET n = n + 1")
			close(held)
			<-release
			return err
		})
	}()
	<-held
	go func() { // the others have ended while the lock was held
		defer close(release)
		eventually(t, "the others end", func() bool {
			g.mu.Lock()
			defer g.mu.Unlock()
			return len(g.ended) == 3
		})
	}()
	g.run(nil,
		step{"a", insertItem(2, "a")},
		step{"held", func(c Conn) error {
			_, err := c.Exec("UPDATE counters SET n = n + 1")
			return err
		}},
		step{"b", insertItem(3, "b")})
	if err := <-other; err != nil {
		t.Error(err)
	}
	g.want("first", "a", "b")
	if n := number(t, g.db, "SELECT n FROM counters"); n != 2 || g.ended["held"] != nil || len(g.within["held"]) != 2 {
		t.Errorf("counted are %d; who was held ended with %v, in %v", n, g.ended["held"], g.within["held"])
	}
}

// TestGroupsUnderLoad checks that every acknowledged write is in the database exactly once, whatever became of the
// other writes of its group.
func TestGroupsUnderLoad(t *testing.T) {
	t.Parallel()
	g := newGrouped(t)
	const writers, each = 16, 40
	acknowledged := make(map[int]bool)
	var mu sync.Mutex
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				id := 1000*w + i + 2
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				err := g.db.Write(InTurn(ReleaseEarly(ReadCommitted(ctx)), w%2), func(c Conn) error {
					if _, err := c.Exec("UPDATE counters SET n = n + 1"); err != nil {
						return err
					}
					switch i % 10 {
					case 3:
						return errTest
					case 5:
						return c.Later("INSERT INTO items (id, name) VALUES (?, NULL)", id)
					case 7:
						cancel()
					}
					return c.Later("INSERT INTO items (id, name) VALUES (?, ?)", id, fmt.Sprint(id))
				})
				cancel()
				if err == nil {
					mu.Lock()
					acknowledged[id] = true
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	var kept []int
	err := g.db.Read(t.Context(), func(c Conn) (err error) {
		kept, err = List(c, func(r Row) (id int, err error) { return id, r.Scan(&id) }, "SELECT id FROM items ORDER BY id")
		return err
	})
	if want := slices.Sorted(maps.Keys(acknowledged)); err != nil || !slices.Equal(kept, want) {
		t.Errorf("kept are %d (%v), acknowledged %d", len(kept), err, len(want))
	}
	if n := number(t, g.db, "SELECT n FROM counters"); n != len(acknowledged) || n < writers*each*7/10 {
		t.Errorf("counted are %d, acknowledged %d", n, len(acknowledged))
	}
}
