// Package formguard tells people from programs at a form that is open to
// everybody, such as one to register. It needs no script and asks nobody outside.
//
// Programs send forms at once, fill in every field, send a form again that they
// read long ago, and come in numbers from one network. Beside what is here a form
// has a field that people do not see (see templates of those who use this) and,
// where that is not enough, a question.
package formguard

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/tollgate-gateway/tollgate/internal/signed"
)

var (
	// ErrForged is of a stamp that was not made for this form and browser.
	ErrForged = errors.New("the stamp of the form is not good")
	// ErrOld is of a form that was shown too long ago.
	ErrOld = errors.New("the form was shown too long ago")
)

// EarlyError is of a form that was sent too soon.
type EarlyError struct{ Wait time.Duration }

func (e *EarlyError) Error() string { return "the form was sent too soon" }

// Stamp is a field of a form that says when it was shown: base64url(Unix
// microseconds (8) | MAC). It is good for the form and the browser that are named
// alone; both are any texts.
func Stamp(s signed.Signer, form, browser string, now time.Time) string {
	return s.Sign(binary.BigEndian.AppendUint64(nil, uint64(now.UnixMicro())), form, browser)
}

// Check refuses a stamp that was not made here (ErrForged), is older than most
// (ErrOld) or younger than least (*EarlyError).
func Check(s signed.Signer, form, browser, stamp string, now time.Time, least, most time.Duration) error {
	raw, ok := s.Open(stamp, form, browser)
	if !ok || len(raw) != 8 {
		return ErrForged
	}
	age := now.Sub(time.UnixMicro(int64(binary.BigEndian.Uint64(raw)))) //nolint:gosec // we made it
	switch {
	case age > most:
		return ErrOld
	case age < least:
		return &EarlyError{min(least-age, least)} // another node's clock may be ahead
	}
	return nil
}

// Answered reports whether an answer is one of those that are accepted, one on
// each line. Case, width, spaces and signs do not count.
func Answered(answer, accepted string) bool {
	answer = bare(answer)
	for line := range strings.Lines(accepted) {
		if good := bare(line); good != "" && good == answer {
			return true
		}
	}
	return false
}

func bare(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, norm.NFKC.String(text))
}

// Network is the network that a client belongs to, where one is enough to come
// under many addresses: of IPv4 a /24, of IPv6 a /56. The client is an address or
// a network; another text is its own network.
func Network(client string) string {
	ip, err := netip.ParseAddr(client)
	if err != nil {
		prefix, err := netip.ParsePrefix(client)
		if err != nil {
			return client
		}
		ip = prefix.Addr()
	}
	ip = ip.WithZone("").Unmap()
	bits := 56
	if ip.Is4() {
		bits = 24
	}
	network, _ := ip.Prefix(bits) // in range
	return network.String()
}
