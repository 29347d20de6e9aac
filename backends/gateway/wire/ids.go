package wire

import "crypto/rand"

// AppendBase62 appends one letter or digit for each byte of random. All 62 characters are about equally likely if the
// bytes are random.
func AppendBase62(dst, random []byte) []byte {
	const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	for _, b := range random {
		dst = append(dst, base62[b%62])
	}
	return dst
}

// NewID returns the prefix followed by 24 random base62 characters.
func NewID(prefix string) string {
	var random [24]byte
	_, _ = rand.Read(random[:]) // never fails since Go 1.24
	id := append(make([]byte, 0, len(prefix)+len(random)), prefix...)
	return string(AppendBase62(id, random[:]))
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
