package converse

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// maxCalls limits the number of tool calls in an answer.
const maxCalls = 1024

// NewReader returns a reader for one answer of Converse, or of ConverseStream if it is streamed.
func (Format) NewReader(*catalog.Provider) hub.Reader { return &reader{} }

// reader implements hub.Reader.
type reader struct {
	deltas []hub.Delta // result of the current call
	ids    []string    // ids of all calls so far
	open   []call      // toolUse blocks of a stream that have not ended
	stop   string      // stopReason
	usage  wire.Usage
	ended  bool // DeltaEnd was returned
}

// call is a tool call in a stream whose block has not ended.
type call struct {
	block        int64 // contentBlockIndex
	index        int   // index of the call among the calls of the answer
	hasArguments bool  // some of its arguments have arrived
}

// Event implements hub.Reader. The last event of a stream is metadata, which contains the usage.
func (r *reader) Event(name, data []byte) (hub.Step, error) {
	r.deltas = r.deltas[:0]
	data = bytes.TrimSpace(data)
	if r.ended || len(data) == 0 {
		return hub.Step{Done: r.ended}, nil
	}
	if strings.HasSuffix(string(name), "xception") || string(name) == "error" { // "…Exception" or "exception"
		return hub.Step{}, exception(string(name), data)
	}
	event, err := parse(data)
	if err != nil {
		return hub.Step{}, err
	}
	step := hub.Step{}
	block := event.Get("contentBlockIndex").Int()
	switch string(name) {
	case "contentBlockStart":
		if use := event.Get("start.toolUse"); use.Exists() {
			err = r.begin(block, use)
		}
	case "contentBlockDelta":
		delta := event.Get("delta")
		step.Thinks = delta.Get("reasoningContent").Exists()
		r.delta(block, delta)
	case "contentBlockStop":
		r.close(block)
	case "messageStop":
		r.stop = event.Get("stopReason").Str
		step.Proof = r.stop != ""
	case "metadata":
		r.count(event.Get("usage"), event.Get("serviceTier.type").Str)
		if r.stop == "" {
			return hub.Step{}, wire.ErrNoFinish
		}
		r.end()
		step.Done = true
	}
	step.Deltas = r.deltas
	step.Proof = step.Proof || len(r.deltas) > 0
	return step, err
}

// End implements hub.Reader.
func (r *reader) End() (hub.Step, error) {
	r.deltas = r.deltas[:0]
	switch {
	case r.ended:
		return hub.Step{Done: true}, nil
	case r.stop == "":
		return hub.Step{}, wire.ErrNoFinish
	}
	r.end()
	return hub.Step{Deltas: r.deltas, Proof: true, Done: true}, nil
}

// Whole implements hub.Reader.
func (r *reader) Whole(body []byte) ([]hub.Delta, error) {
	answer, err := parse(body)
	if err != nil {
		return nil, err
	}
	content := answer.Get("output.message.content")
	r.stop = answer.Get("stopReason").Str
	if !content.IsArray() && r.stop == "" {
		if answer.Get("message").Exists() {
			return nil, wire.ParseUpstreamError(200, body)
		}
		return nil, wire.ErrNoChoices
	}
	r.deltas = r.deltas[:0]
	jsontext.Elements(content, func(block gjson.Result) bool {
		err = r.block(block)
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	if len(r.deltas) == 0 && r.stop == "" {
		return nil, wire.ErrNoChoices
	}
	r.count(answer.Get("usage"), answer.Get("serviceTier.type").Str)
	r.end()
	return r.deltas, nil
}

// Usage implements hub.Reader.
func (r *reader) Usage() wire.Usage { return r.usage }

// block reads a content block of a whole answer and appends its deltas to r.deltas. The error is that of begin.
func (r *reader) block(block gjson.Result) error {
	use := block.Get("toolUse")
	if !use.Exists() {
		reasoning := block.Get("reasoningContent.reasoningText")
		r.text(hub.DeltaText, block.Get("text"))
		r.text(hub.DeltaReasoning, reasoning.Get("text"))
		r.state(hub.FormSignature, reasoning.Get("signature"))
		r.state(hub.FormRedacted, block.Get("reasoningContent.redactedContent"))
		return nil
	}
	if err := r.begin(0, use); err != nil {
		return err
	}
	if input := use.Get("input"); input.IsObject() {
		c := &r.open[len(r.open)-1]
		c.hasArguments = true
		r.deltas = append(r.deltas, hub.Delta{
			Kind: hub.DeltaArguments, Call: c.index, Text: jsontext.AppendEscaped(nil, input.Raw),
		})
	}
	r.close(0)
	return nil
}

// delta reads the delta of a contentBlockDelta event and appends the resulting deltas to r.deltas. block is the index
// of the content block.
func (r *reader) delta(block int64, delta gjson.Result) {
	r.text(hub.DeltaText, delta.Get("text"))
	reasoning := delta.Get("reasoningContent")
	r.text(hub.DeltaReasoning, reasoning.Get("text"))
	r.state(hub.FormSignature, reasoning.Get("signature"))
	r.state(hub.FormRedacted, reasoning.Get("redactedContent"))
	input := stringContent(delta.Get("toolUse.input"))
	index := r.find(block)
	if index < 0 || len(input) == 0 {
		return
	}
	r.open[index].hasArguments = true
	r.deltas = append(r.deltas, hub.Delta{Kind: hub.DeltaArguments, Call: r.open[index].index, Text: input})
}

// begin reads use, the start of a toolUse block, and appends DeltaCall to r.deltas. block is the index of the content
// block. An error wraps wire.ErrBroken: the call has no name, or there are too many calls.
func (r *reader) begin(block int64, use gjson.Result) error {
	name, id := use.Get("name").Str, use.Get("toolUseId").Str
	if len(r.ids) == maxCalls {
		return fmt.Errorf("%w: more than %d tool calls", wire.ErrBroken, maxCalls)
	}
	if name == "" {
		return fmt.Errorf("%w: a tool call without a name", wire.ErrBroken)
	}
	if !wire.LegalID(id) || slices.Contains(r.ids, id) {
		id = wire.NewID("call_")
	}
	r.open = append(r.open, call{block: block, index: len(r.ids)})
	r.deltas = append(r.deltas, hub.Delta{Kind: hub.DeltaCall, Call: len(r.ids), ID: id, Name: name})
	r.ids = append(r.ids, id)
	return nil
}

// find returns the position in r.open of the call in the content block with the index block, or -1 if there is no such
// call.
func (r *reader) find(block int64) int {
	return slices.IndexFunc(r.open, func(c call) bool { return c.block == block })
}

// noArguments are the arguments of a call without arguments.
var noArguments = []byte("{}")

// close ends the call in the content block with the index block, if there is one. A call without arguments gets the
// arguments "{}".
func (r *reader) close(block int64) {
	index := r.find(block)
	if index < 0 {
		return
	}
	if c := r.open[index]; !c.hasArguments {
		r.deltas = append(r.deltas, hub.Delta{Kind: hub.DeltaArguments, Call: c.index, Text: noArguments})
	}
	r.open = slices.Delete(r.open, index, index+1)
}

// text appends a delta with the given kind and text to r.deltas, unless text is empty or not a string.
func (r *reader) text(kind hub.DeltaKind, text gjson.Result) {
	if raw := stringContent(text); len(raw) > 0 {
		r.deltas = append(r.deltas, hub.Delta{Kind: kind, Text: raw})
	}
}

// state appends a delta with reasoning state to r.deltas, unless data is empty or not a string.
func (r *reader) state(form hub.Form, data gjson.Result) {
	if data.Str != "" {
		r.deltas = append(r.deltas, hub.Delta{Kind: hub.DeltaState, State: hub.State{Form: form, Data: data.Str}})
	}
}

// count stores the token counts of usage, and the service tier, in r.usage. In Converse inputTokens does not include
// the tokens of the prompt cache, so count adds them.
func (r *reader) count(usage gjson.Result, tier string) {
	if !usage.IsObject() {
		return
	}
	number := func(name string) int64 { return max(0, usage.Get(name).Int()) }
	u := wire.Usage{
		CacheRead: number("cacheReadInputTokens"), CacheWrite: number("cacheWriteInputTokens"),
		Completion: number("outputTokens"), Known: true,
	}
	u.Prompt = number("inputTokens") + u.CacheRead + u.CacheWrite
	usage.Get("cacheDetails").ForEach(func(_, detail gjson.Result) bool {
		if detail.Get("ttl").Str == "1h" {
			u.CacheWriteHour = min(u.CacheWrite, u.CacheWriteHour+max(0, detail.Get("inputTokens").Int()))
		}
		return true
	})
	if tier != "" {
		s := jsontext.NewScanner(jsontext.AppendQuoted(nil, tier))
		if wire.ScanTerm(&s, &u.Served, wire.TermTier) != nil {
			u.Served = nil
		}
	}
	r.usage = u
}

// end ends the calls that are still open and appends DeltaEnd to r.deltas.
func (r *reader) end() {
	for len(r.open) > 0 {
		r.close(r.open[0].block)
	}
	r.ended = true
	r.deltas = append(r.deltas, hub.Delta{Kind: hub.DeltaEnd, End: hub.End{Finish: r.finish(), Usage: r.usage}})
}

// finish returns the finish reason in the common form. An unknown stopReason becomes FinishCalls if the answer has tool
// calls, and otherwise FinishStop.
func (r *reader) finish() hub.Finish {
	switch r.stop {
	case "max_tokens":
		return hub.FinishLength
	case "model_context_window_exceeded":
		return hub.FinishContext
	case "guardrail_intervened", "content_filtered":
		return hub.FinishRefusal
	}
	if len(r.ids) > 0 {
		return hub.FinishCalls
	}
	return hub.FinishStop
}

// exception returns the error for an exception in a stream. name is the name of the exception and becomes the error's
// code, data its JSON. For throttlingException and serviceUnavailableException the error also gets a type that the
// cascade knows when it classifies errors.
func exception(name string, data []byte) error {
	e := wire.ParseUpstreamError(200, data)
	e.Code = name
	switch name {
	case "throttlingException":
		e.Type = "rate_limit_error"
	case "serviceUnavailableException":
		e.Type = "overloaded_error"
	}
	return e
}

// parse parses data, which must be a JSON object and nothing else. Otherwise the error wraps wire.ErrBroken.
func parse(data []byte) (gjson.Result, error) {
	s := jsontext.NewScanner(data)
	if s.Kind() != jsontext.Object || s.Skip() != nil || s.End() != nil {
		return gjson.Result{}, fmt.Errorf("%w: no JSON object", wire.ErrBroken)
	}
	return gjson.ParseBytes(data), nil
}

// stringContent returns the text between the quotes of a JSON string, still escaped. For a value that is not a string
// it returns nil.
func stringContent(text gjson.Result) []byte {
	if text.Type != gjson.String {
		return nil
	}
	return []byte(text.Raw[1 : len(text.Raw)-1])
}
