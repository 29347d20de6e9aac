package converse

import (
	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/fields"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// maxModel is the length of the longest name of a model, in bytes.
const maxModel = 512

// Read parses the JSON body of a client's request into the common form. The model, and whether the answer is streamed,
// come from the URL path and are in o. The errors are *apierror.Error with status 400 and the path of the invalid
// field.
func (Format) Read(body []byte, o hub.ReadOptions) (*hub.Request, error) {
	if err := wire.CheckObject(body); err != nil {
		return nil, err
	}
	in := &clientReader{options: o, top: fields.Top(body), q: &hub.Request{
		Format: Name, Body: body, Model: o.Model, Stream: o.Stream, Answer: hub.Answer{Reasoning: true, State: true},
	}}
	if o.Model == "" || len(o.Model) > maxModel {
		return nil, hub.Fault("invalid_value", "modelId", "must have 1 to %d bytes, it has %d", maxModel, len(o.Model))
	}
	// Tools come before the messages, because calls in messages refer to tools.
	for _, step := range [...]func(*fields.Object) error{
		in.rejectAccountResources, in.inference, in.additionalFields, in.output, in.serviceTier, in.responseFields,
		in.tools, in.system, in.conversation,
	} {
		if err := step(&in.top); err != nil {
			return nil, err
		}
	}
	in.q.DropOnce(in.top.Others("messages", "system", "inferenceConfig", "toolConfig", "guardrailConfig",
		"promptVariables", "additionalModelRequestFields", "additionalModelResponseFieldPaths", "outputConfig",
		"serviceTier")...)
	in.q.SetNeeds()
	return in.q, nil
}

// clientReader is the state of reading a client's request.
type clientReader struct {
	options hub.ReadOptions
	q       *hub.Request
	top     fields.Object
	turns   hub.Turns
	// thought is Gemini's thought signature for the next call of the message that is being read, or nil.
	thought *hub.State
}

// rejectAccountResources returns an error for fields that refer to resources of an AWS account. These fields cannot
// simply be left out: a client that sends guardrailConfig, for example, relies on the guardrail.
func (in *clientReader) rejectAccountResources(o *fields.Object) error {
	for _, name := range [...]string{"guardrailConfig", "promptVariables"} {
		inner, ok, err := o.Optional(name)
		if err != nil {
			return err
		}
		if v := o.Get(name); ok && len(inner.Members) > 0 {
			return v.Unsupported("refers to resources of an AWS account and is not supported: leave it out")
		}
	}
	return nil
}

// inference reads inferenceConfig, which holds the token limit, the sampling parameters and the stop sequences.
func (in *clientReader) inference(o *fields.Object) error {
	config, ok, err := o.Optional("inferenceConfig")
	if !ok || err != nil {
		return err
	}
	limit := config.Get("maxTokens")
	if in.q.MaxTokens, err = limit.Integer(1); err != nil {
		return err
	}
	for _, p := range [...]struct{ name, param string }{{"temperature", "temperature"}, {"topP", "top_p"}} {
		v := config.Get(p.name)
		switch {
		case !v.Given():
		case v.Type != gjson.Number:
			return v.Wrong("a number")
		case v.Num < 0 || v.Num > 1:
			return v.Invalid("must be from 0 to 1")
		default:
			in.q.AddParam(p.param, v.Raw)
		}
	}
	in.q.DropOnce(config.Others("maxTokens", "temperature", "topP", "stopSequences")...)
	stop := config.Get("stopSequences")
	if !stop.Given() {
		return nil
	}
	return stop.Each(func(v fields.Value) error {
		text, err := v.Text()
		if err == nil && text == "" {
			err = v.Invalid("must not be empty")
		}
		in.q.Stop = append(in.q.Stop, text)
		return err
	})
}

// output reads outputConfig.textFormat, the JSON schema that the answer must match.
func (in *clientReader) output(o *fields.Object) error {
	config, ok, err := o.Optional("outputConfig")
	if !ok || err != nil {
		return err
	}
	in.q.DropOnce(config.Others("textFormat")...)
	format, ok, err := config.Optional("textFormat")
	if !ok || err != nil {
		return err
	}
	kind := format.Get("type")
	if kind.Str != "json_schema" {
		return kind.Invalid("must be json_schema")
	}
	var structure, schema fields.Object
	if err := structure.Open(format.Get("structure")); err != nil {
		return err
	}
	if err := schema.Open(structure.Get("jsonSchema")); err != nil {
		return err
	}
	text, err := schema.Name("schema")
	if err != nil {
		return err
	}
	if !hub.IsObject([]byte(text)) {
		return schema.Get("schema").Invalid("must be the JSON text of an object")
	}
	return in.schema(&schema, text)
}

// schema sets the schema that the answer must match. text is the JSON text of the schema. The schema's name and
// description are optional fields of o.
func (in *clientReader) schema(o *fields.Object, text string) (err error) {
	in.q.Output = &hub.Output{Kind: "json_schema", Name: "output", Schema: text, Strict: "true"}
	name, err := o.Text("name")
	if err == nil && name != "" {
		in.q.Output.Name = hub.LegalName(name)
	}
	if err == nil {
		in.q.Output.Description, err = o.Text("description")
	}
	return err
}

// serviceTier reads the field serviceTier. A tier that other formats do not have is recorded as dropped.
func (in *clientReader) serviceTier(o *fields.Object) error {
	tier, ok, err := o.Optional("serviceTier")
	if !ok || err != nil {
		return err
	}
	kind, err := tier.Text("type")
	switch kind {
	case "":
	case "default", "flex", "priority":
		in.q.AddParam("service_tier", `"`+kind+`"`)
	default:
		in.q.DropOnce("serviceTier")
	}
	return err
}

// stopPaths maps each path with which a client can request the stop sequence to the beginning of the JSON object in
// which the answer states the stop sequence.
var stopPaths = map[string]string{
	"/stop_sequence": `{"stop_sequence":`, "/delta/stop_sequence": `{"delta":{"stop_sequence":`,
}

// responseFields reads additionalModelResponseFieldPaths, with which a client requests more fields in the answer. Only
// the stop sequence is supported (see stopPaths). For any other path the field is recorded as dropped.
func (in *clientReader) responseFields(o *fields.Object) error {
	const name = "additionalModelResponseFieldPaths"
	paths := o.Get(name)
	if !paths.Given() {
		return nil
	}
	return paths.Each(func(v fields.Value) error {
		path, err := v.Text()
		if stopPaths[path] == "" {
			in.q.DropOnce(name)
		} else if len(in.q.Answer.Echo) == 0 {
			in.q.Answer.Echo = []hub.Param{{Name: name, Value: path}}
		}
		return err
	})
}

// system reads the field system, a list of text blocks and cache points, and adds a system message.
func (in *clientReader) system(o *fields.Object) error {
	list := o.Get("system")
	if !list.Given() {
		return nil
	}
	joined := hub.Joiner{Separator: "\n\n"}
	err := list.Each(func(v fields.Value) error {
		var block fields.Object
		if err := block.Open(v); err != nil {
			return err
		}
		if point := block.Get("cachePoint"); point.Given() {
			mark, err := cacheMark(&block)
			joined.End(mark)
			return err
		}
		text, err := in.textOf(&block)
		joined.Add(text, "")
		return err
	})
	if parts := joined.End(""); len(parts) > 0 {
		in.turns.Add(hub.Message{Role: hub.System, Parts: parts})
	}
	return err
}

// textOf returns the text of a block, which must have the field text, or guardContent with a text. guardContent counts
// as ordinary text, since a request with a guardrail is rejected anyway. An error has status 400.
func (in *clientReader) textOf(block *fields.Object) (string, error) {
	guarded, ok, err := block.Optional("guardContent")
	if err != nil {
		return "", err
	}
	if !ok {
		v := block.Get("text")
		if !v.Given() {
			return "", v.Missing()
		}
		return v.Text()
	}
	inner, ok, err := guarded.Optional("text")
	if !ok && err == nil {
		v := guarded.Get("text")
		err = v.Missing()
	}
	if err != nil {
		return "", err
	}
	return inner.Text("text")
}

// cacheMark converts the field cachePoint of block to the JSON text of a cache_control mark, such as
// {"type":"ephemeral"}. A ttl other than 5m and 1h is an error.
func cacheMark(block *fields.Object) (string, error) {
	point, _, err := block.Optional("cachePoint")
	if err != nil {
		return "", err
	}
	ttl, err := point.Text("ttl")
	switch {
	case err != nil:
		return "", err
	case ttl == "":
		return `{"type":"ephemeral"}`, nil
	case ttl != "5m" && ttl != "1h":
		return "", point.Get("ttl").Invalid("must be 5m or 1h, it is %s", hub.Shown(ttl))
	}
	return `{"type":"ephemeral","ttl":"` + ttl + `"}`, nil
}
