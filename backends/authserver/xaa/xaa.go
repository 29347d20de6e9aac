// Package xaa implements enterprise-managed authorization (cross-app access). An identity provider that an
// administrator trusts issues an assertion (ID-JAG, Identity Assertion JWT Authorization Grant). The assertion states
// that one of the provider's users may use a client here. The client exchanges the assertion for an access token, as
// far as the policies and the mappings of subjects permit.
package xaa

import (
	"cmp"
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
	"github.com/tollgate-gateway/tollgate/internal/jwks"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Options are the settings of XAA. Clients, Catalog, Tokens and Active are required.
type Options struct {
	Clients *clients.Clients
	Catalog *resources.Catalog
	Tokens  *tokens.Tokens
	// Active reports whether a user exists and is active.
	Active func(ctx context.Context, user string) (bool, error)

	// Networks are the private networks from which keys may be fetched. Public addresses are always allowed.
	Networks []netip.Prefix
	// KeysTTL is how long the keys of an identity provider are cached. Default: 1 hour.
	KeysTTL time.Duration
	// MaxAge is the maximum age of an assertion. Default: 5 min.
	MaxAge time.Duration
	// RequireResource refuses requests that name no resource.
	RequireResource bool
	// Strict refuses subjects that are not mapped to a user.
	Strict bool
	// Life is the life of the access tokens. Default: 1 hour.
	Life time.Duration
}

// XAA implements the grant type and stores the identity providers, policies and mappings.
type XAA struct {
	*kernel.Server
	options   Options
	snapshots *kernel.Cache[*snapshot] // has a single entry, with the empty key

	mu      sync.Mutex                    // protects the following fields
	sources map[jwks.Address]*jwks.Source // the keys of the identity providers
	closed  bool                          // closeSources was called; new sources are closed at once
}

const (
	// topic is the topic under which changes of identity providers, policies and mappings are notified.
	topic = "xaa"
	// maxIdPs and maxPolicies are the maximum numbers of rows.
	maxIdPs, maxPolicies = 1000, 10_000
	// minFetchInterval is the minimum time between two fetches of a provider's keys.
	minFetchInterval = 30 * time.Second
)

// New returns an XAA.
func New(s *kernel.Server, o Options) *XAA {
	o.KeysTTL = cmp.Or(o.KeysTTL, time.Hour)
	o.MaxAge = cmp.Or(o.MaxAge, 5*time.Minute)
	o.Life = cmp.Or(o.Life, time.Hour)
	x := &XAA{Server: s, options: o, sources: make(map[jwks.Address]*jwks.Source)}
	x.snapshots = kernel.NewCache(1, s.Now, x.read)
	s.Watch(topic, func(string) { x.snapshots.Drop("") })
	s.Closing(x.closeSources)
	return x
}

// snapshot holds the identity providers and policies at one moment. It is immutable.
type snapshot struct {
	idps     map[string]*IdP      // by issuer
	policies map[string][]*Policy // by the id of the identity provider
}

// read loads all identity providers and policies for the cache.
func (x *XAA) read(ctx context.Context, _ string) (*snapshot, error) {
	s := &snapshot{idps: make(map[string]*IdP), policies: make(map[string][]*Policy)}
	err := x.Read(ctx, func(c store.Conn) error {
		idps, err := store.List(c, scanIdP, "SELECT "+idpColumns+" FROM authserver_idps ORDER BY created_at, id LIMIT ?",
			maxIdPs)
		if err != nil {
			return err
		}
		policies, err := store.List(c, scanPolicy, "SELECT "+
			policyColumns+" FROM authserver_xaa_policies ORDER BY created_at, id LIMIT ?", maxPolicies)
		if err != nil {
			return err
		}
		for _, idp := range idps {
			s.idps[idp.Issuer] = idp
		}
		for _, p := range policies {
			s.policies[p.IdP] = append(s.policies[p.IdP], p)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	x.prune(s)
	return s, nil
}

// keySource returns the source of the keys of an identity provider. The source caches the keys.
func (x *XAA) keySource(idp *IdP) *jwks.Source {
	uri := idp.address()
	x.mu.Lock()
	defer x.mu.Unlock()
	if known := x.sources[uri]; known != nil {
		return known
	}
	source := jwks.NewForeignSource(uri, x.options.Networks, x.Logger)
	source.Limit(x.options.KeysTTL, minFetchInterval)
	source.Clock(x.Now)
	if x.closed {
		source.Close()
	}
	x.sources[uri] = source
	return source
}

// prune drops the cached keys of identity providers that no longer exist.
func (x *XAA) prune(s *snapshot) {
	inUse := make(map[jwks.Address]bool, len(s.idps))
	for _, idp := range s.idps {
		inUse[idp.address()] = true
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for uri, source := range x.sources {
		if !inUse[uri] {
			source.Close()
			delete(x.sources, uri)
		}
	}
}

// closeSources stops all fetches of keys, now and in the future.
func (x *XAA) closeSources() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	for _, source := range x.sources {
		source.Close()
	}
}

// RefreshKeys fetches the keys of an identity provider at once. If that fails, the error is a *KeysError. If there is
// no provider with the id, the error is ErrUnknown.
func (x *XAA) RefreshKeys(ctx context.Context, id string) error {
	idp, err := x.IdP(ctx, id)
	if err != nil {
		return err
	}
	if err := x.keySource(idp).Refresh(ctx); err != nil {
		return &KeysError{err}
	}
	return nil
}

// KeysError means that the keys of an identity provider could not be fetched.
type KeysError struct{ Cause error }

// Error implements error.
func (e *KeysError) Error() string {
	return "the keys of the identity provider could not be fetched: " + e.Cause.Error()
}

// Unwrap returns the cause.
func (e *KeysError) Unwrap() error { return e.Cause }
