// Package secret makes the secrets that a browser or a mail carries, and the form in
// which they are stored: who reads the database cannot use them.
package secret

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
)

const size = 32 // bytes

// New makes a secret: 43 characters of base64url.
func New() string {
	raw := make([]byte, size)
	_, _ = rand.Read(raw) // never fails
	return base64.RawURLEncoding.EncodeToString(raw)
}

// Hash is how a secret is stored: the SHA-256 of its bytes, in hex. It is empty for
// what New cannot have made, which is in no database. A secret has 256 random bits, so
// that it needs no salt and no slow hash.
func Hash(text string) string {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != size || len(text) != base64.RawURLEncoding.EncodedLen(size) { // line breaks are skipped
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
