package timings

import (
	"math"
	"time"
)

// failed is the bucket of what failed.
const failed = -1

// Each bucket ends a third of a doubling behind the one before, the first at one
// millisecond, so that a percentile is off by a quarter at most. The last one has no end.
const (
	stepsOfDouble = 3
	buckets       = 20*stepsOfDouble + 1 // up to 17 minutes
)

// bucketOf returns the bucket of how long something took.
func bucketOf(took time.Duration) int {
	ms := float64(took) / float64(time.Millisecond)
	if ms <= 1 {
		return 0
	}
	return min(int(math.Ceil(math.Log2(ms)*stepsOfDouble-1e-9)), buckets-1)
}

// endOf returns the longest time that a bucket is for.
func endOf(bucket int) time.Duration {
	return time.Duration(math.Exp2(float64(bucket)/stepsOfDouble) * float64(time.Millisecond))
}

// Counts are how many requests took how long, and how many failed.
type Counts struct {
	// Answered and Failed are how many. What neither was answered nor failed, since its client left or
	// had made a mistake, is in neither.
	Answered, Failed int64

	took [buckets]int64
}

// add counts n requests of a bucket. One that another version of this program wrote beyond the last
// bucket counts for that.
func (c *Counts) add(bucket int, n int64) {
	if bucket < 0 {
		c.Failed += n
		return
	}
	c.Answered += n
	c.took[min(bucket, buckets-1)] += n
}

// Add adds other counts.
func (c *Counts) Add(o *Counts) {
	c.Answered, c.Failed = c.Answered+o.Answered, c.Failed+o.Failed
	for i, n := range o.took {
		c.took[i] += n
	}
}

// Total returns how many were answered or failed.
func (c *Counts) Total() int64 { return c.Answered + c.Failed }

// Percentile returns the time within which a part of the answers came, such as 0.95 of them, and 0
// where there is none. It is off by a quarter at most.
func (c *Counts) Percentile(part float64) time.Duration {
	want := part * float64(c.Answered)
	var before int64
	last := -1
	for i, n := range c.took {
		if n == 0 {
			continue
		}
		last = i
		if float64(before+n) >= want {
			break
		}
		before += n
	}
	if last <= 0 {
		if last < 0 {
			return 0
		}
		return endOf(0)
	}
	begin := endOf(last - 1)
	within := min(max((want-float64(before))/float64(c.took[last]), 0), 1)
	return begin + time.Duration(within*float64(endOf(last)-begin))
}
