package cascade_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	_ "github.com/tollgate-gateway/tollgate/modules"
	gatewayapp "github.com/tollgate-gateway/tollgate/modules/gateway"
)

// answers is a transport that answers like an upstream, without a network.
type answers struct{ header, body string }

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	_ = r.Body.Close()
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {a.header}}, ContentLength: int64(len(a.body)),
		Body: io.NopCloser(strings.NewReader(a.body)), Request: r,
	}, nil
}

// nobody is a ResponseWriter that discards the body.
type nobody struct {
	header http.Header
	status int
}

func (n *nobody) Header() http.Header         { return n.header }
func (n *nobody) Write(p []byte) (int, error) { return len(p), nil }
func (n *nobody) WriteHeader(status int)      { n.status = status }
func (n *nobody) FlushError() error           { return nil }

func (n *nobody) SetReadDeadline(time.Time) error { return nil }

// BenchmarkGateway measures a chat completion through all handlers that `tollgate gateway` configures, without the
// network on either side.
func BenchmarkGateway(b *testing.B) {
	server, app := startGateway(b)
	gw, err := app.Gateway()
	if err != nil {
		b.Fatal(err)
	}
	service := gw.Keychain
	if _, _, _, err := service.InitUser(b.Context(), "bench"); err != nil {
		b.Fatal(err)
	}
	if _, err := service.AddProviderKey(b.Context(), "bench", "openai", "sk-bench-not-a-secret", "", func(string) bool { return true }); err != nil {
		b.Fatal(err)
	}
	limit := int64(1_000_000_000)
	key, err := service.CreateKey(b.Context(), "bench", keychain.KeyOptions{Limits: keychain.Limits{RateLimitPerMinute: &limit}})
	if err != nil {
		b.Fatal(err)
	}
	var upstream answers
	gw.Providers.RegisterProtocol("http", &upstream)
	for _, c := range []struct {
		name, body string
		upstream   answers
	}{
		{"whole", chatRequest(false), answers{"application/json", chatReply()}},
		{"stream", chatRequest(true), answers{"text/event-stream", chatStream()}},
	} {
		b.Run(c.name, func(b *testing.B) {
			upstream = c.upstream
			b.ReportAllocs()
			for b.Loop() {
				r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://localhost/v1/chat/completions", strings.NewReader(c.body))
				if err != nil {
					b.Fatal(err)
				}
				r.RemoteAddr = "127.0.0.1:1234"
				r.Header = http.Header{"Authorization": {"Bearer " + key.Key}, "Content-Type": {"application/json"}, "Accept": {"*/*"}}
				w := &nobody{header: http.Header{}}
				server.ServeHTTP(w, r)
				if w.status != http.StatusOK {
					b.Fatal(w.status)
				}
			}
		})
	}
}

func startGateway(b testing.TB) (*caddyhttp.Server, *gatewayapp.App) {
	b.Helper()
	return startSite(b, "tollgate gateway")
}

func startSite(b testing.TB, directives string) (*caddyhttp.Server, *gatewayapp.App) {
	b.Helper()
	dir := b.TempDir()
	file := fmt.Sprintf(`{
	admin off
	auto_https off
	persist_config off
	storage file_system %[1]s
	log {
		output discard
	}
	tollgate {
		database sqlite %[2]s
		keyring aes {
			file %[3]s
		}
		catalog {
			provider openai {
				base_url http://provider.invalid/v1
			}
		}
	}
}
http://localhost:0 {
	%[4]s
}
`, dir, filepath.Join(dir, "tollgate.db"), filepath.Join(dir, "tollgate.key"), directives)
	adapted, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(file), nil)
	if err != nil {
		b.Fatal(err)
	}
	if err := caddy.Load(adapted, true); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := caddy.Stop(); err != nil {
			b.Error(err)
		}
	})
	ctx := caddy.ActiveContext()
	web, err := ctx.App("http")
	if err != nil {
		b.Fatal(err)
	}
	app, err := ctx.App("tollgate.gateway")
	if err != nil {
		b.Fatal(err)
	}
	for _, server := range web.(*caddyhttp.App).Servers {
		return server, app.(*gatewayapp.App)
	}
	b.Fatal("there is no server")
	return nil, nil
}

func chatRequest(stream bool) string {
	return fmt.Sprintf(`{"model":"keychain-low","stream":%v,"max_tokens":256,"messages":[{"role":"system","content":"You are helpful."},{"role":"user","content":%q}]}`,
		stream, strings.Repeat("It should cost neither of them much. ", 23))
}

func chatReply() string {
	text, _ := json.Marshal(strings.Repeat("It should cost neither of them much. ", 12))
	return `{"id":"chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT","object":"chat.completion","created":1741569952,"model":"gpt-5.4-nano-2026-03-17",` +
		`"choices":[{"index":0,"message":{"role":"assistant","content":` + string(text) + `,"refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":212,"completion_tokens":101,"total_tokens":313,"prompt_tokens_details":{"cached_tokens":0}}}`
}

func chatStream() string {
	var all bytes.Buffer
	for i := range 100 {
		fmt.Fprintf(&all, `data: {"id":"chatcmpl-B9MHD","object":"chat.completion.chunk","created":1741570283,"model":"gpt-5.4-nano-2026-03-17","choices":[{"index":0,"delta":{"content":" word %d"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"%s"}`+"\n\n",
			i, "abcdefghijklmnop"[:1+i%15])
	}
	all.WriteString(`data: {"id":"chatcmpl-B9MHD","object":"chat.completion.chunk","created":1741570283,"model":"gpt-5.4-nano-2026-03-17","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null}` + "\n\n")
	all.WriteString("data: [DONE]\n\n")
	return all.String()
}
