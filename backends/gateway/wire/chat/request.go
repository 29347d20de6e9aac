package chat

import (
	"slices"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Read parses a client's chat completions request into the common form. This form is needed for candidates that use
// another format, or that need more changes than native.Request.Shape makes. Unknown top-level fields are kept in
// Params, so that the upstream accepts or refuses them, except fields for which foreign returns true. The errors are
// *apierror.Error with status 400.
func (Format) Read(body []byte, o hub.ReadOptions) (*hub.Request, error) {
	if err := wire.CheckObject(body); err != nil {
		return nil, err
	}
	r := &request{Request: &hub.Request{Format: hub.Chat, Body: body, Answer: hub.Answer{Reasoning: true}}}
	if err := r.read(gjson.ParseBytes(body)); err != nil {
		return nil, refusal(err)
	}
	if o.Recall != nil {
		recall(r.Messages, o.Recall)
	}
	return r.Request, nil
}

// request is the state of reading a request.
type request struct {
	*hub.Request
	choice gjson.Result // tool_choice
	legacy int64        // max_tokens
}

// read reads root, the body of the request. The errors are faults.
func (r *request) read(root gjson.Result) error {
	sawMessages := false
	err := each(root, func(key string, value gjson.Result) (err error) {
		switch key {
		case "model":
			r.Model, err = name("model", value)
			if len(r.Model) > 512 {
				err = invalid("model", "must have at most 512 bytes, it has %d", len(r.Model))
			}
		case "messages":
			sawMessages = true
			err = r.messages(value)
		case "stream":
			var stream string
			stream, err = boolean("stream", value)
			r.Stream = stream == "true"
		case "stream_options":
			err = r.streamOptions(value)
		case "max_completion_tokens":
			r.MaxTokens, err = positiveInteger(key, value)
		case "max_tokens":
			r.legacy, err = positiveInteger(key, value)
		case "tools":
			err = r.readTools(value)
		case "tool_choice":
			r.choice = value
		case "functions", "function_call":
			if value.Type != gjson.Null {
				err = unsupported(key, "is deprecated and not supported: send tools and tool_choice instead")
			}
		case "response_format":
			err = r.responseFormat(value)
		case "reasoning_effort":
			err = r.effort(value)
		case "thinking", "reasoning":
			if effort := otherEffort(key, value); effort != "" {
				r.OtherEffort = effort
			}
			err = r.param(key, value)
		case "stop":
			err = r.stop(value)
		default:
			if foreign(key, value) {
				r.Drop(wire.Mask(key, 100))
				return nil
			}
			err = r.param(key, value)
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case r.Model == "":
		return missing("model")
	case !sawMessages:
		return missing("messages")
	}
	if r.MaxTokens == 0 {
		r.MaxTokens = r.legacy
	}
	return r.toolChoice()
}

// foreign reports whether no upstream may get the top-level field key, see wire.Foreign and wire.ForeignExtra.
func foreign(key string, value gjson.Result) bool {
	if key == "extra_body" {
		s := jsontext.NewScanner([]byte(value.Raw))
		refused, err := wire.ForeignExtra(&s)
		return refused || err != nil
	}
	return wire.Foreign(wire.APIChat, []byte(key))
}

// streamOptions reads stream_options. All fields except include_usage are dropped.
func (r *request) streamOptions(value gjson.Result) error {
	if value.Type == gjson.Null {
		return nil
	}
	if !value.IsObject() {
		return wrongType("stream_options", "an object", value)
	}
	return each(value, func(key string, value gjson.Result) error {
		if key != "include_usage" {
			r.Drop("stream_options." + wire.Mask(key, 100))
			return nil
		}
		usage, err := boolean("stream_options.include_usage", value)
		r.IncludeUsage = usage == "true"
		return err
	})
}

// positiveInteger returns the integer in value, or 0 if value is null or absent. Any other value, and an integer less
// than 1, is an error. path is the path of value for the error.
func positiveInteger(path string, value gjson.Result) (int64, error) {
	switch value.Type {
	case gjson.Null:
		return 0, nil
	case gjson.Number:
		if n, err := strconv.ParseInt(value.Raw, 10, 64); err == nil && n > 0 {
			return n, nil
		}
		return 0, invalid(path, "must be an integer of at least 1")
	default:
		return 0, wrongType(path, "an integer", value)
	}
}

// effort reads reasoning_effort.
func (r *request) effort(value gjson.Result) error {
	word, err := text("reasoning_effort", value)
	r.Effort = hub.Effort(word)
	if err == nil && word != "" && !slices.Contains(hub.Efforts[:], r.Effort) {
		return invalid("reasoning_effort", "must be one of none, minimal, low, medium, high, xhigh, max, it is %s",
			quote(word))
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
func (r *request) stop(value gjson.Result) error {
	if !value.IsArray() {
		word, err := text("stop", value)
		if word != "" {
			r.Stop = []string{word}
		}
		return err
	}
	return elements(value, func(i int, value gjson.Result) error {
		switch {
		case value.Type != gjson.String:
			return prefixPath(wrongType("", "a string", value), "stop[%d]", i)
		case i == maxStops:
			return invalid("stop", "must have at most %d strings", maxStops)
		case value.Str != "":
			r.Stop = append(r.Stop, value.Str)
		}
		return nil
	})
}

// param stores a top-level field that the gateway does not interpret in Params. It returns an error if a known field
// has a value of the wrong type. A field with the value null is ignored.
func (r *request) param(key string, value gjson.Result) error {
	if value.Type == gjson.Null {
		return nil
	}
	switch key {
	case "temperature", "top_p", "top_k", "seed", "presence_penalty", "frequency_penalty", "top_logprobs":
		if value.Type != gjson.Number {
			return wrongType(key, "a number", value)
		}
	case "parallel_tool_calls", "store", "logprobs":
		if !value.IsBool() {
			return wrongType(key, "a boolean", value)
		}
		r.Answer.Logprobs = r.Answer.Logprobs || key == "logprobs" && value.Bool()
	case "user", "prompt_cache_key", "safety_identifier", "service_tier", "verbosity":
		if value.Type != gjson.String {
			return wrongType(key, "a string", value)
		}
	case "metadata", "logit_bias":
		if !value.IsObject() {
			return wrongType(key, "an object", value)
		}
	case "n":
		n, err := positiveInteger("n", value)
		if err == nil && n > 128 {
			err = invalid("n", "must be an integer from 1 to 128")
		}
		if err != nil {
			return err
		}
		if n > 1 {
			r.Needs |= wire.NeedChoices
		}
	}
	r.Params = append(r.Params, hub.Param{Name: key, Value: value.Raw})
	return nil
}

// responseFormat reads response_format into r.Output.
func (r *request) responseFormat(value gjson.Result) error {
	const path = "response_format"
	if value.Type == gjson.Null {
		return nil
	}
	if !value.IsObject() {
		return wrongType(path, "an object", value)
	}
	kind, err := name(path+".type", value.Get("type"))
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
	default:
		return invalid(path+".type", "must be text, json_object or json_schema, it is %s", quote(kind))
	}
	format := value.Get("json_schema")
	if !format.IsObject() {
		return wrongType(path+".json_schema", "an object", format)
	}
	r.Needs |= wire.NeedJSONSchema
	r.Output = &hub.Output{Kind: kind}
	err = each(format, func(key string, value gjson.Result) (err error) {
		switch key {
		case "name":
			r.Output.Name, err = text(key, value)
		case "description":
			r.Output.Description, err = text(key, value)
		case "schema":
			r.Output.Schema, err = object(key, value)
		case "strict":
			r.Output.Strict, err = boolean(key, value)
		}
		return err
	})
	if r.Output.Name == "" {
		r.Output.Name = "output"
	}
	r.TextBytes += int64(len(r.Output.Schema))
	return prefixPath(err, path+".json_schema")
}
