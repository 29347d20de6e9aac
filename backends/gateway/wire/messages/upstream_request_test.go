package messages

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

func upstreamTarget() *hub.Target {
	return &hub.Target{
		Provider: &catalog.Provider{Code: "anthropic", Shape: catalog.Shape{Drop: []string{"user", "service_tier"}}},
		Model: &catalog.Model{
			Provider: "anthropic", ID: "claude-x", Family: "claude-x", MaxOutput: 64000, JSONSchema: true,
			Reasoning: true, ReasoningEfforts: []string{"low", "medium", "high", "max"},
		},
		Drop: []string{"user", "service_tier"},
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
	return &hub.State{Provider: "anthropic", Family: "claude-x", Form: form, Data: data}
}

func TestUpstreamRequest(t *testing.T) {
	t.Parallel()
	hello := upstreamWords(hub.User, "hello")
	tool := hub.Tool{Name: "f", Description: "does f", Parameters: `{"type":"object","properties":{}}`}
	showing := hub.Answer{Reasoning: true}
	old := func(t *hub.Target) { t.Model.ReasoningEfforts = []string{} }
	plain := func(t *hub.Target) { t.Model.Reasoning = false }
	for _, c := range []struct {
		name    string
		request hub.Request
		target  func(*hub.Target)
		// want has the expected values by gjson path; "" means absent.
		want    map[string]string
		dropped string
		version string
		err     string
	}{
		{
			name:    "plain",
			request: hub.Request{Stream: true, Messages: []hub.Message{upstreamWords(hub.System, "be", "brief"), upstreamWords(hub.Developer, "dev"), hello}},
			want: map[string]string{
				"@this": `{"model":"claude-x","max_tokens":64000,"system":[{"type":"text","text":"be"},{"type":"text","text":"brief"},{"type":"text","text":"dev"}],` +
					`"messages":[{"role":"user","content":[{"type":"text","text":"hello"}]}],"stream":true}`,
			},
		},
		{name: "limit clamped", request: hub.Request{MaxTokens: 100000, Messages: []hub.Message{hello}}, want: map[string]string{"max_tokens": "64000", "stream": ""}},
		{
			name: "what only chat has a place for",
			request: hub.Request{Messages: []hub.Message{
				{Role: hub.User, Parts: hello.Parts, Extra: []hub.Param{{Name: "name", Value: `"Ann"`}}},
				{Role: hub.Assistant, Parts: hello.Parts, Extra: []hub.Param{{Name: "annotations", Value: "[]"}, {Name: "reasoning_content", Value: `"x"`}, {Name: "name", Value: `"Bob"`}, {Name: "audio", Value: `{"id":"a"}`}}},
				hello,
			}},
			want: map[string]string{"messages.#.name": "[]"}, dropped: "messages[].name,messages[].audio",
		},
		{name: "limit kept", request: hub.Request{MaxTokens: 100, Messages: []hub.Message{hello}}, want: map[string]string{"max_tokens": "100"}},
		{name: "limit unknown", request: hub.Request{Messages: []hub.Message{hello}}, target: func(t *hub.Target) { t.Model.MaxOutput = 0 }, want: map[string]string{"max_tokens": "4096"}},
		{
			name:    "late system, merged users, empty texts",
			request: hub.Request{Messages: []hub.Message{hello, upstreamWords(hub.System, "now"), upstreamWords(hub.User, "", " \n", "b"), upstreamWords(hub.Assistant, "")}},
			want: map[string]string{"messages": `[{"role":"user","content":[{"type":"text","text":"hello"},` +
				`{"type":"text","text":"<system-reminder>\nnow\n</system-reminder>"},{"type":"text","text":"b"}]}]`},
		},
		{
			name:    "begins with the assistant",
			request: hub.Request{Messages: []hub.Message{upstreamWords(hub.User, ""), upstreamWords(hub.Assistant, "Hi"), hello}},
			want:    map[string]string{"messages.#.role": `["user","assistant","user"]`, "messages.0.content.0.text": `"Continue."`},
		},
		{name: "only system", request: hub.Request{Messages: []hub.Message{upstreamWords(hub.System, "a")}}, want: map[string]string{"messages.#": "1", "messages.0.content.0.text": `"Continue."`}},
		{
			name: "results first, gaps filled",
			request: hub.Request{Tools: []hub.Tool{tool}, Messages: []hub.Message{
				hello, upstreamCalls("a", "b", "c"), upstreamWords(hub.User, "early"), upstreamResult("b", ""), {Role: hub.ToolResult, CallID: "a", Failed: true, Parts: []hub.Part{{Kind: hub.PartText, Text: "Error: no", Cache: `{"type":"ephemeral"}`}}},
			}},
			want: map[string]string{
				"messages.1.content.0": `{"type":"tool_use","id":"a","name":"f","input":{"a": 1}}`,
				"messages.2.content": `[{"type":"tool_result","tool_use_id":"b"},{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"Error: no"}],"is_error":true,"cache_control":{"type":"ephemeral"}},` +
					`{"type":"tool_result","tool_use_id":"c","content":"[no result]"},{"type":"text","text":"early"}]`,
			},
		},
		{
			name:    "invalid arguments",
			request: hub.Request{Messages: []hub.Message{hello, {Role: hub.Assistant, Calls: []hub.Call{{ID: "a", Name: "f", Arguments: `{"a"`}, {ID: "b", Name: "f", Arguments: `[1]`}, {ID: "c", Name: "f"}}}}},
			want:    map[string]string{"messages.1.content.#.input": `[{},{},{}]`},
		},
		{
			name: "reasoning restored first",
			request: hub.Request{Effort: hub.EffortHigh, Answer: showing, Tools: []hub.Tool{tool}, Messages: []hub.Message{hello, {
				Role: hub.Assistant, Parts: []hub.Part{{Kind: hub.PartText, Text: "t"}}, Calls: []hub.Call{{ID: "a", Name: "f", Arguments: "{}"}},
				Reasoning: []hub.Reasoning{
					{Text: "Hm", State: upstreamState(hub.FormSignature, "sig")},
					{State: upstreamState(hub.FormRedacted, "red")},
					{Text: "other", State: &hub.State{Provider: "openai", Form: hub.FormItem, Data: "{}"}},
					{Text: "foreign", Foreign: "xyz"},
				},
			}, upstreamResult("a", "r")}},
			want: map[string]string{
				"messages.1.content.#.type": `["thinking","redacted_thinking","text","tool_use"]`,
				"messages.1.content.0":      `{"type":"thinking","thinking":"Hm","signature":"sig"}`,
				"messages.1.content.1":      `{"type":"redacted_thinking","data":"red"}`,
				"thinking":                  `{"type":"adaptive","display":"summarized"}`,
				"output_config":             `{"effort":"high"}`,
			},
		},
		{
			name:    "calls without signed thinking",
			request: hub.Request{Effort: hub.EffortHigh, Answer: showing, Tools: []hub.Tool{tool}, Messages: []hub.Message{hello, upstreamCalls("a"), upstreamResult("a", "r")}},
			want:    map[string]string{"thinking": `{"type":"disabled"}`, "output_config.effort": `"high"`},
		},
		{name: "effort rounded down, hidden", request: hub.Request{Effort: hub.EffortXHigh, Messages: []hub.Message{hello}}, want: map[string]string{"thinking.display": `"omitted"`, "output_config.effort": `"high"`}},
		{name: "effort minimal", request: hub.Request{Effort: hub.EffortMinimal, Messages: []hub.Message{hello}}, want: map[string]string{"thinking.type": `"disabled"`, "output_config.effort": `"low"`}},
		{name: "effort none", request: hub.Request{Effort: hub.EffortNone, Messages: []hub.Message{hello}}, want: map[string]string{"thinking.type": `"disabled"`, "output_config": ""}},
		{name: "effort of a plain model", request: hub.Request{Effort: hub.EffortHigh, Messages: []hub.Message{hello}}, target: plain, want: map[string]string{"thinking": "", "output_config": ""}, dropped: "reasoning_effort"},
		{name: "no effort", request: hub.Request{Answer: showing, Messages: []hub.Message{hello}}, want: map[string]string{"thinking": "", "output_config": ""}},
		{name: "budget", request: hub.Request{Effort: hub.EffortMax, Messages: []hub.Message{hello}}, target: old, want: map[string]string{"thinking": `{"type":"enabled","budget_tokens":24576}`, "output_config": ""}},
		{name: "budget capped", request: hub.Request{Effort: hub.EffortMedium, MaxTokens: 4000, Messages: []hub.Message{hello}}, target: old, want: map[string]string{"thinking.budget_tokens": "3999"}},
		{name: "no room for a budget", request: hub.Request{Effort: hub.EffortLow, MaxTokens: 1000, Messages: []hub.Message{hello}}, target: old, want: map[string]string{"thinking.type": `"disabled"`}},
		{
			name:    "tools and choice",
			request: hub.Request{Effort: hub.EffortHigh, Choice: hub.Choice{Mode: "required"}, Params: []hub.Param{{Name: "parallel_tool_calls", Value: "false"}}, Messages: []hub.Message{hello}, Tools: []hub.Tool{{Name: "f", Strict: "true", Cache: `{"type":"ephemeral","ttl":"1h"}`, Parameters: `{"properties":{}}`}, {Name: "g", Parameters: "{}"}, {Name: "h", Description: "d"}}},
			want: map[string]string{
				"tools": `[{"name":"f","input_schema":{"type":"object","properties":{},"additionalProperties":false},"strict":true,"cache_control":{"type":"ephemeral","ttl":"1h"}},` +
					`{"name":"g","input_schema":{"type":"object"}},{"name":"h","description":"d","input_schema":{"type":"object","properties":{}}}]`,
				"tool_choice": `{"type":"any","disable_parallel_tool_use":true}`, "thinking.type": `"disabled"`,
			},
		},
		{name: "one tool", request: hub.Request{Choice: hub.Choice{Mode: "function", Name: "f"}, Messages: []hub.Message{hello}, Tools: []hub.Tool{tool}}, want: map[string]string{"tool_choice": `{"type":"tool","name":"f"}`}},
		{name: "no parallel calls", request: hub.Request{Params: []hub.Param{{Name: "parallel_tool_calls", Value: "false"}}, Messages: []hub.Message{hello}, Tools: []hub.Tool{tool}}, want: map[string]string{"tool_choice": `{"type":"auto","disable_parallel_tool_use":true}`}},
		{name: "choice without tools", request: hub.Request{Choice: hub.Choice{Mode: "required"}, Messages: []hub.Message{hello}}, want: map[string]string{"tool_choice": "", "tools": ""}},
		{name: "schema", request: hub.Request{Effort: hub.EffortLow, Output: &hub.Output{Kind: "json_schema", Schema: `{"type": "object","additionalProperties": false}`}, Messages: []hub.Message{hello}}, want: map[string]string{"output_config": `{"effort":"low","format":{"type":"json_schema","schema":{"type": "object","additionalProperties": false}}}`, "system": ""}},
		{name: "schema of an open object", request: hub.Request{Output: &hub.Output{Kind: "json_schema", Schema: `{"type": "object"}`}, Messages: []hub.Message{hello}}, want: map[string]string{"output_config": "", "system.0.text": `"Answer with one JSON object only. It must be valid under this JSON schema: {\"type\": \"object\"}"`}},
		{name: "strict tool of an open object", request: hub.Request{Tools: []hub.Tool{{Name: "f", Strict: "true", Parameters: `{"type":"object","additionalProperties":{}}`}}, Messages: []hub.Message{hello}}, want: map[string]string{"tools": `[{"name":"f","input_schema":{"type":"object","additionalProperties":{}}}]`}},
		{name: "schema in words", request: hub.Request{Output: &hub.Output{Kind: "json_schema", Schema: `{}`}, Messages: []hub.Message{hello}}, target: func(t *hub.Target) { t.Model.JSONSchema = false }, want: map[string]string{"output_config": "", "system.0.text": `"Answer with one JSON object only. It must be valid under this JSON schema: {}"`}},
		{name: "object", request: hub.Request{Output: &hub.Output{Kind: "json_object"}, Messages: []hub.Message{hello}}, want: map[string]string{"system.0.text": `"Answer with one JSON object only."`}},
		{name: "stop", request: hub.Request{Stop: []string{"a", "\n", "b"}, Messages: []hub.Message{hello}}, want: map[string]string{"stop_sequences": `["a","b"]`}, dropped: "stop"},
		{
			name:    "sampling",
			request: hub.Request{Params: []hub.Param{{Name: "temperature", Value: "0.5"}, {Name: "top_p", Value: "0.9"}, {Name: "top_k", Value: "5"}}, Messages: []hub.Message{hello}},
			want:    map[string]string{"temperature": "0.5", "top_p": "", "top_k": "5"}, dropped: "top_p", version: "2023-06-01",
		},
		{name: "default sampling", request: hub.Request{Params: []hub.Param{{Name: "temperature", Value: "1"}, {Name: "top_p", Value: "1.0"}}, Messages: []hub.Message{hello}}, want: map[string]string{"temperature": "", "top_p": ""}},
		{name: "sampling while thinking", request: hub.Request{Effort: hub.EffortLow, Params: []hub.Param{{Name: "temperature", Value: "0.5"}}, Messages: []hub.Message{hello}}, want: map[string]string{"temperature": ""}, dropped: "temperature"},
		{name: "refused sampling", request: hub.Request{Params: []hub.Param{{Name: "temperature", Value: "0.5"}}, Messages: []hub.Message{hello}}, target: func(t *hub.Target) { t.Drop = append(t.Drop, "temperature") }, want: map[string]string{"temperature": ""}, dropped: "temperature"},
		{
			name:    "other parameters",
			request: hub.Request{Params: []hub.Param{{Name: "user", Value: `"u"`}, {Name: "service_tier", Value: `"default"`}, {Name: "seed", Value: "4"}, {Name: "logit_bias", Value: "null"}, {Name: "n", Value: "1"}}, Messages: []hub.Message{hello}},
			want:    map[string]string{"metadata": `{"user_id":"u"}`, "service_tier": `"standard_only"`, "seed": ""}, dropped: "seed",
		},
		{name: "choices", request: hub.Request{Params: []hub.Param{{Name: "n", Value: "2"}}, Messages: []hub.Message{hello}}, err: "n is 2"},
		{name: "speech", request: hub.Request{Params: []hub.Param{{Name: "modalities", Value: `["text","audio"]`}, {Name: "audio", Value: "{}"}}, Messages: []hub.Message{hello}}, err: "modalities has"},
		{
			name: "media",
			request: hub.Request{Messages: []hub.Message{{Role: hub.User, Parts: []hub.Part{
				{Kind: hub.PartImage, URL: "data:image/jpg;base64,AAAA", Cache: `{"type":"ephemeral"}`},
				{Kind: hub.PartImage, URL: "https://x/y.png"},
				{Kind: hub.PartFile, URL: "data:application/pdf;base64,BBBB", Detail: "a.pdf"},
				{Kind: hub.PartFile, URL: "data:text/plain;charset=utf-8;base64,aGk="},
			}}}},
			want: map[string]string{"messages.0.content": `[{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"AAAA"},"cache_control":{"type":"ephemeral"}},` +
				`{"type":"image","source":{"type":"url","url":"https://x/y.png"}},{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"BBBB"},"title":"a.pdf"},` +
				`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"hi"}}]`},
		},
		{name: "wrong image", request: hub.Request{Messages: []hub.Message{{Role: hub.User, Parts: []hub.Part{{Kind: hub.PartImage, URL: "data:image/tiff;base64,AAAA"}}}}}, err: `messages[0]: the messages format takes no image of the type "image/tiff"`},
		{name: "wrong address", request: hub.Request{Messages: []hub.Message{{Role: hub.User, Parts: []hub.Part{{Kind: hub.PartImage, URL: "http://x"}}}}}, err: "messages[0]: the address of the image is neither https nor base64 data"},
		{name: "audio", request: hub.Request{Messages: []hub.Message{hello, {Role: hub.User, Parts: []hub.Part{{Kind: hub.PartAudio, Data: "AAAA"}}}}}, err: "messages[1] contains audio"},
		{
			name:    "continued",
			request: hub.Request{Needs: wire.NeedPrefill, Effort: hub.EffortHigh, Messages: []hub.Message{hello, upstreamWords(hub.Assistant, "It is \n")}},
			want:    map[string]string{"messages.1.content.0.text": `"It is"`, "thinking.type": `"disabled"`},
		},
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
			if want := cmp.Or(c.version, "2026-10-21"); got.Header["anthropic-version"] != want {
				t.Errorf("version %s, want %s", got.Header["anthropic-version"], want)
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
	f.Add([]byte(`{"model":"m","max_tokens":5000,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"},{"type":"text","text":"b"}]}],"tools":[{"name":"f","input_schema":{}}],"thinking":{"type":"adaptive"}}`))
	f.Add([]byte(`{"model":"m","max_tokens":5000,"messages":[{"role":"user","content":"a"}],"output_config":{"format":{"type":"json_schema","schema":{"type":"object","properties":{"a":{"oneOf":[{"type":"string","maxLength":3},{"$ref":"#/$defs/x"}],"enum":[1,{}]}},"$defs":{"x":{"items":{"type":"array","minItems":2}}}}}},"tools":[{"name":"f","strict":true,"input_schema":{"properties":{"a":{"const":1,"x":"y"}}}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := Format{}.Read(body, hub.ReadOptions{Version: "2023-06-01"})
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
		roles := gjson.GetBytes(written.Body, "messages.#.role").Array()
		for i, role := range roles {
			if want := [...]string{"user", "assistant"}[i%2]; role.Str != want {
				t.Fatalf("turns do not alternate: %s", written.Body)
			}
		}
		if slices.Contains(written.Dropped, "") {
			t.Fatal("an empty name was dropped")
		}
	})
}
