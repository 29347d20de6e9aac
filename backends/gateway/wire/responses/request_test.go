package responses

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// opener opens two known tokens.
var opener = hub.ReadOptions{Open: func(token string) (hub.State, bool) {
	switch token {
	case "kcs1.good":
		return hub.State{Provider: "deepseek", Family: "v4", Form: hub.FormContent}, true
	case "kcs1.item":
		return hub.State{Provider: "openai", Family: "gpt", Form: hub.FormItem, Data: `{"type":"reasoning"}`}, true
	}
	return hub.State{}, false
}}

// dump describes a request in a readable form, with one line for each part.
func dump(r *hub.Request) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	for _, t := range r.Tools {
		line("tool %s kind=%d ns=%q own=%q strict=%s %q %s", t.Name, t.Kind, t.Namespace, t.ClientName, t.Strict, t.Description, t.Parameters)
	}
	if r.Choice != (hub.Choice{}) {
		line("choice %s %s", r.Choice.Mode, r.Choice.Name)
	}
	for _, m := range r.Messages {
		line("%s %s%s", m.Role, m.CallID, map[bool]string{true: " failed"}[m.Failed])
		for _, x := range m.Reasoning {
			state := ""
			if x.State != nil {
				state = fmt.Sprintf(" state=%s/%s/%s/%s", x.State.Provider, x.State.Family, x.State.Form, x.State.Data)
			}
			line("  reasoning %q foreign=%q%s", x.Text, x.Foreign, state)
		}
		for _, p := range m.Parts {
			line("  part %d %q url=%q detail=%q data=%q", p.Kind, p.Text, p.URL, p.Detail, p.Data)
		}
		for _, c := range m.Calls {
			line("  call %s %s %s", c.ID, c.Name, c.Arguments)
		}
	}
	if r.Output != nil {
		line("output %+v", *r.Output)
	}
	if r.MaxTokens != 0 {
		line("max %d", r.MaxTokens)
	}
	if r.Effort != "" {
		line("effort %s", r.Effort)
	}
	for _, p := range r.Params {
		line("param %s %s", p.Name, p.Value)
	}
	if r.Needs != 0 {
		line("needs %b", r.Needs)
	}
	if len(r.Dropped) > 0 {
		line("dropped %s", strings.Join(r.Dropped, ","))
	}
	return b.String()
}

func read(t *testing.T, body string) *hub.Request {
	t.Helper()
	r, err := Format{}.Read([]byte(body), opener)
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return r
}

// with returns a request with a model and some members.
func with(members string) string { return `{"model":"m",` + members + `}` }

const hi = "user \n  part 1 \"hi\" url=\"\" detail=\"\" data=\"\"\n"

func TestReadFields(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ members, want string }{
		"input text":         {`"input":"hi"`, hi},
		"input items":        {`"input":[{"role":"user","content":"hi"}]`, hi},
		"instructions":       {`"input":"hi","instructions":"be brief"`, "system \n  part 1 \"be brief\" url=\"\" detail=\"\" data=\"\"\n" + hi},
		"empty instructions": {`"input":"hi","instructions":""`, hi},
		"max_output_tokens":  {`"input":"hi","max_output_tokens":16`, hi + "max 16\n"},
		"sampling":           {`"input":"hi","top_p":0.50,"temperature":0`, hi + "param temperature 0\nparam top_p 0.50\n"},
		"top_logprobs":       {`"input":"hi","top_logprobs":3`, hi + "dropped top_logprobs\n"},
		"logprobs":           {`"input":"hi","top_logprobs":3,"include":["message.output_text.logprobs","x"]`, hi + "param logprobs true\nparam top_logprobs 3\n"},
		"parallel":           {`"input":"hi","parallel_tool_calls":false`, hi + "param parallel_tool_calls false\n"},
		"verbosity":          {`"input":"hi","text":{"verbosity":"low"}`, hi + "param verbosity \"low\"\n"},
		"effort":             {`"input":"hi","reasoning":{"effort":"xhigh","summary":"auto"}`, hi + "effort xhigh\n"},
		"members of objects": {
			`"input":"hi","reasoning":{"effort":"low","context":"all_turns","mode":"deep","later":null},"text":{"later":1}`,
			hi + "effort low\ndropped reasoning.context,reasoning.mode,text.later\n",
		},
		"no effort":           {`"input":"hi","reasoning":{"effort":null}`, hi},
		"store":               {`"input":"hi","store":true`, hi},
		"background":          {`"input":"hi","background":false,"previous_response_id":null,"conversation":null,"prompt":null`, hi},
		"truncation":          {`"input":"hi","truncation":"disabled"`, hi},
		"truncation auto":     {`"input":"hi","truncation":"auto"`, hi + "dropped truncation\n"},
		"obfuscation":         {`"input":"hi","stream_options":{"include_obfuscation":true}`, hi + "dropped stream_options.include_obfuscation\n"},
		"no obfuscation":      {`"input":"hi","stream_options":{"include_obfuscation":false}`, hi},
		"metadata":            {`"input":"hi","metadata":{"a":"b"}`, hi},
		"user":                {`"input":"hi","user":"jo"`, hi + "param user \"c278ec5a69c34aace42773e41b1163e6\"\n"},
		"safety_identifier":   {`"input":"hi","safety_identifier":"jo","user":"x"`, hi + "param user \"c278ec5a69c34aace42773e41b1163e6\"\n"},
		"cache key":           {`"input":"hi","prompt_cache_key":"k"`, hi + "param prompt_cache_key \"k\"\n"},
		"dropped":             {`"input":"hi","max_tool_calls":1,"context_management":[],"prompt_cache_retention":"24h","prompt_cache_options":{},"service_tier":"flex","moderation":{},"client_metadata":{}`, hi + "dropped max_tool_calls,context_management,prompt_cache_retention,prompt_cache_options,service_tier,moderation,client_metadata\n"},
		"unknown":             {`"input":"hi","new":1,"bad\r\n,name":1,"gone":null`, hi + "dropped new,bad___name\n"},
		"format text":         {`"input":"hi","text":{"format":{"type":"text"}}`, hi},
		"format json_object":  {`"input":"hi","text":{"format":{"type":"json_object"}}`, hi + "output {Kind:json_object Name: Description: Schema: Strict:}\n"},
		"format json_schema":  {`"input":"hi","text":{"format":{"type":"json_schema","name":"n","schema":{"a" :1},"strict":true,"description":"d"}}`, hi + "output {Kind:json_schema Name:n Description:d Schema:{\"a\" :1} Strict:true}\nneeds 10000\n"},
		"format without more": {`"input":"hi","text":{"format":{"type":"json_schema","name":"n","schema":{},"strict":null}}`, hi + "output {Kind:json_schema Name:n Description: Schema:{} Strict:}\nneeds 10000\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := dump(read(t, with(c.members))); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestReadAnswer(t *testing.T) {
	t.Parallel()
	r := read(t, with(`"input":"hi","stream":true,"include":["reasoning.encrypted_content"],"reasoning":{"summary":"none"}`))
	if !r.Stream || !r.Answer.State || !r.Answer.Reasoning || !r.Answer.HideReasoningText || r.Answer.Logprobs {
		t.Errorf("got %+v", r)
	}
	r = read(t, with(`"input":"hi"`))
	if r.Stream || r.Answer.State || !r.Answer.Reasoning || r.Answer.HideReasoningText || r.Format != hub.Responses || r.Model != "m" || len(r.Body) == 0 {
		t.Errorf("got %+v", r)
	}
	if r.TextBytes != 2 {
		t.Errorf("%d bytes of text", r.TextBytes)
	}
}

func TestReadEcho(t *testing.T) {
	t.Parallel()
	spell := func(r *hub.Request) string {
		var b strings.Builder
		for _, p := range r.Answer.Echo {
			fmt.Fprintf(&b, "%s=%s\n", p.Name, p.Value)
		}
		return b.String()
	}
	const defaults = `instructions=null
max_output_tokens=null
metadata={}
parallel_tool_calls=true
previous_response_id=null
prompt_cache_key=null
reasoning={"effort":null,"summary":null}
safety_identifier=null
service_tier="default"
store=false
temperature=1.0
text={"format":{"type":"text"},"verbosity":"medium"}
tool_choice="auto"
tools=[]
top_logprobs=0
top_p=1.0
truncation="disabled"
user=null
`
	if got := spell(read(t, with(`"input":"hi","store":true,"truncation":"auto"`))); got != defaults {
		t.Errorf("got\n%s", got)
	}
	got := spell(read(t, "{\"model\":\"m\",\"input\":\"hi\",\"metadata\":{\r\n\"a\":\"b\\n\"},\"text\":{\"verbosity\":\"low\"},\"reasoning\":{\"effort\":\"low\"},\"temperature\":0.2}"))
	for _, want := range []string{"metadata={  \"a\":\"b\\n\"}\n", `text={"format":{"type":"text"},"verbosity":"low"}`, `reasoning={"effort":"low","summary":null}`, "temperature=0.2\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

func TestReadRefused(t *testing.T) {
	t.Parallel()
	item := func(text string) string { return with(`"input":[{"role":"user","content":"hi"},` + text + `]`) }
	part := func(text string) string {
		return with(`"input":[{"role":"user","content":[{"type":"input_text","text":"a"},` + text + `]}]`)
	}
	tool := func(text string) string {
		return with(`"input":"hi","tools":[{"type":"function","name":"f"},` + text + `]`)
	}
	for _, c := range []struct{ body, code, param string }{
		{`[]`, "invalid_json", ""},
		{`{"model":"m","input":"hi"`, "invalid_json", ""},
		{`{"input":"hi"}`, "missing_required_parameter", "model"},
		{`{"model":null,"input":"hi"}`, "missing_required_parameter", "model"},
		{`{"model":"","input":"hi"}`, "invalid_value", "model"},
		{`{"model":1,"input":"hi"}`, "invalid_value", "model"},
		{`{"model":"m","model":"n"}`, "invalid_value", "model"},
		{`{"model":"m"}`, "missing_required_parameter", "input"},
		{with(`"input":1`), "invalid_value", "input"},
		{with(`"input":""`), "invalid_value", "input"},
		{with(`"input":[],"instructions":"x"`), "invalid_value", "input"},
		{with(`"input":"hi","instructions":[]`), "invalid_value", "instructions"},
		{with(`"input":"hi","stream":"yes"`), "invalid_value", "stream"},
		{with(`"input":"hi","stream_options":1`), "invalid_value", "stream_options"},
		{with(`"input":"hi","stream_options":{"include_obfuscation":1}`), "invalid_value", "stream_options.include_obfuscation"},
		{with(`"input":"hi","max_output_tokens":0`), "invalid_value", "max_output_tokens"},
		{with(`"input":"hi","max_output_tokens":1.5`), "invalid_value", "max_output_tokens"},
		{with(`"input":"hi","max_output_tokens":"1"`), "invalid_value", "max_output_tokens"},
		{with(`"input":"hi","max_output_tokens":1e300`), "invalid_value", "max_output_tokens"},
		{with(`"input":"hi","temperature":"1"`), "invalid_value", "temperature"},
		{with(`"input":"hi","top_logprobs":"1"`), "invalid_value", "top_logprobs"},
		{with(`"input":"hi","parallel_tool_calls":1`), "invalid_value", "parallel_tool_calls"},
		{with(`"input":"hi","store":1`), "invalid_value", "store"},
		{with(`"input":"hi","user":1`), "invalid_value", "user"},
		{with(`"input":"hi","prompt_cache_key":1`), "invalid_value", "prompt_cache_key"},
		{with(`"input":"hi","metadata":{"a":1}`), "invalid_value", "metadata"},
		{with(`"input":"hi","metadata":[]`), "invalid_value", "metadata"},
		{with(`"input":"hi","metadata":{` + strings.Repeat(`"a":"",`, 16) + `"z":""}`), "invalid_value", "metadata"},
		{with(`"input":"hi","include":"x"`), "invalid_value", "include"},
		{with(`"input":"hi","include":[1]`), "invalid_value", "include[0]"},
		{with(`"input":"hi","truncation":"some"`), "invalid_value", "truncation"},
		{with(`"input":"hi","reasoning":"low"`), "invalid_value", "reasoning"},
		{with(`"input":"hi","reasoning":{"effort":"huge"}`), "invalid_value", "reasoning.effort"},
		{with(`"input":"hi","reasoning":{"summary":1}`), "invalid_value", "reasoning.summary"},
		{with(`"input":"hi","text":"x"`), "invalid_value", "text"},
		{with(`"input":"hi","text":{"verbosity":1}`), "invalid_value", "text.verbosity"},
		{with(`"input":"hi","text":{"format":{}}`), "missing_required_parameter", "text.format.type"},
		{with(`"input":"hi","text":{"format":{"type":"xml"}}`), "invalid_value", "text.format.type"},
		{with(`"input":"hi","text":{"format":{"type":"json_schema","name":"n"}}`), "missing_required_parameter", "text.format.schema"},
		{with(`"input":"hi","text":{"format":{"type":"json_schema","schema":{}}}`), "missing_required_parameter", "text.format.name"},
		{with(`"input":"hi","text":{"format":{"type":"json_schema","name":"n","schema":{},"strict":"x"}}`), "invalid_value", "text.format.strict"},

		{with(`"input":"hi","previous_response_id":"resp_1"`), "previous_response_not_found", "previous_response_id"},
		{with(`"previous_response_id":"resp_1"`), "previous_response_not_found", "previous_response_id"},
		{with(`"input":"hi","previous_response_id":1`), "invalid_value", "previous_response_id"},
		{with(`"input":"hi","conversation":"c"`), "unsupported_parameter", "conversation"},
		{with(`"input":"hi","prompt":{"id":"p"}`), "unsupported_parameter", "prompt"},
		{with(`"input":"hi","background":true`), "unsupported_parameter", "background"},
		{with(`"input":"hi","background":"x"`), "invalid_value", "background"},

		{item(`"x"`), "invalid_value", "input[1]"},
		{item(`{}`), "missing_required_parameter", "input[1].type"},
		{item(`{"type":1}`), "invalid_value", "input[1].type"},
		{item(`{"type":"new_thing"}`), "invalid_value", "input[1].type"},
		{item(`{"type":"item_reference","id":"x"}`), "unsupported_parameter", "input[1]"},
		{item(`{"id":"x"}`), "unsupported_parameter", "input[1]"},
		{item(`{"role":"tool","content":"x"}`), "invalid_value", "input[1].role"},
		{item(`{"type":"message","content":"x"}`), "missing_required_parameter", "input[1].role"},
		{item(`{"role":"user","content":1}`), "invalid_value", "input[1].content"},
		{item(`{"role":"user","content":[1]}`), "invalid_value", "input[1].content[0]"},
		{part(`{"type":"video"}`), "invalid_value", "input[0].content[1].type"},
		{part(`{"text":"x"}`), "missing_required_parameter", "input[0].content[1].type"},
		{part(`{"type":"input_text","text":1}`), "invalid_value", "input[0].content[1].text"},
		{part(`{"type":"input_image","file_id":"f"}`), "unsupported_parameter", "input[0].content[1].file_id"},
		{part(`{"type":"input_image"}`), "missing_required_parameter", "input[0].content[1].image_url"},
		{part(`{"type":"input_image","image_url":"file:///etc/passwd"}`), "invalid_value", "input[0].content[1].image_url"},
		{part(`{"type":"input_image","image_url":"https://x","detail":"most"}`), "invalid_value", "input[0].content[1].detail"},
		{part(`{"type":"input_file","file_id":"f"}`), "unsupported_parameter", "input[0].content[1].file_id"},
		{part(`{"type":"input_file"}`), "missing_required_parameter", "input[0].content[1].file_data"},
		{part(`{"type":"input_file","file_data":"AAAA"}`), "invalid_value", "input[0].content[1].file_data"},
		{part(`{"type":"input_audio"}`), "missing_required_parameter", "input[0].content[1].input_audio"},
		{part(`{"type":"input_audio","input_audio":{"data":"AA"}}`), "missing_required_parameter", "input[0].content[1].input_audio.format"},

		{item(`{"type":"function_call","call_id":"a"}`), "missing_required_parameter", "input[1].name"},
		{item(`{"type":"function_call","call_id":"a","name":"f","arguments":{}}`), "invalid_value", "input[1].arguments"},
		{item(`{"type":"function_call","call_id":1,"name":"f"}`), "invalid_value", "input[1].call_id"},
		{item(`{"type":"function_call","call_id":"a","name":"f"},{"type":"function_call","call_id":"a","name":"g"}`), "invalid_value", "input[2].call_id"},
		{item(`{"type":"custom_tool_call","call_id":"a","name":"f","input":{}}`), "invalid_value", "input[1].input"},
		{item(`{"type":"local_shell_call","call_id":"a","action":"ls"}`), "invalid_value", "input[1].action"},
		{item(`{"type":"apply_patch_call","call_id":"a"}`), "missing_required_parameter", "input[1].operation"},
		{item(`{"type":"reasoning","encrypted_content":1}`), "invalid_value", "input[1].encrypted_content"},
		{item(`{"type":"reasoning","summary":[1]}`), "invalid_value", "input[1].summary[0]"},
		{item(`{"type":"function_call_output","call_id":"a","output":"x"}`), "invalid_value", "input[1].call_id"},
		{item(`{"type":"function_call_output","output":"x"}`), "invalid_value", "input[1].call_id"},
		{item(`{"type":"function_call","call_id":"a","name":"f"},{"type":"function_call_output","call_id":"a","output":1}`), "invalid_value", "input[2].output"},
		{item(`{"type":"function_call","call_id":"a","name":"f"},{"type":"function_call_output","call_id":"a","output":"1"},{"type":"function_call_output","call_id":"a","output":"2"}`), "invalid_value", "input[3].call_id"},
		{item(`{"type":"shell_call","call_id":"a","action":{}},{"type":"shell_call_output","call_id":"a","output":"x"}`), "invalid_value", "input[2].output"},
		{item(`{"type":"additional_tools","tools":{}}`), "invalid_value", "input[1].tools"},
		{item(`{"type":"additional_tools","tools":[{"type":"function"}]}`), "missing_required_parameter", "input[1].tools[0].name"},

		{with(`"input":"hi","tools":{}`), "invalid_value", "tools"},
		{tool(`1`), "invalid_value", "tools[1]"},
		{tool(`{"name":"f"}`), "missing_required_parameter", "tools[1].type"},
		{tool(`{"type":"function","function":{"name":"f"}}`), "missing_required_parameter", "tools[1].name"},
		{tool(`{"type":"function","name":"g","parameters":"x"}`), "invalid_value", "tools[1].parameters"},
		{tool(`{"type":"function","name":"g","strict":"x"}`), "invalid_value", "tools[1].strict"},
		{tool(`{"type":"custom","name":"g","format":1}`), "invalid_value", "tools[1].format"},
		{tool(`{"type":"namespace","name":"n"}`), "missing_required_parameter", "tools[1].tools"},
		{tool(`{"type":"namespace","name":"n","tools":[{"type":"function"}]}`), "missing_required_parameter", "tools[1].tools[0].name"},
		{tool(`{"type":"tool_search","execution":"client","parameters":1}`), "invalid_value", "tools[1].parameters"},
		{with(`"input":"hi","tools":[{"type":"web_search"}]`), "unsupported_parameter", "tools[0]"},
		{with(`"input":"hi","tools":[{"type":"shell","environment":{"type":"container_auto"}}]`), "unsupported_parameter", "tools[0]"},

		{tool(`{"type":"web_search"}],"tool_choice":{"type":"web_search"},"x":[0`), "unsupported_parameter", "tool_choice.type"},
		{tool(`{"type":"web_search"}],"tool_choice":{"type":"shell"},"x":[0`), "unsupported_parameter", "tool_choice.type"},
		{tool(`{"type":"web_search"}],"tool_choice":"any","x":[0`), "invalid_value", "tool_choice"},
		{tool(`{"type":"web_search"}],"tool_choice":1,"x":[0`), "invalid_value", "tool_choice"},
		{tool(`{"type":"web_search"}],"tool_choice":{"type":"function","name":"z"},"x":[0`), "invalid_value", "tool_choice"},
		{tool(`{"type":"web_search"}],"tool_choice":{"type":"function"},"x":[0`), "missing_required_parameter", "tool_choice.name"},
		{tool(`{"type":"web_search"}],"tool_choice":{"type":"allowed_tools","mode":"none"},"x":[0`), "invalid_value", "tool_choice.mode"},
		{tool(`{"type":"web_search"}],"tool_choice":{"type":"allowed_tools","tools":[{"type":"function","name":"z"}]},"x":[0`), "invalid_value", "tool_choice.tools[0]"},
		{tool(`{"type":"web_search"}],"tool_choice":{"type":"allowed_tools","tools":[{"type":"web_search"}]},"x":[0`), "unsupported_parameter", "tool_choice.tools"},
	} {
		r, err := Format{}.Read([]byte(c.body), opener)
		if err == nil { // the vendor may accept it
			err = r.OwnFormatError
		}
		var got *apierror.Error
		if !errors.As(err, &got) || got.Status != 400 || got.Code != c.code || got.Param != c.param {
			t.Errorf("%s\ngot %+v, want %s at %s", c.body, err, c.code, c.param)
			continue
		}
		if c.param != "" && !strings.Contains(got.Message, c.param) && c.param != "model" && got.Code != "previous_response_not_found" {
			t.Errorf("%q does not name %s", got.Message, c.param)
		}
	}
}

// TestReadVendorFeatures checks that a request for features which only the vendor's servers have is left to candidates
// that get the client's bytes.
func TestReadVendorFeatures(t *testing.T) {
	t.Parallel()
	for param, body := range map[string]string{
		"tools[0]":                 with(`"input":"hi","tools":[{"type":"web_search"}]`),
		"tool_choice.type":         with(`"input":"hi","tools":[{"type":"mcp","server_label":"x"},{"type":"function","name":"f"}],"tool_choice":{"type":"mcp","server_label":"x"}`),
		"tool_choice.tools":        with(`"input":"hi","tools":[{"type":"web_search"},{"type":"function","name":"f"}],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"web_search"}]}`),
		"input[0].type":            with(`"input":[{"type":"later"}]`),
		"input[0].content[1].type": with(`"input":[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_video","x":1}]}]`),
		"input[1].output[0].type":  with(`"input":[{"type":"function_call","call_id":"a","name":"f"},{"type":"function_call_output","call_id":"a","output":[{"type":"input_video"}]}]`),
	} {
		r, err := Format{}.Read([]byte(body), opener)
		if err != nil {
			t.Errorf("%s: %v", param, err)
			continue
		}
		var e *apierror.Error
		if r.Needs&wire.NeedOwnFormat == 0 || !errors.As(r.OwnFormatError, &e) || e.Status != 400 || e.Param != param {
			t.Errorf("%s: needs %b, %v", param, r.Needs, r.OwnFormatError)
		}
	}
	r, err := Format{}.Read([]byte(with(`"input":"hi","tools":[{"type":"web_search"},{"type":"function","name":"f"}]`)), opener)
	if err != nil || r.Needs&wire.NeedOwnFormat != 0 || r.OwnFormatError != nil {
		t.Errorf("%v, %+v", err, r)
	}
}

// TestReadConfigurationUpdate checks that the last configuration_update takes precedence.
func TestReadConfigurationUpdate(t *testing.T) {
	t.Parallel()
	const format = `{"type":"json_schema","name":"n","schema":{"type":"object"}}`
	r, err := Format{}.Read([]byte(with(`"reasoning":{"effort":"low"},"input":[{"role":"user","content":"a"},{"type":"configuration_update","reasoning":{"effort":"medium"},"text":{"format":`+format+`}},`+
		`{"role":"user","content":"b"},{"type":"configuration_update","id":null,"reasoning":{"effort":"high"}}]`)), opener)
	if err != nil || r.Effort != hub.EffortHigh || r.Output == nil || r.Output.Name != "n" || len(r.Messages) != 2 || r.OwnFormatError != nil {
		t.Errorf("%v, %+v", err, r)
	}
	r, err = Format{}.Read([]byte(with(`"text":{"format":`+format+`},"input":[{"role":"user","content":"a"},{"type":"configuration_update","text":{"format":{"type":"text"}}}]`)), opener)
	if err != nil || r.Output != nil {
		t.Errorf("%v, %+v", err, r)
	}
	if _, err = (Format{}).Read([]byte(with(`"input":[{"role":"user","content":"a"},{"type":"configuration_update","reasoning":{"effort":"most"}}]`)), opener); err == nil || !strings.Contains(err.Error(), "input[1].reasoning.effort") {
		t.Errorf("got %v", err)
	}
}

// TestReadThoughtSignatures checks that each thought signature belongs to the call that follows it.
func TestReadThoughtSignatures(t *testing.T) {
	t.Parallel()
	o := hub.ReadOptions{Open: func(token string) (hub.State, bool) {
		return hub.State{Provider: "gemini", Family: "g", Form: hub.FormThought, Data: token}, true
	}}
	r, err := Format{}.Read([]byte(with(`"input":[{"role":"user","content":"a"},{"type":"reasoning","summary":[],"encrypted_content":"one"},{"type":"function_call","call_id":"a","name":"f"},`+
		`{"type":"reasoning","summary":[],"encrypted_content":"two"},{"type":"function_call","call_id":"b","name":"f"},{"type":"function_call","call_id":"c","name":"f"}]`)), o)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, c := range r.Messages[1].Calls {
		if got += c.ID; c.State != nil {
			got += " " + c.State.Data
		}
		got += "\n"
	}
	if want := "a one\nb two\nc\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestErrorsQuote checks that a client's text is shortened and masked in errors.
func TestErrorsQuote(t *testing.T) {
	t.Parallel()
	_, err := Format{}.Read([]byte(with(`"input":[{"role":"sk-abcdefghijklmnopqrstuvwxyz `+strings.Repeat("y", 5000)+`"}]`)), opener)
	if err == nil || len(err.Error()) > 400 || strings.Contains(err.Error(), "abcdefghij") {
		t.Errorf("got %v", err)
	}
}

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
	}
}

// TestReadAgent reads the first and the second request of a coding agent.
func TestReadAgent(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"first", "second"} {
		body, err := os.ReadFile(filepath.Join("testdata", "client", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		r := read(t, string(body))
		golden(t, filepath.Join("client", name+".txt"), dump(r))
		if !r.Answer.State || !r.Stream {
			t.Errorf("%s: %+v", name, r.Answer)
		}
	}
}

// largeRequest returns a request of about 75 KB with 24 tools.
func largeRequest() []byte {
	var b strings.Builder
	b.WriteString(`{"model":"keychain-high","stream":true,"store":false,"include":["reasoning.encrypted_content"],"instructions":"` + strings.Repeat("Be a good agent. ", 600) + `","tools":[{"type":"web_search"}`)
	for i := range 24 {
		fmt.Fprintf(&b, `,{"type":"function","name":"tool_%d","description":"%s","strict":false,"parameters":{"type":"object","properties":{%s"last":{"type":"string"}}}}`,
			i, strings.Repeat("What it does. ", 40), strings.Repeat(`"some_property":{"type":"string","description":"what it is for"},`, 8))
	}
	b.WriteString(`],"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}`)
	for i := range 40 {
		fmt.Fprintf(&b, `,{"type":"function_call","call_id":"call_%d","name":"tool_1","arguments":"{\"path\":\"/x\"}"},{"type":"function_call_output","call_id":"call_%d","output":"%s"}`,
			i, i, strings.Repeat(`a line of output\n`, 40))
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

func BenchmarkRead(b *testing.B) {
	body := largeRequest()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Format{}).Read(body, opener); err != nil {
			b.Fatal(err)
		}
	}
}

// fragments are items and tools that a fuzzer combines.
var (
	fragments = []string{
		`{"role":"user","content":"hi"}`,
		`{"role":"assistant","content":[{"type":"output_text","text":"ok"},{"type":"refusal","refusal":"no"}]}`,
		`{"role":"developer","content":[{"type":"input_image","image_url":"data:x"},{"type":"input_file","file_url":"https://x"}]}`,
		`{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}`,
		`{"type":"function_call","call_id":"b b","name":"m","namespace":"n"}`,
		`{"type":"function_call","name":"x y"}`,
		`{"type":"function_call_output","call_id":"a","output":"1"}`,
		`{"type":"function_call_output","call_id":"b b","output":[{"type":"input_text","text":"x"},{"type":"input_image","image_url":"https://x"}]}`,
		`{"type":"function_call_output","output":""}`,
		`{"type":"custom_tool_call","call_id":"c","name":"patch","input":"x"}`,
		`{"type":"custom_tool_call_output","call_id":"c","output":"y"}`,
		`{"type":"local_shell_call","id":"l","action":{}}`,
		`{"type":"local_shell_call_output","id":"l","output":"y"}`,
		`{"type":"shell_call","call_id":"s","action":{}}`,
		`{"type":"shell_call_output","call_id":"s","output":[]}`,
		`{"type":"apply_patch_call","call_id":"p","operation":{}}`,
		`{"type":"apply_patch_call_output","call_id":"p","status":"failed"}`,
		`{"type":"tool_search_call","call_id":"t","arguments":{}}`,
		`{"type":"tool_search_output","call_id":"t","tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"m"}]}]}`,
		`{"type":"reasoning","summary":[{"type":"summary_text","text":"x"}],"encrypted_content":"kcs1.good"}`,
		`{"type":"web_search_call"}`,
		`{"type":"additional_tools","tools":[{"type":"custom","name":"patch"}]}`,
	}
	toolFragments = []string{
		`{"type":"function","name":"f"}`, `{"type":"function","name":"n__m"}`, `{"type":"custom","name":"patch"}`,
		`{"type":"namespace","name":"n","tools":[{"type":"function","name":"m"},{"type":"custom","name":"m"}]}`,
		`{"type":"shell"}`, `{"type":"local_shell"}`, `{"type":"apply_patch"}`, `{"type":"tool_search","execution":"client"}`, `{"type":"web_search"}`,
	}
)

// pick joins the fragments that the bytes of a script select.
func pick(fragments []string, script []byte) string {
	picked := make([]string, 0, len(script))
	for _, b := range script {
		picked = append(picked, fragments[int(b)%len(fragments)])
	}
	return strings.Join(picked, ",")
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"first", "second"} {
		body, err := os.ReadFile(filepath.Join("testdata", "client", name+".json"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body, []byte(nil), []byte(nil), "")
	}
	f.Add([]byte(nil), []byte{0, 19, 3, 4, 7, 6}, []byte{0, 1, 3}, `{"type":"function","name":"f"}`)
	f.Add([]byte(nil), []byte{21, 3, 5, 8, 8, 20, 1}, []byte{2, 4}, `{"type":"allowed_tools","tools":[{"type":"shell"},{"type":"custom","name":"patch"}]}`)
	f.Fuzz(func(t *testing.T, body, items, tools []byte, choice string) {
		if len(body) == 0 {
			if choice == "" {
				choice = "null"
			}
			body = []byte(with(`"input":[` + pick(fragments, items) + `],"tools":[` + pick(toolFragments, tools) + `],"tool_choice":` + choice))
		}
		r, err := Format{}.Read(body, opener)
		if err != nil {
			var refused *apierror.Error
			if !errors.As(err, &refused) || refused.Status != 400 || refused.Code == "" {
				t.Fatalf("the error is %v", err)
			}
			return
		}
		checkRequest(t, r)
	})
}

// checkRequest checks the properties that package hub documents for a request.
func checkRequest(t *testing.T, r *hub.Request) {
	t.Helper()
	if len(r.Messages) == 0 || len(r.Dropped) > hub.MaxDropped {
		t.Fatalf("%d messages, %d dropped", len(r.Messages), len(r.Dropped))
	}
	tools := map[string]bool{}
	for _, x := range r.Tools {
		if !wire.LegalID(x.Name) || tools[x.Name] {
			t.Fatalf("tool name %q", x.Name)
		}
		tools[x.Name] = true
		s := jsontext.NewScanner([]byte(x.Parameters))
		if s.Kind() != jsontext.Object {
			t.Fatalf("parameters %q", x.Parameters)
		}
	}
	if r.Choice.Name != "" && !tools[r.Choice.Name] {
		t.Fatalf("choice %+v", r.Choice)
	}
	var waiting []string
	for _, m := range r.Messages {
		switch m.Role {
		case hub.Assistant:
			waiting = waiting[:0]
			for _, c := range m.Calls {
				if !wire.LegalID(c.ID) || !wire.LegalID(c.Name) {
					t.Fatalf("call %+v", c)
				}
				waiting = append(waiting, c.ID)
			}
			if len(m.Parts) == 0 && len(m.Calls) == 0 {
				t.Fatal("an empty assistant message")
			}
		case hub.ToolResult:
			for len(waiting) > 0 && waiting[0] != m.CallID {
				waiting = waiting[1:]
			}
			if len(waiting) == 0 {
				t.Fatalf("the result of %s does not follow its call", m.CallID)
			}
			waiting = waiting[1:]
			if len(m.Parts) > 1 {
				t.Fatal("a tool result of several parts")
			}
		case hub.System, hub.Developer, hub.User:
			if len(m.Parts) == 0 {
				t.Fatal("an empty message")
			}
		}
	}
	for _, p := range r.Answer.Echo {
		if strings.ContainsAny(p.Value, "\n\r") {
			t.Fatalf("echo of several lines: %s", p.Value)
		}
		s := jsontext.NewScanner([]byte(p.Value))
		if s.Skip() != nil || s.End() != nil {
			t.Fatalf("echo %s is %s", p.Name, p.Value)
		}
	}
}
