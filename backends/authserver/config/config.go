// Package config reads the configuration of the authorization server: built-in
// defaults, below a YAML file, below environment variables. Every key is one row of one
// table, which the loader, the documents and the tests read.
package config

import (
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Config is the whole configuration; Load fills it. What a key means, its default, its
// environment variable and its rule stand in its row of the table.
type Config struct {
	Server            Server
	Storage           Storage
	Signing           Signing
	DCR               DCR
	CIMD              CIMD
	Session           Session
	RateLimit         RateLimit
	Admin             Admin
	OAuth             OAuth
	OIDC              OIDC
	Observability     Observability
	DataEncryption    DataEncryption
	ClientCredentials ClientCredentials
	DPoP              DPoP
	TokenExchange     TokenExchange
	Agents            Agents
	Connect           Connect
	XAA               XAA
	Pages             Pages
	Mail              Mail
	Accounts          Accounts
	Counters          Counters

	// ClientSecretPepper is what client secrets are hashed with (HMAC-SHA256); empty:
	// a slow password hash.
	ClientSecretPepper string

	// Clients, Resources and BrokerProviders are made in the database where their id or
	// slug is not there yet.
	Clients         []Client
	Resources       []Resource
	BrokerProviders []BrokerProvider

	issuer *url.URL
	given  map[string]bool // the keys that the file or the environment has
}

// Server is the public listener, and who the server is.
type Server struct {
	Address        string
	AllowNetworks  []string
	AllowedOrigins []string
	IdleTimeout    time.Duration
	Issuer         string // byte for byte what tokens and metadata have
	ReadTimeout    time.Duration
	ShutdownWait   time.Duration
	WriteTimeout   time.Duration
}

// The drivers of Storage.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

// Storage is where the data are.
type Storage struct {
	Driver   string
	Postgres struct {
		DSN             string
		MaxConnIdleTime time.Duration
		MaxConnLifetime time.Duration
		MaxConns        int
		MinConns        int
	}
	SQLite struct {
		Path string
		WAL  bool
	}
}

// The key stores of Signing.
const (
	KeyFile     = "keyfile"
	KMSTransit  = "kms_transit"
	PostgresKey = "postgres_key"
)

// Signing is the keys that sign tokens.
type Signing struct {
	Algorithm   string // ES256 or RS256
	KeyPath     string
	KeyStore    string
	PostgresKey struct {
		EncryptionKey Ref
	}
	KMSTransit struct {
		Address string
		AppRole struct {
			Mount    string
			RoleID   string
			SecretID string
		}
		KeyName string
		Mount   string
		Timeout time.Duration
		Token   string
	}
}

// The modes of DCR.
const (
	Open              = "open"
	ApprovedRedirects = "approved_redirects"
	AdminOnly         = "admin_only"
)

// DCR is dynamic client registration, and the lifetimes of tokens of people.
type DCR struct {
	ApprovedRedirects    []string
	DefaultRefreshExpiry time.Duration
	DefaultTokenExpiry   time.Duration
	IdleClientExpiry     time.Duration // 0: never
	Mode                 string
	RateLimit            float64 // requests a second of one address
	RateLimitBurst       int
	UnusedClientExpiry   time.Duration // 0: never
}

// CIMD is clients that are known by the URL of their metadata document.
type CIMD struct {
	AllowPrivateAddresses bool
	CacheTTL              time.Duration
	Enabled               bool
	FetchTimeout          time.Duration
	RequireHTTPS          bool
}

// Session is the login session of a browser.
type Session struct {
	CookieName string
	FailClosed bool
	MaxAge     time.Duration
	SameSite   string // lax, strict or none
	// SecondFactor is Optional or Required.
	SecondFactor string
	Secret       string
	Secure       bool // always with SameSite none
}

// The values of Session.SecondFactor.
const (
	Optional = "optional"
	Required = "required"
)

// RateLimit bounds requests of an address, and wrong passwords.
type RateLimit struct {
	AuthFailMax          int // 0: no lockout
	AuthFailWindow       time.Duration
	AuthLockout          time.Duration
	AuthSprayFactor      int // 0: no address is locked
	Burst                int
	Enabled              bool // of requests; the lockout is there all the same
	MaxTrackedIdentities int
	RequestsPerSecond    float64
}

// Admin is the administration API and its listener.
type Admin struct {
	Address              string
	APIKey               string
	AuditDefaultLookback time.Duration
	AuditMaxLookback     time.Duration
	Burst                int
	Enabled              bool
	RequestsPerSecond    float64 // 0: no limit
}

// OAuth is rules of the authorization and token endpoints.
type OAuth struct {
	CodeExpiry         time.Duration
	DefaultClientScope string
	RefreshReuseGrace  time.Duration
	RequireScope       bool
	StateMaxAge        time.Duration
}

// OIDC is the upstream provider that people may sign in with.
type OIDC struct {
	ClientID           string
	ClientSecret       string
	ClientSecretEnv    Ref // the earlier name of ClientSecretRef, which has it too
	ClientSecretRef    Ref
	ConnectorID        string
	DisplayName        string
	Enabled            bool
	IncludeGroupsScope bool
	Issuer             string
	RedirectURI        string
	Scopes             []string
	ShowLocalLogin     bool
}

// Observability is logs, metrics and traces.
type Observability struct {
	Logging struct {
		AddSource bool
		Format    string // json or text
		Level     string // debug, info, warn or error
		Outputs   struct {
			Insecure     bool
			OTel         bool
			OTelEndpoint string
			Stdout       bool
		}
	}
	Metrics struct {
		Insecure     bool
		OTelEndpoint string
		Path         string
		Provider     string // prometheus, otel, both or none
	}
	Tracing struct {
		Enabled    bool
		Endpoint   string
		Insecure   bool
		SampleRate float64
	}
}

// The drivers of DataEncryption.
const (
	AESMaster         = "aes_master"
	KMSTransitEncrypt = "kms_transit_encrypt"
)

// DataEncryption seals what is secret in the database.
type DataEncryption struct {
	AESMaster struct {
		Key    Ref // 64 hex characters
		OldKey Ref // decrypts only
	}
	Driver            string // empty: what has to be sealed is refused
	KMSTransitEncrypt struct {
		Address string
		AppRole struct {
			RoleID   Ref
			SecretID Ref
		}
		AuthMethod string // token or approle
		KeyName    string
		MountPath  string
		Token      Ref
	}
}

// SealsAs reports whether what two servers seal in a database is sealed with the same keys,
// whatever else each of them can open.
func (c *Config) SealsAs(other *Config) bool {
	if c.DataEncryption.sealer() != other.DataEncryption.sealer() {
		return false
	}
	return c.Signing.KeyStore != PostgresKey || other.Signing.KeyStore != PostgresKey ||
		c.Signing.PostgresKey.EncryptionKey.Secret == other.Signing.PostgresKey.EncryptionKey.Secret
}

// sealer names the newest key of the driver.
func (d *DataEncryption) sealer() [4]string {
	if far := d.KMSTransitEncrypt; d.Driver == KMSTransitEncrypt {
		return [4]string{d.Driver, far.Address, far.MountPath, far.KeyName}
	}
	return [4]string{d.Driver, d.AESMaster.Key.Secret}
}

// ClientCredentials is the grant of machines.
type ClientCredentials struct {
	Enabled     bool
	TokenExpiry time.Duration
}

// DPoP is sender-constrained tokens.
type DPoP struct {
	Enabled       bool
	NonceTTL      time.Duration
	ProofLifetime time.Duration
	RequireNonce  bool
}

// TokenExchange is RFC 8693.
type TokenExchange struct {
	AllowSelfExchange bool
	Enabled           bool
	MaxChainDepth     int
	TokenExpiry       time.Duration
}

// Agents is clients that say that they are agents.
type Agents struct {
	EnableJWKSListing bool
}

// Connect is the flow that connects a user with an upstream.
type Connect struct {
	AllowedReturnURLs []string
	RedirectBaseURL   string
	StateSecret       string
}

// The subject modes of XAA.
const (
	AutoMap = "auto_map"
	Strict  = "strict"
)

// XAA is enterprise-managed authorization.
type XAA struct {
	Enabled         bool
	JWKSCacheTTL    time.Duration
	MaxAssertionAge time.Duration
	RequireResource bool
	SubjectMode     string
	TokenExpiry     time.Duration
}

// Pages is what people see.
type Pages struct {
	// Folder has templates that stand in for the built-in ones; empty: none.
	Folder string
}

// Mail is the server that sends mails to people.
type Mail struct {
	URL      string // smtp:// or smtps://; empty: no mails are sent
	From     string
	User     string
	Password string
}

// Accounts is what people may do with their accounts by themselves.
type Accounts struct {
	// Registration is RegistrationOff or RegistrationOpen.
	Registration        string
	RegistrationDomains []string      // in lower case; empty: all
	DeletionGrace       time.Duration // 0: users cannot delete their accounts
	PasswordLength      int           // characters that a new password has at least
	LeakedPasswords     string        // a file of hashes; empty: none
}

// The values of Accounts.Registration.
const (
	RegistrationOff  = "off"
	RegistrationOpen = "open"
)

// Counters is what nodes count together, such as assertions that are good once.
type Counters struct {
	Redis Ref // without it PostgreSQL keeps what is good once, or the process
}

// Ref is a key whose value is the name of an environment variable. The secret in it is
// read once, at load.
type Ref struct {
	Name   string
	Secret string
}

// Localhost reports whether the host of the issuer is localhost, a name below it or a loopback address:
// a try on one's own machine.
func (c *Config) Localhost() bool { return c.issuer != nil && localhost(c.issuer.Hostname()) }

// IssuerPath is the path of the issuer, empty where it has none: a metadata document is
// served with it behind its well-known path.
func (c *Config) IssuerPath() string {
	if c.issuer == nil {
		return ""
	}
	return c.issuer.EscapedPath()
}

// Networks is server.allow_networks.
func (c *Config) Networks() []netip.Prefix {
	list := make([]netip.Prefix, 0, len(c.Server.AllowNetworks))
	for _, text := range c.Server.AllowNetworks {
		if prefix, err := netip.ParsePrefix(text); err == nil { // as Load has checked
			list = append(list, prefix)
		}
	}
	return list
}

// Given reports whether the file or the environment has a key.
func (c *Config) Given(key string) bool { return c.given[key] }

// secretLeast is how long a secret that signs has to be.
const secretLeast = 32

// Warnings are what an operator should know and that stops nothing, for the log at
// start and the notices of the administration API.
func (c *Config) Warnings() []string {
	var w []string
	add := func(on bool, text string) {
		if on {
			w = append(w, text)
		}
	}
	add(!c.Localhost() && c.issuer.Scheme == "http", "server.issuer is not https: tokens and passwords can be read on the way")
	add(!c.Localhost() && c.issuer.Scheme == "https" && !c.Session.Secure && c.Session.SameSite != "none",
		"session.secure is off although server.issuer is https: the session cookie is also sent in the clear")
	add(c.DCR.Mode == Open && !c.Localhost(), "dcr.mode is open: anybody who reaches the server may register a client")
	add(c.DCR.Mode != AdminOnly && c.OAuth.DefaultClientScope == "",
		"oauth.default_client_scope is empty: clients that register themselves have no scope ceiling; a later version refuses them")
	add(c.Session.Secret == "", "session.secret is not set: logins and pages in use end with the process, and several nodes do not know each other's")
	add(c.Session.Secret != "" && len(c.Session.Secret) < secretLeast,
		"session.secret has fewer than 32 characters: who guesses it can make what this server hands to browsers; make one with: openssl rand -hex 32")
	add(c.Admin.Enabled && c.Admin.APIKey == "", "admin.api_key is not set: the administration API is open to every program of this machine")
	add(c.CIMD.Enabled && c.CIMD.AllowPrivateAddresses, "cimd.allow_private_addresses is on: metadata documents of clients are fetched from any address, which is for development alone")
	add(c.OIDC.ClientSecretEnv.Name != "", "oidc.client_secret_env is deprecated: call it oidc.client_secret_ref")
	return w
}

// localhost reports whether a host is this machine by name or address. The names below
// localhost are (RFC 6761 section 6.3).
func localhost(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
