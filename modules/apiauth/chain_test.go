package apiauth

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	_ "github.com/tollgate-gateway/tollgate/modules/apierrors"
	_ "github.com/tollgate-gateway/tollgate/modules/budget"
)

// discard is a ResponseWriter that adds no cost to a measurement.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

// BenchmarkChain measures the cost of the handlers before a model route, which is the difference between "bare" and
// "chain".
func BenchmarkChain(b *testing.B) {
	s := start(b)
	_, key, _, err := s.service.InitUser(b.Context(), "alice")
	if err != nil {
		b.Fatal(err)
	}
	limit := int64(1_000_000_000)
	key, err = s.service.CreateKey(b.Context(), "alice", keychain.KeyOptions{Label: "bench", Limits: keychain.Limits{RateLimitPerMinute: &limit}})
	if err != nil {
		b.Fatal(err)
	}
	answer := caddyhttp.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
		w.WriteHeader(http.StatusOK)
		return nil
	})
	around := func(id, config string, next caddyhttp.Handler) caddyhttp.Handler {
		loaded, err := s.ctx.LoadModuleByID("http.handlers."+id, json.RawMessage(config))
		if err != nil {
			b.Fatal(err)
		}
		handler := loaded.(caddyhttp.MiddlewareHandler)
		return caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error { return handler.ServeHTTP(w, r, next) })
	}
	const (
		errors = `{"format":"chat_completions"}`
		limits = `{"key":"{http.auth.user.key_id}","limit":"{http.auth.user.rate_limit_per_minute}"}`
	)
	for _, chain := range []struct {
		name    string
		handler caddyhttp.Handler
	}{
		{"bare", answer},
		{"api_errors", around("api_errors", errors, answer)},
		{"api_auth", around("api_auth", gatewayKeyJSON, answer)},
		{"api_auth and budget", around("api_auth", gatewayKeyJSON, around("budget", limits, answer))},
		{"chain", around("api_errors", errors, around("api_auth", gatewayKeyJSON, around("budget", limits, answer)))},
	} {
		b.Run(chain.name, func(b *testing.B) {
			req := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/v1/chat/completions", nil)
			b.ReportAllocs()
			for b.Loop() {
				req.Header = http.Header{"Authorization": {"Bearer " + key.Key}, "Content-Type": {"application/json"}, "Accept": {"*/*"}}
				w := discard{http.Header{"Server": {"Caddy"}}}
				r := caddyhttp.PrepareRequest(req, caddy.NewReplacer(), w, nil)
				if err := chain.handler.ServeHTTP(w, r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
