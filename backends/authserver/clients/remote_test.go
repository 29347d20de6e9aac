package clients

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/jwks"
	"github.com/tollgate-gateway/tollgate/internal/jwks/jwkstest"
)

// TestRemotes checks that the number of cached key sets and of waiting requests is bounded.
func TestRemotes(t *testing.T) {
	t.Parallel()
	r := newRemotes(nil, zap.NewNop)
	defer r.end()
	for i := range maxSources + 10 {
		uri := fmt.Sprintf("https://c%d.example/keys", i)
		if src := r.source(uri); src != r.source(uri) || src.JWKS != uri || len(r.sources) > maxSources {
			t.Fatalf("%d sources", len(r.sources))
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	provider := jwkstest.New(t, jwkstest.JWK("k", key))
	local := newRemotes([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, zap.NewNop)
	defer local.end()
	known := published{local, provider.URL + "/keys"}
	if found, err := known.Find(t.Context(), "k", "ES256"); err != nil || len(found) != 1 {
		t.Errorf("%d keys, error %v", len(found), err)
	}
	for range maxFetches {
		r.waiting <- struct{}{}
		local.waiting <- struct{}{}
	}
	// A client with cached keys does not wait for the slow key servers of other clients.
	if found, err := known.Find(t.Context(), "k", "ES256"); err != nil || len(found) != 1 {
		t.Errorf("%d keys, error %v", len(found), err)
	}
	if _, err := known.Find(t.Context(), "another", "ES256"); !errors.Is(err, jwks.ErrUnknownKey) {
		t.Errorf("error %v", err)
	}
	if _, err := (published{r, "https://c.example/keys"}).Find(t.Context(), "k", "ES256"); !errors.Is(err, jwks.ErrUnknownKey) {
		t.Errorf("error %v", err)
	}
}
