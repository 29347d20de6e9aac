package converse

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/messages"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Write returns a request for Converse or ConverseStream. The model is not part of the body but of the address. Its
// errors name what the format cannot express.
func Write(r *hub.Request, t *hub.Target) (hub.Written, error) {
	if kind := r.OtherOutput(); kind != "" {
		return hub.Written{}, fmt.Errorf("modalities has %s: the Converse format gives text", hub.Shown(kind))
	}
	r = r.InCommonWords()
	if n, err := strconv.ParseFloat(r.Param("n"), 64); err == nil && n > 1 {
		return hub.Written{}, fmt.Errorf("n is %v: the Converse format gives one answer", n)
	}
	w := writer{r: r, t: t, maker: makerOf(t.Model.Family), dst: make([]byte, 0, len(r.Body)+2048)}
	w.maxTokens = limit(r, t)
	w.grammar = grammar(r, t)
	w.dst = append(w.dst, '{')
	rest, err := w.system()
	if err != nil {
		return hub.Written{}, err
	}
	w.dst = append(w.dst, `"messages":[`...)
	if err := w.messages(rest); err != nil {
		return hub.Written{}, err
	}
	w.dst = append(w.dst, ']')
	w.tools()
	w.output()
	w.params(w.reasoning())
	w.dst = append(w.dst, '}')
	w.dropped = append(w.dropped, r.OnlyOfChat()...)
	written := hub.Written{Body: w.dst, Dropped: w.dropped}
	if r.Stream {
		written.Header = map[string]string{"Accept": wire.EventStreamType}
	}
	return written, nil
}

type writer struct {
	r       *hub.Request
	t       *hub.Target
	maker   maker
	dst     []byte
	dropped []string

	maxTokens int64  // 0 leaves the limit to the model
	grammar   string // the schema that the answer must conform to; empty if there is none

	role      hub.Role // of the message being written; 0 between messages
	turns     int      // messages written
	documents int      // number of documents in the request, whose names must differ
	bare      bool     // the message being written has a document and no text
}

// maker is the vendor of a model. For what Converse does not define, each vendor has parameters of its own.
type maker uint8

const (
	otherMaker maker = iota
	anthropic
	nova
	openai
)

// makerOf returns the vendor of a family of models. The family of a model hosted by a cloud begins with the cloud's
// code and a slash.
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

// limit returns the maximum number of tokens of the answer, or 0 to leave it to the model. Claude needs the number to
// divide it between thinking and the answer.
func limit(r *hub.Request, t *hub.Target) int64 {
	known := int64(t.Model.MaxOutput)
	switch {
	case r.MaxTokens > 0 && known > 0:
		return min(r.MaxTokens, known)
	case r.MaxTokens == 0 && makerOf(t.Model.Family) == anthropic:
		return known
	}
	return r.MaxTokens
}

// grammar returns the schema that the answer must conform to, or an empty string if the model cannot enforce one.
func grammar(r *hub.Request, t *hub.Target) string {
	if o := r.Output; o != nil && o.Kind == "json_schema" && o.Schema != "" && t.Model.JSONSchema {
		held, _ := messages.Grammar(o.Schema)
		return held
	}
	return ""
}

// drops reports whether a parameter is left out because the provider has refused it.
func (w *writer) drops(name string) bool {
	return slices.Contains(w.t.Drop, name) && !slices.Contains(w.t.Provider.Shape.Drop, name)
}

// system writes the member system with the leading system messages, and returns the index of the first message after
// them.
func (w *writer) system() (rest int, err error) {
	from := len(w.dst)
	w.dst = append(w.dst, `"system":[`...)
	texts := 0
	block := func(text, mark string) {
		if blank(text) {
			return
		}
		if texts++; texts > 1 {
			w.dst = append(w.dst, ',')
		}
		w.text(text)
		w.cachePoint(mark)
	}
	for ; rest < len(w.r.Messages); rest++ {
		m := &w.r.Messages[rest]
		if m.Role != hub.System && m.Role != hub.Developer {
			break
		}
		for i := range m.Parts {
			if m.Parts[i].Kind != hub.PartText {
				return 0, fmt.Errorf("messages[%d] is a system message with more than text, which the Converse format does not carry", rest)
			}
			block(m.Parts[i].Text, m.Parts[i].Cache)
		}
	}
	if w.grammar == "" {
		block(w.r.Output.Rule(), "")
	}
	if texts == 0 {
		w.dst = w.dst[:from]
		return rest, nil
	}
	w.dst = append(w.dst, "],"...)
	return rest, nil
}

// tools writes toolConfig. The format refuses a history with calls but no tools, so tools that the history calls and
// the request does not define get a minimal definition. The format cannot forbid calls: with tool_choice "none" the
// tools are left out unless the history has calls.
func (w *writer) tools() {
	defined := w.r.Tools
	called := w.called()
	if w.r.Choice.Mode == "none" {
		if len(defined) > 0 && len(called) > 0 {
			w.dropped = append(w.dropped, "tool_choice")
		} else if len(called) == 0 {
			return
		}
	}
	if len(defined) == 0 && len(called) == 0 {
		return
	}
	w.dst = append(w.dst, `,"toolConfig":{"tools":[`...)
	for i := range defined {
		w.tool(&defined[i], i > 0)
	}
	for i, name := range called {
		if !slices.ContainsFunc(defined, func(t hub.Tool) bool { return t.Name == name }) {
			w.tool(&hub.Tool{Name: name, Description: "A tool that is no longer available."}, i+len(defined) > 0)
		}
	}
	w.dst = append(w.dst, ']')
	switch {
	case len(defined) == 0:
	case w.r.Choice.Mode == "required":
		w.dst = append(w.dst, `,"toolChoice":{"any":{}}`...)
	case w.r.Choice.Mode == "function":
		w.dst = append(jsontext.AppendMember(w.dst, `,"toolChoice":{"tool":{"name":`, w.r.Choice.Name), "}}"...)
	}
	w.dst = append(w.dst, '}')
}

// called returns the names of the tools that the history calls, each once, in the order of their first calls.
func (w *writer) called() (names []string) {
	for i := range w.r.Messages {
		for j := range w.r.Messages[i].Calls {
			if name := w.r.Messages[i].Calls[j].Name; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// tool writes the definition of a tool.
func (w *writer) tool(t *hub.Tool, more bool) {
	if more {
		w.dst = append(w.dst, ',')
	}
	w.dst = jsontext.AppendMember(w.dst, `{"toolSpec":{"name":`, t.Name)
	if !blank(t.Description) {
		w.dst = jsontext.AppendMember(w.dst, `,"description":`, t.Description)
	}
	schema, strict := messages.ToolSchema(t.Parameters), false
	if t.Strict == "true" && !w.drops("strict") && w.t.Model.JSONSchema {
		if held, ok := messages.Grammar(schema); ok {
			schema, strict = held, true
		}
	}
	w.dst = jsontext.AppendAll(w.dst, `,"inputSchema":{"json":`, schema, `}`)
	if strict {
		w.dst = append(w.dst, `,"strict":true`...)
	}
	w.dst = append(w.dst, "}}"...)
	w.cachePoint(t.Cache)
}

// output writes the schema that the answer must conform to.
func (w *writer) output() {
	if w.grammar == "" {
		return
	}
	w.dst = jsontext.AppendMember(w.dst, `,"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"schema":`, w.grammar)
	if name := w.r.Output.Name; name != "" {
		w.dst = jsontext.AppendMember(w.dst, `,"name":`, name)
	}
	if description := w.r.Output.Description; description != "" {
		w.dst = jsontext.AppendMember(w.dst, `,"description":`, description)
	}
	w.dst = append(w.dst, "}}}}"...)
}

// cachePoint writes a cache point after a block that the client has marked for caching, if the vendor's models may
// support that.
func (w *writer) cachePoint(mark string) {
	switch {
	case mark == "" || w.maker != anthropic && w.maker != nova:
	case w.maker == anthropic && strings.Contains(mark, `"1h"`):
		w.dst = append(w.dst, `,{"cachePoint":{"type":"default","ttl":"1h"}}`...)
	default:
		w.dst = append(w.dst, `,{"cachePoint":{"type":"default"}}`...)
	}
}

// text writes a text block.
func (w *writer) text(text string) {
	w.dst = append(jsontext.AppendMember(w.dst, `{"text":`, text), '}')
}

// blank reports whether a text is only white space, which the format refuses.
func blank(text string) bool { return strings.TrimSpace(text) == "" }
