package wire

import "crypto/rand"

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// NewID returns the prefix followed by 24 random base62 characters.
func NewID(prefix string) string {
	id := make([]byte, len(prefix)+24)
	copy(id, prefix)
	random := id[len(prefix):]
	_, _ = rand.Read(random) // never fails since Go 1.24
	for i, b := range random {
		random[i] = base62[int(b)%62]
	}
	return string(id)
}

// LegalID reports whether a tool call id matches ^[A-Za-z0-9_-]{1,64}$, so that all APIs accept it.
func LegalID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for _, c := range []byte(id) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
