package board

import "time"

// rateLimit admits a burst of events at once and one more each interval, as a token
// bucket does. Its whole state is the time at which the bucket is full again.
type rateLimit struct {
	burst    int64
	interval time.Duration
}

// take admits one event at now, where full is the state, or says how long to wait.
func (l rateLimit) take(full, now int64) (next int64, wait time.Duration) {
	if l.interval == 0 { // no limit
		return full, 0
	}
	interval := l.interval.Microseconds()
	full = max(full, now)
	if late := full + interval - now - l.burst*interval; late > 0 {
		return full, time.Duration(late) * time.Microsecond
	}
	return full + interval, 0
}
