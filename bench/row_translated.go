package main

import (
	"context"
	"fmt"

	"github.com/tollgate-gateway/tollgate/bench/load"
	"github.com/tollgate-gateway/tollgate/bench/mock"
	"github.com/tollgate-gateway/tollgate/bench/process"
)

// foreign are clients whose format differs from the format of the upstream.
var foreign = [...]struct {
	name, path string
	body       func(ask string) string
}{
	{"messages", "/v1/messages", func(ask string) string {
		return fmt.Sprintf(`{"model":%q,"stream":true,"max_tokens":256,"system":"You are helpful. %s","messages":[{"role":"user","content":%q}]}`, mock.Model, ask, mock.Prose(900))
	}},
	{"responses", "/v1/responses", func(ask string) string {
		return fmt.Sprintf(`{"model":%q,"stream":true,"store":false,"instructions":"You are helpful. %s","input":%q}`,
			mock.Model, ask, mock.Prose(900))
	}},
}

// translatedRow measures clients of the other two formats, whose streams the gateway translates. It compares them with
// a chat client of plain reverse_proxy that gets the same stream from the upstream.
func translatedRow(ctx context.Context, b *bench) ([]line, error) {
	s, err := b.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Stop()
	plain := &load.Load{
		Site: s.Plain, Request: s.Plain.Chat(mock.Chat(mock.Burst, true, 1<<10)), Check: mock.IsStream,
		Conns: conns,
	}
	var all []line
	for _, client := range foreign {
		gateway := &load.Load{
			Site: s.Gateway, Request: s.Gateway.Post(client.path, client.body(mock.Burst)),
			Check: mock.IsStream, Conns: conns, Settle: settle,
		}
		p, err := b.compare(ctx, s, b.rounds, plain, gateway)
		if err != nil {
			return all, err
		}
		if err := b.profile(ctx, s, gateway, "j-"+client.name); err != nil {
			return all, err
		}
		all = append(all, p.lines(client.name+" over a chat stream of 100 chunks", 0.75)...)
	}
	return all, nil
}

// translatedStreams is the number of translated streams that are held open.
const translatedStreams = 500

// translatedIdleRow measures the server's memory for a translated stream that is open and silent. The memory should not
// exceed the memory for a stream through reverse_proxy.
func translatedIdleRow(ctx context.Context, b *bench) ([]line, error) {
	plain, err := b.idle(ctx, "k-plain", translatedStreams, plainChat)
	if err != nil {
		return nil, err
	}
	var all []line
	for _, client := range foreign {
		got, err := b.idle(ctx, "k-"+client.name, translatedStreams, func(s *process.Server) (load.Site, []byte) {
			return s.Gateway, s.Gateway.Post(client.path, client.body(mock.Idle))
		})
		if err != nil {
			return all, err
		}
		inUse := beside("memory of an idle "+client.name+" stream over chat, KiB of heap and stacks", plain.inUse, got.inUse)
		inUse.aim, inUse.met = "<= plain", got.inUse <= plain.inUse
		all = append(all, inUse, beside("memory of an idle "+client.name+" stream over chat, KiB of stacks alone",
			plain.stack, got.stack))
	}
	return all, nil
}

// toolsRow measures the cost of a large request, as a coding client sends it, that the gateway has to translate. It
// compares this cost with that of a chat request through reverse_proxy.
func toolsRow(ctx context.Context, b *bench) ([]line, error) {
	s, err := b.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Stop()
	body := mock.Tooled(mock.Burst)
	lines, err := b.firstByte(ctx, fmt.Sprintf("messages request of %d KB with %d tools over chat, first byte, p50 in ms",
		len(body)>>10, mock.Tools), 1,
		s, s.Plain.Chat(body), s.Gateway.Post("/v1/messages", body))
	if err != nil {
		return nil, err
	}
	return lines, b.profile(ctx, s, &load.Load{
		Site: s.Gateway, Request: s.Gateway.Post("/v1/messages", body),
		Check: mock.IsStream, Conns: 1,
	}, "l-tools")
}
