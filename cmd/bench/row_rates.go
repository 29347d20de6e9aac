package main

import "context"

// wholeRow is a chat completion of 1 KB for a request of 1 KB.
func wholeRow(ctx context.Context, b *bench) ([]line, error) {
	return b.gatewayRow(ctx, "a", "chat of 1 KB", chat(askWhole, false, 1<<10), isWhole, 0.9)
}

// streamRow is a stream of 100 chunks: as a fast model server sends it, the
// same with padding that differs from chunk to chunk, and as a slow server
// sends it, chunk by chunk.
func streamRow(ctx context.Context, b *bench) ([]line, error) {
	var all []line
	for _, kind := range []struct{ name, what, ask string }{
		{"b-burst", "stream of 100 chunks at once", askBurst},
		{"b-padded", "stream of 100 chunks at once, padded", askPadded},
		{"b-flushed", "stream of 100 chunks, each flushed", askPaced},
	} {
		lines, err := b.gatewayRow(ctx, kind.name, kind.what, chat(kind.ask, true, 1<<10), isStream, 0.9)
		if err != nil {
			return all, err
		}
		all = append(all, lines...)
	}
	return all, nil
}

// largeRow is a long conversation with a short answer.
func largeRow(ctx context.Context, b *bench) ([]line, error) {
	return b.gatewayRow(ctx, "c", "request of 200 KB", chat(askWhole, false, 200<<10), isWhole, 0.8)
}

// gatewayRow compares the gateway with plain reverse_proxy on one request.
func (b *bench) gatewayRow(ctx context.Context, name, what, body string, check func(reply) error, aim float64) ([]line, error) {
	s, err := b.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	plain := &load{to: s.plain, request: s.plain.request(body), check: check, conns: conns}
	gateway := &load{to: s.gateway, request: s.gateway.request(body), check: check, conns: conns, settle: settle}
	p, err := b.compare(ctx, s, b.rounds, plain, gateway)
	if err != nil {
		return nil, err
	}
	if err := b.profile(ctx, s, plain, name+"-plain"); err != nil {
		return nil, err
	}
	return p.lines(what, aim), b.profile(ctx, s, gateway, name+"-tollgate")
}
