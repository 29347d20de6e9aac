package spending

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// RequestsKept is the default for how long single requests stay in the usage log.
const RequestsKept = 90 * 24 * time.Hour

// hoursKept is the number of days for which sums by hour are kept. Sums by day are never deleted.
const hoursKept = 90

// firstHour returns the earliest Unix hour for which sums by hour are certain to be kept. It is the first hour of a
// day.
func firstHour(now time.Time) int64 { return (unixDay(now) - hoursKept) * 24 }

const (
	sweepEvery       = time.Hour             // time between two sweeps of all processes together
	sweepCheck       = 5 * time.Minute       // how often a process checks whether a sweep is due
	sweepLease       = 10 * time.Minute      // how long others wait for a process that has stopped renewing its lease
	sweepRows        = 500                   // rows per transaction
	sweepPause       = 20 * time.Millisecond // after each transaction
	progressInterval = time.Minute           // how often a long sweep logs its progress
)

// Expiry returns a statement that deletes at most limit rows of other data that has expired. An empty statement deletes
// nothing.
type Expiry func(now time.Time, limit int) (statement string, args []any)

// Retention deletes old entries of the usage log and other expired data in the background, the oldest first. It also
// computes the totals of past days. Of the processes that share a database, only one does this at a time.
type Retention struct {
	ledger   *Ledger
	expiries []Expiry
	logger   *zap.Logger
	observe  func(job, outcome string, done int)
	lease    *jobs.Lease
	keepFor  atomic.Int64 // a time.Duration; 0 means forever
	wake     chan struct{}
	mu       sync.Mutex
	stopJob  func() // stops the job; nil before it begins
}

// NewRetention returns a Retention that deletes nothing before Keep is called. observe is called after each run; see
// jobs.Options. expiries select the other data to delete. The caller must call Close.
func NewRetention(
	s *Ledger, logger *zap.Logger, observe func(job, outcome string, done int), expiries ...Expiry,
) *Retention {
	return &Retention{
		ledger: s, expiries: expiries, logger: logger, observe: observe, wake: make(chan struct{}, 1),
		lease: &jobs.Lease{
			DB: s.db, Table: "gateway_sweeps", Name: "usage", Holder: s.purses.writer, Every: sweepEvery,
			Lasts: sweepLease, Now: s.now,
		},
	}
}

// Keep sets how long single requests are kept, and starts the job on its first call. 0 means that they are never
// deleted.
func (r *Retention) Keep(requests time.Duration) {
	r.keepFor.Store(int64(requests))
	select {
	case r.wake <- struct{}{}:
	default: // the job was woken already
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopJob == nil {
		r.stopJob = jobs.New(jobs.Options{
			Jobs:    []jobs.Job{{Name: "purge", Every: sweepCheck, Run: r.sweep, Wake: r.wake, Lease: r.lease}},
			Observe: r.observe, Logger: func() *zap.Logger { return r.logger },
		}).Start()
	}
}

// Close stops the job for good. It waits for a transaction that is under way.
func (r *Retention) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopJob != nil {
		r.stopJob()
	}
	r.stopJob = func() {} // not nil, so that a later Keep starts nothing
}

// sweep makes one pass: it deletes old and expired rows, and updates the totals. done is the number of deleted rows.
func (r *Retention) sweep(ctx context.Context) (done int, err error) {
	now := r.ledger.now()
	w := sweep{Retention: r, now: now, logged: now}
	if keepFor := time.Duration(r.keepFor.Load()); keepFor > 0 {
		err = w.deleteRequests(ctx, now.Add(-keepFor))
	}
	if err == nil {
		err = w.deleteHours(ctx, firstHour(now)-24) // one day more than reports need, since clocks differ
	}
	if w.requests+w.hours > 0 {
		r.logger.Info("deleted old requests from the usage log", zap.Int64("requests", w.requests),
			zap.Int64("hours", w.hours))
	}
	if err == nil {
		err = w.deleteAllExpired(ctx)
	}
	if err == nil {
		err = w.addTotals(ctx)
	}
	if err == nil {
		err = w.deleteTotals(ctx)
	}
	return int(w.requests + w.hours + w.expired), err
}

// sweep is one pass of a Retention.
type sweep struct {
	*Retention
	now, logged     time.Time // when the pass began, and when logProgress has last logged
	requests, hours int64     // deleted
	expired         int64     // other deleted rows
}

// deleteRequests deletes the records of requests before the given time. It reads the log in batches, in the order of
// the ids, which increase with time. It stops after a batch with recent records and no old ones. Records with a time in
// the future, which a wrong clock has written, do not stop it, since old records may follow.
func (w *sweep) deleteRequests(ctx context.Context, cutoff time.Time) error {
	type row struct{ id, began int64 }
	for prevID := int64(0); ; {
		rows, err := read(ctx, w.ledger, func(cells store.Row) (r row, err error) {
			err = cells.Scan(&r.id, &r.began)
			return r, err
		}, `SELECT id, at FROM gateway_usage_records WHERE id > ? ORDER BY id LIMIT ?`, prevID, sweepRows)
		if err != nil || len(rows) == 0 {
			return err
		}
		anyOld, anyRecent := false, false // recent: neither old nor in the future
		for _, r := range rows {
			anyOld = anyOld || r.began < schema.Micros(cutoff)
			anyRecent = anyRecent || r.began >= schema.Micros(cutoff) && r.began <= schema.Micros(w.now)
		}
		last := rows[len(rows)-1]
		if anyOld {
			n, err := w.delete(ctx, `DELETE FROM gateway_usage_records WHERE id > ? AND id <= ? AND at < ?`, prevID, last.id,
				schema.Micros(cutoff))
			w.requests += n
			if err != nil {
				return err
			}
			w.logProgress(schema.Moment(last.began))
		}
		reachedRecent := anyRecent && !anyOld
		if reachedRecent || len(rows) < sweepRows {
			return nil
		}
		prevID = last.id
	}
}

// deleteHours deletes the sums by hour for hours earlier than firstKept, in hours since 1970.
func (w *sweep) deleteHours(ctx context.Context, firstKept int64) error {
	for _, sums := range []*tableSpec{hourly, teamHourly, modelHourly} {
		for {
			n, err := w.delete(ctx, `DELETE FROM `+sums.table+` WHERE (`+sums.keyColumns+`) IN (
				SELECT `+sums.keyColumns+` FROM `+sums.table+` WHERE hour < ? ORDER BY hour LIMIT ?)`, firstKept, sweepRows)
			w.hours += n
			if err != nil {
				return err
			}
			if n < sweepRows {
				break
			}
			w.logProgress(fromHour(firstKept))
		}
	}
	return nil
}

// deleteAllExpired deletes the rows that the expiries select.
func (w *sweep) deleteAllExpired(ctx context.Context) error {
	for _, expiry := range w.expiries {
		if err := w.deleteExpired(ctx, expiry); err != nil {
			return err
		}
	}
	return nil
}

// deleteExpired deletes the rows that an Expiry selects, in batches.
func (w *sweep) deleteExpired(ctx context.Context, expiry Expiry) error {
	for {
		statement, args := expiry(w.now, sweepRows)
		if statement == "" {
			return nil
		}
		n, err := w.delete(ctx, statement, args...)
		if w.expired += n; err != nil || n < sweepRows {
			return err
		}
	}
}

// delete runs one statement in its own transaction, and then pauses so that others can use the database. It returns the
// number of deleted rows.
func (w *sweep) delete(ctx context.Context, statement string, args ...any) (n int64, err error) {
	n, err = w.write(ctx, func(c store.Conn) (int64, error) { return c.Exec(statement, args...) })
	if err != nil {
		return 0, fmt.Errorf("deleting in batches: %w", err)
	}
	return n, nil
}

// write runs change in its own transaction, and then pauses so that others can use the database. It returns the number
// of rows that change returns.
func (w *sweep) write(ctx context.Context, change func(c store.Conn) (int64, error)) (n int64, err error) {
	err = w.ledger.db.Write(ctx, func(c store.Conn) error {
		if err := w.lease.Hold(c); err != nil {
			return err
		}
		n, err = change(c)
		return err
	})
	if err != nil {
		return 0, err
	}
	select {
	case <-ctx.Done():
		return n, context.Cause(ctx)
	case <-time.After(sweepPause):
		return n, nil
	}
}

// logProgress logs the progress of a long pass, at most every progressInterval. Entries before deletedBefore have been
// deleted.
func (w *sweep) logProgress(deletedBefore time.Time) {
	if now := w.ledger.now(); now.Sub(w.logged) >= progressInterval {
		w.logged = now
		w.logger.Info("deleting old requests from the usage log", zap.Int64("requests", w.requests),
			zap.Int64("hours", w.hours), zap.Time("through", deletedBefore))
	}
}
