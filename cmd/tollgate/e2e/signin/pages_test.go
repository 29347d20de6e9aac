package signin

import (
	"os"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestAuthserverPages runs the cases of testdata/npm/authserver_pages.mjs in a headless Chromium without script: the
// pages of the authorization server as people see them.
func TestAuthserverPages(t *testing.T) {
	t.Parallel()
	site := "http://127.0.0.1:" + e2e.FreePort(t)
	n := e2e.NewNode(t, "{\n\tadmin unix/data/admin.sock\n\tpersist_config off\n\ttollgate {\n\t\tdatabase sqlite data/tollgate.db\n\t}\n}\n"+
		site+" {\n\ttollgate authserver {\n\t\tconfig keys.yaml\n\t}\n}\n")
	keys := `server: {issuer: "` + site + `"}
dcr: {mode: open, rate_limit_burst: 100}
rate_limit: {auth_fail_max: 3}
resources:
  - {slug: files, uri: "https://files.example", backend_kind: mint, display_name: Files, scopes: [{name: read, description: See your files}, {name: write, description: Change your files}]}
`
	if err := os.WriteFile(n.Path("keys.yaml"), []byte(keys), 0o600); err != nil {
		t.Fatal(err)
	}
	n.Start()
	password := strings.TrimSpace(n.Tool("authserver", "user", "add", "ann@example.com", "--name", "Ann", "--generate"))
	e2e.RunBrowser(t, "authserver_pages.mjs", "AUTHSERVER_URL="+site, "AUTHSERVER_PASSWORD="+password)
}
