// Package signed makes short texts that only the holder of a key can have made:
// cursors, form tokens, links that need no login, stamps of forms. What is in them
// can be read by everybody, and they are good until their user says otherwise: one
// that shall end has a time in it.
package signed

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strconv"
)

// Signer makes and reads the texts of one kind.
type Signer struct {
	// Key is a secret of at least 32 random bytes. Signers of many labels share one.
	Key []byte
	// Label says what the texts are for, so that one for something else does not pass.
	// It has no space and no line break. Empty: the payload says it in its first bytes.
	Label string
	// MACSize is how many bytes of the HMAC-SHA256 (RFC 2104) a text carries.
	// Default: 16.
	MACSize int
}

// Sign returns base64url(payload | MAC), without padding. The names, any texts, are
// what the text is good for alone, such as a browser or a list; they are not in it.
func (s Signer) Sign(payload []byte, names ...string) string {
	raw := append(make([]byte, 0, len(payload)+sha256.Size), payload...)
	return base64.RawURLEncoding.EncodeToString(append(raw, s.mac(payload, names)...))
}

// Open returns the payload of a text that Sign made of it for the same names.
func (s Signer) Open(text string, names ...string) (payload []byte, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	size := len(raw) - s.size()
	if err != nil || size < 0 || base64.RawURLEncoding.EncodedLen(len(raw)) != len(text) { // line breaks are skipped
		return nil, false
	}
	if !hmac.Equal(raw[size:], s.mac(raw[:size], names)) {
		return nil, false
	}
	return raw[:size], true
}

func (s Signer) size() int {
	if s.MACSize == 0 {
		return 16
	}
	return s.MACSize
}

// mac has the number of the names and their lengths in it, so that no two sets of
// texts are one.
func (s Signer) mac(payload []byte, names []string) []byte {
	head := make([]byte, 0, 64)
	if head = append(head, s.Label...); len(names) > 0 {
		head = strconv.AppendInt(append(head, ' '), int64(len(names)), 10)
	}
	if len(head) > 0 {
		head = append(head, '\n')
	}
	for _, name := range names {
		head = append(binary.BigEndian.AppendUint64(head, uint64(len(name))), name...)
	}
	h := hmac.New(sha256.New, s.Key)
	h.Write(head)
	h.Write(payload)
	return h.Sum(nil)[:s.size()]
}
