package web_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/account"
	"github.com/tollgate-gateway/tollgate/backends/authserver/audit"
	"github.com/tollgate-gateway/tollgate/backends/authserver/authorize"
	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/consent"
	"github.com/tollgate-gateway/tollgate/backends/authserver/device"
	"github.com/tollgate-gateway/tollgate/backends/authserver/documents"
	"github.com/tollgate-gateway/tollgate/backends/authserver/encryption"
	"github.com/tollgate-gateway/tollgate/backends/authserver/factors"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/keys"
	"github.com/tollgate-gateway/tollgate/backends/authserver/login"
	"github.com/tollgate-gateway/tollgate/backends/authserver/openid"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/backends/authserver/web"
	"github.com/tollgate-gateway/tollgate/internal/pages/pagestest"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// site has the pages on a database, with a user, two resources and a client.
type site struct {
	authtest.Kernel
	t         *testing.T
	server    *httptest.Server
	users     *users.Users
	factors   *factors.Factors
	login     *login.Login
	clients   *clients.Clients
	consents  *consent.Consents
	catalog   *resources.Catalog
	tokens    *tokens.Tokens
	openid    *openid.OpenID
	devices   *device.Devices
	accounts  *account.Accounts
	authorize *authorize.Authorize
	ann       *users.User
	app       *clients.Client
}

const (
	annMail  = "ann@example.com"
	annPass  = "correct horse"
	callback = "https://app.example/cb?keep=1"
	files    = "https://files.example"
)

var verifier = strings.Repeat("v", 43)

// challenge returns the code challenge of the verifier.
func challenge() string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// settings are the options of a site. Zero values mean the defaults of the configuration.
type settings struct {
	login    login.Options
	web      web.Options
	required bool // a second factor is required
	alone    bool // passkeys sign in without a password
	noApps   bool // data_encryption.driver is not set
}

// sealer returns the encryptor of data_encryption.
func sealer(t *testing.T) encryption.Encryptor {
	t.Helper()
	master, err := encryption.NewMaster(strings.Repeat("0123456789abcdef", 4), "")
	if err != nil {
		t.Fatal(err)
	}
	return master
}

func newSite(t *testing.T, k authtest.Kernel, o settings) *site {
	t.Helper()
	s := &site{Kernel: k, t: t}
	quick := password.Hasher{Params: password.Params{Memory: 8, Passes: 1, Lanes: 1}}
	s.users = &users.Users{Server: k.Server, Passwords: quick}
	if o.login == (login.Options{}) {
		o.login = login.Options{MaxAge: 24 * time.Hour, FailClosed: true, Failures: 3, Window: 10 * time.Minute, Lock: 15 * time.Minute, Identities: 1000}
	}
	var err error
	factorOptions := factors.Options{Alone: o.alone}
	if !o.noApps {
		factorOptions.Encryptor = sealer(t)
	}
	if s.factors, err = factors.New(k.Server, factorOptions); err != nil {
		t.Fatal(err)
	}
	o.login.Factors, o.web.Factors = s.factors, s.factors
	s.login = login.New(k.Server, s.users, o.login)
	s.clients = clients.New(k.Server, clients.Options{Hasher: quick, Documents: documents.New(k.Server, documents.Options{})})
	s.catalog = resources.New(k.Server, resources.Options{Own: openid.Names()})
	s.consents = &consent.Consents{Server: k.Server}
	o.web.Login, o.web.Users = s.login, s.users
	s.openid = &openid.OpenID{
		Server: k.Server, Users: s.users, Clients: s.clients,
		Keys: keys.New(k.Server, keys.Options{Store: keys.Files{Folder: t.TempDir()}, Algorithm: keys.ES256, Retain: time.Hour}),
	}
	s.tokens = tokens.New(k.Server, tokens.Options{
		Clients: s.clients, Catalog: s.catalog, Keys: s.openid.Keys, IDToken: s.openid.IDToken,
		User: func(context.Context, string) (tokens.User, error) { return tokens.User{Active: true}, nil },
	})
	s.users.Gone = []func(c store.Conn, user string) error{s.tokens.EndUser, device.EndUser, account.EndUser}
	o.web.Authorize = &authorize.Authorize{Server: k.Server, Clients: s.clients, Catalog: s.catalog, Consents: s.consents, Tokens: s.tokens, Own: openid.Scopes, Hinted: s.openid.Hinted, SecondFactor: o.required}
	s.authorize = o.web.Authorize
	s.accounts = &account.Accounts{
		Server: k.Server, Users: s.users, Login: s.login, Consents: s.consents, Tokens: s.tokens, Catalog: s.catalog, Feed: s.feed(), Site: "as.example", Languages: o.web.Languages,
	}
	o.web.Accounts = s.accounts
	s.devices = &device.Devices{Server: k.Server, Authorize: o.web.Authorize}
	o.web.OpenID, o.web.Device = s.openid, s.devices
	if o.web.SessionCookie == "" {
		o.web.SessionCookie = "authserver_session"
	}
	var pages http.Handler
	pages, err = web.New(k.Server, o.web)
	if err != nil {
		t.Fatal(err)
	}
	s.server = httptest.NewServer(pages)
	t.Cleanup(s.server.Close)

	ctx := t.Context()
	if s.ann, err = s.users.Create(ctx, users.New{Email: annMail, Name: "Ann", Password: annPass}, "admin"); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*resources.Resource{
		{Slug: "files", URI: files, Kind: resources.Mint, DisplayName: "Files", Scopes: []resources.Scope{{Name: "read", Description: "Read your files"}, {Name: "write", Description: "Change your files"}}},
		{Slug: "mail", URI: "https://mail.example", Kind: resources.Mint, DisplayName: "Mail", Scopes: []resources.Scope{{Name: "send", Description: "Send mail"}}},
	} {
		if err := s.catalog.Create(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	s.app = s.client(&clients.Client{Name: "The App", Redirects: []string{callback}, Source: clients.Admin})
	return s
}

// client adds a public client that may have codes.
func (s *site) client(c *clients.Client) *clients.Client {
	s.t.Helper()
	c.AuthMethod = clients.MethodNone
	if c.Grants == nil {
		c.Grants = []string{clients.GrantCode}
	}
	if _, err := s.clients.Create(s.t.Context(), c); err != nil {
		s.t.Fatal(err)
	}
	return c
}

// request returns a valid request of the app with changed parameters; an empty value removes a parameter.
func (s *site) request(pairs ...string) url.Values {
	v := url.Values{
		"response_type": {"code"}, "client_id": {s.app.ID}, "redirect_uri": {callback}, "scope": {"read"}, "state": {"st&te"},
		"code_challenge": {challenge()}, "code_challenge_method": {"S256"},
	}
	for pair := range slices.Chunk(pairs, 2) {
		if v.Del(pair[0]); pair[1] != "" {
			v.Set(pair[0], pair[1])
		}
	}
	return v
}

// browser is the browser of one person. It does not follow redirects.
type browser struct {
	*site
	*pagestest.Browser
}

func (s *site) browser() *browser {
	s.t.Helper()
	return &browser{s, pagestest.New(s.t, s.server.URL, false)}
}

// page is a response with methods that check it.
type page struct{ *pagestest.Page }

func (b *browser) get(path string) page { return page{b.Get(path)} }

func (b *browser) post(path string, fields url.Values) page { return page{b.Post(path, fields)} }

func with(v url.Values, pairs ...string) url.Values {
	for pair := range slices.Chunk(pairs, 2) {
		v.Set(pair[0], pair[1])
	}
	return v
}

// signIn fills in the form of a login page.
func (b *browser) signIn(form page) page {
	b.t.Helper()
	form.is(b.t, http.StatusOK, "Sign in")
	return b.post("/login", with(form.Fields(), "email", annMail, "password", annPass))
}

// is checks the status of a response, and that it contains the given texts.
func (p page) is(t *testing.T, status int, texts ...string) page {
	t.Helper()
	p.Browser = p.In(t)
	p.Want(status, texts...)
	return p
}

// leads returns the address to which a response redirects, which must begin with prefix.
func (p page) leads(t *testing.T, prefix string) string {
	t.Helper()
	p.Browser = p.In(t)
	return p.Leads(prefix)
}

// answered returns the parameters of the response to the client.
func (p page) answered(t *testing.T) url.Values {
	t.Helper()
	loc, err := url.Parse(p.leads(t, "https://app.example/cb?keep=1&"))
	if err != nil {
		t.Fatal(err)
	}
	v := loc.Query()
	if v.Get("iss") != authtest.Issuer || v.Get("keep") != "1" || loc.Fragment != "" {
		t.Errorf("the answer is %s", loc)
	}
	for name, values := range v {
		if len(values) != 1 {
			t.Errorf("%s is there %d times", name, len(values))
		}
	}
	return v
}

// code returns the code of a successful response.
func (p page) code(t *testing.T) string {
	t.Helper()
	v := p.answered(t)
	if v.Get("state") != "st&te" || len(v.Get("code")) < 43 || v.Has("error") {
		t.Fatalf("the client gets %v", v)
	}
	return v.Get("code")
}

// refused checks that an error is sent to the client.
func (p page) refused(t *testing.T, code string) {
	t.Helper()
	v := p.answered(t)
	if v.Get("error") != code || v.Get("error_description") == "" || v.Has("code") {
		t.Errorf("the client gets %v, want %s", v, code)
	}
}

// signedIn returns a browser in which Ann is signed in.
func (s *site) signedIn() *browser {
	s.t.Helper()
	b := s.browser()
	b.signIn(b.get("/login")).leads(s.t, "/")
	return b
}

// user creates a user with Ann's password.
func (s *site) user(email string) *users.User {
	s.t.Helper()
	u, err := s.users.Create(s.t.Context(), users.New{Email: email, Password: annPass}, "admin")
	if err != nil {
		s.t.Fatal(err)
	}
	return u
}

// signedInAs returns a browser in which a new user is signed in.
func (s *site) signedInAs(email string) *browser {
	s.t.Helper()
	s.user(email)
	b := s.browser()
	b.tries(email, annPass).leads(s.t, "/")
	return b
}

// sessions lists the sessions of a user.
func (s *site) sessions(user string) []login.Browser {
	s.t.Helper()
	list, err := s.login.Browsers(s.t.Context(), user)
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

// feed returns the audit feed of the site, to which the kernel now also writes.
func (s *site) feed() *audit.Feed {
	feed, noted := audit.New(s.Server), s.Audit
	s.Audit = func(ctx context.Context, e kernel.Event) {
		noted(ctx, e)
		feed.Add(ctx, e)
	}
	return feed
}

// allows goes from an authorization request to the code, by signing in if necessary and giving consent.
func (b *browser) allows(v url.Values) page {
	b.t.Helper()
	p := b.get("/oauth/authorize?" + v.Encode())
	if loc := p.Header.Get("Location"); strings.HasPrefix(loc, "/login") {
		p = b.signIn(b.get(loc))
	}
	form := b.get(p.leads(b.t, "/consent")).is(b.t, http.StatusOK)
	return b.post("/consent", with(form.Fields(), "action", "allow"))
}

func contains(list []string, all ...string) bool {
	return !slices.ContainsFunc(all, func(item string) bool { return !slices.Contains(list, item) })
}
