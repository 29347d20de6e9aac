package clients

import (
	"context"
	"net/netip"
	"sync"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/jwks"
)

const (
	// maxSources is the maximum number of key sets in the cache.
	maxSources = 1000
	// maxFetches is the maximum number of requests that wait for a key set at the same time.
	maxFetches = 32
)

// remotes holds the key sets that clients publish at a jwks_uri (RFC 7591 section 2). Since anybody can register a
// jwks_uri, key sets are fetched only from public addresses and from the networks that the operator allows.
type remotes struct {
	allow   []netip.Prefix // networks with private addresses that may be used
	logger  func() *zap.Logger
	waiting chan struct{} // a semaphore with maxFetches slots

	mu      sync.Mutex              // protects the following fields
	sources map[string]*jwks.Source // by jwks_uri
	ended   bool                    // end was called; new sources are closed at once
}

func newRemotes(allow []netip.Prefix, logger func() *zap.Logger) *remotes {
	return &remotes{
		allow: allow, logger: logger, waiting: make(chan struct{}, maxFetches),
		sources: make(map[string]*jwks.Source),
	}
}

// source returns the key set that is published at a URI. If the cache is full, source first closes and removes an
// arbitrary other key set.
func (r *remotes) source(uri string) *jwks.Source {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.sources[uri]; found != nil {
		return found
	}
	for other, source := range r.sources { // in random order
		if len(r.sources) < maxSources {
			break
		}
		source.Close()
		delete(r.sources, other)
	}
	source := jwks.NewForeignSource(jwks.Address{JWKS: uri}, r.allow, r.logger)
	if r.ended {
		source.Close()
	}
	r.sources[uri] = source
	return source
}

// end stops all fetches.
func (r *remotes) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	for _, source := range r.sources {
		source.Close()
	}
}

// published finds the keys of a client at its jwks_uri; it is a jwks.Finder. If the keys cannot be fetched, the error
// is always ErrUnknownKey, so that nobody learns which service answers at an address.
type published struct {
	*remotes
	uri string
}

// Find implements jwks.Finder.
func (p published) Find(ctx context.Context, kid, algorithm string) ([]any, error) {
	source := p.source(p.uri)
	if found, ok := source.Kept(kid, algorithm); ok {
		return found, nil // known keys need not wait
	}
	select {
	case p.waiting <- struct{}{}:
		defer func() { <-p.waiting }()
	default:
		return nil, jwks.ErrUnknownKey
	}
	found, err := source.Find(ctx, kid, algorithm)
	if err != nil {
		return nil, jwks.ErrUnknownKey
	}
	return found, nil
}

// Interface guard
var _ jwks.Finder = published{}
