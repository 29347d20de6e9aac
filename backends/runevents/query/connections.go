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
	// answerKept is the size up to which an answer is buffered before its first byte is sent. A shorter answer releases
	// its database connection before it is sent, so a slow client does not keep the connection.
	answerKept = 1 << 20
	// answersKept limits the memory of all buffered answers.
	answersKept = 64 << 20
)

// places limits how many queries use a database connection at the same time. A long answer uses its connection while
// the client reads it, so there are fewer places for long answers than connections. On PostgreSQL, some connections are
// reserved for submissions, which use the same pool.
type places struct {
	once   sync.Once
	all    *semaphore.Weighted // connections
	long   *semaphore.Weighted // connections of long answers
	memory *semaphore.Weighted // bytes of buffered answers
}

func (p *places) prepare(db *sql.DB, dialect store.Dialect) {
	p.once.Do(func() {
		n := max(db.Stats().MaxOpenConnections, 1)
		if dialect == store.Postgres {
			n = max(n-max(n/4, 1), 1)
		}
		p.all, p.long, p.memory = semaphore.NewWeighted(int64(n)), semaphore.NewWeighted(int64(max(n/2, 1))),
			semaphore.NewWeighted(answersKept)
	})
}

var (
	errCrowded = &Error{Status: http.StatusServiceUnavailable, Text: "too many queries are running; try again later"}
	errCrammed = &Error{
		Status: http.StatusServiceUnavailable,
		Text:   "too many long answers are being read; ask for less, with limit, or try again later",
	}
	// errLong is the error of an answer that has turned out to be long while no place for long answers was free.
	errLong = errors.New("no place for a long answer")
)

// lease holds the place for a long answer and the memory that one query has acquired.
type lease struct {
	*places
	long, memory bool
}

// keep reports whether an answer of n bytes so far is still buffered instead of being sent.
func (l *lease) keep(n int) bool {
	if n >= answerKept {
		return false
	}
	l.memory = l.memory || l.places.memory.TryAcquire(answerKept)
	return l.memory
}

// stream acquires a place for a long answer, which is sent while rows are read. It returns errLong if no such place is
// free.
func (l *lease) stream() error {
	if l.long = l.long || l.places.long.TryAcquire(1); !l.long {
		return errLong
	}
	return nil
}

// release returns the place and the memory of the query.
func (l *lease) release() {
	if l.memory {
		l.places.memory.Release(answerKept)
	}
	l.releasePlace()
	l.memory = false
}

// releasePlace returns the place for a long answer.
func (l *lease) releasePlace() {
	if l.long {
		l.places.long.Release(1)
	}
	l.long = false
}

// placed runs a query once a connection is available. If the answer turns out to be long and no place for long answers
// is free, placed releases the connection, waits for such a place, and runs the query again.
func (s *Service) placed(ctx context.Context, db *sql.DB, out *output, query func() error) error {
	s.places.prepare(db, s.o.DB.Dialect())
	defer out.releasePlace()
	attempt := func() error {
		if err := s.wait(ctx, s.places.all, out, errCrowded); err != nil {
			return err
		}
		defer s.places.all.Release(1)
		return query()
	}
	for {
		err := attempt()
		if !errors.Is(err, errLong) {
			return err
		}
		if err := s.wait(ctx, s.places.long, out, errCrammed); err != nil {
			return err
		}
		out.long = true
		out.restart()
	}
}

// wait acquires a place, and returns the error full if none becomes free within half of the timeout. Afterwards the
// timeout begins again, so the query may wait for another place.
func (s *Service) wait(ctx context.Context, places *semaphore.Weighted, out *output, full error) error {
	waiting, cancel := context.WithTimeout(ctx, s.o.Timeout/2)
	defer cancel()
	err := places.Acquire(waiting, 1)
	switch {
	case err == nil:
		out.watch.Reset(out.timeout)
		return nil
	case ctx.Err() != nil:
		return err
	}
	return full
}

// shortTime is the maximum length of the time span of a query that is not wide.
const shortTime = 3 * 24 * time.Hour

// isShort reports whether an interval, up to now, is at most shortTime long.
func isShort(bounds interval, now time.Time) bool {
	return min(bounds.until, now.UnixMilli()+1)-bounds.from <= shortTime.Milliseconds()
}
