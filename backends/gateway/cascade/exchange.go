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

// exchange is the request written for one candidate, and the conversion of its answer for the client.
type exchange struct {
	url     string
	format  formats.Upstream
	header  map[string]string
	dropped []string
	pass    hub.Pass
	vectors *embeddings.Pass // used instead of pass for a request for vectors

	// The body is either the client's own with changes (chatRequest, shape and shaped), or a newly written one (written).
	chatRequest *native.Request
	shape       *native.Shape
	shaped      *native.Shaped
	written     []byte
}

// answerPass is the part of hub.Pass that embeddings.Pass has too. It converts a whole answer for the client.
type answerPass interface {
	Whole(dst, body []byte) ([]byte, error)
	Usage() wire.Usage
	TextBytes() int64
}

// answerPass returns the pass that converts the answer, be it vectors or text.
func (x *exchange) answerPass() answerPass {
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

// open returns a reader at the start of the body. The caller must close it.
func (x *exchange) open() io.ReadCloser {
	if x.shaped != nil {
		return x.shaped.Reader()
	}
	// Transports send a small body in one write with the header if they know the reader's type.
	if len(x.written) < minReleased {
		return io.NopCloser(bytes.NewReader(x.written))
	}
	return &largeBody{unread: x.written}
}

// largeBody is a large body on its way to an upstream. The transport keeps the request until the answer is complete,
// but closes the body once it was sent. Close therefore drops the bytes. It may be called during a Read.
type largeBody struct {
	mu     sync.Mutex
	unread []byte
}

// Read implements io.Reader.
func (s *largeBody) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.unread) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.unread)
	s.unread = s.unread[n:]
	return n, nil
}

// Close drops the bytes, so that their memory can be reused.
func (s *largeBody) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unread = nil
	return nil
}

// applyPaths adapts the address and the body for a provider whose paths in the catalog replace the usual ones. For any
// other provider it changes nothing. A body that is not in the chat format also gets the JSON fields that the catalog
// adds for the provider, and loses its field "model" if the address has the model's id. The error says that the body
// could not be changed.
func (x *exchange) applyPaths(c *keychain.Candidate, stream bool) error {
	p := c.Provider
	if len(p.Paths) == 0 {
		return nil
	}
	wireName := string(x.format.Facts().Name)
	if x.vectors != nil {
		wireName = "embeddings"
	}
	x.url = p.ModelURL(x.url, wireName, c.Model.ID, stream)
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
		return x.chatRequest.Sends(x.shape, param)
	}
	return gjson.GetBytes(x.written, x.format.Param(param)).Exists()
}

// shape is the set of changes that a candidate needs in the request.
type shape struct {
	native.Shape
	// onlyChat is set if the candidate supports only chat completions, contrary to the catalog.
	onlyChat bool
	// toolsClash is set if the model's chat completions refuse tools together with a reasoning effort.
	toolsClash bool
	// callIDMax is the longest tool call id, in characters, that chat completions accept. 0 means any length that the
	// APIs allow.
	callIDMax int
}

// exchange prepares the request for a candidate. An error means that the candidate cannot carry the request.
func (r *run) exchange(c *keychain.Candidate, s *shape) (*exchange, error) {
	if r.req.Embed != nil {
		return r.embedding(c, s), nil
	}
	format := r.chooseFormat(c, s)
	if _, isNative := format.(formats.Native); isNative && r.req.Chat != nil && r.acceptsUnchanged(c, s) {
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
	target.State = reply.KeepItem != nil && c.Model.Reasoning // stored items should have the state of reasoning
	if editor, ok := format.(formats.Editor); ok && r.keepsClientBytes(c, format) {
		written, err := editor.Edit(h, target, r.req.open)
		if err != nil {
			return nil, err
		}
		if len(editor.Facts().Header) > 0 {
			x.header = r.req.Header
		}
		x.pass = editor.NewPass(h, reply)
		x.written, x.dropped = written.Body, written.Dropped // the client's bytes still have the reader's dropped fields
		return x, nil
	}
	if h.OwnFormatError != nil {
		return nil, h.OwnFormatError
	}
	written, err := format.Write(h, target)
	if err != nil {
		return nil, err
	}
	x.pass, x.header = hub.Translate(format.NewReader(c.Provider), r.writer(c, h, reply)), written.Header
	x.written, x.dropped = written.Body, slices.Concat(h.Dropped, written.Dropped)
	return x, nil
}

// keepsClientBytes reports whether a candidate gets the client's bytes with changes, rather than a new body. format is
// the format in which the candidate is asked.
func (r *run) keepsClientBytes(c *keychain.Candidate, format formats.Upstream) bool {
	return format == r.clientFormat && !r.emulatesSchema(c)
}

// streamed returns a pass that converts a whole answer to a stream, for a client that asked for a stream and an
// upstream that did not stream. It returns an error if the answer cannot be sent as a stream.
func (r *run) streamed(c *keychain.Candidate, x *exchange) (hub.Pass, error) {
	if r.needs&wire.NeedChoices != 0 {
		return nil, errors.New("a stream would have only the first of its choices")
	}
	h, err := r.hub()
	if err != nil {
		return nil, err
	}
	reply := r.reply(c)
	check := reply
	check.KeepItem = nil // the check makes other ids than the client's
	return hub.Streamed(x.format.NewReader(c.Provider), r.writer(c, h, reply), r.writer(c, h, check)), nil
}

// identity returns the exchange between a chat client and a chat upstream that gets the client's bytes with small
// changes.
func (r *run) identity(c *keychain.Candidate, s *shape) *exchange {
	body := r.req.Chat.Shape(&s.Shape)
	if r.req.Chat.IncludeUsage {
		r.promptTokens()
	}
	return &exchange{
		url: r.clientFormat.URL(c.Provider, r.needs), format: r.clientFormat, dropped: body.Dropped,
		pass:        chat.NewPass(r.req.Chat.Model, r.req.Chat.IncludeUsage, r.estimatedTokens),
		chatRequest: r.req.Chat, shape: &s.Shape, shaped: body,
	}
}

// chooseFormat returns the format in which a candidate is asked: the client's own format if the provider supports it,
// else the format that loses least.
func (r *run) chooseFormat(c *keychain.Candidate, s *shape) formats.Upstream {
	p := c.Provider
	switch {
	case s.onlyChat, r.emulatesSchema(c) && p.PreferWire != catalog.WireMessages && p.PreferWire != catalog.WireConverse:
		return formats.Chat()
	case r.clientFormat != formats.Chat() && slices.Contains(p.Wires, string(r.clientFormat.Facts().Name)):
		if !p.NativeTools && slices.ContainsFunc(r.req.Hub.Tools, func(t hub.Tool) bool {
			return t.Kind != hub.ToolFunction || t.Namespace != ""
		}) {
			return formats.Chat() // this provider's own format has functions only, see Provider.NativeTools
		}
		return r.clientFormat
	}
	if format := r.toolsWire(c, s); format != nil {
		return format
	}
	if preferred, ok := formats.Of(hub.Format(p.PreferWire)); ok {
		return preferred
	}
	return formats.Chat()
}

// toolsWire returns the format in which to ask a candidate whose chat completions refuse function tools together with
// a reasoning effort. It returns nil if the request does not have both, if only chat can express the request, or if
// the provider does not support the other format.
func (r *run) toolsWire(c *keychain.Candidate, s *shape) formats.Upstream {
	name := c.Provider.Shape.ToolsWithEffort
	switch {
	case s.toolsClash: // learned from a refusal
		name = catalog.WireResponses
	case name == "" || !c.Model.Reasoning:
		return nil
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

// acceptsUnchanged reports whether a chat upstream accepts a chat client's messages unchanged. Each condition
// combines a demand of the candidate's shape with a trait of the messages. If both are present, the messages would
// have to be changed.
func (r *run) acceptsUnchanged(c *keychain.Candidate, changes *shape) bool {
	ask, s := r.req.Chat, &c.Provider.Shape
	has := func(trait native.Traits) bool { return ask.Traits&trait != 0 }
	changesCalls := has(native.TraitCalls) && (s.ToolCallID9 || s.EmptyToolContent != catalog.ContentKeep ||
		s.ReasoningState == catalog.StateThought || s.ReasoningState == catalog.StateContent) ||
		changes.callIDMax > 0 && ask.LongestCallID > changes.callIDMax
	changesOrder := s.SystemFirst && has(native.TraitLateSystem) || s.Alternation && has(native.TraitRepeats) ||
		has(native.TraitStray) || (s.CallsAnswered || s.Alternation) && has(native.TraitGaps)
	changesSchemas := s.SchemaSubset && ask.Needs&(wire.NeedTools|wire.NeedJSONSchema) != 0 || r.emulatesSchema(c)
	changesPrefill := ask.Needs&wire.NeedPrefill != 0 && (s.PrefillField != "" || s.PrefillBaseURL != "")
	if changesCalls || changesOrder || changesSchemas || changesPrefill {
		return false
	}
	return ask.Effort == "" || c.Custom ||
		(s.EffortField != catalog.EffortNested && slices.Contains(c.Efforts(), ask.Effort))
}

// emulatesSchema reports whether the JSON schema of the answer must be described to a candidate in the prompt, because
// the candidate does not support JSON schemas.
func (r *run) emulatesSchema(c *keychain.Candidate) bool {
	return r.needs&wire.NeedJSONSchema != 0 && !c.Model.JSONSchema
}

// hub returns the request in the common form. A chat request is converted on the first call, and the error says that it
// could not be converted.
func (r *run) hub() (*hub.Request, error) {
	if r.req.Hub == nil {
		h, err := chat.Format{}.Read(r.req.Chat.Body, hub.ReadOptions{Open: r.req.open, Recall: r.recall})
		if err != nil {
			return nil, fmt.Errorf("reading the request: %w", err)
		}
		r.req.Hub = h
		r.chatLease = r.req.Chat.Lease // req.Hub refers to the text of the body, even after the commit point
		r.chatLease.Take()
	}
	return r.req.Hub, nil
}

// reply returns the settings with which the client's writer writes an answer of c.
func (r *run) reply(c *keychain.Candidate) hub.Reply {
	if r.clientFormat.Facts().CountsFirst && r.stream {
		r.promptTokens()
	}
	reply := hub.Reply{Created: r.start, Now: r.Now, InputTokens: r.estimatedTokens}
	if r.clientFormat.Facts().Recalls {
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

// keepItem returns the function that stores the items of the answer, or nil if they are not to be stored. An item is
// stored with the response if that is stored, and otherwise alone. Items.Keep does nothing if items are not kept.
func (r *run) keepItem() func(id string, text []byte) {
	lifetime := r.Options.AnswerItems
	if r.req.Stored == nil && (lifetime <= 0 || r.req.Items == nil) {
		return nil
	}
	return func(id string, text []byte) {
		if r.req.Stored == nil || !r.req.Stored.KeepItem(id, text) {
			r.req.Items.Keep(r.req.owner(), answeritems.Item{ID: id, Text: string(text)}, lifetime)
		}
	}
}

// remember returns a function that stores the reasoning that precedes a tool call in c's answer. recall finds it by the
// call's id.
func (r *run) remember(c *keychain.Candidate) func(string, []hub.Reasoning) {
	return func(call string, reasoning []hub.Reasoning) {
		for i := range reasoning {
			reasoning[i].State.Provider, reasoning[i].State.Family = c.Provider.Code, c.Model.Family
		}
		r.Memory.Recall.Keep(r.req.User, call, reasoning)
	}
}

// recall returns the reasoning that remember stored for the tool call with the id callID, or nil if there is none.
func (r *run) recall(callID string) []hub.Reasoning { return r.Memory.Recall.Find(r.req.User, callID) }

// writer returns the writer for the answer of a candidate in the client's format.
func (r *run) writer(c *keychain.Candidate, h *hub.Request, reply hub.Reply) hub.Writer {
	w := r.clientFormat.NewWriter(h, reply)
	if h.Output != nil && r.emulatesSchema(c) {
		return hub.Checked(w, h.Output)
	}
	return w
}
