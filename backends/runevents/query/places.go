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
	// answerKept is what is gathered of an answer before its first byte is sent. One
	// that is shorter gives its connection to the database back before that, however
	// slowly the client reads.
	answerKept = 1 << 20
	// answersKept bounds all of that.
	answersKept = 64 << 20
)

// places share the connections to the database out. Those of an answer that is
// longer than what is kept are held for as long as the client takes to read it, so
// that there are fewer places for them than connections. On PostgreSQL, where
// submissions come from the same pool, some are left to these.
type places struct {
	once   sync.Once
	all    *semaphore.Weighted // connections
	long   *semaphore.Weighted // those of long answers
	memory *semaphore.Weighted // bytes of answers that are kept
}

func (p *places) prepare(db *sql.DB, dialect store.Dialect) {
	p.once.Do(func() {
		n := max(db.Stats().MaxOpenConnections, 1)
		if dialect == store.Postgres {
			n = max(n-max(n/4, 1), 1)
		}
		p.all, p.long, p.memory = semaphore.NewWeighted(int64(n)), semaphore.NewWeighted(int64(max(n/2, 1))), semaphore.NewWeighted(answersKept)
	})
}

var (
	errCrowded = &Error{Status: http.StatusServiceUnavailable, Text: "too many queries are running; try again later"}
	errCrammed = &Error{Status: http.StatusServiceUnavailable, Text: "too many long answers are being read; ask for less, with limit, or try again later"}
	// errLong is an answer that turned out to be a long one while others had all
	// the places.
	errLong = errors.New("no place for a long answer")
)

// lease is what one query holds of the places.
type lease struct {
	*places
	long, memory bool
}

// keep tells whether an answer of which there are n bytes is to be kept.
func (l *lease) keep(n int) bool {
	if n >= answerKept {
		return false
	}
	l.memory = l.memory || l.places.memory.TryAcquire(answerKept)
	return l.memory
}

// stream has the answer sent while it is made.
func (l *lease) stream() error {
	if l.long = l.long || l.places.long.TryAcquire(1); !l.long {
		return errLong
	}
	return nil
}

// release gives everything back.
func (l *lease) release() {
	if l.memory {
		l.places.memory.Release(answerKept)
	}
	l.unplace()
	l.memory = false
}

// unplace gives back what stands for a connection.
func (l *lease) unplace() {
	if l.long {
		l.places.long.Release(1)
	}
	l.long = false
}

// placed runs a query that has a connection. One that finds its answer to be long,
// and no place for it, gives the connection back, waits, and begins again.
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

// wait takes a place within half of the time. The query then has all of it, and
// may wait for another place.
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

// nearby is how much of the time a query may look at without being a wide one.
const nearby = 3 * 24 * time.Hour

// near tells whether so much time is little.
func near(within interval, now time.Time) bool {
	return min(within.until, now.UnixMilli()+1)-within.from <= nearby.Milliseconds()
}
