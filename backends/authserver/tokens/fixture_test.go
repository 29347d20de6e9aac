package tokens_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/keys"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/password"
)

const verifier = "0123456789012345678901234567890123456789abc"

func challenge(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// server has the tokens with the packages that they need.
type server struct {
	authtest.Kernel
	*tokens.Tokens
	clients *clients.Clients
	catalog *resources.Catalog
	client  *clients.Client // with all grants, and a ceiling of read and write
	public  *clients.Client // without a ceiling
	mail    *resources.Resource
	files   *resources.Resource

	mu       sync.Mutex
	inactive bool // all users are inactive
}

func newServer(t testing.TB, k authtest.Kernel, set func(o *tokens.Options)) *server {
	t.Helper()
	s := &server{Kernel: k}
	s.clients = clients.New(k.Server, clients.Options{Hasher: password.Hasher{Params: password.Params{Memory: 64, Passes: 1, Lanes: 1}}})
	s.catalog = resources.New(k.Server, resources.Options{RequireScope: true, Own: []string{"openid"}})
	o := tokens.Options{
		Clients: s.clients, Catalog: s.catalog,
		Keys: keys.New(k.Server, keys.Options{Store: keys.Files{Folder: t.TempDir()}, Algorithm: keys.ES256, Retain: time.Hour}),
		User: func(context.Context, string) (tokens.User, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return tokens.User{Email: "ann@example.com", Active: !s.inactive}, nil
		},
	}
	if set != nil {
		set(&o)
	}
	s.Tokens = tokens.New(k.Server, o)
	t.Cleanup(s.Tokens.Close)
	return s
}

// fill creates clients and resources.
func (s *server) fill(t testing.TB) *server {
	t.Helper()
	s.client = &clients.Client{
		Name: "C", AuthMethod: clients.MethodBasic, Grants: []string{clients.GrantCode, clients.GrantRefresh, clients.GrantClient}, Scope: []string{"read", "write"}, Source: clients.Admin,
	}
	s.public = &clients.Client{Name: "P", AuthMethod: clients.MethodNone, Grants: []string{clients.GrantCode, clients.GrantRefresh}, Source: clients.DCR}
	for _, c := range []*clients.Client{s.client, s.public} {
		if _, err := s.clients.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	s.mail = &resources.Resource{Slug: "mail", URI: "https://api.example/mail", Kind: resources.Mint, Scopes: []resources.Scope{{Name: "read"}, {Name: "write"}}}
	s.files = &resources.Resource{Slug: "files", URI: "https://api.example/files", Kind: resources.Mint, Scopes: []resources.Scope{{Name: "read"}}}
	for _, r := range []*resources.Resource{s.mail, s.files} {
		if err := s.catalog.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// grant returns a grant of both resources to a client.
func (s *server) grant(c *clients.Client) tokens.Grant {
	return tokens.Grant{
		Client: c.ID, User: "ann", Scope: []string{"read", "write"}, Resources: []string{s.mail.ID, s.files.ID}, RedirectURI: "https://c.example/cb", RedirectGiven: true,
		Challenge: challenge(verifier), AuthTime: s.Clock.Now().Add(-time.Minute),
	}
}

func (s *server) code(t testing.TB, g tokens.Grant) string {
	t.Helper()
	code, err := s.IssueCode(t.Context(), g)
	if err != nil || len(code) != 43 {
		t.Fatalf("%q, error %v", code, err)
	}
	return code
}

// redemption returns a valid redemption of a code.
func (s *server) redemption(c *clients.Client, code string) tokens.Redemption {
	return tokens.Redemption{Client: c, Code: code, RedirectURI: "https://c.example/cb", Verifier: verifier}
}

// start returns the first tokens of a family.
func (s *server) start(t testing.TB, c *clients.Client) tokens.Answer {
	t.Helper()
	answer, err := s.Redeem(t.Context(), s.redemption(c, s.code(t, s.grant(c))))
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// live reports whether an access token is valid.
func (s *server) live(t testing.TB, text string) bool {
	t.Helper()
	_, _, ok, err := s.Live(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func refused(t testing.TB, err error, code string) {
	t.Helper()
	refusal, ok := apierror.From(err)
	if !ok || refusal.Code != code {
		t.Errorf("error %v, want %s", err, code)
	}
}

// claims returns the claims of an access token, without verifying it.
func claims(t testing.TB, text string) map[string]any {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(strings.Split(text, ".")[1])
	var c map[string]any
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// edit makes a client one of those that run the mail resource.
func edit(t testing.TB, s *server, client string) *resources.Resource {
	t.Helper()
	r, err := s.catalog.Edit(t.Context(), s.mail.ID, func(r *resources.Resource) error {
		r.Policy.Runtime.ClientIDs = []string{client}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
