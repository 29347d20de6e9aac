package accounts

import (
	"context"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// KeepUnconfirmed is the time after which members who have never opened the link of their registration are deleted. A
// member who has requested another link is kept while that link is valid.
const KeepUnconfirmed = 7 * 24 * time.Hour

// MailAddress is the mail address of a member, with its state.
type MailAddress struct {
	Now       string // the current address; empty means none
	Confirmed bool   // whether a link mailed to the current address was opened; if not, only such links are mailed there
	Asked     string // the requested new address; it becomes current when a link mailed to it is opened; empty means none
}

// MailAddress returns the mail address of the actor.
func (s *Service) MailAddress(ctx context.Context, a *rights.Actor) (MailAddress, error) {
	return kernel.Value(ctx, s.Read, func(c store.Conn) (m MailAddress, err error) {
		return m, kernel.OrNotFound(c.Row("SELECT email, email_confirmed, email_asked FROM board_users WHERE id = ?",
			a.ID()).Scan(&m.Now, &m.Confirmed, &m.Asked))
	})
}

// queueConfirm queues a mail with a link that confirms a member's new address. If another member has that address, no
// mail is sent, but queueConfirm does the same work, so that it takes the same time.
func (s *Service) queueConfirm(c store.Conn, kind string, user int64, email string) error {
	if _, err := c.Exec("UPDATE board_users SET email_asked = ? WHERE id = ?", email, user); err != nil {
		return err
	}
	return s.queueLink(c, kind, email, "u.id = ? AND NOT EXISTS (SELECT 1 FROM board_users o WHERE o.email_key = ?"+
		" AND o.id <> u.id)", user, mailaddress.Key(email))
}

// AskEmail mails a confirmation link to email, the actor's desired new address, and a notice to the current address. If
// another member has the new address no mail is sent there, but the result is the same, so that nobody can find out
// whether the address has an account. password is the actor's password, and address is the client's IP address.
func (s *Service) AskEmail(ctx context.Context, a *rights.Actor, email, password, address string) error {
	if !s.Mails() {
		return errNoMail("so an address cannot be confirmed")
	}
	email, emailErr := CheckEmail(email)
	p, err := s.confirm(ctx, a, password, address)
	if _, refused := apierror.From(err); err != nil && !refused {
		return err
	}
	if err := apierror.Join(emailErr, err); err != nil { // both fields may be wrong
		return err
	}
	current, err := s.MailAddress(ctx, a)
	if err != nil {
		return err
	}
	if current.Confirmed && mailaddress.Key(email) == mailaddress.Key(current.Now) {
		return kernel.Invalid("email", "same", "this is your mail address already")
	}
	return s.askLink(ctx, a.ID(), email, address, func(c store.Conn) error {
		if err := p.checkUnchanged(c); err != nil {
			return err
		}
		if err := s.queueLink(c, LinkNotice, "", "u.id = ? AND u.email <> '' AND u.email_key <> ?",
			a.ID(), mailaddress.Key(email)); err != nil {
			return err
		}
		return s.queueConfirm(c, confirmKind(a), a.ID(), email)
	})
}

// AskEmailAgain mails the link that confirms the actor's address again. It returns a conflict error if no address waits
// for confirmation. address is the client's IP address.
func (s *Service) AskEmailAgain(ctx context.Context, a *rights.Actor, address string) error {
	if !s.Mails() {
		return errNoMail("so an address cannot be confirmed")
	}
	m, err := s.MailAddress(ctx, a)
	if err != nil {
		return err
	}
	email := m.Asked
	if email == "" && !m.Confirmed {
		email = m.Now
	}
	if email == "" {
		return kernel.Conflict("you have no mail address that waits for confirmation")
	}
	return s.askLink(ctx, a.ID(), email, address,
		func(c store.Conn) error { return s.queueConfirm(c, confirmKind(a), a.ID(), email) })
}

// confirmKind returns the kind of link that confirms the actor's address.
func confirmKind(a *rights.Actor) string {
	if a.Unconfirmed() {
		return LinkJoin
	}
	return LinkEmail
}

// Confirmed is the result of ConfirmEmail.
type Confirmed struct {
	User   int64
	Email  string
	Joined bool // the link completed the registration of the member
	Awaits bool // the member now waits for approval
}

// ConfirmEmail uses a link and sets the member's address to the one to which the link was mailed. If the link
// completes a registration, the member becomes active or, if new members need approval, waits for approval.
// ConfirmEmail returns an API error with status 410 if the link is not valid, and a conflict error if another member
// has taken the address meanwhile.
func (s *Service) ConfirmEmail(ctx context.Context, secret string) (done Confirmed, err error) {
	access, err := s.rights.CurrentAccess(ctx)
	if err != nil {
		return done, err
	}
	state := "active"
	// If new members need approval, or if registration was closed meanwhile, an administrator decides about the member.
	if access.Settings.Registration != kernel.RegistrationOpen {
		state = "awaiting"
	}
	err = s.Write(ctx, func(c store.Conn) error {
		done = Confirmed{}
		user, linked, err := s.takeLink(c, secret, LinkEmail, LinkJoin)
		if err != nil {
			return err
		}
		done.User, done.Email = user, linked
		if _, err := c.Exec("UPDATE board_users SET email = ?, email_key = ?, email_confirmed = 1, email_asked = ''"+
			" WHERE id = ?", linked, mailaddress.Key(linked), user); err != nil {
			return err
		}
		n, err := c.Exec("UPDATE board_users SET state = ? WHERE id = ? AND state = 'unconfirmed'", state, user)
		if err != nil || n == 0 {
			return err
		}
		done.Joined, done.Awaits = true, state == "awaiting"
		if done.Awaits { // being signed in would be of no use
			if err := EndSessions(c, user); err != nil {
				return err
			}
		}
		return s.EmitRegistered(c, user)
	})
	if store.IsUniqueViolation(err) { // another member was faster
		err = kernel.Conflict("another member has this mail address now")
	}
	return done, err
}

// unconfirmedTables lists the tables that may have rows of a member who was never admitted.
var unconfirmedTables = []string{
	"board_user_groups", "board_forum_moderators", "board_subscriptions", "board_notifications", "board_thread_reads",
	"board_forum_reads",
	"board_api_tokens", "board_idempotency", "board_sessions", "board_identities", "board_mails", "board_links",
	"board_member_posts", "board_forum_floods",
}

// PurgeUnconfirmed deletes members who did not open the link of their registration within KeepUnconfirmed, have no
// valid link left and have written no posts. Their names become free. It returns the number of deleted members, even if
// it also returns an error.
func (s *Service) PurgeUnconfirmed(ctx context.Context) (n int64, err error) {
	n, err = s.DB.InBatches(ctx, 0, func(c store.Conn) (n int64, more bool, err error) {
		now := s.Now()
		ids, err := store.List(c, func(r store.Row) (any, error) {
			var id int64
			err := r.Scan(&id)
			return id, err
		}, "SELECT id FROM board_users u WHERE state = 'unconfirmed' AND joined_at <= ? AND NOT EXISTS (SELECT 1"+
			" FROM board_post_ids p WHERE p.author_id = u.id)"+
			" AND NOT EXISTS (SELECT 1 FROM board_links l WHERE l.user_id = u.id AND l.expires_at > ?)"+
			" ORDER BY joined_at LIMIT ?"+c.Lock(),
			now.Add(-KeepUnconfirmed).UnixMicro(), now.UnixMicro(), UnconfirmedBatch)
		if err != nil || len(ids) == 0 {
			return 0, false, err
		}
		for _, id := range ids {
			if err := FreeNames(c, id.(int64)); err != nil {
				return 0, false, err
			}
		}
		for _, table := range unconfirmedTables {
			if _, err := c.Exec("DELETE FROM "+table+" WHERE user_id IN ("+kernel.Marks(len(ids))+")", ids...); err != nil {
				return 0, false, err
			}
		}
		n, err = c.Exec("DELETE FROM board_users WHERE id IN ("+kernel.Marks(len(ids))+")", ids...)
		return n, len(ids) == UnconfirmedBatch, err
	})
	return n, kernel.Unavailable(err)
}

// UnconfirmedBatch is the number of members that are deleted in one transaction.
const UnconfirmedBatch = 100
