package translate

import (
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/formats"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/modules/body"
)

// server describes the chat server behind this middleware. Nothing is known about it, so it only gets what every chat
// server understands.
var server = catalog.Provider{Code: "upstream", Name: "upstream", Shape: catalog.DefaultShape()}

// conversion is the result of converting the client's request.
type conversion struct {
	request *hub.Request
	body    []byte // of the chat completion
	dropped []string
	err     error
}

// convert reads the client's request and writes the chat completion. It does so once, for the first caller; others get
// the same result.
func (t *translation) convert() *conversion {
	t.once.Do(func() {
		result := new(conversion)
		result.err = t.write(result)
		t.conversion.Store(result)
	})
	return t.conversion.Load()
}

// failure returns the error of the conversion. It returns nil if it succeeded or has not happened yet.
func (t *translation) failure() error {
	if result := t.conversion.Load(); result != nil {
		return result.err
	}
	return nil
}

// write converts the request into result, and keeps the memory of the body until the end of the request.
func (t *translation) write(result *conversion) error {
	text, lease, err := body.Read(t.client, t.Request, t.handler.memory, "")
	if err != nil {
		return err
	}
	lease.Keep() // the transport may convert after the request has ended
	t.hold(lease)
	ask, err := t.Format.Read(text, t.options)
	if err != nil {
		return err
	}
	written, err := t.handler.write(ask)
	if err != nil {
		return err
	}
	result.request, result.body, result.dropped = ask, written.Body, append(ask.Dropped, written.Dropped...)
	return nil
}

// write writes a request for the server.
func (h *Handler) write(ask *hub.Request) (hub.Written, error) {
	if ask.OwnFormatError != nil {
		return hub.Written{}, ask.OwnFormatError
	}
	model := catalog.Model{
		Provider: server.Code, ID: h.Model, Family: ask.Model, Tools: true, JSONSchema: true, Prefill: true,
		Reasoning:  h.Reasoning,
		Modalities: []string{catalog.ModalityText, catalog.ModalityImage, catalog.ModalityFile, catalog.ModalityAudio},
	}
	if model.Reasoning {
		model.ReasoningEfforts = []string{"low", "medium", "high"}
	}
	if model.ID == "" {
		model.ID = ask.Model
	}
	return formats.Chat().Write(ask, &hub.Target{
		Provider: &server, Model: &model, Drop: server.Shape.Drop, MaxTokensField: server.Shape.MaxTokensField,
		StreamUsage: server.Shape.StreamUsage,
	})
}

// pass returns the translation of the server's answer into the client's format. whole means that the answer is not an
// event stream.
func (t *translation) pass(ask *hub.Request, complete bool) hub.Pass {
	reply := hub.Reply{Created: time.Now(), Seal: func(s hub.State) string { return t.handler.sealer.Seal("", s) }}
	if t.Format.Facts().CountsFirst && ask.Stream {
		reply.InputTokens = hub.CountTokens(ask)
	}
	from, to := formats.Chat().NewReader(&server), t.Format.NewWriter
	if ask.Stream && complete {
		return hub.Streamed(from, to(ask, reply), to(ask, reply))
	}
	return hub.Translate(from, to(ask, reply))
}
