package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"go.uber.org/zap"
	sqlitedriver "modernc.org/sqlite"
)

// Bounds of the merger.
const (
	// mergePasses is how often the log is gone through beside the commits before
	// what is left is merged between two of them.
	mergePasses = 8
	// mergeRest is how much may be left for that, in bytes.
	mergeRest = 1 << 20
	// mergeWait is how long commits wait then for reads that are still at the log,
	// for each time that the log could have been merged.
	mergeWait = 20 * time.Millisecond
)

// merger merges the write-ahead log of a SQLite file into the file, on a
// connection of its own: no commit waits while tens of megabytes are written and
// flushed. Only a log of which everything was merged, and that nobody reads, begins
// anew; so the little that commits have added meanwhile is merged between two of
// them.
type merger struct {
	db     *sql.DB // one connection
	writer *writer
	step   int64 // pages of the log from which on it is merged
	rest   int   // pages that are left for a pause of the writer
	logger *zap.Logger

	closing chan struct{}
	stopped chan struct{}
}

// newMerger starts a merger of logs of size bytes. A page has so many bytes.
func newMerger(db *sql.DB, w *writer, size, page int, logger *zap.Logger) *merger {
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	m := &merger{
		db: db, writer: w, step: int64(size / page), rest: mergeRest / page, logger: logger,
		closing: make(chan struct{}), stopped: make(chan struct{}),
	}
	go m.run()
	return m
}

// close ends the merger after the pass it is at.
func (m *merger) close() error {
	close(m.closing)
	<-m.stopped
	return m.db.Close()
}

// run is the merger's goroutine.
func (m *merger) run() {
	defer close(m.stopped)
	next := m.step
	for {
		select {
		case <-m.closing:
			return
		case <-m.writer.grown:
		}
		if m.writer.logged.Load() < next {
			continue
		}
		switch whole, err := m.merge(); {
		case err != nil:
			// The writer merges a log that grows for long, and tells what is wrong.
			m.logger.Debug("merging the write-ahead log", zap.Error(err))
			fallthrough
		case !whole:
			next = m.writer.logged.Load() + m.step/8
		default:
			next = m.step
		}
	}
}

// merge brings the log into the file. whole means that the next commit begins the
// log anew.
func (m *merger) merge() (whole bool, err error) {
	for range mergePasses {
		_, rest, err := m.pass("PASSIVE")
		if err != nil {
			return false, err
		}
		if rest <= m.rest {
			break
		}
		select {
		case <-m.closing:
			return false, nil
		default:
		}
	}
	wait := mergeWait * time.Duration(max(1, m.writer.logged.Load()/m.step))
	if _, err := m.db.ExecContext(context.Background(), "PRAGMA "+pragma("busy_timeout", int(wait.Milliseconds()))); err != nil {
		return false, fmt.Errorf("merging the write-ahead log: %w", err)
	}
	m.writer.between(m.closing, func() {
		var busy bool
		if busy, _, err = m.pass("RESTART"); err == nil && !busy {
			whole = true
			m.writer.logged.Store(0)
		}
	})
	return whole, err
}

// pass goes through the log once. rest is how many pages of it are not in the file.
func (m *merger) pass(mode string) (busy bool, rest int, err error) {
	var log, merged int
	if err := m.db.QueryRowContext(context.Background(), "PRAGMA wal_checkpoint("+mode+")").Scan(&busy, &log, &merged); err != nil {
		return false, 0, fmt.Errorf("merging the write-ahead log: %w", err)
	}
	return busy, log - merged, nil
}

// pagesLogged is how many pages a connection has written to the log since it was
// asked last.
func pagesLogged(db *sql.DB) (pages int, err error) {
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	err = conn.Raw(func(c any) error {
		var err error
		pages, _, err = c.(sqlitedriver.DBStatus).Status(sqlitedriver.DBStatusCacheWrite, true)
		return err
	})
	return pages, err
}
