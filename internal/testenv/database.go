package testenv

import (
	"context"
	"testing"
	"time"
)

// openLimit limits the time in which a database must open. Its only purpose is to end a test that would hang: on a busy
// machine a migration alone can take many seconds.
const openLimit = 5 * time.Minute

// database is implemented by *store.DB, which cannot be imported here because the tests of package store use this
// package.
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
