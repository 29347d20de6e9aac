package console

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestOperators runs the cases of testdata/npm/operators.mjs in a headless Chromium: the console as an operator, an
// auditor and members use it.
func TestOperators(t *testing.T) {
	t.Parallel()
	operated(t, "operators.mjs", "ada", "boss", "ivy", "olga")
}

// TestTeamAdministrators runs the cases of testdata/npm/team_admin.mjs in a headless Chromium: the page on which the
// administrators of a team manage it.
func TestTeamAdministrators(t *testing.T) {
	t.Parallel()
	operated(t, "team_admin.mjs", "boss", "max", "mia", "rob")
}

// operated runs cases on a gateway with the operator boss and the auditor olga, with a token for each user.
func operated(t *testing.T, cases string, users ...string) {
	t.Helper()
	up := e2e.NewUpstream(t)
	catalog := "\t\tcatalog {\n\t\t\tprovider openai {\n\t\t\t\tbase_url " + up.URL + "/v1\n\t\t\t\tapi_key sk-operator-0123456789\n\t\t\t}\n\t\t}"
	g := e2e.NewGateway(t, catalog, "\ttollgate gateway\n",
		"\ttollgate gateway {\n\t\toperators {\n\t\t\tuser boss\n\t\t}\n\t\tauditors {\n\t\t\tuser olga\n\t\t}\n\t}\n")
	tokens := make(map[string]string)
	for _, user := range users {
		tokens[user] = strings.TrimSpace(g.Tool("keychain", "token", user))
	}
	text, err := json.Marshal(tokens)
	if err != nil {
		t.Fatal(err)
	}
	e2e.RunBrowser(t, cases, "TOLLGATE_URL="+g.Base, "TOLLGATE_TOKENS="+string(text))
	g.Stop()
}
