package authserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/account"
	"github.com/tollgate-gateway/tollgate/backends/authserver/admin"
	"github.com/tollgate-gateway/tollgate/backends/authserver/audit"
	"github.com/tollgate-gateway/tollgate/backends/authserver/authorize"
	"github.com/tollgate-gateway/tollgate/backends/authserver/brokers"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/config"
	"github.com/tollgate-gateway/tollgate/backends/authserver/connections"
	"github.com/tollgate-gateway/tollgate/backends/authserver/consent"
	"github.com/tollgate-gateway/tollgate/backends/authserver/device"
	"github.com/tollgate-gateway/tollgate/backends/authserver/documents"
	"github.com/tollgate-gateway/tollgate/backends/authserver/encryption"
	"github.com/tollgate-gateway/tollgate/backends/authserver/exchange"
	"github.com/tollgate-gateway/tollgate/backends/authserver/factors"
	"github.com/tollgate-gateway/tollgate/backends/authserver/keys"
	"github.com/tollgate-gateway/tollgate/backends/authserver/login"
	"github.com/tollgate-gateway/tollgate/backends/authserver/openid"
	"github.com/tollgate-gateway/tollgate/backends/authserver/proofs"
	"github.com/tollgate-gateway/tollgate/backends/authserver/protocol"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
	"github.com/tollgate-gateway/tollgate/backends/authserver/upstreams"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/backends/authserver/web"
	"github.com/tollgate-gateway/tollgate/backends/authserver/xaa"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/locale"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/outbound"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/ratelimit"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// components holds the components of a server.
type components struct {
	clients   *clients.Clients
	catalog   *resources.Catalog
	keys      *keys.Keys
	tokens    *tokens.Tokens
	users     *users.Users
	factors   *factors.Factors
	login     *login.Login
	consents  *consent.Consents
	authorize *authorize.Authorize
	openid    *openid.OpenID
	devices   *device.Devices
	xaa       *xaa.XAA           // nil if it is not enabled
	exchange  *exchange.Exchange // nil if it is not enabled
	proofs    *proofs.Proofs     // nil if DPoP is not enabled
	brokers   *brokers.Brokers
	connected *connections.Connections
	protocol  *protocol.Protocol
	encryptor encryption.Encryptor // of data_encryption; nil if secrets cannot be stored
	sealed    []sealing            // all columns with encrypted values
	accounts  *account.Accounts
	upstreams *upstreams.Upstreams
	allUp     []*upstreams.Upstream // with the provider of the section oidc
	audit     *audit.Feed
	pages     http.Handler
}

// keyMargin is added to the longest life of a token. The sum is how long a rotated key still verifies signatures.
const keyMargin = 10 * time.Minute

// reportSignedOut returns a function that passes the id of a signed-out user to Options.SignedOut, or nil if that is
// not set.
func (s *Server) reportSignedOut() func(ctx context.Context, user string) {
	if s.signedOut == nil {
		return nil
	}
	return func(ctx context.Context, user string) { s.signedOut(ctx, s.kernel.Issuer, user) }
}

// wire creates the components from the configuration, and the two sites from the routes of the components. Each step
// uses the components of the steps before it.
func (s *Server) wire() error {
	s.components.audit = audit.New(s.kernel)
	s.kernel.Audit = s.components.audit.Add
	for _, step := range [...]func() error{s.wireClients, s.wireTokens, s.wireSignIn, s.wireConnections, s.wireSites} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// basicGrants returns the enabled grant types that package protocol itself serves. Package protocol adds the grant
// types of other packages.
func (s *Server) basicGrants() []string {
	grants := []string{clients.GrantCode, clients.GrantRefresh}
	if s.config.ClientCredentials.Enabled {
		grants = append(grants, clients.GrantClient)
	}
	return grants
}

// wireClients creates the clients and the resources, and checks those of the configuration. The job seed stores them
// later.
func (s *Server) wireClients() error {
	k, c, r := s.kernel, s.config, &s.components
	registered := append(s.basicGrants(), clients.GrantDevice) // all grants for which clients may be registered
	if c.XAA.Enabled {
		registered = append(registered, clients.GrantJWT)
	}
	if c.TokenExchange.Enabled {
		registered = append(registered, clients.GrantExchange)
	}
	r.clients = clients.New(k, clients.Options{
		Documents: s.documents(), Hasher: s.passwords,
		Pepper: []byte(c.ClientSecretPepper), Grants: registered, Mode: c.DCR.Mode, Approved: c.DCR.ApprovedRedirects,
		UnusedLife: c.DCR.UnusedClientExpiry, IdleLife: c.DCR.IdleClientExpiry,
		DefaultScope: strings.Fields(c.OAuth.DefaultClientScope),
		Endpoints:    []string{k.Issuer + protocol.TokenPath, k.Issuer + protocol.PushPath}, Networks: s.networks,
	})
	r.catalog = resources.New(k, resources.Options{RequireScope: c.OAuth.RequireScope, Own: openid.Names()})
	_, clientsErr := s.seedClients()
	_, resourcesErr := s.seedResources()
	return errors.Join(clientsErr, resourcesErr)
}

// wireTokens creates the encryptor, the keys, the users and the components that issue tokens.
func (s *Server) wireTokens() (err error) {
	k, c, r := s.kernel, s.config, &s.components
	if r.encryptor, err = s.encryptor(); err != nil {
		return err
	}
	longestLife := max(c.DCR.DefaultTokenExpiry, c.ClientCredentials.TokenExpiry, c.TokenExchange.TokenExpiry,
		c.XAA.TokenExpiry)
	retain := longestLife + keyMargin
	if c.Signing.KeyStore == config.KMSTransit {
		retain = forever
	}
	keyStore, err := s.keyStore()
	if err != nil {
		return err
	}
	r.keys = keys.New(k, keys.Options{Store: keyStore, Algorithm: c.Signing.Algorithm, Retain: retain})
	r.users = &users.Users{Server: k, Passwords: s.passwords, Length: c.Accounts.PasswordLength}
	if c.Accounts.LeakedPasswords != "" {
		if r.users.Leaked, err = password.OpenLeaked(c.Accounts.LeakedPasswords); err != nil {
			return fmt.Errorf("accounts.leaked_passwords: %w", err)
		}
	}
	if c.DPoP.Enabled {
		r.proofs = proofs.New(k, proofs.Options{
			Lifetime: c.DPoP.ProofLifetime, NonceLife: c.DPoP.NonceTTL,
			RequireNonce: c.DPoP.RequireNonce,
		})
	}
	r.openid = &openid.OpenID{
		Server: k, Users: r.users, Clients: r.clients, Keys: r.keys, Proofs: r.proofs,
		HTTP: outbound.NewClient(s.networks, openid.LogoutTimeout), SessionLife: c.Session.MaxAge,
	}
	r.tokens = tokens.New(k, tokens.Options{
		Clients: r.clients, Catalog: r.catalog, Keys: r.keys, User: s.tokenUser, IDToken: r.openid.IDToken,
		Facts:    r.users.Facts,
		CodeLife: c.OAuth.CodeExpiry, AccessLife: c.DCR.DefaultTokenExpiry, RefreshLife: c.DCR.DefaultRefreshExpiry,
		ClientLife: c.ClientCredentials.TokenExpiry, LongestLife: longestLife, Grace: c.OAuth.RefreshReuseGrace,
	})
	r.openid.Tokens = r.tokens // openid and tokens need each other
	r.users.Gone = []func(c store.Conn, user string) error{r.tokens.EndUser, device.EndUser, account.EndUser}
	r.users.Flush = r.tokens.Flush
	r.xaa = s.enterprise()
	return nil
}

// wireSignIn creates the components for signing in and for authorizing clients.
func (s *Server) wireSignIn() (err error) {
	k, c, r := s.kernel, s.config, &s.components
	r.factors, err = factors.New(k, factors.Options{Encryptor: r.encryptor, Alone: c.Session.PasskeyLogin})
	if err != nil {
		return err
	}
	rules := loginRules(c)
	rules.MaxAge, rules.FailClosed, rules.Lockout, rules.Factors = c.Session.MaxAge, c.Session.FailClosed, s.lockout,
		r.factors
	r.login = login.New(k, r.users, rules)
	r.consents = &consent.Consents{Server: k}
	r.authorize = &authorize.Authorize{
		Server: k, Clients: r.clients, Catalog: r.catalog, Consents: r.consents,
		Tokens: r.tokens, Own: openid.Scopes, Hinted: r.openid.Hinted, DPoP: c.DPoP.Enabled,
		SecondFactor: c.Session.SecondFactor == config.Required, FormPost: c.OAuth.FormPost,
	}
	r.devices = &device.Devices{Server: k, Authorize: r.authorize}
	return nil
}

// wireConnections creates the broker providers with their connections, and token exchange.
func (s *Server) wireConnections() error {
	k, c, r := s.kernel, s.config, &s.components
	r.brokers = brokers.New(k, brokers.Options{Encryptor: r.encryptor, Networks: s.networks})
	r.connected = connections.New(k, connections.Options{
		Brokers: r.brokers, Catalog: r.catalog, Encryptor: r.encryptor, StateSecret: c.Connect.StateSecret,
		Base: c.Connect.RedirectBaseURL, ReturnURLs: c.Connect.AllowedReturnURLs,
	})
	if c.TokenExchange.Enabled {
		r.exchange = exchange.New(k, exchange.Options{
			Clients: r.clients, Catalog: r.catalog, Tokens: r.tokens, Consents: r.consents, Upstream: r.connected,
			Self: c.TokenExchange.AllowSelfExchange, Depth: c.TokenExchange.MaxChainDepth, Life: c.TokenExchange.TokenExpiry,
		})
	}
	return nil
}

// wireSites creates the components that serve requests, the background jobs and the two sites.
func (s *Server) wireSites() error {
	k, c, r := s.kernel, s.config, &s.components
	path := s.issuerPath()
	upstream, err := s.upstream()
	if err != nil {
		return err
	}
	if r.upstreams, err = s.furtherUpstreams(); err != nil {
		return err
	}
	r.allUp = s.allUpstreams(upstream)
	languages, err := s.languages()
	if err != nil {
		return err
	}
	r.accounts = &account.Accounts{
		Server: k, Users: r.users, Login: r.login, Consents: r.consents, Tokens: r.tokens, Catalog: r.catalog, Feed: r.audit,
		Mail: s.mail, Languages: languages, Site: s.host(), Grace: c.Accounts.DeletionGrace,
		Registration: account.Registration{
			Open:    c.Accounts.Registration == config.RegistrationOpen,
			Domains: c.Accounts.RegistrationDomains,
		},
	}
	if r.pages, err = web.New(k, web.Options{
		Login: r.login, Factors: r.factors, Accounts: r.accounts, Authorize: r.authorize, OpenID: r.openid, Device: r.devices,
		Brokers: r.brokers, Connections: r.connected, Mount: path,
		SessionCookie: c.Session.CookieName, SameSite: sameSites[c.Session.SameSite], Secure: c.Session.Secure,
		NoPassword: !c.OIDC.ShowLocalLogin, Users: r.users, Upstream: upstream, Upstreams: r.upstreams,
		Languages: languages, Brand: s.brand(), Bar: s.bar, SignedOut: s.reportSignedOut(),
	}); err != nil {
		return err
	}
	r.protocol = protocol.New(k, protocol.Options{
		Clients: r.clients, Catalog: r.catalog, Keys: r.keys, Tokens: r.tokens, Devices: r.devices, Authorize: r.authorize,
		Grants: s.basicGrants(), Enterprise: r.xaa, Exchange: r.exchange, Proofs: r.proofs,
		IssuerPath: path, Algorithm: c.Signing.Algorithm, Origins: c.Server.AllowedOrigins, Documents: c.CIMD.Enabled,
		Agents: c.Agents.EnableJWKSListing, OpenID: s.openIDMetadata(),
		Registrations: ratelimit.New(ratelimit.PerSecond(c.DCR.RateLimit, c.DCR.RateLimitBurst), k.Now),
	})
	s.jobs = slices.Concat(s.jobs, r.accounts.Jobs(), r.openid.Jobs(), r.login.Jobs(), r.factors.Jobs(), r.devices.Jobs(),
		s.ownJobs())
	s.public = newSite(k, s.health(), r.protocol.Routes(), web.Routes(r.pages, path), r.protocol.Share(r.openid.Routes()))
	s.public.mount = path
	if c.RateLimit.Enabled {
		s.public.limiter = ratelimit.New(ratelimit.PerSecond(c.RateLimit.RequestsPerSecond, c.RateLimit.Burst), k.Now)
	}
	s.admin = newSite(k, s.administration().Routes())
	s.admin.refuse = admin.WriteError
	return nil
}

// documents returns the fetcher of client metadata documents, or nil if cimd is not enabled.
func (s *Server) documents() *documents.Documents {
	c := s.config.CIMD
	if !c.Enabled {
		return nil
	}
	networks := s.networks
	if c.AllowPrivateAddresses {
		networks = everywhere
	}
	return documents.New(s.kernel, documents.Options{
		TTL: c.CacheTTL, Timeout: c.FetchTimeout, HTTP: !c.RequireHTTPS,
		Networks: networks,
	})
}

// enterprise returns the component for enterprise-managed authorization, or nil if xaa is not enabled.
func (s *Server) enterprise() *xaa.XAA {
	c, r := s.config.XAA, &s.components
	if !c.Enabled {
		return nil
	}
	return xaa.New(s.kernel, xaa.Options{
		Clients: r.clients, Catalog: r.catalog, Tokens: r.tokens,
		Active: func(ctx context.Context, id string) (bool, error) {
			u, err := s.tokenUser(ctx, id)
			return u.Active, err
		},
		Networks: s.networks, KeysTTL: c.JWKSCacheTTL, MaxAge: c.MaxAssertionAge, RequireResource: c.RequireResource,
		Strict: c.SubjectMode == config.Strict, Life: c.TokenExpiry,
	})
}

// upstream returns the identity provider of the section oidc, or nil if that section is not enabled.
func (s *Server) upstream() (*web.Upstream, error) {
	c := &s.config.OIDC
	if !c.Enabled {
		return nil, nil
	}
	o := oidclogin.Options{
		Issuer: c.Issuer, ClientID: c.ClientID, Secret: cmp.Or(c.ClientSecretRef.Secret, c.ClientSecret), Scopes: c.Scopes,
		Lasts:    s.config.OAuth.StateMaxAge,
		Networks: s.networks, Key: func() []byte { return s.kernel.Key },
		Counters: func() counters.Store { return s.kernel.Counters }, Now: s.kernel.Now,
	}
	if c.IncludeGroupsScope {
		o.Wishes = []string{"groups"}
	}
	if c.ConnectorID != "" {
		o.Parameters = map[string]string{"connector_id": c.ConnectorID}
	}
	p, err := oidclogin.New(o)
	if err != nil {
		return nil, fmt.Errorf("oidc: %w", err)
	}
	name := c.DisplayName
	if name == "" {
		issuer, err := url.Parse(c.Issuer)
		if err != nil {
			return nil, fmt.Errorf("oidc.issuer: %w", err)
		}
		name = issuer.Host
	}
	return &web.Upstream{Provider: p, Name: name, Redirect: c.RedirectURI, Lasts: s.config.OAuth.StateMaxAge}, nil
}

// everywhere matches every address.
var everywhere = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}

// loginRules returns the settings of the lockout after failed sign-ins. The other fields of the result are not set.
func loginRules(c *config.Config) login.Options {
	return login.Options{
		Failures: c.RateLimit.AuthFailMax, Spray: c.RateLimit.AuthSprayFactor * c.RateLimit.AuthFailMax,
		Window: c.RateLimit.AuthFailWindow, Lock: c.RateLimit.AuthLockout, Identities: c.RateLimit.MaxTrackedIdentities,
	}
}

// sameSites maps the values of session.same_site to those of package http.
var sameSites = map[string]http.SameSite{
	"lax": http.SameSiteLaxMode, "strict": http.SameSiteStrictMode,
	"none": http.SameSiteNoneMode,
}

// issuerPath returns the path of the issuer without a trailing slash. It is "" for an issuer without a path.
func (s *Server) issuerPath() string {
	issuer, err := url.Parse(s.kernel.Issuer)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(issuer.Path, "/")
}

// host returns the host of the issuer, which is the name of the server in mails.
func (s *Server) host() string {
	issuer, err := url.Parse(s.kernel.Issuer)
	if err != nil {
		return s.kernel.Issuer
	}
	return issuer.Host
}

// brand returns the folder of page templates, or nil if no folder is configured.
func (s *Server) brand() fs.FS {
	if s.config.Pages.Folder == "" {
		return nil
	}
	return os.DirFS(s.config.Pages.Folder)
}

// languages returns the languages of the pages and mails.
func (s *Server) languages() (*locale.Languages, error) {
	c := s.config.Pages
	languages, err := pages.LoadLanguages(c.Language, c.Languages, web.Catalogues(), c.Texts)
	if err != nil {
		return nil, fmt.Errorf("pages.language, pages.languages and pages.texts: %w", err)
	}
	return languages, nil
}

// tokenUser returns the user with an id, as package tokens needs it. For an unknown id it returns the zero User.
func (s *Server) tokenUser(ctx context.Context, id string) (tokens.User, error) {
	u, err := s.components.users.Find(ctx, id)
	if users.IsNone(err) {
		return tokens.User{}, nil
	}
	if err != nil {
		return tokens.User{}, err
	}
	return tokens.User{Email: u.Email, Verified: u.EmailVerified, Name: u.Name, Active: u.Active()}, nil
}

// openIDMetadata returns the discovery metadata of the OpenID layer.
func (s *Server) openIDMetadata() map[string]any {
	metadata := s.components.openid.Metadata()
	metadata["scopes_supported"] = openid.Names()
	metadata["ui_locales_supported"] = s.components.accounts.Languages.Tags()
	return metadata
}

// administration returns the administration API.
func (s *Server) administration() *admin.API {
	c, r := s.config, &s.components
	o := admin.Options{
		Clients: r.clients, Catalog: r.catalog, Users: r.users, Factors: r.factors, Accounts: r.accounts,
		Consents: r.consents, Keys: r.keys, Tokens: r.tokens, Feed: r.audit, XAA: r.xaa, Brokers: r.brokers,
		Connections: r.connected, SignsIn: r.upstreams, Upstreams: r.allUp,
		Mail:   admin.Mail{Server: c.Mail.URL, From: c.Mail.From},
		APIKey: c.Admin.APIKey, Lookback: c.Admin.AuditDefaultLookback, MaxLookback: c.Admin.AuditMaxLookback,
		Version: s.version, Begun: s.begun, Config: s.effective, Notices: s.notices,
		Bar: s.bar,
	}
	if c.Admin.RequestsPerSecond > 0 {
		o.Limiter = ratelimit.New(ratelimit.PerSecond(c.Admin.RequestsPerSecond, max(1, c.Admin.Burst)), s.kernel.Now)
	}
	if r.encryptor != nil {
		o.Reseal = func(ctx context.Context) (encryption.Resealed, error) { return s.Reseal(ctx, nil) }
	}
	return admin.New(s.kernel, o)
}

// effective returns the values in effect of all configuration keys, without secrets.
func (s *Server) effective() (map[string]string, error) {
	var text strings.Builder
	if err := s.config.Print(&text); err != nil {
		return nil, err
	}
	values := make(map[string]string)
	for line := range strings.Lines(text.String()) {
		name, value, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(line), "# default"), ":")
		value = strings.TrimSpace(value)
		if previous := values[name]; previous != "" { // a list has a line for each entry
			value = previous + ", " + value
		}
		values[name] = value
	}
	return values, nil
}
