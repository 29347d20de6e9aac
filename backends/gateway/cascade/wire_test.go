package cascade

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// toolsOf returns a function tool in the format of a surface. Some models accept tools together with a reasoning effort
// only in Responses.
func toolsOf(surface hub.Format) string {
	switch surface {
	case hub.Messages:
		return `"tools":[{"name":"w","input_schema":{"type":"object","properties":{}}}]`
	case hub.Responses:
		return `"tools":[{"type":"function","name":"w","parameters":{"type":"object","properties":{}}}]`
	default:
		return `"tools":[{"type":"function","function":{"name":"w","parameters":{"type":"object","properties":{}}}}]`
	}
}

func effortOf(surface hub.Format, effort string) string {
	switch surface {
	case hub.Messages:
		if effort == "none" {
			return `"thinking":{"type":"disabled"}`
		}
		return fmt.Sprintf(`"output_config":{"effort":%q},"thinking":{"type":"adaptive"}`, effort)
	case hub.Responses:
		return fmt.Sprintf(`"reasoning":{"effort":%q}`, effort)
	default:
		return fmt.Sprintf(`"reasoning_effort":%q`, effort)
	}
}

// clash answers like a model that refuses tools with an effort in chat completions.
func clash(w http.ResponseWriter, r *http.Request) {
	reply(http.StatusBadRequest, `{"error":{"message":"Function tools with reasoning_effort are not supported for a-low in /v1/chat/completions. Please use /v1/responses instead.",`+
		`"type":"invalid_request_error","param":"reasoning_effort","code":null}}`)(w, r)
}

// newTwoWires returns a rig whose alpha speaks chat and Responses. wire is the catalog's format for tools with an
// effort.
func newTwoWires(t *testing.T, wire string, members string, reasons bool) *rig {
	t.Helper()
	thinks := ""
	if reasons {
		thinks = `,"reasoning":true,"reasoning_efforts":["none","low","medium","high"]`
	}
	r := newRig(t, setup{
		keys: []string{"alpha"}, members: map[string]string{"alpha": members},
		models: `{"provider":"alpha","id":"a-low","tiers":["low"],"tools":true,"modalities":["text","audio"]` + thinks + `}`,
	})
	p, _ := r.catalog.Provider("alpha")
	p.Shape.ToolsWithEffort = wire
	return r
}

const bothWires = `"wires":["responses"],"native_tools":true`

// TestWireByRequest checks that function tools with an effort are sent in the Responses format if the
// provider requires it. All other requests are sent as chat.
func TestWireByRequest(t *testing.T) {
	t.Parallel()
	for _, surface := range []hub.Format{hub.Chat, hub.Messages} {
		for _, streams := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stream %t", surface, streams), func(t *testing.T) {
				t.Parallel()
				toolsWithEffort := toolsOf(surface) + "," + effortOf(surface, "high")
				cases := map[string]struct {
					members string
					plain   bool // the model does not reason
					want    hub.Format
				}{
					"tools with an effort":         {members: toolsWithEffort, want: hub.Responses},
					"tools alone":                  {members: toolsOf(surface), want: hub.Chat},
					"an effort alone":              {members: effortOf(surface, "high"), want: hub.Chat},
					"tools without reasoning":      {members: toolsOf(surface) + "," + effortOf(surface, "none"), want: hub.Chat},
					"a model that does not reason": {members: toolsWithEffort, plain: true, want: hub.Chat},
				}
				if surface == hub.Chat {
					for _, member := range []string{`"n":2`, `"logit_bias":{"50256":-100}`, `"functions":[{"name":"w"}]`, `"modalities":["text","audio"]`} {
						c := cases["tools with an effort"]
						c.members, c.want = c.members+","+member, hub.Chat
						cases["tools with an effort and "+member] = c
					}
				}
				for name, c := range cases {
					r := newTwoWires(t, catalog.WireResponses, bothWires, !c.plain)
					answer := answers("hi there")
					switch {
					case c.want == hub.Responses:
						answer = nativeAnswer(hub.Responses, streams, "hi there")
					case !streams:
						answer = reply(200, completion("hi there"))
					}
					r.alpha.addSteps(answer)
					e := r.askOn(surface, question(surface, "keychain-low", streams, c.members))
					if e.wantAnswer(t, "alpha/a-low", "hi there"); e.Attempts != 1 {
						t.Errorf("%s: %d attempts", name, e.Attempts)
					}
					path := map[hub.Format]string{hub.Responses: "/v1/responses", hub.Chat: "/v1/chat/completions"}[c.want]
					got := r.alpha.requests()[0]
					if got.path != path {
						t.Errorf("%s: asked at %s, want %s", name, got.path, path)
					}
					if c.want == hub.Responses && (gjson.Get(got.body, "reasoning.effort").Str != "high" || gjson.Get(got.body, "tools.0.name").Str != "w") {
						t.Errorf("%s: sent %s", name, got.body)
					}
				}
			})
		}
	}
}

// TestWireIsLearned checks that after a refusal of tools with an effort, only requests of that kind use the other
// format.
func TestWireIsLearned(t *testing.T) {
	t.Parallel()
	chat, responses := reply(200, completion("hi")), nativeAnswer(hub.Responses, false, "hi")
	notThere := refusal(http.StatusNotFound, "", "no such path")
	for _, surface := range []hub.Format{hub.Chat, hub.Messages} {
		for name, c := range map[string]struct {
			wire, members string
			first, second []step
			paths         string // of the first request and of the second
		}{
			"by Responses":            {"", bothWires, []step{clash, responses}, []step{responses}, "C R R"},
			"no other wire":           {"", "", []step{clash, chat}, []step{chat}, "C C C"},
			"no other wire after all": {catalog.WireResponses, bothWires, []step{notThere, clash, chat}, []step{chat}, "R C C C"},
		} {
			t.Run(string(surface)+", "+name, func(t *testing.T) {
				t.Parallel()
				r := newTwoWires(t, c.wire, c.members, true)
				request := question(surface, "alpha/a-low", false, toolsOf(surface), effortOf(surface, "high"))
				for i, steps := range [][]step{c.first, c.second} {
					r.alpha.addSteps(steps...)
					if e := r.askOn(surface, request); e.Attempts != len(steps) {
						t.Errorf("request %d took %d attempts: %v", i, e.Attempts, e.rawErr)
					} else {
						e.wantAnswer(t, "alpha/a-low", "hi")
					}
				}
				r.alpha.addSteps(chat)
				r.askOn(surface, question(surface, "alpha/a-low", false, effortOf(surface, "high"))).wantAnswer(t, "alpha/a-low", "hi")
				calls := r.alpha.requests()
				paths := ""
				for _, call := range calls[:len(calls)-1] {
					paths += map[string]string{"/v1/responses": " R", "/v1/chat/completions": " C"}[call.path]
				}
				if paths != " "+c.paths {
					t.Errorf("asked at%s, want %s", paths, c.paths)
				}
				if got := calls[len(calls)-2]; got.path == "/v1/chat/completions" && gjson.Get(got.body, "reasoning_effort").Exists() {
					t.Errorf("the effort was sent again: %s", got.body)
				}
				if last := calls[len(calls)-1]; last.path != "/v1/chat/completions" || gjson.Get(last.body, "reasoning_effort").Str != "high" {
					t.Errorf("without tools it was sent %s: %s", last.path, last.body)
				}
			})
		}
	}
}
