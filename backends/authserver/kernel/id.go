package kernel

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"time"
)

// NewID returns a random row id: 26 letters and digits with 130 bits of entropy. It is not a secret.
func NewID() string { return rand.Text() }

// ordered is base32 with the alphabet of rand.Text in ASCII order, so that encoded values sort like their bytes.
var ordered = base32.NewEncoding("234567ABCDEFGHIJKLMNOPQRSTUVWXYZ").WithPadding(base32.NoPadding)

// NewIDAt returns an id like NewID, for rows that are inserted often. The id begins with the time in milliseconds,
// followed by 80 random bits. Rows inserted one after another are therefore neighbours in an index, and many inserts
// change few index pages.
func NewIDAt(now time.Time) string {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:], uint64(now.UnixMilli())<<16)
	_, _ = rand.Read(raw[6:]) // never fails
	return ordered.EncodeToString(raw[:])
}
