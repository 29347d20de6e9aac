// Package tokens issues what clients come for, and takes it back: authorization codes,
// access tokens (RFC 9068), families of refresh tokens (RFC 9700 section 4.14), and the
// list of what was denied before its time.
//
// The jti of an access token begins with the id of its family, so that one row denies
// all of a family, and a refresh or an introspection needs to read no list of tokens.
package tokens

import (
	"context"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/keys"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/jwt"
)

// Options of the room. All rooms are required.
type Options struct {
	Clients *clients.Clients
	Catalog *resources.Catalog
	Keys    *keys.Keys
	// User finds who a token is about.
	User func(ctx context.Context, id string) (User, error)
	// IDToken makes the ID token that goes with an access token for a scope that has
	// openid. Default: there is none.
	IDToken func(ctx context.Context, g Grant, accessToken string) (string, error)

	// CodeLife is how long an authorization code is good. Default: 60 s. At most 10 min.
	CodeLife time.Duration
	// AccessLife is that of the access tokens of people. Default: 15 min.
	AccessLife time.Duration
	// RefreshLife is how long a refresh token waits to be used. Default: 7 days.
	RefreshLife time.Duration
	// ClientLife is that of the access tokens of clients. Default: 1 hour.
	ClientLife time.Duration
	// LongestLife is that of any access token. Default: the longest of those above.
	LongestLife time.Duration
	// Grace is how long the refresh token that was used last may be used again, since
	// the answer may have been lost. Default: not at all.
	Grace time.Duration
}

// User is who a token is about.
type User struct {
	Email  string
	Active bool // false also where there is none
}

// Tokens issues tokens.
type Tokens struct {
	*kernel.Server
	options   Options
	users     *kernel.Cache[User]
	denied    *denied
	issuances *kernel.Batch[Issuance]
	verified  *jwt.Cache[*Claims]
	looks     *kernel.Limiter // of what is told of introspections
}

// New makes the room. Close ends it.
func New(s *kernel.Server, o Options) *Tokens {
	byDefault := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	byDefault(&o.CodeLife, time.Minute)
	byDefault(&o.AccessLife, 15*time.Minute)
	byDefault(&o.RefreshLife, 7*24*time.Hour)
	byDefault(&o.ClientLife, time.Hour)
	o.LongestLife = max(o.LongestLife, o.AccessLife, o.ClientLife)
	t := &Tokens{Server: s, options: o}
	t.users = kernel.NewCache(20_000, s.Now, o.User)
	t.denied = newDenied(s)
	t.looks = kernel.NewLimiter(1/lookedEvery.Seconds(), 1, s.Now)
	t.issuances = kernel.NewBatch(t.storeIssuances, t.lostIssuances)
	var err error
	if t.verified, err = jwt.NewCache(s.Now, t.verify); err != nil {
		panic(err) // the sizes of the cache are good
	}
	s.Watch(users.Topic, func(id string) {
		t.users.Drop(id)
		t.denied.doubt()
	})
	s.Watch(deniedTopic, t.denied.heard)
	return t
}

// Run writes what waits to be written, and hears of what others deny, until the context
// ends.
func (t *Tokens) Run(ctx context.Context) { t.issuances.Run(ctx) }

// Close forgets what was verified.
func (t *Tokens) Close() { t.verified.Close() }

// Flush writes the issuances that wait.
func (t *Tokens) Flush(ctx context.Context) error { return t.issuances.Flush(ctx) }
