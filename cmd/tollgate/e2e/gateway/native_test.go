package gateway

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// forms calls f for every surface, with and without streaming.
func forms(t *testing.T, f func(t *testing.T, s e2e.Surface, stream bool)) {
	t.Helper()
	for _, s := range e2e.Surfaces {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stream %t", s.Name, stream), func(t *testing.T) {
				t.Parallel()
				f(t, s, stream)
			})
		}
	}
}

// wrong is an error as each surface must report it.
type wrong struct {
	status       int
	kind, code   string // on chat and Responses
	messages     string // the type on Messages
	param        string // on chat and Responses; "*": any
	retry        bool   // x-should-retry must not be false
	later        bool   // there must be a Retry-After
	statusThere  int    // the status on Messages, if it differs
	messageStart string // the beginning of the message on Messages
}

// check checks the status, body format and headers of an error answer.
func (w wrong) check(t *testing.T, s e2e.Surface, a *e2e.Answer) {
	t.Helper()
	status := w.status
	if s.Name == "messages" && w.statusThere != 0 {
		status = w.statusThere
	}
	id := a.Header.Get("X-Request-Id")
	if a.Status != status || a.Header.Get("Content-Type") != "application/json" || !strings.HasPrefix(id, "req_") || a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("status %d, want %d, headers %v: %s", a.Status, status, a.Header, a.Body)
	}
	got := gjson.Parse(a.Body)
	e := got.Get("error")
	if !gjson.Valid(a.Body) || e.Get("message").Str == "" {
		t.Errorf("no error: %s", a.Body)
	}
	if s.Name == "messages" {
		if got.Get("type").Str != "error" || e.Get("type").Str != w.messages || got.Get("request_id").Str != id || a.Header.Get("Request-Id") != id || e.Get("code").Exists() {
			t.Errorf("type %s, want %s: %s %v", e.Get("type"), w.messages, a.Body, a.Header)
		}
		if !strings.HasPrefix(e.Get("message").Str, w.messageStart) {
			t.Errorf("message %s", e.Get("message"))
		}
	} else {
		if e.Get("type").Str != w.kind || e.Get("code").Str != w.code || !e.Get("param").Exists() || got.Get("type").Exists() {
			t.Errorf("type %s, code %s, want %s, %s: %s", e.Get("type"), e.Get("code"), w.kind, w.code, a.Body)
		}
		if w.param != "*" && e.Get("param").Str != w.param {
			t.Errorf("param %s, want %q", e.Get("param"), w.param)
		}
	}
	if retry := a.Header.Get("X-Should-Retry") != "false"; retry != w.retry {
		t.Errorf("x-should-retry %q", a.Header.Get("X-Should-Retry"))
	}
	if after, ms := a.Header.Get("Retry-After"), a.Header.Get("Retry-After-Ms"); (after != "") != w.later || (ms != "") != w.later || after == "0" {
		t.Errorf("retry-after %q, -ms %q", after, ms)
	}
}

// TestErrorsOnSurfaces checks every row of the table of errors on every surface, with and without streaming.
func TestErrorsOnSurfaces(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	g := e2e.NewGateway(t, "", "\ttollgate gateway\n", "\ttollgate gateway {\n\t\tmax_body 4MB\n\t}\n")
	good := g.User("good", up, e2e.Script("text", "ok"))
	bare := g.User("bare", up)
	excluded := g.User("excluded", up, e2e.Script("text", "ok"))
	if err := g.SetPreferences(t.Context(), catalog.Embedded(), "excluded", keychain.Preferences{ExcludedModels: []string{"own/1"}}); err != nil {
		t.Fatal(err)
	}
	revoked := g.User("rotated", up, e2e.Script("text", "ok"))
	if _, err := g.RegenerateKey(t.Context(), "rotated"); err != nil {
		t.Fatal(err)
	}
	// user creates a separate user with models for every form, so that a failure in one request does not change the
	// answer to the next.
	user := func(models ...string) func(t *testing.T, s e2e.Surface, stream bool) string {
		return func(t *testing.T, s e2e.Surface, stream bool) string {
			t.Helper()
			return e2e.AddUser(t, g.Service, strings.NewReplacer("/", "-", " ", "_", ",", "").Replace(t.Name()), up, models...)
		}
	}
	for name, test := range map[string]struct {
		wrong
		key    string
		user   func(t *testing.T, s e2e.Surface, stream bool) string
		method string
		model  string
		body   func(s e2e.Surface, stream bool) string // nil: a valid body
		header []string
		tried  string // x-gateway-attempts; empty: the request fails before candidates are chosen
		again  string // x-gateway-attempts if a reused connection broke
	}{
		"invalid JSON": {
			wrong: wrong{status: 400, kind: "invalid_request_error", code: "invalid_json", messages: "invalid_request_error", retry: true},
			body:  func(e2e.Surface, bool) string { return `{"model":` },
		},
		"bad field": {
			wrong: wrong{status: 400, kind: "invalid_request_error", code: "invalid_value", messages: "invalid_request_error", param: "model", retry: true},
			body: func(s e2e.Surface, stream bool) string {
				return strings.Replace(s.Body("m", stream, "Hi"), `"m"`, "7", 1)
			},
		},
		"missing field": {
			wrong: wrong{status: 400, kind: "invalid_request_error", code: "missing_required_parameter", messages: "invalid_request_error", param: "model", retry: true},
			body: func(s e2e.Surface, stream bool) string {
				return strings.Replace(s.Body("m", stream, "Hi"), `"model":"m",`, "", 1)
			},
		},
		"no provider keys": {
			wrong: wrong{status: 400, kind: "invalid_request_error", code: "no_provider_keys", messages: "invalid_request_error"},
			key:   bare, tried: "0",
		},
		"no key": {
			wrong: wrong{status: 401, kind: "authentication_error", code: "invalid_api_key", messages: "authentication_error", retry: true}, key: "-",
		},
		"unknown key": {
			wrong: wrong{status: 401, kind: "authentication_error", code: "invalid_api_key", messages: "authentication_error", retry: true},
			key:   "ak-" + strings.Repeat("x", 40),
		},
		"revoked key": {
			wrong: wrong{status: 401, kind: "authentication_error", code: "invalid_api_key", messages: "authentication_error", retry: true}, key: revoked,
		},
		"unknown model": {
			wrong: wrong{status: 404, kind: "not_found_error", code: "model_not_found", messages: "not_found_error", param: "model"}, model: "gpt-99", tried: "0",
		},
		"wrong method": {
			wrong: wrong{status: 405, kind: "invalid_request_error", code: "method_not_allowed", messages: "invalid_request_error", retry: true}, method: "PUT",
		},
		"no candidates": {
			wrong: wrong{status: 409, kind: "invalid_request_error", code: "no_models_available", messages: "invalid_request_error"},
			key:   excluded, tried: "0",
		},
		"too large": {
			wrong: wrong{status: 413, kind: "invalid_request_error", code: "request_too_large", messages: "request_too_large", retry: true},
			body: func(s e2e.Surface, stream bool) string {
				return s.Body("keychain-high", stream, strings.Repeat("x", 5<<20))
			},
		},
		"encoding": {
			wrong:  wrong{status: 415, kind: "invalid_request_error", code: "unsupported_media_type", messages: "invalid_request_error", retry: true},
			header: []string{"Content-Encoding", "br"},
		},
		"too long": {
			wrong: wrong{status: 400, kind: "invalid_request_error", code: "context_length_exceeded", messages: "invalid_request_error", param: "messages", messageStart: "prompt is too long"},
			user:  user(e2e.Script("status", "400", "code", "context_length_exceeded")), tried: "1",
		},
		"mistake": {
			wrong: wrong{status: 400, kind: "invalid_request_error", code: "*", messages: "invalid_request_error", param: "*", messageStart: "no such voice"},
			user:  user(e2e.Script("status", "400", "message", "no such voice"), e2e.Script("status", "422"), e2e.Script()), tried: "2",
		},
		"all limited": {
			wrong: wrong{status: 502, kind: "api_error", code: "all_providers_failed", messages: "api_error", retry: true, later: true, messageStart: "All providers failed"},
			user:  user(e2e.Script("status", "429", "retry_after", "7"), e2e.Script("status", "429", "retry_after", "20")), tried: "2",
		},
		"all failed": {
			wrong: wrong{status: 502, kind: "api_error", code: "all_providers_failed", messages: "api_error", retry: true, messageStart: "All providers failed"},
			user:  user(e2e.Script("status", "500"), e2e.Script("fault", "drop"), e2e.Script("fault", "html")), tried: "3", again: "4",
		},
		"no credit": {
			wrong: wrong{status: 502, kind: "api_error", code: "all_providers_failed", messages: "api_error", later: true, messageStart: "All providers failed"},
			user:  user(e2e.Script("status", "402"), e2e.Script("status", "401")), tried: "2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forms(t, func(t *testing.T, s e2e.Surface, stream bool) {
				key, method, model := test.key, test.method, test.model
				switch {
				case test.user != nil:
					key = test.user(t, s, stream)
				case key == "":
					key = good
				case key == "-":
					key = ""
				}
				if method == "" {
					method = http.MethodPost
				}
				if model == "" {
					model = "keychain-high"
				}
				text := s.Body(model, stream, "Hi")
				if test.body != nil {
					text = test.body(s, stream)
				}
				a := e2e.Do(t, e2e.Client, method, g.Base+s.Path, key, text, test.header...)
				want := test.wrong
				if want.code == "*" {
					want.code = gjson.Get(a.Body, "error.code").Str
				}
				want.check(t, s, a)
				got, tried := a.Header.Get("X-Gateway-Attempts"), test.tried
				if test.again != "" && got == test.again {
					tried = test.again
				}
				if got != tried || a.Header.Get("X-Gateway-Provider") != "" {
					t.Errorf("x-gateway-attempts %q, want %q: %v", got, tried, a.Header)
				}
				failed := gjson.Get(a.Body, "error.failed_attempts.#").String()
				if tried > "0" && s.Name != "messages" && failed != tried || s.Name == "messages" && failed != "" {
					t.Errorf("failed attempts %s: %s", failed, a.Body)
				}
				if test.status == 401 && (a.Header.Get("Www-Authenticate") == "" || key != "" && strings.Contains(a.Body, key)) {
					t.Errorf("401: %v %s", a.Header, a.Body)
				}
				if test.status == 405 && a.Header.Get("Allow") == "" {
					t.Errorf("405: %v", a.Header)
				}
			})
		})
	}
	t.Run("timeout", func(t *testing.T) {
		t.Parallel()
		g := e2e.NewGateway(t, "", "\ttollgate gateway\n", "\ttollgate gateway {\n\t\tcascade {\n\t\t\tfirst_content 300ms\n\t\t}\n\t}\n")
		for _, s := range e2e.Surfaces { // only streamed: other answers have a longer limit
			key := e2e.AddUser(t, g.Service, "slow-"+s.Name, up, e2e.Script("status", "500"), e2e.Script("fault", "hang"))
			w := wrong{status: 504, kind: "api_error", code: "upstream_timeout", messages: "timeout_error", retry: true}
			w.check(t, s, e2e.Do(t, e2e.Client, http.MethodPost, g.Base+s.Path, key, s.Body("keychain-high", true, "Hi")))
		}
	})
	t.Run("rate limit", func(t *testing.T) {
		t.Parallel()
		for _, s := range e2e.Surfaces {
			name, once := "limited-"+s.Name, int64(1)
			key := e2e.AddUser(t, g.Service, name, up, e2e.Script("text", "ok"))
			keys, err := g.Keys(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := g.UpdateKey(t.Context(), name, keys[0].ID, keychain.KeyChange{Limits: func(l *keychain.Limits) { l.RateLimitPerMinute = &once }}); err != nil {
				t.Fatal(err)
			}
			e2e.AwayFromMinuteEnd()
			post := func() *e2e.Answer {
				return e2e.Do(t, e2e.Client, http.MethodPost, g.Base+s.Path, key, s.Body("keychain-high", true, "Hi"))
			}
			if a := post(); s.Says(t, a, true) != "ok" {
				t.Errorf("%s: %s", s.Name, a.Body)
			}
			w := wrong{status: 429, kind: "rate_limit_error", code: "rate_limit_exceeded", messages: "rate_limit_error", retry: true, later: true}
			a := post()
			w.check(t, s, a)
			for _, name := range []string{"Limit", "Remaining", "Reset"} {
				header := "X-Ratelimit-" + name + "-Requests"
				if s.Name == "messages" {
					header = "Anthropic-Ratelimit-Requests-" + name
				}
				if a.Header.Get(header) == "" {
					t.Errorf("%s: no %s: %v", s.Name, header, a.Header)
				}
			}
		}
	})
	t.Run("path", func(t *testing.T) {
		t.Parallel()
		w := wrong{status: 404, kind: "not_found_error", code: "not_found", messages: "not_found_error", retry: true}
		for _, s := range e2e.Surfaces {
			w.check(t, s, e2e.Do(t, e2e.Client, http.MethodPost, g.Base+map[string]string{"chat": "/v1/none", "messages": "/v1/messages/none", "responses": "/v1/nothing"}[s.Name], good, "{}"))
		}
		w.code = "unsupported_endpoint"
		for _, call := range []string{"GET /v1/responses/resp_1", "DELETE /v1/responses/resp_1", "POST /v1/responses/resp_1/cancel", "GET /v1/responses/resp_1/input_items", "POST /v1/responses/compact"} {
			method, path, _ := strings.Cut(call, " ")
			w.check(t, e2e.Surfaces[2], e2e.Do(t, e2e.Client, method, g.Base+path, good, ""))
		}
	})
}

// TestVersions checks that parameters that the Messages API of 2026-10-21 no longer accepts are refused for clients
// that request that version, and for no others.
func TestVersions(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	g := e2e.NewGateway(t, "")
	key := g.User("ada", up, e2e.Script("text", "ok"))
	s := e2e.Surfaces[1]
	for _, test := range []struct {
		more, version, param string // param is the refused parameter; empty: none
	}{
		{`"temperature":0.5`, "2026-10-21", "temperature"},
		{`"temperature":1`, "2026-10-21", "temperature"}, // even the default value is refused
		{`"top_p":0.9`, "2026-11-01", "top_p"},
		{`"top_k":5`, "2026-10-21", "top_k"},
		{`"metadata":{"user_id":"u"}`, "2026-10-21", ""},
		{`"temperature":0.5,"top_k":5`, "2023-06-01", ""},
		{`"temperature":0.5,"top_p":0.9`, "", ""},
		{`"temperature":1.5`, "2023-06-01", "temperature"},
	} {
		for _, stream := range []bool{false, true} {
			header := []string{"X-Api-Key", key}
			if test.version != "" {
				header = append(header, "Anthropic-Version", test.version)
			}
			text := "{" + test.more + "," + s.Body("own/1", stream, "Hi")[1:]
			a := e2e.Do(t, e2e.Client, http.MethodPost, g.Base+s.Path, "", text, header...)
			if test.param == "" {
				if got := s.Says(t, a, stream); got != "ok" {
					t.Errorf("%s of %q: %q", test.more, test.version, got)
				}
				continue
			}
			wrong{status: 400, messages: "invalid_request_error", retry: true}.check(t, s, a)
			if !strings.Contains(gjson.Get(a.Body, "error.message").Str, test.param) {
				t.Errorf("%s of %q: %s", test.more, test.version, a.Body)
			}
		}
	}
}

// TestDatabaseDownOnSurfaces checks that a gateway whose database is down reports that it is overloaded in the format
// of each surface.
func TestDatabaseDownOnSurfaces(t *testing.T) {
	t.Parallel()
	g := e2e.Clustered(t, "postgres://tollgate@127.0.0.1:"+e2e.FreePort(t)+"/tollgate?sslmode=disable", "")
	g.Start()
	forms(t, func(t *testing.T, s e2e.Surface, stream bool) {
		w := wrong{status: 503, statusThere: 529, kind: "server_error", code: "overloaded", messages: "overloaded_error", retry: true, later: true}
		w.check(t, s, e2e.Do(t, e2e.Client, http.MethodPost, g.Base+s.Path, "ak-some-key", s.Body("keychain-high", stream, "Hi")))
	})
}

// TestNativeProvider checks that a provider that implements the Messages API natively serves the clients of all three
// surfaces, and that its failures lead to the next model.
func TestNativeProvider(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	type call struct{ body, version, beta string }
	calls := make(chan call, 100)
	const message = `{"id":"msg_up","type":"message","role":"assistant","model":"up","content":[{"type":"text","text":"native"}],"stop_reason":"end_turn","usage":{"input_tokens":8,"output_tokens":5},"x_new":[1,  2]}`
	events := func(kinds ...string) string {
		var b strings.Builder
		for kind := range slices.Values(kinds) {
			name, members, _ := strings.Cut(kind, " ")
			_, _ = fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q%s}\n\n", name, name, members)
		}
		return b.String()
	}
	start := `message_start ,"message":{"id":"msg_up","type":"message","role":"assistant","model":"up","content":[],"usage":{"input_tokens":8,"output_tokens":1}}`
	block := `content_block_start ,"index":0,"content_block":{"type":"text","text":""}`
	text := `content_block_delta ,"index":0,"delta":{"type":"text_delta","text":"native"}`
	fault := `error ,"error":{"type":"overloaded_error","message":"Overloaded"}`
	up.Answer = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/v1/messages" {
			return false
		}
		body, _ := io.ReadAll(r.Body)
		calls <- call{string(body), r.Header.Get("Anthropic-Version"), r.Header.Get("Anthropic-Beta")}
		stream := gjson.GetBytes(body, "stream").Bool()
		request := string(body)
		if stream {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		answer := message
		switch {
		case strings.Contains(request, "be overloaded") && stream:
			answer = events(start, block, fault)
		case strings.Contains(request, "be overloaded"):
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(529)
			answer = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`
		case stream:
			answer = events(start, block, "ping", text, `content_block_stop ,"index":0`, `message_delta ,"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}`, "message_stop")
		default:
			w.Header().Set("Content-Type", "application/json")
		}
		_, _ = io.WriteString(w, answer)
		return true
	}
	g := e2e.NewGateway(t, "\t\tcatalog {\n\t\t\tprovider anthropic {\n\t\t\t\tbase_url "+up.URL+"/v1\n\t\t\t}\n\t\t}")
	post := func(t *testing.T, key string, s e2e.Surface, stream bool, text string) *e2e.Answer {
		t.Helper()
		return e2e.Do(t, e2e.Client, http.MethodPost, g.Base+s.Path, key, s.Body("keychain-high", stream, text), "Anthropic-Version", "2026-10-21", "Anthropic-Beta", "x-2026")
	}
	var mu sync.Mutex
	keys := make(map[string]string)
	t.Run("answers", func(t *testing.T) {
		forms(t, func(t *testing.T, s e2e.Surface, stream bool) {
			user := fmt.Sprintf("%s-%t", s.Name, stream)
			key := e2e.AddUser(t, g.Service, user, up, e2e.Script("text", "the backup"))
			mu.Lock()
			keys[user] = key
			mu.Unlock()
			if _, err := g.AddProviderKey(t.Context(), user, "anthropic", "sk-ant-"+user+"-0123456789", "", func(string) bool { return true }); err != nil {
				t.Fatal(err)
			}
			if err := g.SetPreferences(t.Context(), catalog.Embedded(), user, keychain.Preferences{PreferredProviders: []string{"anthropic"}}); err != nil {
				t.Fatal(err)
			}
			a := post(t, key, s, stream, "say "+user)
			if got := s.Says(t, a, stream); got != "native" || a.Header.Get("X-Gateway-Provider") != "anthropic" {
				t.Fatalf("%q of %v: %s", got, a.Header, a.Body)
			}
			if record := g.AwaitUsage(a.Header.Get("X-Request-Id")); record.Provider != "anthropic" || record.Input != 8 || record.Output != 5 || record.Source != "exact" {
				t.Errorf("usage %+v", record)
			}
			if s.Name == "messages" && !stream && a.Body != strings.Replace(message, `"up"`, `"keychain-high"`, 1) {
				t.Errorf("the answer was changed: %s", a.Body)
			}
		})
	})
	t.Run("failures", func(t *testing.T) { // last, because the provider is skipped after its second failure
		forms(t, func(t *testing.T, s e2e.Surface, stream bool) {
			if got := s.Says(t, post(t, keys[fmt.Sprintf("%s-%t", s.Name, stream)], s, stream, "be overloaded"), stream); got != "the backup" {
				t.Errorf("the next model says %q", got)
			}
		})
	})
	close(calls)
	for c := range calls {
		if strings.Contains(c.body, "say messages") && (c.version != "2026-10-21" || c.beta != "x-2026") {
			t.Errorf("version %q, beta %q: %s", c.version, c.beta, c.body)
		}
		if gjson.Get(c.body, "max_tokens").Int() < 1 || strings.HasPrefix(gjson.Get(c.body, "model").Str, "keychain") {
			t.Errorf("asked with %s", c.body)
		}
	}
}

// TestModels checks the list of models in both formats, and its pages.
func TestModels(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	g := e2e.NewGateway(t, "")
	key := g.User("ada", up, slices.Repeat([]string{e2e.Script("text", "ok")}, 24)...)
	list := func(query string, header ...string) (*e2e.Answer, gjson.Result, []string) {
		t.Helper()
		a := e2e.Get(t, e2e.Client, g.Base+"/v1/models"+query, key, header...)
		named := gjson.Get(a.Body, "data.#.id").Array()
		ids := make([]string, 0, len(named))
		for _, m := range named {
			ids = append(ids, m.Str)
		}
		return a, gjson.Parse(a.Body), ids
	}
	a, got, all := list("?limit=2&after_id=nobody") // the list in the OpenAI shape has no pages
	if a.Status != 200 || got.Get("object").Str != "list" || got.Get("has_more").Exists() || len(all) != 30 || all[0] != "keychain-low" || all[29] != "own/9" {
		t.Fatalf("%d models %v: %s", len(all), all, a.Body)
	}
	for _, m := range got.Get("data").Array() {
		if m.Get("object").Str != "model" || m.Get("created").Int() == 0 || m.Get("owned_by").Str == "" {
			t.Errorf("model %s", m)
		}
	}
	for name, test := range map[string]struct {
		query    string
		from, to int
		more     bool
	}{
		"the first page":         {"", 0, 20, true},
		"limit":                  {"?limit=3", 0, 3, true},
		"one":                    {"?limit=1", 0, 1, true},
		"all":                    {"?limit=1000", 0, 30, false},
		"exactly all":            {"?limit=30", 0, 30, false},
		"after":                  {"?limit=5&after_id=" + all[4], 5, 10, true},
		"after, the default":     {"?after_id=" + all[19], 20, 30, false},
		"after, the last page":   {"?limit=5&after_id=" + all[24], 25, 30, false},
		"after the last":         {"?after_id=" + all[29], 30, 30, false},
		"before":                 {"?limit=5&before_id=" + all[20], 15, 20, true},
		"before, the first page": {"?limit=5&before_id=" + all[5], 0, 5, false},
		"before, fewer":          {"?limit=5&before_id=" + all[2], 0, 2, false},
		"before the first":       {"?before_id=" + all[0], 0, 0, false},
		"unknown parameters":     {"?limit=2&beta=true", 0, 2, true},
	} {
		a, got, ids := list(test.query, "Anthropic-Version", "2023-06-01")
		want := all[test.from:test.to]
		if a.Status != 200 || !slices.Equal(ids, want) || got.Get("has_more").Bool() != test.more || !got.Get("has_more").IsBool() || got.Get("object").Exists() {
			t.Errorf("%s: %v, want %v, more %s", name, ids, want, got.Get("has_more"))
			continue
		}
		first, last := got.Get("first_id"), got.Get("last_id")
		if len(want) == 0 {
			if first.Raw != "null" || last.Raw != "null" || got.Get("data").Raw != "[]" {
				t.Errorf("%s: %s", name, a.Body)
			}
			continue
		}
		if first.Str != want[0] || last.Str != want[len(want)-1] {
			t.Errorf("%s: first %s, last %s", name, first, last)
		}
		for _, m := range got.Get("data").Array() {
			created, err := time.Parse(time.RFC3339, m.Get("created_at").Str)
			if m.Get("type").Str != "model" || m.Get("display_name").Str == "" || err != nil || created.IsZero() {
				t.Errorf("%s: model %s", name, m)
			}
		}
	}
	for name, query := range map[string]string{
		"none": "?limit=0", "negative": "?limit=-1", "too many": "?limit=1001", "no number": "?limit=ten", "fraction": "?limit=1.5",
		"after nobody": "?after_id=nobody", "before nobody": "?before_id=nobody", "both": "?after_id=own/1&before_id=own/2",
	} {
		a, _, _ := list(query, "Anthropic-Version", "2023-06-01")
		param, _, _ := strings.Cut(query[1:], "=")
		wrong{status: 400, messages: "invalid_request_error", retry: true, messageStart: param}.check(t, e2e.Surfaces[1], a)
		if t.Failed() {
			t.Fatalf("%s: %s", name, a.Body)
		}
	}
	// A single model is found by each of its names. The key may be in the header that Messages clients use.
	for _, id := range []string{all[0], all[3], "own/1"} {
		a := e2e.Get(t, e2e.Client, g.Base+"/v1/models/"+id, "", "X-Api-Key", key, "Anthropic-Version", "2023-06-01")
		if m := gjson.Parse(a.Body); a.Status != 200 || m.Get("id").Str != id || m.Get("type").Str != "model" || m.Get("object").Str != "model" {
			t.Errorf("%s: %d %s", id, a.Status, a.Body)
		}
	}
}

// TestTranslateCaddyfile checks the shipped Caddyfile in front of a chat server.
func TestTranslateCaddyfile(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	base := "http://127.0.0.1:" + e2e.FreePort(t)
	n := e2e.NewNode(t, e2e.Shipped(t, "translate"), "TOLLGATE_DOMAIN="+base, "TOLLGATE_UPSTREAM="+strings.TrimPrefix(up.URL, "http://"), "TOLLGATE_MODEL="+e2e.Script("text", "Hello there"))
	n.Start()
	forms(t, func(t *testing.T, s e2e.Surface, stream bool) {
		model := "claude-sonnet-4-6"
		if s.Name == "chat" { // chat requests are passed on unchanged
			model = e2e.Script("text", "Hello there")
		}
		a := e2e.Do(t, e2e.Client, http.MethodPost, base+s.Path, "", s.Body(model, stream, "Hi"))
		if got := s.Says(t, a, stream); got != "Hello there" {
			t.Errorf("it says %q: %s", got, a.Body)
		}
		if s.Name != "chat" && !strings.Contains(a.Body, model) {
			t.Errorf("not the client's name of the model: %s", a.Body)
		}
		if id := a.Header.Get("X-Request-Id"); !strings.HasPrefix(id, "req_") || (s.Name == "messages" && a.Header.Get("Request-Id") != id) {
			t.Errorf("headers %v", a.Header)
		}
		if s.Name == "chat" {
			return // the server reports faults of chat requests
		}
		w := wrong{status: 400, kind: "invalid_request_error", code: "invalid_json", messages: "invalid_request_error", retry: true}
		w.check(t, s, e2e.Do(t, e2e.Client, http.MethodPost, base+s.Path, "", `{"model":`))
	})
	if a := e2e.Do(t, e2e.Client, http.MethodPost, base+"/v1/messages/count_tokens", "", e2e.Surfaces[1].Body("m", false, "Hi")); a.Status != 200 || gjson.Get(a.Body, "input_tokens").Int() == 0 {
		t.Errorf("count_tokens: %d %s", a.Status, a.Body)
	}
	if a := e2e.Get(t, e2e.Client, base+"/v1/models", ""); a.Status != 200 || !strings.Contains(a.Body, `"data"`) {
		t.Errorf("models: %d %s", a.Status, a.Body)
	}
}

// TestTranslateWithoutServer checks that an unreachable server is reported in the format of each surface, without
// internal details.
func TestTranslateWithoutServer(t *testing.T) {
	t.Parallel()
	base := "http://127.0.0.1:" + e2e.FreePort(t)
	n := e2e.NewNode(t, e2e.Shipped(t, "translate"), "TOLLGATE_DOMAIN="+base, "TOLLGATE_UPSTREAM=127.0.0.1:"+e2e.FreePort(t))
	n.Start()
	forms(t, func(t *testing.T, s e2e.Surface, stream bool) {
		a := e2e.Do(t, e2e.Client, http.MethodPost, base+s.Path, "", s.Body("m", stream, "Hi"))
		w := wrong{status: 502, kind: "api_error", code: "all_providers_failed", messages: "api_error", retry: true}
		w.check(t, s, a)
		if strings.Contains(a.Body, "127.0.0.1") || strings.Contains(a.Body, "dial") {
			t.Errorf("the answer reveals internal details: %s", a.Body)
		}
	})
}
