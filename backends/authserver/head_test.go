package authserver_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestHead checks that HEAD requests change nothing on pages whose GET requests do.
func TestHead(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		l := newLive(t, db)
		provider, err := oidc.NewProvider(t.Context(), l.url)
		if err != nil {
			t.Fatal(err)
		}
		head := func(path string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			l.server.Public().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodHead, path, nil))
			return w
		}
		for path, allow := range map[string]string{
			"/oauth/authorize": "GET, POST", "/consent": "GET, POST", "/oauth/logout": "GET, POST", "/oidc/start": "GET", "/oidc/callback": "GET", "/connect/x": "GET", "/connect/x/callback": "GET",
			"/oidc/x/start": "GET", "/oidc/x/callback": "GET",
		} {
			if w := head(path); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != allow {
				t.Errorf("%s: %d %v", path, w.Code, w.Header())
			}
		}
		for _, path := range []string{"/login", "/.well-known/jwks.json", "/.well-known/openid-configuration", "/health"} {
			if w := head(path); w.Code != http.StatusOK {
				t.Errorf("%s: %d", path, w.Code)
			}
		}

		c := l.register(provider, appWithKey+`"none"}`)
		pushed := l.call(http.MethodPost, "/oauth/par", url.Values{
			"client_id": {c.ClientID}, "response_type": {"code"}, "redirect_uri": {c.RedirectURL}, "scope": {"read"}, "code_challenge": {oauth2.S256ChallengeFromVerifier(oauth2.GenerateVerifier())},
			"code_challenge_method": {"S256"},
		}, "")
		target := "/oauth/authorize?" + url.Values{"client_id": {c.ClientID}, "request_uri": {pushed.text("request_uri")}}.Encode()
		head(target)
		location, page := l.answers(target)
		if callback, err := url.Parse(location); err != nil || callback.Query().Get("code") == "" {
			t.Errorf("after a HEAD request it leads to %q: %v %s", location, err, page)
		}
	})
}
