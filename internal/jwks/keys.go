// Package jwks provides the public keys of token signers: JWK sets (RFC 7517) that are fetched and cached, keys from
// files, and the keys published here.
package jwks

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/MicahParks/jwkset"
)

const (
	// maxKeySet limits a document with keys, in bytes, and maxKeys limits the number of its keys.
	maxKeySet = 1 << 20
	maxKeys   = 100

	minRSA, maxRSA = 2048, 8192 // bits
)

// Error is the reason why no key fits a token. Its text may be sent in a header: it is ASCII without quotes and
// contains nothing from the token.
type Error string

// Error implements error.
func (e Error) Error() string { return string(e) }

// Errors of Find.
const (
	ErrAlgorithm  Error = "the token is signed with an algorithm that is not accepted"
	ErrUnknownKey Error = "the token is signed with an unknown key"
	ErrNoKeyID    Error = "the token does not say with which key it is signed"
)

// Finder finds the keys that may have signed a token, by the token's key id (kid), which may be empty, and algorithm
// (alg, RFC 7518). If no key fits, the error is an Error. If the Finder has no keys now, the error is an
// *apierror.Error with status 503.
type Finder interface {
	Find(ctx context.Context, kid, algorithm string) ([]any, error)
}

// Key is a public key with the properties that its owner published.
type Key struct {
	ID        string
	Algorithm string // empty for any that fits the key
	Key       any    // *rsa.PublicKey, *ecdsa.PublicKey, ed25519.PublicKey, or []byte for a secret
}

// verifies reports whether the key may be used for an algorithm. The check ensures that a public key is never used as a
// shared secret.
func (k *Key) verifies(algorithm string) bool {
	if k.Algorithm != "" && k.Algorithm != algorithm {
		return false
	}
	switch key := k.Key.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(algorithm, "RS") || strings.HasPrefix(algorithm, "PS")
	case *ecdsa.PublicKey:
		switch key.Curve {
		case elliptic.P256():
			return algorithm == "ES256"
		case elliptic.P384():
			return algorithm == "ES384"
		case elliptic.P521():
			return algorithm == "ES512"
		}
		return false
	case ed25519.PublicKey:
		return algorithm == "EdDSA"
	case []byte:
		return algorithm == "HS256"
	}
	return false
}

// Fixed are keys from a configuration. They have no ids, so Find returns every key that fits the algorithm.
type Fixed []Key

// Find implements Finder.
func (f Fixed) Find(_ context.Context, _, algorithm string) ([]any, error) {
	var found []any
	for i := range f {
		if f[i].verifies(algorithm) {
			found = append(found, f[i].Key)
		}
	}
	if len(found) == 0 {
		return nil, ErrUnknownKey
	}
	return found, nil
}

// Set is the keys of a JWK set.
type Set []Key

// Find implements Finder. It returns the only key that fits the algorithm and, unless kid is empty, has that id. If
// several keys do, the error is ErrNoKeyID.
func (s Set) Find(_ context.Context, kid, algorithm string) ([]any, error) {
	var found []any // at most one key
	hasID := false  // some key has the id
	for i := range s {
		if kid != "" && s[i].ID != kid {
			continue
		}
		hasID = true
		if !s[i].verifies(algorithm) {
			continue
		}
		if found != nil {
			return nil, ErrNoKeyID
		}
		found = []any{s[i].Key}
	}
	switch {
	case found != nil:
		return found, nil
	case hasID && kid != "":
		return nil, ErrAlgorithm // the key is of another type
	default:
		return nil, ErrUnknownKey
	}
}

// ParseSet parses the keys of a JWK set (RFC 7517) that verify signatures, at most 100. It leaves out other keys and
// invalid keys, and returns an error if no key remains.
func ParseSet(text []byte) (Set, error) {
	var document struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, errors.New("the answer is not a JWK set")
	}
	if len(document.Keys) > maxKeys {
		return nil, fmt.Errorf("the JWK set has more than %d keys", maxKeys)
	}
	var set Set
	for _, raw := range document.Keys {
		if key, ok := parseJWK(raw); ok {
			set = append(set, key)
		}
	}
	if len(set) == 0 {
		return nil, errors.New("the JWK set has no key that verifies signatures")
	}
	return set, nil
}

// parseJWK parses a JWK. It returns false for an invalid key, an unsupported or weak key, and a key that is not meant
// for verifying signatures.
func parseJWK(raw json.RawMessage) (Key, bool) {
	var jwk jwkset.JWKMarshal
	if json.Unmarshal(raw, &jwk) != nil || jwk.USE != "" && jwk.USE != jwkset.UseSig {
		return Key{}, false
	}
	if len(jwk.KEYOPS) > 0 && !slices.Contains(jwk.KEYOPS, jwkset.KeyOpsVerify) {
		return Key{}, false
	}
	// Use only the key and ignore certificates that the JWK may contain.
	bare := jwkset.JWKMarshal{KTY: jwk.KTY, CRV: jwk.CRV, X: jwk.X, Y: jwk.Y, N: jwk.N, E: jwk.E}
	parsed, err := jwkset.NewJWKFromMarshal(bare, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
	if err != nil || checkPublic(parsed.Key()) != nil {
		return Key{}, false
	}
	return Key{jwk.KID, jwk.ALG.String(), parsed.Key()}, true
}

// ReadPEM reads one public key or certificate in PEM from r and closes r. It returns the key as in Key.Key.
func ReadPEM(r io.ReadCloser) (any, error) {
	text, err := readBounded(r)
	if err != nil {
		return nil, err
	}
	block, rest := pem.Decode(text)
	if block == nil {
		return nil, errors.New("the file is not PEM")
	}
	if next, _ := pem.Decode(rest); next != nil {
		return nil, errors.New("the file has more than one PEM block: put each key into its own file")
	}
	var key any
	switch block.Type {
	case "PUBLIC KEY":
		key, err = x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		key, err = x509.ParsePKCS1PublicKey(block.Bytes)
	case "CERTIFICATE":
		var certificate *x509.Certificate
		if certificate, err = x509.ParseCertificate(block.Bytes); err == nil {
			key = certificate.PublicKey
		}
	default:
		return nil, fmt.Errorf("the file contains a %s, not a public key or certificate", block.Type)
	}
	if err != nil {
		return nil, errors.New("the key cannot be read")
	}
	return key, checkPublic(key)
}

// checkPublic returns an error for keys of unsupported types and for weak keys.
func checkPublic(key any) error {
	switch key := key.(type) {
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits < minRSA || bits > maxRSA || key.E < 3 || key.E%2 == 0 ||
			int64(key.E) > 1<<31-1 {
			return fmt.Errorf("an RSA key must have %d to %d bits and a valid exponent", minRSA, maxRSA)
		}
	case *ecdsa.PublicKey:
		if _, err := key.ECDH(); err != nil { // also fails for a point that is not on the curve
			return errors.New("an EC key must be a point of P-256, P-384 or P-521")
		}
	case ed25519.PublicKey:
		if len(key) != ed25519.PublicKeySize {
			return errors.New("an Ed25519 key must have 32 bytes")
		}
	default:
		return errors.New("this kind of key is not supported; there are: RSA, EC and Ed25519")
	}
	return nil
}

// readBounded reads at most maxKeySet bytes from r and closes r. Longer input is an error.
func readBounded(r io.ReadCloser) ([]byte, error) {
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, maxKeySet+1))
	if err == nil && len(text) > maxKeySet {
		err = fmt.Errorf("it is larger than %d MB", maxKeySet>>20)
	}
	return text, err
}
