// Package mailaddress parses mail addresses that people type and determines which addresses are the same.
package mailaddress

import (
	"errors"
	"net/mail"
	"strings"
	"unicode"

	"github.com/tollgate-gateway/tollgate/internal/text"
)

// ErrForm means that a text is not a mail address such as name@example.com.
var ErrForm = errors.New("not a mail address")

// Limits in bytes: for an address without angle brackets (RFC 5321, section 4.5.3.1.3), for its local part (section
// 4.5.3.1.1), and for a label of the host (RFC 1035, section 2.3.4).
const (
	maxSize  = 254
	maxLocal = 64
	maxLabel = 63
)

// Parse returns an address in the form in which it is stored: trimmed and composed (NFC). It returns ErrForm for a text
// with a name or a comment besides the address, bidirectional controls, or a local part that is too long. It also
// returns ErrForm for a host to which no mail can be sent, such as -example.com.
func Parse(typed string) (address string, err error) {
	address = text.Normal(typed)
	parsed, err := mail.ParseAddress(address)
	if err != nil || parsed.Address != address || len(address) > maxSize || !text.IsLine(address) {
		return "", ErrForm
	}
	i := strings.LastIndexByte(address, '@')
	if host := address[i+1:]; i > maxLocal || !strings.HasPrefix(host, "[") && !isHost(host) {
		return "", ErrForm
	}
	return address, nil
}

// isHost reports whether the labels of a name are valid for a host (RFC 1123, section 2.1): letters of any script,
// digits and hyphens, without hyphens at the ends.
func isHost(name string) bool {
	for label := range strings.SplitSeq(name, ".") {
		invalid := strings.ContainsFunc(label, func(r rune) bool {
			return r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
		})
		if invalid || label == "" || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
	}
	return true
}

// Key returns the form in which addresses are compared everywhere. Addresses that differ only in case, surrounding
// space or the composition of letters have the same key. The argument may be any text, such as the name with which a
// user signs in. The capital letter İ becomes an i with a combining dot, as in SpecialCasing of Unicode. A plain i
// would make the address equal to another user's.
func Key(typed string) string {
	return text.Storable(strings.ToLower(strings.ReplaceAll(text.Normal(typed), "İ", "i\u0307")))
}
