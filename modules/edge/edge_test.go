package edge_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/tollgate-gateway/tollgate/internal/origin"
	"github.com/tollgate-gateway/tollgate/modules/edge"
)

func TestRequest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trusted any
		said    []string
		want    string
	}{
		"a trusted proxy":              {true, []string{"https"}, "https://here.example"},
		"a proxy beside its client":    {true, []string{"http", "https"}, "https://here.example"},
		"a trusted proxy says nothing": {true, nil, "http://here.example"},
		"anybody":                      {false, []string{"https"}, "http://here.example"},
		"nothing is known":             {nil, []string{"https"}, "http://here.example"},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://here.example/", http.NoBody)
		r.Header["X-Forwarded-Proto"] = c.said
		r.Header.Set("X-Forwarded-Host", "evil.example")
		r = r.WithContext(context.WithValue(r.Context(), caddyhttp.VarsCtxKey, map[string]any{caddyhttp.TrustedProxyVarKey: c.trusted, caddyhttp.ClientIPVarKey: "192.0.2.7"}))
		if got := origin.Of(edge.Request(r)); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
		if edge.Address(r) != "192.0.2.7" {
			t.Errorf("%s: the address is %s", name, edge.Address(r))
		}
	}
}

// TestStrippedPath checks the path prefix that a handler has stripped from a request.
func TestStrippedPath(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ original, path, want string }{
		"handle_path":    {"/forum/threads/1", "/threads/1", "/forum"},
		"its root":       {"/forum/", "/", "/forum"},
		"two slashes":    {"//evil.example/threads/1", "/threads/1", ""},
		"nothing":        {"/threads/1", "/threads/1", ""},
		"another change": {"/a/b", "/index.html", ""},
	} {
		r := httptest.NewRequest(http.MethodGet, c.path, http.NoBody)
		original := httptest.NewRequest(http.MethodGet, c.original, http.NoBody)
		r = r.WithContext(context.WithValue(r.Context(), caddyhttp.OriginalRequestCtxKey, *original))
		if got := edge.StrippedPath(r); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := edge.StrippedPath(httptest.NewRequest(http.MethodGet, "/", http.NoBody)); got != "" {
		t.Errorf("outside of Caddy: %q", got)
	}
}
