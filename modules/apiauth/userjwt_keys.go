package apiauth

import (
	"context"
	"fmt"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/jwks"
)

// sources caches the keys of identity providers across reloads, by jwks.Address.
var sources = caddy.NewUsagePool()

// pooledSource is a source in the pool.
type pooledSource struct{ *jwks.Source }

// Destruct implements caddy.Destructor.
func (s pooledSource) Destruct() error {
	s.Close()
	return nil
}

// pooledKeys returns the signing keys at jwksURL or, if jwksURL is empty, those of the issuer. They come from the pool
// sources. pooledKeys sets *address to the name of the entry in the pool, which the caller must pass to releaseKeys in
// Cleanup.
func pooledKeys(issuer, jwksURL string, address **jwks.Address) (jwks.Finder, error) {
	location, name := jwks.Address{JWKS: jwksURL}, "jwks_url"
	if location.JWKS == "" {
		location.Issuer, name = issuer, "issuer"
	}
	if err := location.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	source, err := takeSource(location)
	if err != nil {
		return nil, err
	}
	*address = &location
	return source, nil
}

// releaseKeys releases the entry of the pool sources that pooledKeys has taken. address is its key, or nil if no entry
// was taken.
func releaseKeys(address *jwks.Address) error {
	if address == nil {
		return nil
	}
	_, err := sources.Delete(*address)
	return err
}

// takeSource returns the shared source of keys for an address. Each call must be followed by one sources.Delete.
func takeSource(address jwks.Address) (*jwks.Source, error) {
	loaded, _, err := sources.LoadOrNew(address, func() (caddy.Destructor, error) {
		return pooledSource{jwks.NewSource(address,
			func() *zap.Logger { return caddy.Log().Named("http.authentication.providers.user_jwt") })}, nil
	})
	if err != nil {
		return nil, err
	}
	return loaded.(pooledSource).Source, nil
}

// localKeys returns the keys of local tokens, which are derived from the keyring. A token may be signed with any of
// them, so that tokens of an older master key remain valid.
type localKeys func() ([][]byte, error)

// Find implements jwks.Finder.
func (k localKeys) Find(ctx context.Context, kid, algorithm string) ([]any, error) {
	secrets, err := k()
	if err != nil {
		return nil, err
	}
	fixed := make(jwks.Fixed, len(secrets))
	for i, secret := range secrets {
		fixed[i].Key = secret
	}
	return fixed.Find(ctx, kid, algorithm)
}

// Interface guards
var (
	_ caddy.Destructor = pooledSource{}
	_ jwks.Finder      = localKeys(nil)
)
