package messages

import (
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/blocks"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/claudeschema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// upstreamMaxTokens is the token limit for models without a published maximum, since the format requires a limit.
const upstreamMaxTokens = 4096

// Write returns a request for a messages upstream.
func (Format) Write(r *hub.Request, t *hub.Target) (hub.Written, error) {
	if err := r.CheckAnswer("messages"); err != nil {
		return hub.Written{}, err
	}
	r = r.WithOtherEffort()
	w := newUpstreamWriter(r, t, make([]byte, 0, len(r.Body)+2048))
	w.maxTokens = upstreamLimit(r, t)
	w.decideThinking()
	w.decideOutput()
	w.Dst = jsontext.AppendMember(w.Dst, `{"model":`, t.Model.ID)
	w.Dst = append(w.Dst, `,"max_tokens":`...)
	w.Dst = strconv.AppendInt(w.Dst, w.maxTokens, 10)
	next, wrote, err := w.System(w, `,"system":[`, w.outputRule())
	if err != nil {
		return hub.Written{}, err
	}
	if wrote {
		w.marks.system = len(w.Dst) - 1
		w.Dst = append(w.Dst, ']')
	}
	w.Dst = append(w.Dst, `,"messages":[`...)
	if err := w.Messages(w, next); err != nil {
		return hub.Written{}, err
	}
	w.Dst = append(w.Dst, ']')
	w.tools()
	w.reasoning()
	w.stop()
	version := w.params()
	w.dropped = append(w.dropped, r.ChatOnlyPaths()...)
	if r.Stream {
		w.Dst = append(w.Dst, `,"stream":true`...)
	}
	w.Dst = append(w.Dst, '}')
	if upstreamAddsMarks(r, t) {
		w.Dst = w.marks.write(w.Dst)
	}
	return hub.Written{Body: w.Dst, Dropped: w.dropped, Header: version}, nil
}

// upstreamWriter is the state of writing a request. It implements blocks.Contents.
type upstreamWriter struct {
	blocks.Turns
	dropped []string // names of parameters that are not sent

	maxTokens int64
	thinking  upstreamThinking
	effort    string // effort in output_config, or empty
	budget    int64  // thinking budget in tokens, with upstreamBudget
	grammar   string // schema that the upstream enforces, or empty

	marks upstreamMarks
}

func newUpstreamWriter(r *hub.Request, t *hub.Target, dst []byte) *upstreamWriter {
	return &upstreamWriter{Turns: blocks.Turns{Request: r, Target: t, Format: "messages", Dst: dst}}
}

// upstreamLimit returns the token limit of the answer.
func upstreamLimit(r *hub.Request, t *hub.Target) int64 {
	switch {
	case r.MaxTokens > 0:
		return t.Limit(r.MaxTokens)
	case t.Model.MaxOutput > 0:
		return int64(t.Model.MaxOutput)
	}
	return upstreamMaxTokens
}

// outputRule returns an instruction for the model about the form of its answer, or an empty string if the upstream
// enforces the form.
func (w *upstreamWriter) outputRule() string {
	if w.grammar != "" {
		return ""
	}
	return w.Request.Output.Rule()
}

// decideOutput sets w.grammar if the upstream can enforce the schema of the answer.
func (w *upstreamWriter) decideOutput() {
	if o := w.Request.Output; o != nil && o.Kind == "json_schema" && o.Schema != "" && w.Target.Model.JSONSchema {
		w.grammar, _ = claudeschema.Grammar(o.Schema)
	}
}

// tools writes the fields tools and tool_choice.
func (w *upstreamWriter) tools() {
	if len(w.Request.Tools) == 0 {
		return // the format refuses tool_choice without tools
	}
	parallel := w.Request.Param("parallel_tool_calls") != "false"
	w.Dst = append(w.Dst, `,"tools":[`...)
	for i := range w.Request.Tools {
		if i > 0 {
			w.Dst = append(w.Dst, ',')
		}
		w.tool(&w.Request.Tools[i])
	}
	w.marks.tool = len(w.Dst) - 1
	w.Dst = append(w.Dst, ']')
	var kind string
	switch w.Request.Choice.Mode {
	case "auto", "none":
		kind = w.Request.Choice.Mode
	case "required":
		kind = "any"
	case "function":
		kind = "tool"
	default:
		if parallel {
			return // the defaults need no tool_choice
		}
		kind = "auto"
	}
	w.Dst = jsontext.AppendAll(w.Dst, `,"tool_choice":{"type":"`, kind, `"`)
	if kind == "tool" {
		w.Dst = jsontext.AppendMember(w.Dst, `,"name":`, w.Request.Choice.Name)
	}
	if !parallel && kind != "none" {
		w.Dst = append(w.Dst, `,"disable_parallel_tool_use":true`...)
	}
	w.Dst = append(w.Dst, '}')
}

// tool writes one element of tools.
func (w *upstreamWriter) tool(t *hub.Tool) {
	w.Dst = jsontext.AppendMember(w.Dst, `{"name":`, t.Name)
	if t.Description != "" {
		w.Dst = jsontext.AppendMember(w.Dst, `,"description":`, t.Description)
	}
	schema, strict := claudeschema.Tool(t.Parameters), false
	if t.Strict == "true" && !w.Target.Refuses("strict") {
		if grammar, ok := claudeschema.Grammar(schema); ok {
			schema, strict = grammar, true
		}
	}
	w.Dst = append(append(w.Dst, `,"input_schema":`...), schema...)
	if strict {
		w.Dst = append(w.Dst, `,"strict":true`...)
	}
	w.cache(t.Cache)
	w.Dst = append(w.Dst, '}')
}

// cache writes the cache_control field of a block. mark is the field's value as JSON text. If mark is empty nothing is
// written.
func (w *upstreamWriter) cache(mark string) {
	if mark != "" {
		w.Dst = append(append(w.Dst, `,"cache_control":`...), mark...)
	}
}
