package cascade

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat/native"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/messages"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/responses"
)

// exchange is the request in the form of one candidate, and the way of its
// answer to the client.
type exchange struct {
	url     string
	format  hub.Format
	header  map[string]string
	dropped []string
	pass    hub.Pass

	// The body: the client's own with changes, or one that was written.
	ask     *native.Request
	shape   *native.Shape
	shaped  *native.Shaped
	written []byte
}

// size is the length of the body.
func (x *exchange) size() int64 {
	if x.shaped != nil {
		return x.shaped.Len()
	}
	return int64(len(x.written))
}

// open returns the body from its start. It must be closed.
func (x *exchange) open() io.ReadCloser {
	if x.shaped != nil {
		return x.shaped.Reader()
	}
	return io.NopCloser(bytes.NewReader(x.written))
}

// sends reports whether the body has a parameter.
func (x *exchange) sends(param string) bool {
	if x.shaped != nil {
		return x.ask.Sends(x.shape, param)
	}
	return gjson.GetBytes(x.written, nativePath(x.format, param)).Exists()
}

// shape is what a candidate wants changed.
type shape struct {
	native.Shape
	// onlyChat: the candidate does not speak the other formats after all.
	onlyChat bool
}

// exchange prepares the request for a candidate. An error means that it cannot
// carry the request.
func (r *run) exchange(c *keychain.Candidate, s *shape) (*exchange, error) {
	format := r.wire(c, s)
	if format == hub.Chat && r.req.Chat != nil && r.unchanged(c) {
		return r.identity(c, s), nil
	}
	h, err := r.hub()
	if err != nil {
		return nil, err
	}
	x := &exchange{format: format}
	target := &hub.Target{Provider: c.Provider, Model: c.Model, KeyID: r.req.KeyID, Drop: s.Drop, MaxTokensField: s.MaxTokensField, StreamUsage: s.StreamUsage}
	reply := r.reply(c)
	own := h.Format == format && format != hub.Chat && !r.emulates(c)
	var written hub.Written
	switch {
	case own && format == hub.Messages:
		written, err = messages.Edit(h, target, r.req.open)
		x.pass = messages.NewPass(h, reply)
	case own:
		written, err = responses.Edit(h, target, r.req.open)
		x.pass = responses.NewPass(h, reply)
	case format == hub.Messages:
		written, err = messages.Write(h, target)
	case format == hub.Responses:
		written, err = responses.Write(h, target)
	default:
		written, err = chat.Write(h, target)
	}
	if err != nil {
		return nil, err
	}
	if !own {
		x.pass = hub.Translate(newReader(format, c.Provider), r.writer(c, h, reply))
	}
	x.url = c.Provider.ChatURL()
	if h.Needs&wire.NeedPrefill != 0 {
		x.url = c.Provider.PrefillURL()
	}
	if format != hub.Chat {
		x.url, _ = c.Provider.WireURL(string(format))
	}
	x.header = written.Header
	if own && format == hub.Messages {
		x.header = r.req.Header
	}
	x.written, x.dropped = written.Body, written.Dropped
	if !own { // what the reader left out stands in the client's own bytes
		x.dropped = slices.Concat(h.Dropped, written.Dropped)
	}
	return x, nil
}

// streamed is the way of a whole answer to the client of a stream, of which an upstream
// takes no notice. An error means that it cannot be one.
func (r *run) streamed(c *keychain.Candidate, x *exchange) (hub.Pass, error) {
	if r.needs&wire.NeedChoices != 0 {
		return nil, errors.New("only the first of its choices could be streamed")
	}
	h, err := r.hub()
	if err != nil {
		return nil, err
	}
	reply := r.reply(c)
	return hub.Streamed(newReader(x.format, c.Provider), r.writer(c, h, reply), r.writer(c, h, reply)), nil
}

// nativePath is where a format has a parameter of chat completions.
func nativePath(format hub.Format, param string) string {
	switch {
	case format == hub.Responses && param == "verbosity":
		return "text.verbosity"
	case format == hub.Responses && param == "reasoning_effort":
		return "reasoning.effort"
	case format == hub.Messages && param == "reasoning_effort":
		return "output_config.effort"
	case format == hub.Messages && param == "parallel_tool_calls":
		return "tool_choice.disable_parallel_tool_use"
	}
	return param
}

// identity is the exchange of a chat client with a chat upstream that takes the
// client's bytes but for small changes.
func (r *run) identity(c *keychain.Candidate, s *shape) *exchange {
	body := r.req.Chat.Shape(&s.Shape)
	if r.req.Chat.IncludeUsage {
		r.promptTokens()
	}
	return &exchange{
		url: c.Provider.ChatURL(), format: hub.Chat, dropped: body.Dropped,
		pass: chat.NewPass(r.req.Chat.Model, r.req.Chat.IncludeUsage, r.prompt),
		ask:  r.req.Chat, shape: &s.Shape, shaped: body,
	}
}

// wire is the format in which a candidate is asked: the client's own where both
// speak it, else the one that loses least.
func (r *run) wire(c *keychain.Candidate, s *shape) hub.Format {
	p := c.Provider
	switch {
	case s.onlyChat, r.emulates(c) && p.PreferWire != catalog.WireMessages:
		return hub.Chat
	case r.format() != hub.Chat && slices.Contains(p.Wires, string(r.format())):
		if r.req.Hub.Format == hub.Responses && !p.NativeTools && slices.ContainsFunc(r.req.Hub.Tools, func(t hub.Tool) bool { return t.Kind != hub.ToolFunction || t.Namespace != "" }) {
			return hub.Chat
		}
		return r.format()
	case p.PreferWire != "":
		return hub.Format(p.PreferWire)
	}
	return hub.Chat
}

// unchanged reports whether a chat upstream takes a chat client's messages as
// they stand.
func (r *run) unchanged(c *keychain.Candidate) bool {
	ask, s := r.req.Chat, &c.Provider.Shape
	calls := ask.Traits&native.TraitCalls != 0
	switch {
	case calls && (s.ToolCallID9 || s.EmptyToolContent != catalog.ContentKeep || s.ReasoningState == catalog.StateThought || s.ReasoningState == catalog.StateContent),
		s.SystemFirst && ask.Traits&native.TraitLateSystem != 0,
		s.Alternation && ask.Traits&native.TraitRepeats != 0,
		ask.Traits&native.TraitStray != 0,
		(s.CallsAnswered || s.Alternation) && ask.Traits&native.TraitGaps != 0,
		s.SchemaSubset && ask.Needs&(wire.NeedTools|wire.NeedJSONSchema) != 0,
		r.emulates(c),
		ask.Needs&wire.NeedPrefill != 0 && (s.PrefillField != "" || s.PrefillBaseURL != ""):
		return false
	}
	return ask.Effort == "" || c.Custom || (s.EffortField != catalog.EffortNested && slices.Contains(efforts(c), ask.Effort))
}

// emulates reports whether a candidate has to be told in words what its answer should
// be, since it knows no JSON schemas (specification 7.5).
func (r *run) emulates(c *keychain.Candidate) bool {
	return r.needs&wire.NeedJSONSchema != 0 && !c.Model.JSONSchema
}

// efforts are those that a candidate knows.
func efforts(c *keychain.Candidate) []string {
	switch {
	case !c.Model.Reasoning:
		return nil
	case c.Model.ReasoningEfforts != nil:
		return c.Model.ReasoningEfforts
	}
	return c.Provider.Shape.ReasoningEfforts
}

// hub is the request in the common form.
func (r *run) hub() (*hub.Request, error) {
	if r.req.Hub == nil {
		h, err := chat.Read(r.req.Chat.Body, hub.ReadOptions{Open: r.req.open, Recall: r.recall})
		if err != nil {
			return nil, fmt.Errorf("reading the request: %w", err)
		}
		r.req.Hub = h
		r.held = r.req.Chat.Lease // for the copy of the text that stays behind the commit point
		r.held.Take()
	}
	return r.req.Hub, nil
}

// reply is what the client's writer needs to know when c answers.
func (r *run) reply(c *keychain.Candidate) hub.Reply {
	if r.format() == hub.Messages && r.stream {
		r.promptTokens()
	}
	reply := hub.Reply{Created: r.start, Now: r.Now, InputTokens: r.prompt}
	if r.format() == hub.Chat {
		reply.Remember = r.remember(c)
	}
	if r.req.Sealer != nil {
		reply.Seal = func(s hub.State) string {
			s.Provider, s.Family = c.Provider.Code, c.Model.Family
			return r.req.Sealer.Seal(r.req.User, s)
		}
	}
	return reply
}

// remember keeps the reasoning of a candidate before a call, recall finds it.
func (r *run) remember(c *keychain.Candidate) func(string, []hub.Reasoning) {
	return func(call string, reasoning []hub.Reasoning) {
		for i := range reasoning {
			reasoning[i].State.Provider, reasoning[i].State.Family = c.Provider.Code, c.Model.Family
		}
		r.Memory.Recall.Keep(r.req.User, call, reasoning)
	}
}

func (r *run) recall(call string) []hub.Reasoning { return r.Memory.Recall.Find(r.req.User, call) }

// open opens a token of the client.
func (r *Request) open(token string) (hub.State, bool) {
	if r.Sealer == nil {
		return hub.State{}, false
	}
	return r.Sealer.Open(r.User, token)
}

// newReader reads the answer of a provider that is asked in a format.
func newReader(format hub.Format, p *catalog.Provider) hub.Reader {
	switch format {
	case hub.Messages:
		return messages.NewReader()
	case hub.Responses:
		return responses.NewReader()
	case hub.Chat:
	}
	return chat.NewReader(stateForm(p), p.Shape.ThinkTags)
}

// writer writes the answer of a candidate in the client's format.
func (r *run) writer(c *keychain.Candidate, h *hub.Request, reply hub.Reply) hub.Writer {
	w := newWriter(h, reply)
	if h.Output != nil && r.emulates(c) {
		return hub.Checked(w, h.Output)
	}
	return w
}

// newWriter writes in the client's format.
func newWriter(h *hub.Request, reply hub.Reply) hub.Writer {
	switch h.Format {
	case hub.Messages:
		return messages.NewWriter(h, reply)
	case hub.Responses:
		return responses.NewWriter(h, reply)
	case hub.Chat:
	}
	return chat.NewWriter(h, reply)
}

// stateForm is the form in which a provider's chat answers carry reasoning state.
func stateForm(p *catalog.Provider) hub.Form {
	switch p.Shape.ReasoningState {
	case catalog.StateThought:
		return hub.FormThought
	case catalog.StateDetails:
		return hub.FormDetails
	}
	return ""
}
