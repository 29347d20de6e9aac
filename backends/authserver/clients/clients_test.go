package clients_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/password"
)

// quick is a slow hash with parameters that make it fast.
var quick = password.Hasher{Params: password.Params{Memory: 64, Passes: 1, Lanes: 1}}

func TestRows(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		ctx := t.Context()
		cs := clients.New(k.Server, clients.Options{Hasher: quick})
		first := &clients.Client{
			Name: "One", AuthMethod: clients.MethodBasic, Redirects: []string{"https://c.example/cb"}, Grants: []string{clients.GrantCode},
			Responses: []string{"code"}, Scope: []string{"a", "b"}, Agent: true, AgentText: "does", Source: clients.Admin,
			Metadata: clients.Metadata{ClientURI: "https://c.example", Contacts: []string{"c@example.com"}, JWKS: clients.RawJSON(`{"keys":[]}`), DPoP: true},
		}
		secret, err := cs.Create(ctx, first)
		if err != nil || len(secret) != 43 || strings.Contains(first.Secret, secret) || strings.HasPrefix(first.ID, "http") {
			t.Fatalf("secret %q, client %+v, error %v", secret, first, err)
		}
		got, err := cs.Find(ctx, first.ID)
		if err != nil || got.Name != "One" || !slices.Equal(got.Scope, first.Scope) || !got.Agent || got.Metadata.ClientURI != "https://c.example" ||
			!got.Metadata.DPoP || !got.IssuedAt.Equal(first.IssuedAt) || !slices.Equal(got.Redirects, first.Redirects) || got.Secret != first.Secret {
			t.Fatalf("%+v, error %v", got, err)
		}
		for _, id := range []string{"other", "a\x00", "\xff"} {
			if _, err := cs.Find(ctx, id); !errors.Is(err, clients.ErrUnknown) {
				t.Errorf("%q: error %v", id, err)
			}
		}
		if _, err := cs.SetStatus(ctx, first.ID, clients.Suspended); err != nil {
			t.Fatal(err)
		}
		if got, err := cs.Find(ctx, first.ID); err != nil || got.Active() {
			t.Errorf("%+v is active after it was suspended, error %v", got, err)
		}
		if _, err := cs.SetStatus(ctx, first.ID, clients.Revoked); err != nil {
			t.Fatal(err)
		}
		if _, err := cs.SetStatus(ctx, first.ID, clients.Active); !errors.Is(err, clients.ErrRevoked) {
			t.Errorf("a revoked client is activated: error %v", err)
		}
		if _, err := cs.SetStatus(ctx, "other", clients.Active); !errors.Is(err, clients.ErrUnknown) {
			t.Errorf("error %v", err)
		}
		second := &clients.Client{Name: "Two or so", AuthMethod: clients.MethodNone, Source: clients.DCR}
		if secret, err := cs.Create(ctx, second); err != nil || secret != "" || second.Secret != "" {
			t.Errorf("a public client has the secret %q, error %v", secret, err)
		}
		for filter, want := range map[clients.Filter]int{{}: 2, {Source: clients.DCR}: 1, {Agent: "true"}: 1, {Agent: "false"}: 1, {Status: clients.Revoked}: 1, {Status: clients.Revoked, Source: clients.DCR}: 0, {Text: "tWO O"}: 1, {Text: second.ID[3:]}: 1, {Text: "t_o"}: 0, {Text: "%"}: 0, {Text: "!"}: 0} {
			if list, err := cs.List(ctx, filter, kernel.Page{Limit: 10}); err != nil || len(list) != want {
				t.Errorf("%+v: %d clients, error %v", filter, len(list), err)
			}
		}
		if err := cs.Delete(ctx, second.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := cs.Find(ctx, second.ID); !errors.Is(err, clients.ErrUnknown) {
			t.Errorf("found after it was deleted: error %v", err)
		}
		if err := cs.Delete(ctx, second.ID); !errors.Is(err, clients.ErrUnknown) {
			t.Errorf("deleted twice: error %v", err)
		}
	})
}

// TestSeed checks that clients are created once if their ids are unused, and that existing clients are not changed.
func TestSeed(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		ctx := t.Context()
		cs := clients.New(k.Server, clients.Options{Hasher: quick})
		seeds := []*clients.Client{
			{ID: "console", Name: "Console", AuthMethod: clients.MethodNone, Source: clients.Admin},
			{ID: "reader", Name: "Reader", AuthMethod: clients.MethodNone, Source: clients.Admin},
		}
		if _, err := cs.Find(ctx, "console"); !errors.Is(err, clients.ErrUnknown) { // the negative result is cached
			t.Fatal(err)
		}
		if err := cs.Seed(ctx, seeds[:1]); err != nil {
			t.Fatal(err)
		}
		if _, err := cs.SetStatus(ctx, "console", clients.Suspended); err != nil {
			t.Fatal(err)
		}
		seeds[0].Name = "Another"
		if err := cs.Seed(ctx, seeds); err != nil {
			t.Fatal(err)
		}
		if c, err := cs.Find(ctx, "console"); err != nil || c.Name != "Console" || c.Active() {
			t.Errorf("%+v, error %v", c, err)
		}
		if c, err := cs.Find(ctx, "reader"); err != nil || c.Name != "Reader" || !c.Active() || !c.Public() {
			t.Errorf("%+v, error %v", c, err)
		}
		// Several nodes may seed at the same time.
		other := clients.New(authtest.On(t, k.DB).Server, clients.Options{Hasher: quick})
		for _, id := range []string{"a", "b", "c", "d"} {
			var all sync.WaitGroup
			for i := range 8 {
				node := []*clients.Clients{cs, other}[i%2]
				all.Go(func() {
					if err := node.Seed(context.WithoutCancel(ctx), []*clients.Client{{ID: id, AuthMethod: clients.MethodNone, Source: clients.Admin}}); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		}
		if list, err := cs.List(ctx, clients.Filter{}, kernel.Page{Limit: 10}); err != nil || len(list) != 6 {
			t.Errorf("%d clients, error %v", len(list), err)
		}
	})
}

// TestEqualWork checks that a client that sends a secret costs exactly one hash, whatever the reason of its refusal.
func TestEqualWork(t *testing.T) {
	t.Parallel()
	k := authtest.SQLite(t)
	var hashes atomic.Int64
	gate := make(chan struct{})
	go func() { // permits one hash after another, and counts them
		for {
			select {
			case <-gate:
				hashes.Add(1)
				gate <- struct{}{}
			case <-t.Context().Done():
				return
			}
		}
	}()
	cs := clients.New(k.Server, clients.Options{Hasher: password.Hasher{Params: quick.Params, Gate: gate}})
	add := func(c *clients.Client) (id, secret string) {
		t.Helper()
		c.Source = clients.Admin
		secret, err := cs.Create(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return c.ID, secret
	}
	id, secret := add(&clients.Client{AuthMethod: clients.MethodBasic})
	posts, posted := add(&clients.Client{AuthMethod: clients.MethodPost})
	suspended, suspendedSecret := add(&clients.Client{AuthMethod: clients.MethodBasic})
	if _, err := cs.SetStatus(t.Context(), suspended, clients.Suspended); err != nil {
		t.Fatal(err)
	}
	public, _ := add(&clients.Client{AuthMethod: clients.MethodNone})
	sends := func(name, id, secret string, good bool, cost int64) {
		t.Helper()
		before := hashes.Load()
		_, err := cs.Authenticate(t.Context(), []string{"Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+secret))}, nil)
		if (err == nil) != good || hashes.Load()-before != cost {
			t.Errorf("%s: %d hashes, error %v", name, hashes.Load()-before, err)
		}
	}
	for range 2 { // also after the valid secret was cached
		sends("an unknown client", "nobody", secret, false, 1)
		sends("a wrong secret", id, secret[1:], false, 1)
		sends("a suspended client", suspended, suspendedSecret, false, 1)
		sends("another way", posts, posted, false, 1)
		sends("a public client", public, secret, false, 1)
		_, err := cs.Authenticate(t.Context(), []string{"Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+secret))}, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	sends("a good one, that is known", id, secret, true, 0)
}

// TestOtherNode checks that a node notices that another node has suspended a client.
func TestOtherNode(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		node := clients.New(k.Server, clients.Options{Hasher: quick})
		other := authtest.On(t, k.DB)
		otherNode := clients.New(other.Server, clients.Options{Hasher: quick})
		c := &clients.Client{AuthMethod: clients.MethodNone, Source: clients.Admin}
		if _, err := node.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if _, err := otherNode.Find(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := node.SetStatus(t.Context(), c.ID, clients.Suspended); err != nil {
			t.Fatal(err)
		}
		other.Clock.Pass(5 * time.Second)
		if got, err := otherNode.Find(t.Context(), c.ID); err != nil || got.Active() {
			t.Errorf("%+v, error %v", got, err)
		}
	})
}

func TestMatchRedirect(t *testing.T) {
	t.Parallel()
	c := &clients.Client{Redirects: []string{
		"https://c.example/cb?x=1", "http://127.0.0.1/cb", "http://[::1]:80/cb", "http://localhost:9/cb?y", "com.example.app:/cb",
	}}
	for uri, want := range map[string]bool{
		"https://c.example/cb?x=1": true, "https://c.example/cb": false, "https://C.example/cb?x=1": false, "https://c.example/cb?x=1&z": false,
		"https://c.example:443/cb?x=1": false, "https://c.example/cb/../cb?x=1": false, "https://c.example/cb?x=1#": false, "https://c.example@evil.example/cb?x=1": false,
		"http://127.0.0.1/cb": true, "http://127.0.0.1:5000/cb": true, "http://127.0.0.1:5000/cb/": false, "http://127.0.0.1:/cb": false,
		"http://127.0.0.1:123456/cb": false, "http://127.0.0.1:5000@evil.example/cb": false, "http://127.0.0.1.evil.example/cb": false, "https://127.0.0.1/cb": false,
		"http://127.0.0.1:50x/cb": false, "http://127.0.0.2/cb": false, "http://localhost/cb": false, "http://localhost/cb?y": true, "http://localhost:1/cb?y": true,
		"http://[::1]/cb": true, "http://[::1]:65535/cb": true, "HTTP://127.0.0.1/cb": false, "com.example.app:/cb": true, "com.example.app:/cb2": false,
		"http://127.0.0.1:80\\@evil.example/cb": false, "": false,
	} {
		if _, ok := c.MatchRedirect(uri); ok != want {
			t.Errorf("%q: %t, want %t", uri, ok, want)
		}
	}
	// Only in loopback URIs does an empty path equal "/".
	bare := &clients.Client{Redirects: []string{"http://127.0.0.1:1234", "http://[::1]/", "http://localhost?a=b", "https://c.example", "cursor://app"}}
	for uri, want := range map[string]bool{
		"http://127.0.0.1:1234": true, "http://127.0.0.1:1234/": true, "http://127.0.0.1:5/": true, "http://127.0.0.1": true, "http://[::1]:9": true, "http://localhost:7/?a=b": true,
		"http://127.0.0.1:1234//": false, "http://127.0.0.1:1234/?": false, "http://127.0.0.1:1234/a": false, "http://localhost:7/": false, "https://c.example": true, "https://c.example/": false,
		"cursor://app": true, "cursor://app/": false,
	} {
		if got, ok := bare.MatchRedirect(uri); ok != want || ok && got != uri {
			t.Errorf("%q: %t, want %t", uri, ok, want)
		}
	}
	for pair, want := range map[[2]string]bool{
		{"http://127.0.0.1:1", "http://127.0.0.1:1/"}: true, {"http://localhost/", "http://localhost"}: true, {"http://127.0.0.1:1", "http://127.0.0.1:2"}: false,
		{"https://c.example", "https://c.example/"}: false, {"https://c.example", "https://c.example"}: true, {"http://127.0.0.1:1", "http://127.0.0.1.evil.example/"}: false,
	} {
		if clients.SameRedirect(pair[0], pair[1]) != want || clients.SameRedirect(pair[1], pair[0]) != want {
			t.Errorf("%q are equal: %t", pair, !want)
		}
	}
	only := &clients.Client{Redirects: []string{"https://c.example/cb"}}
	if uri, ok := only.MatchRedirect(""); !ok || uri != "https://c.example/cb" {
		t.Errorf("%q, %t", uri, ok)
	}
	if _, ok := (&clients.Client{}).MatchRedirect(""); ok {
		t.Error("a client without redirect URIs accepts one")
	}
}

func FuzzMatchRedirect(f *testing.F) {
	c := &clients.Client{Redirects: []string{"http://127.0.0.1:7/cb"}}
	f.Add("http://127.0.0.1:50000/cb")
	f.Add("http://127.0.0.1:@x/cb")
	f.Add("") // the only redirect URI may be omitted
	f.Fuzz(func(t *testing.T, uri string) {
		redirect, ok := c.MatchRedirect(uri)
		if uri == "" && redirect != c.Redirects[0] {
			t.Fatalf("%q", redirect)
		}
		if !ok || uri == "" {
			return
		}
		rest, ok := strings.CutPrefix(uri, "http://127.0.0.1")
		if !ok || !strings.HasSuffix(rest, "/cb") {
			t.Fatalf("%q", uri)
		}
		if port := strings.TrimSuffix(rest, "/cb"); strings.Trim(port, ":0123456789") != "" {
			t.Fatalf("%q", uri)
		}
	})
}

// TestReplaceAlone checks clients that add a grant that involves no user to their registration. The default scope does
// not become a registered scope of the client, even after the default has changed, and the scope that they may request
// from users stays bounded.
func TestReplaceAlone(t *testing.T) {
	t.Parallel()
	k := authtest.SQLite(t)
	options := clients.Options{
		Hasher: quick, Mode: clients.Open, Grants: []string{clients.GrantCode, clients.GrantClient}, DefaultScope: []string{"read"}, Approved: []string{"https://c.example/cb"},
	}
	cs := clients.New(k.Server, options)
	const code, bothGrants = `{"redirect_uris":["https://c.example/cb"]}`, `{"redirect_uris":["https://c.example/cb"],"grant_types":["authorization_code","client_credentials"]}`
	alone, _, _, err := cs.Register(t.Context(), []byte(bothGrants))
	if err != nil || len(alone.Scope) != 0 || !slices.Equal(cs.Ceiling(alone), options.DefaultScope) {
		t.Fatalf("%+v, error %v", alone, err)
	}
	c, _, _, err := cs.Register(t.Context(), []byte(code))
	if err != nil {
		t.Fatal(err)
	}
	options.DefaultScope = []string{"list"}
	cs = clients.New(k.Server, options)
	if c, _, err = cs.Replace(t.Context(), c.ID, []byte(bothGrants)); err != nil || len(c.Scope) != 0 || !slices.Equal(cs.Ceiling(c), options.DefaultScope) {
		t.Errorf("%+v, error %v", c, err)
	}
	if err := cs.SetMode(t.Context(), clients.AdminOnly); err != nil {
		t.Fatal(err)
	}
	if _, _, err := cs.Replace(t.Context(), c.ID, []byte(`{"redirect_uris":["https://d.example/cb"]}`)); err == nil {
		t.Error("a redirect that is not approved is accepted when registration is closed")
	}
	given := &clients.Client{Source: clients.Admin}
	if len(cs.Ceiling(given)) != 0 {
		t.Error("an administrator's client has a ceiling that was not set")
	}
}

// interrupting is a kernel.Tracer that calls a function once, before the next write transaction.
type interrupting struct{ before func() }

// Begin implements kernel.Tracer.
func (i *interrupting) Begin(ctx context.Context, name string) (context.Context, func(err error)) {
	if before := i.before; before != nil && name == "db write" {
		i.before = nil
		before()
	}
	return ctx, func(error) {}
}

// Transport implements kernel.Tracer.
func (*interrupting) Transport(base http.RoundTripper) http.RoundTripper { return base }

// TestImportKeepsNewSecret checks that an import that keeps secrets also keeps the secret that an administrator sets
// while the import changes the client.
func TestImportKeepsNewSecret(t *testing.T) {
	t.Parallel()
	k, tracer := authtest.SQLite(t), new(interrupting)
	k.Tracer = tracer
	cs := clients.New(k.Server, clients.Options{Hasher: quick, Grants: []string{clients.GrantClient}})
	c := &clients.Client{Name: "One", AuthMethod: clients.MethodBasic, Grants: []string{clients.GrantClient}, Source: clients.Admin}
	if _, err := cs.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	var clear string
	tracer.before = func() {
		var err error
		if clear, err = cs.RotateSecret(t.Context(), c.ID); err != nil {
			t.Error(err)
		}
	}
	next := *c
	next.Name = "Two"
	changed, err := cs.UpdateGiven(t.Context(), &next, clients.Given{ID: c.ID}, false, false)
	if err != nil || !slices.Equal(changed, []string{"client_name"}) {
		t.Fatalf("changed %q, error %v", changed, err)
	}
	header := "Basic " + base64.StdEncoding.EncodeToString([]byte(c.ID+":"+clear))
	if _, err := cs.Authenticate(t.Context(), []string{header}, nil); err != nil {
		t.Errorf("the new secret: error %v", err)
	}
}
