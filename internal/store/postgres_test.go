package store

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

func TestPostgresRestartUnderLoad(t *testing.T) {
	t.Parallel()
	server := testenv.NewPostgres(t)
	logger, seen := logs()
	db, err := NewPostgres(PostgresOptions{DSN: server.DSN()}, logger)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Register(testSchema()); err != nil {
		t.Fatal(err)
	}
	testenv.Open(t, db)

	var (
		wg           sync.WaitGroup
		stop         = make(chan struct{})
		ids          atomic.Int64
		mu           sync.Mutex
		acknowledged []int
		refused      int
	)
	for range 16 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
				}
				id := int(ids.Add(1))
				err := writeItem(context.Background(), db, id)
				mu.Lock()
				switch {
				case err == nil:
					acknowledged = append(acknowledged, id)
				case errors.Is(err, ErrUnavailable):
					refused++
				default:
					t.Errorf("write %d: %v", id, err)
				}
				mu.Unlock()
				var n int
				err = db.Read(context.Background(), func(c Conn) error {
					return c.Row("SELECT count(*) FROM counters").Scan(&n)
				})
				if err != nil && !errors.Is(err, ErrUnavailable) {
					t.Errorf("read: %v", err)
				}
			}
		})
	}
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(acknowledged)
	}
	const rounds = 2
	for range rounds {
		before := count()
		eventually(t, "writes pass", func() bool { return count() > before+50 })
		server.Stop()
		eventually(t, "the loss is noticed", func() bool { return errors.Is(db.Ready(), ErrUnavailable) })
		start := time.Now()
		wantError(t, writeItem(t.Context(), db, -1), ErrUnavailable)
		if took := time.Since(start); took > 8*time.Second {
			t.Errorf("being refused took %s", took)
		}
		server.Start()
		if err := db.WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	before := count()
	eventually(t, "writes pass again", func() bool { return count() > before+50 })
	close(stop)
	wg.Wait()
	for _, id := range acknowledged {
		if !has(t, db, id) {
			t.Errorf("write %d was acknowledged and is lost", id)
		}
	}
	if refused == 0 {
		t.Error("no write was refused while the server was down")
	}
	if down, up := logged(seen, "database unavailable"), logged(seen, "database is back"); down != rounds || up != rounds {
		t.Errorf("logged down %d times and back %d times, want %d each", down, up, rounds)
	}
}

func TestPostgresDownAtStart(t *testing.T) {
	t.Parallel()
	server := testenv.NewPostgres(t)
	server.Stop()
	logger, seen := logs()
	const secret = "hunter2"
	dsn := strings.Replace(server.DSN(), "@", ":"+secret+"@", 1)
	db, err := NewPostgres(PostgresOptions{DSN: dsn}, logger)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Register(testSchema()); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	db.Start(t.Context())
	if took := time.Since(start); took > startWait+30*time.Second { // with a reserve for a busy machine
		t.Errorf("Start took %s", took)
	}
	err = db.Ready()
	wantError(t, err, ErrUnavailable)
	wantError(t, writeItem(t.Context(), db, 1), ErrUnavailable)
	server.Start()
	if err := db.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := writeItem(t.Context(), db, 1); err != nil {
		t.Fatal(err)
	}
	if down, up := logged(seen, "database unavailable"), logged(seen, "database is back"); down != 1 || up != 1 {
		t.Errorf("logged down %d times and back %d times, want once each", down, up)
	}
	if strings.Contains(err.Error(), secret) {
		t.Errorf("%v repeats the secret", err)
	}
	for _, entry := range seen.All() {
		for _, field := range entry.Context {
			if e, ok := field.Interface.(error); ok && strings.Contains(e.Error(), secret) || strings.Contains(field.String, secret) {
				t.Errorf("the log repeats the secret in %q", entry.Message)
			}
		}
	}
}

// TestPostgresBackendTerminated checks that a single broken connection does not make the server count as down.
func TestPostgresBackendTerminated(t *testing.T) {
	t.Parallel()
	p := place{dialect: Postgres, location: testenv.Postgres(t).DSN()}
	db := p.start(t)
	other := p.start(t)
	err := db.Write(t.Context(), func(c Conn) error {
		var pid int
		if err := c.Row("SELECT pg_backend_pid()").Scan(&pid); err != nil {
			return err
		}
		if err := other.Read(c.Context(), func(c Conn) error {
			_, err := c.Exec("SELECT pg_terminate_backend($1, 10000)", pid)
			return err
		}); err != nil {
			return err
		}
		return insert(c, 1)
	})
	wantError(t, err, ErrUnavailable)
	if err := writeItem(t.Context(), db, 1); err != nil {
		t.Fatal(err)
	}
	if err := db.Ready(); err != nil {
		t.Fatal(err)
	}
}

// TestPostgresIdleConnectionsCut checks that connections that were cut while idle are replaced without an error.
func TestPostgresIdleConnectionsCut(t *testing.T) {
	t.Parallel()
	p := place{dialect: Postgres, location: testenv.Postgres(t).DSN()}
	db := p.start(t)
	other := p.start(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			// So many writes that the driver does not check whether the idle connections are alive.
			for j := range 20 {
				if err := writeItem(t.Context(), db, 1000*i+j); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	err := other.Read(t.Context(), func(c Conn) error {
		_, err := c.Exec(`SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := writeItem(t.Context(), db, -1); err != nil {
		t.Fatal(err)
	}
}

// TestPostgresDeadlockIsRetried checks that, when two writes wait for each other's rows, one of them is retried.
func TestPostgresDeadlockIsRetried(t *testing.T) {
	t.Parallel()
	p := place{dialect: Postgres, location: testenv.Postgres(t).DSN()}
	db := p.start(t)
	for id := range 2 {
		if err := writeItem(t.Context(), db, id); err != nil {
			t.Fatal(err)
		}
	}
	var (
		wg    sync.WaitGroup
		met   sync.WaitGroup // both have locked their first row
		calls atomic.Int64
	)
	met.Add(2)
	for first := range 2 {
		wg.Go(func() {
			attempt := 0
			err := db.Write(t.Context(), func(c Conn) error {
				calls.Add(1)
				attempt++
				for i, id := range []int{first, 1 - first} {
					if _, err := c.Exec("UPDATE items SET name = name || 'x' WHERE id = $1", id); err != nil {
						return err
					}
					if i == 0 && attempt == 1 {
						met.Done()
						met.Wait()
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := calls.Load(); n < 3 {
		t.Errorf("the functions were called %d times; there was no deadlock", n)
	}
	if n := number(t, db, "SELECT count(*) FROM items WHERE name LIKE '%xx'"); n != 2 {
		t.Errorf("%d rows were changed twice, want 2", n)
	}
}

// loser returns a write that conflicts with another write in as many of its first transactions as losses says, and the
// number of calls of its function.
func loser(db, other *DB, losses int64) (write func(ctx context.Context) error, calls *atomic.Int64) {
	calls = new(atomic.Int64)
	return func(ctx context.Context) error {
		return db.Write(ctx, func(c Conn) error {
			var n int
			if err := c.Row("SELECT n FROM counters").Scan(&n); err != nil {
				return err
			}
			if calls.Add(1) <= losses {
				err := other.Read(c.Context(), func(c Conn) error {
					_, err := c.Exec("UPDATE counters SET n = n + 1")
					return err
				})
				if err != nil {
					return err
				}
			}
			_, err := c.Exec("UPDATE counters SET n = $1", n+1)
			return err
		})
	}, calls
}

// TestPostgresLostRacesAreRetried checks that a write that loses its race is retried as often as the time permits.
func TestPostgresLostRacesAreRetried(t *testing.T) {
	t.Parallel()
	p := place{dialect: Postgres, location: testenv.Postgres(t).DSN()}
	const losses = 15
	write, calls := loser(p.start(t), p.start(t), losses)
	if err := write(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := calls.Load(); n != losses+1 {
		t.Errorf("the function was called %d times, want %d", n, losses+1)
	}
}

// TestPostgresLostRacesGiveUp checks that a write that loses all its races gives up at its deadline, or after a while
// without one, and reports that the database is too contended.
func TestPostgresLostRacesGiveUp(t *testing.T) {
	t.Parallel()
	p := place{dialect: Postgres, location: testenv.Postgres(t).DSN()}
	db, other := p.start(t), p.start(t)
	const bound = time.Second
	db.engine.(*postgres).patience = bound
	for name, limited := range map[string]func() (context.Context, context.CancelFunc){
		"deadline": func() (context.Context, context.CancelFunc) { return context.WithTimeout(t.Context(), bound) },
		"patience": func() (context.Context, context.CancelFunc) { return context.WithCancel(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := limited()
			defer cancel()
			write, calls := loser(db, other, math.MaxInt64)
			err := write(ctx)
			if !errors.Is(err, ErrUnavailable) && !errors.Is(err, ctx.Err()) || err == nil {
				t.Errorf("error is %v, want %v", err, ErrUnavailable)
			}
			if calls.Load() < 2 {
				t.Error("the write was not retried")
			}
			if err := db.Ready(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPostgresServerCrashes checks that acknowledged changes survive a crash of the server.
func TestPostgresServerCrashes(t *testing.T) {
	t.Parallel()
	server := testenv.NewPostgres(t)
	db := place{dialect: Postgres, location: server.DSN() + "&synchronous_commit=on"}.start(t)
	err := db.Read(t.Context(), func(c Conn) error { // so the log is written almost only for commits that wait for it
		if _, err := c.Exec("ALTER SYSTEM SET wal_writer_delay = '10s'"); err != nil {
			return err
		}
		if _, err := c.Exec("SELECT pg_reload_conf()"); err != nil {
			return err
		}
		_, err := c.Exec("CREATE UNLOGGED TABLE running AS SELECT 1 AS n") // empty after a crash
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server has the setting", func() bool {
		return number(t, db, "SELECT count(*) FROM pg_settings WHERE name = 'wal_writer_delay' AND setting = '10000'") == 1
	})
	var mu sync.Mutex
	var acknowledged []int
	crashed := false
	enough := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for id := w; ; id += 8 {
				err := db.Write(ReadCommitted(t.Context()), func(c Conn) error {
					if _, err := c.Exec("UPDATE counters SET n = n + 1"); err != nil {
						return err
					}
					return insert(c, id)
				})
				mu.Lock()
				if err == nil && !crashed {
					if acknowledged = append(acknowledged, id); len(acknowledged) == 300 {
						close(enough)
					}
				}
				ends := crashed || err != nil
				mu.Unlock()
				if ends {
					return
				}
			}
		})
	}
	<-enough
	backend := number(t, db, "SELECT pg_backend_pid()")
	mu.Lock()
	crashed = true // rows acknowledged from now on may have been written after the crash
	mu.Unlock()
	if err := syscall.Kill(backend, syscall.SIGKILL); err != nil { // the other backends end too, and lose their memory
		t.Fatal(err)
	}
	writers.Wait()
	var stored []int
	eventually(t, "the server has recovered", func() bool {
		n := 1
		err := db.Read(t.Context(), func(c Conn) error { // not Ready: the keeper may notice the recovery later
			if err := c.Row("SELECT count(*) FROM running").Scan(&n); err != nil {
				return err
			}
			var err error
			stored, err = List(c, func(r Row) (id int, err error) { return id, r.Scan(&id) }, "SELECT id FROM items")
			return err
		})
		return err == nil && n == 0
	})
	for _, id := range acknowledged {
		if !slices.Contains(stored, id) {
			t.Errorf("write %d was acknowledged and is lost", id)
		}
	}
	if len(acknowledged) < 300 {
		t.Errorf("only %d writes before the crash", len(acknowledged))
	}
}

// TestPostgresInTurn checks that writes in turn wait for each other in the process while the first of them waits for a
// lock, so that they do not occupy connections that other calls need.
func TestPostgresInTurn(t *testing.T) {
	t.Parallel()
	p := place{dialect: Postgres, location: testenv.Postgres(t).DSN(), conns: 4}
	db, other := p.start(t), p.start(t)
	held, release := make(chan struct{}), make(chan struct{})
	const writers = 8
	ended := make(chan error, writers+1)
	add := func(db *DB, ctx context.Context, fn func()) {
		ended <- db.Write(ReadCommitted(ctx), func(c Conn) error {
			if _, err := c.Exec("UPDATE counters SET n = n + 1"); err != nil {
				return err
			}
			fn()
			return nil
		})
	}
	go add(other, t.Context(), func() { close(held); <-release })
	<-held
	for range writers {
		go add(db, InTurn(t.Context(), "counter"), func() {})
	}
	turns := db.engine.(*postgres).turns
	eventually(t, "all but one wait for their turn", func() bool {
		turns.mu.Lock()
		defer turns.mu.Unlock()
		return turns.waiting.Len() == writers-1
	})
	eventually(t, "one waits for the lock", func() bool {
		return number(t, db, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") == 1
	})
	if err := writeItem(t.Context(), db, 1); err != nil {
		t.Errorf("a write beside them: %v", err)
	}
	if err := writeItem(InTurn(t.Context(), "item"), db, 2); err != nil {
		t.Errorf("a write with a turn of its own: %v", err)
	}
	close(release)
	for range writers + 1 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if n := number(t, db, "SELECT n FROM counters"); n != writers+1 {
		t.Errorf("counted are %d, want %d", n, writers+1)
	}
	if turns.free != minTurns || len(turns.running) != 0 {
		t.Errorf("left are: %d free, %v", turns.free, turns.running)
	}
}

// TestPostgresPlansOfWritesInTurn checks that the server plans the statements of a write in turn once for all values,
// and reads no more rows of a value than are requested. The server chooses the plans of other writes freely, even on
// the same connection.
func TestPostgresPlansOfWritesInTurn(t *testing.T) {
	t.Parallel()
	db := place{dialect: Postgres, location: testenv.Postgres(t).DSN(), conns: 2}.start(t)
	for _, statement := range []string{ // by the statistics an owner has about 13 rows
		"CREATE TABLE owned (id BIGINT PRIMARY KEY, owner BIGINT NOT NULL, filler TEXT NOT NULL)",
		"INSERT INTO owned SELECT n, n % 1500, repeat('x', 100) FROM generate_series(1, 20000) n",
		"CREATE INDEX owned_owner ON owned (owner, id)",
		"ANALYZE owned",
	} {
		if err := db.Write(t.Context(), func(c Conn) error { _, err := c.Exec(statement); return err }); err != nil {
			t.Fatal(err)
		}
	}
	for _, write := range []struct {
		ctx   context.Context
		modes string
		sorts bool
	}{
		{InTurn(t.Context(), "a"), "force_generic_plan off", false},
		{t.Context(), "auto on", true},
	} {
		var modes, plan string
		err := db.Write(write.ctx, func(c Conn) error {
			if err := c.Row("SELECT current_setting('plan_cache_mode') || ' ' || current_setting('enable_bitmapscan')").Scan(&modes); err != nil {
				return err
			}
			if _, err := c.Exec("PREPARE latest (BIGINT) AS SELECT id, filler FROM owned WHERE owner = $1 ORDER BY id DESC LIMIT 20"); err != nil {
				return err
			}
			rows, err := List(c, func(r Row) (line string, err error) { return line, r.Scan(&line) }, "EXPLAIN EXECUTE latest (1)")
			plan = strings.Join(rows, "\n")
			if err != nil {
				return err
			}
			_, err = c.Exec("DEALLOCATE latest")
			return err
		})
		if err != nil || modes != write.modes || strings.Contains(plan, "Sort") != write.sorts {
			t.Errorf("%v: plans are made by %q, want %q; sorts: %v\n%s", err, modes, write.modes, write.sorts, plan)
		}
	}
}

// TestPostgresByValues checks that queries under ByValues are planned each time, while the plans of other queries are
// reused after five runs. A page of a value that most rows have is read in its order, and a page of a rare value by an
// index.
func TestPostgresByValues(t *testing.T) {
	t.Parallel()
	db := place{dialect: Postgres, location: testenv.Postgres(t).DSN(), conns: 1}.start(t)
	for _, statement := range []string{
		"CREATE TABLE owned (id BIGINT PRIMARY KEY, owner TEXT NOT NULL, filler TEXT NOT NULL)",
		"INSERT INTO owned SELECT n, CASE WHEN n % 5 = 0 THEN 'o' || n ELSE 'most' END, repeat('x', 100) FROM generate_series(1, 20000) n",
		"CREATE INDEX owned_owner ON owned (owner)",
		"ANALYZE owned",
	} {
		if err := db.Write(t.Context(), func(c Conn) error { _, err := c.Exec(statement); return err }); err != nil {
			t.Fatal(err)
		}
	}
	const page = "SELECT id, filler FROM owned WHERE owner = ? ORDER BY id DESC LIMIT ?"
	read := func(c Conn, explain, owner string) (lines []string, err error) {
		return List(c, func(r Row) (line string, err error) {
			if explain != "" {
				return line, r.Scan(&line)
			}
			var id int64
			return line, r.Scan(&id, &line)
		}, explain+page, owner, 20)
	}
	err := db.Read(t.Context(), func(c Conn) error {
		for _, mode := range []struct {
			of    Conn
			plans int64 // plans for all values
		}{{c.ByValues(), 0}, {c, 1}} {
			for range 10 {
				if list, err := read(mode.of, "", "most"); err != nil || len(list) != 20 {
					t.Errorf("got %d rows with the error %v, want 20", len(list), err)
				}
			}
			var plans int64
			if err := c.Row("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE 'SELECT id, filler %'").Scan(&plans); err != nil || plans != mode.plans {
				t.Errorf("%d statements are prepared, want %d; error %v", plans, mode.plans, err)
			}
		}
		for owner, want := range map[string]string{"most": "owned_pkey", "o5": "owned_owner"} {
			plan, err := read(c.ByValues(), "EXPLAIN ", owner)
			if err != nil || !strings.Contains(strings.Join(plan, "\n"), want) {
				t.Errorf("%s: not by %s, error %v\n%s", owner, want, err, strings.Join(plan, "\n"))
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestPostgresConnectionCutBeforeWrite checks that a write whose connection was cut before runs on another connection,
// whatever its first statement is.
func TestPostgresConnectionCutBeforeWrite(t *testing.T) {
	t.Parallel()
	p := place{dialect: Postgres, location: testenv.Postgres(t).DSN(), conns: 1}
	db, other := p.start(t), p.start(t)
	for i, first := range []func(c Conn) error{
		func(c Conn) error { return insert(c, 1) },
		func(c Conn) error {
			var id int
			return c.Row("INSERT INTO items (id, name) VALUES (2, 'two') RETURNING id").Scan(&id)
		},
		func(c Conn) error {
			return c.All("INSERT INTO items (id, name) VALUES (3, 'three') RETURNING id", nil, func(r Row) error { return r.Scan(new(int)) })
		},
		func(c Conn) error {
			var q Questions
			q.Row(func(r Row) error { return r.Scan(new(int)) }, "INSERT INTO items (id, name) VALUES (4, 'four') RETURNING id")
			return c.Ask(&q)
		},
		func(c Conn) error { return c.Later("INSERT INTO items (id, name) VALUES (5, 'five')") },
		func(c Conn) error {
			s, err := c.Prepare("INSERT INTO items (id, name) VALUES (6, 'six')")
			if err != nil {
				return err
			}
			defer s.Close()
			_, err = s.ExecContext(c.Context())
			return err
		},
	} {
		backend := number(t, db, "SELECT pg_backend_pid()")
		if err := syscall.Kill(backend, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the connection is cut", func() bool {
			return number(t, other, "SELECT count(*) FROM pg_stat_activity WHERE pid = "+strconv.Itoa(backend)) == 0
		})
		if err := db.Write(t.Context(), first); err != nil {
			t.Errorf("first statement %d: %v", i+1, err)
			continue
		}
		if !has(t, other, i+1) {
			t.Errorf("the change of the first statement %d is missing", i+1)
		}
	}
}

// TestPostgresHastily checks that a write under Hastily does not wait for the disk, and that other writes do, even
// after it on the same connection.
func TestPostgresHastily(t *testing.T) {
	t.Parallel()
	server := testenv.NewPostgres(t)
	db := place{dialect: Postgres, location: server.DSN() + "&synchronous_commit=on"}.start(t)
	for _, hasty := range []bool{true, false, true} {
		ctx, want := ReadCommitted(t.Context()), "on"
		if hasty {
			ctx, want = Hastily(ctx), "off"
		}
		var got string
		if err := db.Write(ctx, func(c Conn) error { return c.Row("SHOW synchronous_commit").Scan(&got) }); err != nil || got != want {
			t.Errorf("hasty %v: synchronous_commit is %s: %v", hasty, got, err)
		}
	}
}
