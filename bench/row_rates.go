package main

import (
	"context"

	"github.com/tollgate-gateway/tollgate/bench/load"
	"github.com/tollgate-gateway/tollgate/bench/mock"
)

// wholeRow measures a chat completion of 1 KB for a request of 1 KB.
func wholeRow(ctx context.Context, b *bench) ([]line, error) {
	return b.gatewayRow(ctx, "a", "chat of 1 KB", mock.Chat(mock.Whole, false, 1<<10), mock.IsWhole, 0.9)
}

// streamRow measures a stream of 100 chunks in three forms. The first is a stream as a fast model server sends it. The
// second is the same stream with padding that differs from chunk to chunk. In the third, each chunk is flushed, as a
// slow server sends it.
func streamRow(ctx context.Context, b *bench) ([]line, error) {
	var all []line
	for _, kind := range []struct{ name, label, ask string }{
		{"b-burst", "stream of 100 chunks at once", mock.Burst},
		{"b-padded", "stream of 100 chunks at once, padded", mock.Padded},
		{"b-flushed", "stream of 100 chunks, each flushed", mock.Paced},
	} {
		lines, err := b.gatewayRow(ctx, kind.name, kind.label, mock.Chat(kind.ask, true, 1<<10), mock.IsStream, 0.9)
		if err != nil {
			return all, err
		}
		all = append(all, lines...)
	}
	return all, nil
}

// largeRow measures a long conversation with a short answer.
func largeRow(ctx context.Context, b *bench) ([]line, error) {
	return b.gatewayRow(ctx, "c", "request of 200 KB", mock.Chat(mock.Whole, false, 200<<10), mock.IsWhole, 0.8)
}

// gatewayRow compares the gateway with plain reverse_proxy for one kind of request.
func (b *bench) gatewayRow(
	ctx context.Context, name, label, body string, check func(load.Reply) error, aim float64,
) ([]line, error) {
	s, err := b.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Stop()
	plain := &load.Load{Site: s.Plain, Request: s.Plain.Chat(body), Check: check, Conns: conns}
	gateway := &load.Load{Site: s.Gateway, Request: s.Gateway.Chat(body), Check: check, Conns: conns, Settle: settle}
	p, err := b.compare(ctx, s, b.rounds, plain, gateway)
	if err != nil {
		return nil, err
	}
	if err := b.profile(ctx, s, plain, name+"-plain"); err != nil {
		return nil, err
	}
	return p.lines(label, aim), b.profile(ctx, s, gateway, name+"-tollgate")
}
