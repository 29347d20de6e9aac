package keychain

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// RequestsKept is how long single requests stay in the usage log where nothing else
// is said.
const RequestsKept = 90 * 24 * time.Hour

// hoursKept is for how many days there are sums of hours; those of days stay.
const hoursKept = 90

// firstHour is the first Unix hour, that of a day, which has sums of hours for sure.
func firstHour(now time.Time) int64 { return (unixDay(now) - hoursKept) * 24 }

const (
	sweepEvery = time.Hour
	sweepLook  = 5 * time.Minute  // how often a process looks whether it is due
	sweepLease = 10 * time.Minute // how long others wait for a process that says nothing
	sweepRows  = 500              // of a transaction
	sweepPause = 20 * time.Millisecond
	sweepNews  = time.Minute // how often a long one tells how far it is
)

// Retention deletes from the usage log what is old, in the background, the oldest
// first. Of the processes that share a database one does so at a time.
type Retention struct {
	service *Service
	logger  *zap.Logger
	kept    atomic.Int64 // time.Duration; 0: for ever
	wake    chan struct{}
	cancel  context.CancelFunc
	ended   chan struct{}
}

// NewRetention deletes nothing before Keep is called. Close it.
func NewRetention(s *Service, logger *zap.Logger) *Retention {
	ctx, cancel := context.WithCancel(context.Background())
	r := &Retention{service: s, logger: logger, wake: make(chan struct{}, 1), cancel: cancel, ended: make(chan struct{})}
	go r.run(ctx)
	return r
}

// Keep says how long single requests are kept; 0: for ever.
func (r *Retention) Keep(requests time.Duration) {
	r.kept.Store(int64(requests))
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Close stops it behind the transaction that is under way.
func (r *Retention) Close() {
	r.cancel()
	<-r.ended
}

func (r *Retention) run(ctx context.Context) {
	defer close(r.ended)
	select {
	case <-ctx.Done():
		return
	case <-r.wake:
	}
	tick := time.NewTicker(sweepLook)
	defer tick.Stop()
	for told := true; ; { // of how long to keep, which may be shorter now
		if r.service.db.WaitReady(ctx) == nil {
			err := r.turn(ctx, told)
			if err != nil && ctx.Err() == nil && !errors.Is(err, errNotOurs) {
				r.logger.Warn("deleting old requests from the usage log", zap.Error(err))
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
			told = true
		case <-tick.C:
			told = false
		}
	}
}

// errNotOurs tells that another process took over, or is not through.
var errNotOurs = errors.New("another process deletes old requests")

// turn deletes what is old if it is due, or if this process was the last one to do so
// and again is set.
func (r *Retention) turn(ctx context.Context, again bool) error {
	s := r.service
	now := s.now()
	err := s.db.Write(ctx, func(c store.Conn) error {
		holder := ""
		if again {
			holder = s.spending.writer
		}
		n, err := c.Exec(`INSERT INTO gateway_sweeps (name, holder, until) VALUES ('usage', ?, ?)
			ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
			WHERE gateway_sweeps.until <= ? OR gateway_sweeps.until > ? OR gateway_sweeps.holder = ?`,
			s.spending.writer, micros(now.Add(sweepLease)), micros(now), micros(now.Add(24*sweepEvery)), holder) // beyond a day: of a clock that was wrong
		if err == nil && n == 0 {
			err = errNotOurs
		}
		return err
	})
	if err != nil {
		return err
	}
	w := sweep{Retention: r, now: now, told: now}
	if kept := time.Duration(r.kept.Load()); kept > 0 {
		err = w.deleteRequests(ctx, now.Add(-kept))
	}
	if err == nil {
		err = w.deleteHours(ctx, firstHour(now)-24) // a day later than reports do without: clocks differ
	}
	if w.requests+w.hours > 0 {
		r.logger.Info("deleted old requests from the usage log", zap.Int64("requests", w.requests), zap.Int64("hours", w.hours))
	}
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(c store.Conn) error { return s.holdSweep(c, s.now().Add(sweepEvery)) })
}

// holdSweep keeps other processes away; errNotOurs: there is one already.
func (s *Service) holdSweep(c store.Conn, until time.Time) error {
	n, err := c.Exec(`UPDATE gateway_sweeps SET until = ? WHERE name = 'usage' AND holder = ?`, micros(until), s.spending.writer)
	if err == nil && n == 0 {
		err = errNotOurs
	}
	return err
}

// sweep is one pass over what is old.
type sweep struct {
	*Retention
	now, told       time.Time
	requests, hours int64 // deleted
}

// deleteRequests goes along the log, whose ids grow with time, until it comes to
// what is not old. Records from the future are of a clock that was wrong: what is
// behind them may be old.
func (w *sweep) deleteRequests(ctx context.Context, before time.Time) error {
	type row struct{ id, at int64 }
	for after := int64(0); ; {
		rows, err := read(ctx, w.service, func(cells store.Row) (r row, err error) { return r, cells.Scan(&r.id, &r.at) },
			`SELECT id, at FROM gateway_usage_records WHERE id > ? ORDER BY id LIMIT ?`, after, sweepRows)
		if err != nil || len(rows) == 0 {
			return err
		}
		old, recent := false, false
		for _, r := range rows {
			old = old || r.at < micros(before)
			recent = recent || r.at >= micros(before) && r.at <= micros(w.now)
		}
		last := rows[len(rows)-1]
		if old {
			n, err := w.delete(ctx, `DELETE FROM gateway_usage_records WHERE id > ? AND id <= ? AND at < ?`, after, last.id, micros(before))
			w.requests += n
			if err != nil {
				return err
			}
			w.tell(moment(last.at))
		}
		if recent && !old || len(rows) < sweepRows {
			return nil
		}
		after = last.id
	}
}

func (w *sweep) deleteHours(ctx context.Context, before int64) error {
	const key = `user_id, hour, key_id, provider, model, tier`
	for {
		n, err := w.delete(ctx, `DELETE FROM gateway_usage_hours WHERE (`+key+`) IN (
			SELECT `+key+` FROM gateway_usage_hours WHERE hour < ? ORDER BY hour LIMIT ?)`, before, sweepRows)
		w.hours += n
		if err != nil || n < sweepRows {
			return err
		}
		w.tell(fromHour(before))
	}
}

// delete runs one statement in a transaction of its own, and leaves the database to
// others for a while.
func (w *sweep) delete(ctx context.Context, statement string, args ...any) (n int64, err error) {
	err = w.service.db.Write(ctx, func(c store.Conn) error {
		if err := w.service.holdSweep(c, w.service.now().Add(sweepLease)); err != nil {
			return err
		}
		n, err = c.Exec(statement, args...)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("deleting in batches: %w", err)
	}
	select {
	case <-ctx.Done():
		return n, context.Cause(ctx)
	case <-time.After(sweepPause):
		return n, nil
	}
}

// tell says how far a long pass is.
func (w *sweep) tell(at time.Time) {
	if now := w.service.now(); now.Sub(w.told) >= sweepNews {
		w.told = now
		w.logger.Info("deleting old requests from the usage log", zap.Int64("requests", w.requests), zap.Int64("hours", w.hours), zap.Time("through", at))
	}
}
