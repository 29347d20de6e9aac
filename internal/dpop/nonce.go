package dpop

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/signed"
)

// NonceHeader is the answer's header that has a nonce (RFC 9449 section 8).
const NonceHeader = "DPoP-Nonce"

// Nonces are made by whoever has the key and stored nowhere: any node that has it, too,
// knows them.
type Nonces struct {
	Signer signed.Signer
	Life   time.Duration
}

// nonceSize is that of a time in microseconds and of 16 random bytes.
const nonceSize = 8 + 16

// New is a nonce that is good from now on for Life.
func (n Nonces) New(now time.Time) string {
	payload := make([]byte, nonceSize)
	binary.BigEndian.PutUint64(payload, uint64(now.UnixMicro()))
	_, _ = rand.Read(payload[8:]) // never fails
	return n.Signer.Sign(payload)
}

// check reports whether a nonce is good now, and whether half of its life is over. Clocks
// of nodes may differ: one of the near future is good.
func (n Nonces) check(text string, now time.Time) (late, ok bool) {
	payload, ok := n.Signer.Open(text)
	if !ok || len(payload) != nonceSize {
		return false, false
	}
	age := now.Sub(time.UnixMicro(int64(binary.BigEndian.Uint64(payload)))) //nolint:gosec // G115: made by New
	return age > n.Life/2, age.Abs() < n.Life
}
