package ratelimit

import (
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/instant"
)

// maxBuckets bounds how many keys a Limiter knows. A bucket takes about 100 bytes.
const maxBuckets = 100_000

// Limiter has a bucket for each key, such as an address. The buckets are kept in the memory of this process and are
// bounded. It is safe for concurrent use.
type Limiter struct {
	limit Limit
	now   func() time.Time
	begun time.Time // all moments count from here, so that it does not matter if the wall clock is set

	mu    sync.Mutex
	full  map[string]instant.Moment // when each bucket is full again
	sweep instant.Moment            // when the full buckets are dropped next
}

// New returns a limiter with a limit for each key.
func New(limit Limit, now func() time.Time) *Limiter {
	return &Limiter{limit: limit, now: now, begun: now(), full: make(map[string]instant.Moment)}
}

// Allow reports whether a key has a token left now. If so, it takes the token.
func (l *Limiter) Allow(key string) bool { return l.allow(key, l.limit) }

// Borrow works like Allow for a more important event, which may use a token that the bucket has yet to gain.
func (l *Limiter) Borrow(key string) bool {
	limit := l.limit
	limit.Burst++
	return l.allow(key, limit)
}

func (l *Limiter) allow(key string, limit Limit) bool {
	now := instant.Moment(l.now().Sub(l.begun).Microseconds())
	l.mu.Lock()
	defer l.mu.Unlock()
	full, known := l.full[key]
	if !known {
		l.makeRoom(now)
	}
	full, wait := limit.Take(full, now)
	if wait == 0 {
		l.full[key] = full
	}
	return wait == 0
}

// makeRoom drops the buckets that are full again, as often as an empty bucket takes to fill. It drops arbitrary ones
// while there are too many.
func (l *Limiter) makeRoom(now instant.Moment) {
	if now >= l.sweep {
		l.sweep = now.Add(max(time.Second, time.Duration(l.limit.Burst)*l.limit.Interval))
		for key, full := range l.full {
			if full <= now {
				delete(l.full, key)
			}
		}
	}
	for key := range l.full {
		if len(l.full) < maxBuckets {
			return
		}
		delete(l.full, key)
	}
}
