package board

import (
	"context"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// AskReset mails the member with this address a link for a new password. The
// answer is the same whether there is one. address is the client's.
func (s *Service) AskReset(ctx context.Context, email, address string) error {
	if !s.Mails() {
		return errNoMail("an administrator can give you a new password")
	}
	email, err := checkEmail(email)
	if err != nil {
		return err
	}
	return s.askLink(ctx, email, address, func(c conn) error {
		return s.queueLink(c, LinkReset, "", "u.email_key = ?", mailKey(email))
	})
}

// askLink queues links, unless there were too many.
func (s *Service) askLink(ctx context.Context, email, address string, queue func(c conn) error) error {
	var wait time.Duration
	err := s.write(ctx, func(c conn) (err error) {
		if wait, err = tryLink(c, email, address, s.micros()); err != nil || wait > 0 {
			return err // what was counted stays
		}
		return queue(c)
	})
	if err == nil && wait > 0 {
		err = errWait(wait, "too many mails were asked for, to this mail address or")
	}
	return err
}

// Reset sets the password of the member of a link and signs the member out
// everywhere. address is the client's.
func (s *Service) Reset(ctx context.Context, secret, password, address string) error {
	l, err := s.ReadLink(ctx, LinkReset, secret)
	if err != nil {
		return err
	}
	if err := checkNewPassword(password, l.Name, l.Email); err != nil {
		return err
	}
	var hash string
	if err := inTurn(ctx, func() { hash = hashPassword(password) }); err != nil {
		return err
	}
	return s.write(ctx, func(c conn) error {
		user, _, err := s.takeLink(c, LinkReset, secret)
		if err != nil {
			return err
		}
		if _, err := c.exec("UPDATE board_users SET password_hash = ?, password_once = 0 WHERE id = ?", hash, user); err != nil {
			return err
		}
		if err := endSessions(c, user); err != nil {
			return err
		}
		// Who guessed until now may sign in at once.
		return forget(c, loginsOfAccount.key(fold(l.Name), address), loginsOfAccount.key(fold(l.Email), address))
	})
}

// Email is the actor's own mail address.
func (s *Service) Email(ctx context.Context, a *Actor) (email string, err error) {
	err = s.read(ctx, func(c conn) error {
		return none(c.row("SELECT email FROM board_users WHERE id = ?", a.id()).Scan(&email))
	})
	return email, err
}

// AskEmail mails a link to the address that is to be the actor's, and a notice to
// the one until now. Where somebody else has it nothing is sent there, and the
// answer is the same. address is the client's.
func (s *Service) AskEmail(ctx context.Context, a *Actor, email, password, address string) error {
	if !s.Mails() {
		return errNoMail("so an address cannot be confirmed")
	}
	email, emailErr := checkEmail(email)
	p, err := s.confirm(ctx, a, password, address)
	if err := first(emailErr, err); err != nil {
		return err
	}
	former, err := s.Email(ctx, a)
	if err != nil {
		return err
	}
	if mailKey(email) == mailKey(former) {
		return invalid("email", "same", "this is your mail address already")
	}
	return s.askLink(ctx, email, address, func(c conn) error {
		if err := p.holds(c); err != nil {
			return err
		}
		if err := s.queueLink(c, LinkNotice, "", "u.id = ? AND u.email <> ''", a.id()); err != nil {
			return err
		}
		return s.queueLink(c, LinkEmail, email, "u.id = ? AND NOT EXISTS (SELECT 1 FROM board_users o WHERE o.email_key = ?)", a.id(), mailKey(email))
	})
}

// ChangeEmail makes the address of a link that of its member.
func (s *Service) ChangeEmail(ctx context.Context, secret string) (email string, err error) {
	err = s.write(ctx, func(c conn) error {
		user, linked, err := s.takeLink(c, LinkEmail, secret)
		if err != nil {
			return err
		}
		email = linked
		_, err = c.exec("UPDATE board_users SET email = ?, email_key = ? WHERE id = ?", email, mailKey(email), user)
		return err
	})
	if store.IsUniqueViolation(err) { // another was faster
		err = conflict("another member has this mail address now")
	}
	return email, err
}
