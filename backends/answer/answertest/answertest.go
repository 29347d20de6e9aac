// Package answertest provides the tests of the answer API with a kernel on a test database, SQLite or PostgreSQL, with
// a clock that the test moves, and with a scripted model.
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

// Kernel is a kernel for a test.
type Kernel struct {
	*kernel.Server
	Clock *Clock
}

// OnBoth runs a test with a kernel on each kind of database.
func OnBoth(t *testing.T, test func(t *testing.T, k Kernel)) {
	t.Helper()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) { test(t, On(db)) })
}

// SQLite returns a kernel on a SQLite database.
func SQLite(tb testing.TB) Kernel {
	tb.Helper()
	return On(databases.SQLite(tb))
}

// Postgres returns a kernel on a PostgreSQL database.
func Postgres(tb testing.TB) Kernel {
	tb.Helper()
	return On(databases.Postgres(tb))
}

// On returns a kernel with a new clock on an existing database, as if it were the kernel of another node.
func On(db *store.DB) Kernel {
	clock := &Clock{now: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)}
	return Kernel{&kernel.Server{DB: db, Logger: zap.NewNop, Now: clock.Now}, clock}
}

// Clock is a clock that stands still until it is moved. It starts at noon on March 2, 2026, UTC.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now returns the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Move moves the clock forward.
func (c *Clock) Move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
