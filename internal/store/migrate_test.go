package store

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

func files(text ...string) fs.FS {
	m := fstest.MapFS{}
	for pair := range slices.Chunk(text, 2) { // name, content
		m[pair[0]] = &fstest.MapFile{Data: []byte(pair[1])}
	}
	return m
}

const upT = "-- +goose Up\nCREATE TABLE t (id BIGINT);\n"

func TestRegister(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		schema Schema
		want   string // part of the error; "": none
	}{
		"fine":           {Schema{Name: "a_1", Migrations: files("00001_t.sql", upT)}, ""},
		"one engine":     {Schema{Name: "a", Migrations: files("00001_t.sqlite.sql", upT, "00001_t.postgres.sql", upT)}, ""},
		"no name":        {Schema{Name: "", Migrations: files("00001_t.sql", upT)}, "the name must be"},
		"bad name":       {Schema{Name: "a;DROP", Migrations: files("00001_t.sql", upT)}, "the name must be"},
		"long name":      {Schema{Name: strings.Repeat("a", 41), Migrations: files("00001_t.sql", upT)}, "the name must be"},
		"no files":       {Schema{Name: "a", Migrations: nil}, "no migrations"},
		"empty":          {Schema{Name: "a", Migrations: files()}, "no migrations for sqlite"},
		"other engine":   {Schema{Name: "a", Migrations: files("00001_t.postgres.sql", upT)}, "no migrations for sqlite"},
		"no version":     {Schema{Name: "a", Migrations: files("t.sql", upT)}, "is not named"},
		"unknown engine": {Schema{Name: "a", Migrations: files("00001_t.mysql.sql", upT)}, "is not named"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := NewSQLite(SQLiteOptions{Path: "never made.db"}, zap.NewNop())
			if err != nil {
				t.Fatal(err)
			}
			err = db.Register(test.schema)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Fatalf("error is %v, want %q", err, test.want)
			}
		})
	}
}

func TestRegisterTwice(t *testing.T) {
	t.Parallel()
	db, err := NewSQLite(SQLiteOptions{Path: "never made.db"}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := db.Register(Schema{Name: "a", Migrations: files("00001_t.sql", upT)}); err != nil {
			t.Fatal(err)
		}
	}
	if len(db.schemas) != 1 {
		t.Fatalf("%d schemas", len(db.schemas))
	}
	if err := db.Register(Schema{Name: "a", Migrations: files("00001_t.sql", upT+" ")}); err == nil {
		t.Fatal("a name was registered twice")
	}
}

func TestSchemasAddedLater(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		logger, seen := logs()
		db, err := p.open(logger)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		testenv.Open(t, db)
		for range 2 {
			if err := db.Register(testSchema()); err != nil {
				t.Fatal(err)
			}
			testenv.Open(t, db)
			if err := writeItem(t.Context(), db, logged(seen, "migration applied")); err != nil {
				// The second round inserts the same number again.
				if !IsUniqueViolation(err) {
					t.Fatal(err)
				}
			}
		}
		if n := logged(seen, "migration applied"); n != 3 {
			t.Errorf("%d migrations were logged, want 3", n)
		}
		if n := number(t, db, "SELECT count(*) FROM schema_test WHERE version_id > 0"); n != 3 {
			t.Errorf("%d versions are noted, want 3", n)
		}
		if logged(seen, "database unavailable") != 0 || logged(seen, "database is back") != 0 {
			t.Error("logged as down")
		}
	})
}

func TestBrokenMigration(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		logger, seen := logs()
		db, err := p.open(logger)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		if err := db.Register(Schema{Name: "broken", Migrations: files("00001_t.sql", upT, "00002_u.sql", "-- +goose Up\nCREATE NONSENSE;\n")}); err != nil {
			t.Fatal(err)
		}
		db.Start(t.Context())
		err = db.Ready()
		wantError(t, err, ErrUnavailable)
		if !strings.Contains(err.Error(), `"broken"`) || !strings.Contains(err.Error(), "00002_u.sql") {
			t.Errorf("error does not name the file: %v", err)
		}
		if logged(seen, "migration applied") != 1 || logged(seen, "database unavailable") != 1 {
			t.Errorf("logged %v", seen.All())
		}
	})
}

// TestNewerDatabase checks that a program does not write to tables that a newer program has created.
func TestNewerDatabase(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		newer, err := p.open(zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		if err := newer.Register(Schema{Name: "a", Migrations: files("00001_t.sql", upT, "00004_u.sql", "-- +goose Up\nCREATE TABLE u (id BIGINT);\n")}); err != nil {
			t.Fatal(err)
		}
		testenv.Open(t, newer)
		if err := newer.Close(); err != nil {
			t.Fatal(err)
		}
		older, err := p.open(zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = older.Close() }()
		if err := older.Register(Schema{Name: "a", Migrations: files("00001_t.sql", upT)}); err != nil {
			t.Fatal(err)
		}
		older.Start(t.Context())
		err = older.Ready()
		wantError(t, err, ErrNewer)
		wantError(t, err, ErrUnavailable)
		if !strings.Contains(err.Error(), "its schema a has version 4, but this program knows only versions up to 1") {
			t.Errorf("the error does not name the versions: %v", err)
		}
	})
}

// TestTooOldDatabase checks that a database from before the first migration of this program is refused and not changed,
// and that a database at exactly the version of that migration is used.
func TestTooOldDatabase(t *testing.T) {
	t.Parallel()
	const upV = "-- +goose Up\nCREATE TABLE v (id BIGINT);\n"
	for name, test := range map[string]struct {
		version string // of the last migration of the older program
		want    string // part of the error, or empty if there is none
	}{
		"too old": {"00003", "its schema a has version 3, but this program needs at least version 4"},
		"exact":   {"00004", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, p place) {
				older, err := p.open(zap.NewNop())
				if err != nil {
					t.Fatal(err)
				}
				if err := older.Register(Schema{Name: "a", Migrations: files("00001_t.sql", upT, test.version+"_v.sql", upV)}); err != nil {
					t.Fatal(err)
				}
				testenv.Open(t, older)
				if err := older.Close(); err != nil {
					t.Fatal(err)
				}
				db, err := p.open(zap.NewNop())
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = db.Close() }()
				for _, s := range []Schema{
					{Name: "b", Migrations: files("00001_w.sql", "-- +goose Up\nCREATE TABLE w (id BIGINT);\n")},
					{Name: "a", Migrations: files("00004_a.sql", upT+"CREATE TABLE v (id BIGINT);\n", "00005_x.sql", "-- +goose Up\nALTER TABLE v ADD COLUMN x BIGINT;\n")},
				} {
					if err := db.Register(s); err != nil {
						t.Fatal(err)
					}
				}
				db.Start(t.Context())
				if err = db.Ready(); test.want == "" {
					if err != nil {
						t.Fatal(err)
					}
					number(t, db, "SELECT count(x) FROM v")
					return
				}
				wantError(t, err, ErrTooOld)
				if !strings.Contains(err.Error(), test.want) {
					t.Errorf("the error is %v", err)
				}
				reopened, err := p.open(zap.NewNop())
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = reopened.Close() }()
				testenv.Open(t, reopened)
				if reopened.Read(t.Context(), func(c Conn) error { return c.Row("SELECT count(*) FROM w").Scan(new(int)) }) == nil {
					t.Error("the tables of another schema were created")
				}
			})
		})
	}
}

// TestLocksOutliveTouch checks that another user of the file in this process does not release its lock.
func TestLocksOutliveTouch(t *testing.T) {
	t.Parallel()
	p := place{dialect: SQLite, location: filepath.Join(t.TempDir(), "lock")}
	unlock, err := lockFile(t.Context(), p.location, migrateLockWait)
	if err != nil {
		t.Fatal(err)
	}
	if err := touch(p.location); err != nil {
		t.Error(err)
	}
	if err := runChild(t.Context(), p, "lock").Run(); err == nil {
		t.Error("another process got the lock that this one holds")
	}
	unlock()
	if err := runChild(t.Context(), p, "lock").Run(); err != nil {
		t.Errorf("the lock was given back: %v", err)
	}
}

func TestMigrationRace(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		var wg sync.WaitGroup
		for range 3 { // processes
			wg.Go(func() {
				if err := runChild(t.Context(), p, "migrate").Run(); err != nil {
					t.Errorf("child: %v", err)
				}
			})
		}
		for range 3 { // DBs of this process
			wg.Go(func() {
				db, err := p.open(zap.NewNop())
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = db.Close() }()
				if err := db.Register(testSchema()); err != nil {
					t.Error(err)
					return
				}
				db.Start(t.Context())
				if err := db.WaitReady(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		db := p.start(t)
		if n := number(t, db, "SELECT sum(n) FROM applied"); n != 1 {
			t.Errorf("the migration was applied %d times", n)
		}
		if n := number(t, db, "SELECT count(*) FROM schema_test WHERE version_id > 0"); n != 3 {
			t.Errorf("%d versions are noted, want 3", n)
		}
	})
}

func TestNewerMigrationsAreAdded(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		for _, more := range [][]string{nil, {"00002_u.sql", "-- +goose Up\nALTER TABLE t ADD COLUMN name TEXT;\n"}} {
			db, err := p.open(zap.NewNop())
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Register(Schema{Name: "grows", Migrations: files(append([]string{"00001_t.sql", upT}, more...)...)}); err != nil {
				t.Fatal(err)
			}
			testenv.Open(t, db)
			err = db.Write(t.Context(), func(c Conn) error {
				_, err := c.Exec("INSERT INTO t (id, name) VALUES (1, 'x')")
				return err
			})
			if (err == nil) != (more != nil) {
				t.Errorf("with %d more files the error is %v", len(more)/2, err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// probedFS calls inspect whenever a file is read once it is armed.
type probedFS struct {
	fs.FS
	inspect *func()
}

func (f probedFS) Open(name string) (fs.File, error) {
	if *f.inspect != nil {
		(*f.inspect)()
	}
	return f.FS.Open(name)
}

// TestMigrationLock checks that the lock is held while migrations run, and released when they have ended.
func TestMigrationLock(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		look := p.start(t) // to look at the connections
		free := func() bool {
			if p.dialect == SQLite {
				unlock, err := lockFile(t.Context(), p.location+".migrate.lock", time.Millisecond)
				if err == nil {
					unlock()
				}
				return err == nil
			}
			var free bool
			err := look.Read(t.Context(), func(c Conn) error {
				return c.Row(`SELECT count(*) = 0 FROM pg_locks WHERE locktype = 'advisory'
					AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&free)
			})
			if err != nil {
				t.Error(err)
			}
			return free
		}
		db, err := p.open(zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		var inspect func()
		if err := db.Register(Schema{Name: "locked", Migrations: probedFS{files("00001_t.sql", upT), &inspect}}); err != nil {
			t.Fatal(err)
		}
		var looks atomic.Int64 // goose reads files in parallel
		inspect = func() {
			looks.Add(1)
			if free() {
				t.Error("migrating without the lock")
			}
		}
		testenv.Open(t, db)
		if looks.Load() == 0 {
			t.Error("nothing was migrated")
		}
		eventually(t, "the lock is free", free)
	})
}

// TestPlaceholders checks that the same text creates a table on both engines.
func TestPlaceholders(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		db, err := p.open(zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		if err := db.Register(Schema{Name: "spelled", Migrations: fstest.MapFS{"00001_things.sql": {Data: []byte(`
-- +goose Up
CREATE TABLE things (id {{id}}, name TEXT {{bytewise}} NOT NULL UNIQUE, data {{ bytes }} NOT NULL);
CREATE TABLE pairs (a BIGINT NOT NULL, b BIGINT NOT NULL, PRIMARY KEY (a, b)) {{without rowid}};
CREATE TABLE parts (
{{sqlite}}	of_sqlite BIGINT,
{{postgres}}	of_postgres BIGINT,
	id {{rowid}} NOT NULL PRIMARY KEY REFERENCES things (id)
);
CREATE INDEX things_name ON things (name{{, id}});
-- +goose Down
DROP TABLE parts;
DROP TABLE pairs;
DROP TABLE things;
`)}}}); err != nil {
			t.Fatal(err)
		}
		testenv.Open(t, db)
		var names []string
		err = db.Write(t.Context(), func(c Conn) error {
			for i, name := range []string{"b", "B", "ä"} {
				var id int
				err := c.Row("INSERT INTO things (name, data) VALUES (?, ?) RETURNING id", name, []byte{0, 0xff}).Scan(&id)
				if err != nil || id != i+1 {
					t.Errorf("%s has the id %d, %v", name, id, err)
				}
			}
			var err error
			names, err = List(c, func(r Row) (s string, err error) { return s, r.Scan(&s) }, "SELECT name FROM things ORDER BY name")
			return err
		})
		if err != nil || !slices.Equal(names, []string{"B", "b", "ä"}) {
			t.Errorf("got the names %q with the error %v, want them in bytewise order", names, err)
		}
		number(t, db, "SELECT count(of_"+p.dialect.String()+") FROM parts")
		err = db.Register(Schema{Name: "misspelled", Migrations: fstest.MapFS{"00001_x.sql": {Data: []byte("-- +goose Up\nCREATE TABLE x (id {{ident}});\n")}}})
		if err == nil || !strings.Contains(err.Error(), "{{ident}}") {
			t.Errorf("a placeholder that there is not: %v", err)
		}
	})
}
