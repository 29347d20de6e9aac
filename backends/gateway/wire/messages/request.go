package messages

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/fields"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// Read parses a request of POST /v1/messages. The errors are *apierror.Error with status 400 and the JSON path of the
// invalid field.
func (Format) Read(body []byte, o hub.ReadOptions) (*hub.Request, error) {
	return read(body, o, false)
}

// ReadCount parses a request of POST /v1/messages/count_tokens, in which max_tokens may be absent. The errors are those
// of Read.
func (Format) ReadCount(body []byte, o hub.ReadOptions) (*hub.Request, error) {
	return read(body, o, true)
}

const (
	// noSampling is the first version of the API without temperature, top_p and top_k and with strict rules for
	// content.
	noSampling = "2026-10-21"
	maxModel   = 512 // bytes
)

// reader is the state of reading a request.
type reader struct {
	options  hub.ReadOptions
	request  *hub.Request
	counting bool // the request only counts tokens
	strict   bool // the version is noSampling or later
	// top holds the top-level fields of the request, and message the fields of the message that is being read. block is
	// the block of this message that is being read, and inner is the block within that block.
	top, message fields.Object
	block, inner block
	turns        hub.Turns
	// thought is reasoning state that belongs to the message's next call (Gemini).
	thought *hub.State
	// lastTurnError is the error for a block that is not allowed in the last user turn. It is set until an assistant
	// message follows.
	lastTurnError error
	// served names the tools that run on the vendor's servers.
	served map[string]struct{}
	// temporary are the indexes of the system messages that apply only until the next user message. They are removed when
	// that message is read.
	temporary []int
}

// read parses a request. counting is set for a request to count tokens.
func read(body []byte, o hub.ReadOptions, counting bool) (*hub.Request, error) {
	if err := wire.CheckObject(body); err != nil {
		return nil, err
	}
	r := &reader{
		options:  o,
		request:  &hub.Request{Format: hub.Messages, Body: body, Answer: hub.Answer{Reasoning: true, State: true}},
		counting: counting,
		strict:   len(o.Version) == len(noSampling) && o.Version >= noSampling,
		top:      fields.Top(body),
	}
	// The other fields only tune the answer, or are unknown.
	r.request.DropOnce(r.top.Others("model", "max_tokens", "messages", "system", "stream", "stop_sequences", "temperature",
		"top_p", "top_k", "tools", "tool_choice", "thinking", "output_config", "output_format", "metadata", "cache_control",
		"service_tier", "mcp_servers", "container", "thread", "compaction")...)
	// Tools come before the messages, because calls in messages refer to tools.
	for _, step := range [...]func() error{
		r.basics, r.sampling, r.reasoning, r.format, r.rejectVendorFeatures, r.tools, r.choice, r.identity, r.system,
		r.conversation,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	r.request.SetNeeds()
	return r.request, nil
}

// basics reads the model, the stream flag, the token limit and the stop sequences.
func (r *reader) basics() (err error) {
	q := r.request
	model, limit, stop := r.top.Get("model"), r.top.Get("max_tokens"), r.top.Get("stop_sequences")
	if q.Model, err = model.Required(); err != nil {
		return err
	}
	if q.Model == "" || len(q.Model) > maxModel {
		return model.Invalid("must have 1 to %d bytes, it has %d", maxModel, len(q.Model))
	}
	if !limit.Given() && !r.counting {
		return limit.Missing()
	}
	if q.MaxTokens, err = limit.Integer(1); err != nil {
		return err
	}
	if q.Stream, err = r.top.Get("stream").Flag(); err != nil {
		return err
	}
	if !stop.Given() {
		return nil
	}
	return stop.Each(func(v fields.Value) error {
		text, err := name(v)
		q.Stop = append(q.Stop, text)
		return err
	})
}

// sampling reads temperature, top_p and top_k.
func (r *reader) sampling() error {
	for _, name := range [...]string{"temperature", "top_p", "top_k"} {
		v := r.top.Get(name)
		switch {
		case !v.Given():
			continue
		case r.strict:
			return v.Unsupported(
				"is not allowed with anthropic-version %s: leave it out, or send anthropic-version 2023-06-01", noSampling)
		case name == "top_k":
			if _, err := v.Integer(0); err != nil {
				return err
			}
		case v.Type != gjson.Number:
			return v.Wrong("a number")
		case v.Num < 0 || v.Num > 1:
			return v.Invalid("must be from 0 to 1")
		}
		r.request.AddParam(name, v.Raw)
	}
	return nil
}

// identity reads service_tier and metadata.user_id. Upstreams get a hash of the user id, which distinguishes users
// without naming them.
func (r *reader) identity() error {
	metadata, _, err := r.top.Optional("metadata")
	if err != nil {
		return err
	}
	id, err := metadata.Text("user_id")
	if err != nil {
		return err
	}
	if id != "" {
		sum := sha256.Sum256([]byte(id))
		r.request.AddParam("user", `"`+hex.EncodeToString(sum[:16])+`"`)
	}
	tier, err := r.top.Text("service_tier")
	switch {
	case err != nil:
		return err
	case tier == "auto":
		r.request.AddParam("service_tier", `"auto"`)
	case tier == "standard_only":
		r.request.AddParam("service_tier", `"default"`)
	case tier != "":
		r.request.DropOnce("service_tier")
	}
	return nil
}

// rejectVendorFeatures returns an error if the request uses a feature that only the vendor's own servers have.
func (r *reader) rejectVendorFeatures() error {
	if servers := r.top.Get("mcp_servers"); servers.Given() {
		if err := servers.Array(); err != nil {
			return err
		}
		if servers.Get("0").Exists() {
			r.request.RequireOwnFormat(servers.Unsupported(
				"is not supported: connect to MCP servers in the client and pass their tools in tools"))
		}
	}
	if container := r.top.Get("container"); container.Given() {
		return container.Unsupported("is not supported: leave it out")
	}
	if thread := r.top.Get("thread"); thread.Given() && thread.Type != gjson.False {
		// The vendor's SDKs know this code and continue without a thread.
		return hub.Fault("thread_unsupported_request", "thread",
			"is not supported: send the whole conversation with each request")
	}
	if compaction := r.top.Get("compaction"); compaction.Given() {
		if err := compaction.Object(); err != nil {
			return err
		}
		if !r.counting { // the tokens of a request for a summary can be counted, but an answer would be wrong
			r.request.RequireOwnFormat(compaction.Unsupported(
				"is not supported: leave it out, and ask for a summary in a message"))
		}
	}
	_, err := cacheMark(&r.top)
	return err
}

// system reads the field system and adds it as a system message.
func (r *reader) system() error {
	v := r.top.Get("system")
	if !v.Given() {
		return nil
	}
	parts, err := r.textParts(v, false)
	r.addSystem(parts)
	return err
}

// addSystem adds a system message with the given parts to the request.
func (r *reader) addSystem(parts []hub.Part) {
	if len(parts) > 0 {
		r.turns.Add(hub.Message{Role: hub.System, Parts: parts})
	}
}
