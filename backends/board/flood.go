package board

import "time"

// bucket admits capacity events at once and one more each interval. Its whole
// state is the time at which it is full again.
type bucket struct {
	capacity int64
	interval time.Duration
}

// take admits one event at now, where full is the state, or says how long to wait.
func (b bucket) take(full, now int64) (next int64, wait time.Duration) {
	if b.interval == 0 { // no limit
		return full, 0
	}
	interval := b.interval.Microseconds()
	full = max(full, now)
	if late := full + interval - now - b.capacity*interval; late > 0 {
		return full, time.Duration(late) * time.Microsecond
	}
	return full + interval, 0
}
