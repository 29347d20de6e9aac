package admin_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
)

// TestUnstorableTextMatchesNothing checks that text that a database cannot store matches nothing or is refused, and
// does not cause a server error.
func TestUnstorableTextMatchesNothing(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		a := newAPI(t, k, "", nil)
		user := a.do("POST", "/users", `{"email":"ann@example.com"}`, 201)["id"].(string)
		a.do("POST", "/broker-providers", `{"slug":"keys","protocol":"api_key","config_data":{"header_name":"X-Key"}}`, 201)
		idp := a.do("POST", "/idps", `{"name":"I","issuer":"https://idp.example"}`, 201)["id"].(string)
		a.do("POST", "/resources", `{"slug":"mail","uri":"https://api.example/mail"}`, 201)
		for _, call := range []string{
			"GET /clients/<>", "PATCH /clients/<> {}", "DELETE /clients/<>", "PATCH /clients/<>/suspend", "POST /clients/<>/rotate-secret", "POST /clients/<>/refresh",
			"GET /users/<>", "PATCH /users/<> {}", "DELETE /users/<>", "PATCH /users/<>/disable", "PATCH /users/<>/enable", "GET /users/<>/tokens", "DELETE /users/<>/tokens",
			"GET /users/<>/factors", "DELETE /users/<>/factors", "GET /users/<>/grants", "DELETE /grants/consent/<>", "DELETE /grants/broker/<>",
			"GET /resources/<>", "PATCH /resources/<> {}", "DELETE /resources/<>", `POST /resources/<>/policy/runtime/client-ids {"client_id":"x"}`,
			"DELETE /tokens/<>", "GET /issuances/<>", "DELETE /issuances/<>",
			"GET /broker-providers/<>", `PATCH /broker-providers/<> {"display_name":"x"}`, "DELETE /broker-providers/<>",
			"PUT /users/<>/connections/keys {\"api_key\":\"x\"}", "PUT /users/" + user + "/connections/<> {\"api_key\":\"x\"}",
			"GET /idps/<>", `PUT /idps/<> {"name":"x","issuer":"https://x.example"}`, "DELETE /idps/<>", "POST /idps/<>/refresh-keys",
			"GET /xaa/policies/<>", `PUT /xaa/policies/<> {"name":"x","idp_id":"` + idp + `"}`, "DELETE /xaa/policies/<>", "DELETE /xaa/subject-mappings/<>",
			"GET /clients?q=<>", "GET /users?q=<>", "GET /tokens?user=<>", "GET /tokens?client=<>", "GET /tokens?jti=<>", "GET /tokens?resource=<>",
			"GET /audit?action=<>", "GET /audit?actor_id=<>", "GET /audit?client_id=<>", "GET /xaa/policies?idp_id=<>", "GET /xaa/subject-mappings?idp_id=<>",
			`POST /idps {"name":"x","issuer":"https://x.example","audience":"<>"}`, `POST /xaa/policies {"name":"x","idp_id":"<>"}`, `POST /xaa/policies {"name":"x","idp_id":"` + idp + `","resources":["<>"]}`,
			`POST /xaa/subject-mappings {"idp_id":"<>","idp_subject":"x","local_user_id":"x"}`, `POST /xaa/subject-mappings {"idp_id":"` + idp + `","idp_subject":"x","local_user_id":"<>"}`,
			`POST /resources {"slug":"x","uri":"https://x.example","display_name":"<>"}`, `POST /resources {"slug":"y","uri":"https://y.example","broker_provider_id":"<>"}`,
			`POST /resources/mail/policy/runtime/client-ids {"client_id":"<>"}`, `POST /clients {"client_name":"<>","grant_types":["client_credentials"]}`,
			`POST /clients {"client_name":"x","agent":true,"agent_description":"<>","grant_types":["client_credentials"]}`,
			`POST /users {"email":"<>@example.com"}`, `POST /users {"email":"x@example.com","name":"<>"}`, `POST /users {"email":"z@example.com","role":"<>"}`, `PATCH /settings/dcr {"mode":"<>"}`,
			"PUT /users/" + user + "/connections/keys {\"api_key\":\"<>\"}",
			`POST /broker-providers {"slug":"x","protocol":"api_key","display_name":"<>"}`, `POST /broker-providers {"slug":"z","protocol":"api_key","config_data":{"header_name":"<>"}}`,
		} {
			method, rest, _ := strings.Cut(call, " ")
			path, body, _ := strings.Cut(rest, " ")
			path, query, _ := strings.Cut(path, "?")
			for _, bad := range []string{"\x00", "\xff"} {
				r := httptest.NewRequest(method, "/admin/", strings.NewReader(strings.ReplaceAll(strings.ReplaceAll(body, "<>", bad), "\x00", `\u0000`)))
				r.URL.Path, r.URL.RawQuery = "/admin"+strings.ReplaceAll(path, "<>", bad), strings.ReplaceAll(query, "<>", url.QueryEscape(bad))
				r.Header.Set("Authorization", "Bearer "+key)
				w := httptest.NewRecorder()
				a.Admin().ServeHTTP(w, r)
				if w.Code >= http.StatusInternalServerError || strings.Contains(path, "<>") && w.Code != http.StatusNotFound {
					t.Errorf("%s with %q: %d %s", call, bad, w.Code, w.Body)
				}
			}
		}
	})
}
