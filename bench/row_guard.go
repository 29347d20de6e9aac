package main

import (
	"context"
	"fmt"

	"github.com/tollgate-gateway/tollgate/bench/load"
	"github.com/tollgate-gateway/tollgate/bench/mock"
)

// guardRow measures the CPU time that api_auth and budget add to reverse_proxy.
func guardRow(ctx context.Context, b *bench) ([]line, error) {
	const aim = 10 // in microseconds
	s, err := b.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Stop()
	body := mock.Chat(mock.Whole, false, 1<<10)
	plain := &load.Load{Site: s.Plain, Request: s.Plain.Chat(body), Check: mock.IsWhole, Conns: conns}
	guarded := &load.Load{Site: s.Guarded, Request: s.Guarded.Chat(body), Check: mock.IsWhole, Conns: conns}
	// The difference of two times is much less certain than their ratio, so it needs twice as many rounds.
	p, err := b.compare(ctx, s, 2*b.rounds, plain, guarded)
	if err != nil {
		return nil, err
	}
	if err := b.profile(ctx, s, guarded, "d-guarded"); err != nil {
		return nil, err
	}
	more := p.difference(cpuOf)
	return []line{{
		label: "auth + budget + reverse_proxy, server CPU µs a request",
		plain: number(medianOf(p.plain, cpuOf)), tollgate: number(medianOf(p.other, cpuOf)),
		ratio: signed(more), aim: fmt.Sprintf("<= +%d", aim), met: more <= aim,
	}}, nil
}
