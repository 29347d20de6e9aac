package keychain

import (
	"os"
	"testing"
)

// A provider key that is set in the environment of the server alone keeps no command from
// its work.
func TestProviderKeyUnset(t *testing.T) { //nolint:paralleltest // commands set Caddy's default logger
	t.Chdir(t.TempDir())
	config := "{\n\ttollgate {\n\t\tcatalog {\n\t\t\tprovider openai {\n\t\t\t\tapi_key {env.TOLLGATE_TEST_NOT_SET}\n\t\t\t}\n\t\t}\n\t}\n}\n"
	if err := os.WriteFile("Caddyfile", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := execute(t.Context(), "", "users", "add", "alice"); err != nil {
		t.Error(err)
	}
}
