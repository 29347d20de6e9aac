package load

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"time"
)

// Prover is a client that has a key and proves its possession with each request (RFC 9449).
type Prover struct {
	key    *ecdsa.PrivateKey
	header string // the encoded header of its proofs
}

// NewProver returns a client with a new key.
func NewProver() (*Prover, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	point, err := key.PublicKey.Bytes() // a byte 4, then x and y
	if err != nil {
		return nil, err
	}
	header := fmt.Sprintf(`{"typ":"dpop+jwt","alg":"ES256","jwk":{"kty":"EC","crv":"P-256","x":%q,"y":%q}}`,
		encoded(point[1:33]), encoded(point[33:]))
	return &Prover{key, encoded([]byte(header))}, nil
}

// encoded returns data in the encoding base64url without padding.
func encoded(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

// Proof returns the header line with the proof for a request. If token is not empty, the proof is bound to the token.
func (p *Prover) Proof(method, address, token string) (string, error) {
	claims := `{"jti":"` + rand.Text() + `","htm":"` + method + `","htu":"` + address + `","iat":` +
		strconv.FormatInt(time.Now().Unix(), 10)
	if token != "" {
		sum := sha256.Sum256([]byte(token))
		claims += `,"ath":"` + encoded(sum[:]) + `"`
	}
	text := p.header + "." + encoded([]byte(claims+"}"))
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, p.key, sum[:])
	if err != nil {
		return "", err
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return "DPoP: " + text + "." + encoded(signature) + "\r\n", nil
}
