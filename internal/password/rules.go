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

// Rules are the limits for the length of a new password, in characters. A letter with its accents counts as one if
// Unicode has a composed form.
type Rules struct{ Min, Max int }

// Long reports whether a password is longer than Check allows.
func (r Rules) Long(password string) bool { return count(password) > r.Max }

func count(password string) int { return utf8.RuneCountInString(norm.NFC.String(password)) }

// Check returns ErrShort, ErrLong or, if the password equals one of the texts that everybody would try, apart from case
// and width, ErrGuessable. Empty texts in tried are ignored.
func (r Rules) Check(password string, tried ...string) error {
	switch n := count(password); {
	case n < r.Min:
		return ErrShort
	case n > r.Max:
		return ErrLong
	}
	bare := text.Fold(password)
	for _, one := range tried {
		if one != "" && text.Fold(one) == bare {
			return ErrGuessable
		}
	}
	return nil
}
