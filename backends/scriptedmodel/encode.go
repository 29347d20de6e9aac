package scriptedmodel

import (
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// appendOrNull appends s as a JSON string, or null when it is empty.
func appendOrNull(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	return jsontext.AppendQuoted(b, s)
}

// base62 are the characters of an ID.
const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// appendID appends 24 base62 characters made from a hash.
func appendID(b []byte, sum *[32]byte) []byte {
	for _, value := range sum[:24] {
		b = append(b, base62[int(value)%len(base62)])
	}
	return b
}

// shorten cuts s after at most limit bytes, without splitting a character, and appends an ellipsis if it cuts.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return s[:charBoundary(s, limit)] + "…"
}
