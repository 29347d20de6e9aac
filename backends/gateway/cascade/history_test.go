package cascade

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

const (
	callsBoth = `{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"w","arguments":"{}"}},{"id":"t2","type":"function","function":{"name":"w","arguments":"{}"}}]}`
	ofT1      = `{"role":"tool","tool_call_id":"t1","content":"r1"}`
	ofT2      = `{"role":"tool","tool_call_id":"t2","content":"r2"}`
	hello     = `{"role":"user","content":"hello"}`
)

func messagesOf(list ...string) string { return `"messages":[` + strings.Join(list, ",") + `]` }

// TestChatHistories checks that a provider that refuses calls without results gets a result for
// each call from a chat client's history, too. Ordinary histories are passed on unchanged.
func TestChatHistories(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		history string
		members string
		want    string // part of the upstream's request; empty: the client's history
	}{
		{"ordinary", messagesOf(hello, callsBoth, ofT2, ofT1, hello), "", ""},
		{"a gap where it is taken", messagesOf(hello, callsBoth, ofT1, hello), "", ""},
		{"ordinary", messagesOf(hello, callsBoth, ofT2, ofT1, hello), `"calls_answered":true`, ""},
		{"a gap", messagesOf(hello, callsBoth, ofT1, hello), `"calls_answered":true`, messagesOf(hello, callsBoth, ofT1, strings.Replace(ofT2, "r2", "[no result]", 1), hello)},
		{"late results", messagesOf(hello, callsBoth, hello, ofT2, ofT1), "", messagesOf(hello, callsBoth, ofT1, ofT2, hello)},
	} {
		t.Run(c.name+" "+c.members, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, setup{keys: []string{"alpha"}})
			p, _ := r.catalog.Provider("alpha")
			p.Shape.CallsAnswered = c.members != ""
			r.alpha.addSteps(reply(200, completion("hi")))
			e := r.askOn(hub.Chat, question(hub.Chat, "keychain-low", false, c.history))
			if e.err != nil {
				t.Fatal(e.err)
			}
			if c.want == "" {
				c.want = c.history
			}
			if got := r.alpha.requests()[0].body; !strings.Contains(got, c.want) {
				t.Errorf("the upstream got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestChatOrphanResult(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha", "beta"}})
	e := r.askOn(hub.Chat, question(hub.Chat, "keychain-low", false, messagesOf(hello, callsBoth, ofT1, ofT2, `{"role":"tool","tool_call_id":"nope","content":"r"}`)))
	if e.Status != http.StatusBadRequest || e.err == nil || !strings.Contains(e.err.Error(), "nope") {
		t.Errorf("status %d, error %v", e.Status, e.err)
	}
	if len(r.alpha.requests()) > 0 {
		t.Error("the upstream was asked")
	}
}

// TestChatClientKeepsReasoning checks that the reasoning before a call is sent back to the model that
// made it, although the chat format has no member for it.
func TestChatClientKeepsReasoning(t *testing.T) {
	t.Parallel()
	const tools = `"reasoning_effort":"medium","tools":[{"type":"function","function":{"name":"w","parameters":{"type":"object","properties":{}}}}]`
	const whole = `{"id":"msg_up","type":"message","role":"assistant","model":"up","content":[{"type":"thinking","thinking":"let \"me\"\n","signature":"SIG"},` +
		`{"type":"tool_use","id":"toolu_1","name":"w","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":8,"output_tokens":5}}`
	events := []string{
		frame("message_start", `"message":{"id":"msg_up","type":"message","role":"assistant","model":"up","content":[],"stop_reason":null,"usage":{"input_tokens":8,"output_tokens":1}}`),
		frame("content_block_start", `"index":0,"content_block":{"type":"thinking","thinking":"","signature":""}`),
		frame("content_block_delta", `"index":0,"delta":{"type":"thinking_delta","thinking":"let \"me"}`),
		frame("content_block_delta", `"index":0,"delta":{"type":"thinking_delta","thinking":"\"\n"}`),
		frame("content_block_delta", `"index":0,"delta":{"type":"signature_delta","signature":"SIG"}`),
		frame("content_block_stop", `"index":0`),
		frame("content_block_start", `"index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"w","input":{}}`),
		frame("content_block_stop", `"index":1`),
		frame("message_delta", `"delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":5}`),
		frame("message_stop", ""),
	}
	history := messagesOf(hello,
		`{"role":"assistant","content":null,"tool_calls":[{"id":"toolu_1","type":"function","function":{"name":"w","arguments":"{}"}}]}`,
		`{"role":"tool","tool_call_id":"toolu_1","content":"r"}`)
	for _, streams := range []bool{false, true} {
		t.Run(fmt.Sprint("stream ", streams), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, setup{
				keys: []string{"alpha"}, members: map[string]string{"alpha": `"wires":["messages"],"prefer_wire":"messages"`},
				models: `{"provider":"alpha","id":"a-low","tiers":["low"],"context_window":100000,"max_output":64000,"tools":true,"reasoning":true,"reasoning_efforts":["low","medium","high"]}`,
			})
			first := reply(200, whole)
			if streams {
				first = stream(events...)
			}
			r.alpha.addSteps(first, nativeAnswer(hub.Messages, false, "hi"), nativeAnswer(hub.Messages, false, "hi"))
			for i, user := range []string{"ann", "ann", "bob"} {
				given, streamed := messagesOf(hello), streams
				if i > 0 {
					given, streamed = history, false
				}
				request := r.parseRequest(hub.Chat, question(hub.Chat, "keychain-low", streamed, given, tools))
				request.User = user
				if e := r.answer(request); e.err != nil {
					t.Fatal(e.err)
				}
			}
			got := r.alpha.requests()
			const thinking = `[{"type":"thinking","thinking":"let \"me\"\n","signature":"SIG"},{"type":"tool_use"`
			if body := got[1].body; !strings.Contains(body, thinking) || gjson.Get(body, "thinking.type").Str != "adaptive" {
				t.Errorf("the model got %s", body)
			}
			if body := got[2].body; strings.Contains(body, "SIG") || gjson.Get(body, "thinking.type").Str != "disabled" {
				t.Errorf("for another user the model got %s", body)
			}
		})
	}
}

// TestChatClientKeepsSignature checks that a thought signature which the client has lost is restored, and that one
// which the client has kept takes precedence.
func TestChatClientKeepsSignature(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha"}})
	p, _ := r.catalog.Provider("alpha")
	p.Shape.ReasoningState, p.Shape.SchemaSubset = "thought", true
	const tools = `"tools":[{"type":"function","function":{"name":"w","parameters":{"type":"object","properties":{}}}}]`
	call := func(extra string) string {
		return `{"role":"assistant","content":null,"tool_calls":[{"id":"g1","type":"function","function":{"name":"w","arguments":"{}"}` + extra + `}]}`
	}
	const sign = `,"extra_content":{"google":{"thought_signature":"%s"}}`
	first := `{"id":"up","object":"chat.completion","created":1,"model":"up","choices":[{"index":0,"message":` + call(fmt.Sprintf(sign, "REAL")) + `,"finish_reason":"tool_calls"}]}`
	r.alpha.addSteps(reply(200, first), reply(200, completion("hi")), reply(200, completion("hi")))
	for _, history := range []string{
		messagesOf(hello),
		messagesOf(hello, call(""), `{"role":"tool","tool_call_id":"g1","content":"r"}`),
		messagesOf(hello, call(fmt.Sprintf(sign, "OWN")), `{"role":"tool","tool_call_id":"g1","content":"r"}`),
	} {
		request := r.parseRequest(hub.Chat, question(hub.Chat, "keychain-low", false, history, tools))
		request.User = "ann"
		if e := r.answer(request); e.err != nil {
			t.Fatal(e.err)
		}
	}
	for i, want := range []string{"", "REAL", "OWN"} {
		body := r.alpha.requests()[i].body
		if got := gjson.Get(body, "messages.1.tool_calls.0.extra_content.google.thought_signature").Str; got != want {
			t.Errorf("request %d: signature %q, want %q: %s", i, got, want, body)
		}
	}
}
