// Package load sends requests as fast as the responses arrive. It counts responses instead of keeping them,
// because it shares the machine with the server that it measures.
package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Load is a stream of requests. Each connection sends the next request after it has received the response to the
// previous one.
type Load struct {
	Site    Site
	Request []byte
	Next    func() ([]byte, error) // makes each request, on any goroutine; nil if all are the same
	Check   func(Reply) error      // checks each response
	// Talk replaces the three fields above for exchanges that depend on earlier responses. Each call counts as one
	// request.
	Talk  func(ctx context.Context, c *Client) error
	Conns int // the number of concurrent connections
	// Settle is the time that the server may take to finish its work after the last response. This work is counted as part
	// of the requests.
	Settle time.Duration
	// Last is a request that is sent after all other requests. Its response means that the server has finished its work.
	// This request is not counted. Last may be nil.
	Last []byte
}

// Outcome is the result of a load.
type Outcome struct {
	Requests   int
	Unanswered int // the failed requests whose new connection was closed without a response
	Failed     int
	Failure    error // the first failure
	elapsed    time.Duration
	Latency    []time.Duration // of each request, sorted
}

// Rate returns the number of requests per second.
func (o *Outcome) Rate() float64 { return float64(o.Requests) / o.elapsed.Seconds() }

// Percentile returns the latency that p percent of the requests did not exceed.
func (o *Outcome) Percentile(p float64) time.Duration {
	if len(o.Latency) == 0 {
		return 0
	}
	return o.Latency[min(len(o.Latency)-1, int(float64(len(o.Latency))*p/100))]
}

// maxFailures is the number of failures after which a connection gives up. Otherwise a server that has ended would get
// requests for the rest of the time.
const maxFailures = 100

// Run sends requests for the given length of time, or until ctx ends. Requests that are under way at the end are
// finished.
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
		c := &Client{Address: l.Site.Address}
		defer c.Close()
		var got Reply
		if got, total.Failure = c.Do(ctx, l.Last); total.Failure == nil && got.Status != 200 {
			total.Failed, total.Failure = 1, fmt.Errorf("the last request: status %d", got.Status)
		}
	}
	slices.Sort(total.Latency)
	return &total
}

// connection sends requests on one connection, one after the other, until end or until maxFailures have failed. After a
// failure it opens a new connection.
func (l *Load) connection(ctx context.Context, end time.Time) (own Outcome) {
	c := &Client{Address: l.Site.Address, Keep: l.Talk != nil}
	defer c.Close()
	own.Latency = make([]time.Duration, 0, 1<<14)
	for now := time.Now(); now.Before(end) && ctx.Err() == nil; {
		err := l.Exchange(context.WithoutCancel(ctx), c)
		finish := time.Now()
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
			own.Latency = append(own.Latency, finish.Sub(now))
		}
		now = finish
	}
	return own
}

// Exchange sends a request and checks the response.
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
