package apiauth

import (
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	golang "github.com/golang-jwt/jwt/v5"

	"github.com/tollgate-gateway/tollgate/internal/jwks/jwkstest"
)

// TestOAuthStepUp checks that tokens of a sign-in that is not strong or recent enough are refused, with a challenge
// that names the requirements (RFC 9470).
func TestOAuthStepUp(t *testing.T) {
	t.Parallel()
	p := jwkstest.New(t, jwkstest.JWK("k1", rsaKey))
	o := newOAuth(t, &OAuth{Issuer: p.URL, Audiences: []string{notes}, ACR: []string{"2", "gold"}, MaxAge: caddy.Duration(10 * time.Minute)})
	now := time.Now()
	for name, changes := range map[string]golang.MapClaims{
		"two factors": {"acr": "2", "auth_time": now.Add(-9 * time.Minute).Unix()},
		"another one": {"acr": "gold", "auth_time": now.Unix()},
	} {
		if got := send(o, "Bearer "+accessToken(t, p.URL, nil, changes)); got.err != nil || got.id != "ann" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	const challenge = `Bearer error="insufficient_user_authentication", error_description="`
	for name, test := range map[string]struct {
		changes golang.MapClaims
		told    string
	}{
		"one factor":  {golang.MapClaims{"acr": "1", "auth_time": now.Unix()}, "a stronger sign-in"},
		"no class":    {golang.MapClaims{"auth_time": now.Unix()}, "a stronger sign-in"},
		"no text":     {golang.MapClaims{"acr": 2, "auth_time": now.Unix()}, "a stronger sign-in"},
		"an old one":  {golang.MapClaims{"acr": "2", "auth_time": now.Add(-11 * time.Minute).Unix()}, "a newer sign-in"},
		"no time":     {golang.MapClaims{"acr": "2"}, "a newer sign-in"},
		"a time text": {golang.MapClaims{"acr": "2", "auth_time": "now"}, "a newer sign-in"},
	} {
		send(o, "Bearer "+accessToken(t, p.URL, nil, test.changes)).refused(t, name, 401, "insufficient_user_authentication",
			challenge+test.told+` is needed here", acr_values="2 gold", max_age="600", `+notesMetadata)
	}
}
