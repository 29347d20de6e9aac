package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/bench/load"
	"github.com/tollgate-gateway/tollgate/bench/mock"
	"github.com/tollgate-gateway/tollgate/bench/process"
)

// idleStreams is the number of streams that are held open.
const idleStreams = 1000

// idleRow measures the server's memory for a stream that is open and silent.
func idleRow(ctx context.Context, b *bench) ([]line, error) {
	const aim = 48 // in KiB
	plain, err := b.idle(ctx, "e-plain", idleStreams, plainChat)
	if err != nil {
		return nil, err
	}
	gateway, err := b.idle(ctx, "e-tollgate", idleStreams, gatewayChat)
	if err != nil {
		return nil, err
	}
	inUse := beside("memory of an idle stream, KiB of heap and stacks", plain.inUse, gateway.inUse)
	inUse.aim, inUse.met = fmt.Sprintf("<= %d", aim), gateway.inUse <= aim
	return []line{
		inUse,
		beside("memory of an idle stream, KiB of stacks alone", plain.stack, gateway.stack),
		beside("memory of an idle stream, KiB resident", plain.resident, gateway.resident),
	}, nil
}

// ask is a function that returns a site of a server and a request for a stream.
type ask func(*process.Server) (site load.Site, request []byte)

// plainChat returns the site with plain reverse_proxy and a request for an idle stream.
func plainChat(s *process.Server) (load.Site, []byte) {
	return s.Plain, s.Plain.Chat(mock.Chat(mock.Idle, true, 1<<10))
}

// gatewayChat returns the site with the gateway and a request for an idle stream.
func gatewayChat(s *process.Server) (load.Site, []byte) {
	return s.Gateway, s.Gateway.Chat(mock.Chat(mock.Idle, true, 1<<10))
}

// footprint is the memory of one stream in KiB. The field resident is the memory that the process has obtained from the
// system. It may be less than inUse, because the process first uses the memory that was already free.
type footprint struct{ inUse, stack, resident float64 }

// idle opens streams on a new server and measures their memory.
func (b *bench) idle(ctx context.Context, name string, streams int, ask ask) (f footprint, err error) {
	s, err := b.serve(ctx)
	if err != nil {
		return f, err
	}
	defer s.Stop()
	site, request := ask(s)
	few, err := holdOpen(ctx, site, request, 20, 1) // the cost of the first streams is not counted
	few()
	if err != nil {
		return f, err
	}
	initialMemory, err := s.Memory(ctx)
	if err != nil {
		return f, err
	}
	initialResident, err := s.Resident()
	if err != nil {
		return f, err
	}
	many, err := holdOpen(ctx, site, request, streams, 1)
	defer many()
	if err != nil {
		return f, err
	}
	time.Sleep(500 * time.Millisecond) // wait until the last handlers are idle
	finalResident, err := s.Resident()
	if err != nil {
		return f, err
	}
	finalMemory, err := s.Memory(ctx)
	if err != nil {
		return f, err
	}
	if b.profiles != "" {
		for _, kind := range [...]string{"heap", "goroutine"} {
			if err := s.SaveProfile(ctx, kind, 0, filepath.Join(b.profiles, name+"."+kind)); err != nil {
				return f, err
			}
		}
	}
	share := func(bytes int64) float64 { return float64(bytes) / float64(streams) / 1024 }
	return footprint{
		inUse:    share(finalMemory.Heap + finalMemory.Stack - initialMemory.Heap - initialMemory.Stack),
		stack:    share(finalMemory.Stack - initialMemory.Stack),
		resident: share(finalResident - initialResident),
	}, nil
}

// holdOpen opens streams and reads a number of events from each. The streams stay open until closeAll is called. The
// function closeAll is never nil.
func holdOpen(ctx context.Context, site load.Site, request []byte, streams, events int) (closeAll func(), err error) {
	var (
		mu      sync.Mutex
		all     sync.WaitGroup
		clients = make([]*load.Client, streams)
		next    = make(chan int)
	)
	for range min(streams, conns) {
		all.Go(func() {
			for i := range next {
				clients[i] = &load.Client{Address: site.Address}
				if failed := clients[i].Hold(ctx, request, events); failed != nil {
					mu.Lock()
					err = fmt.Errorf("stream %d: %w", i+1, failed)
					mu.Unlock()
				}
			}
		})
	}
	for i := range clients {
		next <- i
	}
	close(next)
	all.Wait()
	return func() {
		for _, c := range clients {
			c.Close()
		}
	}, err
}
