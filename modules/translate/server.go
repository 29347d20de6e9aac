package translate

import (
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/formats"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/modules/body"
)

// server describes the chat server behind this middleware. Its features are unknown, so requests contain only fields
// that every chat server understands.
var server = catalog.Provider{Code: "upstream", Name: "upstream", Shape: catalog.DefaultShape()}

// conversion is the result of converting the client's request.
type conversion struct {
	request *hub.Request
	body    []byte // of the chat completion
	dropped []string
	err     error
}

// convert reads the client's request and converts it to a chat completion. It does so only once; later calls return the
// same result.
func (t *translation) convert() *conversion {
	t.once.Do(func() {
		result := new(conversion)
		result.err = t.convertInto(result)
		t.conversion.Store(result)
	})
	return t.conversion.Load()
}

// failure returns the error of the conversion. It returns nil if the conversion succeeded or has not happened yet.
func (t *translation) failure() error {
	if result := t.conversion.Load(); result != nil {
		return result.err
	}
	return nil
}

// convertInto stores the converted request in result. The memory of the body is held until release is called.
func (t *translation) convertInto(result *conversion) error {
	text, lease, err := body.Read(t.client, t.Request, t.handler.memory, "")
	if err != nil {
		return err
	}
	lease.Keep() // the transport may convert after the request has ended
	t.hold(lease)
	request, err := t.Format.Read(text, t.options)
	if err != nil {
		return err
	}
	written, err := t.handler.writeChat(request)
	if err != nil {
		return err
	}
	result.request, result.body, result.dropped = request, written.Body, append(request.Dropped, written.Dropped...)
	return nil
}

// writeChat returns the request as a chat completion for the server.
func (h *Handler) writeChat(request *hub.Request) (hub.Written, error) {
	if request.OwnFormatError != nil {
		return hub.Written{}, request.OwnFormatError
	}
	model := catalog.Model{
		Provider: server.Code, ID: h.Model, Family: request.Model, Tools: true, JSONSchema: true, Prefill: true,
		Reasoning:  h.Reasoning,
		Modalities: []string{catalog.ModalityText, catalog.ModalityImage, catalog.ModalityFile, catalog.ModalityAudio},
	}
	if model.Reasoning {
		model.ReasoningEfforts = []string{"low", "medium", "high"}
	}
	if model.ID == "" {
		model.ID = request.Model
	}
	return formats.Chat().Write(request, &hub.Target{
		Provider: &server, Model: &model, Drop: server.Shape.Drop, MaxTokensField: server.Shape.MaxTokensField,
		StreamUsage: server.Shape.StreamUsage,
	})
}

// pass returns the translation of the server's answer into the client's format. complete means that the answer is not
// an event stream.
func (t *translation) pass(request *hub.Request, complete bool) hub.Pass {
	reply := hub.Reply{Created: time.Now(), Seal: func(s hub.State) string { return t.handler.sealer.Seal("", s) }}
	if t.Format.Facts().CountsFirst && request.Stream {
		reply.InputTokens = hub.CountTokens(request)
	}
	reader, newWriter := formats.Chat().NewReader(&server), t.Format.NewWriter
	if request.Stream && complete {
		return hub.Streamed(reader, newWriter(request, reply), newWriter(request, reply))
	}
	return hub.Translate(reader, newWriter(request, reply))
}
