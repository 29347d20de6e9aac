package authserver

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

const notes = "https://notes.example/mcp"

var verifier = strings.Repeat("v", 43)

// application is a client together with its user. It can send requests to any node of a server.
type application struct {
	t          *testing.T
	id, secret string // a public client has no secret
	ann        *e2e.Person
	// resource and scope are requested for tokens. The default is reading the notes.
	resource, scope string
}

// register creates a public client by dynamic registration.
func register(t *testing.T, base string) *application {
	t.Helper()
	var client struct {
		ID string `json:"client_id"`
	}
	body := `{"client_name":"Reader","redirect_uris":["` + back + `"],"token_endpoint_auth_method":"none","grant_types":["authorization_code","refresh_token"]}`
	a := e2e.Do(t, e2e.Client, http.MethodPost, base+"/oauth/register", "", body, "Content-Type", "application/json")
	if err := json.Unmarshal([]byte(a.Body), &client); err != nil || a.Status != http.StatusCreated {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	return &application{t: t, id: client.ID, ann: newAnn(t)}
}

// create creates a client with a secret, like an administrator.
func create(t *testing.T, admin, name string, ann *e2e.Person) *application {
	t.Helper()
	return createFor(t, admin, name, ann, notes, "notes:read")
}

// createFor creates a client with a secret that requests a scope of a resource.
func createFor(t *testing.T, admin, name string, ann *e2e.Person, resource, scope string) *application {
	t.Helper()
	var client struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	administer(t, admin, http.MethodPost, "/admin/clients", `{"client_name":"`+name+`","redirect_uris":["`+back+`"],"scope":"`+scope+`",`+
		`"token_endpoint_auth_method":"client_secret_post","grant_types":["authorization_code","refresh_token","client_credentials","urn:ietf:params:oauth:grant-type:token-exchange"]}`, &client)
	return &application{t: t, id: client.ID, secret: client.Secret, ann: ann, resource: resource, scope: scope}
}

// administer calls the administration API, and decodes the answer into result unless result is nil.
func administer(t *testing.T, admin, method, path, body string, result any) {
	t.Helper()
	a := e2e.Do(t, e2e.Client, method, admin+path, "", body, "Content-Type", "application/json")
	if a.Status/100 != 2 {
		t.Fatalf("%s %s: %d %s", method, path, a.Status, a.Body)
	}
	if result != nil {
		if err := json.Unmarshal([]byte(a.Body), result); err != nil {
			t.Fatalf("%s %s: %v: %s", method, path, err, a.Body)
		}
	}
}

// post sends a form with the client's credentials; pairs are its fields. A server that is
// killed does not answer.
func (c *application) post(base, path string, pairs ...string) *e2e.Answer {
	form := url.Values{"client_id": {c.id}}
	if c.secret != "" {
		form.Set("client_secret", c.secret)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, base+path, strings.NewReader(form.Encode()))
	if err != nil {
		return &e2e.Answer{Err: err}
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return e2e.Read(e2e.Client.Do(request)) //nolint:bodyclose // Read does
}

// exchange exchanges a token of the client for a token with fewer rights.
func (c *application) exchange(base, token string) *e2e.Answer {
	return c.post(base, "/oauth/token", "grant_type", "urn:ietf:params:oauth:grant-type:token-exchange", "resource", cmp.Or(c.resource, notes),
		"subject_token", token, "subject_token_type", "urn:ietf:params:oauth:token-type:access_token")
}

// authorize returns the URL at which a browser begins an authorization.
func (c *application) authorize(base string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base + "/oauth/authorize?" + url.Values{
		"response_type": {"code"}, "client_id": {c.id}, "redirect_uri": {back}, "scope": {cmp.Or(c.scope, "notes:read")}, "resource": {cmp.Or(c.resource, notes)}, "state": {"s"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}.Encode()
}

// code returns an authorization code for the client. The person signs in and consents if asked to.
func (c *application) code(base string) string {
	c.t.Helper()
	return c.ann.Approve(c.authorize(base)).Query().Get("code")
}

// codeAtOnce returns an authorization code for a person who has already signed in and consented.
func (c *application) codeAtOnce(base string) (string, error) {
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.authorize(base), nil)
	if err != nil {
		return "", err
	}
	response, err := c.ann.Do(request)
	if err != nil {
		return "", err
	}
	_ = response.Body.Close()
	end, err := response.Location()
	if err != nil || end.Query().Get("code") == "" {
		return "", fmt.Errorf("%d, to %v: %w", response.StatusCode, end, errNoCode)
	}
	return end.Query().Get("code"), nil
}

var errNoCode = errors.New("there is no code")

func (c *application) redeem(base, code string) *e2e.Answer {
	return c.post(base, "/oauth/token", "grant_type", "authorization_code", "code", code, "redirect_uri", back, "code_verifier", verifier)
}

func (c *application) refresh(base, token string) *e2e.Answer {
	return c.post(base, "/oauth/token", "grant_type", "refresh_token", "refresh_token", token)
}

// machine requests a token for the client itself.
func (c *application) machine(base string) *e2e.Answer {
	return c.post(base, "/oauth/token", "grant_type", "client_credentials", "scope", "notes:read", "resource", notes)
}

func (c *application) revoke(base, token string) *e2e.Answer {
	return c.post(base, "/oauth/revoke", "token", token)
}

// active introspects a token and reports whether it is active.
func (c *application) active(base, token string) bool {
	c.t.Helper()
	a := c.post(base, "/oauth/introspect", "token", token)
	var answer struct{ Active bool }
	if err := json.Unmarshal([]byte(a.Body), &answer); err != nil || a.Status != http.StatusOK {
		c.t.Fatalf("introspection: %d %s %v", a.Status, a.Body, a.Err)
	}
	return answer.Active
}

// granted has the tokens of an answer.
type granted struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
}

// read returns the tokens in an answer of the token endpoint, or an error if there are none.
func read(a *e2e.Answer) (g granted, err error) {
	if a.Err != nil {
		return g, a.Err
	}
	if err := json.Unmarshal([]byte(a.Body), &g); err != nil || a.Status != http.StatusOK || g.Access == "" {
		return g, fmt.Errorf("%d %s: %w", a.Status, a.Body, errors.Join(err, errNoToken))
	}
	return g, nil
}

var errNoToken = errors.New("there is no token")

// grants calls read and fails the test if the answer has no tokens.
func (c *application) grants(a *e2e.Answer) granted {
	c.t.Helper()
	g, err := read(a)
	if err != nil {
		c.t.Fatal(err)
	}
	return g
}

// refuses checks that an answer is the error invalid_grant.
func (c *application) refuses(name string, a *e2e.Answer) {
	c.t.Helper()
	if a.Status != http.StatusBadRequest || !strings.Contains(a.Body, `"invalid_grant"`) {
		c.t.Errorf("%s: %d %s %v", name, a.Status, a.Body, a.Err)
	}
}
