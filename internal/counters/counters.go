// Package counters keeps the numbers against which requests are checked: budgets in sliding windows; marks, which
// detect that a key is used a second time; and places, which limit how many holders a key has at the same time. Memory
// serves one node; Redis (or Valkey) lets any number of nodes share one budget.
package counters

import (
	"context"
	"errors"
	"time"
)

// ErrUnavailable is wrapped by every error which means that the counters cannot be reached now but may be later.
var ErrUnavailable = errors.New("the counters are unavailable")

// Result is the state of a window after Take or Charge.
type Result struct {
	// Allowed reports whether the cost was within the limit and was spent. A refused Take spends nothing.
	Allowed bool
	// Limit is the limit passed to Take.
	Limit int64
	// Remaining is the number of units that can be spent right now, at least 0.
	Remaining int64
	// Reset is the time until the current bucket of the window ends; see Store.
	Reset time.Duration
	// RetryAfter is the shortest wait after which the same Take succeeds, if nothing else is spent meanwhile. It is
	// zero if Allowed is set, and -1 if the cost is above the limit, so that it is never allowed.
	RetryAfter time.Duration
}

// Store counts. Implementations are safe for concurrent use and exact: all goroutines (and, for Redis, nodes) together
// are allowed exactly as much as a single caller.
//
// A window is a sliding counter of two buckets. Each bucket is as long as the window and begins at a multiple of this
// length since the Unix epoch:
//
//	used = current + ceil(previous * remaining fraction of the current bucket)
//
// so a key needs constant memory whatever its limit. Costs, limits and sums are at most 2^53-1, and a window is from 1
// ms to 31 days.
type Store interface {
	// Take checks that used+cost <= limit and, if so, spends cost, in one step. A cost of 0 is always allowed and
	// returns the state.
	Take(ctx context.Context, key string, cost, limit int64, window time.Duration) (Result, error)
	// Charge spends cost even if that exceeds the limit. It is for a cost that is known only once a request was
	// answered.
	Charge(ctx context.Context, key string, cost int64, window time.Duration) error
	// SetNX marks key for the duration ttl and reports whether key was unmarked before. It serves as a replay guard.
	SetNX(ctx context.Context, key string, ttl time.Duration) (bool, error)
	// Hold takes a place of a key for a holder and reports whether fewer than limit places were taken. The place becomes
	// free after Release or after the duration ttl, so that a node that has died does not hold it for ever. ttl is from 1
	// ms to 24 hours.
	Hold(ctx context.Context, key, holder string, limit int64, ttl time.Duration) (bool, error)
	// Release frees the place of a holder. It is not an error if the holder has no place.
	Release(ctx context.Context, key, holder string) error
	// Ready counts once as a test and returns nil if that works.
	Ready(ctx context.Context) error
	// Close releases the resources of the store. Later calls fail.
	Close() error
}
