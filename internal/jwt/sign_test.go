package jwt

import (
	"context"
	"crypto/elliptic"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/jwks"
	"github.com/tollgate-gateway/tollgate/internal/jwks/jwkstest"
)

// TestSign checks that tokens that are signed here can be verified with the public key alone.
func TestSign(t *testing.T) {
	t.Parallel()
	for algorithm, key := range map[string]any{"ES256": ecKey, "RS256": rsaKey} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			s, err := NewSigner(key)
			if err != nil || s.Algorithm != algorithm || len(s.KeyID) != 43 {
				t.Fatal(s.Algorithm, s.KeyID, err)
			}
			public := any(ecKey.Public())
			if algorithm == "RS256" {
				public = rsaKey.Public()
			}
			raw, err := jwks.Marshal(s.KeyID, s.Algorithm, public)
			if err != nil {
				t.Fatal(err)
			}
			c := newChecker(t, string(raw))
			text, err := s.Sign(t.Context(), "at+jwt", c.claims())
			if err != nil {
				t.Fatal(err)
			}
			c.passes(text)
			head, err := base64.RawURLEncoding.DecodeString(text[:strings.IndexByte(text, '.')])
			if want := `{"alg":"` + algorithm + `","typ":"at+jwt","kid":"` + s.KeyID + `"}`; string(head) != want || err != nil {
				t.Errorf("the header is %s, want %s: %v", head, want, err)
			}
			other, err := NewSigner(otherRSAKey)
			if err != nil {
				t.Fatal(err)
			}
			other.KeyID, other.Algorithm = s.KeyID, s.Algorithm
			if text, err = other.Sign(t.Context(), "at+jwt", c.claims()); err != nil {
				t.Fatal(err)
			}
			c.refuses(text, ErrSignature)
		})
	}
}

func TestSignErrors(t *testing.T) {
	t.Parallel()
	for _, key := range []any{nil, []byte("secret"), rsaKey.Public(), weakRSAKey, ec384Key, edKey, jwkstest.NewEC(elliptic.P224())} {
		if _, err := NewSigner(key); err == nil {
			t.Errorf("a %T signs", key)
		}
	}
	down := errors.New("the key is elsewhere")
	s := Signer{"ES256", "k1", func(context.Context, []byte) ([]byte, error) { return nil, down }}
	if text, err := s.Sign(t.Context(), "at+jwt", map[string]any{}); text != "" || !errors.Is(err, down) {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := s.Sign(t.Context(), "at+jwt", map[string]any{"x": make(chan int)}); text != "" || err == nil {
		t.Errorf("%q, %v", text, err)
	}
}
