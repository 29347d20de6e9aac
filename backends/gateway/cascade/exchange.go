package cascade

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/answeritems"
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat/native"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/embeddings"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/formats"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// exchange is the request in the form for one candidate, and the path of its answer to the client.
type exchange struct {
	url     string
	format  formats.Upstream
	header  map[string]string
	dropped []string
	pass    hub.Pass
	vectors *embeddings.Pass // in place of pass, where vectors were asked for

	// The body is either the client's own with changes (shaped) or one that was written.
	ask     *native.Request
	shape   *native.Shape
	shaped  *native.Shaped
	written []byte
}

// passed is the part of hub.Pass that vectors have too: it converts a whole answer for the client.
type passed interface {
	Whole(dst, body []byte) ([]byte, error)
	Usage() wire.Usage
	TextBytes() int64
}

// passed returns the pass of the answer, whether vectors or text were asked for.
func (x *exchange) passed() passed {
	if x.vectors != nil {
		return x.vectors
	}
	return x.pass
}

// size returns the length of the body in bytes.
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
	// Transports send small bodies in one write with the header if they know the type of the reader.
	if len(x.written) < minLetGo {
		return io.NopCloser(bytes.NewReader(x.written))
	}
	return &sent{left: x.written}
}

// sent is a large body on its way to an upstream. The transport holds the request until the answer is complete, but
// closes the body once it was sent, possibly while it still reads.
type sent struct {
	mu   sync.Mutex
	left []byte
}

// Read implements io.Reader.
func (s *sent) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.left)
	s.left = s.left[n:]
	return n, nil
}

// Close lets go of the bytes.
func (s *sent) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = nil
	return nil
}

// place moves what a provider wants elsewhere to its place: the id of the model into the address, and the provider's
// own members into a body that is not chat.
func (x *exchange) place(c *keychain.Candidate, stream bool) error {
	p := c.Provider
	if len(p.Paths) == 0 {
		return nil
	}
	wire := string(x.format.Facts().Name)
	if x.vectors != nil {
		wire = "embeddings"
	}
	x.url = p.ModelURL(x.url, wire, c.Model.ID, stream)
	if x.format == formats.Chat() {
		return nil
	}
	var err error
	for _, member := range slices.Sorted(maps.Keys(p.Body)) {
		if x.written, err = sjson.SetBytes(x.written, member, p.Body[member]); err != nil {
			return err
		}
	}
	if p.ModelInPath {
		x.written, err = sjson.DeleteBytes(x.written, "model")
	}
	return err
}

// sends reports whether the body has a parameter.
func (x *exchange) sends(param string) bool {
	if x.shaped != nil {
		return x.ask.Sends(x.shape, param)
	}
	return gjson.GetBytes(x.written, x.format.Param(param)).Exists()
}

// shape is the set of changes that a candidate needs.
type shape struct {
	native.Shape
	// onlyChat is set if the candidate does not speak the other formats after all.
	onlyChat bool
	// toolsClash is set if chat completions of the model refuse tools together with an effort.
	toolsClash bool
	// callIDMax is the longest id of a tool call, in characters, that chat completions take. 0 means any length that
	// the APIs allow.
	callIDMax int
}

// exchange prepares the request for a candidate. An error means that the candidate cannot carry the request.
func (r *run) exchange(c *keychain.Candidate, s *shape) (*exchange, error) {
	if r.req.Embed != nil {
		return r.embedding(c, s), nil
	}
	format := r.wire(c, s)
	if _, direct := format.(formats.Native); direct && r.req.Chat != nil && r.unchanged(c, s) {
		return r.identity(c, s), nil
	}
	h, err := r.hub()
	if err != nil {
		return nil, err
	}
	x := &exchange{format: format, url: format.URL(c.Provider, h.Needs)}
	target := &hub.Target{
		Provider: c.Provider, Model: c.Model, KeyID: r.req.KeyID, Drop: s.Drop, MaxTokensField: s.MaxTokensField,
		StreamUsage: s.StreamUsage, ToolCallIDMax: s.callIDMax, CacheMarks: !r.Options.NoCacheMarks,
	}
	reply := r.reply(c)
	target.State = reply.KeepItem != nil && c.Model.Reasoning
	if own, ok := format.(formats.Editor); ok && r.edits(c, format) {
		written, err := own.Edit(h, target, r.req.open)
		if err != nil {
			return nil, err
		}
		if len(own.Facts().Header) > 0 {
			x.header = r.req.Header
		}
		x.pass = own.NewPass(h, reply)
		x.written, x.dropped = written.Body, written.Dropped // what the reader left out is still in the client's own bytes
		return x, nil
	}
	if h.Own != nil {
		return nil, h.Own
	}
	written, err := format.Write(h, target)
	if err != nil {
		return nil, err
	}
	x.pass, x.header = hub.Translate(format.NewReader(c.Provider), r.writer(c, h, reply)), written.Header
	x.written, x.dropped = written.Body, slices.Concat(h.Dropped, written.Dropped)
	return x, nil
}

// edits reports whether a candidate that is asked in the given format gets the client's bytes with changes, rather than
// a new body.
func (r *run) edits(c *keychain.Candidate, format formats.Upstream) bool {
	return format == r.from && !r.emulates(c)
}

// streamed returns the path of a whole answer to a client that asked for a stream, for an upstream that did not stream.
// An error means that the answer cannot be sent as a stream.
func (r *run) streamed(c *keychain.Candidate, x *exchange) (hub.Pass, error) {
	if r.needs&wire.NeedChoices != 0 {
		return nil, errors.New("only the first of its choices could be streamed")
	}
	h, err := r.hub()
	if err != nil {
		return nil, err
	}
	reply := r.reply(c)
	check := reply
	check.KeepItem = nil // its ids are not those that the client gets
	return hub.Streamed(x.format.NewReader(c.Provider), r.writer(c, h, reply), r.writer(c, h, check)), nil
}

// identity returns the exchange between a chat client and a chat upstream that takes the client's bytes with small
// changes.
func (r *run) identity(c *keychain.Candidate, s *shape) *exchange {
	body := r.req.Chat.Shape(&s.Shape)
	if r.req.Chat.IncludeUsage {
		r.promptTokens()
	}
	return &exchange{
		url: r.from.URL(c.Provider, r.needs), format: r.from, dropped: body.Dropped,
		pass: chat.NewPass(r.req.Chat.Model, r.req.Chat.IncludeUsage, r.prompt),
		ask:  r.req.Chat, shape: &s.Shape, shaped: body,
	}
}

// wire returns the format in which a candidate is asked: the client's own if both speak it, else the one that loses
// least.
func (r *run) wire(c *keychain.Candidate, s *shape) formats.Upstream {
	p := c.Provider
	switch {
	case s.onlyChat, r.emulates(c) && p.PreferWire != catalog.WireMessages && p.PreferWire != catalog.WireConverse:
		return formats.Chat()
	case r.from != formats.Chat() && slices.Contains(p.Wires, string(r.from.Facts().Name)):
		if !p.NativeTools && slices.ContainsFunc(r.req.Hub.Tools, func(t hub.Tool) bool {
			return t.Kind != hub.ToolFunction || t.Namespace != ""
		}) {
			return formats.Chat()
		}
		return r.from
	}
	if other := r.toolsWire(c, s); other != nil {
		return other
	}
	if preferred, ok := formats.Of(hub.Format(p.PreferWire)); ok {
		return preferred
	}
	return formats.Chat()
}

// toolsWire returns the format for a request with function tools and an effort if chat completions of the candidate
// refuse the two together (specification 10). It returns nil if the request is not of this kind, if it has something
// that only chat can express, or if the provider speaks chat alone.
func (r *run) toolsWire(c *keychain.Candidate, s *shape) formats.Upstream {
	name := catalog.WireResponses
	if !s.toolsClash {
		if name = c.Provider.Shape.ToolsWithEffort; name == "" || !c.Model.Reasoning {
			return nil
		}
	}
	if s.onlyChat || !slices.Contains(c.Provider.Wires, name) || !r.toolsWithEffort(s) || r.onlyChat() {
		return nil
	}
	format, _ := formats.Of(hub.Format(name))
	return format
}

// toolsWithEffort reports whether the request has function tools and would be sent with an effort.
func (r *run) toolsWithEffort(s *shape) bool {
	var effort hub.Effort
	tools := r.needs&wire.NeedTools != 0
	switch {
	case r.req.Chat != nil:
		effort = hub.Effort(r.req.Chat.Effort)
	case r.req.Hub != nil:
		effort, tools = r.req.Hub.Effort, len(r.req.Hub.Tools) > 0
	}
	return tools && effort != "" && effort != hub.EffortNone && !slices.Contains(s.Drop, "reasoning_effort")
}

// onlyChat reports whether the request has something that only chat completions can express.
func (r *run) onlyChat() bool {
	return r.needs&(wire.NeedChoices|wire.NeedAudio) != 0 ||
		r.req.Chat != nil && r.req.Chat.Gives("logit_bias", "functions", "function_call", "modalities", "audio", "prediction",
			"web_search_options")
}

// unchanged reports whether a chat upstream takes a chat client's messages as they are.
func (r *run) unchanged(c *keychain.Candidate, wants *shape) bool {
	ask, s := r.req.Chat, &c.Provider.Shape
	calls := ask.Traits&native.TraitCalls != 0
	switch {
	case calls && (s.ToolCallID9 || s.EmptyToolContent != catalog.ContentKeep ||
		s.ReasoningState == catalog.StateThought || s.ReasoningState == catalog.StateContent),
		wants.callIDMax > 0 && ask.LongestCallID > wants.callIDMax,
		s.SystemFirst && ask.Traits&native.TraitLateSystem != 0,
		s.Alternation && ask.Traits&native.TraitRepeats != 0,
		ask.Traits&native.TraitStray != 0,
		(s.CallsAnswered || s.Alternation) && ask.Traits&native.TraitGaps != 0,
		s.SchemaSubset && ask.Needs&(wire.NeedTools|wire.NeedJSONSchema) != 0,
		r.emulates(c),
		ask.Needs&wire.NeedPrefill != 0 && (s.PrefillField != "" || s.PrefillBaseURL != ""):
		return false
	}
	return ask.Effort == "" || c.Custom ||
		(s.EffortField != catalog.EffortNested && slices.Contains(efforts(c), ask.Effort))
}

// emulates reports whether a candidate has to be told in words what its answer should be, because it does not support
// JSON schemas (specification 7.5).
func (r *run) emulates(c *keychain.Candidate) bool {
	return r.needs&wire.NeedJSONSchema != 0 && !c.Model.JSONSchema
}

// efforts returns the reasoning efforts that a candidate knows.
func efforts(c *keychain.Candidate) []string {
	switch {
	case !c.Model.Reasoning:
		return nil
	case c.Model.ReasoningEfforts != nil:
		return c.Model.ReasoningEfforts
	}
	return c.Provider.Shape.ReasoningEfforts
}

// hub returns the request in the common form. A chat request is converted on the first call.
func (r *run) hub() (*hub.Request, error) {
	if r.req.Hub == nil {
		h, err := chat.Format{}.Read(r.req.Chat.Body, hub.ReadOptions{Open: r.req.open, Recall: r.recall})
		if err != nil {
			return nil, fmt.Errorf("reading the request: %w", err)
		}
		r.req.Hub = h
		r.held = r.req.Chat.Lease // for the copy of the text that remains after the commit point
		r.held.Take()
	}
	return r.req.Hub, nil
}

// reply returns what the client's writer needs to know when c answers.
func (r *run) reply(c *keychain.Candidate) hub.Reply {
	if r.from.Facts().CountsFirst && r.stream {
		r.promptTokens()
	}
	reply := hub.Reply{Created: r.start, Now: r.Now, InputTokens: r.prompt}
	if r.from.Facts().Recalls {
		reply.Remember = r.remember(c)
	}
	if r.req.Hub != nil && r.req.Hub.Answer.Store {
		reply.KeepItem = r.keepItem()
	}
	if r.req.Sealer != nil {
		reply.Seal = func(s hub.State) string {
			s.Provider, s.Family = c.Provider.Code, c.Model.Family
			return r.req.Sealer.Seal(r.req.User, s)
		}
	}
	return reply
}

// keepItem returns the function that keeps the items of the answer, or nil if they are not kept.
func (r *run) keepItem() func(id string, text []byte) {
	kept := r.Options.AnswerItems
	if r.req.Stored == nil && (kept <= 0 || r.req.Items == nil) {
		return nil
	}
	return func(id string, text []byte) {
		if r.req.Stored == nil || !r.req.Stored.KeepItem(id, text) {
			r.req.Items.Keep(r.req.owner(), answeritems.Item{ID: id, Text: string(text)}, kept)
		}
	}
}

// remember returns a function that keeps the reasoning that a candidate gave before a call; recall finds it.
func (r *run) remember(c *keychain.Candidate) func(string, []hub.Reasoning) {
	return func(call string, reasoning []hub.Reasoning) {
		for i := range reasoning {
			reasoning[i].State.Provider, reasoning[i].State.Family = c.Provider.Code, c.Model.Family
		}
		r.Memory.Recall.Keep(r.req.User, call, reasoning)
	}
}

func (r *run) recall(call string) []hub.Reasoning { return r.Memory.Recall.Find(r.req.User, call) }

// writer returns the writer for the answer of a candidate in the client's format.
func (r *run) writer(c *keychain.Candidate, h *hub.Request, reply hub.Reply) hub.Writer {
	w := r.from.NewWriter(h, reply)
	if h.Output != nil && r.emulates(c) {
		return hub.Checked(w, h.Output)
	}
	return w
}
