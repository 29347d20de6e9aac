package authserver_test

import (
	"net/http"
	"testing"
)

// issuerFlips are of who the server is and whom it lets in and trusts.
func issuerFlips() map[string]flip {
	return map[string]flip{
		"server.issuer": {nil, "http://localhost:9000/auth", metadata("issuer"), `"http://localhost:9000"`, `"http://localhost:9000/auth"`},
		"server.allow_networks": {nil, []string{"127.0.0.0/8"}, func(t *testing.T, key keys) string {
			t.Helper()
			return begin(t, keys{"cimd.require_https": false}, key).documented(newDocumentSite(t, documentMembers).URL + "/c.json")
		}, "400", "302"},
		"server.allowed_origins": {nil, []string{"https://app.example"}, func(t *testing.T, key keys) string {
			t.Helper()
			return begin(t, key).public(http.MethodGet, "/.well-known/oauth-authorization-server", "", "Origin", "https://app.example").Header().Get("Access-Control-Allow-Origin")
		}, "", "https://app.example"},
	}
}
