package cascade

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/memory"
)

var updateGolden = flag.Bool("update", false, "write what is sent into the golden files")

// cloud is a transport that answers for every host of a cloud, and records the requests.
type cloud struct {
	mu     sync.Mutex
	sent   []string
	answer func(r *http.Request) *http.Response // nil, or returns nil: a good answer
}

// RoundTrip implements http.RoundTripper.
func (c *cloud) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s\n", r.Method, r.URL)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		fmt.Fprintf(&text, "%s: %s\n", name, strings.Join(r.Header[name], ", "))
	}
	fmt.Fprintf(&text, "\n%s\n", body)
	c.mu.Lock()
	c.sent = append(c.sent, text.String())
	c.mu.Unlock()
	if c.answer != nil {
		if resp := c.answer(r); resp != nil {
			return resp, nil
		}
	}
	switch {
	case r.URL.Host == "login.microsoftonline.com":
		return respond(200, "application/json", `{"access_token":"entra-token","token_type":"Bearer","expires_in":3600}`), nil
	case strings.HasSuffix(r.URL.Path, ":streamRawPredict"):
		return respond(200, "text/event-stream", `event: message_start
data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"c","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"from the cloud"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":4}}

event: message_stop
data: {"type":"message_stop"}

`), nil
	case strings.HasSuffix(r.URL.Path, "/converse"):
		return respond(200, "application/json", `{"output":{"message":{"role":"assistant","content":[{"text":"from the cloud"}]}},"stopReason":"end_turn",`+
			`"usage":{"inputTokens":3,"outputTokens":4,"totalTokens":7},"metrics":{"latencyMs":9}}`), nil
	case strings.HasSuffix(r.URL.Path, "/converse-stream"):
		return respond(200, wire.EventStreamType, frames(
			"messageStart", `{"p":"abc","role":"assistant"}`, "contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"from the cloud"},"p":"a"}`,
			"contentBlockStop", `{"contentBlockIndex":0}`, "messageStop", `{"stopReason":"end_turn"}`, "metadata", `{"usage":{"inputTokens":3,"outputTokens":4,"totalTokens":7}}`,
		)), nil
	case strings.Contains(r.URL.Path, "anthropic"):
		return respond(200, "application/json", `{"id":"m","type":"message","role":"assistant","model":"c","content":[{"type":"text","text":"from the cloud"}],`+
			`"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":4}}`), nil
	}
	return respond(200, "application/json", completion("from the cloud")), nil
}

func respond(status int, media, body string) *http.Response {
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
	return w.Result()
}

// newCloudRig returns a rig with the built-in catalog, one of its cloud providers enabled, and a key for it.
func newCloudRig(t *testing.T, provider, model, key string, params map[string]string) (*rig, *cloud) {
	t.Helper()
	cat, err := catalog.Embedded().With(catalog.Options{
		Enable:    []string{provider},
		Overrides: map[string]catalog.Override{provider: {Params: params, Models: map[string]string{"prod": model}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, clock := new(cloud), newClock()
	r := &rig{t: t, clock: clock, catalog: cat, engine: &Engine{
		Options: Options{}.WithDefaults(), Memory: NewMemory(clock.now), Catalog: func() *catalog.Catalog { return cat },
		Providers: c, Custom: c, Logger: zap.NewNop(), Now: clock.now,
	}}
	r.account = newAccount(t, cat, setup{})
	if _, err := people.AddProviderKey(t.Context(), r.account.UserID, provider, key, "", func(string) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if r.account, err = people.Account(t.Context(), r.account.UserID); err != nil {
		t.Fatal(err)
	}
	return r, c
}

// frames encodes events, given as alternating names and payloads, as an event stream of Bedrock.
func frames(events ...string) string {
	var out bytes.Buffer
	encoder := eventstream.NewEncoder()
	for i := 0; i+1 < len(events); i += 2 {
		message := eventstream.Message{Payload: []byte(events[i+1])}
		message.Headers.Set(":event-type", eventstream.StringValue(events[i]))
		message.Headers.Set(":content-type", eventstream.StringValue("application/json"))
		message.Headers.Set(":message-type", eventstream.StringValue("event"))
		_ = encoder.Encode(&out, message) // a write to a buffer does not fail
	}
	return out.String()
}

const (
	awsKey   = `{"access_key_id":"AKIDEXAMPLE","secret_access_key":"the-aws-secret","session_token":"the-session"}`
	entraKey = `{"tenant_id":"11111111-2222-3333-4444-555555555555","client_id":"app","client_secret":"the-secret"}`
	tools    = `"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}]`
)

// TestCloudRequests compares the requests to each cloud with the golden files.
func TestCloudRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, provider, like, key string
		params                    map[string]string
		stream                    bool
	}{
		{"azure-key", "azure", "openai/gpt-5.4-mini", "azure-key-1", map[string]string{"resource": "contoso"}, false},
		{"azure-entra", "azure", "openai/gpt-5.4-mini", entraKey, map[string]string{"resource": "contoso"}, false},
		{"azure-dated", "azure-dated", "openai/gpt-5.4-mini", "azure-key-1", map[string]string{"resource": "contoso", "api_version": "2024-10-21"}, false},
		{"azure-claude", "azure-claude", "anthropic/claude-sonnet-5-5", "azure-key-1", map[string]string{"resource": "contoso"}, false},
		{"vertex", "vertex", "gemini/gemini-3.8-flash", "ya29.token", map[string]string{"project": "acme", "location": "europe-west1"}, false},
		{"vertex-claude", "vertex-claude", "anthropic/claude-sonnet-5-5", "ya29.token", map[string]string{"project": "acme", "location": "europe-west1"}, false},
		{"vertex-claude-stream", "vertex-claude", "anthropic/claude-sonnet-5-5", "ya29.token", map[string]string{"project": "acme", "location": "europe-west1"}, true},
		{"bedrock", "bedrock", "groq/openai/gpt-oss-120b", "bedrock-key-1", map[string]string{"region": "eu-central-1"}, false},
		{"bedrock-signed", "bedrock", "groq/openai/gpt-oss-120b", awsKey, map[string]string{"region": "eu-central-1"}, false},
		{"bedrock-converse", "bedrock-converse", "anthropic/claude-sonnet-5-5", "bedrock-key-1", map[string]string{"region": "eu-central-1"}, false},
		{"bedrock-converse-signed", "bedrock-converse", "groq/openai/gpt-oss-120b", awsKey, map[string]string{"region": "eu-central-1"}, true},
		{"bedrock-claude", "bedrock-claude", "anthropic/claude-sonnet-5-5", "bedrock-key-1", map[string]string{"region": "eu-central-1"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, cloud := newCloudRig(t, c.provider, c.like, c.key, c.params)
			r.send(t.Context(), c.provider+"/prod", c.stream, []string{tools}).wantAnswer(t, c.provider+"/prod", "from the cloud")
			got := strings.Join(cloud.sent, "\n")
			path := filepath.Join("testdata", "clouds", c.name+".golden")
			if *updateGolden {
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("sent:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// TestTokenRefused checks that the refusal of a token for a key counts as a failure of the key, and that the provider
// is not asked. A probe reports the same failure. A later successful probe unblocks the key.
func TestTokenRefused(t *testing.T) {
	t.Parallel()
	r, c := newCloudRig(t, "azure", "openai/gpt-5.4-mini", entraKey, map[string]string{"resource": "contoso"})
	c.answer = func(q *http.Request) *http.Response {
		if q.URL.Host != "login.microsoftonline.com" {
			t.Errorf("%s was asked without a token", q.URL)
		}
		return respond(401, "application/json", `{"error":"invalid_client"}`)
	}
	e := r.ask("azure/prod")
	failed, ok := apierror.From(e.rawErr)
	if !ok || len(e.Failed) != 1 || e.Failed[0].Code != "token_refused" || !strings.Contains(e.Failed[0].Message, "401 invalid_client") {
		t.Fatalf("got %v of %+v", failed, e.Result)
	}
	keys, err := people.ProviderKeys(t.Context(), r.account.UserID)
	if err != nil {
		t.Fatal(err)
	}
	candidate, key, err := r.account.Probe(r.catalog, keys[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	probe, err := r.engine.Probe(t.Context(), r.account.UserID, candidate, key)
	if err != nil || probe.OK || probe.Failure.Code != "token_refused" {
		t.Fatalf("the probe is %+v, %v", probe, err)
	}
	if count := len(c.sent); count != 2 {
		t.Errorf("the token endpoint was asked %d times", count)
	}
	c.answer = nil
	if probe, err := r.engine.Probe(t.Context(), r.account.UserID, candidate, key); err != nil || !probe.OK {
		t.Fatalf("the probe is %+v, %v", probe, err)
	}
	r.ask("azure/prod").wantAnswer(t, "azure/prod", "from the cloud")
}

// TestWorkloadIdentity checks that the operator's AWS and Azure providers serve every user with credentials from the
// machine's metadata server, and that refused credentials are fetched once more.
func TestWorkloadIdentity(t *testing.T) {
	count, refuse := 0, false
	metadata := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		count++
		refuse = false
		if r.Header.Get("X-Identity-Header") == "the-header" {
			_, _ = io.WriteString(w, `{"access_token":"managed-token","expires_on":"4070908800"}`)
			return
		}
		_, _ = io.WriteString(w, `{"AccessKeyId":"ASIALENT","SecretAccessKey":"lent","Token":"lent-session","Expiration":"2099-01-01T00:00:00Z"}`)
	}))
	defer metadata.Close()
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", metadata.URL+"/key")
	t.Setenv("IDENTITY_ENDPOINT", metadata.URL+"/token")
	t.Setenv("IDENTITY_HEADER", "the-header")
	for _, p := range []struct {
		code, like, want string
		params           map[string]string
		refused          int
	}{
		{"bedrock-converse", "anthropic/claude-sonnet-5-5", "Credential=ASIALENT/", map[string]string{"region": "eu-central-1"}, http.StatusForbidden},
		{"azure", "openai/gpt-5.4-mini", "Authorization: Bearer managed-token\n", map[string]string{"resource": "contoso"}, http.StatusUnauthorized},
	} {
		t.Run(p.code, func(t *testing.T) {
			r, c := newCloudRig(t, "vertex", "gemini/gemini-3.8-flash", "ya29.token", map[string]string{"project": "acme", "location": "europe-west1"})
			cat, err := catalog.Embedded().With(catalog.Options{Enable: []string{p.code}, Overrides: map[string]catalog.Override{
				p.code: {Params: p.params, Models: map[string]string{"prod": p.like}, WorkloadIdentity: true},
			}})
			if err != nil {
				t.Fatal(err)
			}
			r.catalog, r.engine.Catalog = cat, func() *catalog.Catalog { return cat }
			c.answer = func(*http.Request) *http.Response {
				if refuse {
					return respond(p.refused, "application/json", `{"message":"The security token included in the request is expired"}`)
				}
				return nil
			}
			count = 0
			for range 2 {
				r.ask(p.code+"/prod").wantAnswer(t, p.code+"/prod", "from the cloud")
			}
			if count != 1 || len(c.sent) != 2 || !strings.Contains(c.sent[1], p.want) {
				t.Errorf("asked %d times, sent %s", count, c.sent)
			}
			refuse = true
			r.ask(p.code+"/prod").wantAnswer(t, p.code+"/prod", "from the cloud")
			if count != 2 || len(c.sent) != 4 {
				t.Errorf("asked %d times after a refusal, sent %d", count, len(c.sent))
			}
		})
	}
}

// TestFramesTakeMemory checks that a large Bedrock frame is charged to the memory budget of all requests. An answer for
// which there is no memory does not count as a failure of the provider.
func TestFramesTakeMemory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		budget int64
		served bool
	}{{64 << 20, true}, {1 << 20, false}} {
		r, cloud := newCloudRig(t, "bedrock-converse", "anthropic/claude-sonnet-5-5", "bedrock-key-1", map[string]string{"region": "eu-central-1"})
		r.engine.Budget = memory.New(c.budget)
		cloud.answer = func(*http.Request) *http.Response {
			return respond(200, wire.EventStreamType, frames(
				"messageStart", `{"role":"assistant"}`, "contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"`+strings.Repeat("x", 2<<20)+`"}}`,
				"contentBlockStop", `{"contentBlockIndex":0}`, "messageStop", `{"stopReason":"end_turn"}`, "metadata", `{"usage":{"inputTokens":3,"outputTokens":4,"totalTokens":7}}`,
			))
		}
		e := r.send(t.Context(), "bedrock-converse/prod", true, nil)
		refusal, refused := apierror.From(e.rawErr)
		if refused == c.served || refused && refusal.Status != http.StatusServiceUnavailable {
			t.Errorf("a budget of %d: %v", c.budget, e.rawErr)
		}
		if heldBytes := r.engine.Budget.Taken(); heldBytes != 0 || (r.engine.Budget.Refused() == 0) != c.served {
			t.Errorf("a budget of %d: %d bytes stay taken, %d refusals", c.budget, heldBytes, r.engine.Budget.Refused())
		}
	}
}

// TestTokenRefusedEarly checks that a token which the provider refuses before its expiry is dropped, and that the
// request is sent once more with a new token.
func TestTokenRefusedEarly(t *testing.T) {
	t.Parallel()
	r, c := newCloudRig(t, "azure", "openai/gpt-5.4-mini", entraKey, map[string]string{"resource": "contoso"})
	r.ask("azure/prod").wantAnswer(t, "azure/prod", "from the cloud")
	tokens, revoked := 0, true
	c.answer = func(q *http.Request) *http.Response {
		switch {
		case q.URL.Host == "login.microsoftonline.com":
			tokens++
			revoked = false
			return nil
		case revoked:
			return respond(401, "application/json", `{"error":{"code":"401","message":"the token is revoked"}}`)
		}
		return nil
	}
	r.ask("azure/prod").wantAnswer(t, "azure/prod", "from the cloud")
	if tokens != 1 {
		t.Errorf("%d tokens were fetched", tokens)
	}
	tokens = 0
	c.answer = func(q *http.Request) *http.Response {
		if q.URL.Host == "login.microsoftonline.com" {
			tokens++
			return nil
		}
		return respond(401, "application/json", `{"error":{"code":"401","message":"no such principal"}}`)
	}
	if e := r.ask("azure/prod"); e.rawErr == nil || tokens != 1 {
		t.Errorf("%v after %d tokens", e.rawErr, tokens)
	}
}

func TestCustomWires(t *testing.T) {
	t.Parallel()
	for format, want := range map[string][]string{
		"messages":  {"POST https://models.example/anthropic/v1/messages\n", "\nX-Api-Key: own-key-1\n", "\nAnthropic-Version: 2023-06-01\n", `"max_tokens":`},
		"responses": {"POST https://models.example/anthropic/v1/responses\n", "\nAuthorization: Bearer own-key-1\n", `"input":`},
		"chat":      {"POST https://models.example/anthropic/v1/chat/completions\n", "\nAuthorization: Bearer own-key-1\n", `"messages":`},
	} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			r, c := newCloudRig(t, "azure", "openai/gpt-5.4-mini", "azure-key-1", map[string]string{"resource": "contoso"})
			c.answer = func(*http.Request) *http.Response {
				switch format {
				case "chat":
					return respond(200, "application/json", completion("from the server"))
				case "responses":
					return respond(200, "application/json", `{"id":"resp_1","object":"response","status":"completed","model":"m","output":[{"type":"message","id":"msg_1","status":"completed",`+
						`"role":"assistant","content":[{"type":"output_text","text":"from the server","annotations":[]}]}],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}`)
				}
				return respond(200, "application/json", `{"id":"m","type":"message","role":"assistant","model":"c","content":[{"type":"text","text":"from the server"}],`+
					`"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":4}}`)
			}
			entry, err := people.AddModel(t.Context(), r.account.UserID, keychain.CustomModel{
				Entry: "own/model", BaseURL: "https://models.example/anthropic/v1", Model: "m", Wire: format, Tier: catalog.Low, APIKey: "own-key-1",
			})
			if err != nil || entry.Wire != strings.TrimPrefix(format, "chat") {
				t.Fatalf("added %+v, %v", entry, err)
			}
			if r.account, err = people.Account(t.Context(), r.account.UserID); err != nil {
				t.Fatal(err)
			}
			r.send(t.Context(), "own/model", false, []string{tools}).wantAnswer(t, "own/model", "from the server")
			for _, part := range want {
				if len(c.sent) != 1 || !strings.Contains(c.sent[0], part) {
					t.Errorf("%q was not sent: %s", part, c.sent)
				}
			}
		})
	}
	_, err := people.AddModel(t.Context(), "nobody", keychain.CustomModel{Entry: "own/model", BaseURL: "https://models.example", Model: "m", Wire: "soap", Tier: catalog.Low})
	if refusal, ok := apierror.From(err); !ok || refusal.Param != "wire" {
		t.Errorf("an unknown format: %v", err)
	}
}
