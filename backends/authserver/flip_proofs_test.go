package authserver_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/jwks/jwkstest"
	"github.com/tollgate-gateway/tollgate/internal/secret"
)

// proved is what a machine gets with a proof of an age, and a nonce, which may be empty.
func (f *flipped) proved(nonce string, age time.Duration) answer {
	f.t.Helper()
	claims := map[string]any{"jti": secret.New(), "htm": http.MethodPost, "htu": f.url + "/oauth/token", "iat": f.clock.Now().Add(-age).Unix()}
	if nonce != "" {
		claims["nonce"] = nonce
	}
	key := f.prover().key
	proof := jwkstest.Sign(f.t, "ES256", key, map[string]any{"typ": "dpop+jwt", "jwk": json.RawMessage(jwkstest.JWK("", key))}, claims)
	return f.public(http.MethodPost, "/oauth/token", f.robot().Encode(), "DPoP", proof)
}

// proofFlips are of proofs of possession.
func proofFlips() map[string]flip {
	return map[string]flip{
		"dpop.enabled": {nil, false, metadata("dpop_signing_alg_values_supported"), `["ES256","RS256","PS256"]`, "null"},
		"dpop.require_nonce": {nil, true, func(t *testing.T, key keys) string {
			t.Helper()
			return begin(t, key).proved("", 0).says()
		}, "200", "use_dpop_nonce"},
		"dpop.nonce_ttl": {nil, "10m", func(t *testing.T, key keys) string {
			t.Helper()
			f := begin(t, keys{"dpop.require_nonce": true}, key)
			nonce := f.proved("", 0).Header().Get("DPoP-Nonce")
			f.clock.Pass(5 * time.Minute)
			return f.proved(nonce, 0).says()
		}, "use_dpop_nonce", "200"},
		"dpop.proof_lifetime": {nil, "5m", func(t *testing.T, key keys) string {
			t.Helper()
			return begin(t, key).proved("", 2*time.Minute).says()
		}, "invalid_dpop_proof", "200"},
	}
}
