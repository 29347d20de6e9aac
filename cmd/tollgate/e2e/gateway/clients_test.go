package gateway

import (
	"os"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/doctest"
)

// TestClients runs agents and SDKs of several vendors, unmodified, against the gateway. Clients made for Azure OpenAI
// are configured with the lines of docs/how-to/azure-clients.md.
func TestClients(t *testing.T) {
	t.Parallel()
	program := e2e.NodeProgram(t)
	up := e2e.NewUpstream(t)
	up.Answer = up.ForNode
	page, err := os.ReadFile("../../../../docs/how-to/azure-clients.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks, _ := doctest.Blocks(string(page))
	g := e2e.NewGateway(t, "", "\ttollgate gateway\n", blocks[0].Text)
	key := g.User("nora", up, "scripted")
	e2e.RunNode(t, program, "clients.mjs",
		"TOLLGATE_URL="+g.Base, "TOLLGATE_KEY="+key, "TOLLGATE_LIMITED_KEY="+key, "TOLLGATE_UPSTREAM="+up.URL,
		"TOLLGATE_MODEL=own/1", "TOLLGATE_FAILING_MODEL=own/1", "TOLLGATE_BREAKING_MODEL=own/1", "TOLLGATE_STATEFUL_MODEL=own/1")
}
