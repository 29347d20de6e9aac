package cms_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/cms"
	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
	"github.com/tollgate-gateway/tollgate/internal/origin"
	"github.com/tollgate-gateway/tollgate/internal/pages/pagestest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestBehindProxy checks that a site behind a proxy that terminates TLS uses https if base_url or a trusted proxy
// says so, and that headers of other clients have no effect.
func TestBehindProxy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		base   string // the option BaseURL
		scheme string // the scheme that a trusted proxy has reported
		want   string // the origin in addresses
		secure bool   // whether cookies are Secure
	}{
		"neither":                      {"", "", "http://example.com", false},
		"trusted proxy":                {"", "https", "https://example.com", true},
		"base URL":                     {"https://www.example.org", "", "https://www.example.org", true},
		"base URL overrides the proxy": {"https://www.example.org:8443", "http", "https://www.example.org:8443", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			databases.OnBoth(t, func(t *testing.T, db *store.DB) {
				s := newSite(t, db, settings.Settings{Auth: settings.Session}, func(o *cms.Options) { o.BaseURL = c.base })
				s.behind(c.scheme, c.want, c.secure)
			})
		})
	}
}

// behind checks the addresses and cookies of a site behind a trusted proxy that reports the given scheme, if any. The
// headers of the client must have no effect.
func (s *site) behind(scheme, want string, secure bool) {
	s.through = func(r *http.Request) *http.Request {
		r.Header.Set("X-Forwarded-Proto", "https")
		r.Header.Set("X-Forwarded-Host", "evil.example")
		return origin.Pass(r, scheme)
	}
	s.expect("GET", "/api/go/echo", "", 200, `{"base":"`+want+`/api","data":{"userId":1},"method":"GET","path":"go/echo","user":"guest"}`)
	w := s.expect("POST", "/api/auth", s.login(), 200, "*", "Origin", want)
	if cookie := w.Result().Cookies()[0]; cookie.Secure != secure {
		s.Errorf("the cookie is %v", cookie)
	}
	s.expect("POST", "/api/go/count", "", 200, `{"n":1}`, "Origin", want)
	s.expect("POST", "/api/go/count", "", 403, "*", "Origin", "https://evil.example")

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.server.ServeHTTP(w, s.through(r)) }))
	s.Cleanup(server.Close)
	p := pagestest.New(s.T, server.URL, false).Get("/admin/login").Want(200)
	if set := strings.Join(p.Header.Values("Set-Cookie"), "\n"); set == "" || strings.Contains(set, "; Secure") != secure {
		s.Errorf("the administration sets %q", set)
	}
}

// TestBehindProxyTokens checks that tokens contain the host that clients use, whatever host name the proxy uses.
func TestBehindProxyTokens(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, settings.Settings{Auth: settings.JWT}, func(o *cms.Options) { o.BaseURL = "https://www.example.org" })
		token := s.issue("/api/auth", s.login()).JWT
		s.through = func(r *http.Request) *http.Request {
			r.Host = "node2.internal:8080"
			return r
		}
		s.expect("GET", "/api/test", "", 200, "*", "Authorization", "Bearer "+token)
	})
}
