package users

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

const (
	minPassword = 8   // the minimum number of characters of a new password if Users.Length is not set
	maxPassword = 256 // the maximum number of characters
)

// PasswordLength returns the minimum number of characters of a new password.
func (s *Users) PasswordLength() int { return cmp.Or(s.Length, minPassword) }

// rules returns the rules for new passwords.
func (s *Users) rules() password.Rules {
	return password.Rules{Min: s.PasswordLength(), Max: maxPassword}
}

// ErrCredentials is the error for an unknown user, a wrong password and a disabled user, so that callers cannot
// distinguish these cases.
var ErrCredentials = errors.New("the mail address or the password is wrong")

// hashNew checks a new password against the rules and the list of leaked passwords, and returns its hash. The password
// must differ from the user's mail address and name. If it is not allowed, the error is that of Invalid.
func (s *Users) hashNew(ctx context.Context, pass, email, name string) (string, error) {
	rules := s.rules()
	switch err := rules.Check(pass, email, name); {
	case errors.Is(err, password.ErrShort):
		return "", Invalid("password", fmt.Sprintf("the password must have %d characters or more", rules.Min))
	case errors.Is(err, password.ErrLong):
		return "", Invalid("password", fmt.Sprintf("the password must have at most %d characters", rules.Max))
	case err != nil:
		return "", Invalid("password", err.Error())
	}
	leaked, err := s.Leaked.Has(pass)
	if err != nil {
		return "", err
	}
	if leaked {
		return "", Invalid("password",
			"this password is in a list of leaked passwords, which attackers try; choose another one")
	}
	return s.Passwords.Hash(ctx, pass)
}

// Verify returns the active user with a mail address and a password, or ErrCredentials. It computes one hash whether or
// not the user exists. If the stored hash has other parameters, or is from another program, Verify stores a new hash of
// the password.
func (s *Users) Verify(ctx context.Context, email, pass string) (*User, error) {
	var u *User
	var storedHash string
	err := s.Read(ctx, func(c store.Conn) (err error) {
		u, err = scan(c.Row("SELECT "+columns+", password FROM authserver_users WHERE email_key = ?", mailaddress.Key(email)),
			&storedHash)
		if IsNone(err) {
			u, storedHash, err = nil, "", nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if s.rules().Long(pass) { // no password is that long; a hash is computed anyway, so that the check takes the same time
		pass, storedHash = "", ""
	}
	matches, err := s.Passwords.Verify(ctx, storedHash, pass)
	if err != nil {
		return nil, err
	}
	if !matches || u == nil || !u.Active() {
		return nil, ErrCredentials
	}
	if s.Passwords.Stale(storedHash) {
		if err := s.rehash(ctx, u.ID, storedHash, pass); err != nil {
			return nil, err
		}
	}
	return u, nil
}

// rehash stores a new hash of a password, unless the stored hash has changed in the meantime.
func (s *Users) rehash(ctx context.Context, id, oldHash, pass string) error {
	hash, err := s.Passwords.Hash(ctx, pass)
	if err != nil {
		return err
	}
	return s.Write(ctx, func(c store.Conn) error {
		_, err := c.Exec("UPDATE authserver_users SET password = ? WHERE id = ? AND password = ?", hash, id, oldHash)
		return err
	})
}

// Hash returns the stored hash of a user's password, or "" for a user without a password. If the user does not exist,
// IsNone reports true for the error.
func (s *Users) Hash(ctx context.Context, id string) (hash string, err error) {
	err = s.Read(ctx, func(c store.Conn) error {
		err := c.Row("SELECT password FROM authserver_users WHERE id = ?", text.Storable(id)).Scan(&hash)
		return kernel.IfNoRows(err, errNoUser())
	})
	return hash, err
}

// SetHash stores the hash of a user's new password, for example from another server. The hash must have a form that
// password.Known accepts; see Check. Like Update with a new password, SetHash ends all sessions and tokens of the user
// and makes a pending user active. The audit event names the actor. If the user does not exist, IsNone reports true for
// the error.
func (s *Users) SetHash(ctx context.Context, id, hash, actor string) error {
	err := s.changeAndEnd(ctx, id, func(c store.Conn) error {
		n, err := c.Exec("UPDATE authserver_users SET password = ?, status = CASE WHEN status = ? THEN ? ELSE status END, updated_at = ? WHERE id = ?",
			hash, Pending, Active, s.Micros(), id)
		if err != nil {
			return err
		}
		if n == 0 {
			return errNoUser()
		}
		return s.EndAll(c, id)
	})
	if err == nil {
		s.note(ctx, "user.updated", actor, id)
	}
	return err
}
