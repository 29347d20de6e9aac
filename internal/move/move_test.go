package move

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// schema returns a schema with everything that is hard to move: every type, numbers that the database assigns,
// references to rows that come later, rows that a migration inserts, generated columns, tables without a key,
// partitions, a full-text index, and a table that only one engine has.
func schema() store.Schema {
	const up = "-- +goose Up\n"
	files := fstest.MapFS{
		"00001_both.sql": {Data: []byte(up + `
CREATE TABLE test_items (id {{id}}, name TEXT {{bytewise}} NOT NULL UNIQUE, other BIGINT REFERENCES test_items (id), body {{bytes}});
CREATE TABLE test_boxes (shelf TEXT {{bytewise}} NOT NULL, place BIGINT NOT NULL, item BIGINT NOT NULL REFERENCES test_items (id), PRIMARY KEY (shelf, place)) {{without rowid}};
CREATE TABLE test_bytes (hash {{bytes}} NOT NULL PRIMARY KEY, n BIGINT NOT NULL);
CREATE TABLE test_loose (n BIGINT NOT NULL, what TEXT);
CREATE TABLE test_made (id {{id}}, n BIGINT NOT NULL);
INSERT INTO test_made (n) VALUES (1), (2);
`)},
		"00002_types.postgres.sql": {Data: []byte(up + `
CREATE TABLE test_types (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, big BIGINT, mid INTEGER, small SMALLINT, yes BOOLEAN, real DOUBLE PRECISION,
	words TEXT, short VARCHAR(40), doc JSON, raw BYTEA, at TIMESTAMPTZ, plain TIMESTAMP, twice BIGINT GENERATED ALWAYS AS (small * 2) STORED);
CREATE TABLE test_days (at BIGINT NOT NULL, seq BIGINT NOT NULL, what TEXT, PRIMARY KEY (at, seq)) PARTITION BY RANGE (at);
CREATE TABLE test_search (item BIGINT NOT NULL PRIMARY KEY, words TSVECTOR NOT NULL);
CREATE TABLE test_only_postgres (n BIGINT);
`)},
		"00002_types.sqlite.sql": {Data: []byte(up + `
CREATE TABLE test_types (id INTEGER PRIMARY KEY, big BIGINT, mid INTEGER, small SMALLINT, yes BOOLEAN, real DOUBLE PRECISION,
	words TEXT, short TEXT, doc TEXT, raw BLOB, at TIMESTAMP, plain TEXT, twice INTEGER GENERATED ALWAYS AS (small * 2) VIRTUAL);
CREATE TABLE test_days (at BIGINT NOT NULL, seq BIGINT NOT NULL, what TEXT, PRIMARY KEY (at, seq)) WITHOUT ROWID;
CREATE VIRTUAL TABLE test_search USING fts5 (words, content = '', contentless_delete = 1);
CREATE TABLE test_waiting (n BIGINT);
`)},
	}
	return store.Schema{
		Name: "test", Migrations: files,
		Partition: func(table string, key, oldest, newest int64) store.Partition {
			if key < oldest || key > newest {
				panic(fmt.Sprint(key, " is not from ", oldest, " to ", newest))
			}
			start := (key - (key%100+100)%100)
			return store.Partition{Name: strings.ReplaceAll(fmt.Sprint(table, "_d", start), "-", "b"), From: start, Until: start + 100}
		},
		Settle: func(ctx context.Context, db *store.DB) error {
			if db.Dialect() == store.Postgres {
				return nil
			}
			return db.Write(ctx, func(c store.Conn) error {
				_, err := c.Exec("INSERT INTO test_loose (n, what) SELECT n, 'waited' FROM test_waiting")
				if err == nil {
					_, err = c.Exec("DELETE FROM test_waiting WHERE n < 1000")
				}
				return err
			})
		},
		Reindex: func(ctx context.Context, db *store.DB, step func(rows int64)) error {
			statements := []string{"DELETE FROM test_search", "INSERT INTO test_search (item, words) SELECT id, to_tsvector('simple', name) FROM test_items"}
			if db.Dialect() == store.SQLite {
				statements = []string{"INSERT INTO test_search (test_search) VALUES ('delete-all')", "INSERT INTO test_search (rowid, words) SELECT id, name FROM test_items"}
			}
			step(1)
			return db.Write(ctx, func(c store.Conn) error {
				for _, statement := range statements {
					if _, err := c.Exec(statement); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

func newSQLite(tb testing.TB, path string) *store.DB {
	tb.Helper()
	db, err := store.NewSQLite(store.SQLiteOptions{Path: path, Synchronous: "NORMAL"}, zap.NewNop())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

func newPostgres(tb testing.TB, dsn string) *store.DB {
	tb.Helper()
	db, err := store.NewPostgres(store.PostgresOptions{DSN: dsn}, zap.NewNop())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

// with opens a database, calls fn and closes the database.
func with(tb testing.TB, db *store.DB, fn func(db *store.DB)) {
	tb.Helper()
	if err := db.Register(schema()); err != nil {
		tb.Fatal(err)
	}
	testenv.Open(tb, db)
	fn(db)
	if err := db.Close(); err != nil {
		tb.Fatal(err)
	}
}

func exec(tb testing.TB, db *store.DB, statement string, args ...any) {
	tb.Helper()
	if err := db.Write(tb.Context(), func(c store.Conn) error { _, err := c.Exec(statement, args...); return err }); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}

// rows returns the rows of a query, each as text.
func rows(tb testing.TB, db *store.DB, query string) (all []string) {
	tb.Helper()
	err := db.Read(tb.Context(), func(c store.Conn) error {
		all = nil
		list, err := c.Rows(query)
		if err != nil {
			return err
		}
		defer list.Close()
		columns, err := list.Columns()
		if err != nil {
			return err
		}
		for list.Next() {
			values, dest := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				dest[i] = &values[i]
			}
			if err := list.Scan(dest...); err != nil {
				return err
			}
			for i, v := range values {
				switch v := v.(type) {
				case time.Time:
					values[i] = v.UTC().Format(time.RFC3339Nano)
				case []byte:
					values[i] = fmt.Sprintf("%x", v)
				}
			}
			all = append(all, fmt.Sprintf("%#v", values))
		}
		return list.Err()
	})
	if err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return all
}

const items = 60

// fill inserts rows into every table of a SQLite database.
func fill(tb testing.TB, db *store.DB) {
	tb.Helper()
	for i := range items {
		exec(tb, db, "INSERT INTO test_items (id, name, body) VALUES (?, ?, ?)", i+1, fmt.Sprintf("item %d ä\t\\N\n", i), []byte{0, 255, byte(i)})
		exec(tb, db, "INSERT INTO test_boxes (shelf, place, item) VALUES (?, ?, ?)", string(rune('A'+i%3))+"b"[:i%2], i, i+1)
		exec(tb, db, "INSERT INTO test_bytes (hash, n) VALUES (?, ?)", []byte{byte(i * 7), 0, 255}, i)
		exec(tb, db, "INSERT INTO test_days (at, seq, what) VALUES (?, ?, ?)", i*10-150, i, nil)
		exec(tb, db, "INSERT INTO test_loose (n, what) VALUES (?, ?)", i/2, "twice")
	}
	exec(tb, db, "UPDATE test_items SET other = ? - id", items+1)
	exec(tb, db, "INSERT INTO test_items (id, name) VALUES (1000, 'gone')")
	exec(tb, db, "DELETE FROM test_items WHERE id = 1000") // the number must not be assigned again
	exec(tb, db, "DELETE FROM test_made WHERE n = 1")
	exec(tb, db, "INSERT INTO test_waiting (n) VALUES (7)")
	const all = "INSERT INTO test_types (big, mid, small, yes, real, words, short, doc, raw, at, plain) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	exec(tb, db, all, int64(-1<<63), int64(-1<<31), -1<<15, 1, 0.1, "ä'\"\\\n", "short", `{"b": 1,  "a": [null]}`, []byte{}, "2026-02-03 04:05:06.123456+01:00", "1999-12-31 23:59:59+00:00")
	exec(tb, db, all, int64(1<<63-1), int64(1<<31-1), 1<<15-1, 0, -1e300, "", "", "null", []byte("\x00\xff"), "0001-01-01 00:00:00+00:00", nil)
	exec(tb, db, all, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil)
	exec(tb, db, all, 0, 0, 0, 1, 3, "a", "b", "1", []byte{1}, nil, nil)
}

var queries = []string{
	"SELECT id, name, other, body FROM test_items ORDER BY id",
	"SELECT shelf, place, item FROM test_boxes ORDER BY place",
	"SELECT n, hash FROM test_bytes ORDER BY n",
	"SELECT n, what, count(*) FROM test_loose GROUP BY n, what ORDER BY n, what",
	"SELECT id, n FROM test_made ORDER BY id",
	"SELECT at, seq, what FROM test_days ORDER BY seq",
	"SELECT id, big, CAST(mid AS BIGINT), CAST(small AS BIGINT), CASE WHEN yes THEN 1 ELSE 0 END, yes IS NULL, real, words, short, CAST(doc AS TEXT), raw, twice FROM test_types ORDER BY id",
	"SELECT at FROM test_types WHERE at IS NOT NULL ORDER BY id",
}

// stateOf returns the rows that each of a list of queries finds in a database, in a form that is the same on both
// engines.
func stateOf(tb testing.TB, db *store.DB) map[string][]string {
	tb.Helper()
	all := make(map[string][]string)
	for _, query := range queries {
		all[query] = rows(tb, db, query)
		for i, row := range all[query] {
			all[query][i] = strings.NewReplacer("true", "1", "false", "0").Replace(row)
		}
	}
	found := "SELECT item FROM test_search WHERE words @@ plainto_tsquery('simple', '7')"
	if db.Dialect() == store.SQLite {
		found = "SELECT rowid FROM test_search WHERE test_search MATCH '7'"
	}
	all["words"] = rows(tb, db, found)
	return all
}

func same(tb testing.TB, name string, got, want map[string][]string) {
	tb.Helper()
	for query, rows := range want {
		if len(rows) == 0 {
			tb.Errorf("%s: %s: no rows", name, query)
		}
		if !slices.Equal(got[query], rows) {
			tb.Errorf("%s: %s:\n%s\nwant\n%s", name, query, strings.Join(got[query], "\n"), strings.Join(rows, "\n"))
		}
	}
}

// filled creates a SQLite database with rows, some of which still wait to be settled. It returns the path of the
// database and the state that the database has once nothing waits.
func filled(tb testing.TB) (path string, want map[string][]string) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), "from.db")
	with(tb, newSQLite(tb, path), func(db *store.DB) {
		fill(tb, db)
		if err := schema().Settle(tb.Context(), db); err != nil {
			tb.Fatal(err)
		}
		if err := schema().Reindex(tb.Context(), db, func(int64) {}); err != nil {
			tb.Fatal(err)
		}
		want = stateOf(tb, db)
		exec(tb, db, "DELETE FROM test_loose WHERE what = 'waited'")
		exec(tb, db, "INSERT INTO test_waiting (n) VALUES (7)")
	})
	return path, want
}

func options(source, target *store.DB) Options {
	return Options{From: source, To: target, Schemas: []store.Schema{schema()}, batch: 7}
}

// TestRoundTrip checks that all data of a SQLite database arrives in PostgreSQL, and from there in another SQLite
// database.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	path, want := filled(t)
	dsn := testenv.Postgres(t).DSN()
	var done, total int64
	o := options(newSQLite(t, path), newPostgres(t, dsn))
	o.Progress = func(more, newTotal int64) { done, total = done+more, newTotal }
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Resumed || r.Rows() < 5*items || done != total || !slices.Equal(r.Indexed, []string{"test"}) || len(r.Tables) != 7 {
		t.Errorf("%d of %d: %+v", done, total, r)
	}
	with(t, newPostgres(t, dsn), func(db *store.DB) {
		same(t, "postgres", stateOf(t, db), want)
		exec(t, db, "INSERT INTO test_items (name) VALUES ('new')")
		if got := rows(t, db, "SELECT id FROM test_items WHERE name = 'new'"); got[0] != "[]interface {}{1001}" {
			t.Errorf("the next number is %s", got)
		}
		exec(t, db, "DELETE FROM test_items WHERE name = 'new'")
		exec(t, db, "INSERT INTO test_types (big) VALUES (5)")
		exec(t, db, "DELETE FROM test_types WHERE big = 5")
		if err := db.Write(t.Context(), func(c store.Conn) error { _, err := c.Exec("INSERT INTO test_boxes VALUES ('x', 1, 999)"); return err }); err == nil {
			t.Error("the foreign keys are not back")
		}
	})

	target := filepath.Join(t.TempDir(), "new", "to.db")
	second, err := Run(t.Context(), options(newPostgres(t, dsn), newSQLite(t, target)))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(second.Tables, r.Tables) {
		t.Errorf("%+v, want %+v", second.Tables, r.Tables)
	}
	with(t, newSQLite(t, target), func(db *store.DB) {
		same(t, "sqlite", stateOf(t, db), want)
		exec(t, db, "INSERT INTO test_items (name) VALUES ('new')")
		if got := rows(t, db, "SELECT id FROM test_items WHERE name = 'new'"); got[0] != "[]interface {}{1002}" {
			t.Errorf("the next number is %s", got)
		}
		if got := rows(t, db, "SELECT name FROM sqlite_schema WHERE name LIKE 'tollgate%'"); len(got) > 0 {
			t.Errorf("left over: %s", got)
		}
	})
	files, err := filepath.Glob(target + "*moving*")
	if err != nil || len(files) > 0 {
		t.Errorf("left over: %q, error %v", files, err)
	}
}

// TestInterruptedMoveResumes checks that a move that is interrupted anywhere continues where it ended, and that changes
// made meanwhile arrive too. No server opens the incomplete database.
func TestInterruptedMoveResumes(t *testing.T) {
	t.Parallel()
	path, want := filled(t)
	for name, cut := range map[string]int64{"at once": 0, "early": 10, "late": 40, "while it compares": 70, "at the end": 100} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := filepath.Join(t.TempDir(), "from.db")
			text, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(own, text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			dsn := testenv.Postgres(t).DSN()
			cutShort := func(o Options) {
				t.Helper()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				n := int64(0)
				o.Progress = func(more, total int64) {
					if n += more; n*100 >= total*cut {
						cancel()
					}
				}
				if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
					t.Fatalf("cut short: %v", err)
				}
			}
			cutShort(options(newSQLite(t, own), newPostgres(t, dsn)))
			server := newPostgres(t, dsn)
			server.Start(t.Context())
			if err := server.Ready(); err == nil || !strings.Contains(err.Error(), "a move into this database is unfinished") {
				t.Errorf("a server opens the incomplete database: %v", err)
			}
			_ = server.Close()
			with(t, newSQLite(t, own), func(db *store.DB) {
				exec(t, db, "UPDATE test_items SET name = 'changed' WHERE id = 1")
				exec(t, db, "UPDATE test_items SET name = 'item 0 ä\t\\N\n' WHERE id = 2")
				exec(t, db, "UPDATE test_items SET name = 'item 1 ä\t\\N\n' WHERE id = 1")
			})
			want := maps.Clone(want)
			first := queries[0]
			want[first] = slices.Clone(want[first])
			want[first][0], want[first][1] = strings.Replace(want[first][0], "item 0", "item 1", 1), strings.Replace(want[first][1], "item 1", "item 0", 1)
			r, err := Run(t.Context(), options(newSQLite(t, own), newPostgres(t, dsn)))
			if err != nil {
				t.Fatal(err)
			}
			if cut > 0 && !r.Resumed {
				t.Error("the move did not resume")
			}
			with(t, newPostgres(t, dsn), func(db *store.DB) { same(t, "postgres", stateOf(t, db), want) })

			target := filepath.Join(t.TempDir(), "to.db")
			cutShort(options(newPostgres(t, dsn), newSQLite(t, target)))
			server = newSQLite(t, target)
			server.Start(t.Context())
			if err := server.Ready(); err == nil || !strings.Contains(err.Error(), "a move into this database is unfinished") {
				t.Errorf("a server opens the incomplete database: %v", err)
			}
			_ = server.Close()
			if _, err := Run(t.Context(), options(newPostgres(t, dsn), newSQLite(t, target))); err != nil {
				t.Fatal(err)
			}
			with(t, newSQLite(t, target), func(db *store.DB) { same(t, "sqlite", stateOf(t, db), want) })
		})
	}
}

// TestUnmovableDataIsRefused checks that a move refuses data that would not arrive unchanged.
func TestUnmovableDataIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		statement string // the change of the source
		want      string
	}{
		"a zero byte":      {"UPDATE test_items SET name = CAST(x'610062' AS TEXT) WHERE id = 3", "table test_items: the column name holds text with a zero byte"},
		"not UTF-8":        {"UPDATE test_items SET name = CAST(x'ff' AS TEXT) WHERE id = 3", "not UTF-8"},
		"the row is named": {"UPDATE test_boxes SET shelf = CAST(x'ff' AS TEXT) WHERE place = 5", `place = "5"`},
		"another type":     {"UPDATE test_items SET other = 'x' WHERE id = 3", "the column other holds a value of another type (string)"},
		"no boolean":       {"UPDATE test_types SET yes = 3", "the column yes"},
		"too large":        {"UPDATE test_types SET small = 40000", "holds 40000, for which the type of the other engine is too small"},
		"what waits":       {"INSERT INTO test_waiting (n) VALUES (1000)", "table test_waiting has 1 rows, but the other engine has no such table"},
		"a lost row":       {"PRAGMA user_version = 0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "from.db")
			with(t, newSQLite(t, path), func(db *store.DB) { fill(t, db) })
			conn, end, err := newSQLite(t, path).OpenConn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if name == "a lost row" {
				c.statement, c.want = "DELETE FROM test_items WHERE id = 5", "violates foreign key constraint"
			}
			if _, err := conn.ExecContext(t.Context(), c.statement); err != nil {
				t.Fatal(err)
			}
			end()
			_, err = Run(t.Context(), options(newSQLite(t, path), newPostgres(t, testenv.Postgres(t).DSN())))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// TestUnsuitableDatabasesAreRefused checks that neither database may be in use, that the target must be empty, and that
// the source must have the schema that this program knows.
func TestUnsuitableDatabasesAreRefused(t *testing.T) {
	t.Parallel()
	path, _ := filled(t)
	refused := func(name string, o Options, want string) {
		t.Helper()
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
	empty := testenv.Postgres(t).DSN()
	refused("one engine", options(newSQLite(t, path), newSQLite(t, path+"2")), "both databases are on sqlite")
	refused("no source", options(newSQLite(t, path+"none"), newPostgres(t, empty)), "there is no database at")

	release, err := store.HoldSQLite(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	refused("a server on the source", options(newSQLite(t, path), newPostgres(t, empty)), "stop the server first")
	release()

	full := testenv.Postgres(t).DSN()
	with(t, newPostgres(t, full), func(db *store.DB) {
		rows(t, db, "SELECT 1")
		refused("a server on the target", options(newSQLite(t, path), newPostgres(t, full)), "the PostgreSQL database is in use")
	})
	refused("a full target", options(newSQLite(t, path), newPostgres(t, full)), "must be empty, but it has the table")
	with(t, newPostgres(t, full), func(db *store.DB) {
		rows(t, db, "SELECT 1")
		refused("a server on the source", options(newPostgres(t, full), newSQLite(t, path+"2")), "the PostgreSQL database is in use")
	})
	refused("a full target", options(newPostgres(t, full), newSQLite(t, path)), "already exists: move does not overwrite a file")

	unknown := options(newSQLite(t, path), newPostgres(t, empty))
	unknown.Schemas[0].Name = "other"
	refused("another program", unknown, `the schema "test", which this program does not know`)
	ignorant := options(newSQLite(t, path), newPostgres(t, testenv.Postgres(t).DSN()))
	ignorant.Schemas[0].Reindex = nil
	refused("no index", ignorant, "table test_search is a full-text index")

	// A command that writes to the source during the move is kept out.
	slow := options(newSQLite(t, path), newPostgres(t, empty))
	tried := false
	slow.Progress = func(more, _ int64) {
		if tried {
			return
		}
		tried = true
		conn, end, err := newBriefSQLite(t, path).OpenConn(t.Context())
		if err != nil {
			t.Error(err)
			return
		}
		defer end()
		if _, err := conn.ExecContext(t.Context(), "DELETE FROM test_loose"); err == nil {
			t.Error("another process writes to the source")
		}
	}
	if _, err := Run(t.Context(), slow); err != nil || !tried {
		t.Errorf("got the error %v, want none after the interference: %t", err, tried)
	}
}

func newBriefSQLite(tb testing.TB, path string) *store.DB {
	tb.Helper()
	db, err := store.NewSQLite(store.SQLiteOptions{Path: path, BusyTimeout: time.Millisecond}, zap.NewNop())
	if err != nil {
		tb.Fatal(err)
	}
	return db
}

// TestSum checks that the sum of rows does not depend on their order, and that different rows have different sums.
func TestSum(t *testing.T) {
	t.Parallel()
	sumOf := func(rows ...[]any) *sum {
		s := new(sum)
		for _, row := range rows {
			s.add(row)
		}
		return s
	}
	a, b := []any{int64(1), "x"}, []any{int64(2), nil}
	if !sumOf(a, b, b).equal(sumOf(b, a, b)) {
		t.Error("the order counts")
	}
	all := [][]any{{"a", "b"}, {"ab", ""}, {"", "ab"}, {[]byte("a"), "b"}, {nil, "b"}, {int64(0)}, {false}, {0.0}, {time.UnixMicro(0)}, {""}, {nil}, {true}, {int64(1)}}
	for i, x := range all {
		for j, y := range all {
			if sumOf(x).equal(sumOf(y)) != (i == j) {
				t.Errorf("%#v and %#v", x, y)
			}
		}
	}
	if sumOf(a).equal(sumOf(a, a)) || bytes.Equal(sumOf(a).digest(), sumOf(a, a, b).digest()) {
		t.Error("the number does not count")
	}
}
