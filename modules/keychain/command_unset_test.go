package keychain

import (
	"os"
	"strings"
	"testing"
)

// TestEnvironmentUnset checks that a command works without variables that are set for the server alone and that it
// does not use.
func TestEnvironmentUnset(t *testing.T) { // not parallel: commands set Caddy's default logger
	for provider, option := range map[string]string{
		"openai":  "api_key {env.TOLLGATE_TEST_NOT_SET}",
		"groq":    "base_url {env.TOLLGATE_TEST_NOT_SET}",
		"gemini":  "base_url https://{env.TOLLGATE_TEST_NOT_SET}.example/v1",
		"cf":      "param account_id {env.TOLLGATE_TEST_NOT_SET}",
		"mistral": "header X-Team {env.TOLLGATE_TEST_NOT_SET}",
	} {
		t.Run(option, func(t *testing.T) { // not parallel: see above
			t.Chdir(t.TempDir())
			config := "{\n\ttollgate {\n\t\tcatalog {\n\t\t\tprovider " + provider + " {\n\t\t\t\t" + option + "\n\t\t\t}\n\t\t}\n\t}\n}\n"
			if err := os.WriteFile("Caddyfile", []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, _, err := execute(t.Context(), "", "users", "add", "alice"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDatabaseUnset checks that the error names the unset variable that a command needs.
func TestDatabaseUnset(t *testing.T) { // not parallel: see above
	t.Chdir(t.TempDir())
	config := "{\n\ttollgate {\n\t\tdatabase postgres {env.TOLLGATE_TEST_NOT_SET}\n\t}\n}\n"
	if err := os.WriteFile("Caddyfile", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := execute(t.Context(), "", "users", "list")
	if err == nil || !strings.HasSuffix(err.Error(), "the environment variable TOLLGATE_TEST_NOT_SET is not set") {
		t.Error(err)
	}
}
