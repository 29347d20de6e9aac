package authserver

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// person is a browser in which somebody goes from an application to the authorization
// server and back, to backTo.
type person struct {
	t *testing.T
	c *http.Client
}

func newPerson(t *testing.T) *person {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &person{t: t}
	p.c = &http.Client{Jar: jar, Timeout: e2e.StartLimit, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), backTo) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	return p
}

var (
	formAction  = regexp.MustCompile(`<form[^>]*method="post"[^>]*action="([^"]*)"|<form[^>]*action="([^"]*)"[^>]*method="post"`)
	formInput   = regexp.MustCompile(`<input[^>]*>`)
	inputMember = regexp.MustCompile(`(name|value|type)="([^"]*)"`)
)

// page reads what came: the end of the way, or a page with its form.
func (p *person) page(response *http.Response, err error) (end *url.URL, at *url.URL, form url.Values, text string) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		p.t.Fatal(err)
	}
	if location, err := response.Location(); err == nil {
		return location, nil, nil, ""
	}
	text, form = string(body), make(url.Values)
	at = response.Request.URL
	if action := formAction.FindStringSubmatch(text); action != nil {
		if at, err = at.Parse(html.UnescapeString(action[1] + action[2])); err != nil {
			p.t.Fatal(err)
		}
	}
	for _, input := range formInput.FindAllString(text, -1) {
		member := make(map[string]string)
		for _, m := range inputMember.FindAllStringSubmatch(input, -1) {
			member[m[1]] = html.UnescapeString(m[2])
		}
		if member["name"] != "" {
			form.Add(member["name"], member["value"])
		}
	}
	return nil, at, form, text
}

// approve goes the whole way: sign in, allow. It returns the code.
func (p *person) approve(authorize, email, password string) (code string) {
	p.t.Helper()
	return p.approves(authorize, email, password).Get("code")
}

// approves is approve that returns all of the answer.
func (p *person) approves(authorize, email, password string) (answer url.Values) {
	p.t.Helper()
	end, at, form, text := p.page(p.c.Get(authorize)) //nolint:noctx // page does
	for range 3 {
		if end != nil {
			break
		}
		switch {
		case form.Has("password"):
			form.Set("email", email)
			form.Set("password", password)
		case form.Has("scopes"):
			form.Set("action", "allow")
		default:
			p.t.Fatalf("a page that nobody expects:\n%s", text)
		}
		end, at, form, text = p.page(p.c.PostForm(at.String(), form)) //nolint:noctx // page does
	}
	if end == nil || end.Query().Get("code") == "" {
		p.t.Fatalf("the way ends at %v:\n%s", end, text)
	}
	return end.Query()
}

// TestAuthserverEdge: a client that knows only the address of a service finds the
// authorization server, registers, and signs a person in; its token opens the service, in
// this process and in another, until it is revoked.
func TestAuthserverEdge(t *testing.T) {
	t.Parallel()
	const email, password = "ann@example.com", "a long pass phrase of Ann"
	as, here, there := e2e.FreePort(t), e2e.FreePort(t), e2e.FreePort(t)
	issuer := "http://localhost:" + as
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
`, port, issuer, here)
	}
	const global = "{\n\tadmin unix/data/admin.sock\n\tpersist_config off\n\tstorage file_system data/caddy\n\tgrace_period 30s\n}\n"
	n := e2e.NewNode(t, global+"http://localhost:"+as+" {\n\ttollgate authserver {\n\t\tconfig config.yaml\n\t}\n}\n"+service(here))
	writeKeys(n, fmt.Sprintf(`
server: {issuer: %q}
resources:
  - {slug: notes, uri: "http://localhost:%s/mcp", display_name: Notes, scopes: [{name: "notes:read"}, {name: "notes:write"}]}
`, issuer, here))
	n.Start()
	other := e2e.NewNode(t, global+service(there)).Start()
	answersWith(t, issuer+"/ready", http.StatusOK)
	var made struct{ ID string }
	add := pipe(n, password+"\n", "authserver", "user", "add", email, "--json")
	if err := json.Unmarshal([]byte(add), &made); err != nil || made.ID == "" {
		t.Fatalf("%v: %s", err, add)
	}

	// The way of a client: the challenge, the resource, the server, registration.
	refused := e2e.Get(t, e2e.Client, "http://localhost:"+here+"/mcp", "")
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
	decode := func(a *e2e.Answer, status int, into any) {
		t.Helper()
		if err := json.Unmarshal([]byte(a.Body), into); err != nil || a.Status != status {
			t.Fatalf("%d %v %s", a.Status, err, a.Body)
		}
	}
	decode(e2e.Get(t, e2e.Client, challenge[1], ""), http.StatusOK, &resource)
	if len(resource.Servers) != 1 || resource.Resource != "http://localhost:"+here+"/mcp" {
		t.Fatalf("%+v", resource)
	}
	decode(e2e.Get(t, e2e.Client, resource.Servers[0]+"/.well-known/oauth-authorization-server", ""), http.StatusOK, &server)
	if server.Issuer != issuer {
		t.Fatalf("%+v", server)
	}
	var registered struct {
		ID string `json:"client_id"`
	}
	decode(e2e.Do(t, e2e.Client, http.MethodPost, server.Register, "", `{"client_name":"Reader","redirect_uris":["`+backTo+`"],"token_endpoint_auth_method":"none","grant_types":["authorization_code","refresh_token"]}`,
		"Content-Type", "application/json"), http.StatusCreated, &registered)

	verifier := strings.Repeat("v", 43)
	sum := sha256.Sum256([]byte(verifier))
	code := newPerson(t).approve(server.Authorize+"?"+url.Values{
		"response_type": {"code"}, "client_id": {registered.ID}, "redirect_uri": {backTo}, "scope": {"notes:read"}, "resource": {resource.Resource}, "state": {"s"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}.Encode(), email, password)
	post := func(target string, form url.Values) *e2e.Answer {
		t.Helper()
		return e2e.Do(t, e2e.Client, http.MethodPost, target, "", form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	}
	var tokens struct {
		Access string `json:"access_token"`
	}
	decode(post(server.Token, url.Values{"grant_type": {"authorization_code"}, "client_id": {registered.ID}, "code": {code}, "redirect_uri": {backTo}, "code_verifier": {verifier}}), http.StatusOK, &tokens)

	want := "for " + made.ID + " by " + registered.ID
	for _, port := range []string{here, there} {
		if a := e2e.Get(t, e2e.Client, "http://localhost:"+port+"/mcp", tokens.Access); a.Status != http.StatusOK || a.Body != want {
			t.Errorf("%s: %d %s %v", port, a.Status, a.Body, a.Header)
		}
	}
	if a := e2e.Get(t, e2e.Client, "http://localhost:"+here+"/mcp", tokens.Access+"x"); a.Status != http.StatusUnauthorized || !strings.Contains(a.Header.Get("WWW-Authenticate"), `error="invalid_token"`) {
		t.Errorf("another token: %d %v", a.Status, a.Header)
	}
	if a := post(server.Revoke, url.Values{"token": {tokens.Access}, "client_id": {registered.ID}}); a.Status != http.StatusOK {
		t.Fatalf("revoking: %d %s", a.Status, a.Body)
	}
	if a := e2e.Get(t, e2e.Client, "http://localhost:"+here+"/mcp", tokens.Access); a.Status != http.StatusUnauthorized {
		t.Errorf("revoked, where the server is: %d %s", a.Status, a.Body)
	}
	if a := e2e.Get(t, e2e.Client, "http://localhost:"+there+"/mcp", tokens.Access); a.Status != http.StatusOK {
		t.Errorf("revoked, elsewhere, before its end: %d %s", a.Status, a.Body)
	}
	other.Stop()
	n.Stop()
}

// pipe is Tool with a standard input.
func pipe(n *e2e.Node, input string, args ...string) string {
	n.T.Helper()
	cmd := exec.CommandContext(n.T.Context(), e2e.Binary, args...)
	cmd.Dir, cmd.Env = n.Dir, n.Env
	cmd.Stdin = strings.NewReader(input)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		n.T.Fatalf("tollgate %s: %v\n%s%s", strings.Join(args, " "), err, out, errs.String())
	}
	return string(out)
}
