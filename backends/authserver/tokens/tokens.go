// Package tokens issues and revokes tokens: authorization codes, access tokens (RFC 9068) and families of refresh
// tokens (RFC 9700 section 4.14). It keeps the list of denied tokens, which were revoked before they expire.
//
// A family consists of all tokens that descend from one authorization. The jti of an access token begins with the id of
// its family. A single row therefore denies a whole family, and neither a refresh nor an introspection needs to read a
// list of tokens. An issuance is the stored record of an issued access token.
package tokens

import (
	"cmp"
	"context"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/claims"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/keys"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/jwt"
	"github.com/tollgate-gateway/tollgate/internal/ratelimit"
)

// Options are the settings of Tokens. Clients, Catalog and Keys are required.
type Options struct {
	Clients *clients.Clients
	Catalog *resources.Catalog
	Keys    *keys.Keys
	// User returns the user with an id. If there is no such user, it returns a User that is not active, and no error.
	// Required.
	User func(ctx context.Context, id string) (User, error)
	// IDToken returns the ID token for an access token whose scope contains openid. Default: responses contain no ID
	// token.
	IDToken func(ctx context.Context, g Grant, accessToken string) (string, error)

	// Facts returns the facts about a user from which claim rules of clients and resources make claims. Default: access
	// tokens contain no such claims.
	Facts func(ctx context.Context, user string) (*claims.Facts, error)

	// CodeLife is how long an authorization code is valid. Default: 60 s. At most 10 min.
	CodeLife time.Duration
	// AccessLife is the life of users' access tokens. Default: 15 min.
	AccessLife time.Duration
	// RefreshLife is how long an unused refresh token is valid. Default: 7 days.
	RefreshLife time.Duration
	// ClientLife is the life of access tokens issued by the client credentials grant. Default: 1 hour.
	ClientLife time.Duration
	// LongestLife is the longest life of any access token. If AccessLife or ClientLife is greater, New raises LongestLife
	// to it.
	LongestLife time.Duration
	// Grace is how long a used refresh token is accepted again, in case the response was lost. Default: 0, which means
	// never.
	Grace time.Duration
}

// User is the user who is a token's subject.
type User struct {
	Email    string
	Verified bool // the user has confirmed the address
	Name     string
	Active   bool // also false if there is no such user
}

// Tokens issues, checks and revokes tokens.
type Tokens struct {
	*kernel.Server
	options    Options
	users      *kernel.Cache[User] // by id
	denied     *denied
	issuances  *kernel.Batch[Issuance] // waiting to be stored
	verified   *jwt.Cache[*Claims]     // caches the results of verify
	auditLimit *ratelimit.Limiter      // limits the audit events of introspections
}

// New returns Tokens. Close must be called to release its cache.
func New(s *kernel.Server, o Options) *Tokens {
	o.CodeLife = cmp.Or(o.CodeLife, time.Minute)
	o.AccessLife = cmp.Or(o.AccessLife, 15*time.Minute)
	o.RefreshLife = cmp.Or(o.RefreshLife, 7*24*time.Hour)
	o.ClientLife = cmp.Or(o.ClientLife, time.Hour)
	o.LongestLife = max(o.LongestLife, o.AccessLife, o.ClientLife)
	t := &Tokens{Server: s, options: o}
	t.users = kernel.NewCache(20_000, s.Now, o.User)
	t.denied = newDenied(s)
	t.auditLimit = ratelimit.New(ratelimit.Every(1, auditInterval), s.Now)
	t.issuances = kernel.NewBatch(t.storeIssuances, t.lostIssuances)
	var err error
	if t.verified, err = jwt.NewCache(s.Now, t.verify); err != nil {
		panic(err) // the sizes of the cache are constants
	}
	s.Watch(users.Topic, func(id string) {
		t.users.Drop(id)
		t.denied.requireSync() // see EndUser
	})
	s.Watch(deniedTopic, t.denied.receive)
	return t
}

// Run writes queued issuances until the context is done.
func (t *Tokens) Run(ctx context.Context) { t.issuances.Run(ctx) }

// Close releases the cache of verified tokens.
func (t *Tokens) Close() { t.verified.Close() }

// Flush stores the queued issuances.
func (t *Tokens) Flush(ctx context.Context) error { return t.issuances.Flush(ctx) }
