package keys

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/jwks"
	"github.com/tollgate-gateway/tollgate/internal/jwt"
)

// Type is the value of a token's header typ.
type Type int

// The types of tokens.
const (
	AccessToken Type = iota // at+jwt, RFC 9068 section 2.1
	Plain                   // JWT, of ID tokens
	LogoutToken             // logout+jwt, OpenID Connect Back-Channel Logout 1.0 section 2.4
	types
)

var typeNames = [types]string{"at+jwt", "JWT", "logout+jwt"}

// key is a key that signs and verifies.
type key struct {
	Info
	jwt.Signer
	public  any                              // *ecdsa.PublicKey or *rsa.PublicKey
	verify  func(sum, signature []byte) bool // see verifier
	jwk     []byte                           // the public key as JSON
	headers [types]string                    // the first segments of the tokens that it signs
}

const (
	rsaBits = 2048
	// kidSize is the length of a key id, which is a SHA-256 thumbprint in base64url.
	kidSize = 43
)

// generate returns a new private key in PKCS #8 form, and its key id.
func generate(algorithm string) (pkcs8 []byte, kid string, err error) {
	var private crypto.Signer
	switch algorithm {
	case ES256:
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case RS256:
		private, err = rsa.GenerateKey(rand.Reader, rsaBits)
	default:
		err = fmt.Errorf("unknown algorithm %q", algorithm)
	}
	if err != nil {
		return nil, "", fmt.Errorf("creating a signing key: %w", err)
	}
	if kid, err = jwks.Thumbprint(private.Public()); err != nil {
		return nil, "", err
	}
	pkcs8, err = x509.MarshalPKCS8PrivateKey(private)
	return pkcs8, kid, err
}

// parse returns the signing key for s, a key in a Store. It leaves those fields of Info empty that depend on other
// keys.
func parse(ctx context.Context, s Stored) (k *key, err error) {
	k = &key{Info: Info{CreatedAt: s.CreatedAt}}
	if s.Sign != nil {
		k.public = s.Public
		k.Signer, err = remote(s)
	} else {
		k.public, k.Signer, err = open(ctx, s)
	}
	if err != nil {
		return nil, fmt.Errorf("reading a signing key: %w", err)
	}
	k.verify = verifier(k.public)
	k.Info.ID, k.Info.Algorithm = k.KeyID, k.Signer.Algorithm
	if s.Algorithm != "" && s.Algorithm != k.Info.Algorithm {
		return nil, fmt.Errorf("a signing key for %s is stored as a key for %s", k.Info.Algorithm, s.Algorithm)
	}
	if k.jwk, err = jwks.Marshal(k.ID, k.Info.Algorithm, k.public); err != nil {
		return nil, err
	}
	for typ := range types {
		k.headers[typ] = header(k.Info.Algorithm, typ, k.ID)
	}
	return k, nil
}

// open reads a private key, and returns its public key and a signer.
func open(ctx context.Context, s Stored) (public any, signer jwt.Signer, err error) {
	pkcs8, err := s.Open(ctx)
	if err != nil {
		return nil, signer, err
	}
	private, err := x509.ParsePKCS8PrivateKey(pkcs8)
	if err != nil {
		return nil, signer, errors.New("the private key is not in PKCS #8 form")
	}
	if signer, err = jwt.NewSigner(private); err == nil {
		public = private.(crypto.Signer).Public() // NewSigner accepts only EC and RSA keys, which implement crypto.Signer
	}
	return public, signer, err
}

// remote returns a signer for a key whose private part only its store can use.
func remote(s Stored) (jwt.Signer, error) {
	kid, err := jwks.Thumbprint(s.Public)
	sign := func(ctx context.Context, input []byte) ([]byte, error) {
		sum := sha256.Sum256(input)
		return s.Sign(ctx, sum[:])
	}
	return jwt.Signer{Algorithm: s.Algorithm, KeyID: kid, Signature: sign}, err
}

// header returns the encoded header, which is the first segment of a token.
func header(algorithm string, typ Type, kid string) string {
	text := `{"alg":"` + algorithm + `","typ":"` + typeNames[typ] + `","kid":"` + kid + `"}`
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// isHeader reports whether segment, the first segment of a token, is a header of the given type. The header must have
// the form that the function header writes; its key id does not matter.
func isHeader(segment string, typ Type) bool {
	raw, err := base64.RawURLEncoding.DecodeString(segment)
	if err != nil {
		return false
	}
	for _, algorithm := range [...]string{ES256, RS256} {
		kid, ok := strings.CutPrefix(string(raw), `{"alg":"`+algorithm+`","typ":"`+typeNames[typ]+`","kid":"`)
		if kid, closed := strings.CutSuffix(kid, `"}`); ok && closed && len(kid) == kidSize {
			return true
		}
	}
	return false
}

// sign returns a token of a type with the given claims.
func (k *key) sign(ctx context.Context, typ Type, claims []byte) (string, error) {
	header := k.headers[typ]
	inputSize := len(header) + 1 + base64.RawURLEncoding.EncodedLen(len(claims))
	token := make([]byte, 0, inputSize+1+base64.RawURLEncoding.EncodedLen(rsaBits/8))
	token = append(append(token, header...), '.')
	token = base64.RawURLEncoding.AppendEncode(token, claims)
	signature, err := k.Signature(ctx, token)
	if err != nil {
		return "", fmt.Errorf("signing: %w", err)
	}
	return string(base64.RawURLEncoding.AppendEncode(append(token, '.'), signature)), nil
}

// verifier returns a function that reports whether a signature of a SHA-256 digest is valid for a public key.
func verifier(public any) func(sum, signature []byte) bool {
	switch public := public.(type) {
	case *ecdsa.PublicKey:
		return verifyES256(public)
	case *rsa.PublicKey:
		return verifyRS256(public)
	}
	return func(_, _ []byte) bool { return false }
}

func verifyES256(public *ecdsa.PublicKey) func(sum, signature []byte) bool {
	return func(sum, signature []byte) bool {
		return len(signature) == 64 && ecdsa.Verify(public, sum, new(big.Int).SetBytes(signature[:32]),
			new(big.Int).SetBytes(signature[32:]))
	}
}

func verifyRS256(public *rsa.PublicKey) func(sum, signature []byte) bool {
	return func(sum, signature []byte) bool {
		return rsa.VerifyPKCS1v15(public, crypto.SHA256, sum, signature) == nil
	}
}
