// Package counters keeps the numbers that requests are checked against:
// sliding budget windows and one-time marks. Memory serves one node, Redis
// (or Valkey) lets any number of nodes share one budget.
package counters

import (
	"context"
	"errors"
	"time"
)

// ErrUnavailable is in the chain of every error that means the counters
// cannot be reached now and may be later.
var ErrUnavailable = errors.New("counters unavailable")

// Result is the state of a window after Take or Charge.
type Result struct {
	// Allowed tells whether the cost fitted and was spent. A refused Take spends nothing.
	Allowed bool
	// Limit is the limit that was asked for.
	Limit int64
	// Remaining is what can be spent right now, never negative.
	Remaining int64
	// Reset is the time until the current bucket ends.
	Reset time.Duration
	// RetryAfter is the smallest wait after which the same Take fits if
	// nothing else is spent meanwhile. Zero when Allowed. A cost above the
	// limit can never fit: then it is -1.
	RetryAfter time.Duration
}

// Store counts. Implementations are safe for concurrent use and exact under
// concurrency: any number of goroutines (and, for Redis, nodes) together admit
// exactly what one caller would.
//
// A window is a sliding counter of two buckets aligned to multiples of window
// since the Unix epoch:
//
//	used = current + ceil(previous * remaining fraction of the current bucket)
//
// so a key costs O(1) memory whatever its limit. Costs, limits and sums are at
// most 2^53-1; window is from 1 ms to 31 days.
type Store interface {
	// Take checks used+cost <= limit and, if so, spends cost, in one step.
	// A cost of 0 is always allowed and reports the state.
	Take(ctx context.Context, key string, cost, limit int64, window time.Duration) (Result, error)
	// Charge spends cost whatever the limit: what a request turned out to
	// cost once it was answered. The window may be overdrawn by it.
	Charge(ctx context.Context, key string, cost int64, window time.Duration) error
	// SetNX marks key for ttl and reports whether it was unmarked before:
	// the replay guard.
	SetNX(ctx context.Context, key string, ttl time.Duration) (bool, error)
	// Hold takes one of limit places of a key for a holder and reports whether one was free.
	// The place is free again after Release, or after ttl, which is from 1 ms to 24 hours,
	// so that a node that has died holds none for ever.
	Hold(ctx context.Context, key, holder string, limit int64, ttl time.Duration) (bool, error)
	// Release gives the place of a holder back. One that is not held is no error.
	Release(ctx context.Context, key, holder string) error
	// Ready returns nil when something can be counted now, which it tries.
	Ready(ctx context.Context) error
	// Close releases what the store holds. Calls after it fail.
	Close() error
}
