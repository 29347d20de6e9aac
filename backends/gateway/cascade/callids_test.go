package cascade

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// The history of a conversation with another server, whose call ids have 46 characters.
const (
	longCallID = "chatcmpl-tool-0123456789abcdef0123456789abcdef"
	longCalls  = `{"role":"assistant","content":null,"tool_calls":[{"id":"` + longCallID + `","type":"function","function":{"name":"w","arguments":"{}"}}]}`
	longResult = `{"role":"tool","tool_call_id":"` + longCallID + `","content":"rain"}`
)

// longHistory returns that history in the format of a surface.
func longHistory(surface hub.Format) string {
	switch surface {
	case hub.Messages:
		return `"messages":[` + hello + `,{"role":"assistant","content":[{"type":"tool_use","id":"` + longCallID + `","name":"w","input":{}}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + longCallID + `","content":"rain"}]}]`
	case hub.Responses:
		return `"input":[` + hello + `,{"type":"function_call","call_id":"` + longCallID + `","name":"w","arguments":"{}"},` +
			`{"type":"function_call_output","call_id":"` + longCallID + `","output":"rain"}]`
	default:
		return messagesOf(hello, longCalls, longResult)
	}
}

// TestLongCallIDs checks that a provider with a limit on the length of call ids gets shorter ids. The
// call, its result and every later request have the same short id.
func TestLongCallIDs(t *testing.T) {
	t.Parallel()
	callID := func(t *testing.T, surface hub.Format, limit int) string {
		r := newRig(t, setup{keys: []string{"alpha"}})
		p, _ := r.catalog.Provider("alpha")
		p.Shape.ToolCallIDMax = limit
		r.alpha.addSteps(reply(200, completion("hi")))
		r.askOn(surface, question(surface, "keychain-low", false, longHistory(surface))).wantAnswer(t, "alpha/a-low", "hi")
		body := r.alpha.requests()[0].body
		call, result := gjson.Get(body, "messages.#.tool_calls.0.id|0").Str, gjson.Get(body, "messages.#.tool_call_id|0").Str
		if call == "" || call != result {
			t.Errorf("the call is %q and its result of %q:\n%s", call, result, body)
		}
		return call
	}
	for _, surface := range surfaces {
		t.Run(string(surface), func(t *testing.T) {
			t.Parallel()
			short := callID(t, surface, 40)
			if len(short) > 40 || short != callID(t, surface, 40) {
				t.Errorf("the id is %q", short)
			}
			for _, limit := range []int{0, 46} {
				if id := callID(t, surface, limit); id != longCallID {
					t.Errorf("with the limit %d the id is %q", limit, id)
				}
			}
		})
	}
}

// TestLongCallIDsAreLearned checks that a server which refuses an id for its length gets short ids from then on. The
// client must not get an error that the prompt is too long.
func TestLongCallIDsAreLearned(t *testing.T) {
	t.Parallel()
	refuses := func(param string) step {
		return reply(http.StatusBadRequest, `{"error":{"message":"Invalid '`+param+`': string too long. Expected a string with maximum length 40, but got a string with length 46 instead.",`+
			`"type":"invalid_request_error","param":"`+param+`","code":"string_above_max_length"}}`)
	}
	for _, surface := range surfaces {
		for _, param := range []string{"messages[1].tool_calls[0].id", "messages[2].tool_call_id"} {
			t.Run(string(surface)+" "+param, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, setup{keys: []string{"alpha"}})
				r.alpha.addSteps(refuses(param), reply(200, completion("one")), reply(200, completion("two")))
				for i, answerText := range []string{"one", "two"} {
					e := r.askOn(surface, question(surface, "alpha/a-low", false, longHistory(surface)))
					if e.wantAnswer(t, "alpha/a-low", answerText); e.Attempts != 2-i {
						t.Errorf("%d attempts", e.Attempts)
					}
				}
				if calls := r.alpha.requests(); strings.Contains(calls[1].body, longCallID) || strings.Contains(calls[2].body, longCallID) {
					t.Errorf("the long id was sent again:\n%s\n%s", calls[1].body, calls[2].body)
				}
			})
		}
	}
	t.Run("another text", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, setup{keys: []string{"alpha"}})
		r.alpha.addSteps(refuses("messages[0].content"))
		e := r.ask("alpha/a-low")
		e.wantError(t, http.StatusBadRequest, "string_above_max_length")
		if strings.Contains(e.err.Message, "prompt is too long") {
			t.Errorf("the client gets the error %q", e.err.Message)
		}
	})
}
