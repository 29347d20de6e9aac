package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/bench/load"
	"github.com/tollgate-gateway/tollgate/bench/mock"
	"github.com/tollgate-gateway/tollgate/bench/process"
)

// firstByteRow measures the time from a request to the first byte of its stream. The server is otherwise idle, and the
// two sides take turns.
func firstByteRow(ctx context.Context, b *bench) ([]line, error) {
	s, err := b.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Stop()
	body := mock.Chat(mock.Burst, true, 1<<10)
	return b.firstByte(ctx, "time to the first byte, p50 in ms, one client",
		0.3, s, s.Plain.Chat(body), s.Gateway.Chat(body))
}

// firstByte compares plain reverse_proxy with the gateway. The gateway should add at most aim milliseconds.
func (b *bench) firstByte(
	ctx context.Context, label string, aim float64, s *process.Server, plain, gateway []byte,
) ([]line, error) {
	sides := [2]load.Site{s.Plain, s.Gateway}
	requests := [2][]byte{plain, gateway}
	var (
		clients [2]*load.Client
		times   [2][]time.Duration
	)
	for i, site := range sides {
		clients[i] = &load.Client{Address: site.Address}
		defer clients[i].Close()
	}
	const first = 20 // the first requests of each side are not counted
	began := time.Now()
	for n := 0; n < 100+first || time.Since(began) < b.slice; n++ {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for i := range sides {
			took, got, err := clients[i].FirstByte(ctx, requests[i])
			if err == nil {
				err = mock.IsStream(got)
			}
			if err != nil {
				return nil, err
			}
			if n >= first {
				times[i] = append(times[i], took)
			}
		}
	}
	var middle [2]float64 // in milliseconds
	for i := range times {
		slices.Sort(times[i])
		middle[i] = float64(times[i][len(times[i])/2].Microseconds()) / 1000
	}
	more := middle[1] - middle[0]
	return []line{{
		label: label,
		plain: number(middle[0]), tollgate: number(middle[1]),
		ratio: signed(more), aim: fmt.Sprintf("<= +%.1f", aim), met: more <= aim,
	}}, nil
}
