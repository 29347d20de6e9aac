package main

import (
	"context"
	"fmt"
)

// translatedRow compares clients of the other two formats, whose streams the
// gateway translates, with a chat client of plain reverse_proxy on the same
// upstream stream.
func translatedRow(ctx context.Context, b *bench) ([]line, error) {
	s, err := b.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	plain := &load{to: s.plain, request: s.plain.request(chat(askBurst, true, 1<<10)), check: isStream, conns: conns}
	var all []line
	for _, client := range []struct{ name, path, body string }{
		{"messages", "/v1/messages", fmt.Sprintf(`{"model":%q,"stream":true,"max_tokens":256,"system":"You are helpful. %s","messages":[{"role":"user","content":%q}]}`,
			modelName, askBurst, prose(900))},
		{"responses", "/v1/responses", fmt.Sprintf(`{"model":%q,"stream":true,"store":false,"instructions":"You are helpful. %s","input":%q}`, modelName, askBurst, prose(900))},
	} {
		gateway := &load{to: s.gateway, request: s.gateway.post(client.path, client.body), check: isStream, conns: conns, settle: settle}
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
