package protocol_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authorize"
	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/device"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/keys"
	"github.com/tollgate-gateway/tollgate/backends/authserver/protocol"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
	"github.com/tollgate-gateway/tollgate/internal/password"
)

const verifier = "0123456789012345678901234567890123456789abc"

// quick is a slow hash with parameters that make it fast.
var quick = password.Hasher{Params: password.Params{Memory: 64, Passes: 1, Lanes: 1}}

// server has the endpoints, and the packages that they need.
type server struct {
	authtest.Kernel
	clients *clients.Clients
	catalog *resources.Catalog
	tokens  *tokens.Tokens
	mux     *http.ServeMux
	url     string

	client *clients.Client // confidential, with all grants and the ceiling read write
	secret string
	public *clients.Client
}

// settings are the options of a server.
type settings struct {
	clients  clients.Options
	protocol protocol.Options
	devices  bool // the device grant is enabled
}

func newServer(tb testing.TB, k authtest.Kernel, o settings) *server {
	tb.Helper()
	s := &server{Kernel: k, mux: http.NewServeMux()}
	listener := httptest.NewServer(s.mux)
	tb.Cleanup(listener.Close)
	s.url = listener.URL
	if o.clients.Hasher == (password.Hasher{}) {
		o.clients.Hasher = quick
	}
	o.clients.Grants = []string{clients.GrantCode, clients.GrantRefresh, clients.GrantClient, clients.GrantDevice}
	if o.clients.Mode == "" {
		o.clients.Mode = clients.Open
	}
	o.clients.Endpoints = []string{k.Issuer + protocol.TokenPath, k.Issuer + protocol.PushPath}
	s.clients = clients.New(k.Server, o.clients)
	s.catalog = resources.New(k.Server, resources.Options{RequireScope: true})
	ks := keys.New(k.Server, keys.Options{Store: keys.Files{Folder: tb.TempDir()}, Algorithm: keys.ES256, Retain: time.Hour})
	s.tokens = tokens.New(k.Server, tokens.Options{
		Clients: s.clients, Catalog: s.catalog, Keys: ks,
		User: func(context.Context, string) (tokens.User, error) {
			return tokens.User{Email: "ann@example.com", Active: true}, nil
		},
	})
	tb.Cleanup(s.tokens.Close)
	p := o.protocol
	p.Clients, p.Catalog, p.Keys, p.Tokens, p.Algorithm = s.clients, s.catalog, ks, s.tokens, keys.ES256
	if p.Grants == nil {
		p.Grants = []string{clients.GrantClient}
	}
	if o.devices {
		p.Devices = &device.Devices{Server: k.Server, Authorize: &authorize.Authorize{Server: k.Server, Clients: s.clients, Catalog: s.catalog}}
	}
	for _, route := range protocol.New(k.Server, p).Routes() {
		s.mux.HandleFunc(route.Method+" "+route.Path, func(w http.ResponseWriter, r *http.Request) {
			if err := route.Serve(w, r); err != nil {
				kernel.WriteError(w, err)
			}
		})
	}
	for _, r := range []*resources.Resource{
		{Slug: "mail", URI: "https://api.example/mail", Kind: resources.Mint, DisplayName: "Mail", Scopes: []resources.Scope{{Name: "read"}, {Name: "write"}}},
		{Slug: "far", Kind: resources.Broker, Scopes: []resources.Scope{{Name: "far"}}},
	} {
		if err := s.catalog.Create(tb.Context(), r); err != nil {
			tb.Fatal(err)
		}
	}
	s.client = &clients.Client{
		Name: "C", AuthMethod: clients.MethodBasic, Grants: []string{clients.GrantCode, clients.GrantRefresh, clients.GrantClient}, Scope: []string{"read", "write"}, Source: clients.Admin,
	}
	s.public = &clients.Client{Name: "P", AuthMethod: clients.MethodNone, Grants: []string{clients.GrantCode, clients.GrantRefresh}, Source: clients.Admin}
	var err error
	if s.secret, err = s.clients.Create(tb.Context(), s.client); err == nil {
		_, err = s.clients.Create(tb.Context(), s.public)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// code returns a code for a grant of ann.
func (s *server) code(tb testing.TB, c *clients.Client) string {
	tb.Helper()
	sum := sha256.Sum256([]byte(verifier))
	mail, err := s.catalog.Find(tb.Context(), "mail")
	if err != nil {
		tb.Fatal(err)
	}
	code, err := s.tokens.IssueCode(tb.Context(), tokens.Grant{
		Client: c.ID, User: "ann", Scope: []string{"read"}, Resources: []string{mail.ID}, RedirectURI: "https://c.example/cb", RedirectGiven: true,
		Challenge: base64.RawURLEncoding.EncodeToString(sum[:]), AuthTime: s.Clock.Now(),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return code
}

// answer is a response.
type answer struct {
	status int
	header http.Header
	text   string
	body   map[string]any
}

func (s *server) do(tb testing.TB, method, path, kind, body string, header ...string) answer {
	tb.Helper()
	r, err := http.NewRequestWithContext(tb.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	a := answer{status: resp.StatusCode, header: resp.Header, text: string(text)}
	if len(text) > 0 {
		if err := json.Unmarshal(text, &a.body); err != nil {
			tb.Fatalf("%s: %v", text, err)
		}
	}
	return a
}

const formType = "application/x-www-form-urlencoded"

// post sends a form; header are pairs.
func (s *server) post(tb testing.TB, path string, form url.Values, header ...string) answer {
	tb.Helper()
	return s.do(tb, http.MethodPost, path, formType, form.Encode(), header...)
}

// basic returns an Authorization header as a pair.
func basic(id, secret string) []string {
	return []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(id)+":"+url.QueryEscape(secret)))}
}

func (s *server) auth() []string { return basic(s.client.ID, s.secret) }

// values returns the form with the given names and values.
func values(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	return v
}

// is checks the status and the code of an error.
func (a answer) is(tb testing.TB, name string, status int, code string) {
	tb.Helper()
	got, _ := a.body["error"].(string)
	if a.status != status || got != code {
		tb.Errorf("%s: %d %s, want %d %s", name, a.status, a.text, status, code)
	}
	if code != "" && (a.header.Get("Content-Type") != "application/json" || a.body["status"] != float64(status) || a.body["error_description"] == "") {
		tb.Errorf("%s: %v %s", name, a.header, a.text)
	}
}
