package password

import (
	"errors"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/tollgate-gateway/tollgate/internal/text"
)

// What is wrong with a new password.
var (
	ErrShort     = errors.New("the password is too short")
	ErrLong      = errors.New("the password is too long")
	ErrGuessable = errors.New("the password is the name or the address of the account")
)

// Rules are what a new password must be.
type Rules struct{ Least, Most int } // in characters, of which a letter with its accents is one where Unicode has it

// Long reports whether a password has more characters than any that Check lets pass.
func (r Rules) Long(password string) bool { return count(password) > r.Most }

func count(password string) int { return utf8.RuneCountInString(norm.NFC.String(password)) }

// Check returns ErrShort, ErrLong or, where the password is one of the texts that
// everybody would try, whatever its case and width, ErrGuessable. An empty text
// counts for none.
func (r Rules) Check(password string, tried ...string) error {
	switch n := count(password); {
	case n < r.Least:
		return ErrShort
	case n > r.Most:
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
