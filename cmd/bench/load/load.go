// Package load sends requests as fast as the answers come, and counts instead of keeping:
// it shares the machine with the server that it measures.
package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Load is a stream of requests, each connection sending the next one when it has
// the answer.
type Load struct {
	To      Site
	Request []byte
	Next    func() ([]byte, error) // makes each request, on any connection; nil: they are all the same
	Check   func(Reply) error      // of each answer
	// Talk takes the place of all three where an exchange hangs on the answers of
	// others; it counts as one request.
	Talk  func(ctx context.Context, c *Client) error
	Conns int // connections at a time
	// Settle is how long the server may finish what it does behind a request on
	// the account of that request.
	Settle time.Duration
	// Last is a request after all others that is answered when the server has finished
	// that; nil: there is none. It is not counted.
	Last []byte
}

// Outcome is what a load came to.
type Outcome struct {
	Requests   int
	Unanswered int // of the failed ones, those whose fresh connection was closed
	Failed     int
	Failure    error // the first
	elapsed    time.Duration
	Latency    []time.Duration // of each request, sorted
}

// Rate is the number of requests a second.
func (o *Outcome) Rate() float64 { return float64(o.Requests) / o.elapsed.Seconds() }

// Percentile is the latency that so many percent of the requests kept.
func (o *Outcome) Percentile(p float64) time.Duration {
	if len(o.Latency) == 0 {
		return 0
	}
	return o.Latency[min(len(o.Latency)-1, int(float64(len(o.Latency))*p/100))]
}

// maxFailures of a connection end it: a server that is gone must not be asked
// for the rest of the time.
const maxFailures = 100

// Run sends for a time, or until ctx ends; requests under way are finished.
func (l *Load) Run(ctx context.Context, length time.Duration) *Outcome {
	var (
		total Outcome
		mu    sync.Mutex
		all   sync.WaitGroup
		began = time.Now()
	)
	for range l.Conns {
		all.Go(func() {
			own := l.connection(ctx, began.Add(length))
			mu.Lock()
			defer mu.Unlock()
			total.Requests += own.Requests
			total.Failed += own.Failed
			total.Unanswered += own.Unanswered
			total.Latency = append(total.Latency, own.Latency...)
			if total.Failure == nil {
				total.Failure = own.Failure
			}
		})
	}
	all.Wait()
	total.elapsed = time.Since(began)
	if l.Last != nil && total.Failure == nil {
		c := &Client{Address: l.To.Address}
		defer c.Close()
		var got Reply
		if got, total.Failure = c.Do(ctx, l.Last); total.Failure == nil && got.Status != 200 {
			total.Failed, total.Failure = 1, fmt.Errorf("the last request: status %d", got.Status)
		}
	}
	slices.Sort(total.Latency)
	return &total
}

func (l *Load) connection(ctx context.Context, end time.Time) (own Outcome) {
	c := &Client{Address: l.To.Address, Keep: l.Talk != nil}
	defer c.Close()
	own.Latency = make([]time.Duration, 0, 1<<14)
	for now := time.Now(); now.Before(end) && ctx.Err() == nil; {
		err := l.Exchange(context.WithoutCancel(ctx), c)
		then := time.Now()
		if err != nil {
			if own.Failed++; own.Failure == nil {
				own.Failure = err
			}
			if errors.Is(err, errUnanswered) {
				own.Unanswered++
			}
			if own.Failed == maxFailures {
				break
			}
			c.Close()
		} else {
			own.Requests++
			own.Latency = append(own.Latency, then.Sub(now))
		}
		now = then
	}
	return own
}

// Exchange sends a request and checks the answer.
func (l *Load) Exchange(ctx context.Context, c *Client) (err error) {
	if l.Talk != nil {
		return l.Talk(ctx, c)
	}
	request := l.Request
	if l.Next != nil {
		if request, err = l.Next(); err != nil {
			return err
		}
	}
	got, err := c.Do(ctx, request)
	if err != nil {
		return err
	}
	return l.Check(got)
}
