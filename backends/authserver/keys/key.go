package keys

import (
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
)

// Type is what the header typ of a token says.
type Type int

// The types.
const (
	AccessToken Type = iota // at+jwt, RFC 9068 section 2.1
	Plain                   // JWT, of ID tokens
	types
)

var typeNames = [types]string{"at+jwt", "JWT"}

// key is one that signs or verifies.
type key struct {
	Info
	private any           // *ecdsa.PrivateKey or *rsa.PrivateKey
	jwk     string        // the public one
	headers [types]string // the first segment of what it signs
}

const rsaBits = 2048

// generate makes a key, in PKCS #8.
func generate(algorithm string) ([]byte, error) {
	var made any
	var err error
	switch algorithm {
	case ES256:
		made, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case RS256:
		made, err = rsa.GenerateKey(rand.Reader, rsaBits)
	default:
		err = fmt.Errorf("there is no algorithm %q", algorithm)
	}
	if err != nil {
		return nil, fmt.Errorf("making a signing key: %w", err)
	}
	return x509.MarshalPKCS8PrivateKey(made)
}

func parse(s Stored) (*key, error) {
	private, err := x509.ParsePKCS8PrivateKey(s.PKCS8)
	if err != nil {
		return nil, errors.New("a signing key cannot be read: it is not PKCS #8")
	}
	k := &key{Info: Info{Algorithm: s.Algorithm, CreatedAt: s.CreatedAt}, private: private}
	var members, canonical string
	switch private := private.(type) {
	case *ecdsa.PrivateKey:
		if private.Curve != elliptic.P256() {
			return nil, errors.New("a signing key is not of the curve P-256")
		}
		point, err := private.PublicKey.Bytes() // 4, x, y
		if err != nil {
			return nil, fmt.Errorf("reading a signing key: %w", err)
		}
		x, y := encode(point[1:33]), encode(point[33:])
		k.Algorithm = ES256
		members = `"crv":"P-256","x":"` + x + `","y":"` + y + `"`
		canonical = `{"crv":"P-256","kty":"EC","x":"` + x + `","y":"` + y + `"}`
		members = `"kty":"EC",` + members
	case *rsa.PrivateKey:
		if private.N.BitLen() < rsaBits {
			return nil, fmt.Errorf("a signing key has less than %d bits", rsaBits)
		}
		n, e := encode(private.N.Bytes()), encode(big.NewInt(int64(private.E)).Bytes())
		k.Algorithm = RS256
		members = `"kty":"RSA","n":"` + n + `","e":"` + e + `"`
		canonical = `{"e":"` + e + `","kty":"RSA","n":"` + n + `"}`
	default:
		return nil, errors.New("a signing key is neither of P-256 nor RSA")
	}
	if s.Algorithm != "" && s.Algorithm != k.Algorithm {
		return nil, fmt.Errorf("a signing key of %s is stored as one of %s", k.Algorithm, s.Algorithm)
	}
	thumbprint := sha256.Sum256([]byte(canonical)) // RFC 7638
	k.ID = encode(thumbprint[:])
	kind, rest, _ := strings.Cut(members, ",")
	k.jwk = "{" + kind + `,"use":"sig","alg":"` + k.Algorithm + `","kid":"` + k.ID + `",` + rest + "}"
	for typ := range types {
		k.headers[typ] = header(k.Algorithm, typ, k.ID)
	}
	return k, nil
}

func encode(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

// header is the first segment of a token.
func header(algorithm string, typ Type, kid string) string {
	return encode([]byte(`{"alg":"` + algorithm + `","typ":"` + typeNames[typ] + `","kid":"` + kid + `"}`))
}

// isHeader reports whether a segment is one that a key of another id than ours would have.
func isHeader(segment string, typ Type) bool {
	raw, err := base64.RawURLEncoding.DecodeString(segment)
	if err != nil {
		return false
	}
	for _, algorithm := range [...]string{ES256, RS256} {
		rest, ok := strings.CutPrefix(string(raw), `{"alg":"`+algorithm+`","typ":"`+typeNames[typ]+`","kid":"`)
		if ok && len(rest) == 43+len(`"}`) {
			return true
		}
	}
	return false
}

// sign makes a token.
func (k *key) sign(typ Type, claims []byte) (string, error) {
	head := k.headers[typ]
	size := len(head) + 1 + base64.RawURLEncoding.EncodedLen(len(claims))
	out := make([]byte, 0, size+1+base64.RawURLEncoding.EncodedLen(rsaBits/8))
	out = append(append(out, head...), '.')
	out = base64.RawURLEncoding.AppendEncode(out, claims)
	sum := sha256.Sum256(out)
	var mac []byte
	switch private := k.private.(type) {
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, private, sum[:])
		if err != nil {
			return "", fmt.Errorf("signing: %w", err)
		}
		mac = make([]byte, 64) // RFC 7518 section 3.4
		r.FillBytes(mac[:32])
		s.FillBytes(mac[32:])
	case *rsa.PrivateKey:
		var err error
		if mac, err = rsa.SignPKCS1v15(nil, private, crypto.SHA256, sum[:]); err != nil {
			return "", fmt.Errorf("signing: %w", err)
		}
	}
	out = append(out, '.')
	return string(base64.RawURLEncoding.AppendEncode(out, mac)), nil
}

func (k *key) verify(sum, mac []byte) bool {
	switch private := k.private.(type) {
	case *ecdsa.PrivateKey:
		return len(mac) == 64 && ecdsa.Verify(&private.PublicKey, sum, new(big.Int).SetBytes(mac[:32]), new(big.Int).SetBytes(mac[32:]))
	case *rsa.PrivateKey:
		return rsa.VerifyPKCS1v15(&private.PublicKey, crypto.SHA256, sum, mac) == nil
	}
	return false
}
