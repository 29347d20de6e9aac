package password

import (
	"errors"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/text"
)

// What is wrong with a new password.
var (
	ErrShort     = errors.New("the password is too short")
	ErrLong      = errors.New("the password is too long")
	ErrGuessable = errors.New("the password is the name or the address of the account")
)

// Rules are what a new password must be.
type Rules struct{ Least, Most int } // in characters

// Check returns ErrShort, ErrLong or, where the password is one of the texts that
// everybody would try, whatever its case and width, ErrGuessable. An empty text
// counts for none.
func (r Rules) Check(password string, tried ...string) error {
	switch n := utf8.RuneCountInString(password); {
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
