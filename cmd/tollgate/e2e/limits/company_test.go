package limits

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// Models that the company's provider keys pay for.
const (
	model     = "openai/gpt-5.4-nano"
	embedding = "openai/text-embedding-3-small"
)

// call sends a request on behalf of a user, and expects a status.
type call func(method, path, body string, status int) *e2e.Answer

// company is a gateway with an operator, whose provider keys pay for requests.
type company struct {
	*e2e.Gateway
	t        *testing.T
	up       *e2e.Upstream
	operator call
	as       func(user string) call
}

// newCompany starts a gateway with additional lines in its directive.
func newCompany(t *testing.T, lines string) *company {
	t.Helper()
	up := e2e.NewUpstream(t)
	providers := ""
	for _, code := range []string{"openai", "groq"} {
		providers += "\t\t\tprovider " + code + " {\n\t\t\t\tbase_url " + up.URL + "/v1\n\t\t\t\tapi_key sk-operator-0123456789\n\t\t\t}\n"
	}
	g := e2e.NewGateway(t, "\t\tcatalog {\n"+providers+"\t\t}", "\ttollgate gateway\n",
		"\ttollgate gateway {\n\t\toperators {\n\t\t\tuser boss\n\t\t}\n"+lines+"\t}\n")
	documented := e2e.NewDocumented(t, g.Base)
	callAs := func(user string) call {
		return documented.As(strings.TrimSpace(g.Tool("keychain", "token", user))).Call
	}
	return &company{Gateway: g, t: t, up: up, as: callAs, operator: callAs("boss")}
}

// team makes a team with members and returns its id.
func (c *company) team(name string, members ...string) (id string) {
	c.t.Helper()
	id = gjson.Get(c.operator("POST", "/operator/teams", fmt.Sprintf(`{"name":%q}`, name), 201).Body, "id").Str
	for _, user := range members {
		c.operator("PUT", "/operator/teams/"+id+"/members/"+user, "", 204)
	}
	return id
}

// limit replaces the limits at a path below /operator.
func (c *company) limit(path, limits string) {
	c.t.Helper()
	c.operator("PUT", "/operator/"+path+"/limits", limits, 200)
}

// ask sends a chat request with a key.
func (c *company) ask(key, model string) *e2e.Answer {
	c.t.Helper()
	a := e2e.Ask(c.t.Context(), c.Base, key, e2e.Prompt(model, false))
	if a.Err != nil {
		c.t.Fatal(a.Err)
	}
	return a
}

// passes sends a chat request and expects that it succeeds.
func (c *company) passes(key string) *e2e.Answer {
	c.t.Helper()
	a := c.ask(key, model)
	if a.Status != http.StatusOK {
		c.t.Errorf("status %d: %s", a.Status, a.Body)
	}
	return a
}

// refusal is the answer to a request that exceeds a limit.
type refusal struct {
	status int
	text   string // a part of the message
}

// of returns an error that describes how an answer differs from the refusal, or nil.
func (r refusal) of(a *e2e.Answer) error {
	message := gjson.Get(a.Body, "error.message").Str
	if message == "" {
		message = gjson.Get(a.Body, "message").Str // the Converse API has it here
	}
	if a.Status != r.status || !strings.Contains(message, r.text) {
		return fmt.Errorf("status %d %s, want %d with %q", a.Status, a.Body, r.status, r.text)
	}
	return nil
}

// want fails the test unless an answer is the refusal.
func (r refusal) want(t *testing.T, name string, a *e2e.Answer) {
	t.Helper()
	if err := r.of(a); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}
