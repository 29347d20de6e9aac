package responses

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

func upstreamTarget() *hub.Target {
	return &hub.Target{
		Provider: &catalog.Provider{Code: "openai", NativeTools: true},
		Model: &catalog.Model{
			Provider: "openai", ID: "gpt-x", Family: "gpt-x", MaxOutput: 1000, JSONSchema: true,
			Reasoning: true, ReasoningEfforts: []string{"none", "low", "medium", "high"},
		},
	}
}

func upstreamWords(role hub.Role, texts ...string) hub.Message {
	m := hub.Message{Role: role}
	for _, text := range texts {
		m.Parts = append(m.Parts, hub.Part{Kind: hub.PartText, Text: text})
	}
	return m
}

func upstreamCalls(ids ...string) hub.Message {
	m := hub.Message{Role: hub.Assistant}
	for _, id := range ids {
		m.Calls = append(m.Calls, hub.Call{ID: id, Name: "f", Arguments: `{"a": 1}`})
	}
	return m
}

func upstreamResult(id, text string) hub.Message {
	m := upstreamWords(hub.ToolResult, text)
	m.CallID = id
	return m
}

func upstreamState(form hub.Form, data string) *hub.State {
	return &hub.State{Provider: "openai", Family: "gpt-x", Form: form, Data: data}
}

func TestUpstreamRequest(t *testing.T) {
	t.Parallel()
	hello := upstreamWords(hub.User, "hello")
	tool := hub.Tool{Name: "f", Description: "does f", Parameters: `{"type":"object","properties":{}}`}
	patch := hub.Tool{Name: "patch", ClientName: "patch", Kind: hub.ToolCustom, Description: "d", Parameters: `{"type":"object"}`}
	showing := hub.Answer{Reasoning: true}
	plain := func(t *hub.Target) { t.Model.Reasoning = false }
	functions := func(t *hub.Target) { t.Provider.NativeTools = false }
	patching := []hub.Message{hello, {Role: hub.Assistant, Calls: []hub.Call{{ID: "a", Name: "patch", Arguments: `{"input": "x\ny"}`}, {ID: "b", Name: "patch", Arguments: "loose"}}}, upstreamResult("a", "ok")}
	for _, c := range []struct {
		name    string
		request hub.Request
		target  func(*hub.Target)
		// want has the expected values by gjson path; "" means absent.
		want    map[string]string
		dropped string
		err     string
	}{
		{
			name:    "plain",
			request: hub.Request{Stream: true, Messages: []hub.Message{upstreamWords(hub.System, "be", "brief"), upstreamWords(hub.System, "b"), upstreamWords(hub.Developer, "dev"), hello, upstreamWords(hub.Assistant, "", "Hi"), upstreamWords(hub.User, "")}},
			target:  plain,
			want: map[string]string{
				"@this": `{"model":"gpt-x","instructions":"be\n\nbrief","input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"b"}]},` +
					`{"type":"message","role":"developer","content":[{"type":"input_text","text":"dev"}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]},` +
					`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi"}]}],"store":false,"stream":true}`,
			},
		},
		{name: "reasoning model", request: hub.Request{Messages: []hub.Message{hello}}, want: map[string]string{"include": `["reasoning.encrypted_content"]`, "reasoning": "", "instructions": "", "stream": "", "store": "false"}},
		{name: "effort", request: hub.Request{Effort: hub.EffortXHigh, Answer: showing, Messages: []hub.Message{hello}}, want: map[string]string{"reasoning": `{"effort":"high","summary":"auto"}`}},
		{name: "effort rounded down", request: hub.Request{Effort: hub.EffortMinimal, Messages: []hub.Message{hello}}, want: map[string]string{"reasoning": `{"effort":"low"}`}},
		{name: "effort none", request: hub.Request{Effort: hub.EffortNone, Answer: showing, Messages: []hub.Message{hello}}, want: map[string]string{"reasoning": `{"effort":"none"}`}},
		{name: "effort none unknown", request: hub.Request{Effort: hub.EffortNone, Messages: []hub.Message{hello}}, target: func(t *hub.Target) {
			t.Model.ReasoningEfforts = nil
			t.Provider.Shape.ReasoningEfforts = []string{"high"}
		}, want: map[string]string{"reasoning.effort": `"high"`}},
		{name: "effort of a plain model", request: hub.Request{Effort: hub.EffortHigh, Messages: []hub.Message{hello}}, target: plain, want: map[string]string{"reasoning": ""}, dropped: "reasoning_effort"},
		{
			name: "what only chat has a place for",
			request: hub.Request{Messages: []hub.Message{
				{Role: hub.User, Parts: hello.Parts, Extra: []hub.Param{{Name: "name", Value: `"Ann"`}}},
				{Role: hub.User, Parts: hello.Parts, Extra: []hub.Param{{Name: "audio", Value: "null"}, {Name: "extra_content", Value: "{}"}, {Name: "name", Value: `"Bob"`}}},
			}},
			want: map[string]string{"input.#.name": "[]"}, dropped: "messages[].name",
		},
		{name: "limit", request: hub.Request{MaxTokens: 5000, Messages: []hub.Message{hello}}, want: map[string]string{"max_output_tokens": "1000"}},
		{name: "least limit", request: hub.Request{MaxTokens: 3, Messages: []hub.Message{hello}}, want: map[string]string{"max_output_tokens": "16"}},
		{
			name: "reasoning restored",
			request: hub.Request{Messages: []hub.Message{hello, {
				Role: hub.Assistant, Parts: []hub.Part{{Kind: hub.PartText, Text: "t"}, {Kind: hub.PartRefusal, Text: "no"}}, Calls: []hub.Call{{ID: "a", Name: "f"}},
				Reasoning: []hub.Reasoning{{Text: "Hm", State: upstreamState(hub.FormItem, `{"type":"reasoning","summary":[], "encrypted_content":"gA"}`)}, {State: upstreamState(hub.FormSignature, "s")}, {Foreign: "x"}},
			}, upstreamResult("a", "r")}},
			want: map[string]string{
				"input.#.type": `["message","reasoning","message","function_call","function_call_output"]`,
				"input.1":      `{"type":"reasoning","summary":[], "encrypted_content":"gA"}`,
				"input.2":      `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"t"},{"type":"refusal","refusal":"no"}]}`,
				"input.3":      `{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}`,
				"input.4":      `{"type":"function_call_output","call_id":"a","output":"r"}`,
			},
		},
		{
			name:    "reasoning alone",
			request: hub.Request{Messages: []hub.Message{hello, {Role: hub.Assistant, Reasoning: []hub.Reasoning{{State: upstreamState(hub.FormItem, `{"type":"reasoning"}`)}}}, hello}},
			want:    map[string]string{"input.#.type": `["message","message"]`},
		},
		{
			name:    "gaps filled",
			request: hub.Request{Tools: []hub.Tool{tool}, Messages: []hub.Message{hello, upstreamCalls("a", "b", "c"), upstreamResult("b", "r"), hello, upstreamCalls("d")}},
			want:    map[string]string{"input.#.call_id": `["a","b","c","b","a","c","d"]`, "input.5.output": `"[no result]"`, "input.6.output": `"[no result]"`},
		},
		{
			name:    "results with more than text",
			request: hub.Request{Messages: []hub.Message{hello, upstreamCalls("a", "b"), {Role: hub.ToolResult, CallID: "a", Parts: []hub.Part{{Kind: hub.PartText, Text: "x"}, {Kind: hub.PartImage, URL: "data:image/png;base64,AA"}}}, {Role: hub.ToolResult, CallID: "b", Parts: []hub.Part{{Kind: hub.PartText, Text: "x"}, {Kind: hub.PartText, Text: "y"}}}}},
			want:    map[string]string{"input.3.output": `[{"type":"input_text","text":"x"},{"type":"input_image","image_url":"data:image/png;base64,AA"}]`, "input.4.output": `"x\ny"`},
		},
		{
			name:    "tools",
			request: hub.Request{Choice: hub.Choice{Mode: "required"}, Params: []hub.Param{{Name: "parallel_tool_calls", Value: "false"}}, Messages: []hub.Message{hello}, Tools: []hub.Tool{tool, {Name: "g", Strict: "true"}}},
			want: map[string]string{
				"tools": `[{"type":"function","name":"f","description":"does f","parameters":{"type":"object","properties":{}},"strict":false},` +
					`{"type":"function","name":"g","parameters":{"type":"object","properties":{}},"strict":true}]`,
				"tool_choice": `"required"`, "parallel_tool_calls": "false",
			},
		},
		{name: "choice without tools", request: hub.Request{Choice: hub.Choice{Mode: "required"}, Messages: []hub.Message{hello}}, want: map[string]string{"tool_choice": "", "tools": ""}},
		{
			name:    "custom tool",
			request: hub.Request{Choice: hub.Choice{Mode: "function", Name: "patch"}, Messages: patching, Tools: []hub.Tool{patch}},
			want: map[string]string{
				"tools": `[{"type":"custom","name":"patch","description":"d"}]`, "tool_choice": `{"type":"custom","name":"patch"}`,
				"input.1": `{"type":"custom_tool_call","call_id":"a","name":"patch","input":"x\ny"}`, "input.2.input": `"loose"`,
				"input.3.type": `"custom_tool_call_output"`,
			},
		},
		{
			name:    "custom tool as a function",
			request: hub.Request{Choice: hub.Choice{Mode: "function", Name: "patch"}, Messages: patching, Tools: []hub.Tool{patch}},
			target:  functions,
			want:    map[string]string{"tools.0.type": `"function"`, "tool_choice.type": `"function"`, "input.1.arguments": `"{\"input\": \"x\\ny\"}"`, "input.3.type": `"function_call_output"`},
		},
		{name: "schema", request: hub.Request{Output: &hub.Output{Kind: "json_schema", Schema: `{"type": "object"}`, Strict: "true", Description: "d"}, Params: []hub.Param{{Name: "verbosity", Value: `"low"`}}, Messages: []hub.Message{hello}}, want: map[string]string{"text": `{"format":{"type":"json_schema","name":"output","description":"d","schema":{"type": "object"},"strict":true},"verbosity":"low"}`}},
		{name: "object", request: hub.Request{Output: &hub.Output{Kind: "json_object"}, Messages: []hub.Message{hello}}, want: map[string]string{"text": `{"format":{"type":"json_object"}}`}},
		{
			name:    "parameters",
			request: hub.Request{Stop: []string{"a"}, Params: []hub.Param{{Name: "temperature", Value: "0.5"}, {Name: "top_p", Value: "null"}, {Name: "user", Value: `"u"`}, {Name: "seed", Value: "4"}, {Name: "metadata", Value: `{"a": "b"}`}, {Name: "store", Value: "true"}, {Name: "logprobs", Value: "true"}, {Name: "top_logprobs", Value: "2"}}, Messages: []hub.Message{hello}},
			target:  func(t *hub.Target) { t.Drop = []string{"temperature"} },
			want:    map[string]string{"temperature": "", "top_p": "", "user": `"u"`, "metadata": `{"a": "b"}`, "store": "false", "top_logprobs": "2", "include": `["reasoning.encrypted_content","message.output_text.logprobs"]`},
			dropped: "stop,temperature,seed",
		},
		{name: "choices", request: hub.Request{Params: []hub.Param{{Name: "n", Value: "2"}}, Messages: []hub.Message{hello}}, err: "n is 2"},
		{name: "speech", request: hub.Request{Params: []hub.Param{{Name: "modalities", Value: `["text","audio"]`}, {Name: "audio", Value: "{}"}}, Messages: []hub.Message{hello}}, err: "modalities has"},
		{
			name: "media",
			request: hub.Request{Messages: []hub.Message{{Role: hub.User, Parts: []hub.Part{
				{Kind: hub.PartImage, URL: "https://x/y.png", Detail: "high"}, {Kind: hub.PartFile, URL: "data:application/pdf;base64,BBBB", Detail: "a.pdf"}, {Kind: hub.PartFile, URL: "data:application/pdf;base64,CC"}, {Kind: hub.PartFile, URL: "https://x/a.pdf"},
			}}}},
			want: map[string]string{"input.0.content": `[{"type":"input_image","image_url":"https://x/y.png","detail":"high"},{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,BBBB"},` +
				`{"type":"input_file","filename":"file","file_data":"data:application/pdf;base64,CC"},{"type":"input_file","file_url":"https://x/a.pdf"}]`},
		},
		{name: "audio", request: hub.Request{Messages: []hub.Message{hello, {Role: hub.User, Parts: []hub.Part{{Kind: hub.PartAudio, Data: "AAAA"}}}}}, err: "messages[1] contains audio"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			target := upstreamTarget()
			if c.target != nil {
				c.target(target)
			}
			got, err := Format{}.Write(&c.request, target)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !json.Valid(got.Body) {
				t.Fatalf("no JSON: %s", got.Body)
			}
			for path, want := range c.want {
				if found := gjson.GetBytes(got.Body, path); found.Raw != want {
					t.Errorf("%s: got %s, want %s", path, found.Raw, want)
				}
			}
			if dropped := strings.Join(got.Dropped, ","); dropped != c.dropped {
				t.Errorf("dropped %s, want %s", dropped, c.dropped)
			}
		})
	}
}

// upstreamLarge returns a request of about 75 KB with 24 tools.
func upstreamLarge() *hub.Request {
	r := &hub.Request{Format: hub.Chat, Effort: hub.EffortHigh, Messages: []hub.Message{upstreamWords(hub.System, strings.Repeat("You are careful. ", 1000))}}
	for i := range 24 {
		r.Tools = append(r.Tools, hub.Tool{Name: fmt.Sprintf("tool_%d", i), Description: strings.Repeat("Describes. ", 80), Parameters: `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`})
	}
	for i := range 20 {
		id := fmt.Sprintf("call_%d", i)
		r.Messages = append(r.Messages, upstreamWords(hub.User, strings.Repeat("more \n text ", 100)), upstreamCalls(id), upstreamResult(id, strings.Repeat("result ", 50)))
	}
	r.Body = make([]byte, 75_000)
	return r
}

func BenchmarkUpstreamWrite75KB(b *testing.B) {
	b.ReportAllocs()
	r, t := upstreamLarge(), upstreamTarget()
	for b.Loop() {
		if _, err := (Format{}).Write(r, t); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzUpstreamRequest checks that Read accepts every written request.
func FuzzUpstreamRequest(f *testing.F) {
	f.Add([]byte(`{"model":"m","instructions":"i","input":[{"role":"user","content":"a"},{"type":"reasoning","summary":[],"encrypted_content":"x"},{"type":"custom_tool_call","call_id":"a","name":"p","input":"x"},{"type":"custom_tool_call_output","call_id":"a","output":"y"},{"type":"function_call","call_id":"b","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"b","output":"y"}],"tools":[{"type":"custom","name":"p"},{"type":"function","name":"f","parameters":{}}],"reasoning":{"effort":"low"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := Format{}.Read(body, hub.ReadOptions{})
		if err != nil {
			return
		}
		before := fmt.Sprint(r.Messages)
		written, err := Format{}.Write(r, upstreamTarget())
		if err != nil {
			return
		}
		if fmt.Sprint(r.Messages) != before {
			t.Fatal("the request was changed")
		}
		if err := wire.CheckObject(written.Body); err != nil {
			t.Fatalf("%v: %s", err, written.Body)
		}
		if len(r.Messages) > 1 {
			if _, err := (Format{}).Read(written.Body, hub.ReadOptions{}); err != nil && gjson.GetBytes(written.Body, "input.#").Int() > 0 {
				t.Fatalf("%v: %s", err, written.Body)
			}
		}
	})
}
