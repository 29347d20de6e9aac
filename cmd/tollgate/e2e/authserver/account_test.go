package authserver

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// accountKeys has the settings of a server on which people register and delete their accounts.
const accountKeys = `
server: {issuer: 'ISSUER'}
mail: {url: 'smtp://MAIL', from: 'Accounts <accounts@example.com>'}
accounts: {registration: open, deletion_grace: 336h}
`

// TestAccount runs the case of testdata/npm/authserver_account.mjs in a headless Chromium without script: from
// registration to deletion.
func TestAccount(t *testing.T) {
	t.Parallel()
	n, issuer, mails := accountSite(t, accountKeys)
	e2e.RunBrowserBeside(t, "authserver_account.mjs", "ISSUER="+issuer, "MAILS_URL="+mails)
	n.Stop()
	if !strings.Contains(n.Logs.String(), `"uri":"/forgot"`) {
		t.Error("there is no access log")
	}
	for _, secret := range []string{"newman@example", "link=", "correct horse", "battery staple"} {
		if strings.Contains(n.Logs.String(), secret) {
			t.Errorf("%s is in the log", secret)
		}
	}
}

// TestLanguages runs the case of testdata/npm/authserver_languages.mjs in a headless Chromium that asks for German.
func TestLanguages(t *testing.T) {
	t.Parallel()
	_, issuer, mails := accountSite(t, accountKeys+"dcr: {mode: open}\n")
	e2e.RunBrowserBeside(t, "authserver_languages.mjs", "ISSUER="+issuer, "MAILS_URL="+mails)
}

// accountSite starts a server with a configuration, and returns its issuer and the URL that serves its mails.
func accountSite(t *testing.T, keys string) (n *e2e.Node, issuer, mailsURL string) {
	t.Helper()
	server := testenv.SMTP(t)
	issuer = "http://localhost:" + e2e.FreePort(t)
	n = e2e.NewNode(t, `{
	admin unix/data/admin.sock
	persist_config off
	storage file_system data/caddy
	tollgate {
		database sqlite data/tollgate.db
	}
}
`+issuer+" {\n\tlog\n\ttollgate authserver {\n\t\tconfig config.yaml\n\t}\n}\n")
	n.WriteKeys(strings.NewReplacer("ISSUER", issuer, "MAIL", server.Address).Replace(keys))
	n.Start()
	e2e.AnswersWith(t, issuer+"/readyz", http.StatusOK)

	// A GET waits for the next mails and returns them.
	mails := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-server.Arrived():
			_ = json.NewEncoder(w).Encode(server.Take())
		case <-time.After(time.Minute):
			http.Error(w, "no mail came", http.StatusGatewayTimeout)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(mails.Close)
	return n, issuer, mails.URL
}
