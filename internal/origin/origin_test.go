package origin_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/origin"
)

func TestOf(t *testing.T) {
	t.Parallel()
	ask := func(secure bool) *http.Request {
		r := httptest.NewRequest(http.MethodGet, "/a", http.NoBody)
		r.Host = "www.example.com:8443"
		r.Header.Set("X-Forwarded-Proto", "https") // not trusted, so it must not count
		r.Header.Set("X-Forwarded-Host", "evil.example")
		if r.TLS = nil; secure {
			r.TLS = new(tls.ConnectionState)
		}
		return r
	}
	for name, c := range map[string]struct {
		secure bool
		said   *string
		want   string
	}{
		"plain":             {false, nil, "http"},
		"TLS":               {true, nil, "https"},
		"https before":      {false, new("https"), "https"},
		"http before":       {true, new("http"), "http"},
		"two proxies":       {false, new("HTTPS , http"), "https"},
		"nothing said":      {true, new(""), "https"},
		"another word":      {false, new("wss"), "http"},
		"an address":        {false, new("https://evil.example"), "http"},
		"an empty first":    {true, new(",http"), "https"},
		"a list of nothing": {false, new(", "), "http"},
	} {
		r := ask(c.secure)
		if c.said != nil {
			r = origin.Pass(r, *c.said)
		}
		if got := origin.Of(r); got != c.want+"://www.example.com:8443" {
			t.Errorf("%s: %s", name, got)
		}
	}
}
