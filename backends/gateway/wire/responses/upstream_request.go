package responses

import (
	"slices"
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// upstreamLeastTokens is the smallest accepted max_output_tokens.
const upstreamLeastTokens = 16

// Write returns a request for a Responses upstream. The upstream is asked to store nothing, so reasoning state is
// requested with the answer.
//
// Custom tools are sent as custom tools if the provider supports them. All other tools are sent as functions.
func (Format) Write(r *hub.Request, t *hub.Target) (hub.Written, error) {
	if err := r.CheckAnswer("responses"); err != nil {
		return hub.Written{}, err
	}
	r = r.WithOtherEffort()
	w := upstreamWriter{r: r, t: t, dst: make([]byte, 0, len(r.Body)+2048)}
	w.findCustom()
	w.dst = jsontext.AppendMember(w.dst, `{"model":`, t.Model.ID)
	next := w.instructions()
	w.dst = append(w.dst, `,"input":[`...)
	if err := w.input(next); err != nil {
		return hub.Written{}, err
	}
	w.dst = append(w.dst, ']')
	w.tools()
	w.text()
	w.reasoning()
	w.limit()
	w.params()
	w.dropped = append(w.dropped, r.ChatOnlyPaths()...)
	w.include()
	w.dst = append(w.dst, `,"store":false`...)
	if r.Stream {
		w.dst = append(w.dst, `,"stream":true`...)
	}
	w.dst = append(w.dst, '}')
	return hub.Written{Body: w.dst, Dropped: w.dropped}, nil
}

// upstreamWriter is the state of writing a request.
type upstreamWriter struct {
	r       *hub.Request
	t       *hub.Target
	dst     []byte              // the request so far
	dropped []string            // names of parameters that are not sent
	items   int                 // input items written
	custom  map[string]struct{} // names of tools that are sent as custom tools
	called  map[string]struct{} // ids of calls of these tools
}

// drops reports whether the target does not accept the chat completions parameter with this name.
func (w *upstreamWriter) drops(name string) bool { return slices.Contains(w.t.Drop, name) }

// findCustom records the client's custom tools in w.custom if the provider supports custom tools. Otherwise they are
// sent as functions.
func (w *upstreamWriter) findCustom() {
	if !w.t.Provider.NativeTools {
		return
	}
	for i := range w.r.Tools {
		if t := &w.r.Tools[i]; t.Kind == hub.ToolCustom {
			if w.custom == nil {
				w.custom, w.called = make(map[string]struct{}), make(map[string]struct{})
			}
			w.custom[t.Name] = struct{}{}
		}
	}
}

// isCustom reports whether the tool with this upstream name is sent as a custom tool.
func (w *upstreamWriter) isCustom(name string) bool {
	_, ok := w.custom[name]
	return ok
}

// tools writes the fields tools, tool_choice and parallel_tool_calls.
func (w *upstreamWriter) tools() {
	if len(w.r.Tools) == 0 {
		return // the format refuses tool_choice without tools
	}
	w.dst = append(w.dst, `,"tools":[`...)
	for i := range w.r.Tools {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		w.tool(&w.r.Tools[i])
	}
	w.dst = append(w.dst, ']')
	switch w.r.Choice.Mode {
	case "auto", "none", "required":
		w.dst = jsontext.AppendAll(w.dst, `,"tool_choice":"`, w.r.Choice.Mode, `"`)
	case "function":
		kind := "function"
		if w.isCustom(w.r.Choice.Name) {
			kind = "custom"
		}
		w.dst = jsontext.AppendAll(w.dst, `,"tool_choice":{"type":"`, kind, `","name":`)
		w.dst = append(jsontext.AppendQuoted(w.dst, w.r.Choice.Name), '}')
	}
	if parallel := w.r.Param("parallel_tool_calls"); (parallel == "true" || parallel == "false") &&
		!w.drops("parallel_tool_calls") {
		w.dst = append(append(w.dst, `,"parallel_tool_calls":`...), parallel...)
	}
}

// tool writes one element of tools.
func (w *upstreamWriter) tool(t *hub.Tool) {
	custom := w.isCustom(t.Name)
	kind := "function"
	if custom {
		kind = "custom"
	}
	w.dst = jsontext.AppendAll(w.dst, `{"type":"`, kind, `","name":`)
	w.dst = jsontext.AppendQuoted(w.dst, t.Name)
	if t.Description != "" {
		w.dst = jsontext.AppendMember(w.dst, `,"description":`, t.Description)
	}
	if !custom {
		w.dst = append(w.dst, `,"parameters":`...)
		if t.Parameters == "" {
			w.dst = append(w.dst, `{"type":"object","properties":{}}`...)
		} else {
			w.dst = append(w.dst, t.Parameters...)
		}
		// Without this field the upstream would treat the schema as strict.
		strict := t.Strict == "true" && !w.drops("strict")
		w.dst = strconv.AppendBool(append(w.dst, `,"strict":`...), strict)
	}
	w.dst = append(w.dst, '}')
}

// text writes the field text, which states the form of the answer and its verbosity.
func (w *upstreamWriter) text() {
	verbosity := w.r.Param("verbosity")
	switch {
	case verbosity == "null":
		verbosity = ""
	case verbosity != "" && w.drops("verbosity"):
		verbosity = ""
		w.dropped = append(w.dropped, "verbosity")
	}
	o := w.r.Output
	if o == nil && verbosity == "" {
		return
	}
	w.dst = append(w.dst, `,"text":{`...)
	if o != nil {
		w.format(o)
	}
	if verbosity != "" {
		if o != nil {
			w.dst = append(w.dst, ',')
		}
		w.dst = append(append(w.dst, `"verbosity":`...), verbosity...)
	}
	w.dst = append(w.dst, '}')
}

// format writes the field format of text, which states the form of the answer.
func (w *upstreamWriter) format(o *hub.Output) {
	if o.Kind != "json_schema" || o.Schema == "" {
		w.dst = append(w.dst, `"format":{"type":"json_object"}`...)
		return
	}
	w.dst = append(w.dst, `"format":{"type":"json_schema","name":`...)
	name := o.Name
	if name == "" {
		name = "output"
	}
	w.dst = jsontext.AppendQuoted(w.dst, name)
	if o.Description != "" {
		w.dst = jsontext.AppendMember(w.dst, `,"description":`, o.Description)
	}
	w.dst = append(append(w.dst, `,"schema":`...), o.Schema...)
	if (o.Strict == "true" || o.Strict == "false") && !w.drops("strict") {
		w.dst = append(append(w.dst, `,"strict":`...), o.Strict...)
	}
	w.dst = append(w.dst, '}')
}

// reasoning writes the effort if the model supports it.
func (w *upstreamWriter) reasoning() {
	if w.r.Effort == "" {
		return
	}
	effort := w.t.Effort(w.r.Effort, hub.EffortMinimal) // rounding never turns reasoning off
	if effort == "" || w.drops("reasoning_effort") {
		w.dropped = append(w.dropped, "reasoning_effort")
		return
	}
	w.dst = append(append(append(w.dst, `,"reasoning":{"effort":"`...), effort...), '"')
	if effort != hub.EffortNone && w.r.Answer.Reasoning && !w.r.Answer.HideReasoningText {
		w.dst = append(w.dst, `,"summary":"auto"`...)
	}
	w.dst = append(w.dst, '}')
}

// limit writes max_output_tokens: the client's limit, adjusted to the limits of the model and the format.
func (w *upstreamWriter) limit() {
	if w.r.MaxTokens == 0 {
		return
	}
	w.dst = append(w.dst, `,"max_output_tokens":`...)
	w.dst = strconv.AppendInt(w.dst, max(w.t.Limit(w.r.MaxTokens), upstreamLeastTokens), 10)
}

// params writes the remaining parameters of chat completions that the format has, and drops the others.
func (w *upstreamWriter) params() {
	if len(w.r.Stop) > 0 {
		w.dropped = append(w.dropped, "stop")
	}
	for _, p := range w.r.Params {
		switch {
		case p.IsDefault():
			continue
		case w.drops(p.Name) && p.Name != "store" && p.Name != "verbosity":
			w.dropped = append(w.dropped, p.Name)
			continue
		}
		switch p.Name {
		case "temperature", "top_p", "top_logprobs", "user", "safety_identifier", "prompt_cache_key",
			"prompt_cache_retention", "service_tier", "metadata":
			w.dst = jsontext.AppendAll(w.dst, `,"`, p.Name, `":`, p.Value)
		case "n", "parallel_tool_calls", "verbosity", "store", "logprobs":
			// Written elsewhere, or not sent.
		default:
			w.dropped = append(w.dropped, p.Name)
		}
	}
	if key := hub.CacheKey(w.r, w.t); key != "" {
		w.dst = append(append(w.dst, `,"prompt_cache_key":`...), key...)
	}
}

// include writes the field include, which requests reasoning state and log probabilities with the answer.
func (w *upstreamWriter) include() {
	state := w.t.Model.Reasoning // other models refuse the include value for state
	logprobs := (w.r.Answer.Logprobs || w.r.Param("logprobs") == "true") && !w.drops("logprobs")
	if !state && !logprobs {
		return
	}
	w.dst = append(w.dst, `,"include":[`...)
	if state {
		w.dst = append(w.dst, `"reasoning.encrypted_content"`...)
	}
	if logprobs {
		if state {
			w.dst = append(w.dst, ',')
		}
		w.dst = append(w.dst, `"message.output_text.logprobs"`...)
	}
	w.dst = append(w.dst, ']')
}
