package converse

import (
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/blocks"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/claudeschema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Write writes r as a request of Converse, or of ConverseStream if it is to be streamed, for the candidate t. The body
// does not contain the model, which is a part of the address. The error names the content that the format cannot
// express.
func (Format) Write(r *hub.Request, t *hub.Target) (hub.Written, error) {
	if err := r.CheckAnswer("Converse"); err != nil {
		return hub.Written{}, err
	}
	r = r.WithOtherEffort()
	w := &writer{
		Turns: blocks.Turns{Request: r, Target: t, Format: "Converse", Dst: make([]byte, 0, len(r.Body)+2048)},
		maker: makerOf(t.Model.Family),
	}
	w.maxTokens = limit(r, t)
	w.grammar = grammar(r, t)
	w.Dst = append(w.Dst, '{')
	rule := ""
	if w.grammar == "" {
		rule = r.Output.Rule()
	}
	next, wrote, err := w.System(w, `"system":[`, rule)
	if err != nil {
		return hub.Written{}, err
	}
	if wrote {
		w.Dst = append(w.Dst, "],"...)
	}
	w.Dst = append(w.Dst, `"messages":[`...)
	if err := w.Messages(w, next); err != nil {
		return hub.Written{}, err
	}
	w.Dst = append(w.Dst, ']')
	w.tools()
	w.output()
	w.params(w.reasoning())
	w.Dst = append(w.Dst, '}')
	w.dropped = append(w.dropped, r.ChatOnlyPaths()...)
	written := hub.Written{Body: w.Dst, Dropped: w.dropped}
	if r.Stream {
		written.Header = map[string]string{"Accept": wire.EventStreamType}
	}
	return written, nil
}

// writer is the state of writing a request. It implements blocks.Contents.
type writer struct {
	blocks.Turns
	maker   maker
	dropped []string

	maxTokens int64  // 0 leaves the limit to the model
	grammar   string // schema that the upstream enforces; empty if it cannot

	documentsBefore int  // number of documents so far, to make their names unique
	lacksText       bool // the current turn has a document but no text
}

// maker is the vendor of a model. For features that Converse does not define, such as reasoning, each vendor has
// parameters of a different form.
type maker uint8

const (
	otherMaker maker = iota
	anthropic
	nova
	openai
)

// makerOf returns the vendor of the models of a family. For a model that a cloud hosts, the name of the family may have
// the cloud's code and a slash before it.
func makerOf(family string) maker {
	family = family[strings.LastIndexByte(family, '/')+1:]
	switch {
	case strings.HasPrefix(family, "claude"):
		return anthropic
	case strings.HasPrefix(family, "nova"):
		return nova
	case strings.HasPrefix(family, "gpt-"):
		return openai
	}
	return otherMaker
}

// limit returns the token limit that is sent to the upstream, or 0 if none is sent. A Claude model always gets a limit
// if one is known, since it requires a limit to divide between thinking and answer.
func limit(r *hub.Request, t *hub.Target) int64 {
	if r.MaxTokens == 0 && makerOf(t.Model.Family) == anthropic {
		return int64(t.Model.MaxOutput)
	}
	return t.Limit(r.MaxTokens)
}

// grammar returns the schema that the upstream is to enforce for the answer. It returns an empty string if the request
// has no schema, or if the upstream cannot enforce it.
func grammar(r *hub.Request, t *hub.Target) string {
	if o := r.Output; o != nil && o.Kind == "json_schema" && o.Schema != "" && t.Model.JSONSchema {
		schema, _ := claudeschema.Grammar(o.Schema)
		return schema
	}
	return ""
}

// tools writes toolConfig. The format refuses a request whose messages have tool calls but which defines no tools. So a
// tool that occurs only in calls gets a minimal definition. The format has no tool_choice "none": instead the tools are
// left out, unless the messages have tool calls.
func (w *writer) tools() {
	defined := w.Request.Tools
	called := w.called()
	forbidden := w.Request.Choice.Mode == "none"
	if len(called) == 0 && (forbidden || len(defined) == 0) {
		return
	}
	if forbidden && len(defined) > 0 {
		w.dropped = append(w.dropped, "tool_choice")
	}
	w.Dst = append(w.Dst, `,"toolConfig":{"tools":[`...)
	for i := range defined {
		w.tool(&defined[i], i > 0)
	}
	for i, name := range called {
		if !slices.ContainsFunc(defined, func(t hub.Tool) bool { return t.Name == name }) {
			w.tool(&hub.Tool{Name: name, Description: "A tool that is no longer available."}, i+len(defined) > 0)
		}
	}
	w.Dst = append(w.Dst, ']')
	switch {
	case len(defined) == 0:
	case w.Request.Choice.Mode == "required":
		w.Dst = append(w.Dst, `,"toolChoice":{"any":{}}`...)
	case w.Request.Choice.Mode == "function":
		w.Dst = append(jsontext.AppendMember(w.Dst, `,"toolChoice":{"tool":{"name":`, w.Request.Choice.Name), "}}"...)
	}
	w.Dst = append(w.Dst, '}')
}

// called returns the names of the tools for which the messages have calls, each once, in the order of their first
// calls.
func (w *writer) called() (names []string) {
	for i := range w.Request.Messages {
		for j := range w.Request.Messages[i].Calls {
			if name := w.Request.Messages[i].Calls[j].Name; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// tool writes the definition of t as an element of tools. needsComma is set if it is not the first element.
func (w *writer) tool(t *hub.Tool, needsComma bool) {
	if needsComma {
		w.Dst = append(w.Dst, ',')
	}
	w.Dst = jsontext.AppendMember(w.Dst, `{"toolSpec":{"name":`, t.Name)
	if !blocks.Blank(t.Description) {
		w.Dst = jsontext.AppendMember(w.Dst, `,"description":`, t.Description)
	}
	schema, strict := claudeschema.Tool(t.Parameters), false
	if t.Strict == "true" && !w.Target.Refuses("strict") && w.Target.Model.JSONSchema {
		if grammar, ok := claudeschema.Grammar(schema); ok {
			schema, strict = grammar, true
		}
	}
	w.Dst = jsontext.AppendAll(w.Dst, `,"inputSchema":{"json":`, schema, `}`)
	if strict {
		w.Dst = append(w.Dst, `,"strict":true`...)
	}
	w.Dst = append(w.Dst, "}}"...)
	w.cachePoint(t.Cache)
}

// output writes the field outputConfig with the schema in w.grammar, if there is one.
func (w *writer) output() {
	if w.grammar == "" {
		return
	}
	w.Dst = append(w.Dst, `,"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":`...)
	w.Dst = jsontext.AppendMember(w.Dst, `{"schema":`, w.grammar)
	if name := w.Request.Output.Name; name != "" {
		w.Dst = jsontext.AppendMember(w.Dst, `,"name":`, name)
	}
	if description := w.Request.Output.Description; description != "" {
		w.Dst = jsontext.AppendMember(w.Dst, `,"description":`, description)
	}
	w.Dst = append(w.Dst, "}}}}"...)
}

// cachePoint writes a cachePoint block after a block with the given cache mark. It writes nothing if mark is empty, or
// for models of a vendor without cache points.
func (w *writer) cachePoint(mark string) {
	switch {
	case mark == "" || w.maker != anthropic && w.maker != nova:
	case w.maker == anthropic && strings.Contains(mark, `"1h"`):
		w.Dst = append(w.Dst, `,{"cachePoint":{"type":"default","ttl":"1h"}}`...)
	default:
		w.Dst = append(w.Dst, `,{"cachePoint":{"type":"default"}}`...)
	}
}

// text writes a text block with the given text.
func (w *writer) text(text string) {
	w.Dst = append(jsontext.AppendMember(w.Dst, `{"text":`, text), '}')
}
