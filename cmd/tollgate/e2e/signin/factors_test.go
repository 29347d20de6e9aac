package signin

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestSecondFactors runs the cases of testdata/npm/factors.mjs, with Chromium's virtual authenticator and codes of an
// app.
func TestSecondFactors(t *testing.T) {
	t.Parallel()
	n, base, _ := e2e.NewAuthserver(t, `
server: {address: '127.0.0.1:PORT', issuer: 'http://localhost:PORT'}
admin: {address: ':ADMIN'}
session: {second_factor: required}
data_encryption: {driver: aes_master, aes_master: {key_env: MASTER}}
`, "MASTER="+strings.Repeat("0123456789abcdef", 4))
	e2e.AnswersWith(t, base+"/ready", http.StatusOK)
	password := func(email string) string {
		return strings.TrimSpace(n.Tool("authserver", "user", "add", email, "--generate", "--config", "config.yaml"))
	}
	e2e.RunBrowser(t, "factors.mjs", "BASE="+base, "PASSWORD="+password("ann@example.com"), "OTHER="+password("bob@example.com"), "SHOTS="+os.Getenv("TOLLGATE_SHOTS"))
	if out := n.Tool("authserver", "user", "reset-factors", "ann@example.com", "--config", "config.yaml"); out == "" {
		t.Error("nothing is said of what was reset")
	}
	n.Stop()
}
