package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// load is a stream of requests, each connection sending the next one when it has
// the answer.
type load struct {
	to      site
	request []byte
	next    func() ([]byte, error) // makes each request, on any connection; nil: they are all the same
	check   func(reply) error
	// talk takes the place of all three where an exchange hangs on the answers of
	// others; it counts as one request.
	talk  func(ctx context.Context, c *client) error
	conns int
	// settle is how long the server may finish what it does behind a request on
	// the account of that request.
	settle time.Duration
	// last is a request after all others that is answered when the server has finished
	// that; nil: there is none. It is not counted.
	last []byte
}

// outcome is what a load came to.
type outcome struct {
	requests   int
	unanswered int // of the failed ones, those whose fresh connection was closed
	failed     int
	failure    error // the first
	elapsed    time.Duration
	latency    []time.Duration // of each request, sorted
}

// rate is the number of requests a second.
func (o *outcome) rate() float64 { return float64(o.requests) / o.elapsed.Seconds() }

// percentile is the latency that so many percent of the requests kept.
func (o *outcome) percentile(p float64) time.Duration {
	if len(o.latency) == 0 {
		return 0
	}
	return o.latency[min(len(o.latency)-1, int(float64(len(o.latency))*p/100))]
}

// maxFailures of a connection end it: a server that is gone must not be asked
// for the rest of the time.
const maxFailures = 100

// run sends for a time, or until ctx ends; requests under way are finished.
func (l *load) run(ctx context.Context, length time.Duration) *outcome {
	var (
		total outcome
		mu    sync.Mutex
		all   sync.WaitGroup
		began = time.Now()
	)
	for range l.conns {
		all.Go(func() {
			own := l.connection(ctx, began.Add(length))
			mu.Lock()
			defer mu.Unlock()
			total.requests += own.requests
			total.failed += own.failed
			total.unanswered += own.unanswered
			total.latency = append(total.latency, own.latency...)
			if total.failure == nil {
				total.failure = own.failure
			}
		})
	}
	all.Wait()
	total.elapsed = time.Since(began)
	if l.last != nil && total.failure == nil {
		c := &client{address: l.to.address}
		defer c.close()
		var got reply
		if got, total.failure = c.do(ctx, l.last); total.failure == nil && got.status != 200 {
			total.failed, total.failure = 1, fmt.Errorf("the last request: status %d", got.status)
		}
	}
	slices.Sort(total.latency)
	return &total
}

func (l *load) connection(ctx context.Context, end time.Time) (own outcome) {
	c := &client{address: l.to.address, keep: l.talk != nil}
	defer c.close()
	own.latency = make([]time.Duration, 0, 1<<14)
	for now := time.Now(); now.Before(end) && ctx.Err() == nil; {
		err := l.exchange(context.WithoutCancel(ctx), c)
		then := time.Now()
		if err != nil {
			if own.failed++; own.failure == nil {
				own.failure = err
			}
			if errors.Is(err, errUnanswered) {
				own.unanswered++
			}
			if own.failed == maxFailures {
				break
			}
			c.close()
		} else {
			own.requests++
			own.latency = append(own.latency, then.Sub(now))
		}
		now = then
	}
	return own
}

// exchange sends a request and checks the answer.
func (l *load) exchange(ctx context.Context, c *client) (err error) {
	if l.talk != nil {
		return l.talk(ctx, c)
	}
	request := l.request
	if l.next != nil {
		if request, err = l.next(); err != nil {
			return err
		}
	}
	got, err := c.do(ctx, request)
	if err != nil {
		return err
	}
	return l.check(got)
}
