package ratelimit

import (
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/instant"
)

// maxBuckets limits the number of keys in a Limiter. A bucket takes about 100 bytes.
const maxBuckets = 100_000

// Limiter has a bucket for each key, such as an address, in the memory of this process. The number of buckets is
// limited. It is safe for concurrent use.
type Limiter struct {
	limit Limit
	now   func() time.Time
	begun time.Time // moments count from here, so that setting the wall clock has no effect

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

// Borrow works like Allow for a more important event. If the bucket is empty, Borrow may take the next token in
// advance.
func (l *Limiter) Borrow(key string) bool {
	limit := l.limit
	limit.Burst++
	return l.allow(key, limit)
}

// allow works like Allow with the given limit.
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

// makeRoom drops the buckets that are full again. It looks for them at most once in the time in which an empty bucket
// fills up, at least a second. If there are still too many buckets, it drops arbitrary ones.
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
