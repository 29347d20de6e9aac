package responses

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Read parses a client's request (specification 7). Its errors are *apierror.Error with status 400 and the path of the
// invalid field.
func Read(body []byte, o hub.ReadOptions) (*hub.Request, error) {
	if err := wire.CheckObject(body); err != nil {
		return nil, err
	}
	in := &reader{
		r:       &hub.Request{Format: hub.Responses, Body: body, Answer: hub.Answer{Reasoning: true}},
		options: o,
		names:   make(map[toolKey]string),
		flat:    make(map[string]struct{}),
		calls:   make(map[string]callAt),
		open:    closed,
	}
	jsontext.Members(gjson.ParseBytes(body), func(key string, v gjson.Result) bool {
		in.fields.members = append(in.fields.members, member{key, v})
		return true
	})
	// Tools come before the input, whose calls refer to their names. tool_choice comes after the input, whose items may
	// add tools.
	for _, step := range [...]func() error{
		in.refused, in.model, in.stream, in.include, in.reasoning, in.format, in.parameters,
		in.tools, in.input, in.choice,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	in.leftOut()
	in.echo()
	return in.r, nil
}

// reader is a request that is being read.
type reader struct {
	r       *hub.Request
	options hub.ReadOptions
	// fields is the top level. The others hold one object of their kind at a time (see object).
	fields, item, part, tool, inner object

	// names maps tools to their names for upstreams, flat is the set of these names.
	names map[toolKey]string
	flat  map[string]struct{}
	// hosted is the path of the first tool that only its vendor can run, and hostedKind its type.
	hosted, hostedKind string

	items []value // of the input
	turns []turn
	// open is the index of the current turn of the assistant, or closed.
	open int
	// pending is reasoning that waits for its turn.
	pending []hub.Reasoning
	// calls are the calls by id. waiting is where the search for the first call without a result begins.
	calls   map[string]callAt
	waiting callAt
}

// maxDropped bounds the list of what is left out. The header has room for 20.
const maxDropped = 32

// own records that only an upstream of this format, which gets the client's bytes, can carry the request. err is the
// client's error if there is no such upstream.
func (in *reader) own(err error) {
	if in.r.Needs |= wire.NeedOwn; in.r.Own == nil {
		in.r.Own = err
	}
}

func (in *reader) drop(path string) {
	if len(in.r.Dropped) < maxDropped {
		in.r.Drop(path)
	}
}

// understood are the fields of specification 7.1 that are evaluated. All others are left out and listed, those that the
// reference knows (service_tier, client_metadata, …) as well as those that it may add.
var understood = map[string]bool{
	"background": true, "conversation": true, "include": true, "input": true, "instructions": true,
	"max_output_tokens": true, "metadata": true, "model": true, "parallel_tool_calls": true,
	"previous_response_id": true, "prompt": true, "prompt_cache_key": true, "reasoning": true,
	"safety_identifier": true, "store": true, "stream": true, "stream_options": true, "temperature": true,
	"text": true, "tool_choice": true, "tools": true, "top_logprobs": true, "top_p": true, "truncation": true,
	"user": true,
}

// leftOut lists the fields that were not evaluated.
func (in *reader) leftOut() {
	for _, m := range in.fields.members {
		if !understood[m.name] && m.Type != gjson.Null {
			in.drop(headerName(m.name))
		}
	}
}

// unread lists the members of an object that are not evaluated: those that are not null and not among the given names.
func (in *reader) unread(o *object, names ...string) {
	for _, m := range o.members {
		if m.Type != gjson.Null && !slices.Contains(names, m.name) {
			in.drop(o.path.String() + "." + headerName(m.name))
		}
	}
}

// headerName returns a client's name of a field in a form that a header can carry.
func headerName(name string) string {
	name = name[:min(len(name), 64)]
	return strings.Map(func(c rune) rune {
		if c > ' ' && c < 0x7f && c != ',' {
			return c
		}
		return '?'
	}, name)
}

// refused returns an error if the request has one of the fields that the gateway does not support (specification 7.7).
func (in *reader) refused() error {
	if v := in.fields.get("previous_response_id"); v.given() {
		id, err := v.text()
		if err != nil {
			return err
		}
		if id != "" {
			return apierror.New(http.StatusBadRequest, "previous_response_not_found",
				"no response %s is stored here: responses are not kept, send the full input instead",
				hub.Shown(id)).With(v.String())
		}
	}
	for _, name := range [...]string{"conversation", "prompt"} {
		if v := in.fields.get(name); v.given() {
			return v.unsupported("is not supported, nothing is stored here: send the full input instead")
		}
	}
	v := in.fields.get("background")
	background, err := v.flag()
	if background {
		return v.unsupported("is not supported: leave it out and read the answer, as a stream if it takes long")
	}
	return err
}

func (in *reader) model() (err error) {
	v := in.fields.get("model")
	if in.r.Model, err = v.text(); err != nil {
		return err
	}
	switch n := len(in.r.Model); {
	case !v.given():
		return v.missing()
	case n == 0 || n > 512:
		return v.invalid("must have 1 to 512 bytes, it has %d", n)
	}
	return nil
}

func (in *reader) stream() (err error) {
	v := in.fields.get("stream")
	if in.r.Stream, err = v.flag(); err != nil {
		return err
	}
	v = in.fields.get("stream_options")
	if !v.given() {
		return nil
	}
	if err := in.item.open(v); err != nil {
		return err
	}
	v = in.item.get("include_obfuscation")
	obfuscated, err := v.flag()
	if obfuscated {
		in.drop(v.String())
	}
	return err
}

func (in *reader) include() error {
	v := in.fields.get("include")
	if !v.given() {
		return nil
	}
	return v.each(func(element value) error {
		name, err := element.text()
		switch name {
		case "reasoning.encrypted_content":
			in.r.Answer.State = true
		case "message.output_text.logprobs":
			in.r.Answer.Logprobs = true
		}
		return err
	})
}

func (in *reader) reasoning() error {
	v := in.fields.get("reasoning")
	if !v.given() {
		return nil
	}
	if err := in.item.open(v); err != nil {
		return err
	}
	for _, name := range [...]string{"summary", "generate_summary"} {
		summary, err := in.item.text(name)
		if err != nil {
			return err
		}
		in.r.Answer.HideReasoningText = in.r.Answer.HideReasoningText || summary == "none"
	}
	in.unread(&in.item, "effort", "summary", "generate_summary")
	return in.effort(in.item.get("effort"))
}

func (in *reader) effort(v value) error {
	effort, err := v.text()
	if err != nil || !v.given() {
		return err
	}
	in.r.Effort = hub.Effort(effort)
	if !slices.Contains(hub.Efforts[:], in.r.Effort) {
		return v.invalid("must be one of none, minimal, low, medium, high, xhigh, max, it is %s", hub.Shown(effort))
	}
	return nil
}

// format reads the member text: the form of the answer and its verbosity.
func (in *reader) format() error {
	v := in.fields.get("text")
	if !v.given() {
		return nil
	}
	if err := in.item.open(v); err != nil {
		return err
	}
	v = in.item.get("verbosity")
	if _, err := v.text(); err != nil {
		return err
	}
	if v.given() {
		in.param("verbosity", v.Raw)
	}
	in.unread(&in.item, "format", "verbosity")
	return in.outputFormat(in.item.get("format"))
}

// outputFormat reads the form of the answer.
func (in *reader) outputFormat(v value) error {
	if !v.given() {
		return nil
	}
	in.r.Output = nil
	name, err := in.part.typed(v)
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
		v = in.part.get("type")
		return v.invalid("must be one of text, json_object, json_schema, it is %s", hub.Shown(name))
	}
}

// schema reads the format in in.part.
func (in *reader) schema() (*hub.Output, error) {
	out := &hub.Output{Kind: "json_schema"}
	schema := in.part.get("schema")
	err := schema.object()
	if err == nil {
		out.Name, err = in.part.name("name")
	}
	if err == nil {
		out.Description, err = in.part.text("description")
	}
	if err == nil {
		out.Strict, err = strict(&in.part)
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

// strict returns the member of that name as JSON text, or an empty string.
func strict(o *object) (string, error) {
	v := o.get("strict")
	if _, err := v.flag(); err != nil || !v.given() {
		return "", err
	}
	return v.Raw, nil
}

func (in *reader) count(text string) { in.r.TextBytes += int64(len(text)) }

func (in *reader) param(name, raw string) {
	in.r.Params = append(in.r.Params, hub.Param{Name: name, Value: raw})
}

// parameters reads the fields that pass without being interpreted, and those that only need a check.
func (in *reader) parameters() error {
	v := in.fields.get("max_output_tokens")
	if v.given() {
		if v.Type != gjson.Number {
			return v.wrong("an integer")
		}
		if in.r.MaxTokens = v.Int(); float64(in.r.MaxTokens) != v.Num || v.Num < 1 {
			return v.invalid("must be an integer of at least 1")
		}
	}
	for _, name := range [...]string{"temperature", "top_p"} {
		if v := in.fields.get(name); v.given() {
			if v.Type != gjson.Number {
				return v.wrong("a number")
			}
			in.param(name, v.Raw)
		}
	}
	v = in.fields.get("parallel_tool_calls")
	if _, err := v.flag(); err != nil {
		return err
	}
	if v.given() {
		in.param("parallel_tool_calls", v.Raw)
	}
	for _, step := range [...]func() error{in.logprobs, in.identifiers, in.metadata, in.truncation} {
		if err := step(); err != nil {
			return err
		}
	}
	v = in.fields.get("store")
	_, err := v.flag()
	in.r.Answer.Store = v.Type != gjson.False
	return err
}

// logprobs reads top_logprobs. Without the include flag nobody has asked for the log probabilities.
func (in *reader) logprobs() error {
	v := in.fields.get("top_logprobs")
	if v.given() && v.Type != gjson.Number {
		return v.wrong("an integer")
	}
	switch {
	case in.r.Answer.Logprobs:
		in.param("logprobs", "true")
		if v.given() {
			in.param("top_logprobs", v.Raw)
		}
	case v.Num > 0:
		in.drop("top_logprobs")
	}
	return nil
}

// identifiers reads the identifiers of the user, which leave the gateway only as a hash.
func (in *reader) identifiers() error {
	user := ""
	for _, name := range [...]string{"user", "safety_identifier"} {
		id, err := in.fields.text(name)
		if err != nil {
			return err
		}
		if id != "" {
			user = id // the newer field takes precedence
		}
	}
	if user != "" {
		sum := sha256.Sum256([]byte(user))
		in.param("user", `"`+hex.EncodeToString(sum[:16])+`"`)
	}
	v := in.fields.get("prompt_cache_key")
	key, err := v.text()
	if key != "" {
		in.param("prompt_cache_key", v.Raw)
	}
	return err
}

func (in *reader) metadata() (err error) {
	v := in.fields.get("metadata")
	if !v.given() {
		return nil
	}
	if err := v.object(); err != nil {
		return err
	}
	pairs := 0
	jsontext.Members(v.Result, func(key string, text gjson.Result) bool {
		pairs++
		switch {
		case text.Type != gjson.String:
			err = v.invalid("must have strings as values, that of %s is %s", hub.Shown(key), jsontext.KindOf(text))
		case pairs > 16:
			err = v.invalid("must have at most 16 pairs")
		}
		return err == nil
	})
	return err
}

func (in *reader) truncation() error {
	v := in.fields.get("truncation")
	how, err := v.text()
	switch how {
	case "", "disabled":
	case "auto":
		in.drop("truncation")
	default:
		return v.invalid("must be disabled or auto, it is %s", hub.Shown(how))
	}
	return err
}
