package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Times of the keeper, the goroutine that runs DB.keep.
const (
	startWait    = 5 * time.Second        // how long Start waits for the first attempt
	retryFirst   = 200 * time.Millisecond // wait after the first failed attempt
	retryLongest = 5 * time.Second        // limit for the wait, which doubles
	probeTimeout = 3 * time.Second
)

// Start opens the database and applies the migrations of every registered schema. It waits for the first attempt for at
// most 5 s or until ctx is done; a migration that takes longer goes on in the background. A failed attempt is logged
// and repeated in the background (after 200 ms, doubling up to 5 s) until an attempt succeeds or the DB is closed;
// meanwhile [DB.Ready] returns the reason.
//
// Start is idempotent: a later call applies the schemas registered since.
func (db *DB) Start(ctx context.Context) {
	done := make(chan struct{})
	db.mu.Lock()
	if db.closed {
		db.mu.Unlock()
		return
	}
	db.waiting = append(db.waiting, done)
	if !db.keeping {
		db.keeping = true
		db.keeper.Go(db.keep)
	}
	db.mu.Unlock()
	db.rouse()

	timeout := time.NewTimer(startWait)
	defer timeout.Stop()
	select {
	case <-done:
	case <-timeout.C:
	case <-ctx.Done():
	case <-db.ctx.Done():
	}
}

// WaitReady waits until the database can be used. When ctx ends first it returns an error that wraps [ErrUnavailable]
// and the error of ctx. When the DB is closed it returns at once with an error that wraps ErrUnavailable.
func (db *DB) WaitReady(ctx context.Context) error {
	for {
		s := db.health.state.Load()
		if s.err == nil || errors.Is(s.err, errClosed) {
			return s.err
		}
		select {
		case <-s.change:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", s.err, ctx.Err())
		}
	}
}

// rouse makes the keeper check the database at once. It does not block.
func (db *DB) rouse() {
	select {
	case db.wake <- struct{}{}:
	default: // a check is due already
	}
}

// keep runs on the keeper goroutine, the only goroutine that opens, migrates and probes the database. It acts when
// roused, with growing pauses after failures, and at the interval that the engine's probeEvery returns.
func (db *DB) keep() {
	var (
		opened bool
		due    bool          // the timer fired; otherwise a call has roused the keeper
		pause  time.Duration // before the next attempt; 0 after a success
		timer  = time.NewTimer(retryLongest)
	)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case <-db.ctx.Done():
			return
		case <-db.wake:
			due = false
		case <-timer.C:
			due = true
		}

		// The waiting calls of Start are taken before the attempt. Calls that arrive during the attempt may have registered
		// schemas that the attempt does not apply, so they wait for the next attempt.
		db.mu.Lock()
		waiting := db.waiting
		db.waiting = nil
		db.mu.Unlock()

		err := db.attempt(&opened)
		switch {
		case db.ctx.Err() != nil: // closed meanwhile
		case err == nil:
			db.health.up()
			pause = 0
			timer.Stop()
			if due { // not when roused, as each failed write rouses the keeper
				db.tryWriting()
			}
			if interval := db.engine.probeEvery(); interval > 0 {
				timer.Reset(interval)
			}
		default:
			db.health.down(err)
			pause = min(max(2*pause, retryFirst), retryLongest)
			timer.Reset(pause)
		}
		for _, done := range waiting {
			close(done)
		}
	}
}

// tryWriting checks, after a write has failed, whether writes work again.
func (db *DB) tryWriting() {
	if db.health.writeError() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(db.ctx, probeTimeout)
	defer cancel()
	if db.engine.probeWrite(ctx) == nil {
		db.health.written()
	}
}

// attempt makes the database reachable, migrated and open, leaving out the steps that were done before. opened holds
// whether the engine is open.
func (db *DB) attempt(opened *bool) error {
	if *opened {
		ctx, cancel := context.WithTimeout(db.ctx, probeTimeout)
		defer cancel()
		err := db.engine.probe(ctx)
		if errors.Is(err, errMoved) { // another database is at the path and has to be opened and migrated
			*opened = false
			db.mu.Lock()
			db.migrated = 0
			db.mu.Unlock()
		}
		if err != nil {
			return err
		}
	}

	if !*opened && !db.ownMark.Load() { // only the program that set the mark may open a marked database
		if err := db.engine.checkMark(db.ctx); err != nil {
			return err
		}
	}
	// The lock is not held while schemas are migrated, so that Register does not wait.
	db.mu.Lock()
	pending := db.schemas[db.migrated:]
	db.mu.Unlock()
	if len(pending) > 0 || !*opened { // without schemas, migrate still makes a SQLite file
		if err := db.engine.migrate(db.ctx, pending); err != nil {
			return err
		}
		db.mu.Lock()
		db.migrated += len(pending)
		db.mu.Unlock()
	}

	if !*opened {
		if err := db.engine.open(db.ctx); err != nil {
			return err
		}
		*opened = true
	}
	return nil
}
