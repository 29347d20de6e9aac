package translate

import (
	"bytes"
	"io"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/messages"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/responses"
	"github.com/tollgate-gateway/tollgate/modules/body"
)

// server is the chat server behind this middleware, about which nothing is known:
// it gets what any of them understands.
var server = catalog.Provider{Code: "upstream", Name: "upstream", Shape: catalog.DefaultShape()}

// convert reads the client's request and writes the chat completion.
func (t *translation) convert() (io.Reader, error) {
	text, lease, err := body.Read(t.original)
	if err != nil {
		return nil, err
	}
	defer lease.Give()
	ask, err := t.handler.read(text, t.original, t.format)
	if err != nil {
		return nil, err
	}
	model := catalog.Model{
		Provider: server.Code, ID: t.handler.Model, Family: ask.Model, Tools: true, JSONSchema: true, Prefill: true, Reasoning: t.handler.Reasoning,
		Modalities: []string{catalog.ModalityText, catalog.ModalityImage, catalog.ModalityFile, catalog.ModalityAudio},
	}
	if model.Reasoning {
		model.ReasoningEfforts = []string{"low", "medium", "high"}
	}
	if model.ID == "" {
		model.ID = ask.Model
	}
	written, err := chat.Write(ask, &hub.Target{
		Provider: &server, Model: &model, Drop: server.Shape.Drop, MaxTokensField: server.Shape.MaxTokensField, StreamUsage: server.Shape.StreamUsage,
	})
	if err != nil {
		return nil, err
	}
	t.request, t.dropped = ask, append(ask.Dropped, written.Dropped...)
	return bytes.NewReader(written.Body), nil
}

// pass carries the server's answer to the client.
func (t *translation) pass() hub.Pass {
	reply := hub.Reply{Created: time.Now(), Seal: func(s hub.State) string { return t.handler.sealer.Seal("", s) }}
	from := chat.NewReader("", false)
	if t.request.Format == hub.Responses {
		return hub.Translate(from, responses.NewWriter(t.request, reply))
	}
	if t.request.Stream {
		reply.InputTokens = hub.CountTokens(t.request)
	}
	return hub.Translate(from, messages.NewWriter(t.request, reply))
}
