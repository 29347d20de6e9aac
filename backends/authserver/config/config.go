// Package config reads the configuration of the authorization server: a YAML file overrides the defaults, and
// environment variables override the file. All keys are in one table, which the loader, the documentation and the tests
// use.
package config

import (
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Config is the whole configuration, as Load returns it. The meaning of a key, its default, its environment variable
// and its rule are in the table; see Keys.
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

	// ClientSecretPepper is the key of HMAC-SHA256 with which client secrets are hashed. If it is empty, a slow
	// password hash is used.
	ClientSecretPepper string

	// Clients, Resources and BrokerProviders are created in the database if their id or slug does not exist yet.
	Clients         []Client
	Resources       []Resource
	BrokerProviders []BrokerProvider

	// Upstreams are further OpenID providers at which people may sign in.
	Upstreams []Upstream

	issuer *url.URL
	given  map[string]bool // the keys that are set by the file or the environment
}

// Server configures the public listener, and the identity of the server.
type Server struct {
	Address        string
	AllowNetworks  []string
	AllowedOrigins []string
	IdleTimeout    time.Duration
	Issuer         string // exactly as in tokens and metadata
	ReadTimeout    time.Duration
	ShutdownWait   time.Duration
	WriteTimeout   time.Duration
}

// The drivers of Storage.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

// Storage configures the database.
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

// Signing configures the keys that sign tokens.
type Signing struct {
	Algorithm   string // ES256 or RS256
	KeyPath     string
	KeyStore    string
	PostgresKey struct {
		EncryptionKeyEnv Ref
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

// DCR configures dynamic client registration, and the lifetimes of the tokens of users.
type DCR struct {
	ApprovedRedirects    []string
	DefaultRefreshExpiry time.Duration
	DefaultTokenExpiry   time.Duration
	IdleClientExpiry     time.Duration // 0 means never
	Mode                 string
	RateLimit            float64 // requests per second of an address
	RateLimitBurst       int
	UnusedClientExpiry   time.Duration // 0 means never
}

// CIMD configures clients that are identified by the URL of their metadata document.
type CIMD struct {
	AllowPrivateAddresses bool
	CacheTTL              time.Duration
	Enabled               bool
	FetchTimeout          time.Duration
	RequireHTTPS          bool
}

// Session configures the login sessions of browsers.
type Session struct {
	CookieName string
	FailClosed bool
	MaxAge     time.Duration
	// PasskeyLogin lets passkeys sign in without a password.
	PasskeyLogin bool
	SameSite     string // lax, strict or none
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

// RateLimit bounds the requests and the wrong passwords from an address.
type RateLimit struct {
	AuthFailMax          int // 0 disables the lockout
	AuthFailWindow       time.Duration
	AuthLockout          time.Duration
	AuthSprayFactor      int // 0 disables locking addresses
	Burst                int
	Enabled              bool // of requests only; the lockout does not depend on it
	MaxTrackedIdentities int
	RequestsPerSecond    float64
}

// Admin configures the administration API and its listener.
type Admin struct {
	Address              string
	APIKey               string
	AuditDefaultLookback time.Duration
	AuditMaxLookback     time.Duration
	Burst                int
	Enabled              bool
	RequestsPerSecond    float64 // 0 means no limit
}

// OAuth configures the authorization and token endpoints.
type OAuth struct {
	CodeExpiry         time.Duration
	DefaultClientScope string
	FormPost           bool // lets clients ask for response_mode=form_post
	RefreshReuseGrace  time.Duration
	RequireScope       bool
	StateMaxAge        time.Duration
}

// OIDC configures the upstream provider at which users may sign in.
type OIDC struct {
	ClientID           string
	ClientSecret       string
	ClientSecretEnv    Ref // the former name of ClientSecretRef; its value is copied there
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

// Observability configures logs, metrics and traces.
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

// DataEncryption configures how secrets in the database are sealed.
type DataEncryption struct {
	AESMaster struct {
		KeyEnv    Ref // 64 hex characters
		OldKeyEnv Ref // only for opening
	}
	Driver            string // if it is empty, secrets cannot be stored
	KMSTransitEncrypt struct {
		Address string
		AppRole struct {
			RoleIDEnv   Ref
			SecretIDEnv Ref
		}
		AuthMethod string // token or approle
		KeyName    string
		MountPath  string
		TokenEnv   Ref
	}
}

// SealsAs reports whether two servers that share a database encrypt secrets with the same current key. Which former
// keys each of them can decrypt with does not matter.
func (c *Config) SealsAs(other *Config) bool {
	if c.DataEncryption.sealer() != other.DataEncryption.sealer() {
		return false
	}
	return c.Signing.KeyStore != PostgresKey || other.Signing.KeyStore != PostgresKey ||
		c.Signing.PostgresKey.EncryptionKeyEnv.Secret == other.Signing.PostgresKey.EncryptionKeyEnv.Secret
}

// sealer identifies the newest key of the driver.
func (d *DataEncryption) sealer() [4]string {
	if kms := d.KMSTransitEncrypt; d.Driver == KMSTransitEncrypt {
		return [4]string{d.Driver, kms.Address, kms.MountPath, kms.KeyName}
	}
	return [4]string{d.Driver, d.AESMaster.KeyEnv.Secret}
}

// ClientCredentials configures the client_credentials grant.
type ClientCredentials struct {
	Enabled     bool
	TokenExpiry time.Duration
}

// DPoP configures sender-constrained tokens.
type DPoP struct {
	Enabled       bool
	NonceTTL      time.Duration
	ProofLifetime time.Duration
	RequireNonce  bool
}

// TokenExchange configures the token-exchange grant (RFC 8693).
type TokenExchange struct {
	AllowSelfExchange bool
	Enabled           bool
	MaxChainDepth     int
	TokenExpiry       time.Duration
}

// Agents configures clients that declare themselves to be agents.
type Agents struct {
	EnableJWKSListing bool
}

// Connect configures the connection of users to upstream providers.
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

// XAA configures enterprise-managed authorization.
type XAA struct {
	Enabled         bool
	JWKSCacheTTL    time.Duration
	MaxAssertionAge time.Duration
	RequireResource bool
	SubjectMode     string
	TokenExpiry     time.Duration
}

// Pages configures the pages for users.
type Pages struct {
	// Folder contains templates that replace the built-in ones. It may be empty.
	Folder string
	// Language is the default language, and Languages are those in which the pages are shown; if it is empty, all.
	Language  string
	Languages []string
	// Texts is a folder with catalogues that replace texts. It may be empty.
	Texts string
}

// Mail configures the SMTP server.
type Mail struct {
	URL      string // smtp:// or smtps://; no mails are sent if it is empty
	From     string
	User     string
	Password string
}

// Accounts configures what users may do with their accounts.
type Accounts struct {
	// Registration is RegistrationOff or RegistrationOpen.
	Registration        string
	RegistrationDomains []string      // in lower case; empty allows all
	DeletionGrace       time.Duration // 0 means that users cannot delete their accounts
	PasswordLength      int           // the least number of characters of a new password
	LeakedPasswords     string        // a file of hashes; may be empty
}

// The values of Accounts.Registration.
const (
	RegistrationOff  = "off"
	RegistrationOpen = "open"
)

// Counters configures what nodes count together, such as assertions that can be used once.
type Counters struct {
	RedisEnv Ref // if unset, single-use values are kept in PostgreSQL or in the process
}

// Ref is a key whose value is the name of an environment variable. The secret in the variable is read once, when the
// configuration is loaded.
type Ref struct {
	Name   string
	Secret string
}

// Localhost reports whether the host of the issuer is localhost, a name below it or a loopback address, as it is while
// trying out the server.
func (c *Config) Localhost() bool { return c.issuer != nil && localhost(c.issuer.Hostname()) }

// Networks returns server.allow_networks.
func (c *Config) Networks() []netip.Prefix {
	list := make([]netip.Prefix, 0, len(c.Server.AllowNetworks))
	for _, text := range c.Server.AllowNetworks {
		if prefix, err := netip.ParsePrefix(text); err == nil { // Load has checked this
			list = append(list, prefix)
		}
	}
	return list
}

// Given reports whether a key is set by the file or the environment.
func (c *Config) Given(key string) bool { return c.given[key] }

// minSecret is the least number of characters of a secret that signs.
const minSecret = 32

// Warnings returns what an operator should know although the server works. They are logged at the start and shown in
// the notices of the administration API.
func (c *Config) Warnings() []string {
	var w []string
	add := func(on bool, text string) {
		if on {
			w = append(w, text)
		}
	}
	add(!c.Localhost() && c.issuer.Scheme == "http",
		"server.issuer is not https: tokens and passwords can be read on the way")
	add(!c.Localhost() && c.issuer.Scheme == "https" && !c.Session.Secure && c.Session.SameSite != "none",
		"session.secure is off although server.issuer is https: the session cookie is also sent in the clear")
	add(c.DCR.Mode == Open && !c.Localhost(), "dcr.mode is open: anybody who reaches the server may register a client")
	add(c.DCR.Mode != AdminOnly && c.OAuth.DefaultClientScope == "",
		"oauth.default_client_scope is empty: clients that register themselves have no scope ceiling; a later version refuses them")
	add(c.Session.Secret == "", "session.secret is not set: logins and pages in use end with the process, and several nodes do not know each other's")
	add(c.Session.Secret != "" && len(c.Session.Secret) < minSecret,
		"session.secret has fewer than 32 characters: who guesses it can make what this server hands to browsers; make one with: openssl rand -hex 32")
	add(c.Admin.Enabled && c.Admin.APIKey == "",
		"admin.api_key is not set: the administration API is open to every program of this machine")
	add(c.CIMD.Enabled && c.CIMD.AllowPrivateAddresses,
		"cimd.allow_private_addresses is on: metadata documents of clients are fetched from any address, which is for development alone")
	add(c.OIDC.ClientSecretEnv.Name != "", "oidc.client_secret_env is deprecated: call it oidc.client_secret_ref")
	return w
}

// localhost reports whether a host is this machine, by name or address. Names below localhost are, too (RFC 6761
// section 6.3).
func localhost(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
