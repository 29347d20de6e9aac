package cascade

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat/native"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/messages"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/responses"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// routes are the ways from a surface to an upstream: the client's bytes are passed on, or the request is rewritten.
var routes = []struct {
	name     string
	surface  hub.Format
	upstream hub.Format
	more     string // members for which a chat request is rewritten
}{
	{"chat, bytes", hub.Chat, hub.Chat, ""},
	{"chat, written", hub.Chat, hub.Chat, `"reasoning_effort":"low",`},
	{"chat to messages", hub.Chat, hub.Messages, `"reasoning_effort":"low",`},
	{"messages, bytes", hub.Messages, hub.Messages, ""},
	{"messages to chat", hub.Messages, hub.Chat, ""},
	{"responses, bytes", hub.Responses, hub.Responses, ""},
	{"responses to chat", hub.Responses, hub.Chat, ""},
}

func nativeOrChat(format hub.Format) map[string]string {
	if format == hub.Chat {
		return nil
	}
	return nativeWire(format)
}

// limitOf returns the name of the member that limits the length of an answer.
func limitOf(surface hub.Format) string {
	if surface == hub.Responses {
		return "max_output_tokens"
	}
	return "max_tokens"
}

// TestForeignMembers checks that no upstream gets other spellings of checked members, or members that send the request
// elsewhere.
func TestForeignMembers(t *testing.T) {
	t.Parallel()
	members := []string{
		`"Model":"evil"`, `"MODEL":"evil"`, `"mo\u0044el":"evil"`, `"mod_el":"evil"`, `"models":["evil"]`, `"Models":["evil"]`,
		`"Stream":true`, `"\u017ftream":true`, `"Messages":[{"role":"user","content":"evil"}]`, `"INPUT":"evil"`, `"prompt_":"evil"`,
		`"Max_Tokens":9999999`, `"maxTokens":9999999`, `"max_to\u212Aens":9999999`, `"maxOutputTokens":9999999`, `"max_new_tokens":9999999`, `"Max_Completion_Tokens":9999999`,
		`"N":128`, `"best_of":20`, `"Service_Tier":"priority"`, `"serviceTier":"priority"`, `"Tools":[{"type":"web_search"}]`, `"toolChoice":"required"`,
		`"route":"fallback"`, `"provider":{"order":["evil"]}`, `"Provider":{"order":["evil"]}`, `"providerOptions":{}`, `"plugins":[{"id":"web"}]`,
		`"transforms":["middle-out"]`, `"fallbacks":["evil"]`, `"preset":"evil"`, `"engine":"evil"`, `"api_base":"https://evil"`, `"api_key":"evil"`, `"extra_body":{"model":"evil"}`,
		`"Output_Config":{"effort":"max"}`, `"STREAM_OPTIONS":{"include_usage":false}`, `"Reasoning_Effort":"high"`, `"Store":true`,
	}
	for _, route := range routes {
		t.Run(route.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, setup{keys: []string{"alpha"}, members: nativeOrChat(route.upstream)})
			for i, member := range members {
				before, after := member+",", ""
				if i%2 == 1 {
					before, after = "", ","+member
				}
				limit := fmt.Sprintf(`%q:77`, limitOf(route.surface))
				prompt := helloMessages
				if route.surface == hub.Responses {
					prompt = `"input":"hello"`
				}
				if route.upstream == hub.Chat {
					r.alpha.addSteps(reply(200, completion("hi")))
				} else {
					r.alpha.addSteps(nativeAnswer(route.upstream, false, "hi"))
				}
				e := r.askOn(route.surface, `{`+before+route.more+`"model":"alpha/a-low","stream":false,`+limit+`,`+prompt+after+`}`)
				e.wantAnswer(t, "alpha/a-low", "hi")
				calls := r.alpha.requests()
				checkForeign(t, route.upstream, member, calls[len(calls)-1].body)
				var name string
				if err := json.Unmarshal([]byte(member[:strings.Index(member, `":`)+1]), &name); err != nil {
					t.Fatal(err)
				}
				if dropped := strings.Split(e.header.Get("X-Gateway-Dropped-Params"), ", "); !slices.Contains(dropped, headerText(name)) && !slices.Contains(dropped, strings.Map(underscore, name)) {
					t.Errorf("%s is not said to be left out: %q", member, dropped)
				}
			}
		})
	}
}

// underscore replaces a character that cannot be in a header.
func underscore(c rune) rune {
	if c > '~' {
		return '_'
	}
	return c
}

// checkForeign checks the body that an upstream got, decoding it like a server that ignores case.
func checkForeign(t *testing.T, format hub.Format, member, body string) {
	t.Helper()
	var got struct {
		Model           string   `json:"model"`
		Models          []string `json:"models"`
		Stream          bool     `json:"stream"`
		MaxTokens       int64    `json:"max_tokens"`
		MaxCompletion   int64    `json:"max_completion_tokens"`
		MaxOutputTokens int64    `json:"max_output_tokens"`
		ServiceTier     string   `json:"service_tier"`
		N               int      `json:"n"`
		Store           bool     `json:"store"`
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	if limit := got.MaxTokens + got.MaxCompletion + got.MaxOutputTokens; got.Model != "a-low" || len(got.Models) > 0 || got.Stream || limit != 77 || got.ServiceTier != "" || got.N != 0 || got.Store {
		t.Errorf("%s: the upstream got %s", member, body)
	}
	api := map[hub.Format]wire.API{hub.Chat: wire.APIChat, hub.Messages: wire.APIMessages, hub.Responses: wire.APIResponses}[format]
	gjson.Parse(body).ForEach(func(key, _ gjson.Result) bool {
		if wire.Foreign(api, []byte(key.Str)) {
			t.Errorf("%s: the upstream got %s of it: %s", member, key.Raw, body)
		}
		return true
	})
	for _, word := range []string{"evil", "128", "9999999", "priority", "web"} {
		if strings.Contains(body, word) {
			t.Errorf("%s: the upstream got %s", member, body)
		}
	}
}

// TestDuplicateMembers checks that a duplicate member is refused by its name, even if the name is escaped.
func TestDuplicateMembers(t *testing.T) {
	t.Parallel()
	for surface, pairs := range map[hub.Format]map[string]string{
		hub.Chat: {
			"model": `"model":"keychain-low","mode\u006c":"evil"`, "stream": `"model":"m","\u0073tream":true,"stream":false`,
			"max_tokens": `"model":"m","max_tokens":1,"max\u005ftokens":9`, "n": `"model":"m","n":1,"\u006e":9`, "tools": `"model":"m","tools":[],"tool\u0073":[]`,
			"service_tier": `"model":"m","service_tier":"auto","service_tier":"priority"`, "reasoning_effort": `"model":"m","reasoning_effort":"low","reasoning_effort":"high"`,
			"stream_options.include_usage": `"model":"m","stream_options":{"include_usage":true,"Include_Usage":false}`,
		},
		hub.Messages: {
			"model": `"model":"keychain-low","mode\u006c":"evil"`, "stream": `"model":"m","\u0073tream":true,"stream":false`,
			"max_tokens": `"model":"m","max_tokens":1,"max\u005ftokens":9`, "tools": `"model":"m","tools":[],"tool\u0073":[]`,
			"output_config":        `"model":"m","output_config":{"effort":"low"},"output\u005fconfig":{"effort":"max"}`,
			"output_config.effort": `"model":"m","max_tokens":9,"output_config":{"effort":"low","\u0065ffort":"max"}`,
		},
		hub.Responses: {
			"model": `"model":"keychain-low","mode\u006c":"evil"`, "stream": `"model":"m","\u0073tream":true,"stream":false`,
			"max_output_tokens": `"model":"m","max_output_tokens":16,"max_output\u005ftokens":99`, "tools": `"model":"m","tools":[],"tool\u0073":[]`,
			"service_tier": `"model":"m","service_tier":"auto","service_tier":"priority"`, "store": `"model":"m","store":false,"store":true`,
		},
	} {
		for param, members := range pairs {
			prompt := helloMessages
			if surface == hub.Responses {
				prompt = `"input":"hello"`
			}
			body := []byte("{" + prompt + "," + members + "}")
			var err error
			switch surface {
			case hub.Chat:
				_, err = native.Parse(body)
			case hub.Messages:
				_, err = messages.Format{}.Read(body, hub.ReadOptions{})
				if _, counting := (messages.Format{}).ReadCount(body, hub.ReadOptions{}); fmt.Sprint(counting) != fmt.Sprint(err) {
					t.Errorf("count_tokens says %v, messages %v", counting, err)
				}
			case hub.Responses:
				_, err = responses.Format{}.Read(body, hub.ReadOptions{})
			}
			if e, ok := errors.AsType[*apierror.Error](err); !ok || e.Status != 400 || e.Param != param || !strings.Contains(e.Message, param) {
				t.Errorf("%s, %s: %v", surface, body, err)
			}
		}
	}
	// A single member with another spelling of "effort" is refused too, because nothing would check its value.
	_, err := messages.Format{}.Read([]byte(`{"model":"m","max_tokens":9,`+helloMessages+`,"output_config":{"Effort":"max"}}`), hub.ReadOptions{})
	if e, ok := apierror.From(err); !ok || e.Status != 400 || e.Param != "output_config.effort" {
		t.Errorf("effort: %v", err)
	}
}

// TestExtraBody checks that only the members which Gemini's chat API defines in extra_body are passed on.
func TestExtraBody(t *testing.T) {
	t.Parallel()
	for _, more := range []string{"", `"reasoning_effort":"low",`} {
		for extra, passes := range map[string]bool{
			`{"google":{"thinking_config":{"include_thoughts":true}}}`: true, `{"google":{},"model":"evil"}`: false, `{"Google":{}}`: false, `"evil"`: false,
		} {
			r := newRig(t, setup{keys: []string{"alpha"}})
			r.alpha.addSteps(reply(200, completion("hi")))
			e := r.askOn(hub.Chat, `{`+more+`"extra_body":`+extra+`,"model":"keychain-low",`+helloMessages+`}`)
			e.wantAnswer(t, "alpha/a-low", "hi")
			dropped := strings.Contains(e.header.Get("X-Gateway-Dropped-Params"), "extra_body")
			if got := gjson.Get(r.alpha.requests()[0].body, "extra_body").Raw; passes != (got == extra) || dropped == passes {
				t.Errorf("%s: the upstream got %s, dropped %t", extra, got, dropped)
			}
		}
	}
}

// TestEscapedMember checks that a member is recognized if its name is escaped.
func TestEscapedMember(t *testing.T) {
	t.Parallel()
	r := newRig(t, setup{keys: []string{"alpha"}})
	r.alpha.addSteps(reply(200, completion("hi")))
	e := r.askOn(hub.Chat, `{"mode\u006c":"keychain-low","max\u005ftokens":5,`+helloMessages+`}`)
	e.wantAnswer(t, "alpha/a-low", "hi")
	var got struct {
		Model string `json:"model"`
		Limit int    `json:"max_completion_tokens"`
	}
	if body := r.alpha.requests()[0].body; json.Unmarshal([]byte(body), &got) != nil || got.Model != "a-low" || got.Limit != 5 {
		t.Errorf("the upstream got %s", body)
	}
}
