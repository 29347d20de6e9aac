package authserver_test

import (
	"crypto/elliptic"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	golang "github.com/golang-jwt/jwt/v5"

	"github.com/tollgate-gateway/tollgate/internal/jwks/jwkstest"
	"github.com/tollgate-gateway/tollgate/internal/secret"
)

// enterpriseFlips are of assertions of identity providers.
func enterpriseFlips() map[string]flip {
	// brought are the answers to assertions of an age, for a resource or none, with hours
	// between them, and how often the keys were fetched.
	brought := func(t *testing.T, key keys, n int, age time.Duration, resource string) (last answer, fetches int) {
		t.Helper()
		f := begin(t, trust, key)
		signer := jwkstest.NewEC(elliptic.P256())
		idp := jwkstest.New(t, jwkstest.JWK("k", signer))
		if made := f.admin(http.MethodPost, "/idps", `{"name":"Corp","issuer":"`+idp.URL+`"}`); made.Code != http.StatusCreated {
			t.Fatalf("%d %s", made.Code, made.Body)
		}
		const grant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
		id, password := f.client(map[string]any{"grant_types": []string{grant}, "redirect_uris": []string{}, "response_types": []string{}, "token_endpoint_auth_method": "client_secret_post"})
		for i := range n {
			if i > 0 {
				f.clock.Pass(30 * time.Minute)
			}
			now := f.clock.Now()
			claims := golang.MapClaims{
				"iss": idp.URL, "sub": "u1", "aud": f.url, "client_id": id, "jti": secret.New(), "iat": now.Add(-age).Unix(), "exp": now.Add(5 * time.Minute).Unix(), "scope": "read",
			}
			if resource != "" {
				claims["resource"] = resource
			}
			assertion := jwkstest.Sign(t, "ES256", signer, map[string]any{"kid": "k", "typ": "oauth-id-jag+jwt"}, claims)
			last = f.public(http.MethodPost, "/oauth/token", url.Values{"grant_type": {grant}, "assertion": {assertion}, "client_id": {id}, "client_secret": {password}}.Encode())
		}
		return last, idp.Count()
	}
	says := func(age time.Duration, resource string) func(t *testing.T, key keys) string {
		return func(t *testing.T, key keys) string {
			t.Helper()
			last, _ := brought(t, key, 1, age, resource)
			return last.says()
		}
	}
	const files = "https://files.example"
	return map[string]flip{
		"xaa.enabled":           {nil, false, metadata("authorization_grant_profiles_supported"), `["urn:ietf:params:oauth:grant-profile:id-jag"]`, "null"},
		"xaa.max_assertion_age": {nil, "1m", says(2*time.Minute, files), "200", "invalid_grant"},
		"xaa.require_resource":  {nil, true, says(0, ""), "200", "invalid_target"},
		"xaa.subject_mode":      {nil, "strict", says(0, files), "200", "access_denied"},
		"xaa.token_expiry": {nil, "10m", func(t *testing.T, key keys) string {
			t.Helper()
			last, _ := brought(t, key, 1, 0, files)
			return last.seconds()
		}, "1h0m0s", "10m0s"},
		"xaa.jwks_cache_ttl": {nil, "10m", func(t *testing.T, key keys) string {
			t.Helper()
			_, fetches := brought(t, key, 2, 0, files)
			return strconv.Itoa(fetches)
		}, "1", "2"},
	}
}
