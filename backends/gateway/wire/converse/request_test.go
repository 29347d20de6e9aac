package converse

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/messages"
)

var update = flag.Bool("update", false, "write the golden files")

// models has one model of each vendor.
var models = map[string]*catalog.Model{
	"claude": {ID: "eu.anthropic.claude", Family: "bedrock-converse/claude-x", MaxOutput: 64000, JSONSchema: true, Reasoning: true, ReasoningEfforts: []string{"low", "medium", "high"}},
	"nova":   {ID: "amazon.nova", Family: "nova-2", Reasoning: true, ReasoningEfforts: []string{"low", "medium", "high"}},
	"gpt":    {ID: "openai.gpt-oss", Family: "bedrock-converse/gpt-oss", Reasoning: true, ReasoningEfforts: []string{"low", "medium", "high"}},
	"other":  {ID: "meta.llama", Family: "llama-3.3"},
}

func target(model string) *hub.Target {
	return &hub.Target{Provider: &catalog.Provider{Code: "bedrock-converse"}, Model: models[model]}
}

const (
	pixel = "data:image/png;base64,iVBORw0KGgo="
	pdf   = "data:application/pdf;base64,JVBERi0xLjQ="
)

// TestWrite compares the requests for each kind of model with golden files.
func TestWrite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, model, body string }{
		{"plain", "other", `{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"}],"max_tokens":10,"temperature":1.5,"top_p":0.9,"stop":["END"," "],"seed":1}`},
		{"tools", "claude", `{"model":"m","stream":true,"messages":[{"role":"user","content":"Weather?"},
			{"role":"assistant","content":"Let me see.","tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}},{"id":"call 2!","type":"function","function":{"name":"gone","arguments":"oops"}}]},
			{"role":"tool","tool_call_id":"call_1","content":"sunny"},{"role":"user","content":"And tomorrow?"}],
			"tools":[{"type":"function","function":{"name":"weather","description":"Tells the weather.","strict":true,"parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}}}],
			"tool_choice":"required"}`},
		{"tools-history", "other", `{"model":"m","messages":[{"role":"user","content":"Weather?"},
			{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":""}]}`},
		{"tools-none", "other", `{"model":"m","messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"weather"}}],"tool_choice":"none"}`},
		{"tools-one", "other", `{"model":"m","messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"weather"}}],"tool_choice":{"type":"function","function":{"name":"weather"}},"parallel_tool_calls":false}`},
		{"media", "claude", `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"` + pixel + `"}},{"type":"file","file":{"filename":"a_b  (1).pdf","file_data":"` + pdf + `"}}]},
			{"role":"assistant","content":"Yes"},{"role":"user","content":[{"type":"text","text":"This?"},{"type":"file","file":{"filename":"a_b  (1).pdf","file_data":"` + pdf + `"}}]}]}`},
		{"effort-claude", "claude", `{"model":"m","messages":[{"role":"user","content":"Think"}],"reasoning_effort":"high","temperature":0.5,"service_tier":"priority"}`},
		{"effort-nova", "nova", `{"model":"m","messages":[{"role":"user","content":"Think"}],"reasoning_effort":"xhigh"}`},
		{"effort-nova-none", "nova", `{"model":"m","messages":[{"role":"user","content":"Think"}],"reasoning_effort":"none"}`},
		{"effort-gpt", "gpt", `{"model":"m","messages":[{"role":"user","content":"Think"}],"reasoning_effort":"minimal"}`},
		{"effort-other", "other", `{"model":"m","messages":[{"role":"user","content":"Think"}],"reasoning_effort":"low"}`},
		{"samplers", "claude", `{"model":"m","messages":[{"role":"user","content":"Hi"}],"temperature":0.5,"top_p":0.9,"top_k":40}`},
		{"schema", "claude", `{"model":"m","messages":[{"role":"user","content":"Hi"}],"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object","properties":{"x":{"type":"integer","minimum":1}},"required":["x"],"additionalProperties":false}}}}`},
		{"schema-words", "other", `{"model":"m","messages":[{"role":"user","content":"Hi"}],"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object"}}}}`},
		{"begins-with-assistant", "other", `{"model":"m","messages":[{"role":"assistant","content":"Hello"},{"role":"system","content":"Late."},{"role":"assistant","content":"So: "}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := chat.Format{}.Read([]byte(c.body), hub.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			golden(t, c.name, r, c.model)
		})
	}
	// A request in the messages format may have prompt cache marks, failed results and reasoning.
	r, err := messages.Format{}.Read([]byte(`{"model":"m","max_tokens":100,"system":[{"type":"text","text":"Long.","cache_control":{"type":"ephemeral","ttl":"1h"}}],
		"tools":[{"name":"f","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],
		"messages":[{"role":"user","content":[{"type":"text","text":"Hi","cache_control":{"type":"ephemeral"}}]},
		{"role":"assistant","content":[{"type":"thinking","thinking":"I think","signature":"token"},{"type":"tool_use","id":"toolu_1","name":"f","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":[{"type":"text","text":"no"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]}]}]}`),
		hub.ReadOptions{Open: func(string) (hub.State, bool) {
			return hub.State{Provider: "bedrock-converse", Family: "bedrock-converse/claude-x", Form: hub.FormSignature, Data: "signed"}, true
		}})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "messages", r, "claude")
}

// golden compares the request written for a model with a golden file.
func golden(t *testing.T, name string, r *hub.Request, model string) {
	t.Helper()
	w, err := Format{}.Write(r, target(model))
	if err != nil {
		t.Fatal(err)
	}
	if !gjson.ValidBytes(w.Body) {
		t.Fatalf("no JSON: %s", w.Body)
	}
	got := gjson.GetBytes(w.Body, "@pretty").Raw + "dropped: " + strings.Join(w.Dropped, ", ") + "\naccept: " + w.Header["Accept"] + "\n"
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestWriteRefuses checks that requests which the format cannot express are refused.
func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}]}`:   "is not a data URL in base64",
		`{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/tiff;base64,AAAA"}}]}]}`: "image/tiff",
		`{"model":"m","messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}]}]}`:    "does not support",
		`{"model":"m","n":2,"messages":[{"role":"user","content":"Hi"}]}`:                                                               "one answer",
		`{"model":"m","modalities":["audio"],"messages":[{"role":"user","content":"Hi"}]}`:                                              "gives text",
	} {
		r, err := chat.Format{}.Read([]byte(body), hub.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (Format{}).Write(r, target("other")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestFormat checks the URLs and the paths of parameters that the cascade gets from the format.
func TestFormat(t *testing.T) {
	t.Parallel()
	p := &catalog.Provider{
		BaseURL: "https://bedrock.example", Wires: []string{"converse"},
		Paths: map[string]string{"converse": "/model/{model}/converse"}, StreamPaths: map[string]string{"converse": "/model/{model}/converse-stream"},
	}
	url := Format{}.URL(p, wire.Needs(0))
	for stream, want := range map[bool]string{
		false: "https://bedrock.example/model/arn:aws:bedrock:eu:1:profile%2Fa/converse", true: "https://bedrock.example/model/arn:aws:bedrock:eu:1:profile%2Fa/converse-stream",
	} {
		if got := p.ModelURL(url, "converse", "arn:aws:bedrock:eu:1:profile/a", stream); got != want {
			t.Errorf("stream %v: %s", stream, got)
		}
	}
	r, err := chat.Format{}.Read([]byte(`{"model":"m","max_tokens":5,"temperature":0.1,"top_p":0.2,"service_tier":"flex","reasoning_effort":"low","messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"f"}}]}`), hub.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := Format{}.Write(r, target("gpt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"max_tokens", "max_completion_tokens", "temperature", "top_p", "service_tier", "reasoning_effort", "tools"} {
		if path := (Format{}).Param(name); !gjson.GetBytes(w.Body, path).Exists() {
			t.Errorf("%s is not at %s of %s", name, path, w.Body)
		}
	}
}
