// Package ratelimit limits how often an event happens, by token buckets. The state of a bucket is a single time.
// Callers of Limit store it in their database, and Limiter keeps it in memory.
package ratelimit

import (
	"time"

	"github.com/tollgate-gateway/tollgate/internal/instant"
)

// Limit allows Burst events at once, and one more each Interval. The zero Limit allows all events.
type Limit struct {
	Burst    int64
	Interval time.Duration // in whole microseconds
}

// Every returns the limit that allows n events in a period. If n is 0 the number is not limited.
func Every(n int64, period time.Duration) Limit {
	if n == 0 {
		return Limit{}
	}
	return Limit{n, period / time.Duration(n)}
}

// PerSecond returns the limit that allows a burst of events at once, and then rate events per second. Both must be
// positive; a rate of more than a million counts as a million.
func PerSecond(rate float64, burst int) Limit {
	const maxBurst, maxFill = 1e12, 100 * 365 * 24 * time.Hour // so that nothing overflows
	l := Limit{Burst: min(int64(burst), maxBurst)}
	longest := float64(maxFill / time.Duration(l.Burst))
	l.Interval = time.Duration(min(max(float64(time.Second)/rate, float64(time.Microsecond)), longest))
	return l
}

// Take allows an event at the time now if the bucket has a token. full is the state of the bucket: the time at which
// the bucket is full again. Each event moves full by Interval, and full may be at most Burst intervals ahead of now.
// If the event is allowed, Take returns the new state and 0. Otherwise it returns how long to wait, and the event
// does not count.
func (l Limit) Take(full, now instant.Moment) (next instant.Moment, wait time.Duration) {
	if l.Interval == 0 {
		return full, 0
	}
	full = max(full, now)
	if excess := full.Sub(now) - time.Duration(l.Burst-1)*l.Interval; excess > 0 {
		return full, excess
	}
	return full.Add(l.Interval), 0
}
