package cascade

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
)

// nativeStep returns a step with an answer in a format.
func nativeStep(format hub.Format, streams bool, text string) step {
	switch {
	case format != hub.Chat:
		return nativeAnswer(format, streams, text)
	case streams:
		return answers(text)
	}
	return reply(200, completion(text))
}

// TestWholeForAStream checks that an upstream which answers a request for a stream with an unstreamed answer serves the
// client's stream, in every format.
func TestWholeForAStream(t *testing.T) {
	t.Parallel()
	for _, format := range surfaces {
		for _, surface := range surfaces {
			t.Run(fmt.Sprintf("%s from %s", surface, format), func(t *testing.T) {
				t.Parallel()
				r := newRig(t, setup{keys: []string{"alpha"}, members: nativeOrChat(format)})
				r.alpha.addSteps(nativeStep(format, false, "hi"))
				e := r.askOn(surface, question(surface, "keychain-low", true))
				e.wantWholeAnswer(t, surface, true, "alpha/a-low", "hi")
				if u := e.Usage; e.Estimated || u.Prompt != 11 || u.CacheRead != 3 || u.Completion != 5 {
					t.Errorf("usage %+v, estimated %t", u, e.Estimated)
				}
				if strings.Contains(e.body, `"up"`) || e.header.Get("Content-Length") != "" || e.header.Get("X-Accel-Buffering") != "no" {
					t.Errorf("headers %v, body\n%s", e.header, e.body)
				}
			})
		}
	}
	calls := strings.Replace(completion("x"), `"content":"x"`, `"content":null,"reasoning_content":"why","tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]`, 1)
	for _, surface := range surfaces {
		r := newRig(t, setup{keys: []string{"alpha"}})
		r.alpha.addSteps(reply(200, calls))
		e := r.askOn(surface, question(surface, "keychain-low", true))
		if h := decodeAnswer(t, surface, true, e.body); h.arguments != `{"a":1}` || !h.whole || !strings.Contains(e.body, "why") {
			t.Errorf("%s: it calls with %s:\n%s", surface, h.arguments, e.body)
		}
		// An unstreamed answer that would be refused is also refused for a client that streams.
		if surface == hub.Chat {
			continue
		}
		r = newRig(t, setup{keys: []string{"alpha", "beta"}})
		r.alpha.addSteps(reply(200, strings.Replace(calls, `{\"a\":1}`, `{\"a\":nope`, 1)))
		r.beta.addSteps(answers("from beta"))
		e = r.askOn(surface, question(surface, "keychain-low", true))
		e.wantWholeAnswer(t, surface, true, "beta/b-low", "from beta")
		if e.failedList() != "alpha:200:invalid_tool_arguments" {
			t.Errorf("%s: failed %s", surface, e.failedList())
		}
	}
	// A chat client that asks for the usage in its stream gets it.
	r := newRig(t, setup{keys: []string{"alpha"}})
	r.alpha.addSteps(reply(200, completion("hi")))
	e := r.askStream("keychain-low", `"stream_options":{"include_usage":true}`)
	if !strings.Contains(e.body, `"prompt_tokens":11`) {
		t.Errorf("no usage in\n%s", e.body)
	}
}

// TestBrokenCharacters checks that an upstream's invalid UTF-8 does not reach clients.
func TestBrokenCharacters(t *testing.T) {
	t.Parallel()
	const broken, mended = "h\xffi \xe2\x82 you\xc3", "h\ufffdi \ufffd you\ufffd"
	for _, format := range surfaces {
		forEachSurface(t, func(t *testing.T, surface hub.Format, streams bool) {
			r := newRig(t, setup{keys: []string{"alpha"}, members: nativeOrChat(format)})
			r.alpha.addSteps(nativeStep(format, streams, broken))
			e := r.askOn(surface, question(surface, "keychain-low", streams))
			if h := decodeAnswer(t, surface, streams, e.body); h.text != mended || !h.whole || !utf8.ValidString(e.body) {
				t.Errorf("%s says %q:\n%q", format, h.text, e.body)
			}
		})
	}
	t.Run("chunks alike", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, setup{keys: []string{"alpha"}})
		r.alpha.addSteps(stream(role, text("a"), text("b\xff"), text("c"), text("\xe2\x82"), finish, doneLine))
		e := r.askStream("keychain-low")
		if h := decodeAnswer(t, hub.Chat, true, e.body); h.text != "ab\ufffdc\ufffd" {
			t.Errorf("it says %q", h.text)
		}
	})
	t.Run("whole for a stream", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, setup{keys: []string{"alpha"}})
		r.alpha.addSteps(reply(200, completion(broken)))
		e := r.askStream("keychain-low")
		if h := decodeAnswer(t, hub.Chat, true, e.body); h.text != mended {
			t.Errorf("it says %q", h.text)
		}
	})
	t.Run("refusal", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, setup{keys: []string{"alpha"}})
		r.alpha.addSteps(reply(http.StatusBadRequest, "{\"error\":{\"message\":\"no \xff\",\"code\":\"c\xc3\"}}"))
		e := r.askStream("keychain-low")
		if e.err == nil || e.err.Message != "no \ufffd" || e.err.Code != "c\ufffd" {
			t.Errorf("error %+v", e.err)
		}
	})
	t.Run("error in a stream", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, setup{keys: []string{"alpha"}})
		r.alpha.addSteps(stream(role, text("a"), "data: {\"error\":{\"message\":\"no \xff\"}}\n\n"))
		e := r.askStream("keychain-low")
		if last := decodeAnswer(t, hub.Chat, true, e.body).last; !strings.Contains(gjson.Get(last.Raw, "error.message").Str, "no \ufffd") {
			t.Errorf("it says %q", last.Raw)
		}
	})
}
