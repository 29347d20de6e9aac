package authorize_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authorize"
	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

const callback = "https://app.example/cb?keep=1"

func newAuthorize(tb testing.TB) (*authorize.Authorize, string) {
	tb.Helper()
	k := authtest.SQLite(tb)
	a := &authorize.Authorize{Server: k.Server, Clients: clients.New(k.Server, clients.Options{}), Catalog: resources.New(k.Server, resources.Options{Own: []string{"openid"}})}
	c := &clients.Client{AuthMethod: clients.MethodNone, Source: clients.Admin, Grants: []string{clients.GrantCode}, Redirects: []string{callback}}
	if _, err := a.Clients.Create(context.Background(), c); err != nil {
		tb.Fatal(err)
	}
	return a, c.ID
}

// FuzzParse checks that a response always goes to a registered redirect URI, and that an accepted request has a code
// challenge and valid scopes.
func FuzzParse(f *testing.F) {
	a, id := newAuthorize(f)
	challenge := strings.Repeat("c", 43)
	f.Add("client_id=ID&response_type=code&scope=openid&code_challenge=" + challenge + "&code_challenge_method=S256&state=s")
	f.Add("client_id=ID&client_id=ID&redirect_uri=https%3A%2F%2Fevil.example")
	f.Add("client_id=ID&response_type=code&state=%ff%00&code_challenge_method=S256&code_challenge=" + challenge)
	f.Add("client_id=ID&state=%0d%0aLocation: x&prompt=none&max_age=99999999999999999999")
	f.Fuzz(func(t *testing.T, query string) {
		values, err := url.ParseQuery(strings.ReplaceAll(query, "ID", id))
		if err != nil {
			return
		}
		r, err := a.Parse(t.Context(), values)
		refusal, refused := errors.AsType[*authorize.RefusalError](err)
		switch {
		case err == nil:
			if r.Redirect != callback || len(r.Challenge) != 43 || len(r.Scope) > 1 || len(values["state"]) > 1 || string(r.State) != values.Get("state") {
				t.Fatalf("accepted %+v", r)
			}
			if opened, _, err := a.Open(t.Context(), a.Seal(r, "visit"), "visit"); err != nil || string(opened.State) != string(r.State) {
				t.Fatalf("comes back as %+v: %v", opened, err)
			}
		case refused:
			location := a.Refused(refusal).Location()
			if !strings.HasPrefix(location, callback+"&error=") || strings.ContainsAny(location, "\r\n #") || !strings.Contains(location, "&iss=https%3A%2F%2Fas.example") {
				t.Fatalf("leads to %q", location)
			}
		default:
			if e, ok := apierror.From(err); !ok || e.Status != 400 {
				t.Fatalf("refused by %v", err)
			}
		}
	})
}

// TestCeiling checks that a client that registered itself, with a grant that involves no user, cannot ask a user for
// more than the default scope.
func TestCeiling(t *testing.T) {
	t.Parallel()
	k := authtest.SQLite(t)
	cs := clients.New(k.Server, clients.Options{
		Mode: clients.Open, Grants: []string{clients.GrantCode, clients.GrantClient}, DefaultScope: []string{"openid"},
	})
	a := &authorize.Authorize{Server: k.Server, Clients: cs, Catalog: resources.New(k.Server, resources.Options{Own: []string{"openid", "email"}})}
	c, _, _, err := cs.Register(t.Context(), []byte(`{"redirect_uris":["https://c.example/cb"],"grant_types":["authorization_code","client_credentials"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for scope, code := range map[string]string{"openid": "", "email": "invalid_scope"} {
		_, err := a.Parse(t.Context(), url.Values{
			"client_id": {c.ID}, "response_type": {"code"}, "scope": {scope}, "code_challenge": {strings.Repeat("c", 43)}, "code_challenge_method": {"S256"},
		})
		refusal, ok := apierror.From(err)
		if code == "" && err != nil || code != "" && (!ok || refusal.Code != code) {
			t.Errorf("%s: error %v", scope, err)
		}
	}
}
