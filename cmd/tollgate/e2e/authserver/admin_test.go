package authserver

import (
	"net/http"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestAdminUI is the administration as people use it: the cases of
// testdata/npm/authserver_admin.mjs run in a headless Chromium.
func TestAdminUI(t *testing.T) {
	t.Parallel()
	const key = "an administration key of at least 32 letters"
	n, issuer, admin := newAuthserver(t, `
server: {address: '127.0.0.1:PORT', issuer: 'http://127.0.0.1:PORT'}
admin: {address: '127.0.0.1:ADMIN', api_key: '`+key+`'}
storage: {driver: sqlite, sqlite: {path: authserver.db}}
rate_limit: {enabled: false}
dcr: {mode: open, rate_limit_burst: 1000}
xaa: {enabled: true}
data_encryption: {driver: aes_master, aes_master: {key_env: MASTER}}
resources:
  - {slug: files, uri: 'https://files.example', display_name: Files, scopes: [{name: read, description: See your files}]}
`, "MASTER=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")
	answersWith(t, issuer+"/ready", http.StatusOK)
	e2e.RunBrowser(t, "authserver_admin.mjs", "AUTHSERVER_URL="+issuer, "AUTHSERVER_ADMIN="+admin, "AUTHSERVER_KEY="+key)
	n.Stop()
}
