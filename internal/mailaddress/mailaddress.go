// Package mailaddress reads the mail addresses that people type, and says which of
// them are the same.
package mailaddress

import (
	"errors"
	"net/mail"
	"strings"
	"unicode"

	"github.com/tollgate-gateway/tollgate/internal/text"
)

// ErrForm is of a text that is no mail address such as name@example.com.
var ErrForm = errors.New("not a mail address")

// Bounds of an address in bytes: of the whole (RFC 5321, 4.5.3.1.3, without its brackets), of
// what stands before the @ (4.5.3.1.1), and of a label of the host (RFC 1035, 2.3.4).
const (
	maxSize  = 254
	maxLocal = 64
	maxLabel = 63
)

// Parse returns an address as it is kept: without space around it and in the
// composed form (NFC). It refuses (ErrForm) what has a name or a comment beside the
// address, marks that turn the direction of text, a local part that is too long and a host
// that no mail can go to, such as -example.com.
func Parse(typed string) (address string, err error) {
	address = text.Normal(typed)
	parsed, err := mail.ParseAddress(address)
	if err != nil || parsed.Address != address || len(address) > maxSize || !text.IsLine(address) {
		return "", ErrForm
	}
	at := strings.LastIndexByte(address, '@')
	if host := address[at+1:]; at > maxLocal || !strings.HasPrefix(host, "[") && !isHost(host) {
		return "", ErrForm
	}
	return address, nil
}

// isHost reports whether the labels of a name are those of a host (RFC 1123, 2.1): letters,
// digits and hyphens, and none of the latter at their ends. Letters of every script are some.
func isHost(name string) bool {
	for label := range strings.SplitSeq(name, ".") {
		bad := strings.ContainsFunc(label, func(r rune) bool {
			return r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
		})
		if bad || label == "" || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
	}
	return true
}

// Key is an address as it is compared, in every place where one is: two that
// differ by case, by space around them or by how a letter is composed are one. What
// was typed may be anything, such as the name with which somebody signs in.
func Key(typed string) string {
	return text.Storable(strings.ToLower(text.Normal(typed)))
}
