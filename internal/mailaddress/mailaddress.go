// Package mailaddress reads the mail addresses that people type, and says which of
// them are the same.
package mailaddress

import (
	"errors"
	"net/mail"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/text"
)

// ErrForm is of a text that is no mail address such as name@example.com.
var ErrForm = errors.New("not a mail address")

// maxSize is that of RFC 5321, section 4.5.3.1.3, without its brackets.
const maxSize = 254

// Parse returns an address as it is kept: without space around it and in the
// composed form (NFC). It refuses (ErrForm) what has a name or a comment beside the
// address, and marks that turn the direction of text.
func Parse(typed string) (address string, err error) {
	address = text.Normal(typed)
	parsed, err := mail.ParseAddress(address)
	if err != nil || parsed.Address != address || len(address) > maxSize || !text.IsLine(address) {
		return "", ErrForm
	}
	return address, nil
}

// Key is an address as it is compared, in every place where one is: two that
// differ by case, by space around them or by how a letter is composed are one. What
// was typed may be anything, such as the name with which somebody signs in.
func Key(typed string) string {
	return text.Storable(strings.ToLower(text.Normal(typed)))
}
