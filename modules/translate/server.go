package translate

import (
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/formats"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/modules/body"
)

// server is the chat server behind this middleware, about which nothing is known:
// it gets what any of them understands.
var server = catalog.Provider{Code: "upstream", Name: "upstream", Shape: catalog.DefaultShape()}

// conversion is what became of the client's request.
type conversion struct {
	request *hub.Request
	body    []byte // of the chat completion
	dropped []string
	err     error
}

// convert reads the client's request and writes the chat completion, once, whoever
// asks first.
func (t *translation) convert() *conversion {
	t.once.Do(func() {
		made := new(conversion)
		made.err = t.write(made)
		t.made.Store(made)
	})
	return t.made.Load()
}

// failure is why the conversion failed; nil: it has not, so far.
func (t *translation) failure() error {
	if made := t.made.Load(); made != nil {
		return made.err
	}
	return nil
}

func (t *translation) write(made *conversion) error {
	text, lease, err := body.Read(t.client, t.Request, t.handler.memory, "")
	if err != nil {
		return err
	}
	lease.Keep() // the transport may convert behind the end of the request
	t.hold(lease)
	ask, err := t.Format.Read(text, t.handler.options(t.Request, t.Format))
	if err != nil {
		return err
	}
	written, err := t.handler.write(ask)
	if err != nil {
		return err
	}
	made.request, made.body, made.dropped = ask, written.Body, append(ask.Dropped, written.Dropped...)
	return nil
}

// write writes a request for the server.
func (h *Handler) write(ask *hub.Request) (hub.Written, error) {
	if ask.Own != nil {
		return hub.Written{}, ask.Own
	}
	model := catalog.Model{
		Provider: server.Code, ID: h.Model, Family: ask.Model, Tools: true, JSONSchema: true, Prefill: true, Reasoning: h.Reasoning,
		Modalities: []string{catalog.ModalityText, catalog.ModalityImage, catalog.ModalityFile, catalog.ModalityAudio},
	}
	if model.Reasoning {
		model.ReasoningEfforts = []string{"low", "medium", "high"}
	}
	if model.ID == "" {
		model.ID = ask.Model
	}
	return formats.Chat().Write(ask, &hub.Target{
		Provider: &server, Model: &model, Drop: server.Shape.Drop, MaxTokensField: server.Shape.MaxTokensField, StreamUsage: server.Shape.StreamUsage,
	})
}

// pass carries the server's answer to the client; whole: it is none of events.
func (t *translation) pass(ask *hub.Request, whole bool) hub.Pass {
	reply := hub.Reply{Created: time.Now(), Seal: func(s hub.State) string { return t.handler.sealer.Seal("", s) }}
	if t.Format.Facts().CountsFirst && ask.Stream {
		reply.InputTokens = hub.CountTokens(ask)
	}
	from, to := formats.Chat().NewReader(&server), t.Format.NewWriter
	if ask.Stream && whole {
		return hub.Streamed(from, to(ask, reply), to(ask, reply))
	}
	return hub.Translate(from, to(ask, reply))
}
