package signin

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestUpstreamProvider runs the cases of testdata/npm/upstream.mjs, in which people sign in with another OpenID
// provider and connect to it. The provider runs on Node.js.
func TestUpstreamProvider(t *testing.T) {
	t.Parallel()
	provider, app := "http://localhost:"+e2e.FreePort(t), "http://localhost:"+e2e.FreePort(t)
	n, base, admin := e2e.NewAuthserver(t, `
server: {address: '127.0.0.1:PORT', issuer: 'http://localhost:PORT', allow_networks: [127.0.0.0/8]}
admin: {address: ':ADMIN'}
rate_limit: {enabled: false}
oidc:
  enabled: true
  issuer: '`+provider+`'
  client_id: people
  client_secret: a secret of people, long enough
  redirect_uri: 'http://localhost:PORT/oidc/callback'
  display_name: The Company
data_encryption: {driver: aes_master, aes_master: {key_env: MASTER}}
connect: {state_secret: a secret of the way there and back, allowed_return_urls: ['`+app+`/done']}
broker_providers:
  - slug: chat
    display_name: Chat
    protocol: oauth
    config_data:
      client_id: chat
      client_secret_ref: CONNECTOR_CHAT
      authorize_url: '`+provider+`/auth'
      token_url: '`+provider+`/token'
      extra_auth_params: {prompt: consent}
resources:
  - {slug: chat-api, backend_kind: broker, broker_provider_slug: chat, scopes: [{name: who, upstream: [openid, offline_access]}]}
`, "MASTER="+strings.Repeat("0123456789abcdef", 4), "CONNECTOR_CHAT=a secret of chat, long enough")
	e2e.AnswersWith(t, base+"/ready", http.StatusOK)
	e2e.RunBrowser(t, "upstream.mjs", "PROVIDER="+provider, "BASE="+base, "ADMIN="+admin, "APP="+app, "SHOTS="+os.Getenv("TOLLGATE_SHOTS"))
	n.Stop()
}
