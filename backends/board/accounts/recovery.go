package accounts

import (
	"context"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// AskReset mails a link that sets a new password to the member with this mail address. The result is the same if
// there is no such member. address is the address of the client.
func (s *Service) AskReset(ctx context.Context, email, address string) error {
	if !s.Mails() {
		return errNoMail("an administrator can give you a new password")
	}
	email, err := CheckEmail(email)
	if err != nil {
		return err
	}
	return s.askLink(ctx, 0, email, address, func(c store.Conn) error {
		return s.queueLink(c, LinkReset, "", "u.email_key = ?", mailaddress.Key(email))
	})
}

// askLink counts a request for a link and, if that is not one too many, calls queue in the same transaction.
// Otherwise it returns an error with status 429. A user of 0 means that nobody is signed in.
func (s *Service) askLink(
	ctx context.Context, user int64, email, address string, queue func(c store.Conn) error,
) error {
	var wait time.Duration
	var what string
	err := s.Write(ctx, func(c store.Conn) (err error) {
		what = "too many mails were asked for, by you or"
		if user != 0 {
			if wait, err = LinksOf.Of(kernel.Itoa(user)).Try(c, s.Now()); err != nil || wait > 0 {
				return err
			}
		}
		what = "too many mails were asked for, to this mail address or"
		if wait, err = tryLink(c, email, address, s.Now()); err != nil || wait > 0 {
			return err // having to wait is no error, so that the count is committed
		}
		return queue(c)
	})
	if err == nil && wait > 0 {
		err = errWait(wait, what)
	}
	return err
}

// Reset uses a link to set the password of its member, and signs the member out everywhere. address is the address of
// the client.
func (s *Service) Reset(ctx context.Context, secret, password, address string) error {
	l, err := s.ReadLink(ctx, secret, LinkReset)
	if err != nil {
		return err
	}
	if err := checkNewPassword(password, l.Name, l.Email); err != nil {
		return err
	}
	hash, err := s.Options.Passwords.Hash(ctx, password)
	if err != nil {
		return err
	}
	return s.Write(ctx, func(c store.Conn) error {
		user, email, err := s.takeLink(c, secret, LinkReset)
		if err != nil {
			return err
		}
		// Whoever opened the link can read the mails of the address, so it is confirmed.
		if _, err := c.Exec("UPDATE board_users SET email_confirmed = 1 WHERE id = ? AND email_key = ?",
			user, mailaddress.Key(email)); err != nil {
			return err
		}
		if _, err := c.Exec("UPDATE board_users SET password_hash = ?, password_once = 0 WHERE id = ?",
			hash, user); err != nil {
			return err
		}
		if err := EndSessions(c, user); err != nil {
			return err
		}
		// A member who has guessed too often before may sign in at once.
		if err := loginsOfAccount.Of(text.Fold(l.Name), address).Forget(c); err != nil {
			return err
		}
		return loginsOfAccount.Of(text.Fold(l.Email), address).Forget(c)
	})
}
