// Package config reads the configuration of the authorization server: a YAML file overrides the defaults, and
// environment variables override the file. A single table lists all keys; the loader, the documentation and the tests
// use it.
package config

import (
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Config is the whole configuration, as Load returns it. The meaning, default, environment variable and rule of each
// key are in the table; see Keys.
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

	// ClientSecretPepper is the HMAC-SHA256 key with which client secrets are hashed. If it is empty, a slow password
	// hash is used instead.
	ClientSecretPepper string

	// Clients, Resources and BrokerProviders are stored in the database at the start, unless an entry with the same
	// client_id or slug exists.
	Clients         []Client
	Resources       []Resource
	BrokerProviders []BrokerProvider

	// Upstreams are OpenID providers at which people may sign in, in addition to the provider in OIDC.
	Upstreams []Upstream

	issuer *url.URL        // Server.Issuer, parsed; nil if it is invalid
	isSet  map[string]bool // the names of the keys that the file or the environment sets
}

// Server configures the public listener and the issuer.
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

// DCR configures dynamic client registration (RFC 7591), and the default lifetimes of access and refresh tokens.
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

// CIMD configures clients whose client_id is the URL of their metadata document (Client ID Metadata Documents).
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
	// PasskeyLogin allows users to sign in with a passkey alone, without a password.
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

// RateLimit limits the requests, and the failed sign-ins, of one address.
type RateLimit struct {
	AuthFailMax          int // 0 disables the lockout
	AuthFailWindow       time.Duration
	AuthLockout          time.Duration
	AuthSprayFactor      int // 0 disables locking addresses
	Burst                int
	Enabled              bool // limits requests only; the lockout does not depend on it
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

// DataEncryption configures how secrets in the database are encrypted.
type DataEncryption struct {
	AESMaster struct {
		KeyEnv    Ref // 64 hex characters
		OldKeyEnv Ref // only for decrypting
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

// SealsAs reports whether two servers that share a database encrypt secrets with the same current key. Former keys,
// which only decrypt, are not compared.
func (c *Config) SealsAs(peer *Config) bool {
	if c.DataEncryption.sealer() != peer.DataEncryption.sealer() {
		return false
	}
	return c.Signing.KeyStore != PostgresKey || peer.Signing.KeyStore != PostgresKey ||
		c.Signing.PostgresKey.EncryptionKeyEnv.Secret == peer.Signing.PostgresKey.EncryptionKeyEnv.Secret
}

// sealer returns a comparable value that identifies the driver and its current key.
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

// Connect configures how users connect their accounts at broker providers. Clients then obtain the tokens of these
// providers by exchange.
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

// XAA configures enterprise-managed authorization (Cross-App Access): a company's identity provider issues assertions
// that clients exchange for access tokens.
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
	// Folder contains templates that replace the built-in ones. If it is empty, all templates are the built-in ones.
	Folder string
	// Language is the default language. Languages are the languages of the pages; an empty list means all known
	// languages.
	Language  string
	Languages []string
	// Texts is a folder with catalogues that replace texts of the pages. It may be empty.
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
	PasswordLength      int           // the minimum number of characters of a new password
	LeakedPasswords     string        // a file of hashes; may be empty
}

// The values of Accounts.Registration.
const (
	RegistrationOff  = "off"
	RegistrationOpen = "open"
)

// Counters configures the store in which all nodes record values that may be used only once, such as assertions.
type Counters struct {
	RedisEnv Ref // if unset, single-use values are kept in PostgreSQL or in the process
}

// Ref is a key whose value is the name of an environment variable. Load reads the secret from that variable once.
type Ref struct {
	Name   string // the name of the variable; empty if the key is not set
	Secret string // the value of the variable
}

// Localhost reports whether the host of the issuer is localhost, a name below localhost or a loopback address. Some
// rules are then relaxed, for trying out the server.
func (c *Config) Localhost() bool { return c.issuer != nil && localhost(c.issuer.Hostname()) }

// Networks returns the parsed prefixes of server.allow_networks.
func (c *Config) Networks() []netip.Prefix {
	list := make([]netip.Prefix, 0, len(c.Server.AllowNetworks))
	for _, text := range c.Server.AllowNetworks {
		if prefix, err := netip.ParsePrefix(text); err == nil { // Load has checked this
			list = append(list, prefix)
		}
	}
	return list
}

// Given reports whether the file or the environment sets a key.
func (c *Config) Given(key string) bool { return c.isSet[key] }

// minSecret is the minimum length, in characters, of a secret that signs values.
const minSecret = 32

// Warnings returns problems of the configuration that do not keep the server from working. They are logged at the start
// and shown in the notices of the administration API.
func (c *Config) Warnings() []string {
	var warnings []string
	add := func(applies bool, text string) {
		if applies {
			warnings = append(warnings, text)
		}
	}
	add(!c.Localhost() && c.issuer.Scheme == "http",
		"server.issuer is not https: tokens and passwords are sent unencrypted")
	add(!c.Localhost() && c.issuer.Scheme == "https" && !c.Session.Secure && c.Session.SameSite != "none",
		"session.secure is off although server.issuer is https: browsers also send the session cookie unencrypted")
	add(c.DCR.Mode == Open && !c.Localhost(), "dcr.mode is open: anybody who can reach the server can register a client")
	add(c.DCR.Mode != AdminOnly && c.OAuth.DefaultClientScope == "",
		"oauth.default_client_scope is empty: clients that register themselves have no scope ceiling; a later version refuses them")
	add(c.Session.Secret == "", "session.secret is not set: when the process ends, all users are signed out and open forms become invalid; other nodes do not accept this node's sessions")
	add(c.Session.Secret != "" && len(c.Session.Secret) < minSecret,
		"session.secret has fewer than 32 characters: an attacker who guesses it can forge session cookies; generate one with: openssl rand -hex 32")
	add(c.Admin.Enabled && c.Admin.APIKey == "",
		"admin.api_key is not set: every program on this machine can use the administration API")
	add(c.CIMD.Enabled && c.CIMD.AllowPrivateAddresses,
		"cimd.allow_private_addresses is on: metadata documents of clients are fetched from any address; use this only for development")
	add(c.OIDC.ClientSecretEnv.Name != "", "oidc.client_secret_env is deprecated: use oidc.client_secret_ref instead")
	return warnings
}

// localhost reports whether a host is localhost, a name below it (RFC 6761 section 6.3) or a loopback address.
func localhost(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
