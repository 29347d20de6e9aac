// Package authtest gives the tests of the authorization server's rooms a kernel on a
// database of each engine, with a clock that is set and the events that were told.
package authtest

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

// Issuer of all tests.
const Issuer = "https://as.example"

var databases = storetest.Fixture{Schemas: []store.Schema{authserver.Schema()}}

// Quick hashes the passwords and secrets of tests, which are no secrets.
var Quick = password.Hasher{Params: password.Params{Memory: 8, Passes: 1, Lanes: 1}}

// Kernel is one for a test.
type Kernel struct {
	*kernel.Server
	Clock  *Clock
	Events *Events
}

// OnBoth runs a test with a kernel on each engine.
func OnBoth(t *testing.T, test func(t *testing.T, k Kernel)) {
	t.Helper()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) { test(t, On(t, db)) })
}

// SQLite is a kernel on a database of SQLite.
func SQLite(tb testing.TB) Kernel {
	tb.Helper()
	return On(tb, databases.SQLite(tb))
}

// Postgres is a kernel on a database of PostgreSQL.
func Postgres(tb testing.TB) Kernel {
	tb.Helper()
	return On(tb, databases.Postgres(tb))
}

// On is a kernel, as of another node, on a database that there is.
func On(tb testing.TB, db *store.DB) Kernel {
	tb.Helper()
	k := Kernel{Clock: NewClock(), Events: new(Events)}
	shared := counters.NewMemory(k.Clock.Now)
	k.Server = &kernel.Server{
		DB: db, Logger: zap.NewNop, Now: k.Clock.Now, Issuer: Issuer, Counters: shared,
		Address: address,
		Key:     []byte("0123456789abcdef0123456789abcdef"),
		Audit:   func(_ context.Context, e kernel.Event) { k.Events.add(e) },
	}
	tb.Cleanup(func() {
		k.Server.Close()
		if err := shared.Close(); err != nil {
			tb.Error(err)
		}
	})
	return k
}

// address is the client's, whatever connection it is on.
func address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// Clock is a time that is set. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock is a clock at the present, in whole seconds.
func NewClock() *Clock { return &Clock{now: time.Now().Truncate(time.Second)} }

// Now is what the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Pass lets time pass.
func (c *Clock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Events are what was told to the audit feed.
type Events struct {
	mu  sync.Mutex
	all []kernel.Event
}

func (es *Events) add(e kernel.Event) {
	es.mu.Lock()
	defer es.mu.Unlock()
	es.all = append(es.all, e)
}

// Count is how many events of an action there were.
func (es *Events) Count(action string) int {
	es.mu.Lock()
	defer es.mu.Unlock()
	n := 0
	for _, e := range es.all {
		if e.Action == action {
			n++
		}
	}
	return n
}

// All are the events so far.
func (es *Events) All() []kernel.Event {
	es.mu.Lock()
	defer es.mu.Unlock()
	return slices.Clone(es.all)
}

// Durable is a kernel on a database of SQLite whose commits survive the loss of power,
// as they do by default.
func Durable(tb testing.TB) Kernel {
	tb.Helper()
	db, err := store.NewSQLite(store.SQLiteOptions{Path: filepath.Join(tb.TempDir(), "durable.db")}, zap.NewNop())
	if err != nil {
		tb.Fatal(err)
	}
	return On(tb, databases.Start(tb, db))
}
