package authserver

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestAuthserverEdge checks that a client that knows only the address of a service finds the authorization server,
// registers, and signs a person in. Its token gives access to the service, in this process and in another, until the
// token is revoked.
func TestAuthserverEdge(t *testing.T) {
	t.Parallel()
	issuerPort, port1, port2 := e2e.FreePort(t), e2e.FreePort(t), e2e.FreePort(t)
	issuer := "http://localhost:" + issuerPort
	service := func(port string) string {
		return fmt.Sprintf(`
http://localhost:%[1]s {
	api_errors oauth
	api_auth oauth {
		issuer %[2]s
		audience http://localhost:%[3]s/mcp
		scope notes:read
	}
	respond "for {http.auth.user.claim.sub} by {http.auth.user.client_id}"
}
`, port, issuer, port1)
	}
	const global = "{\n\tadmin unix/data/admin.sock\n\tpersist_config off\n\tstorage file_system data/caddy\n\tgrace_period 30s\n}\n"
	n := e2e.NewNode(t, global+"http://localhost:"+issuerPort+" {\n\ttollgate authserver {\n\t\tconfig config.yaml\n\t}\n}\n"+service(port1))
	n.WriteKeys(fmt.Sprintf(`
server: {issuer: %q}
resources:
  - {slug: notes, uri: "http://localhost:%s/mcp", display_name: Notes, scopes: [{name: "notes:read"}, {name: "notes:write"}]}
`, issuer, port1))
	n.Start()
	other := e2e.NewNode(t, global+service(port2)).Start()
	e2e.AnswersWith(t, issuer+"/ready", http.StatusOK)
	var user struct{ ID string }
	add := addAnn(n, "--json")
	if err := json.Unmarshal([]byte(add), &user); err != nil || user.ID == "" {
		t.Fatalf("%v: %s", err, add)
	}

	// A client goes from the challenge to the metadata of the resource, to that of the server, and to registration.
	refused := e2e.Get(t, e2e.Client, "http://localhost:"+port1+"/mcp", "")
	challenge := regexp.MustCompile(`^Bearer scope="notes:read", resource_metadata="([^"]*)"$`).FindStringSubmatch(refused.Header.Get("WWW-Authenticate"))
	if refused.Status != http.StatusUnauthorized || challenge == nil {
		t.Fatalf("%d %v", refused.Status, refused.Header)
	}
	var resource struct {
		Resource string
		Servers  []string `json:"authorization_servers"`
	}
	var server struct {
		Issuer    string
		Authorize string `json:"authorization_endpoint"`
		Token     string `json:"token_endpoint"`
		Register  string `json:"registration_endpoint"`
		Revoke    string `json:"revocation_endpoint"`
	}
	decode := func(a *e2e.Answer, status int, result any) {
		t.Helper()
		if err := json.Unmarshal([]byte(a.Body), result); err != nil || a.Status != status {
			t.Fatalf("%d %v %s", a.Status, err, a.Body)
		}
	}
	decode(e2e.Get(t, e2e.Client, challenge[1], ""), http.StatusOK, &resource)
	if len(resource.Servers) != 1 || resource.Resource != "http://localhost:"+port1+"/mcp" {
		t.Fatalf("%+v", resource)
	}
	decode(e2e.Get(t, e2e.Client, resource.Servers[0]+"/.well-known/oauth-authorization-server", ""), http.StatusOK, &server)
	if server.Issuer != issuer {
		t.Fatalf("%+v", server)
	}
	var registered struct {
		ID string `json:"client_id"`
	}
	decode(e2e.Do(t, e2e.Client, http.MethodPost, server.Register, "", `{"client_name":"Reader","redirect_uris":["`+back+`"],"token_endpoint_auth_method":"none","grant_types":["authorization_code","refresh_token"]}`,
		"Content-Type", "application/json"), http.StatusCreated, &registered)

	verifier := strings.Repeat("v", 43)
	sum := sha256.Sum256([]byte(verifier))
	code := newAnn(t).Approve(server.Authorize + "?" + url.Values{
		"response_type": {"code"}, "client_id": {registered.ID}, "redirect_uri": {back}, "scope": {"notes:read"}, "resource": {resource.Resource}, "state": {"s"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}.Encode()).Query().Get("code")
	post := func(target string, form url.Values) *e2e.Answer {
		t.Helper()
		return e2e.Do(t, e2e.Client, http.MethodPost, target, "", form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	}
	var tokens struct {
		Access string `json:"access_token"`
	}
	decode(post(server.Token, url.Values{"grant_type": {"authorization_code"}, "client_id": {registered.ID}, "code": {code}, "redirect_uri": {back}, "code_verifier": {verifier}}), http.StatusOK, &tokens)

	want := "for " + user.ID + " by " + registered.ID
	for _, port := range []string{port1, port2} {
		if a := e2e.Get(t, e2e.Client, "http://localhost:"+port+"/mcp", tokens.Access); a.Status != http.StatusOK || a.Body != want {
			t.Errorf("%s: %d %s %v", port, a.Status, a.Body, a.Header)
		}
	}
	if a := e2e.Get(t, e2e.Client, "http://localhost:"+port1+"/mcp", tokens.Access+"x"); a.Status != http.StatusUnauthorized || !strings.Contains(a.Header.Get("WWW-Authenticate"), `error="invalid_token"`) {
		t.Errorf("another token: %d %v", a.Status, a.Header)
	}
	if a := post(server.Revoke, url.Values{"token": {tokens.Access}, "client_id": {registered.ID}}); a.Status != http.StatusOK {
		t.Fatalf("revoking: %d %s", a.Status, a.Body)
	}
	if a := e2e.Get(t, e2e.Client, "http://localhost:"+port1+"/mcp", tokens.Access); a.Status != http.StatusUnauthorized {
		t.Errorf("revoked, where the server is: %d %s", a.Status, a.Body)
	}
	if a := e2e.Get(t, e2e.Client, "http://localhost:"+port2+"/mcp", tokens.Access); a.Status != http.StatusOK {
		t.Errorf("revoked, elsewhere, before its end: %d %s", a.Status, a.Body)
	}
	other.Stop()
	n.Stop()
}
