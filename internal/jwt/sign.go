package jwt

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	golang "github.com/golang-jwt/jwt/v5"

	"github.com/tollgate-gateway/tollgate/internal/jwks"
)

// maxSignature is the size of a signature with an RSA key of 4096 bits, in bytes.
const maxSignature = 512

// Signer signs tokens with one key.
type Signer struct {
	// Algorithm is the header parameter alg: ES256 or RS256 (RFC 7518, section 3.1).
	Algorithm string
	// KeyID is the header parameter kid.
	KeyID string
	// Signature signs bytes according to RFC 7518, sections 3.3 and 3.4. It may call the service that holds the key.
	Signature func(ctx context.Context, input []byte) ([]byte, error)
}

// NewSigner makes a signer with a private key in memory: a P-256 key for ES256 or an RSA key for RS256. The signer's
// key id is the thumbprint of the public key (RFC 7638).
func NewSigner(key any) (Signer, error) {
	var method golang.SigningMethod
	var public any
	switch key := key.(type) {
	case *ecdsa.PrivateKey:
		if key.Curve != elliptic.P256() {
			return Signer{}, errors.New("a key for ES256 must be on the curve P-256")
		}
		method, public = golang.SigningMethodES256, key.Public()
	case *rsa.PrivateKey:
		method, public = golang.SigningMethodRS256, key.Public()
	default:
		return Signer{}, fmt.Errorf("a key for signing must be an EC or RSA key, not a %T", key)
	}
	kid, err := jwks.Thumbprint(public)
	return Signer{method.Alg(), kid, func(_ context.Context, input []byte) ([]byte, error) {
		return method.Sign(string(input), key)
	}}, err
}

// Sign makes a token with claims, which encoding/json must encode as an object. typ is the header parameter typ, such
// as at+jwt (RFC 9068, section 2.1).
func (s Signer) Sign(ctx context.Context, typ string, claims any) (string, error) {
	head, err := json.Marshal(struct {
		Algorithm string `json:"alg"`
		Type      string `json:"typ"`
		KeyID     string `json:"kid"`
	}{s.Algorithm, typ, s.KeyID})
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	encoding := base64.RawURLEncoding
	text := make([]byte, 0, encoding.EncodedLen(len(head)+len(body)+maxSignature)+8)
	text = append(encoding.AppendEncode(text, head), '.')
	text = encoding.AppendEncode(text, body)
	signature, err := s.Signature(ctx, text)
	if err != nil {
		return "", fmt.Errorf("signing a token: %w", err)
	}
	return string(encoding.AppendEncode(append(text, '.'), signature)), nil
}
