package board

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
)

// A cursor is version, kind, forum, time, id and the first bytes of an HMAC over
// them: it cannot be made up, and serves in its forum only.
const (
	cursorVersion = 1
	cursorThreads = 1
	cursorBody    = 2 + 3*8
	cursorMAC     = 8
)

func (s *Service) cursor(forum int64, p position) string {
	b := make([]byte, 0, cursorBody+cursorMAC)
	b = append(b, cursorVersion, cursorThreads)
	for _, n := range []int64{forum, p.at, p.id} {
		b = binary.BigEndian.AppendUint64(b, uint64(n)) //nolint:gosec // ids and times are positive
	}
	return base64.RawURLEncoding.EncodeToString(append(b, s.sign(b)...))
}

func (s *Service) sign(b []byte) []byte {
	mac := hmac.New(sha256.New, *s.secret.Load())
	mac.Write(b)
	return mac.Sum(nil)[:cursorMAC]
}

func (s *Service) readCursor(forum int64, text string) (p position, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != cursorBody+cursorMAC || b[0] != cursorVersion || b[1] != cursorThreads {
		return p, false
	}
	n := func(i int) int64 { return int64(binary.BigEndian.Uint64(b[2+8*i:])) } //nolint:gosec // signed by us
	if !hmac.Equal(b[cursorBody:], s.sign(b[:cursorBody])) || n(0) != forum {
		return p, false
	}
	return position{n(1), n(2)}, true
}
