package kernel

import "time"

// RateLimit admits a burst of events at once and one more each interval, as a token
// bucket does. Its whole state is the time at which the bucket is full again.
type RateLimit struct {
	Burst    int64
	Interval time.Duration
}

// Take admits one event at now, where full is the state, or says how long to wait.
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
