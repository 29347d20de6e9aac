package main

import (
	"context"
	"fmt"
	"strconv"
)

// eventsRow is how much the heap holds more after a million events of one
// stream than after a few of another; both are open when it is measured.
func eventsRow(ctx context.Context, b *bench) ([]line, error) {
	const (
		few  = 20_000
		many = 1_000_000
		aim  = 256 // KiB
	)
	s, err := b.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	var growth [2]float64 // KiB
	for i, to := range []site{s.plain, s.gateway} {
		var heap [2]int64
		for j, events := range []int{few, many} {
			request := to.request(chat(askFlood+strconv.Itoa(events), true, 1<<10))
			closeAll, err := holdOpen(ctx, to, request, 1, events)
			if err != nil {
				closeAll()
				return nil, err
			}
			used, err := s.memory(ctx)
			closeAll()
			if err != nil {
				return nil, err
			}
			heap[j] = used.heap
		}
		growth[i] = float64(heap[1]-heap[0]) / 1024
	}
	return []line{{
		what:  "growth of the heap over 1,000,000 events of a stream, KiB",
		plain: number(growth[0]), tollgate: number(growth[1]),
		ratio: signed(growth[1] - growth[0]), aim: fmt.Sprintf("<= %d", aim), met: growth[1] <= aim,
	}}, nil
}
