package admin_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
)

// TestVersions checks that a change with an outdated If-Match is refused with status 412 and changes nothing.
func TestVersions(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		a := newAPI(t, k, "data_encryption: {driver: aes_master, aes_master: {key_env: MASTER}}", map[string]string{"MASTER": master})
		send := func(method, path, body, match string, status int) string {
			t.Helper()
			a.clock.Pass(1_000_000)
			r := httptest.NewRequest(method, "/admin"+path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+key)
			if match != "" {
				r.Header.Set("If-Match", match)
			}
			w := httptest.NewRecorder()
			a.Admin().ServeHTTP(w, r)
			a.checkDocumented(r, w)
			if w.Code != status {
				t.Fatalf("%s %s: %d %s, want %d", method, path, w.Code, w.Body, status)
			}
			if tag := w.Header().Get("ETag"); method == "GET" {
				repeated, unchanged := httptest.NewRequest(method, "/admin"+path, nil), httptest.NewRecorder()
				repeated.Header.Set("Authorization", "Bearer "+key)
				repeated.Header.Set("If-None-Match", tag)
				if a.Admin().ServeHTTP(unchanged, repeated); unchanged.Code != http.StatusNotModified || unchanged.Body.Len() > 0 {
					t.Errorf("%s with If-None-Match: %d %s", path, unchanged.Code, unchanged.Body)
				}
			}
			if status == http.StatusPreconditionFailed && (w.Header().Get("Content-Type") != "application/problem+json" || w.Header().Get("ETag") != "") {
				t.Errorf("%s %s: %v", method, path, w.Header())
			}
			return w.Header().Get("ETag")
		}
		client := a.do("POST", "/clients", `{"client_name":"C","grant_types":["client_credentials"],"jwks_uri":"https://c.example/<keys>","token_endpoint_auth_method":"private_key_jwt"}`, 201)["client_id"].(string)
		user := a.do("POST", "/users", `{"email":"ann@example.com"}`, 201)["id"].(string)
		a.do("POST", "/resources", `{"slug":"mail","uri":"https://api.example/mail","scopes":[{"name":"read"}]}`, 201)
		a.do("POST", "/broker-providers", `{"slug":"git","protocol":"oauth","config_data":{"client_id": "<c>", "client_secret":"hush"}}`, 201)
		idp := a.do("POST", "/idps", `{"name":"I","issuer":"https://idp.example"}`, 201)["id"].(string)
		policy := a.do("POST", "/xaa/policies", `{"name":"P","idp_id":"`+idp+`"}`, 201)["id"].(string)
		for _, obj := range []struct {
			path, method, first, second string
			acts                        []string // further changes, PATCH without a body
			stays                       bool     // the object cannot be deleted
		}{
			{"/clients/" + client, "PATCH", `{"client_name":"D"}`, `{"client_name":"E"}`, []string{"/suspend", "/reactivate", "/revoke"}, false},
			{"/users/" + user, "PATCH", `{"name":"Ann"}`, `{"password":"a long one, of words"}`, []string{"/disable", "/enable"}, false},
			{"/resources/mail", "PATCH", `{"display_name":"Mail"}`, `{"scopes":[]}`, nil, false},
			{"/broker-providers/git", "PATCH", `{"display_name":"Git"}`, `{"config_data":{"client_id":"d","client_secret":"hush2"}}`, nil, false},
			{"/xaa/policies/" + policy, "PUT", `{"name":"Q","idp_id":"` + idp + `"}`, `{"name":"R","idp_id":"` + idp + `","scopes":["read"]}`, nil, false},
			{"/idps/" + idp, "PUT", `{"name":"J","issuer":"https://idp.example"}`, `{"name":"K","issuer":"https://idp.example","enabled":false}`, nil, false},
			{"/settings/dcr", "PATCH", `{"mode":"approved_redirects"}`, `{"mode":"admin_only"}`, nil, true},
		} {
			read := func() string { t.Helper(); return send("GET", obj.path, "", "", 200) }
			old := read()
			if old == "" || read() != old {
				t.Errorf("%s: ETag %q, then %q", obj.path, old, read())
			}
			first := send(obj.method, obj.path, obj.first, old, 200)
			if now := read(); first == old || first != now {
				t.Errorf("%s: %s became %s, and is %s", obj.path, old, first, now)
			}
			send(obj.method, obj.path, obj.second, old, 412)
			send(obj.method, obj.path, obj.second, `"x", W/`+first, 412)
			send(obj.method, obj.path, obj.second, "x", 400)
			for _, act := range obj.acts {
				send("PATCH", obj.path+act, "", old, 412)
			}
			if !obj.stays {
				send("DELETE", obj.path, "", old, 412)
			}
			if now := read(); now != first {
				t.Errorf("%s: a refused change has replaced the version, now %s, before %s", obj.path, now, first)
			}
			second := send(obj.method, obj.path, obj.second, strings.TrimSuffix(first, `"`)+`-gzip"`, 200) // as encode makes it
			if now := read(); second == first || second != now {
				t.Errorf("%s: %s became %s, and is %s", obj.path, first, second, now)
			}
			send(obj.method, obj.path, obj.first, "", 200) // without If-Match
			send(obj.method, obj.path, obj.second, "*", 200)
			for _, act := range obj.acts {
				send("PATCH", obj.path+act, "", read(), 200)
			}
		}
		for _, path := range []string{"/clients/" + client, "/users/" + user, "/resources/mail", "/broker-providers/git", "/xaa/policies/" + policy, "/idps/" + idp} {
			send("DELETE", path, "", send("GET", path, "", "", 200), 204)
			send("DELETE", path, "", "*", 404)
		}
	})
}

// TestVersionsAtOnce checks that only one of several concurrent changes of the same version succeeds.
func TestVersionsAtOnce(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		a := newAPI(t, k, "", nil)
		id := a.do("POST", "/users", `{"email":"ann@example.com"}`, 201)["id"].(string)
		send := func(method, body, match string) *httptest.ResponseRecorder {
			r, w := httptest.NewRequest(method, "/admin/users/"+id, strings.NewReader(body)), httptest.NewRecorder()
			r.Header.Set("Authorization", "Bearer "+key)
			if match != "" {
				r.Header.Set("If-Match", match)
			}
			a.Admin().ServeHTTP(w, r)
			return w
		}
		tag := send("GET", "", "").Header().Get("ETag")
		const attempts = 8
		codes := make(chan int, attempts)
		for i := range attempts {
			go func() { codes <- send("PATCH", `{"name":"`+strings.Repeat("n", i+1)+`"}`, tag).Code }()
		}
		successes := 0
		for range attempts {
			switch code := <-codes; code {
			case http.StatusOK:
				successes++
			case http.StatusPreconditionFailed:
			default:
				t.Errorf("%d", code)
			}
		}
		if successes != 1 {
			t.Errorf("%d of %d changes of the same version succeeded", successes, attempts)
		}
	})
}
