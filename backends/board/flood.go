package board

import "time"

// bucket admits capacity events at once and one more each interval. Its whole
// state is the time at which it is full again.
type bucket struct {
	capacity int64
	interval time.Duration
}

// The buckets of an author.
var (
	floodPosts      = bucket{5, 15 * time.Second}
	floodPostsNew   = bucket{2, time.Minute}
	floodEdits      = bucket{10, 6 * time.Second}
	hourlyThreads   = bucket{10, 6 * time.Minute}
	hourlyPosts     = bucket{60, time.Minute}
	newMemberPosts  = int64(3) // fewer make a new member
	newMemberLinks  = 2        // more hold the post
	duplicateWithin = time.Minute
)

// take admits one event at now, where full is the state, or says how long to wait.
func (b bucket) take(full, now int64) (next int64, wait time.Duration) {
	interval := b.interval.Microseconds()
	full = max(full, now)
	if late := full + interval - now - b.capacity*interval; late > 0 {
		return full, time.Duration(late) * time.Microsecond
	}
	return full + interval, 0
}
