package main

import (
	"context"
	"fmt"
)

// guardRow is what api_auth and budget add to reverse_proxy, in CPU time.
func guardRow(ctx context.Context, b *bench) ([]line, error) {
	const aim = 10 // microseconds
	s, err := b.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	body := chat(askWhole, false, 1<<10)
	plain := &load{to: s.plain, request: s.plain.request(body), check: isWhole, conns: conns}
	guarded := &load{to: s.guarded, request: s.guarded.request(body), check: isWhole, conns: conns}
	// The difference of two times is much less sure than their ratio.
	p, err := b.compare(ctx, s, 2*b.rounds, plain, guarded)
	if err != nil {
		return nil, err
	}
	if err := b.profile(ctx, s, guarded, "d-guarded"); err != nil {
		return nil, err
	}
	more := p.difference(cpuOf)
	return []line{{
		what:  "auth + budget + reverse_proxy, server CPU µs a request",
		plain: number(medianOf(p.plain, cpuOf)), tollgate: number(medianOf(p.other, cpuOf)),
		ratio: signed(more), aim: fmt.Sprintf("<= +%d", aim), met: more <= aim,
	}}, nil
}
