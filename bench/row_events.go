package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/tollgate-gateway/tollgate/bench/load"
	"github.com/tollgate-gateway/tollgate/bench/mock"
)

// eventsRow compares the heap after a million events of one stream with the heap after a few events of another stream.
// Each stream is still open when the heap is measured.
func eventsRow(ctx context.Context, b *bench) ([]line, error) {
	const (
		few  = 20_000
		many = 1_000_000
		aim  = 256 // in KiB
	)
	s, err := b.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Stop()
	var growth [2]float64 // in KiB
	for i, site := range []load.Site{s.Plain, s.Gateway} {
		var heap [2]int64
		for j, events := range []int{few, many} {
			request := site.Chat(mock.Chat(mock.Flood+strconv.Itoa(events), true, 1<<10))
			closeAll, err := holdOpen(ctx, site, request, 1, events)
			if err != nil {
				closeAll()
				return nil, err
			}
			used, err := s.Memory(ctx)
			closeAll()
			if err != nil {
				return nil, err
			}
			heap[j] = used.Heap
		}
		growth[i] = float64(heap[1]-heap[0]) / 1024
	}
	return []line{{
		label: "growth of the heap over 1,000,000 events of a stream, KiB",
		plain: number(growth[0]), tollgate: number(growth[1]),
		ratio: signed(growth[1] - growth[0]), aim: fmt.Sprintf("<= %d", aim), met: growth[1] <= aim,
	}}, nil
}
