package kernel

import "time"

// RateLimit limits events by a token bucket: it admits Burst events at once, and one more each Interval. The zero
// RateLimit admits everything. The only state of a bucket is the time at which it will be full again, which the
// caller stores.
type RateLimit struct {
	Burst    int64
	Interval time.Duration
}

// Take admits an event at the time now if the bucket, which is full again at the time full, has a token left. It
// returns the new state and 0. Otherwise it returns how long to wait, and the event does not count.
func (l RateLimit) Take(full, now Moment) (next Moment, wait time.Duration) {
	if l.Interval == 0 { // no limit
		return full, 0
	}
	full = max(full, now)
	if late := full.Sub(now) - time.Duration(l.Burst-1)*l.Interval; late > 0 {
		return full, late
	}
	return full.Add(l.Interval), 0
}
