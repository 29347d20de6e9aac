// Package answertest gives the tests of the answer API's rooms a kernel on a database
// of each engine, with a clock that is set.
package answertest

import (
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/migrations"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

var databases = storetest.Fixture{Schemas: []store.Schema{migrations.Schema()}}

// Kernel is one for a test.
type Kernel struct {
	*kernel.Server
	Clock *Clock
}

// OnBoth runs a test with a kernel on each engine.
func OnBoth(t *testing.T, test func(t *testing.T, k Kernel)) {
	t.Helper()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) { test(t, On(db)) })
}

// SQLite is a kernel on a database of SQLite.
func SQLite(tb testing.TB) Kernel {
	tb.Helper()
	return On(databases.SQLite(tb))
}

// Postgres is a kernel on a database of PostgreSQL.
func Postgres(tb testing.TB) Kernel {
	tb.Helper()
	return On(databases.Postgres(tb))
}

// On is a kernel, as of another node, on a database that there is.
func On(db *store.DB) Kernel {
	clock := &Clock{now: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)}
	return Kernel{&kernel.Server{DB: db, Logger: zap.NewNop, Now: clock.Now}, clock}
}

// Clock stands still until it is moved. It begins on March 2, 2026, at noon.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now is what it shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Move moves it.
func (c *Clock) Move(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(by)
}
