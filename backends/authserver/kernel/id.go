package kernel

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"time"
)

// NewID makes the name of a row: 26 letters and digits, 130 random bits. It is no secret.
func NewID() string { return rand.Text() }

// ordered has the signs of rand.Text in the order of their bytes.
var ordered = base32.NewEncoding("234567ABCDEFGHIJKLMNOPQRSTUVWXYZ").WithPadding(base32.NoPadding)

// NewIDAt is NewID for rows that come often: it begins with the time, to the millisecond, and has 80 random bits
// behind it. Rows that come one after another stand beside each other in an index, so that many of them change few
// of its pages.
func NewIDAt(at time.Time) string {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:], uint64(at.UnixMilli())<<16)
	_, _ = rand.Read(raw[6:]) // never fails
	return ordered.EncodeToString(raw[:])
}
