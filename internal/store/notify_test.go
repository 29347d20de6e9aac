package store

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// heard returns the next notice of a channel.
func heard(t *testing.T, notices <-chan string) string {
	t.Helper()
	select {
	case text := <-notices:
		return text
	case <-time.After(time.Minute):
		t.Fatal("no notice")
		return ""
	}
}

func notify(t *testing.T, db *DB, topic, text string, end error) {
	t.Helper()
	err := db.Write(t.Context(), func(c Conn) error {
		if err := c.Notify(topic, text); err != nil {
			return err
		}
		return end
	})
	if !errors.Is(err, end) {
		t.Fatal(err)
	}
}

// TestNotices checks that a node receives the notices that another node commits, and that it learns that it may have
// missed some when its connection was cut.
func TestNotices(t *testing.T) {
	t.Parallel()
	p := place{dialect: Postgres, location: testenv.Postgres(t).DSN()}
	sender, listener := p.start(t), p.start(t)
	keys, others := make(chan string, 100), make(chan string, 100)
	stop := listener.Listen("keys", func(text string) { keys <- text })
	listener.Listen("others", func(text string) { others <- text })
	if text := heard(t, keys); text != "" {
		t.Errorf("%q before any notice was sent", text)
	}
	heard(t, others)

	given := errors.New("given up")
	notify(t, sender, "keys", "never", given)
	notify(t, sender, "keys", "one two", nil)
	notify(t, sender, "others", "three", nil)
	notify(t, sender, "keys", strings.Repeat("x", maxNotice+1), nil)
	notify(t, listener, "keys", strings.Repeat("y", maxNotice), nil)
	for _, want := range []string{"one two", "", strings.Repeat("y", maxNotice)} {
		if text := heard(t, keys); text != want {
			t.Errorf("%.20q, want %.20q", text, want)
		}
	}
	if text := heard(t, others); text != "three" {
		t.Errorf("got the notice %q, want %q", text, "three")
	}

	cut := func() error {
		return sender.Read(t.Context(), func(c Conn) error {
			var n int
			return c.Row("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query = 'LISTEN " + channel + "' AND datname = current_database()").Scan(&n)
		})
	}
	if err := cut(); err != nil {
		t.Fatal(err)
	}
	if text := heard(t, keys); text != "" {
		t.Errorf("%q after the connection was cut", text)
	}
	heard(t, others)
	notify(t, sender, "keys", "four", nil)
	if text := heard(t, keys); text != "four" {
		t.Errorf("got the notice %q, want %q", text, "four")
	}

	stop()
	notify(t, sender, "keys", "five", nil)
	notify(t, sender, "others", "six", nil)
	if text := heard(t, others); text != "six" {
		t.Errorf("got the notice %q, want %q", text, "six")
	}
	if len(keys) > 0 {
		t.Errorf("got %q after listening was stopped", <-keys)
	}
}

// TestNoNoticesOnSQLite checks that on SQLite notices are neither sent nor received.
func TestNoNoticesOnSQLite(t *testing.T) {
	t.Parallel()
	db := sqliteAt(t).start(t)
	stop := db.Listen("keys", func(text string) { t.Errorf("got the notice %q", text) })
	notify(t, db, "keys", "one", nil)
	stop()
}

// TestListenBeforeTheDatabase checks that a listener that begins while the database is down receives notices once it is
// up.
func TestListenBeforeTheDatabase(t *testing.T) {
	t.Parallel()
	server := testenv.NewPostgres(t)
	server.Stop()
	logger, seen := logs()
	db, err := place{dialect: Postgres, location: server.DSN()}.open(logger)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Register(testSchema()); err != nil {
		t.Fatal(err)
	}
	notices := make(chan string, 100)
	db.Listen("keys", func(text string) { notices <- text })
	db.Start(t.Context())
	server.Start()
	heard(t, notices)
	server.Stop()
	server.Start()
	heard(t, notices)
	notify(t, db, "keys", "one", nil)
	for heard(t, notices) != "one" { // there may be several notices that it has begun
	}
	if n := logged(seen, "cannot listen for notices from the database; changes by other nodes take effect late"); n > 2 {
		t.Errorf("%d lines", n)
	}
}
