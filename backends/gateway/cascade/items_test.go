package cascade

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/answeritems"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/formats"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// referrer is a Responses client with one gateway key. Its requests refer to items of earlier answers.
type referrer struct {
	*rig
	items *answeritems.Store
	key   string
}

func newReferrer(t *testing.T, r *rig) *referrer {
	t.Helper()
	items := answeritems.New(people.DB(), plainRing{}, zap.NewNop(), time.Now)
	t.Cleanup(func() { _ = items.Close(t.Context()) }) // its context is cancelled, but Close must run
	r.engine.Options.AnswerItems = r.engine.Options.WithDefaults().AnswerItems
	return &referrer{rig: r, items: items, key: "gk_" + r.account.UserID}
}

// read parses a request.
func (c *referrer) read(body string) (*Request, error) {
	c.t.Helper()
	sealer, err := hub.NewSealer(make([]byte, 32))
	if err != nil {
		c.t.Fatal(err)
	}
	req := &Request{ID: "req_1", User: c.account.UserID, Account: c.account, KeyID: c.key, Items: c.items, Sealer: sealer}
	format, _ := formats.Of(hub.Responses)
	text, err := req.Expand(c.t.Context(), format, []byte(body))
	if err == nil {
		err = req.Read(format, text, hub.ReadOptions{})
	}
	return req, err
}

// turn sends a request and returns the answer's items.
func (c *referrer) turn(streams bool, members string) []gjson.Result {
	c.t.Helper()
	req, err := c.read(fmt.Sprintf(`{"model":"keychain-low","stream":%t,%s}`, streams, members))
	if err != nil {
		c.t.Fatal(err)
	}
	e := c.answer(req)
	if e.rawErr != nil || e.Code != "" {
		c.t.Fatalf("%v %+v", e.rawErr, e.Result)
	}
	if !streams {
		return gjson.Get(e.body, "output").Array()
	}
	i := strings.LastIndex(e.body, "data: ")
	return gjson.Get(e.body[i+len("data: "):], "response.output").Array()
}

const thoughtItem = `{"id":"rs_up","type":"reasoning","summary":[],"encrypted_content":"STATE"}`

// responsesThinks returns a Responses upstream that calls a tool after some reasoning.
func responsesThinks(streams bool) step {
	const called = `{"id":"fc_up","type":"function_call","status":"completed","call_id":"call_up","name":"w","arguments":"{}"}`
	whole := `{"id":"resp_up","object":"response","created_at":1,"status":"completed","model":"up","output":[` + thoughtItem + `,` + called + `],"error":null,"usage":{"input_tokens":11,"output_tokens":5,"total_tokens":16}}`
	if !streams {
		return reply(200, whole)
	}
	return stream(
		nativeHead(hub.Responses)[0],
		frame("response.output_item.added", `"sequence_number":1,"output_index":0,"item":{"id":"rs_up","type":"reasoning","summary":[]}`),
		frame("response.output_item.done", `"sequence_number":2,"output_index":0,"item":`+thoughtItem),
		frame("response.output_item.added", `"sequence_number":3,"output_index":1,"item":{"id":"fc_up","type":"function_call","status":"in_progress","call_id":"call_up","name":"w","arguments":""}`),
		frame("response.output_item.done", `"sequence_number":4,"output_index":1,"item":`+called),
		frame("response.completed", `"sequence_number":5,"response":`+whole),
	)
}

// chatThinks returns a chat upstream that calls a tool after some reasoning.
func chatThinks(streams bool) step {
	const calls = `"tool_calls":[{"index":0,"id":"call_up","type":"function","function":{"name":"w","arguments":"{}"}}]`
	if !streams {
		return reply(200, `{"id":"up","object":"chat.completion","created":1,"model":"up","choices":[{"index":0,"message":{"role":"assistant","content":null,"reasoning_content":"hm",`+calls+`},"finish_reason":"tool_calls"}],"usage":`+usageJSON+`}`)
	}
	return stream(role, chunk(`{"reasoning_content":"hm"}`, "null"), chunk(`{`+calls+`}`, "null"), chunk(`{}`, `"tool_calls"`), usageLine, doneLine)
}

// TestItemReferences checks that a second turn may refer to the items of the first one. The upstream gets
// these items whole, with their encrypted reasoning.
func TestItemReferences(t *testing.T) {
	t.Parallel()
	const ask = `"input":[{"role":"user","content":"hello"}],"reasoning":{"effort":"high"},"tools":[{"type":"function","name":"w","parameters":{"type":"object","properties":{}}}]`
	for _, streams := range []bool{false, true} {
		for _, native := range []bool{true, false} {
			t.Run(fmt.Sprintf("stream %t, native %t", streams, native), func(t *testing.T) {
				t.Parallel()
				r, thinks, answerStep := newNative(t, hub.Responses), responsesThinks(streams), nativeAnswer(hub.Responses, streams, "rain")
				if !native {
					r = newRig(t, setup{keys: []string{"alpha"}, models: `{"provider":"alpha","id":"a-low","tiers":["low"],"tools":true,"reasoning":true}`})
					thinks, answerStep = chatThinks(streams), answers("rain")
					if !streams {
						answerStep = reply(200, completion("rain"))
					}
				}
				c := newReferrer(t, r)
				r.alpha.addSteps(thinks, answerStep)
				first := c.turn(streams, ask)
				if len(first) != 2 {
					t.Fatalf("got %v", first)
				}
				if native && gjson.Get(r.alpha.requests()[0].body, "include").Raw != `["reasoning.encrypted_content"]` {
					t.Errorf("the state was not asked for: %s", r.alpha.requests()[0].body)
				}
				if !native && strings.Contains(first[0].Raw, "encrypted_content") {
					t.Errorf("the client gets state that it did not ask for: %s", first[0])
				}
				references := ""
				for _, item := range first {
					references += fmt.Sprintf(`,{"type":"item_reference","id":%q}`, item.Get("id").Str)
				}
				more := references + fmt.Sprintf(`,{"type":"function_call_output","call_id":%q,"output":"wet"}]`, first[1].Get("call_id").Str)
				second := c.turn(streams, strings.Replace(ask, "]", more, 1))
				if len(second) != 1 || second[0].Get("content.0.text").Str != "rain" {
					t.Errorf("got %v", second)
				}
				body := r.alpha.requests()[1].body
				if native {
					if gjson.Get(body, "input.1").Raw != thoughtItem || gjson.Get(body, "input.2.call_id").Str != "call_up" || gjson.Get(body, "store").Raw != "false" {
						t.Errorf("sent %s", body)
					}
				} else if gjson.Get(body, "messages.1.tool_calls.0.id").Str != "call_up" || gjson.Get(body, "messages.2.content").Str != "wet" {
					t.Errorf("sent %s", body)
				}

				// Other keys do not find the items.
				for name, other := range map[string]*referrer{
					"another key":      {rig: r, items: c.items, key: "gk_other"},
					"nobody keeps any": {rig: r, key: c.key},
				} {
					_, err := other.read(`{"model":"keychain-low",` + strings.Replace(ask, "]", more, 1) + `}`)
					e, ok := apierror.From(err)
					if !ok || e.Status != http.StatusBadRequest || e.Param != "input[1]" || !strings.Contains(e.Message, first[0].Get("id").Str) {
						t.Errorf("%s: %v", name, err)
					}
				}
			})
		}
	}
}

// TestItemsAreNotKept checks that no items are stored for a client that opts out, or if the operator has disabled it.
func TestItemsAreNotKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		off     bool
		members string
	}{
		"not stored": {members: `"input":"hello","store":false`},
		"off":        {off: true, members: `"input":"hello"`},
	} {
		for _, native := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, native %t", name, native), func(t *testing.T) {
				t.Parallel()
				r, answerStep := newNative(t, hub.Responses), nativeAnswer(hub.Responses, false, "hi")
				if !native {
					r, answerStep = newRig(t, setup{keys: []string{"alpha"}}), reply(200, completion("hi"))
				}
				client := newReferrer(t, r)
				if c.off {
					r.engine.Options.AnswerItems = -1
				}
				r.alpha.addSteps(answerStep)
				first := client.turn(false, c.members)
				if _, err := client.read(fmt.Sprintf(`{"model":"keychain-low","input":[{"type":"item_reference","id":%q}]}`, first[0].Get("id").Str)); err == nil {
					t.Error("the item was kept")
				}
				if body := r.alpha.requests()[0].body; strings.Contains(body, "encrypted_content") && !strings.Contains(c.members, "include") && native {
					t.Errorf("sent %s", body)
				}
			})
		}
	}
}
