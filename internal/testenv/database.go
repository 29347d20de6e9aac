package testenv

import (
	"context"
	"testing"
	"time"
)

// openLimit is how long a database may take to be there. It only ends a test that
// would hang: on a busy machine a migration alone can take many seconds.
const openLimit = 5 * time.Minute

// database is a *store.DB. The store has tests that use this package, so it
// cannot be imported here.
type database interface {
	Start(ctx context.Context)
	WaitReady(ctx context.Context) error
}

// Open starts a database and waits until it can be used.
func Open(tb testing.TB, db database) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), openLimit)
	defer cancel()
	db.Start(ctx)
	if err := db.WaitReady(ctx); err != nil {
		tb.Fatalf("the database does not open: %v", err)
	}
}
