package authserver

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestAuthserverBackup checks that a backup contains the signing keys, so that tokens stay valid on another server.
// Without the keys the other server creates new ones, and refresh tokens stay valid.
func TestAuthserverBackup(t *testing.T) {
	t.Parallel()
	const text = `
server: {address: '127.0.0.1:PORT', issuer: 'http://localhost:1'}
admin: {address: '127.0.0.1:ADMIN'}
signing: {key_path: data/signing}
resources:
  - {slug: notes, uri: '` + notes + `', display_name: Notes, scopes: [{name: 'notes:read'}]}
`
	first, base, admin := e2e.NewAuthserver(t, text)
	e2e.AnswersWith(t, base+"/ready", http.StatusOK)
	addAnn(first, "--config", "config.yaml", "--adapter", "authserver")
	app := create(t, admin, "Reader", newAnn(t))
	tokens := app.grants(app.redeem(base, app.code(base)))
	flags := []string{"--config", "config.yaml", "--adapter", "authserver"}
	if output := first.Tool(append([]string{"backup", "whole"}, flags...)...); !strings.Contains(output, "files of authserver") {
		t.Errorf("it says\n%s", output)
	}
	first.Tool(append([]string{"backup", "keyless", "--without-key"}, flags...)...)
	first.Stop()

	restored := func(backup string) (n *e2e.Node, base string) {
		n, base, _ = e2e.PrepareAuthserver(t, text)
		n.Tool(append([]string{"restore", first.Path(backup)}, flags...)...)
		return n, base
	}
	second, base := restored("whole")
	second.Start()
	e2e.AnswersWith(t, base+"/ready", http.StatusOK)
	if !app.active(base, tokens.Access) {
		t.Error("a token is not active where its key was restored")
	}
	if info, err := os.Stat(second.Path("data", "signing")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of keys: %v, error %v", info, err)
	}
	second.Stop()

	third, base := restored("keyless")
	if entries, err := os.ReadDir(third.Path("data", "signing")); err == nil {
		t.Errorf("a backup without keys has %v", entries)
	}
	third.Start()
	e2e.AnswersWith(t, base+"/ready", http.StatusOK)
	if app.active(base, tokens.Access) {
		t.Error("a token is active without its key")
	}
	app.grants(app.refresh(base, tokens.Refresh))
	third.Stop()
}
