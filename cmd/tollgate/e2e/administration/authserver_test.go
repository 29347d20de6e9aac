package administration

import (
	"net/http"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// TestAdminUI runs the cases of testdata/npm/authserver_admin.mjs in a headless Chromium: the administration pages as
// administrators use them.
func TestAdminUI(t *testing.T) {
	t.Parallel()
	const key = "an administration key of at least 32 letters"
	smtp := testenv.SMTP(t)
	smtp.Refuse("refused@example.com", "550 no such user")
	n, issuer, admin := e2e.NewAuthserver(t, `
server: {address: '127.0.0.1:PORT', issuer: 'http://127.0.0.1:PORT'}
mail: {url: 'smtp://`+smtp.Address+`', from: 'Accounts <accounts@example.com>'}
admin: {address: '127.0.0.1:ADMIN', api_key: '`+key+`'}
storage: {driver: sqlite, sqlite: {path: authserver.db}}
rate_limit: {enabled: false}
dcr: {mode: open, rate_limit_burst: 1000}
xaa: {enabled: true}
data_encryption: {driver: aes_master, aes_master: {key_env: MASTER}}
resources:
  - {slug: files, uri: 'https://files.example', display_name: Files, scopes: [{name: read, description: See your files}]}
`, "MASTER=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")
	e2e.AnswersWith(t, issuer+"/ready", http.StatusOK)
	e2e.RunBrowser(t, "authserver_admin.mjs", "AUTHSERVER_URL="+issuer, "AUTHSERVER_ADMIN="+admin, "AUTHSERVER_KEY="+key)
	n.Stop()
}

// TestAdminUIMany runs the cases of testdata/npm/authserver_admin_many.mjs: the administration pages with 100,000
// clients and users.
func TestAdminUIMany(t *testing.T) {
	t.Parallel()
	const key = "an administration key of at least 32 letters"
	e2e.OnBoth(t, func(t *testing.T, d e2e.Tables) {
		n, issuer, admin := e2e.PrepareAuthserver(t, `
server: {address: '127.0.0.1:PORT', issuer: 'http://127.0.0.1:PORT'}
admin: {address: '127.0.0.1:ADMIN', api_key: '`+key+`'}
xaa: {enabled: false}
`+d.Storage+"\n")
		const numbers, padded, timestamp = " WITH RECURSIVE n(i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < 100000)", "substr(CAST(1000000 + i AS TEXT), 2)", "1700000000000000 + i * 1000000"
		if err := d.Open(t, n).Write(t.Context(), func(c store.Conn) error {
			_, err := c.Exec("INSERT INTO authserver_clients (id, name, auth_method, redirects, grants, responses, status, source, issued_at, updated_at, seen_at)" + numbers +
				" SELECT 'client-' || " + padded + ", 'Application ' || " + padded + ", 'none', '[\"http://127.0.0.1/cb\"]', '[\"authorization_code\"]', '[\"code\"]', 'active', 'dcr', " + timestamp + ", " + timestamp + ", 4000000000000000 FROM n") // clients that were never used would be deleted
			if err == nil {
				_, err = c.Exec("INSERT INTO authserver_users (id, email, email_key, name, created_at, updated_at)" + numbers +
					" SELECT 'user-' || " + padded + ", 'person' || i || '@example.com', 'person' || i || '@example.com', 'Person ' || i, " + timestamp + ", " + timestamp + " FROM n")
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		n.Start()
		e2e.AnswersWith(t, issuer+"/ready", http.StatusOK)
		e2e.RunBrowser(t, "authserver_admin_many.mjs", "AUTHSERVER_ADMIN="+admin, "AUTHSERVER_KEY="+key)
		n.Stop()
	})
}
