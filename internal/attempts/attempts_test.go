package attempts

import (
	"testing"
	"testing/fstest"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

var databases = storetest.Fixture{Schemas: []store.Schema{{Name: "test", Migrations: fstest.MapFS{"00001_attempts.sql": {Data: []byte(`-- +goose Up
CREATE TABLE tried (key TEXT NOT NULL PRIMARY KEY, tries BIGINT NOT NULL, ends_at BIGINT NOT NULL);
-- +goose Down
DROP TABLE tried;
`)}}}}}

var passwords = Limit{Table: "tried", What: "password", Max: 3, Within: time.Minute}

func TestLimit(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		in := func(fn func(c store.Conn) error) {
			t.Helper()
			if err := db.Write(t.Context(), fn); err != nil {
				t.Fatal(err)
			}
		}
		waits := func(n Count, want time.Duration) {
			t.Helper()
			in(func(c store.Conn) error {
				answer, later := time.Hour, now // values that must be overwritten
				wait, err := n.Try(c, now)
				if err == nil { // ask for the same count again, together with another question
					err = n.GiveBack(c)
				}
				if err == nil {
					var q store.Questions
					got := 0
					n.Ask(&q, later, &answer)
					q.Row(func(r store.Row) error { return r.Scan(&got) }, "SELECT 1")
					if err = c.Ask(&q); got != 1 {
						t.Errorf("asked: %d", got)
					}
				}
				if wait != want || answer != want {
					t.Errorf("waits %s, and asked %s, want %s", wait, answer, want)
				}
				return err
			})
		}
		spent := func(n Count, want time.Duration) {
			t.Helper()
			in(func(c store.Conn) error {
				wait, err := n.Spent(c, now)
				if wait != want {
					t.Errorf("waits %s, want %s", wait, want)
				}
				return err
			})
		}
		bob := passwords.Of("bob", "192.0.2.1")
		spent(bob, 0)
		waits(bob, 0)
		now = now.Add(50 * time.Second)
		waits(bob, 0)
		spent(bob, 0)
		now = now.Add(50 * time.Second) // the previous attempt started the time again
		waits(bob, 0)
		spent(bob, time.Minute)
		now = now.Add(20 * time.Second)
		waits(bob, 40*time.Second)
		waits(bob, 40*time.Second) // a refused attempt does not make the wait longer
		for _, other := range []Count{passwords.Of("bob"), passwords.Of("bob", "192.0.2.2"), passwords.Of("bob192.0.2.1"), {passwords, "x"}, Limit{Table: "tried", What: "mail", Max: 3}.Of("bob", "192.0.2.1")} {
			spent(other, 0)
		}
		now = now.Add(40 * time.Second)
		spent(bob, 0)
		waits(bob, 0) // the first attempt of a new time
		waits(bob, 0)
		in(bob.GiveBack)
		waits(bob, 0)
		waits(bob, 0)
		waits(bob, time.Minute)
		in(bob.Forget)
		spent(bob, 0)
		in(bob.GiveBack) // there is no attempt to give back
		waits(bob, 0)
	})
}

// TestParallel checks that parallel attempts do not exceed the limit together.
func TestParallel(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		now, passed := time.Now(), make(chan bool)
		const all = 8
		for range all {
			go func() {
				var wait time.Duration
				err := db.Write(t.Context(), func(c store.Conn) (err error) {
					wait, err = passwords.Of("bob").Try(c, now)
					return err
				})
				if err != nil {
					t.Error(err)
				}
				passed <- err == nil && wait == 0
			}()
		}
		n := int64(0)
		for range all {
			if <-passed {
				n++
			}
		}
		if n != passwords.Max {
			t.Errorf("%d passed", n)
		}
	})
}
