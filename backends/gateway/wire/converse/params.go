package converse

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/blocks"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/messages"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// extra holds fields of additionalModelRequestFields. text is their JSON text, with a comma before each field.
type extra struct {
	text   string
	thinks bool // the model thinks, so it takes no sampling parameters
}

// reasoning returns the fields that state the request's reasoning effort in the form of the model's vendor. If the
// vendor has no such fields, the effort is recorded as dropped.
func (w *writer) reasoning() (e extra) {
	requestedEffort := w.Request.Effort
	if requestedEffort == "" {
		return e
	}
	if w.maker == anthropic {
		object, thinks, dropped := messages.Thinking(w.Request, w.Target, w.maxTokens)
		w.dropped = append(w.dropped, dropped...)
		// The object is at least "{}". Its fields are sent without its braces.
		if fields := strings.TrimSuffix(object[1:], "}"); fields != "" {
			e.text = "," + fields
		}
		e.thinks = thinks
		return e
	}
	effort := string(w.Target.Effort(requestedEffort, hub.EffortLow))
	switch {
	case effort == "" || w.Target.Refuses("reasoning_effort"):
	case w.maker == openai:
		return extra{text: `,"reasoning_effort":"` + effort + `"`}
	case w.maker == nova && requestedEffort == hub.EffortNone:
		return extra{text: `,"reasoningConfig":{"type":"disabled"}`}
	case w.maker == nova:
		return extra{text: `,"reasoningConfig":{"type":"enabled","maxReasoningEffort":"` + effort + `"}`}
	}
	w.dropped = append(w.dropped, "reasoning_effort")
	return e
}

// params writes the fields inferenceConfig, additionalModelRequestFields and serviceTier. e holds the fields for the
// reasoning effort. Parameters that cannot be sent are recorded as dropped.
func (w *writer) params(e extra) {
	config, tier := "", ""
	if w.maxTokens > 0 {
		config = `,"maxTokens":` + strconv.FormatInt(w.maxTokens, 10)
	}
	for _, p := range w.Request.Params {
		canSample := isNotNegative(p.Value) && !e.thinks
		switch {
		case p.IsDefault(), p.Name == "parallel_tool_calls" && p.Value != "false":
		case p.Name == "n": // Write has checked it
		case w.Target.Refuses(p.Name):
			w.dropped = append(w.dropped, p.Name)
		case p.Name == "temperature" && canSample:
			config += `,"temperature":` + w.atMostOne(p.Value)
		case p.Name == "top_p" && canSample && !w.oneSampler():
			config += `,"topP":` + w.atMostOne(p.Value)
		case p.Name == "top_k" && canSample && w.maker == anthropic:
			e.text += `,"top_k":` + p.Value
		case p.Name == "service_tier" && p.Value == `"auto"`: // the default
		case p.Name == "service_tier" && (p.Value == `"flex"` || p.Value == `"priority"` || p.Value == `"default"`):
			tier = p.Value
		default:
			w.dropped = append(w.dropped, p.Name)
		}
	}
	config += w.stops()
	if config != "" {
		w.Dst = jsontext.AppendAll(w.Dst, `,"inferenceConfig":{`, config[1:], `}`) // without the first comma
	}
	if e.text != "" {
		w.Dst = jsontext.AppendAll(w.Dst, `,"additionalModelRequestFields":{`, e.text[1:], `}`)
	}
	if tier != "" {
		w.Dst = jsontext.AppendAll(w.Dst, `,"serviceTier":{"type":`, tier, `}`)
	}
}

// oneSampler reports whether top_p must be left out because the request also has a temperature. Claude accepts only
// one of these two parameters.
func (w *writer) oneSampler() bool {
	temperature := w.Request.Param("temperature")
	return w.maker == anthropic && temperature != "" && temperature != "null"
}

// atMostOne returns value, the JSON text of a sampling parameter, or "1" if the value is greater. Converse allows at
// most 1, while chat completions allow temperatures up to 2.
func (w *writer) atMostOne(value string) string {
	if n, err := strconv.ParseFloat(value, 64); err == nil && n > 1 {
		return "1"
	}
	return value
}

// isNotNegative reports whether value, the JSON text of a parameter, is a number of at least 0.
func isNotNegative(value string) bool {
	v := gjson.Parse(value)
	return v.Type == gjson.Number && v.Num >= 0
}

// stops returns the JSON text of the field stopSequences with a comma before it, or an empty string without stop
// sequences. Stop sequences that are only white space are left out, since the format refuses them.
func (w *writer) stops() string {
	var list []byte
	sent := 0
	for _, text := range w.Request.Stop {
		if blocks.Blank(text) {
			continue
		}
		sent++
		list = jsontext.AppendQuoted(append(list, ','), text)
	}
	if sent < len(w.Request.Stop) {
		w.dropped = append(w.dropped, "stop")
	}
	if sent == 0 {
		return ""
	}
	return `,"stopSequences":[` + string(list[1:]) + "]"
}
