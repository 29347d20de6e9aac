package clients_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/documents"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// publisher is a site with metadata documents. It responds to unknown paths with an error.
type publisher struct {
	*httptest.Server
	mu      sync.Mutex
	members map[string]string // by path, without client_id
	header  http.Header
	fetches atomic.Int64
	hold    chan struct{} // not nil: responses wait until it is closed
	arrived chan struct{} // gets a value for each waiting response
}

func newPublisher(t *testing.T) *publisher {
	t.Helper()
	p := &publisher{members: make(map[string]string), header: http.Header{}, arrived: make(chan struct{}, 100)}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.fetches.Add(1)
		p.mu.Lock()
		text, ok := p.members[r.URL.Path]
		cache, hold := p.header.Get("Cache-Control"), p.hold
		p.mu.Unlock()
		if hold != nil {
			p.arrived <- struct{}{}
			<-hold
		}
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", cache)
		_, _ = io.WriteString(w, `{"client_id":"`+p.URL+r.URL.Path+`",`+text+"}")
	}))
	t.Cleanup(p.Close)
	return p
}

// publish serves a document at a path and returns its URL.
func (p *publisher) publish(path, members string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.members[path] = members
	return p.URL + path
}

// documented returns clients whose metadata documents may be served by this machine.
func documented(k authtest.Kernel, o clients.Options) *clients.Clients {
	o.Documents = documents.New(k.Server, documents.Options{HTTP: true, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	o.Hasher = quick
	o.Grants = []string{clients.GrantCode, clients.GrantRefresh, clients.GrantClient, clients.GrantDevice}
	return clients.New(k.Server, o)
}

const someClient = `"client_name":"App","redirect_uris":["https://app.example/cb"]`

func code(err error) string {
	if refusal, ok := apierror.From(err); ok {
		return refusal.Code
	}
	return ""
}

func TestDocument(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		ctx := t.Context()
		p := newPublisher(t)
		cs := documented(k, clients.Options{DefaultScope: []string{"read"}})
		id := p.publish("/c", someClient+`,"scope":"all","grant_types":["authorization_code","client_credentials","x"],"agent":true,"agent_description":"does","client_uri":"https://app.example"`)
		if _, err := cs.Find(ctx, id); !errors.Is(err, clients.ErrUnknown) {
			t.Fatalf("before it begins anything: %v", err)
		}
		c, err := cs.Current(ctx, id)
		if err != nil || c.ID != id || c.Name != "App" || c.Source != clients.Document || !c.Active() || c.AuthMethod != clients.MethodNone || !c.Public() ||
			!slices.Equal(c.Grants, []string{clients.GrantCode}) || !slices.Equal(c.Responses, []string{"code"}) || len(c.Scope) > 0 || !c.Agent || c.Metadata.ClientURI == "" {
			t.Fatalf("%+v, error %v", c, err)
		}
		if !slices.Equal(cs.Ceiling(c), []string{"read"}) {
			t.Errorf("ceiling %v", cs.Ceiling(c))
		}
		// The document is cached for an hour, also on another node.
		other := documented(authtest.On(t, k.DB), clients.Options{})
		for _, node := range []*clients.Clients{cs, other} {
			if cached, err := node.Current(ctx, id); err != nil || cached.Name != "App" || p.fetches.Load() != 1 {
				t.Errorf("%+v, error %v, %d fetches", cached, err, p.fetches.Load())
			}
		}
		if k.Events.Count("client.registered") != 1 {
			t.Errorf("%+v", k.Events.All())
		}
		// The scope that the administrator has set is kept, and so is whether the client is an agent.
		if _, err := cs.Edit(ctx, id, func(c *clients.Client) error { c.Scope = []string{"write"}; return nil }); err != nil {
			t.Fatal(err)
		}
		p.publish("/c", `"client_name":"New","redirect_uris":["https://app.example/new"]`)
		k.Clock.Pass(time.Hour - time.Second)
		if c, err := cs.Current(ctx, id); err != nil || c.Name != "App" {
			t.Errorf("%+v, error %v", c, err)
		}
		k.Clock.Pass(time.Second)
		c, err = cs.Current(ctx, id)
		if err != nil || c.Name != "New" || c.Redirects[0] != "https://app.example/new" || !slices.Equal(c.Scope, []string{"write"}) || !c.Agent || len(c.Grants) != 2 || p.fetches.Load() != 2 {
			t.Errorf("%+v, error %v, %d fetches", c, err, p.fetches.Load())
		}
		if k.Events.Count("client.updated") != 1 {
			t.Errorf("%+v", k.Events.All())
		}
		// A suspended client is blocked, and its document is not fetched any more.
		if _, err := cs.SetStatus(ctx, id, clients.Suspended); err != nil {
			t.Fatal(err)
		}
		k.Clock.Pass(2 * time.Hour)
		if c, err := cs.Current(ctx, id); err != nil || c.Active() || p.fetches.Load() != 2 {
			t.Errorf("%+v, error %v, %d fetches", c, err, p.fetches.Load())
		}
		if _, err := cs.SetStatus(ctx, id, clients.Active); err != nil {
			t.Fatal(err)
		}
		// If the document cannot be fetched, the client cannot be used, but is not removed.
		p.mu.Lock()
		delete(p.members, "/c")
		p.mu.Unlock()
		for range 2 {
			if _, err := cs.Current(ctx, id); code(err) != kernel.Unavailable {
				t.Errorf("error %v", err)
			}
		}
		if p.fetches.Load() != 4 {
			t.Errorf("%d fetches: an error was remembered", p.fetches.Load())
		}
		p.publish("/c", someClient)
		k.Clock.Pass(time.Minute)
		if c, err := cs.Current(ctx, id); err != nil || c.Name != "App" {
			t.Errorf("%+v, error %v", c, err)
		}
	})
}

func TestDocumentFaults(t *testing.T) {
	t.Parallel()
	k := authtest.SQLite(t)
	p := newPublisher(t)
	cs := documented(k, clients.Options{})
	for members, good := range map[string]bool{
		someClient: true,
		someClient + `,"token_endpoint_auth_method":"private_key_jwt","jwks_uri":"https://app.example/keys"`:      true,
		someClient + `,"token_endpoint_auth_method":"private_key_jwt"`:                                            false,
		someClient + `,"token_endpoint_auth_method":"client_secret_basic"`:                                        false,
		someClient + `,"token_endpoint_auth_method":"private_key_jwt","jwks":{"keys":[{"kty":"oct","k":"AAAA"}]}`: false,
		`"redirect_uris":["https://app.example/cb"]`:                                                              false,
		`"client_name":"","redirect_uris":["https://app.example/cb"]`:                                             false,
		`"client_name":"App"`:                                                                     false,
		`"client_name":"App","redirect_uris":[]`:                                                  false,
		`"client_name":"App","redirect_uris":["http://app.example/cb"]`:                           false,
		`"client_name":"App","redirect_uris":["https://app.example/cb#x"]`:                        false,
		`"client_name":"App","redirect_uris":["javascript:alert(1)"]`:                             false,
		`"client_name":"App","redirect_uris":"https://app.example/cb"`:                            false,
		`"client_name":"A\u202epp","redirect_uris":["https://app.example/cb"]`:                    false,
		`"client_name":"App","redirect_uris":["http://127.0.0.1/cb"],"application_type":"native"`: true,
		someClient + `,"grant_types":["authorization_code","` + clients.GrantDevice + `","urn:x"],"response_types":["code","token"],"logo_uri":"https://x.example/"`: true,
	} {
		k.Clock.Pass(time.Minute)
		id := p.publish(fmt.Sprintf("/c%d", len(p.members)), members)
		c, err := cs.Current(t.Context(), id)
		if good && (err != nil || c.Name != "App") || !good && code(err) != kernel.InvalidClient {
			t.Errorf("%s: %+v, error %v", members, c, err)
		}
		if _, err := cs.Find(t.Context(), id); good == errors.Is(err, clients.ErrUnknown) {
			t.Errorf("%s: error %v", members, err)
		}
	}
	// The error reveals neither the response of a site nor whether the site exists.
	_, missing := cs.Current(t.Context(), p.URL+"/none")
	_, absent := cs.Current(t.Context(), "http://127.0.0.1:1/c")
	_, forbidden := cs.Current(t.Context(), "http://10.0.0.1/c")
	if code(missing) != kernel.InvalidClient || missing.Error() != absent.Error() || absent.Error() != forbidden.Error() {
		t.Errorf("%v\n%v\n%v", missing, absent, forbidden)
	}
	// If metadata documents are disabled, such clients are unknown.
	disabled := clients.New(k.Server, clients.Options{Hasher: quick})
	if _, err := disabled.Current(t.Context(), p.publish("/c1", someClient)); !errors.Is(err, clients.ErrUnknown) {
		t.Errorf("error %v", err)
	}
}

// TestDocumentFlights checks that concurrent requests share one fetch, and wait no longer than their contexts last.
func TestDocumentFlights(t *testing.T) {
	t.Parallel()
	k := authtest.SQLite(t)
	p := newPublisher(t)
	cs := documented(k, clients.Options{})
	id := p.publish("/c", someClient)
	p.hold = make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { // the request that started the fetch may end early
		if _, err := cs.Current(ctx, id); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
	<-p.arrived
	for range 50 {
		all.Go(func() {
			if c, err := cs.Current(t.Context(), id); err != nil || c.Name != "App" {
				t.Errorf("%+v, error %v", c, err)
			}
		})
	}
	cancel()
	close(p.hold)
	all.Wait()
	if n := p.fetches.Load(); n != 1 {
		t.Errorf("%d fetches", n)
	}
}

// TestDocumentNoStore checks that a document that must not be stored is fetched for each authorization.
func TestDocumentNoStore(t *testing.T) {
	t.Parallel()
	k := authtest.SQLite(t)
	p := newPublisher(t)
	p.header.Set("Cache-Control", "no-store")
	cs := documented(k, clients.Options{})
	id := p.publish("/c", someClient)
	for n := range int64(3) {
		if _, err := cs.Current(t.Context(), id); err != nil || p.fetches.Load() != n+1 {
			t.Fatalf("error %v, %d fetches", err, p.fetches.Load())
		}
	}
	if c, err := cs.Find(t.Context(), id); err != nil || c.Name != "App" || p.fetches.Load() != 3 {
		t.Errorf("in the middle of something: %+v, error %v, %d fetches", c, err, p.fetches.Load())
	}
	if _, err := cs.Refresh(t.Context(), id); err != nil || p.fetches.Load() != 4 {
		t.Errorf("error %v, %d fetches", err, p.fetches.Load())
	}
}

// TestDocumentSweep checks that a client to which nothing was granted is removed after a day, and that the number of
// clients is bounded.
func TestDocumentSweep(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		ctx := t.Context()
		p := newPublisher(t)
		cs := documented(k, clients.Options{})
		for _, path := range []string{"/unused", "/granted", "/scoped", "/blocked"} {
			if _, err := cs.Current(ctx, p.publish(path, someClient)); err != nil {
				t.Fatal(err)
			}
		}
		if err := k.Write(ctx, func(c store.Conn) error {
			if _, err := c.Exec("INSERT INTO authserver_users (id, email, email_key, created_at, updated_at) VALUES ('ann', 'a', 'a', 0, 0)"); err != nil {
				return err
			}
			_, err := c.Exec("INSERT INTO authserver_consents (id, user_id, client_id, resource_id, scope, created_at, updated_at) VALUES ('o', 'ann', ?, '', '', 0, 0)", p.URL+"/granted")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := cs.Edit(ctx, p.URL+"/scoped", func(c *clients.Client) error { c.Scope = []string{"x"}; return nil }); err != nil {
			t.Fatal(err)
		}
		if _, err := cs.SetStatus(ctx, p.URL+"/blocked", clients.Suspended); err != nil {
			t.Fatal(err)
		}
		if n, err := cs.Sweep(ctx); n != 0 || err != nil {
			t.Errorf("%d, error %v", n, err)
		}
		k.Clock.Pass(25*time.Hour + time.Second)
		if n, err := cs.Sweep(ctx); n != 1 || err != nil {
			t.Errorf("%d, error %v", n, err)
		}
		for path, stays := range map[string]bool{"/unused": false, "/granted": true, "/scoped": true, "/blocked": true} {
			if _, err := cs.Find(ctx, p.URL+path); stays != (err == nil) {
				t.Errorf("%s: %v", path, err)
			}
		}
		if err := k.Write(ctx, func(c store.Conn) error {
			for first := 0; first < 10_000; first += 500 {
				row := "('https://c.example/%d', '', 'none', '[]', '[]', '[]', 'active', 'cimd', 0, 0, %d)"
				rows := make([]string, 500)
				for i := range rows {
					rows[i] = fmt.Sprintf(row, first+i, first+i)
				}
				if _, err := c.Exec("INSERT INTO authserver_clients (id, name, auth_method, redirects, grants, responses, status, source, issued_at, updated_at, fresh_until) VALUES " + strings.Join(rows, ",")); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := cs.Current(ctx, p.publish("/more", someClient)); err != nil {
			t.Fatal(err)
		}
		for id, stays := range map[string]bool{"https://c.example/0": false, "https://c.example/99": false, "https://c.example/100": true, p.URL + "/granted": true, p.URL + "/more": true} {
			if _, err := cs.Find(ctx, id); stays != (err == nil) {
				t.Errorf("%s: %v", id, err)
			}
		}
	})
}
