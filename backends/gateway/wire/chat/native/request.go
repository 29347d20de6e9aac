// Package native passes a chat client's request on to a chat upstream, and the answer back to the client. It parses
// request and answer once and edits them in place, so that all other bytes stay the same. Most requests of the gateway
// take this path.
//
// If client or upstream uses another format, package chat converts instead.
package native

import (
	"fmt"
	"sync"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Traits are properties of a request for which some candidates need a conversion by package chat.
type Traits uint8

// The traits of a request.
const (
	// TraitCalls means that a message of the request has tool calls.
	TraitCalls Traits = 1 << iota
	// TraitLateSystem means that a system or developer message comes after a message of another role.
	TraitLateSystem
	// TraitRepeats means that two adjacent messages have the same role other than "tool", or that the first message is
	// not a user message. System and developer messages are not counted.
	TraitRepeats
	// TraitRemoteImage means that an image URL is not a data URL.
	TraitRemoteImage
	// TraitGaps means that a tool call has no result although another message, or a result of another call of the same
	// message, follows.
	TraitGaps
	// TraitStray means that a tool result does not directly follow the message with its call, or that there were too
	// many calls to check this.
	TraitStray
)

// field is a top-level field of a request body.
type field struct {
	name   []byte
	key    int // offset of the key's opening quote
	keyEnd int // offset after its closing quote
	value  int // offset of the value
	end    int // offset after the value
	// foreign is set if no upstream may get the field, see wire.Foreign.
	foreign bool
}

// Request is a client's chat completions request: the JSON body, and the facts that the gateway needs to choose a
// candidate and to edit the body.
type Request struct {
	Body   []byte
	Model  string
	Stream bool
	// IncludeUsage is stream_options.include_usage.
	IncludeUsage bool
	// MaxTokens is the value of max_completion_tokens, or else of max_tokens. It is 0 if the request has neither.
	MaxTokens int64
	Needs     wire.Needs
	Traits    Traits
	// Effort is the value of reasoning_effort, or empty if the field is absent.
	Effort string
	// ToolChoiceRequired is set if tool_choice is the string "required".
	ToolChoiceRequired bool
	// LongestCallID is the length of the longest tool call id in the messages, in bytes.
	LongestCallID int
	// TextBytes is the number of bytes of text and tool definitions in the prompt.
	TextBytes int64
	// Messages is the number of messages. MediaTokens is the estimated number of tokens for the images, files and audio
	// in the messages.
	Messages    int
	MediaTokens int64
	// Lease counts the users of the memory of Body. The memory is reused when the last user has released it. A nil Lease
	// means that the memory is left to the garbage collector.
	Lease *wire.Lease

	fields     []field
	home       *[]field // memory of fields, from a pool
	developers []span   // role values that are "developer", including the quotes
	usage      span     // the value of stream_options.include_usage; empty if not given
	options    bool     // stream_options has members
	limit      int      // index of the field whose value is MaxTokens, if that is not 0
	calls      callTurn // used while the messages are read
	images     int      // number of images that were inspected
}

// Parse parses the JSON body of a request and validates all of it in one pass. Unknown fields are passed on, so that
// the upstream accepts or refuses them, except fields for which wire.Foreign returns true. A field that occurs twice is
// an error, since gateway and upstream could use different values. The errors are *apierror.Error with status 400 and
// the path of the invalid field.
func Parse(body []byte) (*Request, error) {
	r := &Request{Body: body, home: fieldLists.Get().(*[]field)}
	r.fields = (*r.home)[:0]
	s, err := wire.ScanObject(body)
	if err != nil {
		return nil, err
	}
	var sawModel, sawMessages bool
	err = s.Object(func(key []byte) error {
		if len(r.fields) == wire.MaxFields {
			return wire.TooManyFields()
		}
		for _, f := range r.fields {
			if string(f.name) == string(key) {
				return wire.DuplicateMember(key)
			}
		}
		kind := s.Kind() // before Offset, since it skips white space
		f := field{name: key, value: s.Offset()}
		var err error
		switch string(key) {
		case "model":
			sawModel = true
			err = r.model(&s, kind)
		case "messages":
			sawMessages = true
			err = r.messages(&s, kind)
		case "stream":
			r.Stream, err = boolean(&s, "stream", kind)
		case "stream_options":
			err = r.streamOptions(&s, kind)
		case "max_tokens", "max_completion_tokens":
			err = r.maxTokens(&s, string(key), kind)
		case "n":
			err = r.choices(&s, kind)
		case "reasoning_effort":
			err = r.effort(&s, kind)
		case "tools":
			err = r.tools(&s, kind)
		case "tool_choice":
			err = r.toolChoice(&s, kind)
		case "response_format":
			err = r.responseFormat(&s, kind)
		case "extra_body":
			f.foreign, err = wire.ForeignExtra(&s)
		default:
			f.foreign = wire.Foreign(wire.APIChat, key)
			err = s.Skip()
		}
		f.end = s.Offset()
		r.fields = append(r.fields, f)
		return err
	})
	switch err = wire.EndObject(&s, body, err); {
	case err != nil:
		return nil, err
	case !sawModel:
		return nil, wire.MissingField("model")
	case !sawMessages:
		return nil, wire.MissingField("messages")
	}
	r.keys()
	return r, nil
}

// Release gives up the memory of Body, which becomes nil. The facts about the request remain. Release may be called
// again, but the methods that read the body or its fields (Shape, Sends, Gives, Field) must not be called afterwards.
func (r *Request) Release() {
	if r.home == nil {
		return
	}
	clear(r.fields) // their names are parts of Body
	*r.home = r.fields[:0]
	fieldLists.Put(r.home)
	lease := r.Lease
	r.Body, r.fields, r.home, r.Lease = nil, nil, nil, nil
	lease.Give()
}

// fieldLists is the memory of Request.fields.
var fieldLists = sync.Pool{New: func() any { return new(make([]field, 0, 16)) }}

// keys sets the offsets key and keyEnd of each field. It relies on the scanner having accepted the body: before the key
// of a field there is only white space and a comma or brace.
func (r *Request) keys() {
	offset := 0
	for i := range r.fields {
		f := &r.fields[i]
		for r.Body[offset] != '"' {
			offset++
		}
		f.key = offset
		for offset++; r.Body[offset] != '"'; offset++ {
			if r.Body[offset] == '\\' {
				offset++
			}
		}
		f.keyEnd = offset + 1
		offset = f.end
	}
}

// boolean scans an optional boolean. It returns false for null. kind is the kind of the value, param its path.
func boolean(s *jsontext.Scanner, param string, kind jsontext.Kind) (bool, error) {
	if present, err := checkKind(s, param, "a boolean", kind, jsontext.Bool); !present {
		return false, err
	}
	return s.Bool()
}

// wrongKind scans a value of the wrong kind and returns the error with status 400 for it. If the value is not valid
// JSON, it returns the scanner's error instead. param is the path of the value, expectedName names the right kind (such
// as "a string"), and kind is the kind of the value.
func wrongKind(s *jsontext.Scanner, param, expectedName string, kind jsontext.Kind) error {
	if err := s.Skip(); err != nil {
		return err
	}
	return wire.InvalidField(param, "%s must be %s, it is %s", param, expectedName, kind)
}

// checkKind reports whether the value of an optional field has the expected kind. If it returns true, the caller must
// scan the value. If it returns false, checkKind has scanned the value: null counts as absent, and any other kind is
// an error. kind is the kind of the value. param and expectedName are the same as in wrongKind.
func checkKind(s *jsontext.Scanner, param, expectedName string, kind, expectedKind jsontext.Kind) (bool, error) {
	switch kind {
	case expectedKind:
		return true, nil
	case jsontext.Null:
		return false, s.Skip()
	default:
		return false, wrongKind(s, param, expectedName, kind)
	}
}

// Field returns the JSON text of the value of the top-level field with the given name, or nil if the field is absent.
func (r *Request) Field(name string) []byte {
	for i := range r.fields {
		if f := &r.fields[i]; string(f.name) == name {
			return r.Body[f.value:f.end]
		}
	}
	return nil
}

// model scans the field model.
func (r *Request) model(s *jsontext.Scanner, kind jsontext.Kind) error {
	if kind != jsontext.String {
		return wrongKind(s, "model", "a string", kind)
	}
	model, err := s.Unquoted()
	if err != nil {
		return err
	}
	if model == "" || len(model) > 512 {
		return wire.InvalidField("model", "model must have 1 to 512 bytes, it has %d", len(model))
	}
	r.Model = model
	return nil
}

// streamOptions scans the field stream_options.
func (r *Request) streamOptions(s *jsontext.Scanner, kind jsontext.Kind) error {
	if present, err := checkKind(s, "stream_options", "an object", kind, jsontext.Object); !present {
		return err
	}
	return s.Object(func(key []byte) error {
		r.options = true
		const member, param = "include_usage", "stream_options.include_usage"
		if wire.Lookalike(key, member) {
			return wire.InvalidField(param, "the field %q is spelled %q", param, key)
		}
		if string(key) != member {
			return s.Skip()
		}
		if !r.usage.empty() {
			return wire.InvalidField(param, "the field %q is given twice", param)
		}
		kind := s.Kind()
		start := s.Offset()
		var err error
		r.IncludeUsage, err = boolean(s, param, kind)
		r.usage = span{start, s.Offset()}
		return err
	})
}

// maxTokens scans the token limit in the field with the name param. max_completion_tokens takes precedence over
// max_tokens.
func (r *Request) maxTokens(s *jsontext.Scanner, param string, kind jsontext.Kind) error {
	if present, err := checkKind(s, param, "an integer", kind, jsontext.Number); !present {
		return err
	}
	n, ok, err := s.Int()
	if err != nil {
		return err
	}
	if !ok || n < 1 {
		return wire.InvalidField(param, "%s must be an integer of at least 1", param)
	}
	if param == "max_completion_tokens" || r.MaxTokens == 0 {
		r.MaxTokens, r.limit = n, len(r.fields)
	}
	return nil
}

// choices scans the field n, the number of choices in the answer.
func (r *Request) choices(s *jsontext.Scanner, kind jsontext.Kind) error {
	if present, err := checkKind(s, "n", "an integer", kind, jsontext.Number); !present {
		return err
	}
	n, ok, err := s.Int()
	if err != nil {
		return err
	}
	if !ok || n < 1 || n > 128 {
		return wire.InvalidField("n", "n must be an integer from 1 to 128")
	}
	if n > 1 {
		r.Needs |= wire.NeedChoices
	}
	return nil
}

// effort scans the field reasoning_effort.
func (r *Request) effort(s *jsontext.Scanner, kind jsontext.Kind) error {
	if present, err := checkKind(s, "reasoning_effort", "a string", kind, jsontext.String); !present {
		return err
	}
	raw, err := s.Word()
	r.Effort = string(raw)
	return err
}

// tools scans the field tools. The definitions count as text of the prompt.
func (r *Request) tools(s *jsontext.Scanner, kind jsontext.Kind) error {
	if present, err := checkKind(s, "tools", "an array", kind, jsontext.Array); !present {
		return err
	}
	return s.Array(func(i int) error {
		r.Needs |= wire.NeedTools
		if k := s.Kind(); k != jsontext.Object {
			return wrongKind(s, fmt.Sprintf("tools[%d]", i), "an object", k)
		}
		return r.count(s)
	})
}

// toolChoice scans the field tool_choice.
func (r *Request) toolChoice(s *jsontext.Scanner, kind jsontext.Kind) error {
	switch kind {
	case jsontext.String:
		choice, err := s.Unquoted()
		r.ToolChoiceRequired = choice == "required"
		return err
	case jsontext.Object, jsontext.Null:
		return s.Skip()
	default:
		return wrongKind(s, "tool_choice", "a string or an object", kind)
	}
}

// responseFormat scans the field response_format.
func (r *Request) responseFormat(s *jsontext.Scanner, kind jsontext.Kind) error {
	if present, err := checkKind(s, "response_format", "an object", kind, jsontext.Object); !present {
		return err
	}
	return s.Object(func(key []byte) error {
		if string(key) != "type" || s.Kind() != jsontext.String {
			return s.Skip()
		}
		format, err := s.Unquoted()
		if format == "json_schema" {
			r.Needs |= wire.NeedJSONSchema
		}
		return err
	})
}
