package jwks

import (
	"crypto/ed25519"
	"crypto/elliptic"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/jwks/jwkstest"
)

// The keys and thumbprints of RFC 7638, 3.1, and RFC 9449, 4.1 and 6.1.
const (
	rfcRSA = `{"kty":"RSA","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw","e":"AQAB","alg":"RS256","kid":"2011-04-29"}`
	rfcEC  = `{"kty":"EC","x":"l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs","y":"9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA","crv":"P-256"}`
)

func TestThumbprint(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		rfcRSA: "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs",
		rfcEC:  "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I",
	} {
		key, err := ParsePublic([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Thumbprint(key); got != want || err != nil {
			t.Errorf("%s: %q, %v", raw, got, err)
		}
	}
	for _, key := range []any{nil, []byte("secret"), rsaKey, jwkstest.NewEC(elliptic.P224()).Public()} {
		if got, err := Thumbprint(key); err == nil {
			t.Errorf("%T has the thumbprint %q", key, got)
		}
	}
}

// TestMarshal checks that a published key is equal to the original after parsing, and has no other members.
func TestMarshal(t *testing.T) {
	t.Parallel()
	for algorithm, public := range map[string]any{
		"RS256": rsaKey.Public(), "ES256": ecKey.Public(), "ES512": jwkstest.NewEC(elliptic.P521()).Public(), "EdDSA": edKey.Public().(ed25519.PublicKey),
	} {
		raw, err := Marshal("k1", algorithm, public)
		if err != nil {
			t.Fatal(err)
		}
		set, err := ParseSet([]byte(jwkstest.Keys(string(raw))))
		if err != nil || !reflect.DeepEqual(set, Set{{"k1", algorithm, public}}) {
			t.Errorf("%s is read as %v, %v", raw, set, err)
		}
		var members map[string]string
		if err := json.Unmarshal(raw, &members); err != nil || members["use"] != "sig" {
			t.Errorf("%s, %v", raw, err)
		}
		for name := range members {
			if !strings.Contains(" kty use alg kid crv x y n e ", " "+name+" ") {
				t.Errorf("%s has %q", raw, name)
			}
		}
	}
	if raw, err := Marshal("k1", "RS256", rsaKey); err == nil {
		t.Errorf("a private key: %s", raw)
	}
}

func TestParsePublic(t *testing.T) {
	t.Parallel()
	weak := jwkstest.JWK("", jwkstest.NewRSA(1024))
	for _, raw := range []string{
		"", "null", "[]", "{}", `"x"`, weak, `{"kty":"oct","k":"AAAA"}`,
		rfcEC[:len(rfcEC)-1] + `,"d":"AAAA"}`, rfcEC[:len(rfcEC)-1] + `,"k":null}`, rfcRSA[:len(rfcRSA)-1] + `,"qi":"AA"}`, rfcRSA[:len(rfcRSA)-1] + `,"oth":[]}`,
		strings.Replace(rfcEC, "l8tF", "l8tG", 1), strings.Replace(rfcEC, "P-256", "P-384", 1), strings.Replace(rfcRSA, "AQAB", "AQ", 1),
		rfcEC[:len(rfcEC)-1] + `,"use":"enc"}`,
	} {
		if key, err := ParsePublic([]byte(raw)); err == nil {
			t.Errorf("%s is read as %v", raw, key)
		}
	}
}
