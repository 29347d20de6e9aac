// Package secret makes secrets for browsers and mails, and the form in which they are stored. From the stored form
// nobody can compute the secret.
package secret

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
)

const size = 32 // in bytes

// New returns a random secret of 43 base64url characters.
func New() string {
	raw := make([]byte, size)
	_, _ = rand.Read(raw) // never fails
	return base64.RawURLEncoding.EncodeToString(raw)
}

// Hash returns the form in which a secret is stored: the SHA-256 of its bytes, in hex. It returns "", which no database
// contains, for a text that New cannot have made. A secret has 256 random bits, so it needs no salt and no slow hash.
func Hash(text string) string {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	// The length is checked because the decoder ignores line breaks.
	if err != nil || len(raw) != size || len(text) != base64.RawURLEncoding.EncodedLen(size) {
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
