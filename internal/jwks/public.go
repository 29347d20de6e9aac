package jwks

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"

	"github.com/MicahParks/jwkset"
)

// Marshal encodes a public key (*rsa.PublicKey, *ecdsa.PublicKey or ed25519.PublicKey) as a member of a JWK set, for
// verifying signatures with the given algorithm.
func Marshal(kid, algorithm string, public any) (json.RawMessage, error) {
	m, err := members(public)
	if err != nil {
		return nil, err
	}
	m.USE, m.ALG, m.KID = jwkset.UseSig, jwkset.ALG(algorithm), kid
	return json.Marshal(m)
}

// Thumbprint returns the thumbprint of a public key (RFC 7638), which anybody can compute: the SHA-256 of the key's
// required members, in base64url.
func Thumbprint(public any) (string, error) {
	m, err := members(public)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(struct { // in lexicographic order (section 3.3)
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

// members returns a JWK with only the members that identify the key.
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

// ParsePublic parses a JWK from a client, such as that in a DPoP proof (RFC 9449, section 4.2). It returns an error for
// a key with any private member.
func ParsePublic(raw []byte) (any, error) {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return nil, errors.New("the key is not a JWK")
	}
	for _, private := range []string{"d", "p", "q", "dp", "dq", "qi", "oth", "k"} {
		if _, ok := all[private]; ok {
			return nil, errors.New("the key is not a public key")
		}
	}
	key, ok := parseJWK(raw)
	if !ok {
		return nil, errors.New("the key does not verify signatures, or is not supported")
	}
	return key.Key, nil
}
