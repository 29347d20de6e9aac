package counters

import (
	"fmt"
	"math/bits"
	"time"
)

// Limits of a Store's arguments.
const (
	// MaxUnits is the limit for costs, limits and sums. Redis scripts and JSON calculate with doubles, which represent
	// every integer up to this limit exactly.
	MaxUnits = 1<<53 - 1
	// MinWindow is the shortest window.
	MinWindow = time.Millisecond
	// MaxWindow is the longest window.
	MaxWindow = 31 * 24 * time.Hour
)

// state is a sliding window at one moment. Times are whole microseconds, the resolution of Redis' TIME command, so that
// every Store calculates with the same numbers. Products of units and microseconds need up to 95 bits and are
// calculated with 128.
type state struct {
	current  int64 // units spent in the current bucket
	previous int64 // units spent in the previous bucket
	rest     int64 // remaining time of the current bucket, in (0, window]
	window   int64 // length of the window and of each bucket
}

// bucketAt returns the number of the bucket that contains the time now, and the remaining time of that bucket. All
// times are in microseconds.
func bucketAt(now, window int64) (bucket, rest int64) {
	now = max(now, 0)
	return now / window, window - now%window
}

// roll advances a window to the bucket currentBucket. The argument storedBucket is the bucket in which the window was
// last spent from. roll returns the bucket in which the window then is.
//
// A clock that was set back by less than a bucket does not move the window back: the window stays at the start of the
// stored bucket, and nothing is spent twice. After a larger step the old numbers mean nothing and are dropped.
// Otherwise a clock that was wrong once would lock a key for the length of the step.
func (s *state) roll(storedBucket, currentBucket int64) int64 {
	switch currentBucket - storedBucket {
	case 0:
	case 1:
		s.previous, s.current = s.current, 0
	case -1:
		s.rest = s.window
		return storedBucket
	default:
		s.previous, s.current = 0, 0
	}
	return currentBucket
}

// fits reports whether cost can be spent now. The sums are arranged so that none exceeds 53 bits.
func (s *state) fits(cost, limit int64) bool {
	left := limit - cost - s.current
	return left >= 0 && s.carried() <= left
}

// spend adds cost, up to MaxUnits.
func (s *state) spend(cost int64) {
	s.current += min(cost, MaxUnits-s.current)
}

// carried returns the part of the previous bucket that still counts.
func (s *state) carried() int64 {
	units, hasRemainder := mulDiv(s.previous, s.rest, s.window)
	if hasRemainder {
		units++ // round up
	}
	return units
}

// remaining returns how much can be spent now.
func (s *state) remaining(limit int64) int64 {
	return max(0, limit-s.current-s.carried())
}

// retryAfter returns the shortest wait, in microseconds, after which a cost that does not fit now can be spent. cost
// must not exceed limit.
//
// Within the current bucket only the part that is carried over from the previous bucket shrinks. Let left be the most
// that this part may be if the cost is to fit. The wait ends as soon as previous*rest <= left*window. If the current
// bucket alone is too much, the same holds one bucket later, with current instead of previous.
func (s *state) retryAfter(cost, limit int64) int64 {
	free := limit - cost
	if left := free - s.current; left >= 0 {
		earlier, _ := mulDiv(left, s.window, s.previous)
		return s.rest - earlier
	}
	earlier, _ := mulDiv(free, s.window, s.current)
	return s.rest + s.window - earlier
}

// result describes the state after an attempt to take cost. allowed reports whether the cost was spent.
func (s *state) result(allowed bool, cost, limit int64) Result {
	res := Result{
		Allowed:   allowed,
		Limit:     limit,
		Remaining: s.remaining(limit),
		Reset:     time.Duration(s.rest) * time.Microsecond,
	}
	switch {
	case allowed:
	case cost > limit:
		res.RetryAfter = -1
	default:
		res.RetryAfter = time.Duration(s.retryAfter(cost, limit)) * time.Microsecond
	}
	return res
}

// mulDiv returns floor(a*b/c) and whether the division leaves a remainder. No argument may be negative, and one factor
// must be at most c, so that the quotient fits.
//
//nolint:gosec // no conversion overflows: see above
func mulDiv(a, b, c int64) (quotient int64, hasRemainder bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	q, r := bits.Div64(hi, lo, uint64(c))
	return int64(q), r != 0
}

// checkTake returns an error for arguments outside the limits of Store. Such arguments are a mistake of the caller, not
// of a client.
func checkTake(cost, limit int64, window time.Duration) error {
	if limit < 0 || limit > MaxUnits {
		return fmt.Errorf("limit %d is not within 0..2^53-1", limit)
	}
	return checkCharge(cost, window)
}

// checkCharge works like checkTake for the arguments of Charge.
func checkCharge(cost int64, window time.Duration) error {
	if cost < 0 || cost > MaxUnits {
		return fmt.Errorf("cost %d is not within 0..2^53-1", cost)
	}
	if window < MinWindow || window > MaxWindow {
		return fmt.Errorf("window %s is not within %s..%s", window, MinWindow, MaxWindow)
	}
	return nil
}

// checkMark works like checkTake for the argument of SetNX.
func checkMark(ttl time.Duration) error {
	if ttl < time.Millisecond {
		return fmt.Errorf("time to live %s is below 1ms", ttl)
	}
	return nil
}
