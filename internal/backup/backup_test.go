package backup

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// schema returns a schema with everything that is hard to copy: numbers that the database assigns, references to rows
// that come later, rows that a migration inserts, and partitions.
func schema(migrations int) store.Schema {
	files := fstest.MapFS{
		"00001_items.sql": {Data: []byte(`
-- +goose Up
CREATE TABLE items (id {{id}}, name TEXT NOT NULL UNIQUE, other BIGINT REFERENCES items (id), blob {{bytes}});
CREATE TABLE boxes (item BIGINT NOT NULL REFERENCES items (id), empty TEXT);
CREATE TABLE made (n BIGINT NOT NULL);
INSERT INTO made (n) VALUES (1);
`)},
		"00002_days.sqlite.sql": {Data: []byte("-- +goose Up\nCREATE TABLE days (at BIGINT NOT NULL, what TEXT);\n")},
		"00002_days.postgres.sql": {Data: []byte(`
-- +goose Up
CREATE TABLE days (at BIGINT NOT NULL, what TEXT) PARTITION BY RANGE (at);
CREATE INDEX days_at ON days (at);
`)},
		"00003_later.sql": {Data: []byte("-- +goose Up\nALTER TABLE made ADD COLUMN later BIGINT NOT NULL DEFAULT 7;\n")},
	}
	if migrations < 3 {
		delete(files, "00003_later.sql")
	}
	return store.Schema{Name: "test", Migrations: files}
}

// place is the location of an installation.
type place struct {
	engine string
	dir    string
	dsn    string
}

func newPlace(tb testing.TB, engine string) place {
	tb.Helper()
	p := place{engine: engine, dir: filepath.Join(tb.TempDir(), "data")}
	if engine == "postgres" {
		p.dsn = testenv.Postgres(tb).DSN()
	}
	return p
}

func (p place) state(schemas ...store.Schema) (State, error) {
	var db *store.DB
	var err error
	if p.engine == "postgres" {
		db, err = store.NewPostgres(store.PostgresOptions{DSN: p.dsn}, zap.NewNop())
	} else {
		db, err = store.NewSQLite(store.SQLiteOptions{Path: filepath.Join(p.dir, "test.db"), Synchronous: "normal"}, zap.NewNop())
	}
	return State{
		Databases: []Database{{Name: "common", DB: db}},
		Schemas:   schemas,
		KeyFile:   filepath.Join(p.dir, "test.key"),
		Folders:   map[string]string{"files": filepath.Join(p.dir, "files")},
	}, err
}

func (p place) mustState(tb testing.TB, schemas ...store.Schema) State {
	tb.Helper()
	s, err := p.state(schemas...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Databases[0].DB.Close() })
	return s
}

// start opens the database of a place.
func (p place) start(tb testing.TB, s store.Schema) *store.DB {
	tb.Helper()
	db := p.mustState(tb).Databases[0].DB
	if err := db.Register(s); err != nil {
		tb.Fatal(err)
	}
	testenv.Open(tb, db)
	return db
}

// fill creates an installation with n items.
func (p place) fill(tb testing.TB, n int) *store.DB {
	tb.Helper()
	db := p.start(tb, schema(2))
	for i := range n {
		if err := p.add(tb.Context(), db, fmt.Sprint("item ", i)); err != nil {
			tb.Fatal(err)
		}
	}
	err := db.Write(tb.Context(), func(c store.Conn) error {
		if c.Dialect() == store.Postgres {
			for _, statement := range []string{
				"CREATE TABLE days_d1 PARTITION OF days FOR VALUES FROM (-1000) TO (1000)",
				"CREATE TABLE days_d2 PARTITION OF days FOR VALUES FROM (1000) TO (2000)",
			} {
				if _, err := c.Exec(statement); err != nil {
					return err
				}
			}
		}
		for _, day := range []int{-5, 999, 1000} {
			if _, err := c.Exec("INSERT INTO days (at, what) VALUES (?, ?)", day, "tab\t, line\n, \\N and ä"); err != nil {
				return err
			}
		}
		// A reference to a row that comes later, and a number that is not assigned any more.
		if _, err := c.Exec("UPDATE items SET other = (SELECT max(id) FROM items) WHERE id = (SELECT min(id) FROM items)"); err != nil {
			return err
		}
		_, err := c.Exec("UPDATE made SET n = 2")
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "test.key"), []byte("the key"), 0o600); err != nil {
		tb.Fatal(err)
	}
	return db
}

// add stores a file, then an item that refers to it.
func (p place) add(ctx context.Context, db *store.DB, name string) error {
	file := filepath.Join(p.dir, "files", name[len(name)-1:], name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(strings.Repeat(name, 100)), 0o600); err != nil {
		return err
	}
	return db.Write(ctx, func(c store.Conn) error {
		_, err := c.Exec("INSERT INTO items (name, blob) VALUES (?, ?)", name, []byte{0, 255, '\\', '\t', '\n'})
		if err == nil {
			_, err = c.Exec("INSERT INTO boxes (item, empty) SELECT id, NULL FROM items WHERE name = ?", name)
		}
		return err
	})
}

func names(tb testing.TB, db *store.DB, query string) map[string]bool {
	tb.Helper()
	found := make(map[string]bool)
	err := db.Read(tb.Context(), func(c store.Conn) error {
		clear(found)
		return c.All(query, nil, func(r store.Row) error {
			var name string
			err := r.Scan(&name)
			found[name] = true
			return err
		})
	})
	if err != nil {
		tb.Fatal(err)
	}
	return found
}

func onBoth(t *testing.T, test func(t *testing.T, engine string)) {
	t.Helper()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			test(t, engine)
		})
	}
}

func write(tb testing.TB, source place, folder string) *Manifest {
	tb.Helper()
	m, err := Write(tb.Context(), folder, source.mustState(tb, schema(2)), Options{Program: "test"})
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// TestBackupUnderLoad checks that a backup contains everything that was acknowledged before it began, files included,
// and that the restored installation can be used.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, engine string) {
		source := newPlace(t, engine)
		db := source.fill(t, 20)
		var mu sync.Mutex
		acknowledged := make(map[string]bool)
		ctx, stop := context.WithCancel(t.Context())
		var writers sync.WaitGroup
		t.Cleanup(writers.Wait)
		t.Cleanup(stop)
		loaded := make(chan struct{}, 1000)
		for w := range 4 {
			writers.Go(func() {
				for i := 0; ctx.Err() == nil && i < 400; i++ { // as many as a busy disk can take
					name := fmt.Sprint("load ", w, " ", i)
					if err := source.add(context.WithoutCancel(ctx), db, name); err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					acknowledged[name] = true
					mu.Unlock()
					select {
					case loaded <- struct{}{}:
					default:
					}
				}
			})
		}
		for range 20 {
			<-loaded
		}
		mu.Lock()
		before := make(map[string]bool)
		for name := range acknowledged {
			before[name] = true
		}
		mu.Unlock()
		folder := filepath.Join(t.TempDir(), "new", "backup")
		var done, total int64
		m, err := Write(t.Context(), folder, source.mustState(t, schema(2)), Options{Program: "1.2.3", Progress: func(more, size int64) { done, total = done+more, size }})
		if err != nil {
			t.Fatal(err)
		}
		stop()
		writers.Wait()
		if done != total || done < 2*m.bytes() || m.Program != "1.2.3" || m.Databases[0].Schemas["test"] != 2 {
			t.Errorf("%d of %d bytes, manifest of %d: %+v", done, total, m.bytes(), m.Databases)
		}

		target := newPlace(t, engine)
		if _, err := Restore(t.Context(), folder, target.mustState(t, schema(3)), Options{}); err != nil {
			t.Fatal(err)
		}
		restored := target.start(t, schema(3)) // with the schema of a newer program
		items := names(t, restored, "SELECT name FROM items WHERE name LIKE 'load%'")
		for name := range before {
			if !items[name] {
				t.Errorf("%s was acknowledged before the backup and is not in it", name)
			}
		}
		for name := range items {
			text, err := os.ReadFile(filepath.Join(target.dir, "files", name[len(name)-1:], name))
			if err != nil || string(text) != strings.Repeat(name, 100) {
				t.Errorf("the file of %s: %d bytes, error %v", name, len(text), err)
			}
		}
		for query, want := range map[string]string{
			"SELECT CAST(count(*) AS TEXT) FROM items WHERE id NOT IN (SELECT item FROM boxes)":                    "0",
			"SELECT CAST(count(*) AS TEXT) FROM items WHERE other = 20":                                            "1",
			"SELECT CAST(n * 10 + later AS TEXT) FROM made":                                                        "27",
			"SELECT what FROM days WHERE at >= 1000":                                                               "tab\t, line\n, \\N and ä",
			"SELECT CAST(count(*) AS TEXT) FROM days":                                                              "3",
			"SELECT CAST(count(*) AS TEXT) FROM items WHERE blob = (SELECT blob FROM items WHERE name = 'item 1')": strconv.Itoa(len(items) + 20),
			"SELECT CAST(count(*) AS TEXT) FROM boxes WHERE empty IS NULL":                                         strconv.Itoa(len(items) + 20),
		} {
			if got := names(t, restored, query); !got[want] {
				t.Errorf("%s: %v, want %s", query, got, want)
			}
		}
		if err := target.add(t.Context(), restored, "after it"); err != nil {
			t.Errorf("writing after the restore: %v", err)
		}
		if err := restored.Write(t.Context(), func(c store.Conn) error {
			_, err := c.Exec("INSERT INTO boxes (item) VALUES (-1)")
			return err
		}); err == nil {
			t.Error("keys are not held any more")
		}
		if key, err := os.ReadFile(filepath.Join(target.dir, "test.key")); err != nil || string(key) != "the key" {
			t.Errorf("key %q, error %v", key, err)
		}
		for _, path := range []string{folder, target.dir} {
			ownersOnly(t, path)
		}
	})
}

func ownersOnly(t *testing.T, folder string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRestoreNoticesDamage checks that a changed byte in any file is noticed before anything is restored.
func TestRestoreNoticesDamage(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, engine string) {
		source := newPlace(t, engine)
		source.fill(t, 3)
		folder := filepath.Join(t.TempDir(), "backup")
		write(t, source, folder)
		target := newPlace(t, engine)
		var paths []string
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		check := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		count := 0
		for _, path := range paths {
			text, err := os.ReadFile(path)
			check(err)
			if len(text) == 0 {
				continue
			}
			count++
			changed := bytes.Clone(text)
			changed[len(text)/3] ^= 1
			for _, damaged := range [][]byte{changed, text[:len(text)-1], nil} {
				if damaged == nil {
					check(os.Remove(path))
				} else {
					check(os.WriteFile(path, damaged, 0o600))
				}
				if _, err := Restore(t.Context(), folder, target.mustState(t, schema(2)), Options{}); err == nil {
					t.Fatalf("%s with %d bytes of %d is restored", path, len(damaged), len(text))
				}
				if _, err := os.Stat(target.dir); !errors.Is(err, fs.ErrNotExist) {
					t.Fatalf("%s: a target was created: %v", path, err)
				}
			}
			check(os.WriteFile(path, text, 0o600))
		}
		if count < 6 {
			t.Errorf("%d files", count)
		}
		if _, err := Restore(t.Context(), folder, target.mustState(t, schema(2)), Options{}); err != nil {
			t.Errorf("the mended backup: %v", err)
		}
	})
}

// TestRestoreRefuses checks that restore overwrites nothing, and refuses a target where the result could not be used.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, engine string) {
		source := newPlace(t, engine)
		source.fill(t, 3)
		folder := filepath.Join(t.TempDir(), "backup")
		write(t, source, folder)
		_, err := Write(t.Context(), folder, source.mustState(t, schema(2)), Options{})
		wantIn(t, err, "already exists")
		_, err = Write(t.Context(), filepath.Join(t.TempDir(), "b"), source.mustState(t), Options{})
		if engine == "postgres" {
			wantIn(t, err, "no tables of this program")
		}
		other := map[string]string{"sqlite": "postgres", "postgres": "sqlite"}[engine]

		restore := func(want string, target place, change func(s *State)) {
			t.Helper()
			s := target.mustState(t, schema(2))
			if change != nil {
				change(&s)
			}
			_, err := Restore(t.Context(), folder, s, Options{})
			wantIn(t, err, want)
		}
		restore("restore it to the same engine", newPlace(t, other), nil)
		restore("newer than this program's", newPlace(t, engine), func(s *State) {
			old := schema(2)
			files := old.Migrations.(fstest.MapFS)
			delete(files, "00002_days.sqlite.sql")
			delete(files, "00002_days.postgres.sql")
			s.Schemas = []store.Schema{old}
		})
		restore("does not know", newPlace(t, engine), func(s *State) { s.Schemas = nil })
		restore("has none of that name", newPlace(t, engine), func(s *State) { s.Databases[0].Name = "other" })
		restore("no folder for them", newPlace(t, engine), func(s *State) { s.Folders = nil })
		for name, want := range map[string]string{"test.key": "nothing is overwritten", "files/1/item 1": "nothing is overwritten", "files/x": "nothing is overwritten"} {
			target := newPlace(t, engine)
			put(t, filepath.Join(target.dir, name))
			restore(want, target, nil)
		}
		full := newPlace(t, engine)
		full.start(t, schema(2))
		restore(map[string]string{"sqlite": "nothing is overwritten", "postgres": "is not empty"}[engine], full, nil)
		if engine == "sqlite" {
			target := newPlace(t, engine)
			put(t, filepath.Join(target.dir, "test.db-wal"))
			restore("belongs to another database", target, nil)
			held := newPlace(t, engine)
			release, err := store.HoldSQLite(t.Context(), filepath.Join(held.dir, "test.db"))
			if err != nil {
				t.Fatal(err)
			}
			restore(fmt.Sprint("in use by process ", os.Getpid()), held, nil)
			release()
			restore("", held, nil)
		}
	})
}

func put(t *testing.T, file string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// wantIn fails the test unless err contains a text, or, if the text is empty, unless err is nil.
func wantIn(t *testing.T, err error, text string) {
	t.Helper()
	if text == "" && err != nil || text != "" && (err == nil || !strings.Contains(err.Error(), text)) {
		t.Errorf("error %v, want %q", err, text)
	}
}

// The test binary plays a process that is killed when these variables are set.
const (
	childVar = "TOLLGATE_BACKUP_CHILD" // write or restore
	placeVar = "TOLLGATE_BACKUP_PLACE" // engine, folder, DSN and folder of the backup, a line each
	haltVar  = "TOLLGATE_BACKUP_HALT"  // the call of Progress that never returns
)

func TestMain(m *testing.M) {
	if os.Getenv(childVar) != "" {
		if err := child(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println("done")
		return
	}
	os.Exit(m.Run())
}

func child() error {
	parts := strings.Split(os.Getenv(placeVar), "\n")
	s, err := place{parts[0], parts[1], parts[2]}.state(schema(2))
	if err != nil {
		return err
	}
	halt, err := strconv.Atoi(os.Getenv(haltVar))
	if err != nil {
		return err
	}
	calls := 0
	o := Options{Progress: func(int64, int64) {
		if calls++; calls == halt {
			fmt.Println("halted")
			_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
		}
	}}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if os.Getenv(childVar) == "write" {
		_, err = Write(ctx, parts[3], s, o)
	} else {
		_, err = Restore(ctx, parts[3], s, o)
	}
	return err
}

// killed runs a task in a separate process and kills the process at the given halt, if it gets that far.
func killed(t *testing.T, task string, p place, folder string, halt int) (halted bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+task, haltVar+"="+strconv.Itoa(halt), placeVar+"="+strings.Join([]string{p.engine, p.dir, p.dsn, folder}, "\n"))
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = input.Close() }()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	switch line {
	case "halted\n":
		return true
	case "done\n":
		return false
	}
	t.Fatalf("the child has said %q", line)
	return false
}

// TestKilledBackup checks that a backup that was killed does not exist, and that its remains are not taken for a
// backup.
func TestKilledBackup(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, engine string) {
		source := newPlace(t, engine)
		source.fill(t, 3)
		halts := 0
		for halt := 1; ; halt += 3 {
			parent := t.TempDir()
			folder := filepath.Join(parent, "backup")
			if !killed(t, "write", source, folder, halt) {
				break
			}
			halts++
			left, err := os.ReadDir(parent)
			if err != nil || len(left) != 1 || !strings.HasPrefix(left[0].Name(), "backup.unfinished-") {
				t.Fatalf("left are %v (%v)", left, err)
			}
			_, err = Restore(t.Context(), filepath.Join(parent, left[0].Name()), newPlace(t, engine).mustState(t, schema(2)), Options{})
			wantIn(t, err, "unfinished")
			write(t, source, folder)
		}
		if halts < 3 {
			t.Errorf("the backup was killed %d times", halts)
		}
	})
}

// TestKilledRestore checks that no server opens the database of a restore that was killed, and that the restore can be
// run again.
func TestKilledRestore(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, engine string) {
		source := newPlace(t, engine)
		source.fill(t, 3)
		folder := filepath.Join(t.TempDir(), "backup")
		write(t, source, folder)
		halts, marked := 0, 0
		for halt := 1; ; halt += 3 {
			target := newPlace(t, engine)
			if !killed(t, "restore", target, folder, halt) {
				break
			}
			halts++
			db := target.mustState(t).Databases[0].DB
			if begun(t, target, db) {
				marked++
				if err := db.Register(schema(2)); err != nil {
					t.Fatal(err)
				}
				db.Start(t.Context())
				wantIn(t, db.Ready(), "is unfinished")
				_ = db.Close()
			}
			if _, err := Restore(t.Context(), folder, target.mustState(t, schema(2)), Options{}); err != nil {
				t.Fatal(err)
			}
			if n := len(names(t, target.start(t, schema(2)), "SELECT name FROM items")); n != 3 {
				t.Errorf("%d items", n)
			}
		}
		if halts < 3 || marked == 0 {
			t.Errorf("the restore was killed %d times, %d of them after it had begun", halts, marked)
		}
	})
}

// begun reports whether a restore has left data in a database.
func begun(t *testing.T, p place, db *store.DB) bool {
	t.Helper()
	if p.engine == "sqlite" {
		_, err := os.Stat(db.File() + store.RestoringEnding)
		return err == nil
	}
	conn, err := db.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	tables, err := list[string](t.Context(), conn, "SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace")
	if err != nil {
		t.Fatal(err)
	}
	return len(tables) > 0
}
