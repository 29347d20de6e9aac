package jwks

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"

	"github.com/MicahParks/jwkset"
)

// Marshal is a public key (*rsa.PublicKey, *ecdsa.PublicKey, ed25519.PublicKey) as a
// member of a JWK set, which says that it verifies signatures of an algorithm.
func Marshal(kid, algorithm string, public any) (json.RawMessage, error) {
	m, err := members(public)
	if err != nil {
		return nil, err
	}
	m.USE, m.ALG, m.KID = jwkset.UseSig, jwkset.ALG(algorithm), kid
	return json.Marshal(m)
}

// Thumbprint is the name of a public key that anybody can make of it: base64url of the
// SHA-256 of its required members (RFC 7638).
func Thumbprint(public any) (string, error) {
	m, err := members(public)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(struct { // in the order of the alphabet (section 3.3)
		CRV jwkset.CRV `json:"crv,omitempty"`
		E   string     `json:"e,omitempty"`
		KTY jwkset.KTY `json:"kty"`
		N   string     `json:"n,omitempty"`
		X   string     `json:"x,omitempty"`
		Y   string     `json:"y,omitempty"`
	}{m.CRV, m.E, m.KTY, m.N, m.X, m.Y})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// members are those of a JWK that say which key it is.
func members(public any) (jwkset.JWKMarshal, error) {
	if err := checkPublic(public); err != nil {
		return jwkset.JWKMarshal{}, err
	}
	key, err := jwkset.NewJWKFromKey(public, jwkset.JWKOptions{})
	if err != nil {
		return jwkset.JWKMarshal{}, err
	}
	m := key.Marshal()
	return jwkset.JWKMarshal{KTY: m.KTY, CRV: m.CRV, X: m.X, Y: m.Y, N: m.N, E: m.E}, nil
}

// ParsePublic reads a key that somebody sends along, such as the one of a proof (RFC
// 9449, 4.2). One that tells anything of a private key or a secret is refused.
func ParsePublic(raw []byte) (any, error) {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return nil, errors.New("the key is not a JWK")
	}
	for _, private := range []string{"d", "p", "q", "dp", "dq", "qi", "oth", "k"} {
		if _, ok := all[private]; ok {
			return nil, errors.New("the key is not a public one")
		}
	}
	key, ok := parseJWK(raw)
	if !ok {
		return nil, errors.New("the key is not one that verifies signatures")
	}
	return key.Key, nil
}
