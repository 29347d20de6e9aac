package responses

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/fields"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Read parses a client's request. The errors are *apierror.Error with status 400 and the path of the invalid field.
func (Format) Read(body []byte, o hub.ReadOptions) (*hub.Request, error) {
	if err := wire.CheckObject(body); err != nil {
		return nil, err
	}
	in := &reader{
		r:       &hub.Request{Format: hub.Responses, Body: body, Answer: hub.Answer{Reasoning: true}},
		options: o,
		fields:  fields.Top(body),
		names:   make(map[toolKey]string),
		flat:    make(map[string]struct{}),
		calls:   make(map[string]callIndex),
		open:    closed,
	}
	// Tools come before the input, because calls in the input refer to tools. tool_choice comes after the input,
	// because input items may add tools.
	for _, step := range [...]func() error{
		in.rejectUnsupported, in.model, in.stream, in.include, in.reasoning, in.format, in.parameters, in.tools, in.input,
		in.choice,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	in.r.DropOnce(in.fields.Others(evaluatedFields...)...)
	in.echo()
	return in.r, nil
}

// reader is the state of reading a request.
type reader struct {
	r       *hub.Request
	options hub.ReadOptions
	// fields holds the top-level fields. Each of the others holds the object that is being read: an input item, a content
	// part, a tool, or an object within one of these.
	fields, item, part, tool, inner fields.Object

	// names maps tools to their upstream names (hub.Tool.Name). flat is the set of these names.
	names map[toolKey]string
	flat  map[string]struct{}
	// hosted is the path of the first tool that only its vendor can run. hostedKind is the type of that tool.
	hosted, hostedKind string

	items []fields.Value // elements of the input, if it is an array
	turns []turn         // the messages so far
	// open is the index of the assistant's current turn, or closed.
	open int
	// pending is the reasoning that was read since the assistant's last item. It belongs to the assistant's next item.
	pending []hub.Reasoning
	// calls maps call ids to calls. waiting is the call at which the search for a call without a result begins. All calls
	// before it have results.
	calls   map[string]callIndex
	waiting callIndex
}

// evaluatedFields are the top-level fields that the reader evaluates. All other fields are dropped and listed, no
// matter whether the API's public reference has them already (service_tier, client_metadata, …) or adds them later.
var evaluatedFields = []string{
	"background", "conversation", "include", "input", "instructions", "max_output_tokens", "metadata", "model",
	"parallel_tool_calls", "previous_response_id", "prompt", "prompt_cache_key", "reasoning", "safety_identifier", "store",
	"stream", "stream_options", "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user",
}

// rejectUnsupported returns an error if the request has a field that the gateway does not support.
func (in *reader) rejectUnsupported() error {
	if v := in.fields.Get("previous_response_id"); v.Given() {
		id, err := v.Text()
		if err != nil {
			return err
		}
		if id != "" {
			return apierror.New(http.StatusBadRequest, "previous_response_not_found",
				"the response %s is not stored here, because the gateway keeps no responses: send the full input instead",
				hub.Shown(id)).With(v.String())
		}
	}
	for _, name := range [...]string{"conversation", "prompt"} {
		if v := in.fields.Get(name); v.Given() {
			return v.Unsupported("is not supported: send the full input instead")
		}
	}
	v := in.fields.Get("background")
	background, err := v.Flag()
	if background {
		return v.Unsupported("is not supported: leave it out, and set stream if the answer may take long")
	}
	return err
}

// model reads the field model.
func (in *reader) model() (err error) {
	v := in.fields.Get("model")
	in.r.Model, err = v.Required()
	if n := len(in.r.Model); err == nil && (n == 0 || n > 512) {
		err = v.Invalid("must have 1 to 512 bytes, it has %d", n)
	}
	return err
}

// stream reads the fields stream and stream_options.
func (in *reader) stream() (err error) {
	v := in.fields.Get("stream")
	if in.r.Stream, err = v.Flag(); err != nil {
		return err
	}
	v = in.fields.Get("stream_options")
	if !v.Given() {
		return nil
	}
	if err := in.item.Open(v); err != nil {
		return err
	}
	v = in.item.Get("include_obfuscation")
	obfuscated, err := v.Flag()
	if obfuscated {
		in.r.DropOnce(v.String())
	}
	return err
}

// include reads the field include. Values that the gateway does not know are ignored.
func (in *reader) include() error {
	v := in.fields.Get("include")
	if !v.Given() {
		return nil
	}
	return v.Each(func(element fields.Value) error {
		name, err := element.Text()
		switch name {
		case "reasoning.encrypted_content":
			in.r.Answer.State = true
		case "message.output_text.logprobs":
			in.r.Answer.Logprobs = true
		}
		return err
	})
}

// reasoning reads the field reasoning: the effort, and whether the client wants a summary.
func (in *reader) reasoning() error {
	v := in.fields.Get("reasoning")
	if !v.Given() {
		return nil
	}
	if err := in.item.Open(v); err != nil {
		return err
	}
	for _, name := range [...]string{"summary", "generate_summary"} {
		summary, err := in.item.Text(name)
		if err != nil {
			return err
		}
		in.r.Answer.HideReasoningText = in.r.Answer.HideReasoningText || summary == "none"
	}
	in.r.DropOnce(in.item.Others("effort", "summary", "generate_summary")...)
	return in.effort(in.item.Get("effort"))
}

// effort sets the request's reasoning effort to v, unless v is absent.
func (in *reader) effort(v fields.Value) error {
	effort, err := v.Text()
	if err != nil || !v.Given() {
		return err
	}
	in.r.Effort = hub.Effort(effort)
	if !slices.Contains(hub.Efforts[:], in.r.Effort) {
		return v.Invalid("must be one of none, minimal, low, medium, high, xhigh, max, it is %s", hub.Shown(effort))
	}
	return nil
}

// format reads the field text, which states the form of the answer and its verbosity.
func (in *reader) format() error {
	v := in.fields.Get("text")
	if !v.Given() {
		return nil
	}
	if err := in.item.Open(v); err != nil {
		return err
	}
	v = in.item.Get("verbosity")
	if _, err := v.Text(); err != nil {
		return err
	}
	if v.Given() {
		in.r.AddParam("verbosity", v.Raw)
	}
	in.r.DropOnce(in.item.Others("format", "verbosity")...)
	return in.outputFormat(in.item.Get("format"))
}

// outputFormat reads the form of the answer from v.
func (in *reader) outputFormat(v fields.Value) error {
	if !v.Given() {
		return nil
	}
	in.r.Output = nil
	name, err := in.part.Typed(v)
	if err != nil {
		return err
	}
	switch name {
	case "text":
		return nil
	case "json_object":
		in.r.Output = &hub.Output{Kind: name}
		return nil
	case "json_schema":
		in.r.Output, err = in.schema()
		return err
	default:
		v = in.part.Get("type")
		return v.Invalid("must be one of text, json_object, json_schema, it is %s", hub.Shown(name))
	}
}

// schema reads the JSON schema in the format object in in.part.
func (in *reader) schema() (*hub.Output, error) {
	out := &hub.Output{Kind: "json_schema"}
	schema := in.part.Get("schema")
	err := schema.Object()
	if err == nil {
		out.Name, err = in.part.Name("name")
	}
	if err == nil {
		out.Description, err = in.part.Text("description")
	}
	if err == nil {
		out.Strict, err = in.part.Get("strict").RawFlag()
	}
	if err != nil {
		return nil, err
	}
	out.Schema = schema.Raw
	in.r.Needs |= wire.NeedJSONSchema
	in.count(out.Description)
	in.count(out.Schema)
	return out, nil
}

// count adds the length of text to the size of the request's text.
func (in *reader) count(text string) { in.r.TextBytes += int64(len(text)) }

// parameters reads the fields that are passed on without interpretation, and those that are only checked.
func (in *reader) parameters() error {
	v := in.fields.Get("max_output_tokens")
	if v.Given() {
		if v.Type != gjson.Number {
			return v.Wrong("an integer")
		}
		if in.r.MaxTokens = v.Int(); float64(in.r.MaxTokens) != v.Num || v.Num < 1 {
			return v.Invalid("must be an integer of at least 1")
		}
	}
	for _, name := range [...]string{"temperature", "top_p"} {
		if v := in.fields.Get(name); v.Given() {
			if v.Type != gjson.Number {
				return v.Wrong("a number")
			}
			in.r.AddParam(name, v.Raw)
		}
	}
	v = in.fields.Get("parallel_tool_calls")
	if _, err := v.Flag(); err != nil {
		return err
	}
	if v.Given() {
		in.r.AddParam("parallel_tool_calls", v.Raw)
	}
	for _, step := range [...]func() error{in.logprobs, in.identifiers, in.metadata, in.truncation} {
		if err := step(); err != nil {
			return err
		}
	}
	v = in.fields.Get("store")
	_, err := v.Flag()
	in.r.Answer.Store = v.Type != gjson.False
	return err
}

// logprobs reads top_logprobs. The field is used only if include requests log probabilities.
func (in *reader) logprobs() error {
	v := in.fields.Get("top_logprobs")
	if v.Given() && v.Type != gjson.Number {
		return v.Wrong("an integer")
	}
	switch {
	case in.r.Answer.Logprobs:
		in.r.AddParam("logprobs", "true")
		if v.Given() {
			in.r.AddParam("top_logprobs", v.Raw)
		}
	case v.Num > 0:
		in.r.DropOnce("top_logprobs")
	}
	return nil
}

// identifiers reads the identifiers of the client's user. Upstreams get only a hash.
func (in *reader) identifiers() error {
	user := ""
	for _, name := range [...]string{"user", "safety_identifier"} {
		id, err := in.fields.Text(name)
		if err != nil {
			return err
		}
		if id != "" {
			user = id // the newer field takes precedence
		}
	}
	if user != "" {
		sum := sha256.Sum256([]byte(user))
		in.r.AddParam("user", `"`+hex.EncodeToString(sum[:16])+`"`)
	}
	v := in.fields.Get("prompt_cache_key")
	key, err := v.Text()
	if key != "" {
		in.r.AddParam("prompt_cache_key", v.Raw)
	}
	return err
}

// metadata checks the field metadata. Upstreams do not get it; the response object repeats it.
func (in *reader) metadata() (err error) {
	v := in.fields.Get("metadata")
	if !v.Given() {
		return nil
	}
	if err := v.Object(); err != nil {
		return err
	}
	pairs := 0
	jsontext.Members(v.Result, func(key string, text gjson.Result) bool {
		pairs++
		switch {
		case text.Type != gjson.String:
			err = v.Invalid("must have only strings as values: the value of %s is %s", hub.Shown(key), jsontext.KindOf(text))
		case pairs > 16:
			err = v.Invalid("must have at most 16 pairs")
		}
		return err == nil
	})
	return err
}

// truncation checks the field truncation. The gateway never truncates the input, so the value "auto" is dropped.
func (in *reader) truncation() error {
	v := in.fields.Get("truncation")
	mode, err := v.Text()
	switch mode {
	case "", "disabled":
	case "auto":
		in.r.DropOnce("truncation")
	default:
		return v.Invalid("must be disabled or auto, it is %s", hub.Shown(mode))
	}
	return err
}
