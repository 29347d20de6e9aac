package gateway

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// secureGateway starts the shipped gateway Caddyfile on localhost, with TLS by Caddy's internal CA. The domain has a
// port, plain HTTP has another port, and users' models may be on this machine.
func secureGateway(t *testing.T) (g *e2e.Gateway, c *http.Client) {
	t.Helper()
	port := e2e.FreePort(t)
	g = e2e.Prepare(t, "")
	g.Base = "https://localhost:" + port
	g.Env = append(g.Env, "TOLLGATE_DOMAIN=localhost:"+port)
	g.Configure(e2e.Shipped(t, "gateway",
		"\tgrace_period 30s\n", "\tgrace_period 30s\n\thttp_port "+e2e.FreePort(t)+"\n",
		"\t\tcounters memory\n", "\t\tcounters memory\n\t\tallow_networks 127.0.0.0/8\n"))
	g.Start()
	c = g.Trusting()
	e2e.Eventually(t, e2e.WaitLimit, "the gateway is healthy", func() error {
		resp, err := c.Get(g.Base + "/health") //nolint:noctx // a loopback probe
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
		return nil
	})
	return g, c
}

// TestGateway checks the gateway over HTTPS as its clients see it.
func TestGateway(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	g, c := secureGateway(t)
	key := g.User("ada", up,
		e2e.Script("text", "Hello there", "usage", "last"),
		e2e.Script("tool", `weather:{"city":"Oslo"}`), e2e.Script("status", "400", "message", "bad voice", "code", "invalid_value"))
	sdk := openai.NewClient(option.WithBaseURL(g.Base+"/v1"), option.WithAPIKey(key), option.WithHTTPClient(c), option.WithMaxRetries(0))
	chat := func(model string) openai.ChatCompletionNewParams {
		return openai.ChatCompletionNewParams{
			Model: model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Hi")},
		}
	}

	t.Run("sdk text", func(t *testing.T) {
		t.Parallel()
		var raw *http.Response
		reply, err := sdk.Chat.Completions.New(t.Context(), chat("keychain-high"), option.WithResponseInto(&raw))
		if err != nil {
			t.Fatal(err)
		}
		if reply.Choices[0].Message.Content != "Hello there" || reply.Model != "keychain-high" || reply.Usage.CompletionTokens != 3 {
			t.Errorf("reply %s", reply.RawJSON())
		}
		if raw.ProtoMajor != 2 || !strings.HasPrefix(raw.Header.Get("X-Request-Id"), "req_") {
			t.Errorf("%s, headers %v", raw.Proto, raw.Header)
		}
		if encoding := raw.Header.Get("Content-Encoding"); encoding != "" {
			t.Errorf("a model route is encoded: %s", encoding)
		}
	})
	t.Run("sdk stream", func(t *testing.T) {
		t.Parallel()
		params := chat("keychain-high")
		params.StreamOptions.IncludeUsage = openai.Bool(true)
		stream := sdk.Chat.Completions.NewStreaming(t.Context(), params)
		var whole openai.ChatCompletionAccumulator
		for stream.Next() {
			if !whole.AddChunk(stream.Current()) {
				t.Fatalf("chunk does not fit: %s", stream.Current().RawJSON())
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		if whole.Choices[0].Message.Content != "Hello there" || whole.Choices[0].FinishReason != "stop" ||
			whole.Model != "keychain-high" || whole.Usage.CompletionTokens != 3 || whole.Usage.TotalTokens == 0 {
			t.Errorf("stream %+v", whole.ChatCompletion)
		}
	})
	t.Run("sdk tool call", func(t *testing.T) {
		t.Parallel()
		params := chat("own/2")
		params.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
			Name: "weather", Parameters: openai.FunctionParameters{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}},
		})}
		reply, err := sdk.Chat.Completions.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		calls := reply.Choices[0].Message.ToolCalls
		if len(calls) != 1 || calls[0].Function.Name != "weather" || calls[0].Function.Arguments != `{"city":"Oslo"}` || reply.Choices[0].FinishReason != "tool_calls" {
			t.Errorf("reply %s", reply.RawJSON())
		}
		stream := sdk.Chat.Completions.NewStreaming(t.Context(), params)
		var whole openai.ChatCompletionAccumulator
		for stream.Next() {
			whole.AddChunk(stream.Current())
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		if calls := whole.Choices[0].Message.ToolCalls; len(calls) != 1 || calls[0].Function.Arguments != `{"city":"Oslo"}` {
			t.Errorf("stream %+v", whole.Choices)
		}
	})
	t.Run("sdk errors", func(t *testing.T) {
		t.Parallel()
		stranger := openai.NewClient(option.WithBaseURL(g.Base+"/v1"), option.WithAPIKey("ak-unknown"), option.WithHTTPClient(c), option.WithMaxRetries(0))
		twice := openai.NewClient(option.WithBaseURL(g.Base+"/v1/v1"), option.WithAPIKey(key), option.WithHTTPClient(c), option.WithMaxRetries(0))
		for name, test := range map[string]struct {
			client     openai.Client
			model      string
			status     int
			kind, code string
		}{
			"bad key":       {stranger, "keychain-high", 401, "authentication_error", "invalid_api_key"},
			"unknown model": {sdk, "no-such-model", 404, "not_found_error", "model_not_found"},
			"base URL":      {twice, "keychain-high", 404, "not_found_error", "not_found"},
			"mistake":       {sdk, "own/3", 400, "invalid_request_error", "invalid_value"},
		} {
			_, err := test.client.Chat.Completions.New(t.Context(), chat(test.model))
			e, ok := errors.AsType[*openai.Error](err)
			if !ok || e.StatusCode != test.status || e.Type != test.kind || e.Code != test.code || e.Message == "" {
				t.Errorf("%s: %v (%+v)", name, err, e)
			}
			stream := test.client.Chat.Completions.NewStreaming(t.Context(), chat(test.model))
			for stream.Next() {
				t.Errorf("%s: a chunk", name)
			}
			if e, ok := errors.AsType[*openai.Error](stream.Err()); !ok || e.StatusCode != test.status || e.Code != test.code {
				t.Errorf("%s streamed: %v", name, stream.Err())
			}
		}
	})
	t.Run("sdk models", func(t *testing.T) {
		t.Parallel()
		var names []string
		pager := sdk.Models.ListAutoPaging(t.Context())
		for pager.Next() {
			names = append(names, pager.Current().ID)
		}
		if err := pager.Err(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(names, " "); !strings.HasPrefix(got, "keychain-low keychain-medium keychain-high ") || !strings.HasSuffix(got, "own/1 own/2 own/3") {
			t.Errorf("models %s", got)
		}
		entry, err := sdk.Models.Get(t.Context(), "own/1")
		if err != nil || entry.ID != "own/1" || entry.OwnedBy != keychain.CustomProvider {
			t.Errorf("model %+v, %v", entry, err)
		}
		if _, err := sdk.Models.Get(t.Context(), "own/9"); err == nil {
			t.Error("a model that is not there")
		}
	})
	t.Run("models pages", func(t *testing.T) {
		t.Parallel()
		type page struct {
			Data []struct {
				ID, Type    string
				DisplayName string `json:"display_name"`
				CreatedAt   string `json:"created_at"`
			}
			HasMore bool    `json:"has_more"`
			FirstID *string `json:"first_id"`
			LastID  *string `json:"last_id"`
		}
		fetch := func(query string) page {
			a := e2e.Get(t, c, g.Base+"/v1/models"+query, "", "x-api-key", key, "anthropic-version", "2023-06-01")
			var p page
			if err := json.Unmarshal([]byte(a.Body), &p); err != nil || a.Status != 200 {
				t.Fatalf("%s: status %d, %v: %s", query, a.Status, err, a.Body)
			}
			return p
		}
		whole := fetch("")
		if whole.HasMore || len(whole.Data) < 6 || *whole.FirstID != whole.Data[0].ID || *whole.LastID != whole.Data[len(whole.Data)-1].ID {
			t.Fatalf("whole list %+v", whole)
		}
		var names []string
		for query := "?limit=4"; ; {
			p := fetch(query)
			for _, m := range p.Data {
				if m.Type != "model" || m.DisplayName == "" || m.CreatedAt == "" {
					t.Errorf("model %+v", m)
				}
				names = append(names, m.ID)
			}
			if !p.HasMore {
				break
			}
			if len(p.Data) != 4 {
				t.Fatalf("page %+v", p)
			}
			query = "?limit=4&after_id=" + *p.LastID
		}
		if len(names) != len(whole.Data) {
			t.Errorf("pages have %q", names)
		}
		for i, m := range whole.Data {
			if names[i] != m.ID {
				t.Errorf("model %d is %s in pages, %s in the whole list", i, names[i], m.ID)
			}
		}
		if previous := fetch("?limit=2&before_id=" + names[3]); len(previous.Data) != 2 || previous.Data[0].ID != names[1] || !previous.HasMore {
			t.Errorf("page before %s: %+v", names[3], previous)
		}
		for _, query := range []string{"?limit=0", "?limit=1001", "?limit=x", "?after_id=nobody", "?after_id=own/1&before_id=own/2"} {
			a := e2e.Get(t, c, g.Base+"/v1/models"+query, key, "anthropic-version", "2023-06-01")
			if a.Status != 400 || !strings.Contains(a.Body, `"type":"invalid_request_error"`) || a.Header.Get("Request-Id") == "" {
				t.Errorf("%s: %d %s", query, a.Status, a.Body)
			}
		}
	})
	t.Run("probes", func(t *testing.T) {
		t.Parallel()
		if a := e2e.Do(t, c, http.MethodHead, g.Base+"/", "", ""); a.Status != 200 || a.Body != "" {
			t.Errorf("HEAD /: %d %q", a.Status, a.Body)
		}
		if a := e2e.Get(t, c, g.Base+"/", ""); a.Status != 200 || len(a.Body) > 100 {
			t.Errorf("GET /: %d %q", a.Status, a.Body)
		}
		for path, part := range map[string]string{
			"/health": `"status":"ok"`, "/providers": `"code":"openai"`, "/models": `"provider":"openai"`,
		} {
			a := e2e.Get(t, c, g.Base+path, "", "Origin", "https://app.test")
			if a.Status != 200 || !strings.Contains(a.Body, part) || !json.Valid([]byte(a.Body)) || a.Header.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("GET %s: %d %s", path, a.Status, a.Body)
			}
		}
		a := e2e.Get(t, c, g.Base+"/v1/models", "")
		a.Refused(t, 401, "invalid_api_key")
		if cors := a.Header.Get("Access-Control-Allow-Origin"); cors != "" {
			t.Errorf("no browser asked, but the answer has Access-Control-Allow-Origin %q", cors)
		}
	})
	t.Run("preflight", func(t *testing.T) {
		t.Parallel()
		for _, path := range []string{"/v1/chat/completions", "/v1/models", "/health", "/nowhere"} {
			a := e2e.Do(t, c, http.MethodOptions, g.Base+path, "", "", "Origin", "https://app.test",
				"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization, content-type, x-stainless-lang")
			allowed := a.Header.Get("Access-Control-Allow-Headers")
			if a.Status != 204 || a.Header.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(a.Header.Get("Access-Control-Allow-Methods"), "POST") {
				t.Errorf("%s: %d %v", path, a.Status, a.Header)
			}
			for _, name := range []string{"authorization", "x-api-key", "content-type", "x-stainless-lang", "openai-project", "anthropic-version"} {
				if !strings.Contains(allowed, name) {
					t.Errorf("%s: %s is not allowed", path, name)
				}
			}
			// Firefox requests the SDKs' user-agent header, and instrumented pages request arbitrary headers.
			if names := strings.Split(allowed, ", "); !slices.Contains(names, "user-agent") || !slices.Contains(names, "*") {
				t.Errorf("%s: allows %q alone", path, names)
			}
		}
		a := e2e.Do(t, c, http.MethodPost, g.Base+"/v1/chat/completions", key, e2e.Prompt("keychain-high", false), "Origin", "https://app.test")
		if exposed := a.Header.Get("Access-Control-Expose-Headers"); a.Status != 200 || !strings.Contains(exposed, "x-gateway-provider") {
			t.Errorf("status %d, exposed %q", a.Status, exposed)
		}
		a = e2e.Do(t, c, http.MethodPost, g.Base+"/v1/messages", key, `{"max_tokens":10,`+e2e.Prompt("keychain-high", false)[1:], "Origin", "https://app.test")
		exposed := strings.Split(a.Header.Get("Access-Control-Expose-Headers"), ", ")
		for _, name := range []string{"requests-limit", "requests-remaining", "requests-reset"} {
			if name = "anthropic-ratelimit-" + name; !slices.Contains(exposed, name) {
				t.Errorf("%s is not exposed: %q", name, exposed)
			}
		}
		for name := range a.Header {
			name = strings.ToLower(name)
			if ours := strings.HasPrefix(name, "x-") || strings.HasPrefix(name, "anthropic-") || name == "request-id"; ours && name != "x-content-type-options" && !slices.Contains(exposed, name) {
				t.Errorf("%s was sent, and is not exposed: %q", name, exposed)
			}
		}
		if a.Status != 200 {
			t.Errorf("status %d", a.Status)
		}
		if e := e2e.Get(t, c, g.Base+"/v1/models", "", "Origin", "https://app.test"); e.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Error("a browser cannot read an error")
		}
	})
	t.Run("encodings", func(t *testing.T) {
		t.Parallel()
		body := e2e.Prompt("keychain-high", false)
		var zipped bytes.Buffer
		w := gzip.NewWriter(&zipped)
		_, _ = w.Write([]byte(body))
		_ = w.Close()
		encoder, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		for encoding, data := range map[string]string{"gzip": zipped.String(), "zstd": string(encoder.EncodeAll([]byte(body), nil)), "identity": body} {
			a := e2e.Do(t, c, http.MethodPost, g.Base+"/v1/chat/completions", key, data, "Content-Encoding", encoding)
			if got := a.Text(t); got != "Hello there" {
				t.Errorf("%s: %q", encoding, got)
			}
		}
		post := func(body, encoding string) *e2e.Answer {
			return e2e.Do(t, c, http.MethodPost, g.Base+"/v1/chat/completions", key, body, "Content-Encoding", encoding)
		}
		post(body, "br").Refused(t, 415, "unsupported_media_type")
		post(body, "gzip").Refused(t, 400, "invalid_json")
		post(zipped.String()[:20], "gzip").Refused(t, 400, "invalid_json")
		// A compression bomb: 64 MB of white space in a few kilobytes.
		var bomb bytes.Buffer
		w = gzip.NewWriter(&bomb)
		_, _ = w.Write(bytes.Repeat([]byte(" "), 64<<20))
		_ = w.Close()
		post(bomb.String(), "gzip").Refused(t, 413, "request_too_large")
		post(string(encoder.EncodeAll(bytes.Repeat([]byte(" "), 64<<20), nil)), "zstd").Refused(t, 413, "request_too_large")
	})
}

// keyFilter is the part of the shipped files that keeps gateway keys out of the logs.
const keyFilter = "\t\t# Clients may send their key in this header.\n\t\tformat filter {\n\t\t\trequest>headers>X-Api-Key delete\n\t\t}\n"

// TestKeysNotLogged checks that no log contains a gateway key, whatever header contained it and whatever the result of
// the request, not even at the lowest level.
func TestKeysNotLogged(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	// The site has a budget without api_errors, so Caddy logs its errors.
	g := e2e.NewGateway(t, "", keyFilter, "\t\tlevel DEBUG\n"+keyFilter,
		"\ttollgate gateway\n", "\troute /bare/* {\n\t\tapi_auth gateway_key\n\t\tbudget {\n\t\t\tlimit {http.auth.usr.rate}\n\t\t}\n\t}\n\ttollgate gateway\n")
	key := g.User("ada", up, e2e.Script("text", "Hello"))
	const wrong = "ak-wrong0123456789012345678901234567890123"
	for _, credential := range []string{key, wrong} {
		for _, header := range []string{"X-Api-Key", "Authorization"} {
			value := credential
			if header == "Authorization" {
				value = "Bearer " + credential
			}
			e2e.Get(t, e2e.Client, g.Base+"/v1/models", "", header, value)
			e2e.Do(t, e2e.Client, http.MethodPost, g.Base+"/v1/messages", "", `{"model":"own/1","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`, header, value)
			if a := e2e.Get(t, e2e.Client, g.Base+"/bare/x", "", header, value); credential == key && a.Status != http.StatusInternalServerError {
				t.Errorf("a misspelt limit: status %d", a.Status)
			}
		}
	}
	g.Stop()
	logs := g.Logs.String()
	if strings.Count(logs, `"msg":"handled request"`) < 12 || !strings.Contains(logs, "unknown placeholder {http.auth.usr.rate}") {
		t.Errorf("log:\n%s", logs)
	}
	for _, secret := range []string{key, wrong} {
		if i := strings.Index(logs, secret); i >= 0 {
			t.Errorf("a key is in the log: %s", logs[max(0, i-400):i+20])
		}
	}
}

// TestShownKeysWarning checks that an access log that shows gateway keys causes a warning.
func TestShownKeysWarning(t *testing.T) {
	t.Parallel()
	const (
		filter = "format filter {\n\t\t\trequest>headers>X-Api-Key delete\n\t\t}\n"
		global = "\tlog {\n" + keyFilter + "\t}\n"
		site   = "\tlog\n"
	)
	for name, test := range map[string]struct {
		global, site string
		warned       bool
	}{
		"as shipped":                     {global, site, false},
		"no filter":                      {"", site, true},
		"no access log":                  {"", "", false},
		"a log of its own":               {global, "\tlog {\n\t\toutput file access.log\n\t}\n", true},
		"a log of its own with a filter": {global, "\tlog {\n\t\toutput file access.log\n\t\t" + filter + "\t}\n", false},
		// The default log gets the requests for host names without a site.
		"but not the default log": {"", "\tlog {\n\t\toutput file access.log\n\t\t" + filter + "\t}\n", true},
		"replaced":                {strings.Replace(global, "delete", "replace hidden", 1), site, false},
		"all headers deleted":     {strings.Replace(global, ">X-Api-Key", "", 1), site, false},
		"another header":          {strings.Replace(global, "X-Api-Key", "Cookie", 1), site, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := e2e.Shipped(t, "gateway", global, test.global, "\tlog\n\ttollgate", test.site+"\ttollgate")
			n := e2e.NewNode(t, config)
			cmd := exec.CommandContext(t.Context(), e2e.Binary, "validate", "--config", "Caddyfile")
			cmd.Dir, cmd.Env = n.Dir, n.Env
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if n := strings.Count(string(out), "the access log may show gateway keys"); n > 1 || (n == 1) != test.warned {
				t.Errorf("%d warnings\n%s", n, out)
			}
		})
	}
}

// TestExistingService checks the shipped Caddyfile in front of a service without its own keys and budgets.
func TestExistingService(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	up.Answer = func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("X-Service", r.Method+" "+r.URL.Path)
		_, _ = w.Write([]byte("the service"))
		return true
	}
	port := e2e.FreePort(t)
	g := e2e.Prepare(t, "")
	g.Base = "http://127.0.0.1:" + port
	config := e2e.Shipped(t, "existing-service")
	g.Env = append(g.Env, "TOLLGATE_DOMAIN="+g.Base, "TOLLGATE_UPSTREAM="+strings.TrimPrefix(up.URL, "http://"))
	g.Configure(config)
	g.Start()
	key := g.User("ada", up)

	problem := func(a *e2e.Answer, status int, code string) {
		t.Helper()
		var p struct {
			Status       int
			Title, Code  string
			RequestID    string `json:"request_id"`
			Type, Detail string
		}
		if err := json.Unmarshal([]byte(a.Body), &p); err != nil || a.Status != status || p.Status != status || p.Title == "" || p.Type == "" ||
			!strings.HasPrefix(a.Header.Get("Content-Type"), "application/problem+json") || p.RequestID != a.Header.Get("X-Request-Id") || (code != "" && p.Code != code) {
			t.Errorf("status %d, want %d %s (%v): %s %v", a.Status, status, code, err, a.Body, a.Header)
		}
	}
	for name, a := range map[string]*e2e.Answer{
		"no key":  e2e.Get(t, e2e.Client, g.Base+"/status", ""),
		"bad key": e2e.Get(t, e2e.Client, g.Base+"/status", "ak-wrong"),
		"basic":   e2e.Get(t, e2e.Client, g.Base+"/status", "", "Authorization", "Basic YTpi"),
	} {
		problem(a, 401, "invalid_api_key")
		if a.Header.Get("WWW-Authenticate") != "Bearer" || a.Header.Get("X-Service") != "" {
			t.Errorf("%s: headers %v", name, a.Header)
		}
	}
	for _, test := range []struct{ method, path, cost, remaining string }{
		{"GET", "/status", "0", "600"}, {"GET", "/other", "1", "599"}, {"POST", "/reports", "10", "589"}, {"GET", "/reports", "1", "588"},
	} {
		a := e2e.Do(t, e2e.Client, test.method, g.Base+test.path, key, "")
		if a.Status != 200 || a.Body != "the service" || a.Header.Get("X-Service") != test.method+" "+test.path ||
			a.Header.Get("X-Ratelimit-Cost") != test.cost || a.Header.Get("X-Ratelimit-Limit") != "600" || a.Header.Get("X-Ratelimit-Remaining") != test.remaining ||
			a.Header.Get("Ratelimit-Policy") != `"minute";q=600;w=60` {
			t.Errorf("%s %s: %d %s %v", test.method, test.path, a.Status, a.Body, a.Header)
		}
	}
	var last *e2e.Answer
	for range 70 {
		if last = e2e.Do(t, e2e.Client, http.MethodPost, g.Base+"/reports", key, ""); last.Status != 200 {
			break
		}
	}
	problem(last, 429, "rate_limit_exceeded")
	if last.Header.Get("Retry-After") == "" || last.Header.Get("X-Service") != "" {
		t.Errorf("429: headers %v", last.Header)
	}
	if a := e2e.Get(t, e2e.Client, g.Base+"/status", key); a.Status != 200 {
		t.Errorf("a request without a cost is refused: %d", a.Status)
	}
	// Another key has a separate budget.
	if a := e2e.Do(t, e2e.Client, http.MethodPost, g.Base+"/reports", g.User("bob", up), ""); a.Status != 200 {
		t.Errorf("another key: %d %s", a.Status, a.Body)
	}

	g.Stop()
	g.Env = append(g.Env, "TOLLGATE_UPSTREAM=127.0.0.1:"+e2e.FreePort(t))
	g.Start()
	a := e2e.Get(t, e2e.Client, g.Base+"/other", key)
	problem(a, 502, "")
	e2e.Get(t, e2e.Client, g.Base+"/other", "", "X-Api-Key", key)
	if strings.Contains(a.Body, "dial") || strings.Contains(a.Body, "127.0.0.1") {
		t.Errorf("502 reveals internal details: %s", a.Body)
	}
	g.Stop()
	if logs := g.Logs.String(); strings.Contains(logs, key) || !strings.Contains(logs, "handled request") {
		t.Errorf("the key is in the log, or there is no log:\n%s", g.Logs.Tail(4<<10))
	}
}
