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

// hash checks a new password against the rules and the list of leaked passwords, and returns its hash. If the password
// is not allowed, the error is that of Invalid.
func (s *Users) hash(ctx context.Context, pass, email, name string) (string, error) {
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
		return "", Invalid("password", "this password has been leaked somewhere, so that others try it; choose another one")
	}
	return s.Passwords.Hash(ctx, pass)
}

// Verify returns the active user with a mail address and a password, or ErrCredentials. It computes one hash whether or
// not the user exists. If the stored hash has other parameters, or is from another program, Verify stores a new hash of
// the password.
func (s *Users) Verify(ctx context.Context, email, pass string) (*User, error) {
	var u *User
	var stored string
	err := s.Read(ctx, func(c store.Conn) (err error) {
		u, err = scan(c.Row("SELECT "+columns+", password FROM authserver_users WHERE email_key = ?", mailaddress.Key(email)),
			&stored)
		if IsNone(err) {
			u, stored, err = nil, "", nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if s.rules().Long(pass) { // no stored hash can match it, but it takes the same time
		pass, stored = "", ""
	}
	matches, err := s.Passwords.Verify(ctx, stored, pass)
	if err != nil {
		return nil, err
	}
	if !matches || u == nil || !u.Active() {
		return nil, ErrCredentials
	}
	if s.Passwords.Stale(stored) {
		if err := s.renew(ctx, u.ID, stored, pass); err != nil {
			return nil, err
		}
	}
	return u, nil
}

// renew stores a new hash of a password, unless the stored hash has changed in the meantime.
func (s *Users) renew(ctx context.Context, id, stored, pass string) error {
	hash, err := s.Passwords.Hash(ctx, pass)
	if err != nil {
		return err
	}
	return s.Write(ctx, func(c store.Conn) error {
		_, err := c.Exec("UPDATE authserver_users SET password = ? WHERE id = ? AND password = ?", hash, id, stored)
		return err
	})
}

// Hash returns the stored hash of a user's password, which is empty for a user without a password. If the user does not
// exist, IsNone reports true for the error.
func (s *Users) Hash(ctx context.Context, id string) (hash string, err error) {
	err = s.Read(ctx, func(c store.Conn) error {
		err := c.Row("SELECT password FROM authserver_users WHERE id = ?", text.Storable(id)).Scan(&hash)
		return kernel.IfNoRows(err, errNone())
	})
	return hash, err
}

// SetHash stores the hash of a user's password, for example from another server. The hash must have a form that
// password.Known accepts; see Check. Like any new password it ends all sessions and tokens, and makes a pending user
// active. The audit event names the actor.
func (s *Users) SetHash(ctx context.Context, id, hash, actor string) error {
	err := s.changeAndEnd(ctx, id, func(c store.Conn) error {
		n, err := c.Exec("UPDATE authserver_users SET password = ?, status = CASE WHEN status = ? THEN ? ELSE status END, updated_at = ? WHERE id = ?",
			hash, Pending, Active, s.Micros(), id)
		if err != nil {
			return err
		}
		if n == 0 {
			return errNone()
		}
		return s.end(c, id)
	})
	if err == nil {
		s.note(ctx, "user.updated", actor, id)
	}
	return err
}
