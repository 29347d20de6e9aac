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

// Prover is a client that has a key and proves it with each request (RFC 9449).
type Prover struct {
	key    *ecdsa.PrivateKey
	header string // of its proofs, encoded
}

// NewProver makes a client with a fresh key.
func NewProver() (*Prover, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	point, err := key.PublicKey.Bytes() // 4, x and y
	if err != nil {
		return nil, err
	}
	header := fmt.Sprintf(`{"typ":"dpop+jwt","alg":"ES256","jwk":{"kty":"EC","crv":"P-256","x":%q,"y":%q}}`, encoded(point[1:33]), encoded(point[33:]))
	return &Prover{key, encoded([]byte(header))}, nil
}

func encoded(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

// Proof is the header of a request with a method to an address; token comes along, or is
// empty.
func (p *Prover) Proof(method, address, token string) (string, error) {
	claims := `{"jti":"` + rand.Text() + `","htm":"` + method + `","htu":"` + address + `","iat":` + strconv.FormatInt(time.Now().Unix(), 10)
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
