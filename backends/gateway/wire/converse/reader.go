package converse

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/blocks"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// NewReader returns a reader for one answer of Converse, or of ConverseStream if it is streamed.
func (Format) NewReader(*catalog.Provider) hub.Reader { return &reader{} }

// reader implements hub.Reader.
type reader struct {
	deltas blocks.Deltas
	stop   string // stopReason
	usage  wire.Usage
	ended  bool // DeltaEnd was added
}

// Event implements hub.Reader. The last event of a stream is metadata, which contains the usage.
func (r *reader) Event(name, data []byte) (hub.Step, error) {
	r.deltas.Reset()
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
			err = r.call(block, use)
		}
	case "contentBlockDelta":
		delta := event.Get("delta")
		step.Thinks = delta.Get("reasoningContent").Exists()
		r.delta(block, delta)
	case "contentBlockStop":
		r.deltas.Close(block)
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
	step.Deltas = r.deltas.List
	step.Proof = step.Proof || len(r.deltas.List) > 0
	return step, err
}

// End implements hub.Reader.
func (r *reader) End() (hub.Step, error) {
	r.deltas.Reset()
	switch {
	case r.ended:
		return hub.Step{Done: true}, nil
	case r.stop == "":
		return hub.Step{}, wire.ErrNoFinish
	}
	r.end()
	return hub.Step{Deltas: r.deltas.List, Proof: true, Done: true}, nil
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
		if answer.Get("message").Exists() { // an error with status 200
			return nil, wire.ParseUpstreamError(200, body)
		}
		return nil, wire.ErrNoChoices
	}
	r.deltas.Reset()
	jsontext.Elements(content, func(block gjson.Result) bool {
		err = r.block(block)
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	if len(r.deltas.List) == 0 && r.stop == "" {
		return nil, wire.ErrNoChoices
	}
	r.count(answer.Get("usage"), answer.Get("serviceTier.type").Str)
	r.end()
	return r.deltas.List, nil
}

// Usage implements hub.Reader.
func (r *reader) Usage() wire.Usage { return r.usage }

// block reads a content block of a whole answer. The error is that of call.
func (r *reader) block(block gjson.Result) error {
	if use := block.Get("toolUse"); use.Exists() {
		err := r.call(0, use)
		r.deltas.Close(0)
		return err
	}
	reasoning := block.Get("reasoningContent.reasoningText")
	r.deltas.Text(hub.DeltaText, stringContent(block.Get("text")))
	r.deltas.Text(hub.DeltaReasoning, stringContent(reasoning.Get("text")))
	r.deltas.State(hub.FormSignature, reasoning.Get("signature").Str)
	r.deltas.State(hub.FormRedacted, block.Get("reasoningContent.redactedContent").Str)
	return nil
}

// delta reads the delta of a contentBlockDelta event. block is the index of the content block.
func (r *reader) delta(block int64, delta gjson.Result) {
	reasoning := delta.Get("reasoningContent")
	r.deltas.Text(hub.DeltaText, stringContent(delta.Get("text")))
	r.deltas.Text(hub.DeltaReasoning, stringContent(reasoning.Get("text")))
	r.deltas.State(hub.FormSignature, reasoning.Get("signature").Str)
	r.deltas.State(hub.FormRedacted, reasoning.Get("redactedContent").Str)
	r.deltas.Arguments(block, stringContent(delta.Get("toolUse.input")))
}

// call reads toolUse, a toolUse block of a whole answer or the start of such a block in a stream. Only a block of a
// whole answer has an input. block is the index of the content block. The error is that of blocks.Deltas.Call.
func (r *reader) call(block int64, toolUse gjson.Result) error {
	var arguments []byte
	if input := toolUse.Get("input"); input.IsObject() {
		arguments = jsontext.AppendEscaped(nil, input.Raw)
	}
	return r.deltas.Call(block, toolUse.Get("toolUseId").Str, toolUse.Get("name").Str, arguments)
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

// end ends the calls that are still open and adds DeltaEnd.
func (r *reader) end() {
	r.ended = true
	r.deltas.End(hub.End{Finish: r.finish(), Usage: r.usage})
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
	if r.deltas.HasCalls() {
		return hub.FinishCalls
	}
	return hub.FinishStop
}

// exception returns the error for an exception in a stream. name is the name of the exception and becomes the error's
// code. data is the exception's JSON. For throttlingException and serviceUnavailableException the error also gets a
// type that the cascade knows when it classifies errors.
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
