package idempotency

import (
	"errors"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

const ddl = `-- +goose Up
CREATE TABLE once (
	user_id BIGINT NOT NULL, key TEXT NOT NULL, request_hash TEXT NOT NULL, body TEXT NOT NULL,
	created_at BIGINT NOT NULL, PRIMARY KEY (user_id, key)
);
CREATE INDEX once_age ON once (created_at);
`

// onBoth runs the test on an empty database of each engine.
func onBoth(t *testing.T, test func(t *testing.T, db *store.DB)) {
	t.Helper()
	for name, open := range map[string]func() (*store.DB, error){
		"sqlite": func() (*store.DB, error) {
			return store.NewSQLite(store.SQLiteOptions{Path: filepath.Join(t.TempDir(), "test.db")}, zap.NewNop())
		},
		"postgres": func() (*store.DB, error) {
			return store.NewPostgres(store.PostgresOptions{DSN: testenv.Postgres(t).DSN()}, zap.NewNop())
		},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := open()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			if err := db.Register(store.Schema{Name: "test", Migrations: fstest.MapFS{"00001_once.sql": {Data: []byte(ddl)}}}); err != nil {
				t.Fatal(err)
			}
			testenv.Open(t, db)
			test(t, db)
		})
	}
}

// TestDo checks that the second of two equal requests gets the result of the first, that another request with its key
// is refused, and that a request that failed can be tried again.
func TestDo(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		table, now, calls := NewTable("once", time.Hour), time.UnixMicro(1e15), 0
		failed := errors.New("failed")
		type answer struct{ N int }
		run := func(user int64, once Once, end error) (done answer, err error) {
			err = db.Write(t.Context(), func(c store.Conn) (err error) {
				done, err = Do(c, table, user, once, now, func(store.Conn) (answer, error) {
					calls++
					return answer{calls}, end
				})
				return err
			})
			return done, err
		}
		for _, step := range []struct {
			what string
			user int64
			once Once
			end  error
			n    int
			err  error
		}{
			{"the first fails", 1, Once{"k", "h"}, failed, 1, failed},
			{"it is tried again", 1, Once{"k", "h"}, nil, 2, nil},
			{"it is sent again", 1, Once{"k", "h"}, nil, 2, nil},
			{"another request", 1, Once{"k", "x"}, nil, 0, ErrMismatch},
			{"another user", 2, Once{"k", "x"}, nil, 3, nil},
			{"another key", 1, Once{"l", "h"}, nil, 4, nil},
			{"no key", 1, Once{}, nil, 5, nil},
			{"no key again", 1, Once{}, nil, 6, nil},
		} {
			if done, err := run(step.user, step.once, step.end); !errors.Is(err, step.err) || done.N != step.n {
				t.Errorf("%s: %+v, %v", step.what, done, err)
			}
		}
		now = now.Add(time.Hour)
		if done, err := run(1, Once{"k", "x"}, nil); err != nil || done.N != 7 {
			t.Errorf("an hour later: %+v, %v", done, err)
		}
		for _, want := range []int64{1, 0} { // the last request removed the keys of the first user
			if n, err := table.Purge(t.Context(), db, now, 10); err != nil || n != want {
				t.Errorf("%d forgotten, want %d, %v", n, want, err)
			}
		}
	})
}

func TestOnceOfRequest(t *testing.T) {
	t.Parallel()
	newOnce := func(path, key, body string) Once {
		r := httptest.NewRequest("POST", "/mount"+path, nil)
		r.Header.Set(Header, key)
		once, err := Of(r, path, []byte(body))
		if err != nil {
			t.Errorf("%q: %v", key, err)
		}
		return once
	}
	first := newOnce("/a", "key", "x")
	if first.Key != "key" || first != newOnce("/a", "key", "x") {
		t.Error("equal requests are not equal")
	}
	if first == newOnce("/b", "key", "x") || first == newOnce("/a", "key", "y") {
		t.Error("different requests are equal")
	}
	if none := newOnce("/a", "", "x"); none != (Once{}) {
		t.Errorf("without a key: %+v", none)
	}
	for _, key := range []string{"a b", "ä", "\x7f", strings.Repeat("k", maxKey+1)} {
		r := httptest.NewRequest("POST", "/", nil)
		r.Header.Set(Header, key)
		if _, err := Of(r, "/", nil); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v", key, err)
		}
	}
}
