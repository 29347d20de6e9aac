// Package clients knows who may ask for tokens: the rows of clients, how they are
// registered (RFC 7591), how they prove who they are, and to which addresses the
// answers of the authorization endpoint may go.
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

// Where clients come from.
const (
	Admin    = "admin"
	DCR      = "dcr"  // dynamic registration
	Document = "cimd" // a client ID metadata document
)

// The grants that a client may have.
const (
	GrantCode     = "authorization_code"
	GrantRefresh  = "refresh_token"
	GrantClient   = "client_credentials"
	GrantDevice   = "urn:ietf:params:oauth:grant-type:device_code"
	GrantExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	GrantJWT      = "urn:ietf:params:oauth:grant-type:jwt-bearer"
)

// The ways in which a client authenticates.
const (
	MethodNone  = "none"
	MethodBasic = "client_secret_basic"
	MethodPost  = "client_secret_post"
	MethodKey   = "private_key_jwt"
)

// ErrUnknown tells that there is no such client.
var ErrUnknown = errors.New("there is no such client")

// Client is a row.
type Client struct {
	ID   string // client_id
	Name string
	// Secret is its stored form: the scheme and a digest. Empty: it has none.
	Secret     string
	AuthMethod string
	Redirects  []string
	Grants     []string
	Responses  []string
	// Scope is the ceiling: what it may ask for at most. Empty: what the resources
	// declare.
	Scope []string
	// Agent is one that says of itself that it acts on its own.
	Agent     bool
	AgentText string
	Metadata  Metadata
	Status    string
	Source    string
	// Registration is the digest of its registration access token (RFC 7592); empty:
	// it has none.
	Registration string
	IssuedAt     time.Time
	UpdatedAt    time.Time
	// FreshUntil is how long its metadata document serves, where it is known by one.
	FreshUntil time.Time
	// SeenAt is when it was last there, to the hour, where it registered itself. Zero: it
	// never was.
	SeenAt time.Time
}

// Metadata is what is kept of RFC 7591 beside the columns.
type Metadata struct {
	ApplicationType string   `json:"application_type,omitempty"`
	ClientURI       string   `json:"client_uri,omitempty"`
	LogoURI         string   `json:"logo_uri,omitempty"`
	Contacts        []string `json:"contacts,omitempty"`
	TermsURI        string   `json:"tos_uri,omitempty"`
	PolicyURI       string   `json:"policy_uri,omitempty"`
	SoftwareID      string   `json:"software_id,omitempty"`
	SoftwareVersion string   `json:"software_version,omitempty"`
	// JWKS is the set of its public keys as it was sent.
	JWKS    RawJSON `json:"jwks,omitempty"`
	JWKSURI string  `json:"jwks_uri,omitempty"`
	// DPoP asks that all its tokens are bound to a key (RFC 9449 section 5.2).
	DPoP bool `json:"dpop_bound_access_tokens,omitempty"`
	// Logout is where a browser may go after RP-initiated logout.
	Logout []string `json:"post_logout_redirect_uris,omitempty"`
	// BackchannelLogout is where the client is told of sessions that end (OpenID Connect
	// Back-Channel Logout 1.0 section 2.2), and BackchannelSession asks for the claim sid, which
	// is always there.
	BackchannelLogout  string `json:"backchannel_logout_uri,omitempty"`
	BackchannelSession bool   `json:"backchannel_logout_session_required,omitempty"`
	// FirstParty marks an application of the operator's own. Clients drops it from what an
	// application says of itself; read it by Client.FirstParty.
	FirstParty bool `json:"first_party,omitempty"`
}

// Public reports whether the client proves nothing of itself.
func (c *Client) Public() bool { return c.AuthMethod == MethodNone }

// SelfDeclared reports whether the client has named and described itself, by registering
// or by its metadata document. Nobody has checked what it says then.
func (c *Client) SelfDeclared() bool { return c.Source != Admin }

// FirstParty reports whether the operator has made the client and marked it as an
// application of their own. People are not asked what such a client may do.
func (c *Client) FirstParty() bool { return c.Metadata.FirstParty && !c.SelfDeclared() }

// Active reports whether it may do anything.
func (c *Client) Active() bool { return c.Status == Active }

// May reports whether it is registered for a grant.
func (c *Client) May(grant string) bool { return slices.Contains(c.Grants, grant) }

// Options of the room.
type Options struct {
	// Pepper is client_secret_pepper; empty: secrets are hashed slowly.
	Pepper []byte
	// Hasher is the slow hash. Default: that of internal/password.
	Hasher password.Hasher
	// Grants are those that are switched on.
	Grants []string
	// Mode is dcr.mode. Default: AdminOnly.
	Mode string
	// Approved is dcr.approved_redirects.
	Approved []string
	// DefaultScope is oauth.default_client_scope.
	DefaultScope []string
	// Networks are those that a jwks_uri may lead to beside public ones.
	Networks []netip.Prefix
	// Documents fetches what clients say at the URL that is their client_id; nil: there are
	// no such clients.
	Documents *documents.Documents
	// Endpoints may be the audience of assertions, as the issuer may.
	Endpoints []string
	// UnusedLife is how long a client that registered itself is kept that never comes, and
	// IdleLife one that comes no more, where nothing would be lost with it; 0: for good.
	UnusedLife, IdleLife time.Duration
	// SelfMost is from how many of these on those that hold nothing go early. Default:
	// 100 000.
	SelfMost int
}

// Clients are all clients.
type Clients struct {
	*kernel.Server
	options Options
	rows    *kernel.Cache[*Client]
	modes   *kernel.Cache[string]
	proven  *proven // secrets that were hashed slowly a moment ago
	remotes *remotes
	flights singleflight.Group // of documents
	seen    *kernel.Batch[string]
}

const (
	topic = "clients"
	// rowsMost bounds how many clients are remembered.
	rowsMost = 20_000
)

// New makes the room.
func New(s *kernel.Server, o Options) *Clients {
	o.SelfMost = cmp.Or(o.SelfMost, selfMost)
	cs := &Clients{Server: s, options: o, proven: newProven(s.Now), remotes: newRemotes(o.Networks, s.Logger)}
	s.Closing(cs.remotes.end)
	cs.rows = kernel.NewCache(rowsMost, s.Now, cs.read)
	cs.seen = kernel.NewBatch(cs.writeSeen, func(ids []string, err error) {
		cs.Logger().Warn("it could not be noted which clients were there", zap.Int("clients", len(ids)), zap.Error(err))
	})
	cs.modes = kernel.NewCache(1, s.Now, cs.readMode)
	s.Watch("settings", func(string) { cs.modes.Drop("") })
	s.Watch(topic, func(id string) {
		cs.rows.Drop(id)
		cs.proven.drop(id)
	})
	return cs
}

// Find is a client, whatever its status, as it was a moment ago: what another node
// changes is seen within five seconds. It is not to be changed. The error is ErrUnknown
// where there is none.
func (cs *Clients) Find(ctx context.Context, id string) (*Client, error) {
	if id == "" || len(id) > maxID || !utf8.ValidString(id) || strings.IndexByte(id, 0) >= 0 { // PostgreSQL has no such text
		return nil, ErrUnknown
	}
	return cs.rows.Get(ctx, id)
}

// maxID bounds a client_id, in bytes.
const maxID = 2048
