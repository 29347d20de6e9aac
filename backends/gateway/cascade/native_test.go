package cascade

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// nativeWire returns JSON members that make the provider alpha speak a format in addition to chat, and prefer it for
// clients of other formats.
func nativeWire(format hub.Format) map[string]string {
	return map[string]string{"alpha": fmt.Sprintf(`"wires":[%q],"prefer_wire":%q,"native_tools":true`, format, format)}
}

// newNative returns a rig whose alpha speaks a format natively and whose beta speaks chat.
func newNative(t *testing.T, format hub.Format) *rig {
	t.Helper()
	return newRig(t, setup{
		keys: []string{"alpha", "beta"}, members: nativeWire(format),
		models: `{"provider":"alpha","id":"a-low","tiers":["low"],"context_window":100000,"max_output":64000,"tools":true,"reasoning":true},` +
			`{"provider":"beta","id":"b-low","tiers":["low"],"context_window":200000,"tools":true}`,
	})
}

// frame returns one event of a native stream.
func frame(kind, members string) string {
	return "event: " + kind + "\ndata: {\"type\":\"" + kind + "\"" + withComma(members) + "}\n\n"
}

// nativeWhole returns a native answer with the given text. It has members that the gateway does not know, which are
// passed on to clients of the same format.
func nativeWhole(format hub.Format, text string) string {
	if format == hub.Messages {
		return `{"id":"msg_up","zeta":[1,  2],"type":"message","role":"assistant","model":"up","content":[{"type":"text","text":"` + text +
			`","x_new":true}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":8,"cache_read_input_tokens":3,"output_tokens":5,"x_tokens":1}}`
	}
	return `{"id":"resp_up","zeta":[1,  2],"object":"response","created_at":1,"status":"completed","model":"up","output":[{"id":"msg_1","type":"message","status":"completed","role":"assistant","x_new":true,` +
		`"content":[{"type":"output_text","text":"` + text + `","annotations":[]}]}],"error":null,"usage":{"input_tokens":11,"input_tokens_details":{"cached_tokens":3},"output_tokens":5,"total_tokens":16}}`
}

// nativeHead returns the events with which a native stream begins. They come before the commit point.
func nativeHead(format hub.Format) []string {
	if format == hub.Messages {
		return []string{
			frame("message_start", `"message":{"id":"msg_up","type":"message","role":"assistant","model":"up","content":[],"stop_reason":null,"x_new":1,"usage":{"input_tokens":8,"cache_read_input_tokens":3,"output_tokens":1}}`),
			frame("content_block_start", `"index":0,"content_block":{"type":"text","text":""}`),
			frame("ping", ""),
		}
	}
	const response = `"response":{"id":"resp_up","object":"response","created_at":1,"status":"in_progress","model":"up","output":[],"x_new":1}`
	return []string{
		frame("response.created", `"sequence_number":0,`+response),
		frame("response.in_progress", `"sequence_number":1,`+response),
		frame("response.output_item.added", `"sequence_number":2,"output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}`),
		frame("response.content_part.added", `"sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}`),
	}
}

// nativeText returns the first content of a native stream.
func nativeText(format hub.Format, text string) string {
	if format == hub.Messages {
		return frame("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":"`+text+`"}`)
	}
	return frame("response.output_text.delta", `"sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"`+text+`","obfuscation":"x"`)
}

func nativeTail(format hub.Format, text string) []string {
	if format == hub.Messages {
		return []string{
			frame("content_block_stop", `"index":0`),
			frame("x_new_event", `"x":  {"b":1,"a":2}`),
			frame("message_delta", `"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":5}`),
			frame("message_stop", ""),
		}
	}
	return []string{
		frame("response.output_text.done", `"sequence_number":5,"item_id":"msg_1","output_index":0,"content_index":0,"text":"`+text+`"`),
		frame("response.x_new", `"sequence_number":6,"x":  {"b":1,"a":2}`),
		frame("response.output_item.done", `"sequence_number":7,"output_index":0,"item":{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"`+text+`","annotations":[]}]}`),
		frame("response.completed", `"sequence_number":8,"response":`+nativeWhole(hub.Responses, text)),
	}
}

func nativeStream(format hub.Format, text string) []string {
	return append(append(nativeHead(format), nativeText(format, text)), nativeTail(format, text)...)
}

// nativeAnswer returns a step with a good answer of a native upstream.
func nativeAnswer(format hub.Format, streams bool, text string) step {
	if streams {
		return stream(nativeStream(format, text)...)
	}
	return reply(200, nativeWhole(format, text))
}

// nativeRefusal returns an error answer in the format's own form.
func nativeRefusal(format hub.Format, status int, kind, code, message string, header ...string) step {
	if format == hub.Messages {
		return reply(status, fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_up"}`, kind, message), header...)
	}
	return reply(status, fmt.Sprintf(`{"error":{"message":%q,"type":%q,"param":null,"code":%q}}`, message, kind, code), header...)
}

// TestNativeIdentity checks that between a client and an upstream of the same format, every byte but the
// model stays. This includes the order of keys, spaces, unknown members and prompt cache marks.
func TestNativeIdentity(t *testing.T) {
	t.Parallel()
	requests := map[hub.Format]string{
		hub.Messages: `{ "zeta" : {"b":1,  "a":2}, "model":"MODEL","stream":STREAM,"system":[{"type":"text","text":"Be \u006bind.","cache_control":{"type":"ephemeral","ttl":"1h"}}],` +
			`"tools":[{"name":"f","input_schema":{"type":"object","properties":{"z":{},"a":{}}},"cache_control":{"type":"ephemeral"},"x_new":1}],` +
			`"max_tokens":100 ,"context_management":{"edits":[]},"messages":[{"role":"user","content":[{"x":1,"type":"text","text":"hello","cache_control":{"type":"ephemeral"}}]}],"metadata":{"user_id":"u"},"cache_control":{"type":"ephemeral"}}`,
		hub.Responses: `{ "zeta" : {"b":1,  "a":2}, "model":"MODEL","stream":STREAM,"instructions":"Be \u006bind.","input":[{"role":"user","x":1,"content":[{"type":"input_text","text":"hello"}]}],` +
			`"tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{"z":{},"a":{}}},"x_new":1},{"type":"web_search"}],` +
			`"store":false,"prompt_cache_key":"k","prompt_cache_retention":"24h","client_metadata":{"x":"y"},"include":["reasoning.encrypted_content"]}`,
	}
	for format, request := range requests {
		for _, streams := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stream %t", format, streams), func(t *testing.T) {
				t.Parallel()
				r := newNative(t, format)
				r.alpha.addSteps(nativeAnswer(format, streams, "hi"))
				request := strings.ReplaceAll(request, "STREAM", fmt.Sprint(streams))
				clientRequest := r.parseRequest(format, strings.Replace(request, "MODEL", "keychain-low", 1))
				clientRequest.Header = map[string]string{"Anthropic-Version": "2026-10-21", "Anthropic-Beta": "a-2025,b-2026"}
				e := r.answer(clientRequest)
				e.wantAnswer(t, "alpha/a-low", "hi")
				got := r.alpha.requests()[0]
				if want := strings.Replace(request, "MODEL", "a-low", 1); got.body != want {
					t.Errorf("the upstream got\n%s\nwant\n%s", got.body, want)
				}
				if want := "/v1/" + string(format); got.path != want {
					t.Errorf("path %s", got.path)
				}
				version, beta := got.header.Get("Anthropic-Version"), got.header.Get("Anthropic-Beta")
				if format == hub.Messages && (version != "2026-10-21" || beta != "a-2025,b-2026") || format == hub.Responses && version+beta != "" {
					t.Errorf("version %q, beta %q", version, beta)
				}
				want := nativeWhole(format, "hi")
				if streams {
					want = strings.Join(nativeStream(format, "hi"), "")
				}
				if want = strings.ReplaceAll(want, `"model":"up"`, `"model":"keychain-low"`); e.body != want {
					t.Errorf("the client got\n%s\nwant\n%s", e.body, want)
				}
				if u := e.Usage; e.Estimated || u.Prompt != 11 || u.CacheRead != 3 || u.Completion != 5 {
					t.Errorf("usage %+v, estimated %t", u, e.Estimated)
				}
				if dropped := e.header.Get("X-Gateway-Dropped-Params"); dropped != "" {
					t.Errorf("dropped %s", dropped)
				}
			})
		}
	}
}

// TestNativeVendorFeatures checks that features which only the vendor's servers have are passed on unchanged to an
// upstream of the client's own format, and to no other. Without such an upstream the request is refused.
func TestNativeVendorFeatures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format        hub.Format
		body, mistake string
	}{
		{
			hub.Messages,
			`{"model":"MODEL","max_tokens":100,"mcp_servers":[{"type":"url","name":"x","url":"https://x.example"}],"tools":[{"type":"mcp_toolset","mcp_server_name":"x"}],"messages":[{"role":"user","content":[{"type":"later","x":1}]}]}`,
			"mcp_servers",
		},
		{
			hub.Messages,
			`{"model":"MODEL","max_tokens":100,"tools":[{"type":"web_search_20250305","name":"web_search"}],"messages":[{"role":"user","content":"What is new?"}]}`,
			"tools[0]",
		},
		{hub.Responses, `{"model":"MODEL","store":false,"tools":[{"type":"web_search"}],"input":[{"type":"later","x":1}]}`, "tools[0]"},
	} {
		t.Run(fmt.Sprintf("%s, %s", c.format, c.mistake), func(t *testing.T) {
			t.Parallel()
			format := c.format
			clientBody := strings.Replace(c.body, "MODEL", "keychain-low", 1)
			r := newNative(t, format)
			r.alpha.addSteps(nativeAnswer(format, false, "hi"), reply(500, "{}"), reply(404, `{"detail":"Not Found"}`))
			r.askOn(format, clientBody).wantAnswer(t, "alpha/a-low", "hi")
			if got, want := r.alpha.requests()[0].body, strings.Replace(c.body, "MODEL", "a-low", 1); got != want {
				t.Errorf("the upstream got\n%s\nwant\n%s", got, want)
			}
			for range 2 { // first it fails, then it turns out not to know the format
				if e := r.askOn(format, clientBody); e.err == nil {
					t.Errorf("it was answered: %s", e.body)
				}
			}
			if alpha, beta := len(r.alpha.requests()), len(r.beta.requests()); alpha != 3 || beta != 0 {
				t.Errorf("alpha was asked %d times, beta %d times", alpha, beta)
			}
			e := newRig(t, setup{keys: []string{"beta"}}).askOn(format, clientBody)
			e.wantError(t, 400, "unsupported_parameter")
			if e.err.Param != c.mistake {
				t.Errorf("the mistake is %s", e.err.Param)
			}
		})
	}
}

// TestNativeServesOthers checks that a native upstream serves clients of the other formats.
func TestNativeServesOthers(t *testing.T) {
	t.Parallel()
	for _, format := range []hub.Format{hub.Messages, hub.Responses} {
		forEachSurface(t, func(t *testing.T, surface hub.Format, streams bool) {
			r := newNative(t, format)
			r.alpha.addSteps(nativeAnswer(format, streams, "hi there"))
			e := r.askOn(surface, question(surface, "keychain-low", streams))
			e.wantWholeAnswer(t, surface, streams, "alpha/a-low", "hi there")
			got := r.alpha.requests()[0]
			body := gjson.Parse(got.body)
			if got.path != "/v1/"+string(format) || body.Get("model").Str != "a-low" || !strings.Contains(got.body, "hello") || body.Get("stream").Bool() != streams {
				t.Errorf("%s got %s", got.path, got.body)
			}
			if format == hub.Messages && body.Get("max_tokens").Int() < 1 {
				t.Errorf("no max_tokens: %s", got.body)
			}
			if u := e.Usage; e.Estimated || u.Prompt != 11 || u.CacheRead != 3 || u.Completion != 5 {
				t.Errorf("usage %+v, estimated %t", u, e.Estimated)
			}
			if strings.Contains(e.body, `"up"`) || strings.Contains(e.body, `"a-low"`) {
				t.Errorf("the upstream's name of the model:\n%s", e.body)
			}
		})
	}
}

// TestNativeVersion checks the version header for an upstream of the messages format. A messages client's own version
// is passed on; for other clients the gateway chooses the version that accepts the request.
func TestNativeVersion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		surface       hub.Format
		more          string
		header        map[string]string
		version, beta string
		temperature   string
	}{
		"chat":                       {hub.Chat, `"seed":7`, nil, "2026-10-21", "", ""},
		"chat, a temperature":        {hub.Chat, `"temperature":0.5`, nil, "2023-06-01", "", "0.5"},
		"chat, the default":          {hub.Chat, `"temperature":1`, nil, "2026-10-21", "", ""},
		"Responses, a temperature":   {hub.Responses, `"temperature":0.5`, nil, "2023-06-01", "", "0.5"},
		"messages, the client's":     {hub.Messages, `"x":1`, map[string]string{"Anthropic-Version": "2024-01-01", "Anthropic-Beta": "b-1"}, "2024-01-01", "b-1", ""},
		"messages, the old one":      {hub.Messages, `"temperature":0.5`, map[string]string{"Anthropic-Version": "2023-06-01"}, "2023-06-01", "", "0.5"},
		"messages, the client's own": {hub.Messages, `"temperature":0.5`, nil, "from the catalog", "", "0.5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, setup{
				keys: []string{"alpha"}, models: `{"provider":"alpha","id":"a-low","tiers":["low"]}`,
				members: map[string]string{"alpha": `"wires":["messages"],"prefer_wire":"messages","headers":{"anthropic-version":"from the catalog"}`},
			})
			r.alpha.addSteps(nativeAnswer(hub.Messages, false, "hi"))
			ask := r.parseRequest(c.surface, question(c.surface, "keychain-low", false, c.more))
			ask.Header = c.header
			r.answer(ask).wantWholeAnswer(t, c.surface, false, "alpha/a-low", "hi")
			got := r.alpha.requests()[0]
			if version, beta := got.header.Get("Anthropic-Version"), got.header.Get("Anthropic-Beta"); version != c.version || beta != c.beta {
				t.Errorf("version %q, beta %q", version, beta)
			}
			if temperature := gjson.Get(got.body, "temperature").Raw; temperature != c.temperature || gjson.Get(got.body, "seed").Exists() {
				t.Errorf("the upstream got %s", got.body)
			}
		})
	}
}

// TestNativeLearns checks that a parameter which a native upstream refuses by its own name is left out, at once and in
// the next request. All other members stay as the client sent them.
func TestNativeLearns(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{
		keys: []string{"alpha"}, models: `{"provider":"alpha","id":"a-low","tiers":["low"]}`,
		members: map[string]string{"alpha": `"wires":["messages"]`},
	})
	r.alpha.addSteps(
		nativeRefusal(hub.Messages, 400, "invalid_request_error", "", "This model does not support the effort parameter."),
		nativeAnswer(hub.Messages, false, "hi"), nativeAnswer(hub.Messages, false, "hi"),
	)
	ask := question(hub.Messages, "keychain-low", false, `"output_config":{"effort":"low","format":null},"thinking":{"type":"adaptive"}`)
	r.askOn(hub.Messages, ask).wantAnswer(t, "alpha/a-low", "hi")
	r.askOn(hub.Messages, ask).wantAnswer(t, "alpha/a-low", "hi")
	refused := strings.Replace(ask, "keychain-low", "a-low", 1)
	accepted := strings.Replace(refused, `"effort":"low",`, "", 1)
	for i, want := range []string{refused, accepted, accepted} {
		if got := r.alpha.requests()[i].body; got != want {
			t.Errorf("request %d is\n%s\nwant\n%s", i, got, want)
		}
	}
}

// TestCacheKey checks that the prompt cache key depends on the gateway key, not on the user.
func TestCacheKey(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha"}})
	keys := make([]string, 0, 4)
	for i, id := range []string{"gk_1", "gk_1", "gk_2", ""} {
		r.alpha.addSteps(reply(200, completion("hi")))
		ask := r.parseRequest(hub.Messages, question(hub.Messages, "keychain-low", false))
		ask.User, ask.KeyID = "alice", id
		r.answer(ask).wantWholeAnswer(t, hub.Messages, false, "alpha/a-low", "hi")
		keys = append(keys, gjson.Get(r.alpha.requests()[i].body, "prompt_cache_key").Str)
	}
	if keys[0] == "" || keys[0] != keys[1] || keys[0] == keys[2] || keys[3] != "" {
		t.Errorf("keys %q", keys)
	}
}

// TestNativeFailsOver checks that every fault of a native upstream before the commit point leads to the next candidate,
// on every surface, and is recorded with its cause.
func TestNativeFailsOver(t *testing.T) {
	t.Parallel()
	type fault struct {
		step   func(format hub.Format) step
		failed string
		// health is the state recorded for alpha's key or model afterwards; empty means none.
		health string
		stream bool // only a stream can do this
	}
	refused := func(status int, kind, code, message string, header ...string) func(hub.Format) step {
		return func(format hub.Format) step { return nativeRefusal(format, status, kind, code, message, header...) }
	}
	// broken returns a stream that has the event before any content, and so before the commit point.
	broken := func(format hub.Format, event string) step {
		return stream(append(nativeHead(format), event, nativeText(format, "never"))...)
	}
	streamed := func(kind, code, message string) func(hub.Format) step {
		return func(format hub.Format) step {
			if format == hub.Messages {
				return broken(format, frame("error", fmt.Sprintf(`"error":{"type":%q,"message":%q}`, kind, message)))
			}
			return broken(format, frame("response.failed", fmt.Sprintf(`"sequence_number":4,"response":{"id":"resp_up","status":"failed","output":[],"error":{"code":%q,"message":%q}}`, code, message)))
		}
	}
	for name, c := range map[string]fault{
		"overloaded":     {step: refused(529, "overloaded_error", "server_is_overloaded", "Overloaded"), failed: "529", health: ReasonOverloaded},
		"limited":        {step: refused(429, "rate_limit_error", "rate_limit_exceeded", "slow", "Retry-After", "30"), failed: "429", health: ReasonRateLimited},
		"bad key":        {step: refused(401, "authentication_error", "invalid_api_key", "invalid x-api-key"), failed: "401", health: string(InvalidKey)},
		"no permission":  {step: refused(403, "permission_error", "", "Your API key does not have permission"), failed: "403", health: string(InvalidKey)},
		"no credit":      {step: refused(402, "billing_error", "insufficient_quota", "pay"), failed: "402", health: string(NoCredit)},
		"low balance":    {step: refused(400, "invalid_request_error", "billing_not_active", "Your credit balance is too low to access the API."), failed: "400", health: string(NoCredit)},
		"too long":       {step: refused(400, "invalid_request_error", "context_length_exceeded", "prompt is too long: 215000 tokens > 200000 maximum"), failed: "400"},
		"mistake":        {step: refused(400, "invalid_request_error", "invalid_value", "messages.0: bad"), failed: "400"},
		"unknown model":  {step: refused(404, "not_found_error", "model_not_found", "model: a-low"), failed: "404", health: ReasonUnknown},
		"api error":      {step: refused(500, "api_error", "server_error", "Internal server error"), failed: "500"},
		"timeout":        {step: refused(504, "timeout_error", "server_error", "timed out"), failed: "504"},
		"a web page":     {step: func(hub.Format) step { return reply(200, "<html>", "Content-Type", "text/html") }, failed: "200"},
		"JSON error":     {step: refused(200, "api_error", "server_error", "no"), failed: "200"},
		"JSON overload":  {step: refused(200, "overloaded_error", "overloaded", "busy"), failed: "200", health: ReasonOverloaded},
		"nothing":        {step: func(hub.Format) step { return reply(200, "") }, failed: "200"},
		"no content":     {step: func(hub.Format) step { return reply(200, `{"id":"x","type":"message","content":[]}`) }, failed: "200"},
		"dropped":        {step: func(hub.Format) step { return drop }, failed: "0"},
		"head, end":      {step: func(f hub.Format) step { return stream(nativeHead(f)...) }, failed: "200", stream: true},
		"head, drop":     {step: func(f hub.Format) step { return inOrder(stream(nativeHead(f)...), drop) }, failed: "200", stream: true},
		"head, broken":   {step: func(f hub.Format) step { return broken(f, "data: {\"type\":\n\n") }, failed: "200", stream: true},
		"head, overload": {step: streamed("overloaded_error", "server_is_overloaded", "Overloaded"), failed: "200", health: ReasonOverloaded, stream: true},
		"head, limited":  {step: streamed("rate_limit_error", "rate_limit_exceeded", "slow"), failed: "200", health: ReasonRateLimited, stream: true},
		"head, bad key":  {step: streamed("authentication_error", "invalid_api_key", "no"), failed: "200", health: string(InvalidKey), stream: true},
		"head, too long": {step: streamed("invalid_request_error", "context_length_exceeded", "prompt is too long: 215000 tokens"), failed: "200", stream: true},
		"head, credit":   {step: streamed("billing_error", "insufficient_quota", "pay"), failed: "200", health: string(NoCredit), stream: true},
	} {
		for _, format := range []hub.Format{hub.Messages, hub.Responses} {
			t.Run(name+", "+string(format), func(t *testing.T) {
				t.Parallel()
				forEachSurface(t, func(t *testing.T, surface hub.Format, streams bool) {
					if c.stream && !streams {
						return
					}
					r := newNative(t, format)
					r.alpha.addSteps(c.step(format))
					if streams {
						r.beta.addSteps(answers("from beta"))
					} else {
						r.beta.addSteps(reply(200, completion("from beta")))
					}
					e := r.askOn(surface, question(surface, "keychain-low", streams))
					e.wantWholeAnswer(t, surface, streams, "beta/b-low", "from beta")
					if strings.Contains(e.body, "never") || strings.Contains(e.body, `_up"`) {
						t.Errorf("the client hears of the first candidate:\n%s", e.body)
					}
					if !strings.HasPrefix(e.failedList(), "alpha:"+c.failed+":") || e.Attempts != 2 {
						t.Errorf("failed %s", e.failedList())
					}
					r.wantHealth(t, c.health)
				})
			})
		}
	}
}

// wantHealth checks the reason for which alpha is not asked again for a while; empty means that there is none.
func (r *rig) wantHealth(t *testing.T, health string) {
	t.Helper()
	memory := r.engine.Memory.Health
	model, key := memory.Lookup("alpha", r.keyID("key-alpha-1"), "a-low"), memory.Lookup("alpha", r.keyID("key-alpha-1"), "")
	if provider := memory.Provider("alpha", r.account.UserID); health == ReasonOverloaded {
		if provider.LastFailure.IsZero() {
			t.Errorf("alpha is %+v", provider)
		}
		return
	}
	blocked := !model.Until.IsZero() || !key.Until.IsZero()
	switch health {
	case "":
		if blocked {
			t.Errorf("the model is %+v, the key %+v", model, key)
		}
	case string(InvalidKey), string(NoCredit):
		if string(key.Status) != health {
			t.Errorf("the key is %+v, want %s", key, health)
		}
	default:
		if model.Reason != health || !model.Until.After(r.clock.now()) {
			t.Errorf("the model is %+v, want %s", model, health)
		}
	}
}

// TestNativeBreaksAfterProof checks that an error in the stream of a native upstream becomes the error
// event of the client's surface.
func TestNativeBreaksAfterProof(t *testing.T) {
	t.Parallel()
	for _, format := range []hub.Format{hub.Messages, hub.Responses} {
		fault := frame("error", `"error":{"type":"overloaded_error","message":"Overloaded"}`)
		if format == hub.Responses {
			fault = frame("response.failed", `"sequence_number":5,"response":{"id":"resp_up","status":"failed","output":[],"error":{"code":"rate_limit_exceeded","message":"Please try again in 1.5s."}}`)
		}
		for name, broken := range map[string]step{"error": stream(fault, nativeText(format, "never")), "dropped": drop, "end": stream()} {
			for _, surface := range surfaces {
				t.Run(fmt.Sprintf("%s, %s, %s", format, name, surface), func(t *testing.T) {
					t.Parallel()
					r := newNative(t, format)
					r.alpha.addSteps(inOrder(stream(append(nativeHead(format), nativeText(format, "partial"))...), broken))
					e := r.askOn(surface, question(surface, "keychain-low", true))
					if e.rawErr != nil || e.Status != 200 || e.Code != "upstream_stream_error" || len(r.beta.requests()) != 0 {
						t.Fatalf("%v, %+v", e.rawErr, e.Result)
					}
					h := decodeAnswer(t, surface, true, e.body)
					if h.text != "partial" || h.whole || strings.Contains(e.body, "never") {
						t.Errorf("it says %q, complete %t:\n%s", h.text, h.whole, e.body)
					}
					want := map[hub.Format]string{hub.Chat: "upstream_stream_error", hub.Messages: "api_error", hub.Responses: "server_error"}[surface]
					switch {
					case name == "error" && format == hub.Messages && surface == hub.Messages:
						want = "overloaded_error"
					case name == "error" && format == hub.Responses && surface == hub.Messages:
						want = "rate_limit_error"
					case name == "error" && format == hub.Responses && surface == hub.Responses:
						want = "rate_limit_exceeded"
					}
					got := h.last.Get("error.code").Str + h.last.Get("response.error.code").Str
					if surface == hub.Messages {
						got = h.last.Get("error.type").Str
					}
					last := h.events[len(h.events)-1]
					if got != want || (surface == hub.Responses) != (last == "response.failed") {
						t.Errorf("the last event is %s %s, want %s", last, h.last, want)
					}
					if name == "error" && format == hub.Responses && !strings.Contains(h.last.Raw, "Please try again in 1.5s.") {
						t.Errorf("the waiting time for clients is lost: %s", h.last)
					}
					if e.Usage.Completion == 0 {
						t.Errorf("usage %+v", e.Usage)
					}
				})
			}
		}
	}
}

// TestNativeFallsBackToChat checks that a provider which answers 404 or 405 at the path of its native format is asked
// by chat at once. For a day from then on, its native path is not tried.
func TestNativeFallsBackToChat(t *testing.T) {
	t.Parallel()
	for name, missing := range map[string]step{
		"404":                 reply(404, `{"detail":"Not Found"}`),
		"404, a model server": reply(404, `{"error":{"message":"there is no /v1/messages here; this model server has /v1/chat/completions","code":"not_found"}}`),
		"404, a page":         reply(404, "<html>404", "Content-Type", "text/html"),
		"405":                 reply(405, `{"detail":"Method Not Allowed"}`),
		"404, no answer":      reply(404, ""),
	} {
		for _, format := range []hub.Format{hub.Messages, hub.Responses} {
			t.Run(name+", "+string(format), func(t *testing.T) {
				t.Parallel()
				forEachSurface(t, func(t *testing.T, surface hub.Format, streams bool) {
					r := newNative(t, format)
					good := reply(200, completion("by chat"))
					if streams {
						good = answers("by chat")
					}
					r.alpha.addSteps(missing, good, good, nativeAnswer(format, streams, "by itself"))
					ask := func(entry, content string) {
						t.Helper()
						r.askOn(surface, question(surface, "keychain-low", streams)).wantWholeAnswer(t, surface, streams, entry, content)
					}
					ask("alpha/a-low", "by chat")
					ask("alpha/a-low", "by chat")
					r.clock.advance(learnedFor + time.Second)
					ask("alpha/a-low", "by itself")
					paths := ""
					for _, c := range r.alpha.requests() {
						paths += strings.TrimPrefix(c.path, "/v1/") + " "
					}
					if want := fmt.Sprintf("%s chat/completions chat/completions %s ", format, format); paths != want {
						t.Errorf("asked %s, want %s", paths, want)
					}
				})
			})
		}
	}
	// If the chat request fails too, nothing is learned.
	r := newNative(t, hub.Messages)
	r.alpha.addSteps(reply(404, `{"detail":"Not Found"}`), reply(404, `{"detail":"Not Found"}`))
	r.beta.addSteps(reply(200, completion("from beta")))
	e := r.askOn(hub.Messages, question(hub.Messages, "keychain-low", false))
	e.wantWholeAnswer(t, hub.Messages, false, "beta/b-low", "from beta")
	if e.Attempts != 3 {
		t.Errorf("%d attempts: %s", e.Attempts, e.failedList())
	}
	r.wantHealth(t, ReasonUnknown)
}
