package chat

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/fields"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Read parses a client's chat completions request into the common form. This form is needed for candidates that use
// another format, or that need more changes than native.Request.Shape makes. Unknown top-level fields are kept in
// Params, so that the upstream accepts or refuses them; those for which foreign returns true are dropped. If o.Recall
// is set, reasoning that the client has not sent back is added from it. The errors are *apierror.Error with status 400.
func (Format) Read(body []byte, o hub.ReadOptions) (*hub.Request, error) {
	if err := wire.CheckObject(body); err != nil {
		return nil, err
	}
	r := &request{
		Request: &hub.Request{Format: hub.Chat, Body: body, Answer: hub.Answer{Reasoning: true}},
		top:     fields.Top(body),
		calls:   make(map[string]callPosition),
	}
	if err := r.read(); err != nil {
		return nil, err
	}
	if o.Recall != nil {
		recall(r.Messages, o.Recall)
	}
	return r.Request, nil
}

// request is the state of reading a request.
type request struct {
	*hub.Request
	// top holds the top-level fields. The others hold the objects that are being read: message holds a message. element
	// holds an element of one of the message's lists (a content part or tool call) or of the list tools. inner holds an
	// object within element.
	top, message, element, inner fields.Object
	legacyLimit                  int64 // max_tokens

	// turns are the messages so far. calls maps the client's call ids to the positions of the calls in turns. If an id
	// occurs several times, the last call counts.
	turns []conversationTurn
	calls map[string]callPosition
}

// read reads the fields of the request in the client's order, except tool_choice, which refers to tools.
func (r *request) read() error {
	if err := r.top.Each(r.field); err != nil {
		return err
	}
	for _, name := range [...]string{"model", "messages"} {
		if v := r.top.Get(name); !v.Given() {
			return v.Missing()
		}
	}
	if r.MaxTokens == 0 {
		r.MaxTokens = r.legacyLimit
	}
	return r.toolChoice()
}

// field reads the top-level field with the given name and value.
func (r *request) field(name string, v fields.Value) (err error) {
	switch name {
	case "model":
		r.Model, err = r.top.Name(name)
		if len(r.Model) > 512 {
			err = v.Invalid("must have at most 512 bytes, it has %d", len(r.Model))
		}
	case "messages":
		err = r.messages(v)
	case "stream":
		r.Stream, err = v.Flag()
	case "stream_options":
		err = r.streamOptions()
	case "max_completion_tokens":
		r.MaxTokens, err = v.Integer(1)
	case "max_tokens":
		r.legacyLimit, err = v.Integer(1)
	case "tools":
		err = r.readTools(v)
	case "tool_choice": // see read
	case "functions", "function_call":
		if v.Given() {
			err = v.Unsupported("is deprecated and not supported: send tools and tool_choice instead")
		}
	case "response_format":
		err = r.responseFormat()
	case "reasoning_effort":
		err = r.effort(v)
	case "stop":
		err = r.stop(v)
	case "thinking", "reasoning":
		if effort := otherEffort(name, v.Result); effort != "" {
			r.OtherEffort = effort
		}
		err = r.param(name, v)
	default:
		if foreign(name, v.Result) {
			r.Drop(wire.Mask(name, 100))
			return nil
		}
		err = r.param(name, v)
	}
	return err
}

// foreign reports whether the top-level field with the name key must not be sent to any upstream, see wire.Foreign
// and wire.ForeignExtra.
func foreign(key string, value gjson.Result) bool {
	if key == "extra_body" {
		s := jsontext.NewScanner([]byte(value.Raw))
		refused, err := wire.ForeignExtra(&s)
		return refused || err != nil
	}
	return wire.Foreign(wire.APIChat, []byte(key))
}

// streamOptions reads stream_options. All fields except include_usage are dropped.
func (r *request) streamOptions() error {
	options, ok, err := r.top.Optional("stream_options")
	if !ok || err != nil {
		return err
	}
	return options.Each(func(name string, v fields.Value) (err error) {
		if name != "include_usage" {
			r.Drop("stream_options." + wire.Mask(name, 100))
			return nil
		}
		r.IncludeUsage, err = v.Flag()
		return err
	})
}

// effort reads reasoning_effort.
func (r *request) effort(v fields.Value) error {
	word, err := v.Text()
	r.Effort = hub.Effort(word)
	if err == nil && word != "" && !slices.Contains(hub.Efforts[:], r.Effort) {
		return v.Invalid("must be one of none, minimal, low, medium, high, xhigh, max, it is %s", hub.Shown(word))
	}
	return err
}

// otherEffort returns the reasoning effort that value states, or an empty string if it states none. key is "thinking"
// (Anthropic's form) or "reasoning" (OpenRouter's form). A budget in tokens is converted to an effort.
func otherEffort(key string, value gjson.Result) hub.Effort {
	if !value.IsObject() {
		return ""
	}
	if key == "thinking" {
		switch kind, budget := value.Get("type").Str, value.Get("budget_tokens"); {
		case kind == "disabled":
			return hub.EffortNone
		case kind == "enabled" && budget.Type == gjson.Number:
			return hub.BudgetEffort(budget.Int())
		case kind == "enabled", kind == "adaptive":
			return hub.EffortMedium
		}
		return ""
	}
	enabled, budget := value.Get("enabled"), value.Get("max_tokens")
	effort := hub.Effort(value.Get("effort").Str)
	switch {
	case enabled.Type == gjson.False:
		return hub.EffortNone
	case slices.Contains(hub.Efforts[:], effort):
		return effort
	case budget.Type == gjson.Number:
		return hub.BudgetEffort(budget.Int())
	case enabled.Type == gjson.True:
		return hub.EffortMedium
	}
	return ""
}

// maxStops is the largest number of stop sequences in a request. Upstreams accept four.
const maxStops = 64

// stop reads the field stop: one stop sequence or a list of them. Empty strings are left out.
func (r *request) stop(v fields.Value) error {
	if !v.IsArray() {
		word, err := v.Text()
		if word != "" {
			r.Stop = []string{word}
		}
		return err
	}
	return v.Each(func(element fields.Value) error {
		switch {
		case element.Type != gjson.String:
			return element.Wrong("a string")
		case element.Path.Index == maxStops:
			return v.Invalid("must have at most %d strings", maxStops)
		case element.Str != "":
			r.Stop = append(r.Stop, element.Str)
		}
		return nil
	})
}

// param stores in Params a top-level field that the gateway does not interpret. It returns an error if a known field
// has a value of the wrong type. A field with the value null is ignored.
func (r *request) param(name string, v fields.Value) (err error) {
	if !v.Given() {
		return nil
	}
	switch name {
	case "temperature", "top_p", "top_k", "seed", "presence_penalty", "frequency_penalty", "top_logprobs":
		if v.Type != gjson.Number {
			err = v.Wrong("a number")
		}
	case "logprobs":
		r.Answer.Logprobs, err = v.Flag()
	case "parallel_tool_calls", "store":
		_, err = v.Flag()
	case "user", "prompt_cache_key", "safety_identifier", "service_tier", "verbosity":
		_, err = v.Text()
	case "metadata", "logit_bias":
		err = v.Object()
	case "n":
		var n int64
		n, err = v.Integer(1)
		if n > 128 {
			err = v.Invalid("must be an integer from 1 to 128")
		}
		if n > 1 {
			r.Needs |= wire.NeedChoices
		}
	}
	r.AddParam(name, v.Raw)
	return err
}

// responseFormat reads response_format into r.Output.
func (r *request) responseFormat() error {
	format, ok, err := r.top.Optional("response_format")
	if !ok || err != nil {
		return err
	}
	kind, err := format.Name("type")
	if err != nil {
		return err
	}
	switch kind {
	case "text":
		return nil
	case "json_object":
		r.Output = &hub.Output{Kind: kind}
		return nil
	case "json_schema":
		return r.schemaFormat(format.Get("json_schema"))
	}
	return format.Get("type").Invalid("must be text, json_object or json_schema, it is %s", hub.Shown(kind))
}

// schemaFormat reads v, the value of the field json_schema in response_format, into r.Output.
func (r *request) schemaFormat(v fields.Value) (err error) {
	var o fields.Object
	if err := o.Open(v); err != nil {
		return err
	}
	out := &hub.Output{Kind: "json_schema"}
	if out.Name, err = o.Text("name"); err != nil {
		return err
	}
	if out.Name == "" {
		out.Name = "output"
	}
	if out.Description, err = o.Text("description"); err != nil {
		return err
	}
	if out.Schema, err = o.Get("schema").RawObject(); err != nil {
		return err
	}
	r.Output = out
	r.Needs |= wire.NeedJSONSchema
	r.TextBytes += int64(len(out.Schema))
	out.Strict, err = o.Get("strict").RawFlag()
	return err
}
