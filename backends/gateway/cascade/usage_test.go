package cascade

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// long is a text of 360 bytes, which is estimated as 100 tokens.
var long = strings.Repeat("word ", 72)

// bigStart is a message_start with a large prompt and the first output token.
var bigStart = frame("message_start", `"message":{"id":"msg_up","type":"message","role":"assistant","model":"up","content":[],"usage":{"input_tokens":90000,"cache_read_input_tokens":7000,"output_tokens":1}}`)

// TestUsageOfBrokenStreams checks that if an answer breaks off or its client disconnects, the
// log has the usage that the upstream reported, and an estimate of the content after that.
func TestUsageOfBrokenStreams(t *testing.T) {
	t.Parallel()
	running := `data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}],"usage":{"prompt_tokens":5000,"completion_tokens":1,"total_tokens":5001}}` + "\n\n"
	created := frame("response.created", `"sequence_number":0,"response":{"id":"resp_up","status":"in_progress","model":"up","output":[],"usage":{"input_tokens":5000,"output_tokens":1}}`)
	for name, c := range map[string]struct {
		native     hub.Format // format of alpha; empty: chat
		before     []string
		seen       string // text at the end of before
		prompt     int64
		completion int64
	}{
		"messages":      {hub.Messages, []string{bigStart, nativeText(hub.Messages, long)}, "word", 97_000, 100},
		"chat":          {"", []string{running, text(long)}, "word", 5000, 101},
		"responses":     {hub.Responses, []string{created, nativeHead(hub.Responses)[2], nativeText(hub.Responses, long)}, "word", 5000, 100},
		"more was told": {"", []string{text(long), strings.NewReplacer(`"x"`, `"behind"`, `"completion_tokens":1`, `"completion_tokens":700`).Replace(running)}, "behind", 5000, 700},
	} {
		for _, surface := range surfaces {
			for _, leaves := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, leaves %t", name, surface, leaves), func(t *testing.T) {
					t.Parallel()
					s := setup{keys: []string{"alpha"}}
					if c.native != "" {
						s.members = nativeWire(c.native)
					}
					r := newRig(t, s)
					end := step(drop)
					if leaves {
						end = r.alpha.hang
					}
					r.alpha.addSteps(inOrder(stream(c.before...), end))
					f := r.serveOn(surface)
					ctx, leave := context.WithCancel(t.Context())
					defer leave()
					req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.URL, strings.NewReader(question(surface, "keychain-low", true)))
					if err != nil {
						t.Fatal(err)
					}
					resp, err := f.Client().Do(req)
					if err != nil {
						t.Fatal(err)
					}
					defer resp.Body.Close()
					readUntil(t, resp.Body, c.seen)
					if leaves {
						leave()
					}
					e := f.result(t)
					if e.Usage.Prompt != c.prompt || e.Usage.Completion != c.completion || !e.Estimated || len(e.Lost) != 0 {
						t.Errorf("%+v, estimated %t, lost %v", e.Usage, e.Estimated, e.Lost)
					}
				})
			}
		}
	}
}

// TestUsageOfStreamWithoutDone checks that the upstream's provisional output count at the beginning is not used, even
// if the stream is complete.
func TestUsageOfStreamWithoutDone(t *testing.T) {
	t.Parallel()
	events := []string{
		bigStart, nativeHead(hub.Messages)[1], nativeText(hub.Messages, long), frame("content_block_stop", `"index":0`),
		frame("message_delta", `"delta":{"stop_reason":"end_turn"}`), frame("message_stop", ""),
	}
	for _, surface := range surfaces {
		r := newRig(t, setup{keys: []string{"alpha"}, members: nativeWire(hub.Messages)})
		r.alpha.addSteps(stream(events...))
		e := r.askOn(surface, question(surface, "keychain-low", true, map[hub.Format][]string{hub.Chat: {`"stream_options":{"include_usage":true}`}}[surface]...))
		e.wantWholeAnswer(t, surface, true, "alpha/a-low", long)
		if e.Usage.Prompt != 97_000 || e.Usage.CacheRead != 7000 || e.Usage.Completion != 100 || !e.Estimated {
			t.Errorf("%s: %+v, estimated %t", surface, e.Usage, e.Estimated)
		}
		h := decodeAnswer(t, surface, true, e.body)
		if surface == hub.Responses && (h.last.Get("response.usage.input_tokens").Int() != 97_000 || h.last.Get("response.usage.output_tokens").Int() != 100) {
			t.Errorf("the client gets the usage %s", h.last.Get("response.usage"))
		}
	}
	// With the upstream's final usage, the count is exact.
	r := newNative(t, hub.Messages)
	r.alpha.addSteps(nativeAnswer(hub.Messages, true, "hi"))
	if e := r.askOn(hub.Messages, question(hub.Messages, "keychain-low", true)); e.Usage.Completion != 5 || e.Usage.Prompt != 11 || e.Estimated {
		t.Errorf("%+v, estimated %t", e.Usage, e.Estimated)
	}
}

// TestLostUsage checks that the work of a provider is charged even if its answer is unusable.
func TestLostUsage(t *testing.T) {
	t.Parallel()
	const schema = `"text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}}}`
	const models = `{"provider":"alpha","id":"a-low","tiers":["low"],"tools":true}`
	calls := `{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"[}"}}]},"finish_reason":"tool_calls"}],"usage":` + usageJSON + `}`
	for name, c := range map[string]struct {
		surface   hub.Format
		streams   bool
		native    bool
		more      string
		step      step
		code      string
		want      wire.Usage
		estimated bool
	}{
		"schema":          {hub.Responses, false, false, schema, reply(200, completion("no JSON")), "schema_mismatch", wire.Usage{Prompt: 11, Completion: 5, CacheRead: 3, Known: true}, false},
		"schema, untold":  {hub.Responses, false, false, schema, reply(200, `{"choices":[{"message":{"content":"`+long+`"},"finish_reason":"stop"}]}`), "schema_mismatch", wire.Usage{Prompt: 34, Completion: 100}, true},
		"arguments":       {hub.Messages, false, false, "", reply(200, calls), "invalid_tool_arguments", wire.Usage{Prompt: 11, Completion: 5, CacheRead: 3, Known: true}, false},
		"not a stream":    {hub.Chat, true, false, `"n":2`, reply(200, completion("hi")), "not_a_stream", wire.Usage{Prompt: 11, Completion: 5, CacheRead: 3, Known: true}, false},
		"before its text": {hub.Chat, true, true, "", inOrder(stream(bigStart), drop), "connection_error", wire.Usage{Prompt: 97_000, Completion: 1, CacheRead: 7000}, true},
		"nothing known":   {hub.Chat, true, false, "", inOrder(stream(role), drop), "connection_error", wire.Usage{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup{keys: []string{"alpha"}, models: models}
			if c.native {
				s.members = nativeWire(hub.Messages)
			}
			r := newRig(t, s)
			r.alpha.addSteps(c.step)
			var more []string
			if c.more != "" {
				more = []string{c.more}
			}
			e := r.askOn(c.surface, question(c.surface, "keychain-low", c.streams, more...))
			e.wantError(t, 502, "all_providers_failed")
			if len(e.Failed) != 1 || e.Failed[0].Code != c.code {
				t.Errorf("failed %s", e.failedList())
			}
			var got wire.Usage
			for _, l := range e.Lost {
				got = l.Usage
				if l.Candidate.Entry != "alpha/a-low" {
					t.Errorf("lost by %s", l.Candidate.Entry)
				}
			}
			if len(e.Lost) > 1 || got != c.want || e.Estimated != c.estimated || e.Usage != (wire.Usage{}) {
				t.Errorf("lost %+v, estimated %t, usage %+v", got, e.Estimated, e.Usage)
			}
		})
	}
}

// TestSchemaMismatchBlamesNobody checks that an answer which does not match a user's schema is not a failure of the
// provider.
func TestSchemaMismatchBlamesNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha"}, models: `{"provider":"alpha","id":"a-low","tiers":["low"],"tools":true}`})
	for range 3 {
		r.alpha.addSteps(reply(200, completion("no JSON")))
		e := r.askOn(hub.Chat, question(hub.Chat, "keychain-low", false, `"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object"}}}`))
		e.wantError(t, 502, "all_providers_failed")
	}
	r.alpha.addSteps(reply(200, `{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"[}"}}]},"finish_reason":"tool_calls"}]}`))
	r.askOn(hub.Messages, question(hub.Messages, "keychain-low", false)).wantError(t, 502, "all_providers_failed")
	if state := r.engine.Memory.Health.Provider("alpha", r.account.UserID); !state.LastFailure.IsZero() || r.engine.Memory.Health.failing("alpha", r.account.UserID) {
		t.Errorf("alpha is blamed: %+v", state)
	}
}

// TestEstimateInLogAndAnswer checks that if the upstream reports no usage, the log and the client get
// the same estimate, which includes pictures.
func TestEstimateInLogAndAnswer(t *testing.T) {
	t.Parallel()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 1000, 750))); err != nil { // 1000 tokens
		t.Fatal(err)
	}
	data := base64.StdEncoding.EncodeToString(picture.Bytes())
	ask := map[hub.Format]string{
		hub.Chat:      `"messages":[{"role":"user","content":[{"type":"text","text":"hello"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + data + `"}}]}],"stream_options":{"include_usage":true}`,
		hub.Messages:  `"messages":[{"role":"user","content":[{"type":"text","text":"hello"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + data + `"}}]}]`,
		hub.Responses: `"input":[{"role":"user","content":[{"type":"input_text","text":"hello"},{"type":"input_image","image_url":"data:image/png;base64,` + data + `"}]}]`,
	}
	forEachSurface(t, func(t *testing.T, surface hub.Format, streams bool) {
		for _, provider := range []string{"alpha", "beta"} { // messages, chat
			r := newRig(t, setup{keys: []string{provider}, members: nativeWire(hub.Messages)})
			if r.beta.addSteps(stream(text(long), finish, doneLine)); !streams {
				r.beta.script = []step{reply(200, `{"choices":[{"message":{"content":"`+long+`"},"finish_reason":"stop"}]}`)}
			}
			if r.alpha.addSteps(stream(nativeText(hub.Messages, long), frame("message_delta", `"delta":{"stop_reason":"end_turn"}`), frame("message_stop", ""))); !streams {
				r.alpha.script = []step{reply(200, `{"type":"message","content":[{"type":"text","text":"`+long+`"}],"stop_reason":"end_turn"}`)}
			}
			more := ask[surface]
			if surface == hub.Chat && !streams {
				more, _ = strings.CutSuffix(more, `,"stream_options":{"include_usage":true}`)
			}
			e := r.askOn(surface, question(surface, "keychain-low", streams, more))
			e.wantAnswer(t, provider+"/"+provider[:1]+"-low", "word")
			if !e.Estimated || e.Usage.Prompt != 1006 || e.Usage.Completion != 100 {
				t.Errorf("%s: logged %+v, estimated %t", provider, e.Usage, e.Estimated)
			}
			if own := surface == hub.Messages && provider == "alpha"; own || surface == hub.Chat && !streams {
				continue // the client gets no usage
			}
			input, output := statedUsage(t, surface, streams, e.body)
			if input != e.Usage.Prompt || output != e.Usage.Completion {
				t.Errorf("%s: the client gets the usage %d and %d:\n%s", provider, input, output, e.body)
			}
		}
	})
}

// statedUsage returns the usage that an answer reports.
func statedUsage(t *testing.T, surface hub.Format, streams bool, body string) (input, output int64) {
	t.Helper()
	usage := gjson.Get(body, "usage")
	if streams {
		for event := range strings.SplitSeq(body, "\n\n") {
			_, data, _ := strings.Cut(event, "data: ")
			for _, path := range []string{"usage", "response.usage"} {
				if u := gjson.Get(data, path); u.IsObject() {
					usage = u
				}
			}
		}
	}
	if surface == hub.Chat {
		return usage.Get("prompt_tokens").Int(), usage.Get("completion_tokens").Int()
	}
	return usage.Get("input_tokens").Int(), usage.Get("output_tokens").Int()
}

// TestCannotCarry checks that a candidate whose format cannot express a request is left out, without a
// failure being recorded. If no other candidate remains, the error says that a retry does not help.
func TestCannotCarry(t *testing.T) {
	t.Parallel()
	picture := func(url string) string {
		return `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"` + url + `"}}]}]`
	}
	for name, c := range map[string]struct {
		format  hub.Format
		more    string
		carries bool
		says    string
	}{
		"n":                    {hub.Messages, `"n":2`, false, "n above 1"},
		"n of the other":       {hub.Responses, `"n":2`, false, "n above 1"},
		"n is 1":               {hub.Messages, `"n":1`, true, ""},
		"http image":           {hub.Messages, picture("http://a.example/x.png"), false, "http addresses"},
		"http image elsewhere": {hub.Responses, picture("http://a.example/x.png"), true, ""},
		"https image":          {hub.Messages, picture("https://a.example/x.png"), true, ""},
		"audio":                {hub.Messages, `"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}]}]`, false, "audio input"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, setup{keys: []string{"alpha", "beta"}, members: nativeWire(c.format)})
			plan, err := r.engine.Explain(t.Context(), r.request("keychain-low", false, []string{c.more}))
			if err != nil || len(plan.Tried)+len(plan.Skipped) != 2 {
				t.Fatalf("%v, %+v", err, plan)
			}
			if c.carries {
				if len(plan.Skipped) > 0 {
					t.Errorf("skipped %+v", plan.Skipped)
				}
				return
			}
			if len(plan.Skipped) != 1 || plan.Skipped[0].Code != SkipUnfit || !strings.Contains(plan.Skipped[0].Reason, c.says) {
				t.Errorf("skipped %+v", plan.Skipped)
			}
			r.beta.addSteps(reply(200, completion("hi")))
			e := r.ask("keychain-low", c.more)
			if e.wantAnswer(t, "beta/b-low", "hi"); e.Attempts != 1 {
				t.Errorf("failed %s", e.failedList())
			}
			e = r.ask("alpha/a-low", c.more)
			e.wantError(t, 409, "no_models_available")
			if !e.err.NoRetry || !strings.Contains(e.err.Message, c.says) {
				t.Errorf("%+v", e.err)
			}
		})
	}
}

// TestCannotCarryWhenWritten checks the same for a member that is found to be unsupported only when the request is
// written.
func TestCannotCarryWhenWritten(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha", "beta"}, members: nativeWire(hub.Messages)})
	tiff := `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/tiff;base64,AAAA"}}]}]`
	e := r.ask("alpha/a-low", tiff)
	e.wantError(t, 409, "no_models_available")
	if !e.err.NoRetry || !strings.Contains(e.err.Message, "image/tiff") || len(e.Failed) != 1 || e.Failed[0].Code != "cannot_carry" {
		t.Errorf("%+v, failed %s", e.err, e.failedList())
	}
	r.beta.addSteps(refusal(500, "", "m"))
	r.ask("keychain-low", tiff).wantError(t, 502, "all_providers_failed")
	r.beta.addSteps(refusal(429, "", "m"))
	r.ask("keychain-low", tiff).wantError(t, 502, "all_providers_failed")
	e = r.ask("keychain-low", tiff) // beta is cooling down, so a later retry may succeed
	e.wantError(t, 502, "all_providers_failed")
	if e.err.NoRetry || e.err.RetryAfter == 0 {
		t.Errorf("%+v", e.err)
	}
}
