package messages

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// upstreamMaxTokens is the limit for models whose own is not published, since the format requires one.
const upstreamMaxTokens = 4096

// Write returns a request for a messages upstream (specification 10).
func Write(r *hub.Request, t *hub.Target) (hub.Written, error) {
	if kind := r.OtherOutput(); kind != "" {
		return hub.Written{}, fmt.Errorf("modalities has %s: the messages format gives text", hub.Shown(kind))
	}
	r = r.InCommonWords()
	w := upstreamWriter{r: r, t: t, dst: make([]byte, 0, len(r.Body)+2048)}
	if n, err := strconv.ParseFloat(r.Param("n"), 64); err == nil && n > 1 {
		return hub.Written{}, fmt.Errorf("n is %v: the messages format gives one answer", n)
	}
	w.maxTokens = upstreamLimit(r, t)
	w.decideThinking()
	w.decideOutput()
	w.dst = jsontext.AppendMember(w.dst, `{"model":`, t.Model.ID)
	w.dst = append(w.dst, `,"max_tokens":`...)
	w.dst = strconv.AppendInt(w.dst, w.maxTokens, 10)
	rest, err := w.system()
	if err != nil {
		return hub.Written{}, err
	}
	w.dst = append(w.dst, `,"messages":[`...)
	if err := w.messages(rest); err != nil {
		return hub.Written{}, err
	}
	w.dst = append(w.dst, ']')
	w.tools()
	w.reasoning()
	w.stop()
	version := w.params()
	w.dropped = append(w.dropped, r.OnlyOfChat()...)
	if r.Stream {
		w.dst = append(w.dst, `,"stream":true`...)
	}
	w.dst = append(w.dst, '}')
	if upstreamMarksOf(r, t) {
		w.dst = w.marks.write(w.dst)
	}
	return hub.Written{Body: w.dst, Dropped: w.dropped, Header: map[string]string{"anthropic-version": version}}, nil
}

type upstreamWriter struct {
	r       *hub.Request
	t       *hub.Target
	dst     []byte
	dropped []string

	maxTokens int64
	thinking  upstreamThinking
	effort    string // of output_config; empty if there is none
	budget    int64  // for thinking that is turned on with a budget
	grammar   string // the schema that the answer is held to; empty if there is none

	role  hub.Role // of the message being written; 0 if there is none
	turns int      // messages written
	marks upstreamMarks
}

// upstreamDrops reports whether a parameter is not sent. Parameters that the shape of a provider drops are dropped in
// its chat format only.
func upstreamDrops(t *hub.Target, name string) bool {
	return slices.Contains(t.Drop, name) && !slices.Contains(t.Provider.Shape.Drop, name)
}

func upstreamLimit(r *hub.Request, t *hub.Target) int64 {
	maximum := int64(t.Model.MaxOutput)
	switch {
	case r.MaxTokens > 0 && maximum > 0:
		return min(r.MaxTokens, maximum)
	case r.MaxTokens > 0:
		return r.MaxTokens
	case maximum > 0:
		return maximum
	}
	return upstreamMaxTokens
}

// system writes the leading system messages and returns the index of the message after them.
func (w *upstreamWriter) system() (rest int, err error) {
	const open = `,"system":[`
	from := len(w.dst)
	w.dst = append(w.dst, open...)
	texts := 0
	block := func(text, cache string) {
		if upstreamBlank(text) {
			return
		}
		if texts++; texts > 1 {
			w.dst = append(w.dst, ',')
		}
		w.textBlock(text, cache)
	}
	for ; rest < len(w.r.Messages); rest++ {
		m := &w.r.Messages[rest]
		if m.Role != hub.System && m.Role != hub.Developer {
			break
		}
		for i := range m.Parts {
			p := &m.Parts[i]
			if p.Kind != hub.PartText {
				return 0, fmt.Errorf("messages[%d] is a system message with more than text, which the messages format does not carry", rest)
			}
			block(p.Text, p.Cache)
		}
	}
	block(w.outputRule(), "")
	if texts == 0 {
		w.dst = w.dst[:from]
		return rest, nil
	}
	w.marks.system = len(w.dst) - 1
	w.dst = append(w.dst, ']')
	return rest, nil
}

// outputRule returns what the model must be told about the form of its answer.
func (w *upstreamWriter) outputRule() string {
	if w.grammar != "" {
		return ""
	}
	return w.r.Output.Rule()
}

// decideOutput determines whether the schema of the answer can be sent as such.
func (w *upstreamWriter) decideOutput() {
	if o := w.r.Output; o != nil && o.Kind == "json_schema" && o.Schema != "" && w.t.Model.JSONSchema {
		w.grammar, _ = upstreamGrammar(o.Schema)
	}
}

func (w *upstreamWriter) tools() {
	parallel := w.r.Param("parallel_tool_calls") != "false"
	if len(w.r.Tools) == 0 {
		return // tool_choice without tools is an error there
	}
	w.dst = append(w.dst, `,"tools":[`...)
	for i := range w.r.Tools {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		w.tool(&w.r.Tools[i])
	}
	w.marks.tool = len(w.dst) - 1
	w.dst = append(w.dst, ']')
	var kind string
	switch w.r.Choice.Mode {
	case "auto", "none":
		kind = w.r.Choice.Mode
	case "required":
		kind = "any"
	case "function":
		kind = "tool"
	default:
		if parallel {
			return
		}
		kind = "auto"
	}
	w.dst = jsontext.AppendAll(w.dst, `,"tool_choice":{"type":"`, kind, `"`)
	if kind == "tool" {
		w.dst = jsontext.AppendMember(w.dst, `,"name":`, w.r.Choice.Name)
	}
	if !parallel && kind != "none" {
		w.dst = append(w.dst, `,"disable_parallel_tool_use":true`...)
	}
	w.dst = append(w.dst, '}')
}

func (w *upstreamWriter) tool(t *hub.Tool) {
	w.dst = jsontext.AppendMember(w.dst, `{"name":`, t.Name)
	if t.Description != "" {
		w.dst = jsontext.AppendMember(w.dst, `,"description":`, t.Description)
	}
	schema, strict := upstreamSchema(t.Parameters), false
	if t.Strict == "true" && !upstreamDrops(w.t, "strict") {
		if held, ok := upstreamGrammar(schema); ok {
			schema, strict = held, true
		}
	}
	w.dst = append(append(w.dst, `,"input_schema":`...), schema...)
	if strict {
		w.dst = append(w.dst, `,"strict":true`...)
	}
	w.cache(t.Cache)
	w.dst = append(w.dst, '}')
}

// cache writes the mark of a block.
func (w *upstreamWriter) cache(mark string) {
	if mark != "" {
		w.dst = append(append(w.dst, `,"cache_control":`...), mark...)
	}
}
