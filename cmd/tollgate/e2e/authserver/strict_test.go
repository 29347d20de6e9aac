package authserver

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestStrictClient runs the cases of testdata/npm/oauth.mjs, a strict client for Node.js, against a server, a service
// behind the edge, and a server that requires nonces.
func TestStrictClient(t *testing.T) {
	t.Parallel()
	program := e2e.NodeProgram(t)
	public, admin, edge := e2e.FreePort(t), e2e.FreePort(t), e2e.FreePort(t)
	issuer, service := "http://localhost:"+public, "http://localhost:"+edge+"/notes"
	n := e2e.NewNode(t, fmt.Sprintf(`{
	admin unix/data/admin.sock
	persist_config off
	storage file_system data/caddy
}
http://localhost:%s {
	tollgate authserver {
		config config.yaml
	}
}
http://localhost:%s {
	tollgate authserver {
		config config.yaml
		listener admin
	}
}
http://localhost:%s {
	api_errors oauth
	api_auth oauth {
		issuer %s
		audience %s
		scope notes:read
	}
	respond "for {http.auth.user.claim.sub} by {http.auth.user.client_id}"
}
`, public, admin, edge, issuer, service))
	resources := fmt.Sprintf("\nresources: [{slug: notes, uri: %q, scopes: [{name: 'notes:read'}]}]\n", service)
	n.WriteKeys(fmt.Sprintf("server: {issuer: %q}", issuer) + resources)
	n.Start()
	wary, base, wariest := e2e.NewAuthserver(t, "server: {address: '127.0.0.1:PORT', issuer: 'http://localhost:PORT'}\nadmin: {address: ':ADMIN'}\ndpop: {require_nonce: true}"+resources)
	env := append(make([]string, 0, 7), "ISSUER="+issuer, "SERVICE="+service, "OTHER="+base)
	for name, urls := range map[string][2]string{"": {issuer, "http://localhost:" + admin}, "OTHER_": {base, wariest}} {
		e2e.AnswersWith(t, urls[0]+"/ready", http.StatusOK)
		var client struct {
			ID     string `json:"client_id"`
			Secret string `json:"client_secret"`
		}
		administer(t, urls[1], http.MethodPost, "/admin/clients", `{"client_name":"Strict","scope":"notes:read","token_endpoint_auth_method":"client_secret_post",`+
			`"grant_types":["client_credentials","urn:ietf:params:oauth:grant-type:token-exchange"]}`, &client)
		env = append(env, name+"CLIENT="+client.ID, name+"SECRET="+client.Secret)
	}
	e2e.RunNode(t, program, "oauth.mjs", env...)
	wary.Stop()
	n.Stop()
}
