package console

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestConsoleWithAuthserver runs the cases of testdata/npm/all.mjs in a headless Chromium: besides the gateway, the
// console needs only the authorization server.
func TestConsoleWithAuthserver(t *testing.T) {
	t.Parallel()
	port, admin := e2e.FreePort(t), e2e.FreePort(t)
	n := e2e.ShippedAuthserver(t, "all", port, admin).Start()
	gateway := "https://localhost:" + port
	client := n.Trusting()
	e2e.AnswersWith(t, "http://localhost:"+admin+"/metrics", http.StatusOK)
	user := strings.TrimSpace(n.Tool("authserver", "user", "add", "ann@example.com", "--name", "Ann", "--generate", "--json"))
	refused := e2e.Get(t, client, gateway+"/users/ann/keychain-keys", "")
	if want := `Bearer scope="gateway", resource_metadata="` + gateway + `/.well-known/oauth-protected-resource"`; refused.Status != http.StatusUnauthorized || refused.Header.Get("WWW-Authenticate") != want {
		t.Errorf("without a token: %d %v", refused.Status, refused.Header)
	}
	if a := e2e.Get(t, client, gateway+"/.well-known/oauth-protected-resource", ""); a.Status != http.StatusOK || !strings.Contains(a.Body, `"authorization_servers":["https://auth.localhost:`+port+`"]`) {
		t.Errorf("the metadata: %d %s", a.Status, a.Body)
	}
	e2e.RunBrowserBeside(t, "all.mjs", "TOLLGATE_URL="+gateway, "AUTHSERVER_URL=https://auth.localhost:"+port,
		"AUTHSERVER_ADMIN=http://localhost:"+admin, "AUTHSERVER_USER="+user)
	n.Stop()
}
