// Package formguard helps to keep programs from using a form that is open to everybody, such as a registration form. It
// needs no script and no external service.
//
// Programs send forms at once, fill in every field, send a form that they read long ago, and come in large numbers from
// one network. In addition to the checks of this package, a form has a field that people do not see (see the templates
// of the services that use this package) and, if that is not enough, a question.
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
	// ErrForged means that a stamp was not made for this form and browser.
	ErrForged = errors.New("the stamp of the form is invalid")
	// ErrOld means that the form was shown too long ago.
	ErrOld = errors.New("the form was shown too long ago")
)

// EarlyError means that a form was sent too soon. It can be sent after Wait.
type EarlyError struct{ Wait time.Duration }

// Error implements error.
func (e *EarlyError) Error() string { return "the form was sent too soon" }

// Stamp returns the value of a form field that records when the form was shown: base64url(Unix microseconds (8) | MAC).
// It is valid only for the same form and browser, which are identified by arbitrary texts.
func Stamp(s signed.Signer, form, browser string, now time.Time) string {
	return s.Sign(binary.BigEndian.AppendUint64(nil, uint64(now.UnixMicro())), form, browser)
}

// Check checks a stamp that Stamp returned for the same form and browser. The error is ErrForged for any other stamp,
// ErrOld for a stamp older than oldest, and an *EarlyError for one younger than youngest.
func Check(s signed.Signer, form, browser, stamp string, now time.Time, youngest, oldest time.Duration) error {
	raw, ok := s.Open(stamp, form, browser)
	if !ok || len(raw) != 8 {
		return ErrForged
	}
	age := now.Sub(time.UnixMicro(int64(binary.BigEndian.Uint64(raw)))) //nolint:gosec // we made it
	switch {
	case age > oldest:
		return ErrOld
	case age < youngest:
		return &EarlyError{min(youngest-age, youngest)} // another node's clock may be ahead
	}
	return nil
}

// Answered reports whether an answer equals a line of accepted, which has one accepted answer per line. Case, width,
// spaces and punctuation are ignored.
func Answered(answer, accepted string) bool {
	answer = foldAnswer(answer)
	for line := range strings.Lines(accepted) {
		if expected := foldAnswer(line); expected != "" && expected == answer {
			return true
		}
	}
	return false
}

// foldAnswer returns a text in the form in which answers are compared: its letters, digits and marks, in lower case.
func foldAnswer(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, norm.NFKC.String(text))
}

// Network returns the network of a client that may have many addresses: a /24 for IPv4, a /56 for IPv6. client is an
// address or a network; any other text is returned unchanged.
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
	network, _ := ip.Prefix(bits) // bits is in range
	return network.String()
}
