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
	// answerKept is how much of an answer is collected before its first byte is sent. A shorter answer releases its
	// database connection before it is sent, however slowly the client reads.
	answerKept = 1 << 20
	// answersKept limits the memory for all collected answers.
	answersKept = 64 << 20
)

// places allocates the database connections. A longer answer holds its connection while the client reads it, so
// there are fewer places for long answers than connections. On PostgreSQL, where submissions use the same pool,
// some connections are reserved for these.
type places struct {
	once   sync.Once
	all    *semaphore.Weighted // connections
	long   *semaphore.Weighted // connections of long answers
	memory *semaphore.Weighted // bytes of collected answers
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
	// errLong is the error of an answer that turned out to be long while no place for long answers was free.
	errLong = errors.New("no place for a long answer")
)

// lease is what one query holds of the places.
type lease struct {
	*places
	long, memory bool
}

// keep reports whether an answer of which there are n bytes is collected further.
func (l *lease) keep(n int) bool {
	if n >= answerKept {
		return false
	}
	l.memory = l.memory || l.places.memory.TryAcquire(answerKept)
	return l.memory
}

// stream reserves a place for a long answer, which is sent while it is produced. It returns errLong if there is
// none.
func (l *lease) stream() error {
	if l.long = l.long || l.places.long.TryAcquire(1); !l.long {
		return errLong
	}
	return nil
}

// release returns everything that the query holds.
func (l *lease) release() {
	if l.memory {
		l.places.memory.Release(answerKept)
	}
	l.unplace()
	l.memory = false
}

// unplace returns the place for a long answer.
func (l *lease) unplace() {
	if l.long {
		l.places.long.Release(1)
	}
	l.long = false
}

// placed runs a query when a connection is available. If the answer turns out to be long and there is no place for
// it, placed releases the connection, waits for a place, and runs the query again.
func (s *Service) placed(ctx context.Context, db *sql.DB, out *output, query func() error) error {
	s.places.prepare(db, s.o.DB.Dialect())
	defer out.unplace()
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

// wait acquires a place within half of the timeout. Afterwards the query has the whole timeout, and may wait for
// another place.
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

// nearby is the length of time that a query may cover without being a wide one.
const nearby = 3 * 24 * time.Hour

// near reports whether an interval is at most that long.
func near(within interval, now time.Time) bool {
	return min(within.until, now.UnixMilli()+1)-within.from <= nearby.Milliseconds()
}
