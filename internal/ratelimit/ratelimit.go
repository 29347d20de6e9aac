// Package ratelimit limits how often something happens, by token buckets. The state of a bucket is a single time, which
// the caller of Limit stores in its database, and Limiter keeps in memory.
package ratelimit

import (
	"time"

	"github.com/tollgate-gateway/tollgate/internal/instant"
)

// Limit admits Burst events at once, and one more each Interval. The zero Limit admits everything.
type Limit struct {
	Burst    int64
	Interval time.Duration // in whole microseconds
}

// Every returns the limit that admits n events in a period. If n is 0 there is no limit.
func Every(n int64, period time.Duration) Limit {
	if n == 0 {
		return Limit{}
	}
	return Limit{n, period / time.Duration(n)}
}

// PerSecond returns the limit that admits a burst of events at once, and rate per second from then on. Both must be
// positive; more than a million per second are the same as a million.
func PerSecond(rate float64, burst int) Limit {
	const maxBurst, maxFill = 1e12, 100 * 365 * 24 * time.Hour // so that nothing overflows
	l := Limit{Burst: min(int64(burst), maxBurst)}
	longest := float64(maxFill / time.Duration(l.Burst))
	l.Interval = time.Duration(min(max(float64(time.Second)/rate, float64(time.Microsecond)), longest))
	return l
}

// Take admits an event at the time now if the bucket, which is full again at the time full, has a token left. It
// returns the new state and 0. Otherwise it returns how long to wait, and the event does not count.
func (l Limit) Take(full, now instant.Moment) (next instant.Moment, wait time.Duration) {
	if l.Interval == 0 {
		return full, 0
	}
	full = max(full, now)
	if late := full.Sub(now) - time.Duration(l.Burst-1)*l.Interval; late > 0 {
		return full, late
	}
	return full.Add(l.Interval), 0
}
