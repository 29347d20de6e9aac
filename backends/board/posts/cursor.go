package posts

import (
	"encoding/binary"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/signed"
)

// A cursor contains a version, a kind, the forum, a time, an id, and the first bytes of an HMAC over them. Clients
// cannot forge it, and it is valid only for its forum. The forum of the list of all forums is 0.
const (
	cursorVersion = 1
	cursorThreads = 1
	cursorBody    = 2 + 3*8
)

// cursors returns the signer of cursors, which adds 8 bytes of the HMAC. It needs no label, since the payload
// begins with version and kind.
func (s *Service) cursors() signed.Signer { return signed.Signer{Key: s.Key(), MACSize: 8} }

// Cursor returns the cursor of a position in the list of a forum's threads.
func (s *Service) Cursor(forum int64, p Position) string {
	b := append(make([]byte, 0, cursorBody), cursorVersion, cursorThreads)
	for _, n := range []int64{forum, int64(p.At), p.ID} {
		b = binary.BigEndian.AppendUint64(b, uint64(n)) //nolint:gosec // ids and times are positive
	}
	return s.cursors().Sign(b)
}

// ReadCursor returns the position in a cursor. ok is false if it is not a cursor of that forum. A list that is not of a
// forum has a negative number of its own.
func (s *Service) ReadCursor(forum int64, text string) (p Position, ok bool) {
	b, ok := s.cursors().Open(text)
	if !ok || len(b) != cursorBody || b[0] != cursorVersion || b[1] != cursorThreads {
		return p, false
	}
	n := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[2+8*i:])) } //nolint:gosec // signed by us
	return Position{kernel.Moment(n(1)), n(2)}, n(0) == forum
}
