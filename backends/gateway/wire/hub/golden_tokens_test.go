package hub_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/messages"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/responses"
)

// goldenTarget returns the first model of a provider that supports tools.
func goldenTarget(t *testing.T, provider string) *hub.Target {
	t.Helper()
	c := catalog.Embedded()
	p, ok := c.Provider(provider)
	if !ok {
		t.Fatalf("no provider %s", provider)
	}
	for _, m := range c.Models(provider) {
		if m.Tools {
			fixed := *m // the catalog's ids and limits change over time
			fixed.ID, fixed.Family, fixed.MaxOutput, fixed.ReasoningEfforts = "the-model", "the-family", 64000, nil
			return &hub.Target{Provider: p, Model: &fixed, Drop: p.Shape.Drop, MaxTokensField: p.Shape.MaxTokensField, StreamUsage: p.Shape.StreamUsage}
		}
	}
	t.Fatalf("no model of %s has tools", provider)
	return nil
}

// tokenForms has each provider's form of reasoning state, with a stream that has it and the functions to read and write
// it.
var tokenForms = []struct {
	form     hub.Form
	provider string
	upstream string // a file of testdata/golden
	reader   func() hub.Reader
	write    func(*hub.Request, *hub.Target) (hub.Written, error)
	secret   string // a text that only the state contains
}{
	{hub.FormThought, "gemini", "05b-signature-without-reasoning/chunks.sse", func() hub.Reader { return chat.NewReader(hub.FormThought, false) }, chat.Format{}.Write, "CiQB0e2Kb7n3Yw+/Q8xk1zT5m0vR4aH6pJcUeF9dLs2gW=="},
	{hub.FormContent, "deepseek", "05a-reasoning-then-tool/chunks.sse", func() hub.Reader { return chat.NewReader("", false) }, chat.Format{}.Write, "I need the weather."},
	{hub.FormDetails, "openrouter", "05c-reasoning-details/chunks.sse", func() hub.Reader { return chat.NewReader(hub.FormDetails, false) }, chat.Format{}.Write, "EqQBCkgIBxABGAIiQL8mF0"},
	{hub.FormSignature, "anthropic", "20-tokens/signature.sse", func() hub.Reader { return messages.Format{}.NewReader(nil) }, messages.Format{}.Write, "EqoBCkgIARABGAIiQAs0"},
	{hub.FormRedacted, "anthropic", "20-tokens/redacted.sse", func() hub.Reader { return messages.Format{}.NewReader(nil) }, messages.Format{}.Write, "EmwKAhgBEgy3va3pzix"},
	{hub.FormItem, "openai", "20-tokens/item.sse", func() hub.Reader { return responses.Format{}.NewReader(nil) }, responses.Format{}.Write, "gAAAAABpH0x2Zq"},
}

// TestGoldenTokens checks that a model's reasoning state goes to the client as a token and comes back to the provider
// in its own form. A token that was changed, or belongs to another user or model family, is ignored without an error.
func TestGoldenTokens(t *testing.T) {
	t.Parallel()
	sealer, err := hub.NewSealer(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range tokenForms {
		for _, f := range [...]hub.Format{hub.Messages, hub.Responses} {
			t.Run(string(c.form)+" "+string(f), func(t *testing.T) {
				t.Parallel()
				const dir = "testdata/golden/20-tokens"
				ask := clientBody(t, dir, string(f))
				target := goldenTarget(t, c.provider)
				seal := func(s hub.State) string {
					s.Provider, s.Family = target.Provider.Code, target.Model.Family
					return sealer.Seal("alice", s)
				}
				r := readRequest(t, f, ask, hub.ReadOptions{})
				pass := hub.Translate(c.reader(), newClientWriter(r, seal))
				stream, err := relay(pass, bytes.NewReader(mustRead(t, "testdata/golden", c.upstream)))
				if err != nil {
					t.Fatal(err)
				}
				if err := checkStream(f, stream, true); err != nil {
					t.Fatal(err)
				}
				if c.form != hub.FormContent && bytes.Contains(stream, []byte(c.secret)) {
					t.Errorf("the client got the state itself:\n%s", stream)
				}
				next, token := nextTurn(t, f, ask, stream)

				resend := func(user string, body []byte, target *hub.Target) []byte {
					t.Helper()
					r := readRequest(t, f, body, hub.ReadOptions{Open: func(token string) (hub.State, bool) { return sealer.Open(user, token) }})
					written, err := c.write(r, target)
					if err != nil {
						t.Fatal(err)
					}
					if bytes.Contains(written.Body, []byte("kcs1.")) {
						t.Errorf("a token went to the provider:\n%s", written.Body)
					}
					return indented(t, written.Body)
				}
				name := strings.Join([]string{string(c.form), string(f)}, ".")
				got := resend("alice", next, target)
				checkGolden(t, got, dir, name+".json")
				if !bytes.Contains(got, []byte(c.secret)) {
					t.Errorf("the provider does not get its state back:\n%s", got)
				}

				lost := resend("bob", next, target)
				checkGolden(t, lost, dir, name+".lost.json")
				if bytes.Contains(lost, []byte(c.secret)) {
					t.Errorf("another user's state went to the provider:\n%s", lost)
				}
				changed := token[:len(token)-9] + string(token[len(token)-9]^1) + token[len(token)-8:]
				if got := resend("alice", bytes.ReplaceAll(next, []byte(token), []byte(changed)), target); !bytes.Equal(got, lost) {
					t.Errorf("a changed token gives\n%s\nwant\n%s", got, lost)
				}
				other := *target.Model
				other.Family = "another-family"
				if got := resend("alice", next, &hub.Target{Provider: target.Provider, Model: &other, Drop: target.Drop, MaxTokensField: target.MaxTokensField, StreamUsage: target.StreamUsage}); !bytes.Equal(got, lost) {
					t.Errorf("another family gets\n%s\nwant\n%s", got, lost)
				}
			})
		}
	}
}

func newClientWriter(r *hub.Request, seal func(hub.State) string) hub.Writer {
	if r.Format == hub.Responses {
		return responses.Format{}.NewWriter(r, reply(r, seal))
	}
	return messages.Format{}.NewWriter(r, reply(r, seal))
}

// indented returns a body in the format of golden files, in which only white space is added.
func indented(t *testing.T, body []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := json.Indent(&out, body, "", " "); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// nextTurn returns the request that a client sends after an answer with a call: the earlier request, the answer, and
// the call's result. token is the first token of the answer.
func nextTurn(t *testing.T, f hub.Format, ask, stream []byte) (body []byte, token string) {
	t.Helper()
	var request map[string]any
	if err := json.Unmarshal(ask, &request); err != nil {
		t.Fatal(err)
	}
	if f == hub.Responses {
		events, err := sentEvents(stream, true)
		if err != nil {
			t.Fatal(err)
		}
		input := []any{map[string]any{"role": "user", "content": request["input"]}}
		var call string
		gjson.GetBytes(events[len(events)-1].data, "response.output").ForEach(func(_, item gjson.Result) bool {
			input = append(input, json.RawMessage(item.Raw))
			if token == "" {
				token = item.Get("encrypted_content").Str
			}
			call += item.Get("call_id").Str
			return true
		})
		request["input"] = append(input, map[string]any{"type": "function_call_output", "call_id": call, "output": "4 °C"})
	} else {
		blocks, first := receivedBlocks(t, stream)
		token = first
		result := map[string]any{"type": "tool_result", "tool_use_id": blocks[len(blocks)-1]["id"], "content": "4 °C"}
		request["messages"] = append(request["messages"].([]any), map[string]any{"role": "assistant", "content": blocks}, map[string]any{"role": "user", "content": []any{result}})
	}
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(token, "kcs1.") {
		t.Fatalf("no token in\n%s", stream)
	}
	return body, token
}

// receivedBlocks returns the blocks of a messages stream, and its first token.
func receivedBlocks(t *testing.T, stream []byte) (blocks []map[string]any, token string) {
	t.Helper()
	events, err := sentEvents(stream, true)
	if err != nil {
		t.Fatal(err)
	}
	var input strings.Builder
	for _, e := range events {
		data := gjson.ParseBytes(e.data)
		switch e.name {
		case "content_block_start":
			var block map[string]any
			if err := json.Unmarshal([]byte(data.Get("content_block").Raw), &block); err != nil {
				t.Fatal(err)
			}
			blocks = append(blocks, block)
			if data, ok := block["data"].(string); ok && token == "" {
				token = data
			}
		case "content_block_delta":
			block := blocks[len(blocks)-1]
			for _, name := range [...]string{"text", "thinking", "signature"} {
				if before, ok := block[name].(string); ok {
					block[name] = before + data.Get("delta."+name).Str
				}
			}
			if s := data.Get("delta.signature").Str; s != "" && token == "" {
				token = s
			}
			input.WriteString(data.Get("delta.partial_json").Str)
		case "content_block_stop":
			if block := blocks[len(blocks)-1]; block["type"] == "tool_use" {
				block["input"] = json.RawMessage(input.String())
				input.Reset()
			}
		}
	}
	return blocks, token
}
