package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

func user(text string) hub.Message {
	return hub.Message{Role: hub.User, Parts: []hub.Part{{Kind: hub.PartText, Text: text}}}
}

func write(t *testing.T, r *hub.Request, dst *hub.Target) gjson.Result {
	t.Helper()
	written, err := Format{}.Write(r, dst)
	if err != nil {
		t.Fatal(err)
	}
	if err := wire.CheckObject(written.Body); err != nil {
		t.Fatalf("%v: %s", err, written.Body)
	}
	return gjson.ParseBytes(written.Body)
}

// TestReasoningStateReturns checks that a model gets its own reasoning state, and no other model's.
func TestReasoningStateReturns(t *testing.T) {
	t.Parallel()
	state := func(provider, family string, form hub.Form, data string) *hub.State {
		return &hub.State{Provider: provider, Family: family, Form: form, Data: data}
	}
	history := func(s *hub.State) *hub.Request {
		call := func(id string) hub.Message {
			return hub.Message{
				Role: hub.Assistant, Calls: []hub.Call{{ID: id, Name: "f", Arguments: "{}"}, {ID: id + "2", Name: "f", Arguments: "{}"}},
				Reasoning: []hub.Reasoning{{Text: "hm", State: s}},
			}
		}
		result := func(id string) hub.Message { return hub.Message{Role: hub.ToolResult, CallID: id} }
		return &hub.Request{Format: hub.Messages, Messages: []hub.Message{
			user("a"), call("x"), result("x"), result("x2"), user("b"), call("y"), result("y"), result("y2"),
		}}
	}
	const last = "messages.5."
	for _, c := range []struct {
		name, provider, path, want string
		state                      *hub.State
	}{
		{"signature", "gemini", last + "tool_calls.0.extra_content.google.thought_signature", "S", state("gemini", "family", hub.FormThought, "S")},
		{"only the first call", "gemini", last + "tool_calls.1.extra_content", "", state("gemini", "family", hub.FormThought, "S")},
		{"of another family", "gemini", last + "tool_calls.0.extra_content.google.thought_signature", noSignature, state("gemini", "other", hub.FormThought, "S")},
		{"of another form", "gemini", last + "tool_calls.0.extra_content.google.thought_signature", noSignature, state("gemini", "family", hub.FormDetails, "[]")},
		{"none", "gemini", last + "tool_calls.0.extra_content.google.thought_signature", noSignature, nil},
		{"content", "deepseek", last + "reasoning_content", "hm", state("deepseek", "family", hub.FormContent, "")},
		{"content of another", "deepseek", last + "reasoning_content", "", state("deepseek", "other", hub.FormContent, "")},
		{"content of an earlier turn", "deepseek", "messages.1.reasoning_content", "", state("deepseek", "family", hub.FormContent, "")},
		{"details", "openrouter", last + "reasoning_details.#", "2", state("openrouter", "family", hub.FormDetails, `[{"a":1}, {"b":2}]`)},
		{"details of another", "openrouter", last + "reasoning_details", "", state("openrouter", "other", hub.FormDetails, `[{"a":1}]`)},
		{"where none is needed", "groq", last + "reasoning_content", "", state("groq", "family", hub.FormContent, "")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := write(t, history(c.state), target(c.provider, nil)).Get(c.path).String(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	body := write(t, history(nil), target("deepseek", nil))
	if !body.Get(last+"reasoning_content").Exists() || body.Get("messages.1.reasoning_content").Exists() {
		t.Errorf("the member is in the wrong message, or missing: %s", body)
	}
}

// TestCacheMarks checks that prompt cache marks are sent only to models that support them, on the parts that had them.
func TestCacheMarks(t *testing.T) {
	t.Parallel()
	const mark = `{"type":"ephemeral","ttl":"1h"}`
	text := func(text, cache string) hub.Part { return hub.Part{Kind: hub.PartText, Text: text, Cache: cache} }
	r := &hub.Request{Format: hub.Messages, Messages: []hub.Message{
		{Role: hub.System, Parts: []hub.Part{text("a", mark), text("b", "")}},
		{Role: hub.User, Parts: []hub.Part{text("c", "")}},
		{Role: hub.Assistant, Parts: []hub.Part{text("d", "")}},
		{Role: hub.User, Parts: []hub.Part{text("e", mark)}},
	}}
	const (
		plain  = `[{"role":"system","content":"a\n\nb"},{"role":"user","content":"c"},{"role":"assistant","content":"d"},{"role":"user","content":"e"}]`
		marked = `[{"role":"system","content":[{"type":"text","text":"a","cache_control":` + mark + `},{"type":"text","text":"b"}]},{"role":"user","content":"c"},` +
			`{"role":"assistant","content":"d"},{"role":"user","content":[{"type":"text","text":"e","cache_control":` + mark + `}]}]`
	)
	for _, c := range []struct{ provider, model, want string }{
		{"openrouter", "anthropic/claude-sonnet-4.6", marked},
		{"openrouter", "google/gemini-3.5-flash", marked},
		{"openrouter", "openai/gpt-oss-20b", plain},
		{"openai", "anthropic/claude-sonnet-4.6", plain},
	} {
		dst := target(c.provider, func(m *catalog.Model) { m.ID = c.model })
		if got := write(t, r, dst).Get("messages").Raw; got != c.want {
			t.Errorf("%s/%s: got\n%s\nwant\n%s", c.provider, c.model, got, c.want)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	large := func(m *catalog.Model) { m.MaxOutput = 0 }
	for _, c := range []struct {
		provider, field string
		asked, want     int64
		change          func(*catalog.Model)
	}{
		{"openai", "max_completion_tokens", 9000, 8000, nil},
		{"openai", "max_completion_tokens", 9000, 9000, large},
		{"cerebras", "max_completion_tokens", 100_000, reservedTokens, large},
		{"cohere", "max_tokens", 5, 5, nil},
	} {
		r := &hub.Request{Messages: []hub.Message{user("a")}, MaxTokens: c.asked}
		if got := write(t, r, target(c.provider, c.change)).Get(c.field).Int(); got != c.want {
			t.Errorf("%s: %d, want %d", c.provider, got, c.want)
		}
	}
}

func TestDroppedParameters(t *testing.T) {
	t.Parallel()
	r := &hub.Request{
		Messages: []hub.Message{user("a")}, Effort: hub.EffortLow, Stop: []string{"x"}, Stream: true,
		Tools:  []hub.Tool{{Name: "f", Strict: "true"}},
		Choice: hub.Choice{Mode: "auto"}, Output: &hub.Output{Kind: "json_schema", Name: "n", Schema: `{"type":"object"}`},
		Params: []hub.Param{{Name: "seed", Value: "1"}, {Name: "random_seed", Value: "2"}},
	}
	dst := target("mistral", nil)
	dst.Drop = append(slices.Clone(dst.Drop), "reasoning_effort", "stop", "strict", "tool_choice", "response_format")
	written, err := Format{}.Write(r, dst)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"tool_choice", "response_format", "stop", "reasoning_effort", "seed"}
	if !slices.Equal(written.Dropped, want) {
		t.Errorf("dropped %v, want %v", written.Dropped, want)
	}
	const body = `{"model":"the-model","messages":[{"role":"system","content":"Answer with one JSON object only. It must match this JSON schema:\n{\"type\":\"object\"}"},` +
		`{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"f"}}],"random_seed":2,"stream":true}`
	if string(written.Body) != body {
		t.Errorf("got  %s\nwant %s", written.Body, body)
	}
}

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	part := func(p hub.Part) *hub.Request {
		return &hub.Request{Format: hub.Messages, Messages: []hub.Message{{Role: hub.User, Parts: []hub.Part{p}}}}
	}
	for _, c := range []struct {
		provider string
		r        *hub.Request
		want     error
	}{
		{"gemini", part(hub.Part{Kind: hub.PartImage, URL: "https://x/y.png"}), errRemoteImage},
		{"gemini", part(hub.Part{Kind: hub.PartImage, URL: "DATA:image/png;base64,QQ=="}), nil},
		{"openai", part(hub.Part{Kind: hub.PartFile, URL: "https://x/y.pdf"}), errRemoteFile},
		{"openai", part(hub.Part{Kind: hub.PartOther, Raw: `{}`}), errOwnPart},
		{"openai", part(hub.Part{Kind: hub.PartText}), errNoMessages},
	} {
		if _, err := (Format{}).Write(c.r, target(c.provider, nil)); !errors.Is(err, c.want) {
			t.Errorf("%+v gave %v, want %v", c.r.Messages, err, c.want)
		}
	}
}

func TestSchemaBounds(t *testing.T) {
	t.Parallel()
	var defs strings.Builder
	for i := range 40 { // each doubles the size of the next one
		fmt.Fprintf(&defs, `"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	work := 0
	if _, err := appendSubset(nil, `{"$ref":"#/$defs/d0","$defs":{`+defs.String()+`"d40":{"type":"string"}}}`, &work); !errors.Is(err, errSchema) {
		t.Errorf("a schema of 2^40 parts gave %v", err)
	}
	deep := strings.Repeat(`{"not":`, maxSchemaDepth+2) + "{}" + strings.Repeat("}", maxSchemaDepth+2)
	if _, err := appendSubset(nil, deep, &work); !errors.Is(err, errSchema) {
		t.Errorf("a deep schema gave %v", err)
	}
	// Long chains of references that lead to an almost empty schema.
	var chain strings.Builder
	for i := range 60 {
		fmt.Fprintf(&chain, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
	}
	work = 0
	chained := `{"$defs":{` + chain.String() + `"d60":{}},"allOf":[` + strings.Repeat(`{"$ref":"#/$defs/d0"},`, 100_000) + `{}]}`
	if _, err := appendSubset(nil, chained, &work); !errors.Is(err, errSchema) {
		t.Errorf("long chains gave %v", err)
	}
	// A schema that takes long to read and of which nothing is written.
	idle := `{"$defs":{"x":{"format":"` + strings.Repeat("x", 100_000) + `"}},"allOf":[` + strings.Repeat(`{"$ref":"#/$defs/x"},`, 20_000) + `{}]}`
	work = 0
	if _, err := appendSubset(nil, idle, &work); !errors.Is(err, errSchema) {
		t.Errorf("an idle schema gave %v", err)
	}
}

// largeRequest returns a request of 75 KB with 24 tools.
func largeRequest() []byte {
	var b strings.Builder
	b.WriteString(`{"model":"m","messages":[{"role":"system","content":"` + strings.Repeat(`You are helpful.\n`, 1000) + `"}`)
	for i := range 20 {
		fmt.Fprintf(&b, `,{"role":"user","content":%q},{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"t1","arguments":"{\"path\":\"/x\"}"}}]},{"role":"tool","tool_call_id":"call_%d","content":%q}`,
			strings.Repeat("look ", 50), i, i, strings.Repeat("line\n", 200))
	}
	b.WriteString(`],"tools":[`)
	for i := range 24 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"type":"function","function":{"name":"t%d","description":%q,"parameters":{"type":"object","properties":{"path":{"type":"string","description":"where"}},"required":["path"]}}}`, i, strings.Repeat("does much ", 100))
	}
	b.WriteString(`],"max_tokens":1000,"stream":true}`)
	return []byte(b.String())
}

func BenchmarkRead(b *testing.B) {
	body := largeRequest()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Format{}).Read(body, hub.ReadOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	body := largeRequest()
	r, err := Format{}.Read(body, hub.ReadOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for _, provider := range []string{"openai", "gemini", "mistral"} {
		dst := target(provider, nil)
		b.Run(provider, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := (Format{}).Write(r, dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestLargeRequest checks that the benchmarks' request is as large as they assume.
func TestLargeRequest(t *testing.T) {
	t.Parallel()
	body := largeRequest()
	if len(body) < 60_000 || !json.Valid(body) {
		t.Errorf("%d bytes", len(body))
	}
}
