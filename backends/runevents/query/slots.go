package query

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	// maxBuffered is the size up to which an answer is buffered before its first byte is sent. A shorter answer
	// releases its database connection before it is sent, so a slow client does not keep the connection.
	maxBuffered = 1 << 20
	// maxAllBuffered limits the memory of all buffered answers.
	maxAllBuffered = 64 << 20
)

// querySlots limits how many queries use a database connection at the same time. Each query needs a slot of the
// semaphore all. A long answer, which does not fit into the buffer, uses its connection while the client reads it. It
// therefore needs a slot of the semaphore long, too, which has half as many slots. On PostgreSQL, a quarter of the
// connections is reserved for submissions, which use the same pool.
type querySlots struct {
	once   sync.Once
	all    *semaphore.Weighted // connections
	long   *semaphore.Weighted // connections of long answers
	memory *semaphore.Weighted // bytes of buffered answers
}

// prepare creates the semaphores on its first call, when the size of the connection pool is known.
func (p *querySlots) prepare(db *sql.DB, dialect store.Dialect) {
	p.once.Do(func() {
		n := max(db.Stats().MaxOpenConnections, 1)
		if dialect == store.Postgres {
			n = max(n-max(n/4, 1), 1)
		}
		p.all, p.long, p.memory = semaphore.NewWeighted(int64(n)), semaphore.NewWeighted(int64(max(n/2, 1))),
			semaphore.NewWeighted(maxAllBuffered)
	})
}

var (
	errTooManyQueries     = &Error{Status: http.StatusServiceUnavailable, Text: "too many queries are running; try again later"}
	errTooManyLongAnswers = &Error{
		Status: http.StatusServiceUnavailable,
		Text:   "too many long answers are being read; ask for less, with limit, or try again later",
	}
	// errNoLongSlot is the error of an answer that has turned out to be long while no slot for long answers was free.
	errNoLongSlot = errors.New("no slot for a long answer")
)

// lease records whether one query has acquired a slot for a long answer (long) and memory for maxBuffered bytes.
type lease struct {
	*querySlots
	long, memory bool
}

// mayBuffer reports whether an answer of n bytes so far may remain in the buffer. If it may not, the answer must be
// sent. On its first call mayBuffer tries to acquire the memory for the buffer.
func (l *lease) mayBuffer(n int) bool {
	if n >= maxBuffered {
		return false
	}
	l.memory = l.memory || l.querySlots.memory.TryAcquire(maxBuffered)
	return l.memory
}

// acquireLong acquires a slot for a long answer, which is sent while rows are read. It returns errNoLongSlot if no such
// slot is free.
func (l *lease) acquireLong() error {
	if l.long = l.long || l.querySlots.long.TryAcquire(1); !l.long {
		return errNoLongSlot
	}
	return nil
}

// release returns the slot and the memory of the query.
func (l *lease) release() {
	if l.memory {
		l.querySlots.memory.Release(maxBuffered)
	}
	l.releaseLong()
	l.memory = false
}

// releaseLong returns the slot for a long answer, if the query has one.
func (l *lease) releaseLong() {
	if l.long {
		l.querySlots.long.Release(1)
	}
	l.long = false
}

// withSlot runs a query once a connection is available. If the query fails with errNoLongSlot, because its answer is
// long, withSlot releases the connection, waits for a slot for long answers, and runs the query again.
func (s *Service) withSlot(ctx context.Context, db *sql.DB, out *output, query func() error) error {
	s.slots.prepare(db, s.o.DB.Dialect())
	defer out.releaseLong()
	attempt := func() error {
		if err := s.acquireSlot(ctx, s.slots.all, out, errTooManyQueries); err != nil {
			return err
		}
		defer s.slots.all.Release(1)
		return query()
	}
	for {
		err := attempt()
		if !errors.Is(err, errNoLongSlot) {
			return err
		}
		if err := s.acquireSlot(ctx, s.slots.long, out, errTooManyLongAnswers); err != nil {
			return err
		}
		out.long = true // the next attempt has the slot already
		out.restart()
	}
}

// acquireSlot acquires one of the slots, and returns errTimedOut if none becomes free within half of the timeout.
// Afterwards the timeout of out begins again, so the query may wait for another slot.
func (s *Service) acquireSlot(ctx context.Context, slots *semaphore.Weighted, out *output, errTimedOut error) error {
	waiting, cancel := context.WithTimeout(ctx, s.o.Timeout/2)
	defer cancel()
	err := slots.Acquire(waiting, 1)
	switch {
	case err == nil:
		out.pieceTimer.Reset(out.timeout)
		return nil
	case ctx.Err() != nil:
		return err
	}
	return errTimedOut
}

// shortTime is the maximum length of the time span of a query that is not wide.
const shortTime = 3 * 24 * time.Hour

// isShort reports whether an interval, up to now, is at most shortTime long.
func isShort(bounds interval, now time.Time) bool {
	return min(bounds.until, now.UnixMilli()+1)-bounds.from <= shortTime.Milliseconds()
}
