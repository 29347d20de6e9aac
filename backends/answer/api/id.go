package api

import (
	"crypto/rand"
	"encoding/binary"
	"time"
)

// newID returns "ans_" and a ULID: 26 characters that sort by time, with 80 random bits
// (https://github.com/ulid/spec).
func newID(now time.Time) string {
	const letters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	var raw [16]byte // 6 bytes of time and 10 random bytes
	binary.BigEndian.PutUint64(raw[:8], uint64(now.UnixMilli())<<16)
	_, _ = rand.Read(raw[6:]) // never fails
	high, low := binary.BigEndian.Uint64(raw[:8]), binary.BigEndian.Uint64(raw[8:])
	var text [26]byte // in base 32
	for i := len(text) - 1; i >= 0; i-- {
		text[i] = letters[low&31]
		low = low>>5 | high<<59
		high >>= 5
	}
	return "ans_" + string(text[:])
}
