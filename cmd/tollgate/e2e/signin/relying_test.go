package signin

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestRelyingParties runs the cases of testdata/npm/relying.mjs: applications that sign people in with openid-client,
// Passport and Auth.js, also with response_mode=form_post.
func TestRelyingParties(t *testing.T) {
	t.Parallel()
	n, issuer, admin := e2e.NewAuthserver(t, `
server: {address: '127.0.0.1:PORT', issuer: 'http://localhost:PORT'}
admin: {address: '127.0.0.1:ADMIN'}
oauth: {form_post: true}
rate_limit: {enabled: false}
`)
	e2e.AnswersWith(t, issuer+"/ready", http.StatusOK)
	port := e2e.FreePort(t)
	site := "http://localhost:" + port
	var client struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	for _, request := range []struct{ path, body string }{
		{"/admin/users", `{"email":"ann@example.com","name":"Ann Stone","password":"correct horse"}`},
		{"/admin/clients", `{"client_name":"The App","scope":"openid email profile","grant_types":["authorization_code","refresh_token"],` +
			`"redirect_uris":["` + site + `/openid/back","` + site + `/passport/back","` + site + `/auth/callback/tollgate"],` +
			`"post_logout_redirect_uris":["` + site + `/signed-out"]}`},
	} {
		a := e2e.Do(t, e2e.Client, http.MethodPost, admin+request.path, "", request.body)
		if a.Err != nil || a.Status != http.StatusCreated {
			t.Fatalf("%s: %d %s: %v", request.path, a.Status, a.Body, a.Err)
		}
		if err := json.Unmarshal([]byte(a.Body), &client); err != nil {
			t.Fatal(err)
		}
	}
	e2e.RunBrowser(t, "relying.mjs", "ISSUER="+issuer, "CLIENT="+client.ID, "SECRET="+client.Secret, "PORT="+port)
	n.Stop()
}
