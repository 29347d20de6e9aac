package main

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// reloads is how often the configuration is loaded again.
const reloads = 50

// reloadRow loads the configuration again and again while requests go on, and
// looks at what stays behind when the old ones have had their time to end.
func reloadRow(ctx context.Context, b *bench) ([]line, error) {
	const moreGoroutines, moreHeap = 10, 2048
	plain, err := b.reloads(ctx, func(s *server) site { return s.plain })
	if err != nil {
		return nil, err
	}
	gateway, err := b.reloads(ctx, func(s *server) site { return s.gateway })
	if err != nil {
		return nil, err
	}
	return []line{
		{
			what: "goroutines more after 50 reloads under load", plain: signed(plain.goroutines), tollgate: signed(gateway.goroutines),
			aim: fmt.Sprintf("<= +%d", moreGoroutines), met: gateway.goroutines <= moreGoroutines,
		},
		{
			what: "heap more after 50 reloads under load, KiB", plain: signed(plain.heap), tollgate: signed(gateway.heap),
			aim: fmt.Sprintf("<= +%d", moreHeap), met: gateway.heap <= moreHeap,
		},
		{
			what: "requests broken by 50 reloads", plain: strconv.Itoa(plain.broken), tollgate: strconv.Itoa(gateway.broken),
			aim: "0", met: gateway.broken == 0,
		},
		// Caddy closes the old listening socket with what waits in its queue, and
		// nothing behind it can help that.
		{
			what: "new connections not served during 50 reloads", plain: strconv.Itoa(plain.unanswered), tollgate: strconv.Itoa(gateway.unanswered),
		},
	}, nil
}

// aftermath is what reloads leave behind.
type aftermath struct {
	goroutines, heap   float64 // more than before; heap in KiB
	broken, unanswered int     // requests
}

// reloads measures one site on a fresh server.
func (b *bench) reloads(ctx context.Context, choose func(*server) site) (a aftermath, err error) {
	const (
		rest   = 1500 * time.Millisecond
		linger = 7 * time.Second // an old configuration lives on for 5 s after its last request
	)
	s, err := b.serve(ctx)
	if err != nil {
		return a, err
	}
	defer s.stop()
	to := choose(s)
	usage := &load{to: to, request: to.request(chat(askWhole, false, 1<<10)), check: isWhole, conns: 4}
	if o := usage.run(ctx, b.slice); o.failure != nil { // the connections of a load belong to the state before
		return a, o.failure
	}
	before, err := s.remains(ctx, rest)
	if err != nil {
		return a, err
	}
	during, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan *outcome, 1)
	go func() { ended <- usage.run(during, time.Hour) }()
	for range reloads {
		if err := s.reload(ctx); err != nil {
			return a, err
		}
	}
	stop()
	got := <-ended
	after, err := s.remains(ctx, linger)
	if err != nil {
		return a, err
	}
	return aftermath{
		goroutines: after.goroutines - before.goroutines, heap: after.heap - before.heap,
		broken: got.failed - got.unanswered, unanswered: got.unanswered,
	}, nil
}

// remainder is what a server at rest holds.
type remainder struct {
	goroutines float64
	heap       float64 // KiB
}

func (s *server) remains(ctx context.Context, after time.Duration) (r remainder, err error) {
	select {
	case <-time.After(after):
	case <-ctx.Done():
		return r, ctx.Err()
	}
	used, err := s.memory(ctx)
	if err != nil {
		return r, err
	}
	count, err := s.goroutines(ctx)
	return remainder{float64(count), float64(used.heap) / 1024}, err
}
