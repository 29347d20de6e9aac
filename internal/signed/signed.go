// Package signed makes short texts that only the holder of a key can make: cursors, form tokens, links that need no
// login, stamps of forms. Everybody can read their content. They do not expire by themselves: a text that must expire
// contains a time.
package signed

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strconv"
)

// Signer signs and opens the texts of one purpose.
type Signer struct {
	// Key is a secret of at least 32 random bytes. Signers with different labels may share it.
	Key []byte
	// Label names the purpose of the texts, so that a text for another purpose is not accepted. It contains no space
	// and no line break. If it is empty, the first bytes of the payload must name the purpose.
	Label string
	// MACSize is how many bytes of the HMAC-SHA256 (RFC 2104) a text has. Default: 16.
	MACSize int
}

// Sign returns base64url(payload | MAC), without padding. The text is valid only for the same names, which identify for
// example a browser or a list, and are not part of the text.
func (s Signer) Sign(payload []byte, names ...string) string {
	raw := append(make([]byte, 0, len(payload)+sha256.Size), payload...)
	return base64.RawURLEncoding.EncodeToString(append(raw, s.mac(payload, names)...))
}

// Open returns the payload of a text that Sign made for the same names. ok is false for any other text.
func (s Signer) Open(text string, names ...string) (payload []byte, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	payloadSize := len(raw) - s.size()
	// The length is checked because the decoder ignores line breaks.
	if err != nil || payloadSize < 0 || base64.RawURLEncoding.EncodedLen(len(raw)) != len(text) {
		return nil, false
	}
	if !hmac.Equal(raw[payloadSize:], s.mac(raw[:payloadSize], names)) {
		return nil, false
	}
	return raw[:payloadSize], true
}

// size returns the size of the MAC in a text, in bytes.
func (s Signer) size() int { return cmp.Or(s.MACSize, 16) }

// mac returns the MAC of a payload and names. It covers the number of names and their lengths, so that different lists
// of names never give the same input.
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
