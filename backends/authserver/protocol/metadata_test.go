package protocol_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/protocol"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
)

func TestMetadata(t *testing.T) {
	t.Parallel()
	s := newServer(t, authtest.SQLite(t), settings{protocol: protocol.Options{IssuerPath: "/tenant"}})
	const document = `{"issuer":"https://as.example","authorization_endpoint":"https://as.example/oauth/authorize","token_endpoint":"https://as.example/oauth/token",
		"revocation_endpoint":"https://as.example/oauth/revoke","introspection_endpoint":"https://as.example/oauth/introspect","jwks_uri":"https://as.example/.well-known/jwks.json",
		"registration_endpoint":"https://as.example/oauth/register","response_types_supported":["code"],"response_modes_supported":["query"],
		"grant_types_supported":["authorization_code","refresh_token","client_credentials"],
		"token_endpoint_auth_methods_supported":["none","client_secret_basic","client_secret_post","private_key_jwt"],"token_endpoint_auth_signing_alg_values_supported":["ES256","RS256","PS256"],
		"introspection_endpoint_auth_methods_supported":["client_secret_basic","client_secret_post","private_key_jwt"],"introspection_endpoint_auth_signing_alg_values_supported":["ES256","RS256","PS256"],
		"revocation_endpoint_auth_methods_supported":["none","client_secret_basic","client_secret_post","private_key_jwt"],"revocation_endpoint_auth_signing_alg_values_supported":["ES256","RS256","PS256"],
		"code_challenge_methods_supported":["S256"],"scopes_supported":["read","write"],"resource_indicators_supported":true,"authorization_response_iss_parameter_supported":true,
		"protected_resources":["https://api.example/mail"],"agent_identity_supported":true`
	for path, want := range map[string]string{
		"/.well-known/oauth-authorization-server":        document + "}",
		"/.well-known/oauth-authorization-server/tenant": document + "}",
		"/.well-known/openid-configuration":              document + `,"subject_types_supported":["public"],"id_token_signing_alg_values_supported":["ES256"]}`,
	} {
		a := s.do(t, http.MethodGet, path, "", "")
		if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/json" || a.header.Get("Cache-Control") != "public, max-age=300" {
			t.Errorf("%s: %d %v", path, a.status, a.header)
		}
		same(t, a.body, want)
	}
	// With OpenID both documents contain the signing algorithm of ID tokens.
	openID := newServer(t, authtest.SQLite(t), settings{protocol: protocol.Options{OpenID: map[string]any{"userinfo_endpoint": "https://as.example/oauth/userinfo"}}})
	for _, path := range []string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"} {
		if a := openID.do(t, http.MethodGet, path, "", ""); !strings.Contains(a.text, `"id_token_signing_alg_values_supported":["ES256"]`) {
			t.Errorf("%s: %s", path, a.text)
		}
	}
	// A new resource appears in the metadata at once.
	if err := s.catalog.Create(t.Context(), &resources.Resource{Slug: "new", URI: "https://api.example/new", Kind: resources.Mint, Scopes: []resources.Scope{{Name: "add"}}}); err != nil {
		t.Fatal(err)
	}
	if a := s.do(t, http.MethodGet, "/.well-known/oauth-authorization-server", "", ""); len(a.body["scopes_supported"].([]any)) != 3 {
		t.Errorf("%s", a.text)
	}
}

func TestProtectedResource(t *testing.T) {
	t.Parallel()
	s := newServer(t, authtest.SQLite(t), settings{})
	const want = `{"resource":"https://api.example/mail","authorization_servers":["https://as.example"],"scopes_supported":["read","write"],"bearer_methods_supported":["header"],"resource_name":"Mail"}`
	const path = "/.well-known/oauth-protected-resource"
	same(t, s.do(t, http.MethodGet, path+"/mail", "", "").body, want)
	for _, ref := range []string{"", "/", "/far", "/nothing", "/%ff", "/mail/"} {
		if a := s.do(t, http.MethodGet, path+ref, "", ""); a.status != http.StatusNotFound {
			t.Errorf("%s: %d %s", ref, a.status, a.text)
		}
	}
	if err := s.catalog.Create(t.Context(), &resources.Resource{Slug: "deep", URI: "https://api.example/a/b?x=1", Kind: resources.Mint}); err != nil {
		t.Fatal(err)
	}
	if a := s.do(t, http.MethodGet, path+"/a/b", "", ""); a.body["resource"] != "https://api.example/a/b?x=1" || a.body["scopes_supported"] != nil {
		t.Errorf("%d %s", a.status, a.text)
	}
}

func TestJWKS(t *testing.T) {
	t.Parallel()
	s := newServer(t, authtest.SQLite(t), settings{protocol: protocol.Options{Agents: true}})
	a := s.do(t, http.MethodGet, "/.well-known/jwks.json", "", "")
	if list, ok := a.body["agents"].([]any); !ok || len(list) != 0 || len(a.body["keys"].([]any)) != 1 || a.header.Get("Cache-Control") != "public, max-age=300" {
		t.Errorf("%v %s", a.header, a.text)
	}
	agent := &clients.Client{Name: "A", AuthMethod: clients.MethodNone, Agent: true, AgentText: "does", Source: clients.Admin}
	if _, err := s.clients.Create(t.Context(), agent); err != nil {
		t.Fatal(err)
	}
	a = s.do(t, http.MethodGet, "/.well-known/jwks.json", "", "")
	if got := a.body["agents"].([]any)[0].(map[string]any); got["client_id"] != agent.ID || got["description"] != "does" {
		t.Errorf("%s", a.text)
	}
	if a := newServer(t, authtest.SQLite(t), settings{}).do(t, http.MethodGet, "/.well-known/jwks.json", "", ""); a.body["agents"] != nil {
		t.Errorf("%s", a.text)
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	s := newServer(t, authtest.SQLite(t), settings{protocol: protocol.Options{Origins: []string{"https://app.example"}}})
	for _, path := range []string{"/.well-known/jwks.json", "/.well-known/openid-configuration", "/oauth/token", "/oauth/register", "/oauth/revoke", "/oauth/introspect"} {
		method, kind := http.MethodPost, formType
		if path[1] == '.' {
			method, kind = http.MethodGet, ""
		}
		for origin, want := range map[string]string{"https://app.example": "https://app.example", "https://evil.example": "", "null": "", "": ""} {
			for _, method := range []string{method, http.MethodOptions} {
				a := s.do(t, method, path, kind, "", "Origin", origin)
				h := a.header
				if h.Get("Access-Control-Allow-Origin") != want || h.Get("Access-Control-Allow-Credentials") != "" || h.Get("Vary") != "Origin" {
					t.Errorf("%s %s of %q: %v", method, path, origin, h)
				}
				if want != "" && h.Get("Access-Control-Expose-Headers") != "DPoP-Nonce, WWW-Authenticate" {
					t.Errorf("%v", h)
				}
				if method == http.MethodOptions && (a.status != http.StatusNoContent || (want != "") != (h.Get("Access-Control-Allow-Headers") == "Authorization, Content-Type, DPoP, MCP-Protocol-Version")) {
					t.Errorf("%d %v", a.status, h)
				}
			}
		}
	}
	none := newServer(t, authtest.SQLite(t), settings{})
	if a := none.do(t, http.MethodGet, "/.well-known/jwks.json", "", "", "Origin", "https://app.example"); a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%v", a.header)
	}
}
