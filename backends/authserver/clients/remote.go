package clients

import (
	"context"
	"net/netip"
	"sync"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/jwks"
)

const (
	// sourcesMost bounds how many key sets are remembered.
	sourcesMost = 1000
	// fetchesMost bounds how many requests wait for one at the same time.
	fetchesMost = 32
)

// remotes are the key sets that clients publish at a jwks_uri (RFC 7591 section 2).
// Anybody may have registered one, so that they lead to public networks alone, or to
// those that the operator allows.
type remotes struct {
	allow   []netip.Prefix
	logger  func() *zap.Logger
	waiting chan struct{}

	mu      sync.Mutex
	sources map[string]*jwks.Source
	ended   bool
}

func newRemotes(allow []netip.Prefix, logger func() *zap.Logger) *remotes {
	return &remotes{allow: allow, logger: logger, waiting: make(chan struct{}, fetchesMost), sources: make(map[string]*jwks.Source)}
}

// at is the key set of an address.
func (r *remotes) at(uri string) *jwks.Source {
	r.mu.Lock()
	defer r.mu.Unlock()
	if found := r.sources[uri]; found != nil {
		return found
	}
	for other, source := range r.sources { // in no order
		if len(r.sources) < sourcesMost {
			break
		}
		source.Close()
		delete(r.sources, other)
	}
	made := jwks.NewForeignSource(jwks.Address{JWKS: uri}, r.allow, r.logger)
	if r.ended {
		made.Close()
	}
	r.sources[uri] = made
	return made
}

// end ends the fetches.
func (r *remotes) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	for _, source := range r.sources {
		source.Close()
	}
}

// published is a jwks.Finder: the keys of a client at its jwks_uri. Where they cannot be
// had there is none, so that nobody learns what answers here.
type published struct {
	*remotes
	uri string
}

// Find implements jwks.Finder.
func (p published) Find(ctx context.Context, kid, algorithm string) ([]any, error) {
	source := p.at(p.uri)
	if found, ok := source.Kept(kid, algorithm); ok {
		return found, nil // whoever waits for others has no part in it
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
