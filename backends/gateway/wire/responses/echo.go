package responses

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/fields"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// echo records the fields of the request that the response object repeats, with the default values of the public
// reference. Two of these fields state what the gateway does: the answer is not stored and the input is not truncated.
func (in *reader) echo() {
	text := in.fields.Get("text")
	reasoning := in.fields.Get("reasoning")
	in.r.Answer.Echo = []hub.Param{
		in.repeat("instructions", "null"),
		in.repeat("max_output_tokens", "null"),
		in.repeat("metadata", "{}"),
		in.repeat("parallel_tool_calls", "true"),
		{Name: "previous_response_id", Value: "null"},
		in.repeat("prompt_cache_key", "null"),
		{Name: "reasoning", Value: `{"effort":` + inner(reasoning, "effort", "null") + `,"summary":` +
			inner(reasoning, "summary", "null") + `}`},
		in.repeat("safety_identifier", "null"),
		{Name: "service_tier", Value: `"default"`},
		{Name: "store", Value: "false"},
		in.repeat("temperature", "1.0"),
		{Name: "text", Value: `{"format":` + inner(text, "format", `{"type":"text"}`) + `,"verbosity":` +
			inner(text, "verbosity", `"medium"`) + `}`},
		in.repeat("tool_choice", `"auto"`),
		in.repeat("tools", "[]"),
		in.repeat("top_logprobs", "0"),
		in.repeat("top_p", "1.0"),
		{Name: "truncation", Value: `"disabled"`},
		in.repeat("user", "null"),
	}
}

// repeat returns a top-level field of the request for the response object. If the request does not have the field,
// fallback is used as the JSON text of its value.
func (in *reader) repeat(name, fallback string) hub.Param {
	if v := in.fields.Get(name); v.Given() {
		return hub.Param{Name: name, Value: oneLine(v.Raw)}
	}
	return hub.Param{Name: name, Value: fallback}
}

// inner returns the JSON text of the value of v's field with the given name. It returns fallback if the object v does
// not have the field.
func inner(v fields.Value, name, fallback string) string {
	if r := v.Get(name); r.Type != gjson.Null {
		return oneLine(r.Raw)
	}
	return fallback
}

// oneLine returns a JSON text without line ends, since an event has one data line.
func oneLine(json string) string {
	if !strings.ContainsAny(json, "\r\n") { // the usual case, which needs no copy
		return json
	}
	return string(wire.AppendLine(nil, json))
}
