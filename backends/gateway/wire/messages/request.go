package messages

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
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
	// maxDropped limits the names of dropped fields that are recorded. The client sees at most 20 of them.
	maxDropped = 64
)

// reader is the state of reading a request.
type reader struct {
	options  hub.ReadOptions
	request  *hub.Request
	counting bool // the request only counts tokens
	strict   bool // the version is noSampling or later
	turns    hub.Turns
	// thought is reasoning state that belongs to the message's next call (Gemini).
	thought *hub.State
	// lastTurnError is the error for a block that is not allowed in the last user turn. It is set until an assistant
	// message follows.
	lastTurnError error
	// served names the tools that run on the vendor's servers.
	served map[string]struct{}
	// temporary are the indexes of the system messages that apply only until the next user message, which removes them.
	temporary []int
}

// fields are the values of the top-level fields that the reader evaluates. The method collect shows which JSON field
// each of them is.
type fields struct {
	model, maxTokens, messages, system, stream, stop gjson.Result
	temperature, topP, topK, tools, choice           gjson.Result
	thinking, output, format, metadata, cache        gjson.Result
	serviceTier, servers, container, thread          gjson.Result
	compaction                                       gjson.Result
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
	}
	var f fields
	jsontext.Members(gjson.ParseBytes(body), func(key string, v gjson.Result) bool {
		r.collect(&f, key, v)
		return true
	})
	if err := r.read(&f); err != nil {
		return nil, err
	}
	r.request.SetNeeds()
	return r.request, nil
}

// collect stores v, the value of the top-level field key, in f. It drops a field that the reader does not evaluate,
// unless the field is null.
func (r *reader) collect(f *fields, key string, v gjson.Result) {
	switch key {
	case "model":
		f.model = v
	case "max_tokens":
		f.maxTokens = v
	case "messages":
		f.messages = v
	case "system":
		f.system = v
	case "stream":
		f.stream = v
	case "stop_sequences":
		f.stop = v
	case "temperature":
		f.temperature = v
	case "top_p":
		f.topP = v
	case "top_k":
		f.topK = v
	case "tools":
		f.tools = v
	case "tool_choice":
		f.choice = v
	case "thinking":
		f.thinking = v
	case "output_config":
		f.output = v
	case "output_format":
		f.format = v
	case "metadata":
		f.metadata = v
	case "cache_control":
		f.cache = v
	case "service_tier":
		f.serviceTier = v
	case "mcp_servers":
		f.servers = v
	case "container":
		f.container = v
	case "thread":
		f.thread = v
	case "compaction":
		f.compaction = v
	default: // known members that only tune the answer, and unknown members
		if isPresent(v) {
			r.drop(listed(key))
		}
	}
}

// read evaluates the top-level fields. It reads the tools before the messages, because calls in messages refer to
// tools.
func (r *reader) read(f *fields) error {
	for _, step := range [...]func(*fields) error{
		r.top, r.sampling, r.reasoning, r.format, r.rejectVendorFeatures, r.tools, r.choice, r.identity, r.system,
		r.conversation,
	} {
		if err := step(f); err != nil {
			return err
		}
	}
	return nil
}

// top reads the model, the stream flag, the token limit and the stop sequences.
func (r *reader) top(f *fields) (err error) {
	q := r.request
	if q.Model, err = text(f.model, "model"); err != nil {
		return err
	}
	if q.Model == "" || len(q.Model) > maxModel {
		return invalid("model", "must have 1 to %d bytes, it has %d", maxModel, len(q.Model))
	}
	if isPresent(f.maxTokens) || !r.counting {
		if q.MaxTokens, err = integer(f.maxTokens, "max_tokens"); err != nil {
			return err
		}
		if q.MaxTokens < 1 {
			return invalid("max_tokens", "must be at least 1")
		}
	}
	if q.Stream, err = optionalBool(f.stream, "stream"); err != nil {
		return err
	}
	if !isPresent(f.stop) {
		return nil
	}
	return each(f.stop, "stop_sequences", func(v gjson.Result, path string) error {
		s, err := name(v, path)
		q.Stop = append(q.Stop, s)
		return err
	})
}

// sampling reads temperature, top_p and top_k.
func (r *reader) sampling(f *fields) error {
	for _, p := range [...]struct {
		name  string
		value gjson.Result
	}{{"temperature", f.temperature}, {"top_p", f.topP}, {"top_k", f.topK}} {
		if !isPresent(p.value) {
			continue
		}
		if r.strict {
			return unsupported(p.name,
				"is not allowed with anthropic-version %s: leave it out, or send anthropic-version 2023-06-01", noSampling)
		}
		if p.name == "top_k" {
			if n, err := integer(p.value, p.name); err != nil {
				return err
			} else if n < 0 {
				return invalid(p.name, "must not be negative")
			}
		} else if p.value.Type != gjson.Number {
			return wrongKind(p.name, "a number", p.value)
		} else if p.value.Num < 0 || p.value.Num > 1 {
			return invalid(p.name, "must be from 0 to 1")
		}
		r.param(p.name, p.value.Raw)
	}
	return nil
}

// identity reads service_tier and metadata.user_id. Upstreams get a hash of the user id.
func (r *reader) identity(f *fields) error {
	user, err := member(f.metadata, "metadata", "user_id")
	if err != nil {
		return err
	}
	id, err := optionalText(user, "metadata.user_id")
	if err != nil {
		return err
	}
	if id != "" { // the hash distinguishes users without naming them
		sum := sha256.Sum256([]byte(id))
		r.param("user", `"`+hex.EncodeToString(sum[:16])+`"`)
	}
	tier, err := optionalText(f.serviceTier, "service_tier")
	switch {
	case err != nil:
		return err
	case tier == "auto":
		r.param("service_tier", `"auto"`)
	case tier == "standard_only":
		r.param("service_tier", `"default"`)
	case tier != "":
		r.drop("service_tier")
	}
	return nil
}

// rejectVendorFeatures returns an error if the request uses a feature that only the vendor's own servers have.
func (r *reader) rejectVendorFeatures(f *fields) error {
	if isPresent(f.servers) {
		if !f.servers.IsArray() {
			return wrongKind("mcp_servers", "an array", f.servers)
		}
		if f.servers.Get("0").Exists() {
			r.requireOwnFormat(unsupported("mcp_servers",
				"is not supported: connect to MCP servers in the client and pass their tools in tools"))
		}
	}
	if isPresent(f.container) {
		return unsupported("container", "is not supported: leave it out")
	}
	if isPresent(f.thread) && f.thread.Type != gjson.False {
		// The vendor's SDKs know this code and continue without a thread.
		return hub.Fault("thread_unsupported_request", "thread",
			"is not supported: send the whole conversation with each request")
	}
	if ok, err := optionalObject(f.compaction, "compaction"); err != nil {
		return err
	} else if ok && !r.counting { // a count of the summary request is right, an answer would be wrong
		r.requireOwnFormat(unsupported("compaction", "is not supported: leave it out, and ask for a summary in a message"))
	}
	_, err := optionalObject(f.cache, "cache_control")
	return err
}

// system reads the field system and adds it as a system message.
func (r *reader) system(f *fields) error {
	if !isPresent(f.system) {
		return nil
	}
	parts, err := r.textParts(f.system, "system", false)
	r.addSystem(parts)
	return err
}

// addSystem adds a system message with the given parts to the request.
func (r *reader) addSystem(parts []hub.Part) {
	if len(parts) > 0 {
		r.turns.Add(hub.Message{Role: hub.System, Parts: parts})
	}
}

// requireOwnFormat records that only an upstream of the messages format can carry the request; such an upstream gets
// the client's bytes. err is the error for the client if there is no such upstream. Of several errors the first is
// kept.
func (r *reader) requireOwnFormat(err error) {
	r.request.Needs |= wire.NeedOwnFormat
	if r.request.OwnFormatError == nil {
		r.request.OwnFormatError = err
	}
}

// member returns the value of the field key of an object. path is the object's JSON path. The value is absent if the
// object is absent or null. It returns an error if the object is any other value that is not an object.
func member(object gjson.Result, path, key string) (gjson.Result, error) {
	ok, err := optionalObject(object, path)
	if !ok || err != nil {
		return gjson.Result{}, err
	}
	return object.Get(key), nil
}

// param adds a parameter of chat completions to the request. value is JSON text.
func (r *reader) param(name, value string) {
	r.request.Params = append(r.request.Params, hub.Param{Name: name, Value: value})
}

// drop records that the field at path is dropped. It records each path only once, and at most maxDropped paths.
func (r *reader) drop(path string) {
	if q := r.request; len(q.Dropped) < maxDropped && !slices.Contains(q.Dropped, path) {
		q.Drop(path)
	}
}

// listed returns a client's name in a form that a response header can list.
func listed(name string) string {
	return strings.Map(func(c rune) rune {
		if c > ' ' && c < 0x7f && c != ',' {
			return c
		}
		return '_'
	}, wire.Mask(name, 100))
}
