package hub_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/messages"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/responses"
)

// talkTurn is a turn of a generated conversation.
type talkTurn struct {
	user    []string // texts
	image   bool
	said    string
	calls   []spokenPiece
	results []string
}

const talkImage = "data:image/png;base64,iVBORw0KGgo="

func converse(r *rand.Rand) (system string, turns []talkTurn) {
	if r.IntN(2) == 0 {
		system = "be " + spokenText(r)
	}
	n := 0
	for range 1 + r.IntN(4) {
		t := talkTurn{user: []string{"ask " + spokenText(r)}, image: r.IntN(4) == 0}
		if r.IntN(3) == 0 {
			t.user = append(t.user, "and "+spokenText(r))
		}
		if r.IntN(4) > 0 {
			t.said = "so " + spokenText(r)
		}
		for range r.IntN(4) {
			n++
			arguments, _ := json.Marshal(map[string]any{"city": spokenText(r), "n": r.IntN(5)})
			t.calls = append(t.calls, spokenPiece{id: fmt.Sprintf("call_%d", n), name: [...]string{"get_weather", "get_time"}[r.IntN(2)], text: string(arguments)})
			t.results = append(t.results, "got "+spokenText(r))
		}
		turns = append(turns, t)
	}
	turns[len(turns)-1].said, turns[len(turns)-1].calls = "", nil
	return system, turns
}

type object = map[string]any

func encode(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return out
}

// talkBody returns the conversation in a client format. The results are in random order.
func talkBody(f hub.Format, r *rand.Rand, system string, turns []talkTurn) []byte {
	var list []any
	body := object{"model": "m"}
	schema := object{"type": "object", "properties": object{"city": object{"type": "string"}}}
	var tools []any
	for _, name := range [...]string{"get_weather", "get_time"} {
		switch f {
		case hub.Chat:
			tools = append(tools, object{"type": "function", "function": object{"name": name, "description": "About " + name, "parameters": schema}})
		case hub.Messages:
			tools = append(tools, object{"name": name, "description": "About " + name, "input_schema": schema})
		case hub.Responses:
			tools = append(tools, object{"type": "function", "name": name, "description": "About " + name, "parameters": schema})
		}
	}
	body["tools"] = tools
	if system != "" {
		switch f {
		case hub.Chat:
			list = append(list, object{"role": "system", "content": system})
		case hub.Messages:
			body["system"] = system
		case hub.Responses:
			body["instructions"] = system
		}
	}
	for _, t := range turns {
		var parts, results []any
		for _, text := range t.user {
			parts = append(parts, object{"type": map[hub.Format]string{hub.Chat: "text", hub.Messages: "text", hub.Responses: "input_text"}[f], "text": text})
		}
		if t.image {
			switch f {
			case hub.Chat:
				parts = append(parts, object{"type": "image_url", "image_url": object{"url": talkImage}})
			case hub.Messages:
				parts = append(parts, object{"type": "image", "source": object{"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}})
			case hub.Responses:
				parts = append(parts, object{"type": "input_image", "image_url": talkImage})
			}
		}
		list = append(list, object{"role": "user", "content": parts})
		order := r.Perm(len(t.calls))
		switch f {
		case hub.Chat:
			if t.said == "" && t.calls == nil {
				break
			}
			m := object{"role": "assistant", "content": nil}
			if t.said != "" {
				m["content"] = t.said
			}
			var calls []any
			for _, c := range t.calls {
				calls = append(calls, object{"id": c.id, "type": "function", "function": object{"name": c.name, "arguments": c.text}})
			}
			if calls != nil {
				m["tool_calls"] = calls
			}
			list = append(list, m)
			for _, i := range order {
				list = append(list, object{"role": "tool", "tool_call_id": t.calls[i].id, "content": t.results[i]})
			}
		case hub.Messages:
			var blocks []any
			if t.said != "" {
				blocks = append(blocks, object{"type": "text", "text": t.said})
			}
			for _, c := range t.calls {
				blocks = append(blocks, object{"type": "tool_use", "id": c.id, "name": c.name, "input": json.RawMessage(c.text)})
			}
			for _, i := range order {
				results = append(results, object{"type": "tool_result", "tool_use_id": t.calls[i].id, "content": t.results[i]})
			}
			if blocks != nil {
				list = append(list, object{"role": "assistant", "content": blocks})
			}
			if results != nil {
				list = append(list, object{"role": "user", "content": results})
			}
		case hub.Responses:
			if t.said != "" {
				list = append(list, object{"type": "message", "role": "assistant", "content": []any{object{"type": "output_text", "text": t.said}}})
			}
			for _, c := range t.calls {
				list = append(list, object{"type": "function_call", "call_id": c.id, "name": c.name, "arguments": c.text})
			}
			for _, i := range order {
				list = append(list, object{"type": "function_call_output", "call_id": t.calls[i].id, "output": t.results[i]})
			}
		}
	}
	if f == hub.Responses {
		body["input"] = list
	} else {
		body["messages"] = list
	}
	if f == hub.Messages {
		body["max_tokens"] = 1000
	}
	return encode(body)
}

// gist returns the content of a request independently of its format.
func gist(r *hub.Request) string {
	var b strings.Builder
	last := hub.Role(0)
	for i := range r.Messages {
		m := &r.Messages[i]
		role := m.Role
		if role == hub.Developer {
			role = hub.System
		}
		if role != last || role == hub.ToolResult {
			fmt.Fprintf(&b, "\n%s %s: ", role, m.CallID)
		}
		last = role
		for _, p := range m.Parts {
			b.WriteString(p.Text + p.URL + p.Data)
		}
		for _, c := range m.Calls {
			fmt.Fprintf(&b, "\n  %s %s %s", c.ID, c.Name, c.Arguments)
		}
	}
	for _, t := range r.Tools {
		fmt.Fprintf(&b, "\ntool %s: %s %s", t.Name, t.Description, t.Parameters)
	}
	return b.String()
}

// TestRequestsSurvive checks that a conversation has the same content in each client format and in the request to an
// upstream of any format.
func TestRequestsSurvive(t *testing.T) {
	t.Parallel()
	read := map[hub.Format]func([]byte, hub.ReadOptions) (*hub.Request, error){hub.Chat: chat.Format{}.Read, hub.Messages: messages.Format{}.Read, hub.Responses: responses.Format{}.Read}
	write := map[hub.Format]func(*hub.Request, *hub.Target) (hub.Written, error){hub.Chat: chat.Format{}.Write, hub.Messages: messages.Format{}.Write, hub.Responses: responses.Format{}.Write}
	all := [...]hub.Format{hub.Chat, hub.Messages, hub.Responses}
	target := &hub.Target{
		Provider: &catalog.Provider{Code: "p", Shape: catalog.Shape{}},
		Model:    &catalog.Model{Provider: "p", ID: "m", Tools: true, Modalities: []string{catalog.ModalityText, catalog.ModalityImage}},
	}
	for seed := range uint64(150) {
		random := rand.New(rand.NewPCG(seed, 3))
		system, turns := converse(random)
		want := ""
		for _, src := range all {
			body := talkBody(src, random, system, turns)
			r, err := read[src](body, hub.ReadOptions{})
			if err != nil {
				t.Fatalf("seed %d: %v of %s", seed, err, body)
			}
			if want == "" {
				want = gist(r)
			}
			if got := gist(r); got != want {
				t.Fatalf("seed %d: %s says\n%s\nwant\n%s", seed, src, got, want)
			}
			for _, dst := range all {
				written, err := write[dst](r, target)
				if err != nil {
					t.Fatalf("seed %d: %s to %s: %v", seed, src, dst, err)
				}
				upstreamReq, err := read[dst](written.Body, hub.ReadOptions{})
				if err != nil {
					t.Fatalf("seed %d: %s to %s: %v of %s", seed, src, dst, err, written.Body)
				}
				if got := gist(upstreamReq); got != want {
					t.Fatalf("seed %d: %s to %s says\n%s\nwant\n%s", seed, src, dst, got, want)
				}
			}
		}
	}
}
