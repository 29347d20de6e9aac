package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

func TestFollows(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		version, older string
		want           bool
	}{
		{"0.1.0", "0.1.0", true},
		{"0.1.1", "0.1.0", true},
		{"0.1.0", "0.1.1", true},
		{"0.2.0", "0.1.0", true},
		{"0.2.7+3f2a91c0", "0.1.0+e6be29e", true},
		{"0.10.0", "0.9.0", true},
		{"1.0.0", "0.9.3", true},
		{"0.3.0", "0.1.0", false},
		{"0.1.0", "0.2.0", false},
		{"1.1.0", "0.9.0", false},
		{"2.0.0", "0.9.0", false},
		{"unknown", "0.1.0", false},
		{"0.1.0", "", false},
		{"0.1.0", "99999999999999999999.0", false},
	} {
		if got := follows(test.version, test.older); got != test.want {
			t.Errorf("follows(%q, %q) is %v", test.version, test.older, got)
		}
	}
}

func TestRegisterRefusesFalseMark(t *testing.T) {
	t.Parallel()
	db, err := NewSQLite(SQLiteOptions{Path: "never made.db"}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	err = db.Register(Schema{Name: "a", Migrations: files("00007_u.sql", "-- additive\n-- +goose Up\nDROP TABLE t;\n")})
	if err == nil || !strings.Contains(err.Error(), `"00007_u.sql" is marked additive`) {
		t.Errorf("the error of Register is %v", err)
	}
}

// addition is the migration that the newer release has and the older release does not know.
const addition = `-- additive
-- +goose Up
ALTER TABLE items ADD COLUMN note TEXT NOT NULL DEFAULT 'none';
CREATE TABLE notes (item BIGINT NOT NULL PRIMARY KEY REFERENCES items (id) ON DELETE CASCADE, text TEXT NOT NULL);
`

// The two releases that run beside each other during a rolling upgrade.
const (
	olderRelease = "0.1.0"
	newerRelease = "0.2.0"
)

// rollingSchema returns the test schema of a release.
func rollingSchema(release string) Schema {
	s := testSchema()
	if release != olderRelease {
		all := maps.Clone(s.Migrations.(fstest.MapFS))
		all["00004_added.sql"] = &fstest.MapFile{Data: []byte(addition)}
		s.Migrations = all
	}
	return s
}

// serveRolling plays a server of one of the releases until it is killed: it writes rows and reads them again.
func serveRolling(ctx context.Context, db *DB) error {
	release, start, _ := strings.Cut(os.Getenv(childVar), " from ")
	first, err := strconv.Atoi(start)
	if err != nil {
		return err
	}
	return writeUntilKilled(first, func(id int) error {
		err := db.Write(ctx, func(c Conn) error {
			if release == olderRelease {
				return insert(c, id)
			}
			if _, err := c.Exec("INSERT INTO items (id, name, note) VALUES (?, ?, ?)", id, fmt.Sprint("item ", id), "noted"); err != nil {
				return err
			}
			_, err := c.Exec("INSERT INTO notes (item, text) VALUES (?, ?)", id, fmt.Sprint("note ", id))
			return err
		})
		if err != nil {
			return err
		}
		name := ""
		if err := db.Read(ctx, func(c Conn) error { return c.Row("SELECT name FROM items WHERE id = ?", id).Scan(&name) }); err != nil {
			return err
		}
		if name != fmt.Sprint("item ", id) {
			return fmt.Errorf("item %d has the name %q", id, name)
		}
		return nil
	})
}

// server is a process that plays a server.
type server struct {
	cmd *exec.Cmd

	mu           sync.Mutex
	acknowledged []int
	changed      chan struct{} // gets a value after each acknowledged row, and is closed at the end
}

// startServer starts a process of a release, which writes rows from a number on.
func startServer(t *testing.T, p place, release string, first int) *server {
	t.Helper()
	s := &server{cmd: runChild(t.Context(), p, release+" from "+strconv.Itoa(first)), changed: make(chan struct{}, 1)}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.changed)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			id, err := strconv.Atoi(lines.Text())
			if err != nil {
				return // cut by the kill
			}
			s.mu.Lock()
			s.acknowledged = append(s.acknowledged, id)
			s.mu.Unlock()
			select {
			case s.changed <- struct{}{}:
			default:
			}
		}
	}()
	return s
}

// await waits until the server has acknowledged 60 more rows.
func (s *server) await(t *testing.T) {
	t.Helper()
	count := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.acknowledged)
	}
	for target := count() + 60; count() < target; {
		if _, running := <-s.changed; !running {
			t.Fatalf("a server ended after %d rows: %v", count(), s.cmd.Wait())
		}
	}
}

// kill ends the server and returns the rows that it has acknowledged.
func (s *server) kill(t *testing.T) []int {
	t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for range s.changed { // until everything was read
	}
	if err := s.cmd.Wait(); !errors.As(err, new(*exec.ExitError)) {
		t.Fatalf("a server ended with %v, it was to be killed", err)
	}
	return s.acknowledged
}

// TestRollingUpgrade runs servers of two releases on one database. The newer release adds a column and a table while
// the older release serves and restarts. No acknowledged row is lost.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		older := startServer(t, p, olderRelease, 0)
		older.await(t)
		newer := startServer(t, p, newerRelease, 1_000_000)
		newer.await(t)
		older.await(t)
		acknowledged := older.kill(t)
		restarted := startServer(t, p, olderRelease, 2_000_000)
		restarted.await(t)
		newer.await(t)
		acknowledged = append(acknowledged, restarted.kill(t)...)
		noted := newer.kill(t)

		db := openRelease(t, p, newerRelease)
		testenv.Open(t, db)
		check := func(query string, ids []int) {
			t.Helper()
			var found []int
			err := db.Read(t.Context(), func(c Conn) error {
				found = found[:0]
				return c.All(query, nil, func(r Row) error {
					var id int
					err := r.Scan(&id)
					found = append(found, id)
					return err
				})
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range ids {
				if _, ok := slices.BinarySearch(found, id); !ok {
					t.Errorf("row %d was acknowledged and is not found by %s", id, query)
				}
			}
		}
		check("SELECT id FROM items WHERE note = 'none' ORDER BY id", acknowledged)
		check("SELECT id FROM items JOIN notes ON item = id WHERE note = 'noted' ORDER BY id", noted)
	})
}

// openRelease returns a DB of a release that is not started.
func openRelease(t *testing.T, p place, release string) *DB {
	t.Helper()
	db, err := p.open(zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	db.SetRelease(release)
	if err := db.Register(rollingSchema(release)); err != nil {
		t.Fatal(err)
	}
	return db
}

// TestOlderRelease checks which databases of newer programs an older program uses.
func TestOlderRelease(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		release, more, want string // want is part of the error, or empty if there is none
	}{
		"next":         {newerRelease, "", ""},
		"same":         {"0.1.1", "", ""},
		"one too many": {"0.3.0", "", "release 0.3.0 does not directly follow release 0.1.0"},
		"no release":   {"unknown", "", "the later changes are not only additions"},
		"not marked":   {newerRelease, "-- +goose Up\nCREATE TABLE more (id BIGINT);\n", "the later changes are not only additions"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, p place) {
				newer, err := p.open(zap.NewNop())
				if err != nil {
					t.Fatal(err)
				}
				newer.SetRelease(test.release)
				schema := rollingSchema(test.release)
				if test.more != "" {
					schema.Migrations.(fstest.MapFS)["00005_more.sql"] = &fstest.MapFile{Data: []byte(test.more)}
				}
				if err := newer.Register(schema); err != nil {
					t.Fatal(err)
				}
				testenv.Open(t, newer)
				if err := newer.Close(); err != nil {
					t.Fatal(err)
				}
				older := openRelease(t, p, olderRelease)
				older.Start(t.Context())
				err = older.Ready()
				if test.want == "" {
					if err != nil {
						t.Fatal(err)
					}
					return
				}
				wantError(t, err, ErrNewer)
				if !strings.Contains(err.Error(), test.want) {
					t.Errorf("the error is %v, want %q", err, test.want)
				}
			})
		})
	}
}
