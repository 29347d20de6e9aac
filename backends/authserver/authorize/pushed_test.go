package authorize_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authorize"
	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestPush checks that a pushed request can be used once, by its client, for a limited time.
func TestPush(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		cs := clients.New(k.Server, clients.Options{})
		catalog := resources.New(k.Server, resources.Options{Own: []string{"openid"}})
		s := &authorize.Authorize{Server: k.Server, Clients: cs, Catalog: catalog}
		add := func() *clients.Client {
			c := &clients.Client{AuthMethod: clients.MethodNone, Grants: []string{clients.GrantCode}, Redirects: []string{"https://c.example/cb"}, Source: clients.Admin}
			if _, err := cs.Create(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			return c
		}
		client, other := add(), add()
		request := func(pairs ...string) url.Values {
			v := url.Values{"response_type": {"code"}, "scope": {"openid"}, "state": {"s"}, "code_challenge": {strings.Repeat("c", 43)}, "code_challenge_method": {"S256"}}
			for i := 0; i+1 < len(pairs); i += 2 {
				v.Set(pairs[i], pairs[i+1])
			}
			return v
		}
		push := func() string {
			t.Helper()
			uri, err := s.Push(t.Context(), client, request())
			if err != nil || !strings.HasPrefix(uri, "urn:ietf:params:oauth:request_uri:") {
				t.Fatalf("%q, error %v", uri, err)
			}
			return uri
		}
		come := func(c *clients.Client, uri string) (*authorize.Request, error) {
			return s.Parse(t.Context(), url.Values{"client_id": {c.ID}, "request_uri": {uri}, "state": {"of the browser"}, "scope": {"other"}})
		}
		uri := push()
		if _, err := come(other, uri); err == nil {
			t.Error("another client has used the request")
		}
		if r, err := come(client, uri); err != nil || string(r.State) != "s" || r.Redirect != "https://c.example/cb" || len(r.Scope) != 1 || r.Scope[0] != "openid" {
			t.Errorf("%+v, error %v", r, err)
		}
		if _, err := come(client, uri); err == nil {
			t.Error("it is accepted twice")
		}
		uri = push()
		k.Clock.Pass(authorize.PushedLife)
		if _, err := come(client, uri); err == nil {
			t.Error("it is accepted after its expiry")
		}
		if n, err := s.Sweep(t.Context()); n != 1 || err != nil {
			t.Errorf("%d swept, error %v", n, err)
		}
		// Unknown and overlong parameters are not stored, since anybody may push a request.
		long := strings.Repeat("x", 20_000)
		uri, err := s.Push(t.Context(), client, request("unknown", long, "login_hint", long, "id_token_hint", long, "ui_locales", long))
		if err != nil {
			t.Fatal(err)
		}
		var size int
		if err := k.Read(t.Context(), func(c store.Conn) error {
			return c.Row("SELECT length(request) FROM authserver_pushed").Scan(&size)
		}); err != nil || size > 1000 {
			t.Errorf("%d bytes are kept, error %v", size, err)
		}
		if _, err := come(client, uri); err != nil {
			t.Error(err)
		}
		for name, bad := range map[string]url.Values{
			"another client": request("client_id", other.ID), "request_uri": request("request_uri", push()), "redirect": request("redirect_uri", "https://evil.example/"),
			"no challenge": request("code_challenge", ""), "scope": request("scope", "x"), "response": request("response_type", "token"),
		} {
			if uri, err := s.Push(t.Context(), client, bad); err == nil {
				t.Errorf("%s: %s", name, uri)
			}
		}
		if _, err := come(client, "urn:ietf:params:oauth:request_uri:x"); err == nil {
			t.Error("an unknown request is accepted")
		}
	})
}
