package timings

import (
	"math"
	"time"
)

// failedBucket is the bucket in which failures are counted.
const failedBucket = -1

// The first bucket ends at one millisecond. Each further bucket ends at 2^(1/3) times the end of the previous bucket,
// so percentiles are off by a quarter at most. The last bucket has no end.
const (
	stepsOfDouble = 3
	buckets       = 20*stepsOfDouble + 1 // up to 17 minutes
)

// bucketOf returns the bucket for a duration.
func bucketOf(latency time.Duration) int {
	ms := float64(latency) / float64(time.Millisecond)
	if ms <= 1 {
		return 0
	}
	return min(int(math.Ceil(math.Log2(ms)*stepsOfDouble-1e-9)), buckets-1)
}

// bucketEnd returns the longest duration in a bucket.
func bucketEnd(bucket int) time.Duration {
	return time.Duration(math.Exp2(float64(bucket)/stepsOfDouble) * float64(time.Millisecond))
}

// Counts is a histogram of latencies with the number of failures.
type Counts struct {
	// Answered and Failed are numbers of requests. Neither includes requests whose client disconnected or that were
	// refused because of the client.
	Answered, Failed int64

	answered [buckets]int64 // the number of answers by bucket
}

// add counts n requests of a bucket, which may be failedBucket. Buckets beyond the last one, which another version may
// have written, count as the last one.
func (c *Counts) add(bucket int, n int64) {
	if bucket < 0 {
		c.Failed += n
		return
	}
	c.Answered += n
	c.answered[min(bucket, buckets-1)] += n
}

// Add adds the counts of o to c.
func (c *Counts) Add(o *Counts) {
	c.Answered, c.Failed = c.Answered+o.Answered, c.Failed+o.Failed
	for i, n := range o.answered {
		c.answered[i] += n
	}
}

// Total returns the number of requests that were answered or failed.
func (c *Counts) Total() int64 { return c.Answered + c.Failed }

// Percentile returns the duration within which a fraction of the answers, for example 0.95, was complete. It
// interpolates within a bucket, so the result is off by a quarter at most. Without answers it returns 0.
func (c *Counts) Percentile(fraction float64) time.Duration {
	target := fraction * float64(c.Answered) // the number of answers within the result
	bucket := -1                             // the bucket with that answer, or the last one with answers
	var sum int64                            // the number of answers in earlier buckets
	for i, n := range c.answered {
		if n == 0 {
			continue
		}
		bucket = i
		if float64(sum+n) >= target {
			break
		}
		sum += n
	}
	switch bucket {
	case -1:
		return 0
	case 0:
		return bucketEnd(0)
	}
	start, end := bucketEnd(bucket-1), bucketEnd(bucket)
	position := (target - float64(sum)) / float64(c.answered[bucket])
	return start + time.Duration(min(max(position, 0), 1)*float64(end-start))
}
