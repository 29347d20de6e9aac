package dpop

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/signed"
)

// NonceHeader is the response header with a nonce (RFC 9449, section 8).
const NonceHeader = "DPoP-Nonce"

// Nonces issues and checks nonces. They are signed and not stored, so every node with the key accepts them.
type Nonces struct {
	Signer signed.Signer
	Life   time.Duration // how long a nonce is valid
}

// nonceSize is the size of a time in microseconds (8 bytes) and 16 random bytes.
const nonceSize = 8 + 16

// New returns a nonce that is valid for Life from now on.
func (n Nonces) New(now time.Time) string {
	payload := make([]byte, nonceSize)
	binary.BigEndian.PutUint64(payload, uint64(now.UnixMicro()))
	_, _ = rand.Read(payload[8:]) // never fails
	return n.Signer.Sign(payload)
}

// check reports as ok whether a nonce is valid now, and as stale whether half of its life is over. Since the clocks of
// nodes may differ, a nonce of the near future is valid.
func (n Nonces) check(text string, now time.Time) (stale, ok bool) {
	payload, ok := n.Signer.Open(text)
	if !ok || len(payload) != nonceSize {
		return false, false
	}
	age := now.Sub(time.UnixMicro(int64(binary.BigEndian.Uint64(payload)))) //nolint:gosec // G115: made by New
	return age > n.Life/2, age.Abs() < n.Life
}
