package cascade

import (
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// TestCountRefuses checks that requests to count tokens are refused with the same errors as the messages themselves.
func TestCountRefuses(t *testing.T) {
	t.Parallel()
	const models = `{"provider":"alpha","id":"a-low","tiers":["low"],"context_window":1000,"modalities":["text","image","file"]},` +
		`{"provider":"beta","id":"b-low","tiers":["low"],"context_window":1000,"modalities":["text","image","file"]}`
	content := func(content string) string { return `"messages":[{"role":"user","content":` + content + `}]` }
	for name, c := range map[string]struct {
		model, more string
		via         []string
		code        string // empty: the tokens are counted
	}{
		"good":            {"keychain-low", helloMessages, nil, ""},
		"unknown model":   {"nobody", helloMessages, nil, "model_not_found"},
		"no such ability": {"keychain-low", helloMessages + `,"tools":[{"name":"f","input_schema":{}}]`, nil, "no_models_available"},
		"prefill":         {"keychain-low", `"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]`, nil, "no_models_available"},
		"too long":        {"keychain-low", content(`"` + strings.Repeat("long ", 4000) + `"`), nil, "context_length_exceeded"},
		"a remote file":   {"keychain-low", content(`[{"type":"document","source":{"type":"url","url":"https://example.com/a.pdf"}}]`), nil, "no_models_available"},
		"in a circle":     {"keychain-low", helloMessages, []string{"1.1 tollgate-3132333435363738"}, "loop_detected"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ask := func() (*rig, *Request) {
				r := newRig(t, setup{keys: []string{"alpha", "beta"}, models: models})
				r.alpha.defaultStep, r.beta.defaultStep = reply(200, completion("hi")), reply(200, completion("hi"))
				r.engine.Mark = NewMark([]byte("12345678"))
				req := r.parseRequest(hub.Messages, question(hub.Messages, c.model, false, c.more))
				req.Via = c.via
				return r, req
			}
			r, req := ask()
			e := r.answer(req)
			r, req = ask()
			n, err := r.engine.CountTokens(t.Context(), req)
			if c.code == "" {
				if err != nil || n == 0 || e.err != nil {
					t.Errorf("%d tokens, error %v; messages: %v", n, err, e.err)
				}
				return
			}
			got, ok := apierror.From(err)
			if !ok || e.err == nil || got.Code != c.code || got.Code != e.err.Code || got.Status != e.err.Status || got.Message != e.err.Message {
				t.Errorf("counted %d, error %v; messages: %v", n, err, e.err)
			}
			if calls := append(r.alpha.requests(), r.beta.requests()...); len(calls) > 0 {
				t.Errorf("an upstream was asked: %v", calls)
			}
		})
	}
}

// TestCountWithUserKey checks that a provider counts tokens through a user's own key, even if the first connection is
// dead, and never through the operator's key.
func TestCountWithUserKey(t *testing.T) {
	t.Parallel()
	const counted = `{"input_tokens":4711}`
	count := func(r *rig) int64 {
		n, err := r.engine.CountTokens(t.Context(), r.parseRequest(hub.Messages, question(hub.Messages, "keychain-low", false)))
		if err != nil {
			t.Error(err)
		}
		return n
	}
	members := map[string]string{"alpha": `"wires":["messages"]`}
	own := newRig(t, setup{keys: []string{"alpha"}, members: members})
	own.setOperatorKey("sk-operator")
	own.warm(1)
	own.alpha.addSteps(drop, reply(200, counted))
	if n := count(own); n != 4711 || len(own.alpha.requests()) != 3 || own.alpha.keys()[2] != "key-alpha-1" {
		t.Errorf("%d tokens through %q", n, own.alpha.keys())
	}
	other := newRig(t, setup{members: members})
	other.setOperatorKey("sk-operator")
	other.alpha.defaultStep = reply(200, counted)
	if n := count(other); n <= 0 || n == 4711 || len(other.alpha.requests()) > 0 {
		t.Errorf("%d tokens through %q", n, other.alpha.keys())
	}
}

// TestCountOfMistakes checks that an invalid request that the formats of two providers cannot carry is refused, and not
// counted for a third provider.
func TestCountOfMistakes(t *testing.T) {
	t.Parallel()
	speaks := `"wires":["messages"],"prefer_wire":"messages"`
	ask := func() (*rig, *Request) {
		r := newRig(t, setup{keys: []string{"alpha", "beta", "gamma"}, members: map[string]string{"alpha": speaks, "beta": speaks}})
		return r, r.request("keychain-low", false, []string{`"messages":[{"role":"user","content":[{"type":"text","text":5}]}]`})
	}
	r, req := ask()
	e := r.answer(req)
	if e.err == nil || e.err.Status != 400 {
		t.Fatalf("answered %v", e.rawErr)
	}
	r, req = ask()
	n, err := r.engine.CountTokens(t.Context(), req)
	if got, ok := apierror.From(err); !ok || got.Status != e.err.Status || got.Message != e.err.Message {
		t.Errorf("counted %d, error %v; answered %v", n, err, e.err)
	}
}

// TestCountAsks checks that a provider is asked for the count if its API has one. The request has only members that
// this API accepts: not the members about the length and the sampling of an answer.
func TestCountAsks(t *testing.T) {
	t.Parallel()
	const way = `"temperature":1,"stop":["x"],"stop_sequences":["x"],"metadata":{},"service_tier":"auto","top_p":0.5`
	for name, c := range map[string]struct {
		surface      hub.Format
		speaks, more string
		path, wants  string
	}{
		"messages":                      {surface: hub.Messages, speaks: "messages", path: "/messages/count_tokens", wants: `{"model":"a-low","thinking":{"type":"disabled"},` + helloMessages + `}`, more: `,"thinking":{"type":"disabled"}`},
		"responses":                     {surface: hub.Responses, speaks: "responses", path: "/responses/input_tokens", wants: `{"model":"a-low","truncation":"disabled","input":"hello"}`, more: `,"truncation":"disabled"`},
		"responses, written":            {surface: hub.Messages, speaks: "responses", path: "/responses/input_tokens", wants: `{"model":"a-low","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}]}`},
		"messages, written":             {surface: hub.Responses, speaks: "messages", path: "/messages/count_tokens", wants: `{"model":"a-low","messages":[{"role":"user","content":[{"type":"text","text":"hello","cache_control":{"type":"ephemeral"}}]}]}`},
		"a provider that speaks no API": {surface: hub.Responses},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			members := map[string]string{}
			if c.speaks != "" {
				members["alpha"] = `"wires":["` + c.speaks + `"],"prefer_wire":"` + c.speaks + `"`
			}
			r := newRig(t, setup{keys: []string{"alpha"}, members: members})
			r.alpha.defaultStep = reply(200, `{"object":"x","input_tokens":4711}`)
			n, err := r.engine.CountTokens(t.Context(), r.parseRequest(c.surface, question(c.surface, "keychain-low", true, way+c.more)))
			calls := r.alpha.requests()
			if c.path == "" {
				if err != nil || n <= 0 || n == 4711 || len(calls) > 0 {
					t.Errorf("%d tokens, error %v, calls %v", n, err, calls)
				}
				return
			}
			if err != nil || n != 4711 || len(calls) != 1 {
				t.Fatalf("%d tokens, error %v, calls %v", n, err, calls)
			}
			if !strings.HasSuffix(calls[0].path, c.path) || calls[0].body != c.wants {
				t.Errorf("%s %s", calls[0].path, calls[0].body)
			}
		})
	}
}
