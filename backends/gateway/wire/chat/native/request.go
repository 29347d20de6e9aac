// Package native passes a chat client's request on to a chat upstream, and the answer back. Both are parsed once and
// edited in place, so that all other bytes are kept. This is the most used path of the gateway.
//
// If client or upstream uses another format, package chat translates.
package native

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Traits are properties of a request that some candidates do not accept unchanged.
type Traits uint8

// The traits.
const (
	// TraitCalls means that the history has tool calls.
	TraitCalls Traits = 1 << iota
	// TraitLateSystem means that a system message comes after another turn.
	TraitLateSystem
	// TraitRepeats means that two adjacent turns have the same role, or that the first turn is not the user's.
	TraitRepeats
	// TraitRemoteImage means that an image URL is not a data URL.
	TraitRemoteImage
	// TraitGaps means that a call has no result although later messages follow.
	TraitGaps
	// TraitStray means that a tool result does not directly follow the message with its call, or that this was not
	// checked.
	TraitStray
)

// field is a top-level member of a request body.
type field struct {
	name   []byte
	key    int // offset of the key's opening quote
	keyEnd int // offset after its closing quote
	value  int // offset of the value
	end    int // offset after the value
	// foreign is set if no upstream may get the member, see wire.Foreign.
	foreign bool
}

// Request is a chat completions request (API reference "Create chat completion"): the client's body, and the facts that
// routing needs.
type Request struct {
	Body   []byte
	Model  string
	Stream bool
	// IncludeUsage is stream_options.include_usage.
	IncludeUsage bool
	// MaxTokens is max_completion_tokens, or else max_tokens. It is 0 if both are absent.
	MaxTokens int64
	Needs     wire.Needs
	Traits    Traits
	// Effort is reasoning_effort, or empty if absent.
	Effort string
	// ToolChoiceRequired is set if tool_choice is the string "required".
	ToolChoiceRequired bool
	// LongestCallID is the length of the longest tool call id in the history, in bytes.
	LongestCallID int
	// TextBytes is the number of bytes of text and tools in the prompt.
	TextBytes int64
	// Messages is the number of messages. MediaTokens is the estimated number of tokens of the images, files and audio
	// in them.
	Messages    int
	MediaTokens int64
	// Lease counts the users of Body's memory. Nil means that the garbage collector frees it.
	Lease *wire.Lease

	fields     []field
	home       *[]field // memory of fields, from a pool
	developers []span   // role values that are "developer", including the quotes
	usage      span     // the value of stream_options.include_usage; empty if not given
	options    bool     // stream_options has members
	limit      int      // index of the field that MaxTokens comes from, if that is not 0
	calls      callTurn // used while the messages are read
	pictures   int      // number of images that were inspected
}

// invalid returns the error with status 400 for an invalid field.
func invalid(param, format string, args ...any) error {
	return apierror.New(http.StatusBadRequest, "invalid_value", format, args...).With(param)
}

// Parse parses body in one validating pass. The errors are *apierror.Error with status 400 and the path of the invalid
// field. Unknown members are passed on for the upstream to judge, unless wire.Foreign reports them. A duplicate member
// is an error, since two decoders could use different values.
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
				return wire.GivenTwice(key)
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
	if err == nil {
		err = s.End()
	}
	if err == nil {
		err = wire.CheckUTF8(&s, body)
	}
	switch {
	case err != nil:
		return nil, wire.Syntax(err)
	case !sawModel:
		return nil, apierror.New(http.StatusBadRequest, "missing_required_parameter", "model is required").With("model")
	case !sawMessages:
		return nil, apierror.New(http.StatusBadRequest, "missing_required_parameter", "messages is required").With("messages")
	}
	r.keys()
	return r, nil
}

// Release returns the memory of the body. The facts for routing remain. Release may be called again, but Shape and
// Sends must not be called afterwards.
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

var fieldLists = sync.Pool{New: func() any { return new(make([]field, 0, 16)) }}

// keys sets the offsets of each field's key. The scanner has accepted the body, so that between two fields there is
// only white space and a comma.
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

func boolean(s *jsontext.Scanner, param string, kind jsontext.Kind) (bool, error) {
	if given, err := takes(s, param, "a boolean", kind, jsontext.Bool); !given {
		return false, err
	}
	return s.Bool()
}

// wrongKind returns the error with status 400 for a value of the wrong kind, or the scanner's error if the JSON is
// invalid. want names the right kind.
func wrongKind(s *jsontext.Scanner, param, want string, got jsontext.Kind) error {
	if err := s.Skip(); err != nil {
		return err
	}
	return invalid(param, "%s must be %s, it is %s", param, want, got)
}

// takes reports whether an optional member has a value of the wanted kind. Otherwise it scans the value: null counts as
// absent, and any other kind is an error.
func takes(s *jsontext.Scanner, param, want string, kind, wanted jsontext.Kind) (bool, error) {
	switch kind {
	case wanted:
		return true, nil
	case jsontext.Null:
		return false, s.Skip()
	default:
		return false, wrongKind(s, param, want, kind)
	}
}

// Field returns the bytes of a top-level member's value, or nil if the member is absent.
func (r *Request) Field(name string) []byte {
	for i := range r.fields {
		if f := &r.fields[i]; string(f.name) == name {
			return r.Body[f.value:f.end]
		}
	}
	return nil
}

func (r *Request) model(s *jsontext.Scanner, kind jsontext.Kind) error {
	if kind != jsontext.String {
		return wrongKind(s, "model", "a string", kind)
	}
	model, err := s.Unquoted()
	if err != nil {
		return err
	}
	if model == "" || len(model) > 512 {
		return invalid("model", "model must have 1 to 512 bytes, it has %d", len(model))
	}
	r.Model = model
	return nil
}

func (r *Request) streamOptions(s *jsontext.Scanner, kind jsontext.Kind) error {
	if given, err := takes(s, "stream_options", "an object", kind, jsontext.Object); !given {
		return err
	}
	return s.Object(func(key []byte) error {
		r.options = true
		const member, param = "include_usage", "stream_options.include_usage"
		if wire.Lookalike(key, member) {
			return invalid(param, "the field %q is spelled %q", param, key)
		}
		if string(key) != member {
			return s.Skip()
		}
		if !r.usage.empty() {
			return invalid(param, "the field %q is given twice", param)
		}
		kind := s.Kind()
		from := s.Offset()
		var err error
		r.IncludeUsage, err = boolean(s, param, kind)
		r.usage = span{from, s.Offset()}
		return err
	})
}

func (r *Request) maxTokens(s *jsontext.Scanner, param string, kind jsontext.Kind) error {
	if given, err := takes(s, param, "an integer", kind, jsontext.Number); !given {
		return err
	}
	n, ok, err := s.Int()
	if err != nil {
		return err
	}
	if !ok || n < 1 {
		return invalid(param, "%s must be an integer of at least 1", param)
	}
	if param == "max_completion_tokens" || r.MaxTokens == 0 {
		r.MaxTokens, r.limit = n, len(r.fields)
	}
	return nil
}

func (r *Request) choices(s *jsontext.Scanner, kind jsontext.Kind) error {
	if given, err := takes(s, "n", "an integer", kind, jsontext.Number); !given {
		return err
	}
	n, ok, err := s.Int()
	if err != nil {
		return err
	}
	if !ok || n < 1 || n > 128 {
		return invalid("n", "n must be an integer from 1 to 128")
	}
	if n > 1 {
		r.Needs |= wire.NeedChoices
	}
	return nil
}

func (r *Request) effort(s *jsontext.Scanner, kind jsontext.Kind) error {
	if given, err := takes(s, "reasoning_effort", "a string", kind, jsontext.String); !given {
		return err
	}
	raw, err := s.Word()
	r.Effort = string(raw)
	return err
}

func (r *Request) tools(s *jsontext.Scanner, kind jsontext.Kind) error {
	if given, err := takes(s, "tools", "an array", kind, jsontext.Array); !given {
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

func (r *Request) responseFormat(s *jsontext.Scanner, kind jsontext.Kind) error {
	if given, err := takes(s, "response_format", "an object", kind, jsontext.Object); !given {
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
