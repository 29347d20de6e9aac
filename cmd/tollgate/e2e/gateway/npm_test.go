package gateway

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestNodeClients checks the gateway with the SDKs for Node.js. Each file of testdata/npm is a client with its cases,
// which node runs with a separate gateway and upstream.
func TestNodeClients(t *testing.T) {
	t.Parallel()
	program := e2e.NodeProgram(t)
	for _, file := range []string{"messages.mjs", "chat.mjs", "responses.mjs"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			up := e2e.NewUpstream(t)
			up.Answer = up.ForNode
			g := e2e.NewGateway(t, "\t\tcatalog {\n\t\t\tprovider openrouter {\n\t\t\t\tbase_url "+up.URL+"/openrouter/v1\n\t\t\t}\n\t\t}")
			key := g.User("nora", up, "scripted", "scripted", "scripted")
			_, err := g.AddProviderKey(t.Context(), "nora", "openrouter", "sk-or-000000000000", "", func(string) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			once := int64(1)
			limited, err := g.CreateKey(t.Context(), "nora", keychain.KeyOptions{Label: "limited", Limits: keychain.Limits{RateLimitPerMinute: &once}})
			if err != nil {
				t.Fatal(err)
			}
			e2e.RunNode(t, program, file,
				"TOLLGATE_URL="+g.Base, "TOLLGATE_KEY="+key, "TOLLGATE_LIMITED_KEY="+limited.Key, "TOLLGATE_UPSTREAM="+up.URL,
				"TOLLGATE_MODEL=own/1", "TOLLGATE_FAILING_MODEL=own/2", "TOLLGATE_BREAKING_MODEL=own/3",
				"TOLLGATE_STATEFUL_MODEL=openrouter/openai/gpt-oss-20b")
		})
	}
}
