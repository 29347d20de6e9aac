// Package authtest provides what the tests of the authorization server need: a kernel on a database of each engine, a
// clock that can be set, and the recorded audit events.
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
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

// Issuer is the issuer of the kernels.
const Issuer = "https://as.example"

// databases creates the databases of the tests.
var databases = storetest.Fixture{Schemas: []store.Schema{authserver.Schema()}}

// Quick hashes the passwords and secrets of tests quickly, since they need no protection.
var Quick = password.Hasher{Params: password.Params{Memory: 8, Passes: 1, Lanes: 1}}

// Kernel is a kernel for a test.
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

// SQLite returns a kernel on an SQLite database.
func SQLite(tb testing.TB) Kernel {
	tb.Helper()
	return On(tb, databases.SQLite(tb))
}

// Postgres returns a kernel on a PostgreSQL database.
func Postgres(tb testing.TB) Kernel {
	tb.Helper()
	return On(tb, databases.Postgres(tb))
}

// On returns a kernel on an existing database, such as the kernel of a second node.
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

// address returns the client address of a request.
func address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// Clock is a clock that can be set. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock at the current time, in whole seconds.
func NewClock() *Clock { return &Clock{now: time.Now().Truncate(time.Second)} }

// Now returns the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Pass moves the clock forward.
func (c *Clock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Events records audit events.
type Events struct {
	mu  sync.Mutex
	all []kernel.Event
}

// add records an event.
func (es *Events) add(e kernel.Event) {
	es.mu.Lock()
	defer es.mu.Unlock()
	es.all = append(es.all, e)
}

// Count returns the number of recorded events with an action.
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

// All returns the events recorded so far.
func (es *Events) All() []kernel.Event {
	es.mu.Lock()
	defer es.mu.Unlock()
	return slices.Clone(es.all)
}

// Durable returns a kernel on an SQLite database whose commits survive a power failure, which is the default outside of
// tests.
func Durable(tb testing.TB) Kernel {
	tb.Helper()
	db, err := store.NewSQLite(store.SQLiteOptions{Path: filepath.Join(tb.TempDir(), "durable.db")}, zap.NewNop())
	if err != nil {
		tb.Fatal(err)
	}
	return On(tb, databases.Start(tb, db))
}

// SetPassword sets the password of the user with an id. The audit event names the actor.
func SetPassword(ctx context.Context, u *users.Users, id, pass, actor string) error {
	_, err := u.Update(ctx, id, users.Change{Password: &pass}, actor)
	return err
}
