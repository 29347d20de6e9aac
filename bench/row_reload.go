package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/tollgate-gateway/tollgate/bench/load"
	"github.com/tollgate-gateway/tollgate/bench/mock"
	"github.com/tollgate-gateway/tollgate/bench/process"
)

// reloads is the number of reloads.
const reloads = 50

// reloadRow reloads the configuration repeatedly under load. It measures the goroutines and the memory that remain
// after the old configurations have had time to end.
func reloadRow(ctx context.Context, b *bench) ([]line, error) {
	const moreGoroutines, moreHeap = 10, 2048
	plain, err := b.reloads(ctx, func(s *process.Server) load.Site { return s.Plain })
	if err != nil {
		return nil, err
	}
	gateway, err := b.reloads(ctx, func(s *process.Server) load.Site { return s.Gateway })
	if err != nil {
		return nil, err
	}
	return []line{
		{
			label: "goroutines more after 50 reloads under load", plain: signed(plain.goroutines),
			tollgate: signed(gateway.goroutines),
			aim:      fmt.Sprintf("<= +%d", moreGoroutines), met: gateway.goroutines <= moreGoroutines,
		},
		{
			label: "heap more after 50 reloads under load, KiB", plain: signed(plain.heap), tollgate: signed(gateway.heap),
			aim: fmt.Sprintf("<= +%d", moreHeap), met: gateway.heap <= moreHeap,
		},
		{
			label: "requests broken by 50 reloads", plain: strconv.Itoa(plain.broken), tollgate: strconv.Itoa(gateway.broken),
			aim: "0", met: gateway.broken == 0,
		},
		// Caddy closes the old listening socket together with the connections in its queue. No handler behind the
		// socket can prevent that.
		{
			label: "new connections not served during 50 reloads", plain: strconv.Itoa(plain.unanswered),
			tollgate: strconv.Itoa(gateway.unanswered),
		},
	}, nil
}

// aftermath is the state of the server after reloads.
type aftermath struct {
	goroutines, heap   float64 // the increases; heap is in KiB
	broken, unanswered int     // numbers of requests
}

// reloads measures the effect of reloads on one site of a new server.
func (b *bench) reloads(ctx context.Context, choose func(*process.Server) load.Site) (a aftermath, err error) {
	const (
		rest   = 1500 * time.Millisecond
		linger = 7 * time.Second // an old configuration remains for 5 s after its last request
	)
	s, err := b.serve(ctx)
	if err != nil {
		return a, err
	}
	defer s.Stop()
	site := choose(s)
	usage := &load.Load{Site: site, Request: site.Chat(mock.Chat(mock.Whole, false, 1<<10)), Check: mock.IsWhole, Conns: 4}
	if o := usage.Run(ctx, b.slice); o.Failure != nil { // the initial state includes the connections of a load
		return a, o.Failure
	}
	initial, err := remains(ctx, s, rest)
	if err != nil {
		return a, err
	}
	loadCtx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan *load.Outcome, 1)
	go func() { ended <- usage.Run(loadCtx, time.Hour) }()
	for range reloads {
		if err := s.Reload(ctx); err != nil {
			return a, err
		}
	}
	stop()
	got := <-ended
	final, err := remains(ctx, s, linger)
	if err != nil {
		return a, err
	}
	return aftermath{
		goroutines: final.goroutines - initial.goroutines, heap: final.heap - initial.heap,
		broken: got.Failed - got.Unanswered, unanswered: got.Unanswered,
	}, nil
}

// remainder holds the resources that an idle server uses.
type remainder struct {
	goroutines float64
	heap       float64 // in KiB
}

// remains waits for the given pause and returns the resources that the idle server uses after it.
func remains(ctx context.Context, s *process.Server, pause time.Duration) (r remainder, err error) {
	select {
	case <-time.After(pause):
	case <-ctx.Done():
		return r, ctx.Err()
	}
	used, err := s.Memory(ctx)
	if err != nil {
		return r, err
	}
	count, err := s.Goroutines(ctx)
	return remainder{float64(count), float64(used.Heap) / 1024}, err
}
