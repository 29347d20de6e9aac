package password

import (
	"errors"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Reasons why a new password is refused.
var (
	ErrShort     = errors.New("the password is too short")
	ErrLong      = errors.New("the password is too long")
	ErrGuessable = errors.New("the password is the name or the address of the account")
)

// Rules limits the length of a new password, in characters. A letter with its accents counts as one character if
// Unicode has a composed form.
type Rules struct{ Min, Max int }

// Long reports whether a password is longer than Check allows.
func (r Rules) Long(password string) bool { return count(password) > r.Max }

// count returns the length of a password in characters.
func count(password string) int { return utf8.RuneCountInString(norm.NFC.String(password)) }

// Check returns ErrShort or ErrLong for a password of the wrong length, and ErrGuessable for one that equals one of
// guesses. These are texts that an attacker would try first, such as the user's name. Case and width are ignored, and
// so are empty guesses.
func (r Rules) Check(password string, guesses ...string) error {
	switch n := count(password); {
	case n < r.Min:
		return ErrShort
	case n > r.Max:
		return ErrLong
	}
	folded := text.Fold(password)
	for _, guess := range guesses {
		if guess != "" && text.Fold(guess) == folded {
			return ErrGuessable
		}
	}
	return nil
}
