package chat

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// target returns a candidate of a provider in the catalog.
func target(provider string, change func(*catalog.Model)) *hub.Target {
	c, err := catalog.Embedded().With(catalog.Options{Enable: []string{"perplexity"}})
	if err != nil {
		panic(err)
	}
	p, ok := c.Provider(provider)
	if !ok {
		panic(provider)
	}
	m := &catalog.Model{
		Provider: provider, ID: "the-model", Family: "family", MaxOutput: 8000, Tools: true, JSONSchema: true, Reasoning: true,
	}
	if change != nil {
		change(m)
	}
	t := &hub.Target{Provider: p, Model: m, Drop: p.Shape.Drop, MaxTokensField: p.Shape.MaxTokensField, StreamUsage: p.Shape.StreamUsage}
	if m.Reasoning {
		t.Drop = append(append([]string{}, t.Drop...), p.Shape.DropForReasoning...)
	}
	return t
}

var plain = func(m *catalog.Model) { m.Reasoning, m.JSONSchema = false, false }

// TestRequest reads requests and writes them for the providers that name the sections of a golden file. The word
// "plain" after a provider means a model that neither reasons nor supports schemas.
func TestRequest(t *testing.T) {
	t.Parallel()
	for _, g := range goldens(t, "request") {
		t.Run(g.name(), func(t *testing.T) {
			t.Parallel()
			r, err := Format{}.Read([]byte(g.sections["in"]), hub.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if g.has("of messages") { // as if the client did not use the chat format
				r.Format = hub.Messages
			}
			before := clone(r)
			for _, name := range g.names[1:] {
				provider, kind, _ := strings.Cut(name, " ")
				change := func(*catalog.Model) {}
				if kind == "plain" {
					change = plain
				}
				written, err := Format{}.Write(r, target(provider, change))
				if err != nil {
					g.check(t, name, err.Error())
					continue
				}
				if !json.Valid(written.Body) || wire.CheckObject(written.Body) != nil {
					t.Errorf("%s: no JSON object: %s", name, written.Body)
				}
				got := breakLines(string(written.Body))
				if len(written.Dropped) > 0 {
					got += "\ndropped: " + strings.Join(written.Dropped, ", ")
				}
				g.check(t, name, got)
			}
			if !reflect.DeepEqual(r, before) {
				t.Errorf("the request was changed:\n%+v\nwas:\n%+v", r, before)
			}
			g.save(t)
		})
	}
}

// breakLines puts each message, and each member after the messages, on its own line.
func breakLines(body string) string {
	return strings.NewReplacer(`,{"role":`, "\n,{\"role\":", `[{"role":`, "[\n{\"role\":", `],"`, "]\n,\"").Replace(body)
}

func clone(r *hub.Request) *hub.Request {
	c := *r
	c.Messages = append([]hub.Message(nil), r.Messages...)
	for i := range c.Messages {
		m := &c.Messages[i]
		m.Parts = append([]hub.Part(nil), m.Parts...)
		m.Calls = append([]hub.Call(nil), m.Calls...)
		m.Extra = append([]hub.Param(nil), m.Extra...)
	}
	c.Tools = append([]hub.Tool(nil), r.Tools...)
	c.Params = append([]hub.Param(nil), r.Params...)
	return &c
}

func TestRead(t *testing.T) {
	t.Parallel()
	r, err := Format{}.Read([]byte(`{"model":"m","max_tokens":7,"stream":true,"stream_options":{"include_usage":true,"include_obfuscation":false},
		"messages":[
			{"role":"developer","content":"d"},
			{"role":"user","name":"Ann","content":["a",{"type":"text","text":""},{"type":"image_url","image_url":{"url":"https://x/y.png","detail":"low"},"cache_control":{"type":"ephemeral"}},
				{"type":"input_audio","input_audio":{"data":"QQ==","format":"wav"}},{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,QQ=="}},
				{"type":"file","file":{"file_id":"file-1"}}]},
			{"role":"assistant","content":null,"refusal":null,"reasoning_content":"hm","tool_calls":[
				{"id":"a","type":"function","function":{"name":"f","arguments":""},"extra_content":{"google":{}}},
				{"id":"b","type":"custom","custom":{"name":"mcp.tool","input":"say \"x\""}}]},
			{"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"two"},{"type":"image_url","image_url":{"url":"data:image/png;base64,QQ=="}}]},
			{"role":"tool","tool_call_id":"a","content":"one"},
			{"role":"user","content":""},
			{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"so"}]},{"type":"text","text":"x"}]}
		],
		"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type": "object"},"strict":true}},
			{"type":"custom","custom":{"name":"mcp.tool","description":"d","format":{"type":"grammar","grammar":{"syntax":"lark","definition":"start: x"}}}}],
		"tool_choice":{"type":"function","function":{"name":"mcp.tool"}},
		"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object"},"strict":false}},
		"reasoning_effort":"high","stop":["a","","b"],"temperature":0.5,"logprobs":true,"n":2,"logit_bias":{"1": 2},"user":null,"unknown":[1, 2]}`), hub.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	custom := hub.LegalName("mcp.tool")
	want := &hub.Request{
		Format: hub.Chat, Body: r.Body, Model: "m", Stream: true, IncludeUsage: true, MaxTokens: 7,
		Messages: []hub.Message{
			{Role: hub.Developer, Parts: []hub.Part{{Kind: hub.PartText, Text: "d"}}},
			{
				Role: hub.User, Extra: []hub.Param{{Name: "name", Value: `"Ann"`}}, Parts: []hub.Part{
					{Kind: hub.PartText, Text: "a"},
					{Kind: hub.PartImage, URL: "https://x/y.png", Detail: "low", Cache: `{"type":"ephemeral"}`},
					{Kind: hub.PartAudio, Data: "QQ==", Detail: "wav"},
					{Kind: hub.PartFile, URL: "data:application/pdf;base64,QQ==", Detail: "a.pdf"},
					{Kind: hub.PartOther, Raw: `{"type":"file","file":{"file_id":"file-1"}}`},
				},
			},
			{
				Role: hub.Assistant, Extra: []hub.Param{{Name: "reasoning_content", Value: `"hm"`}}, Calls: []hub.Call{
					{ID: "a", Name: "f", Arguments: "{}", Extra: []hub.Param{{Name: "extra_content", Value: `{"google":{}}`}}},
					{ID: "b", Name: custom, Arguments: `{"input":"say \"x\""}`},
				},
			},
			{Role: hub.ToolResult, CallID: "a", Parts: []hub.Part{{Kind: hub.PartText, Text: "one"}}},
			{Role: hub.ToolResult, CallID: "b", Parts: []hub.Part{{Kind: hub.PartText, Text: "two"}, {Kind: hub.PartText, Text: imageBelow}}},
			{Role: hub.User, Parts: []hub.Part{{Kind: hub.PartImage, URL: "data:image/png;base64,QQ=="}}},
			{
				Role: hub.Assistant, Parts: []hub.Part{{Kind: hub.PartText, Text: "x"}},
				Reasoning: []hub.Reasoning{{Text: "so", Foreign: `{"type":"thinking","thinking":[{"type":"text","text":"so"}]}`}},
			},
		},
		Tools: []hub.Tool{
			{Name: "f", ClientName: "f", Description: "d", Parameters: `{"type": "object"}`, Strict: "true"},
			{Name: custom, ClientName: "mcp.tool", Kind: hub.ToolCustom, Parameters: customSchema, Description: "d\n\nThe input must follow this grammar:\nstart: x"},
		},
		Choice: hub.Choice{Mode: "function", Name: custom},
		Output: &hub.Output{Kind: "json_schema", Name: "n", Schema: `{"type":"object"}`, Strict: "false"},
		Effort: hub.EffortHigh, Stop: []string{"a", "b"},
		Params: []hub.Param{
			{Name: "temperature", Value: "0.5"},
			{Name: "logprobs", Value: "true"},
			{Name: "n", Value: "2"},
			{Name: "logit_bias", Value: `{"1": 2}`},
			{Name: "unknown", Value: "[1, 2]"},
		},
		Dropped: []string{"stream_options.include_obfuscation"},
		Needs:   wire.NeedImage | wire.NeedFile | wire.NeedAudio | wire.NeedTools | wire.NeedJSONSchema | wire.NeedPrefill | wire.NeedChoices,
		Answer:  hub.Answer{Reasoning: true, Logprobs: true}, TextBytes: r.TextBytes,
	}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("got\n%+v\nwant\n%+v", r, want)
	}
	if r.TextBytes < 300 {
		t.Errorf("text of %d bytes", r.TextBytes)
	}
}

// TestReadEffort checks that the effort is also read from the members of aggregators and of the messages API.
func TestReadEffort(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]hub.Effort{
		`"reasoning_effort":"low","thinking":{"type":"enabled","budget_tokens":30000}`: hub.EffortLow,
		`"thinking":{"type":"enabled","budget_tokens":2000}`:                           hub.EffortLow,
		`"thinking":{"type":"enabled","budget_tokens":4096}`:                           hub.EffortMedium,
		`"thinking":{"type":"enabled","budget_tokens":16384}`:                          hub.EffortHigh,
		`"thinking":{"type":"enabled"}`:                                                hub.EffortMedium,
		`"thinking":{"type":"adaptive"}`:                                               hub.EffortMedium,
		`"thinking":{"type":"disabled"}`:                                               hub.EffortNone,
		`"thinking":null`:                                                              "",
		`"thinking":"on"`:                                                              "",
		`"thinking":{"type":"later"}`:                                                  "",
		`"reasoning":{"effort":"xhigh"}`:                                               hub.EffortXHigh,
		`"reasoning":{"max_tokens":5000,"exclude":false}`:                              hub.EffortMedium,
		`"reasoning":{"enabled":true}`:                                                 hub.EffortMedium,
		`"reasoning":{"enabled":false,"effort":"high"}`:                                hub.EffortNone,
		`"reasoning":{"effort":"huge"}`:                                                "",
		`"reasoning":[]`:                                                               "",
	} {
		r, err := Format{}.Read([]byte(`{"model":"m","messages":[{"role":"user","content":"a"}],"x":1,`+members+`}`), hub.ReadOptions{})
		if err != nil {
			t.Fatalf("%s: %v", members, err)
		}
		common := r.WithOtherEffort()
		if common.Effort != want || r.Effort == "" && want != "" && len(common.Params) != 1 || common.Param("x") != "1" {
			t.Errorf("%s: effort %q, left %v", members, common.Effort, common.Params)
		}
	}
}

// TestReadMarks checks prompt cache marks. A message whose content is a string has the mark itself.
func TestReadMarks(t *testing.T) {
	t.Parallel()
	const mark, own = `{"type":"ephemeral"}`, `{"type":"ephemeral","ttl":"1h"}`
	r, err := Format{}.Read([]byte(`{"model":"m","messages":[{"cache_control":`+mark+`,"role":"system","content":"a"},
		{"role":"user","content":[{"type":"text","text":"b"},{"type":"text","text":"c"}],"cache_control":`+mark+`},
		{"role":"assistant","content":[{"type":"text","text":"d","cache_control":`+own+`}],"cache_control":`+mark+`},
		{"role":"user","content":"e","cache_control":null}]}`), hub.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range r.Messages {
		if len(m.Extra) > 0 {
			t.Errorf("%s: left %v", m.Role, m.Extra)
		}
		for _, p := range m.Parts {
			got = append(got, p.Text+p.Cache)
		}
	}
	if want := []string{"a" + mark, "b", "c" + mark, "d" + own, "e"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReadChoices(t *testing.T) {
	t.Parallel()
	const tools = `"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"g"}}]`
	for choice, want := range map[string]hub.Choice{
		`null`: {}, `"auto"`: {Mode: "auto"}, `"none"`: {Mode: "none"}, `"required"`: {Mode: "required"}, `"any"`: {Mode: "required"},
		`{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"g"}}]}}`: {Mode: "required"},
	} {
		r, err := Format{}.Read([]byte(`{"model":"m","tool_choice":`+choice+`,"messages":[{"role":"user","content":"x"}],`+tools+`}`), hub.ReadOptions{})
		if err != nil || r.Choice != want {
			t.Errorf("%s: %+v, %v", choice, r, err)
			continue
		}
		if n := len(r.Tools); strings.Contains(choice, "allowed") != (n == 1 && r.Tools[0].Name == "g") {
			t.Errorf("%s: %d tools", choice, n)
		}
	}
	r, err := Format{}.Read([]byte(`{"model":"m","tool_choice":"auto","messages":[{"role":"user","content":"x"}]}`), hub.ReadOptions{})
	if err != nil || r.Choice.Mode != "" {
		t.Errorf("a choice without tools: %+v, %v", r, err)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	request := func(members string) string {
		return `{"model":"m","messages":[{"role":"user","content":"x"}],` + members + `}`
	}
	message := func(m string) string { return `{"model":"m","messages":[{"role":"user","content":"x"},` + m + `]}` }
	choice := func(c string) string {
		return request(`"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":` + c)
	}
	allowed := func(tools string) string {
		return choice(`{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[` + tools + `]}}`)
	}
	for body, want := range map[string]string{
		`[`:                            "invalid_json ",
		`{"model":"m","model":"n"}`:    "invalid_value model",
		`{"messages":[]}`:              "invalid_value messages",
		`{"model":"m"}`:                "missing_required_parameter messages",
		`{"model":"","messages":[]}`:   "missing_required_parameter model",
		`{"model":1}`:                  "invalid_value model",
		`{"model":"m","messages":"x"}`: "invalid_value messages",
		`{"model":"m","messages":[{"role":"user","content":""}]}`: "invalid_value messages",
		`{"messages":[{"role":"user","content":"x"}]}`:            "missing_required_parameter model",
		message(`1`):                "invalid_value messages[1]",
		message(`{}`):               "missing_required_parameter messages[1].role",
		message(`{"role":"robot"}`): "invalid_value messages[1].role",
		message(`{"role":"function","name":"f"}`):                                                       "unsupported_parameter messages[1].role",
		message(`{"role":"user","content":1}`):                                                          "invalid_value messages[1].content",
		message(`{"role":"user","content":"a","content":"b"}`):                                          "invalid_value messages[1].content",
		message(`{"role":"user","content":["a",2]}`):                                                    "invalid_value messages[1].content[1]",
		message(`{"role":"user","content":[{"text":"a"}]}`):                                             "missing_required_parameter messages[1].content[0].type",
		message(`{"role":"user","content":[{"type":"text","text":1}]}`):                                 "invalid_value messages[1].content[0].text",
		message(`{"role":"user","content":[{"type":"image_url","image_url":{}}]}`):                      "missing_required_parameter messages[1].content[0].image_url.url",
		message(`{"role":"user","content":[{"type":"file","file":{}}]}`):                                "missing_required_parameter messages[1].content[0].file.file_id",
		message(`{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"x"}}]}`):        "missing_required_parameter messages[1].content[0].input_audio.format",
		message(`{"role":"user","tool_calls":[{}]}`):                                                    "invalid_value messages[1].tool_calls",
		message(`{"role":"assistant","tool_calls":{}}`):                                                 "invalid_value messages[1].tool_calls",
		message(`{"role":"assistant","tool_calls":[1]}`):                                                "invalid_value messages[1].tool_calls[0]",
		message(`{"role":"assistant","tool_calls":[{"function":{"name":"f"}}]}`):                        "missing_required_parameter messages[1].tool_calls[0].id",
		message(`{"role":"assistant","tool_calls":[{"id":"a","function":{}}]}`):                         "missing_required_parameter messages[1].tool_calls[0].function.name",
		message(`{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":1}}]}`): "invalid_value messages[1].tool_calls[0].function.arguments",
		message(`{"role":"assistant","tool_calls":[{"id":"a","type":"x","function":{"name":"f"}}]}`):    "invalid_value messages[1].tool_calls[0].type",
		message(`{"role":"assistant","function_call":{"name":"f"}}`):                                    "unsupported_parameter messages[1].function_call",
		message(`{"role":"tool","content":"x"}`):                                                        "missing_required_parameter messages[1].tool_call_id",
		message(`{"role":"tool","tool_call_id":"a","content":"x"}`):                                     "invalid_value messages[1].tool_call_id",
		message(`{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f"}}]},{"role":"tool","tool_call_id":"a"},{"role":"tool","tool_call_id":"a"}`): "invalid_value messages[3].tool_call_id",
		request(`"stream":1`):                                  "invalid_value stream",
		request(`"stream_options":1`):                          "invalid_value stream_options",
		request(`"stream_options":{"include_usage":1}`):        "invalid_value stream_options.include_usage",
		request(`"max_tokens":0`):                              "invalid_value max_tokens",
		request(`"max_completion_tokens":1.5`):                 "invalid_value max_completion_tokens",
		request(`"n":129`):                                     "invalid_value n",
		request(`"stop":1`):                                    "invalid_value stop",
		request(`"stop":["a",1]`):                              "invalid_value stop[1]",
		request(`"reasoning_effort":"lots"`):                   "invalid_value reasoning_effort",
		request(`"temperature":"hot"`):                         "invalid_value temperature",
		request(`"user":1`):                                    "invalid_value user",
		request(`"logprobs":1`):                                "invalid_value logprobs",
		request(`"metadata":[]`):                               "invalid_value metadata",
		request(`"functions":[]`):                              "unsupported_parameter functions",
		request(`"tools":{}`):                                  "invalid_value tools",
		request(`"tools":[1]`):                                 "invalid_value tools[0]",
		request(`"tools":[{}]`):                                "missing_required_parameter tools[0].type",
		request(`"tools":[{"type":"x"}]`):                      "invalid_value tools[0].type",
		request(`"tools":[{"type":"function"}]`):               "missing_required_parameter tools[0].function",
		request(`"tools":[{"type":"function","function":{}}]`): "missing_required_parameter tools[0].function.name",
		request(`"tools":[{"type":"function","function":{"name":"f","parameters":1}}]`): "invalid_value tools[0].function.parameters",
		request(`"tools":[{"type":"custom","custom":{}}]`):                              "missing_required_parameter tools[0].custom.name",
		choice(`"x"`):                 "invalid_value tool_choice",
		choice(`1`):                   "invalid_value tool_choice",
		choice(`{"type":"function"}`): "missing_required_parameter tool_choice.function",
		choice(`{"type":"x"}`):        "invalid_value tool_choice.type",
		allowed(`{"type":"function","function":{"name":"g"}}`): "invalid_value tool_choice.allowed_tools.tools",
		allowed(`1`):                                        "invalid_value tool_choice.allowed_tools.tools[0]",
		request(`"response_format":1`):                      "invalid_value response_format",
		request(`"response_format":{"type":"x"}`):           "invalid_value response_format.type",
		request(`"response_format":{"type":"json_schema"}`): "missing_required_parameter response_format.json_schema",
		request(`"response_format":{"type":"json_schema","json_schema":{"schema":1}}`): "invalid_value response_format.json_schema.schema",
	} {
		_, err := Format{}.Read([]byte(body), hub.ReadOptions{})
		e, ok := apierror.From(err)
		if !ok || e.Status != 400 || e.Code+" "+e.Param != want || (e.Param != "" && !strings.Contains(e.Message, e.Param)) {
			t.Errorf("%s: %+v, want %s", body, err, want)
		}
	}
}

func TestReadMasks(t *testing.T) {
	t.Parallel()
	_, err := Format{}.Read([]byte(`{"model":"m","messages":[{"role":"sk-12345678901234567890`+strings.Repeat("x", 500)+`"}]}`), hub.ReadOptions{})
	if e, ok := apierror.From(err); !ok || strings.Contains(e.Message, "sk-1") || len(e.Message) > 300 {
		t.Errorf("got %v", err)
	}
}
