package messages

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/responses"
)

// marked returns the paths of a request's blocks that have a prompt cache mark.
func marked(body string) []string {
	var paths []string
	var look func(path string, v gjson.Result)
	look = func(path string, v gjson.Result) {
		if v.Get("cache_control").Raw == `{"type":"ephemeral"}` {
			paths = append(paths, path)
		}
		v.ForEach(func(key, v gjson.Result) bool {
			if v.IsObject() || v.IsArray() {
				look(strings.TrimPrefix(path+"."+key.String(), "."), v)
			}
			return true
		})
	}
	look("", gjson.Parse(body))
	return paths
}

// TestCacheMarks checks that a request of another format to a messages upstream gets marks after its
// tools, its system text and its last message, unless the client has set its own.
func TestCacheMarks(t *testing.T) {
	t.Parallel()
	const (
		tools   = `"tools":[{"type":"function","function":{"name":"a"}},{"type":"function","function":{"name":"b"}}]`
		calls   = `{"role":"assistant","content":"I look","tool_calls":[{"id":"t1","type":"function","function":{"name":"a","arguments":"{}"}},{"id":"t2","type":"function","function":{"name":"b","arguments":"{}"}}]}`
		results = `{"role":"tool","tool_call_id":"t1","content":"r1"},{"role":"tool","tool_call_id":"t2","content":"r2"}`
	)
	for _, c := range []struct{ name, format, body, want string }{
		{"one message", "chat", `"messages":[{"role":"user","content":"hi"}]`, "messages.0.content.0"},
		{"everything", "chat", tools + `,"messages":[{"role":"system","content":"one"},{"role":"system","content":"two"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`, "system.1 messages.0.content.1 tools.1"},
		{"results of tools", "chat", tools + `,"messages":[{"role":"user","content":"hi"},` + calls + `,` + results + `]`, "messages.2.content.1 tools.1"},
		{"a call without a result", "chat", `"messages":[{"role":"user","content":"hi"},` + calls + `]`, "messages.1.content.2"},
		{"an image", "chat", `"messages":[{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}]`, "messages.0.content.1"},
		{"an answer to continue", "chat", `"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"Well, "}]`, "messages.1.content.0"},
		{"responses", "responses", `"instructions":"be kind","tools":[{"type":"function","name":"a"}],"input":[{"role":"user","content":"hi"},{"type":"function_call","call_id":"t1","name":"a","arguments":"{}"},{"type":"function_call_output","call_id":"t1","output":"r"}]`, "system.0 messages.2.content.0 tools.0"},
		{"the client's own", "chat", tools + `,"messages":[{"role":"system","content":[{"type":"text","text":"one","cache_control":{"type":"ephemeral"}}]},{"role":"user","content":"hi"}]`, "system.0"},
		{"a messages client", "messages", `"max_tokens":10,"system":"one","messages":[{"role":"user","content":"hi"}]`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			read := map[string]func([]byte, hub.ReadOptions) (*hub.Request, error){"chat": chat.Format{}.Read, "responses": responses.Format{}.Read, "messages": Format{}.Read}[c.format]
			r, err := read([]byte(`{"model":"m",`+c.body+`}`), hub.ReadOptions{Version: "2023-06-01"})
			if err != nil {
				t.Fatal(err)
			}
			for _, enabled := range []bool{true, false} {
				target := upstreamTarget()
				target.CacheMarks = enabled
				written, err := Format{}.Write(r, target)
				if err != nil || !gjson.ValidBytes(written.Body) {
					t.Fatalf("%v: %s", err, written.Body)
				}
				want := c.want
				if !enabled && c.name != "the client's own" {
					want = ""
				}
				if got := strings.Join(marked(string(written.Body)), " "); got != want {
					t.Errorf("with the option %t the marks are at %q, want %q:\n%s", enabled, got, want, written.Body)
				}
			}
		})
	}
}
