// Package clients manages the OAuth clients: their rows, their registration (RFC 7591), their authentication, and the
// redirect URIs to which the authorization endpoint may send responses.
package clients

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"
	"golang.org/x/sync/singleflight"

	"github.com/tollgate-gateway/tollgate/backends/authserver/claims"
	"github.com/tollgate-gateway/tollgate/backends/authserver/documents"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/password"
)

// The states of a client.
const (
	Active    = "active"
	Suspended = "suspended"
	Revoked   = "revoked"
)

// The sources of clients.
const (
	Admin    = "admin"
	DCR      = "dcr"  // dynamic registration
	Document = "cimd" // a client ID metadata document
)

// The grant types for which a client may be registered.
const (
	GrantCode     = "authorization_code"
	GrantRefresh  = "refresh_token"
	GrantClient   = "client_credentials"
	GrantDevice   = "urn:ietf:params:oauth:grant-type:device_code"
	GrantExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	GrantJWT      = "urn:ietf:params:oauth:grant-type:jwt-bearer"
)

// The authentication methods of clients.
const (
	MethodNone  = "none"
	MethodBasic = "client_secret_basic"
	MethodPost  = "client_secret_post"
	MethodKey   = "private_key_jwt"
)

// ErrUnknown means that the client does not exist.
var ErrUnknown = errors.New("there is no such client")

// Client is a row of authserver_clients.
type Client struct {
	ID   string // client_id
	Name string
	// Secret is the stored form of the secret: the scheme and a digest. It is empty for a client without a secret.
	Secret     string
	AuthMethod string   // one of the methods above
	Redirects  []string // redirect_uris
	Grants     []string // grant_types
	Responses  []string // response_types
	// Scope is the maximum scope that the client may request. An empty Scope permits all scopes that the resources
	// declare; but see Clients.Ceiling.
	Scope []string
	// Agent is set for a client that declares itself to be an autonomous agent.
	Agent     bool
	AgentText string // the agent's description
	Metadata  Metadata
	Status    string // Active, Suspended or Revoked
	Source    string // Admin, DCR or Document
	// Registration is the digest of the registration access token (RFC 7592). It is empty for a client without such a
	// token.
	Registration string
	IssuedAt     time.Time
	UpdatedAt    time.Time
	// FreshUntil is the time until which the stored copy of the client's metadata document may be used. It is zero
	// without such a document.
	FreshUntil time.Time
	// SeenAt is when a self-registered client was last used, to the hour. It is zero for a client that was never used.
	SeenAt time.Time
}

// Metadata holds the client metadata (RFC 7591) that is stored as JSON, in a single column.
type Metadata struct {
	ApplicationType string   `json:"application_type,omitempty"`
	ClientURI       string   `json:"client_uri,omitempty"`
	LogoURI         string   `json:"logo_uri,omitempty"`
	Contacts        []string `json:"contacts,omitempty"`
	TermsURI        string   `json:"tos_uri,omitempty"`
	PolicyURI       string   `json:"policy_uri,omitempty"`
	SoftwareID      string   `json:"software_id,omitempty"`
	SoftwareVersion string   `json:"software_version,omitempty"`
	// JWKS is the set of public keys, exactly as the client sent it.
	JWKS    RawJSON `json:"jwks,omitempty"`
	JWKSURI string  `json:"jwks_uri,omitempty"`
	// DPoP requires that all tokens of the client are bound to a key (RFC 9449 section 5.2).
	DPoP bool `json:"dpop_bound_access_tokens,omitempty"`
	// Logout are the URIs to which a browser may be redirected after RP-initiated logout.
	Logout []string `json:"post_logout_redirect_uris,omitempty"`
	// BackchannelLogout is the URI that is called when a session ends (OpenID Connect Back-Channel Logout 1.0 section
	// 2.2). BackchannelSession requests the claim sid, which is sent in any case.
	BackchannelLogout  string `json:"backchannel_logout_uri,omitempty"`
	BackchannelSession bool   `json:"backchannel_logout_session_required,omitempty"`
	// FirstParty marks an application of the operator. Clients.Client clears the field for a self-declared client. Use
	// Client.FirstParty to read it.
	FirstParty bool `json:"first_party,omitempty"`
	// Claims are the claim rules. A self-declared client has none, whatever is stored here: use Client.ClaimRules to
	// read them.
	Claims []claims.Rule `json:"claim_rules,omitempty"`
}

// Public reports whether the client does not authenticate itself.
func (c *Client) Public() bool { return c.AuthMethod == MethodNone }

// SelfDeclared reports whether the client chose its own name and description, by registering itself or by its metadata
// document. Nobody has verified them in that case.
func (c *Client) SelfDeclared() bool { return c.Source != Admin }

// FirstParty reports whether an administrator created the client and marked it as the operator's application. Users are
// not asked for consent to such a client.
func (c *Client) FirstParty() bool { return c.Metadata.FirstParty && !c.SelfDeclared() }

// ClaimRules returns the claim rules for the client's tokens. A self-declared client has no claim rules.
func (c *Client) ClaimRules() []claims.Rule {
	if c.SelfDeclared() {
		return nil
	}
	return c.Metadata.Claims
}

// Active reports whether the client may be used.
func (c *Client) Active() bool { return c.Status == Active }

// May reports whether the client is registered for a grant type.
func (c *Client) May(grant string) bool { return slices.Contains(c.Grants, grant) }

// Options are the settings of Clients.
type Options struct {
	// Pepper is client_secret_pepper. If it is empty, secrets are stored with the slow hash.
	Pepper []byte
	// Hasher is the slow hash. Default: the default of internal/password.
	Hasher password.Hasher
	// Grants are the enabled grant types.
	Grants []string
	// Mode is dcr.mode. Default: AdminOnly.
	Mode string
	// Approved is dcr.approved_redirects.
	Approved []string
	// DefaultScope is oauth.default_client_scope.
	DefaultScope []string
	// Networks are the private networks from which a jwks_uri may be fetched. Public addresses are always allowed.
	Networks []netip.Prefix
	// Documents fetches the metadata documents of clients whose client_id is a URL. If it is nil, such clients are
	// unknown.
	Documents *documents.Documents
	// Endpoints are accepted as the audience of assertions, in addition to the issuer.
	Endpoints []string
	// UnusedLife is how long a self-registered client is kept if it is never used. IdleLife is how long it is kept
	// after its last use, if it has no consents and no tokens. Zero keeps the clients forever.
	UnusedLife, IdleLife time.Duration
	// MaxSelfRegistered is the number of self-registered clients above which those without grants and tokens are
	// removed early. Default: 100 000.
	MaxSelfRegistered int
}

// Clients manages all clients.
type Clients struct {
	*kernel.Server
	options Options
	rows    *kernel.Cache[*Client] // by client_id
	modes   *kernel.Cache[string]  // the mode of dynamic registration, under the empty key
	proven  *proven
	remotes *remotes
	flights singleflight.Group    // fetches of metadata documents, by client_id
	seen    *kernel.Batch[string] // ids of clients whose last use is still to be stored
}

const (
	// topic is the topic of the changes that are announced to the other nodes.
	topic = "clients"
	// maxRows is the maximum number of clients in the cache.
	maxRows = 20_000
)

// New returns the clients of a server.
func New(s *kernel.Server, o Options) *Clients {
	o.MaxSelfRegistered = cmp.Or(o.MaxSelfRegistered, maxSelf)
	cs := &Clients{Server: s, options: o, proven: newProven(s.Now), remotes: newRemotes(o.Networks, s.Logger)}
	s.Closing(cs.remotes.end)
	cs.rows = kernel.NewCache(maxRows, s.Now, cs.read)
	cs.seen = kernel.NewBatch(cs.writeSeen, func(ids []string, err error) {
		cs.Logger().Warn("the last use of clients could not be recorded", zap.Int("clients", len(ids)), zap.Error(err))
	})
	cs.modes = kernel.NewCache(1, s.Now, cs.readMode) // the mode of registration, under the key ""
	// If another node has changed the mode or a client, the cached value is dropped.
	s.Watch("settings", func(string) { cs.modes.Drop("") })
	s.Watch(topic, func(id string) {
		cs.rows.Drop(id)
		cs.proven.drop(id)
	})
	return cs
}

// Find returns a client with any status, from a cache. It sees changes by other nodes within five seconds. The caller
// must not modify the client. If the client does not exist, the error is ErrUnknown.
func (cs *Clients) Find(ctx context.Context, id string) (*Client, error) {
	// PostgreSQL cannot store text that is not UTF-8 or contains NUL.
	if id == "" || len(id) > maxID || !utf8.ValidString(id) || strings.IndexByte(id, 0) >= 0 {
		return nil, ErrUnknown
	}
	return cs.rows.Get(ctx, id)
}

// maxID is the maximum length of a client_id, in bytes.
const maxID = 2048
