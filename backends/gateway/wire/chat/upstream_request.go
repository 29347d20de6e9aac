package chat

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Write writes r as a chat completions request for the candidate t. The error means that the candidate's format cannot
// express the request, for example a part of a message.
func (Format) Write(r *hub.Request, t *hub.Target) (hub.Written, error) {
	w := &body{request: r, target: t, shape: &t.Provider.Shape}
	w.cacheMarks = slices.ContainsFunc(w.shape.CacheMarks, func(prefix string) bool {
		return strings.HasPrefix(t.Model.ID, prefix)
	})
	w.dst = make([]byte, 0, len(r.Body)+len(r.Body)/8+1024)
	w.name("model")
	w.dst = jsontext.AppendQuoted(w.dst, t.Model.ID)
	if err := w.messages(); err != nil {
		return hub.Written{}, err
	}
	if err := w.tools(); err != nil {
		return hub.Written{}, err
	}
	if err := w.output(); err != nil {
		return hub.Written{}, err
	}
	w.limit()
	w.stop()
	w.effort()
	w.params()
	w.stream()
	return hub.Written{Body: append(w.dst, '}'), Dropped: w.dropped}, nil
}

// body is the state of writing a request.
type body struct {
	request *hub.Request
	target  *hub.Target
	shape   *catalog.Shape
	dst     []byte
	dropped []string
	// cacheMarks is set if the model accepts cache_control in text parts.
	cacheMarks bool
	// schemaWork is the number of bytes visited so far while schemas were reduced, see appendSubset.
	schemaWork int
}

// name writes the name of a top-level field and the colon after it. The caller writes the value.
func (w *body) name(name string) {
	if len(w.dst) == 0 {
		w.dst = append(w.dst, '{')
	} else {
		w.dst = append(w.dst, ',')
	}
	w.dst = append(jsontext.AppendQuoted(w.dst, name), ':')
}

// drops reports whether a parameter must be left out because the candidate does not accept it. names are the names
// under which Target.Drop may list the parameter. If it is left out, names[0] is recorded as dropped.
func (w *body) drops(names ...string) bool {
	if !slices.ContainsFunc(names, func(name string) bool { return slices.Contains(w.target.Drop, name) }) {
		return false
	}
	w.dropped = append(w.dropped, names[0])
	return true
}

// reservedTokens is the largest token limit that is sent to a provider which, before it answers, charges the whole
// limit against the quota. Usual answers are far shorter.
const reservedTokens = 16_384

// limit writes the token limit, lowered to the limits of the model and the provider.
func (w *body) limit() {
	if w.request.MaxTokens == 0 {
		return
	}
	n := w.target.Limit(w.request.MaxTokens)
	if w.shape.ReservesMaxTokens {
		n = min(n, reservedTokens)
	}
	field := w.target.MaxTokensField
	if field == "" {
		field = catalog.FieldMaxTokens
	}
	w.name(field)
	w.dst = strconv.AppendInt(w.dst, n, 10)
}

// maxStopsSent is the largest number of stop sequences that chat APIs accept. Further ones are not sent.
const maxStopsSent = 4

// stop writes the stop sequences.
func (w *body) stop() {
	sent := w.request.Stop[:min(len(w.request.Stop), maxStopsSent)]
	if slices.Contains(w.target.Drop, "stop") {
		sent = nil
	}
	if len(sent) < len(w.request.Stop) {
		clientParam := "stop" // the client's name of the parameter
		if w.request.Format == hub.Messages {
			clientParam = "stop_sequences"
		}
		w.dropped = append(w.dropped, clientParam)
	}
	if len(sent) == 0 {
		return
	}
	w.name("stop")
	for i, s := range sent {
		w.dst = append(w.dst, separator(i))
		w.dst = jsontext.AppendQuoted(w.dst, s)
	}
	w.dst = append(w.dst, ']')
}

// separator returns the character that precedes element i of a JSON array: "[" for the first element, "," for others.
func separator(i int) byte {
	if i == 0 {
		return '['
	}
	return ','
}

// effort writes the reasoning effort in the provider's form.
func (w *body) effort() {
	requestedEffort := w.request.Effort
	if requestedEffort == "" || w.drops("reasoning_effort", "reasoning") {
		return
	}
	if w.shape.ThinkingSwitch && requestedEffort == hub.EffortNone && w.target.Model.Reasoning {
		if w.request.Param("thinking") != "" {
			return // the client has set the provider's own parameter
		}
		w.name("thinking")
		w.dst = append(w.dst, `{"type":"disabled"}`...)
		return
	}
	effort := w.target.Effort(requestedEffort, hub.EffortMinimal) // rounding never turns reasoning off
	switch {
	case effort == "":
		w.dropped = append(w.dropped, "reasoning_effort")
	case w.shape.EffortField == catalog.EffortNested:
		if w.request.Format == hub.Chat && w.request.Param("reasoning") != "" {
			return // the client has set the provider's own parameter
		}
		w.name("reasoning")
		w.dst = append(append(append(w.dst, `{"effort":"`...), effort...), `"}`...)
	default:
		w.name("reasoning_effort")
		w.dst = jsontext.AppendQuoted(w.dst, string(effort))
	}
}

// params writes the parameters that the gateway passes on without interpreting them, in the client's order and with the
// provider's names, and then prompt_cache_key and logprobs.
func (w *body) params() {
	chatClient := w.request.Format == hub.Chat
	for i := range w.request.Params {
		p := &w.request.Params[i]
		sentName := p.Name
		if renamed := w.shape.Rename[p.Name]; renamed != "" {
			sentName = renamed
		}
		switch {
		case w.drops(p.Name):
		case p.Name == "top_k" && !chatClient: // few chat APIs have top_k, and some refuse unknown fields
			w.dropped = append(w.dropped, p.Name)
		case sentName != p.Name && w.request.Param(sentName) != "": // another parameter of the request has this name
			w.dropped = append(w.dropped, p.Name)
		case p.Name == "parallel_tool_calls" && len(w.request.Tools) == 0:
			// Without tools the parameter has no meaning, and some upstreams refuse it.
		default:
			w.name(sentName)
			w.dst = append(w.dst, p.Value...)
		}
	}
	if key := hub.CacheKey(w.request, w.target); key != "" {
		w.name("prompt_cache_key")
		w.dst = append(w.dst, key...)
	}
	if w.request.Answer.Logprobs && w.request.Param("logprobs") == "" && !w.drops("logprobs") {
		w.name("logprobs")
		w.dst = append(w.dst, "true"...)
	}
}

// stream writes stream and stream_options.
func (w *body) stream() {
	if !w.request.Stream {
		return
	}
	w.name("stream")
	w.dst = append(w.dst, "true"...)
	if w.target.StreamUsage {
		w.name("stream_options")
		w.dst = append(w.dst, `{"include_usage":true}`...)
	}
}

// output writes response_format. If the candidate does not support schemas, the value is {"type":"json_object"}, and a
// system message states the schema, see outputRule. The error is that of appendSubset.
func (w *body) output() error {
	o := w.request.Output
	if o == nil || w.drops("response_format") {
		return nil
	}
	w.name("response_format")
	if !w.schemaOutput() {
		w.dst = append(w.dst, `{"type":"json_object"}`...)
		return nil
	}
	w.dst = jsontext.AppendMember(w.dst, `{"type":"json_schema","json_schema":{"name":`, o.Name)
	if o.Description != "" {
		w.dst = jsontext.AppendMember(w.dst, `,"description":`, o.Description)
	}
	if o.Schema != "" {
		w.dst = append(w.dst, `,"schema":`...)
		if err := w.schema(o.Schema); err != nil {
			return err
		}
	}
	w.strict(o.Strict)
	w.dst = append(w.dst, "}}"...)
	return nil
}

// schemaOutput reports whether the request has a schema for the answer and the candidate supports it.
func (w *body) schemaOutput() bool {
	return w.request.Output.Kind == "json_schema" && w.target.Model.JSONSchema
}

// outputRule returns the text of a system message that asks for JSON, with the schema if there is one. It is needed if
// the candidate does not support response_format or its schema. Otherwise the result is an empty string.
func (w *body) outputRule() string {
	o := w.request.Output
	if o == nil {
		return ""
	}
	refused := slices.Contains(w.target.Drop, "response_format")
	switch {
	case o.Kind == "json_schema" && o.Schema != "" && (refused || !w.schemaOutput()):
		return "Answer with one JSON object only. It must match this JSON schema:\n" + o.Schema
	case refused || o.Kind == "json_schema" && !w.schemaOutput():
		return "Answer with one JSON object only."
	}
	return ""
}

// strict writes the field strict of a tool or schema. value is the JSON text of the field's value, or empty if the
// field is absent.
func (w *body) strict(value string) {
	if value != "" && !slices.Contains(w.target.Drop, "strict") {
		w.dst = append(append(w.dst, `,"strict":`...), value...)
	}
}

// schema writes a JSON schema in the form that the provider supports. The error is that of appendSubset.
func (w *body) schema(schema string) (err error) {
	if w.shape.SchemaSubset {
		w.dst, err = appendSubset(w.dst, schema, &w.schemaWork)
		return err
	}
	w.dst = append(w.dst, schema...)
	return nil
}

// tools writes the fields tools and tool_choice. The error names the tool whose schema is too large.
func (w *body) tools() error {
	tools := w.request.Tools
	if len(tools) == 0 || w.drops("tools") {
		return nil
	}
	w.name("tools")
	for i := range tools {
		tool := &tools[i]
		w.dst = append(w.dst, separator(i))
		w.dst = jsontext.AppendMember(w.dst, `{"type":"function","function":{"name":`, tool.Name)
		if tool.Description != "" {
			w.dst = jsontext.AppendMember(w.dst, `,"description":`, tool.Description)
		}
		if tool.Parameters != "" {
			w.dst = append(w.dst, `,"parameters":`...)
			if err := w.schema(tool.Parameters); err != nil {
				return errors.Join(errors.New("the parameters of tool "+tool.ClientName), err)
			}
		}
		w.strict(tool.Strict)
		w.dst = append(w.dst, "}}"...)
	}
	w.dst = append(w.dst, ']')
	w.choice()
	return nil
}

// choice writes tool_choice.
func (w *body) choice() {
	choice := w.request.Choice
	if choice.Mode == "" || w.drops("tool_choice") {
		return
	}
	w.name("tool_choice")
	switch {
	case choice.Mode == "function":
		w.dst = append(jsontext.AppendMember(w.dst, `{"type":"function","function":{"name":`, choice.Name), "}}"...)
	case choice.Mode == "required" && w.shape.ToolChoiceRequired != "":
		w.dst = jsontext.AppendQuoted(w.dst, w.shape.ToolChoiceRequired)
	default:
		w.dst = jsontext.AppendQuoted(w.dst, choice.Mode)
	}
}
