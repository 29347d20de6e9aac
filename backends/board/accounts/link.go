package accounts

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/attempts"
	"github.com/tollgate-gateway/tollgate/internal/formguard"
	"github.com/tollgate-gateway/tollgate/internal/locale"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/maillink"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// A link is mailed to an address and can be used once. It proves that its user can read the mails of that address. Its
// secret is created when the mail is sent and is only in that mail; the database has its hash.

// The kinds of links, and of related mails without a link. They are also stored as the modes of the mails.
const (
	// LinkReset sets a new password.
	LinkReset = "reset"
	// LinkEmail confirms a new address of a member.
	LinkEmail = "email"
	// LinkNotice informs the current address that a new address was requested. The mail has no link.
	LinkNotice = "notice"
	// LinkJoin confirms the address with which a member has registered.
	LinkJoin = "join"
	// LinkKnown informs a member that somebody has tried to register with the member's address. The mail has no link.
	LinkKnown = "known"
)

// LinkSource is the value of the column source, in the table board_mails, for mails with links.
const LinkSource = "link"

// linkLasts returns how long a link of this kind is valid after the request. The link of a registration is valid
// longest, because the reader of the mail might not open the link before the next day.
func linkLasts(kind string) time.Duration {
	if kind == LinkJoin {
		return 24 * time.Hour
	}
	return time.Hour
}

// Links stores the mailed links.
var Links = maillink.Store[int64]{Table: "board_links", Notices: []string{LinkNotice, LinkKnown}}

// The limits of requested links: for a mail address, for a client, for the clients of a network, and for a member who
// requests a link to a new address.
var (
	linksTo   = attemptLimit("link to", 3, time.Hour)
	linksBy   = attemptLimit("link by", 10, time.Hour)
	LinksFrom = attemptLimit("link from", 50, time.Hour)
	LinksOf   = attemptLimit("link of", 10, 24*time.Hour)
)

// MailLink is the content of a mail with a link.
type MailLink struct {
	Secret string // empty for a notice, which has nothing to open
	Ends   time.Time
}

// Mails reports whether the board sends mails.
func (s *Service) Mails() bool { return s.Options.Mails != nil && s.Options.Mails() }

// errNoMail returns the error for a request that needs a mail, on a board that sends no mails. consequence ends its
// message: what therefore cannot be done, or what the member can do instead.
func errNoMail(consequence string) error {
	return kernel.Forbidden("email", "no_mail", "this board sends no mails; "+consequence)
}

// errLink returns the error (status 410) for a secret that does not belong to a valid link. It is the same for all
// reasons.
func errLink() error {
	return apierror.New(http.StatusGone, "not_found",
		"this link is no longer valid: it was used already, is too old, was replaced by the link in a newer mail, or the"+
			" account has changed since")
}

// tryLink counts a client's request for a link to a mail address. It returns 0 if the request is allowed, and otherwise
// how long to wait. A request beyond the client's limit is not counted for the client's network, because other clients
// there may still request links.
func tryLink(c store.Conn, email, address string, now time.Time) (wait time.Duration, err error) {
	for _, count := range []attempts.Count{
		linksBy.Of(address), LinksFrom.Of(formguard.Network(address)),
		linksTo.Of(mailaddress.Key(email)),
	} {
		if wait, err = count.Try(c, now); err != nil || wait > 0 {
			return wait, err
		}
	}
	return 0, nil
}

// queueLink queues a mail with a link for the member that the SQL condition selects. In the condition, u is the
// member's row; args are the condition's arguments. The mail is sent to email or, if email is empty, to the member's
// address. If the condition selects no member, queueLink does the same work, so that it takes the same time, and queues
// no mail.
func (s *Service) queueLink(c store.Conn, kind, email, condition string, args ...any) error {
	now := s.Now()
	id, err := Links.Ask(c, kind, now.Add(linkLasts(kind)),
		"SELECT u.id AS user_id, COALESCE(NULLIF(CAST(? AS TEXT), ''), u.email) AS email FROM board_users u WHERE "+
			condition, append([]any{email}, args...)...)
	if err != nil {
		return err
	}
	if language := locale.FromContext(c.Context()); language != nil { // the language of the current page
		if _, err := c.Exec("UPDATE board_links SET language = ? WHERE id = ?", language.Tag(), id); err != nil {
			return err
		}
	}
	_, err = c.Exec("INSERT INTO board_mails (user_id, mode, source, thread_id, first_post_id, last_post_id, due_at,"+
		" created_at)"+
		" SELECT user_id, kind, CAST(? AS TEXT), id, 0, 0, CAST(? AS BIGINT), CAST(? AS BIGINT) FROM board_links"+
		" WHERE id = ?", LinkSource, now.UnixMicro(), now.UnixMicro(), id)
	return err
}

// Linked is the result of ReadLink: the name of the link's member, and the address to which the link was mailed.
type Linked struct{ Name, Email string }

// ReadLink reads a link of one of the kinds. It does not use the link up, because programs that scan mails open links,
// too. It returns an error with status 410 if the link is not valid.
func (s *Service) ReadLink(ctx context.Context, secret string, kinds ...string) (l Linked, err error) {
	err = s.Read(ctx, func(c store.Conn) error {
		found, err := Links.Look(c, secret, s.Now(), kinds...)
		if err != nil {
			return err
		}
		l.Email = found.Email
		return c.Row("SELECT username FROM board_users WHERE id = ?", found.User).Scan(&l.Name)
	})
	return l, orLinkGone(err)
}

// takeLink uses up a link of one of the kinds, and makes all other links of its member invalid.
func (s *Service) takeLink(c store.Conn, secret string, kinds ...string) (user int64, email string, err error) {
	l, err := Links.Take(c, secret, s.Now(), kinds...)
	return l.User, l.Email, orLinkGone(err)
}

// orLinkGone converts maillink.ErrGone to errLink. Other errors are returned unchanged.
func orLinkGone(err error) error {
	if errors.Is(err, maillink.ErrGone) {
		return errLink()
	}
	return err
}

// AskReset mails a link that sets a new password to the member with this mail address. The result is the same if there
// is no such member. address is the client's address.
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

// askLink counts a request for a link to the mail address email and, within the limits, calls queue in the same
// transaction. Beyond the limits it returns an error with status 429. user is the requesting member, or 0 for a guest.
// address is the client's IP address.
func (s *Service) askLink(
	ctx context.Context, user int64, email, address string, queue func(c store.Conn) error,
) error {
	var refusal error // returned after the transaction, in which an error would roll back the counts
	err := s.Write(ctx, func(c store.Conn) error {
		refusal = nil
		if user != 0 {
			wait, err := LinksOf.Of(kernel.Itoa(user)).Try(c, s.Now())
			if refusal = errWait(wait, "too many mails were requested, by you or"); err != nil || refusal != nil {
				return err
			}
		}
		wait, err := tryLink(c, email, address, s.Now())
		if refusal = errWait(wait, "too many mails were requested, to this mail address or"); err != nil || refusal != nil {
			return err
		}
		return queue(c)
	})
	return cmp.Or(err, refusal)
}

// Reset uses up a link to set the password of the link's member, and signs the member out everywhere. address is the
// client's address.
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
		// Somebody who has the link can read the mails to the address, so the address is confirmed.
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
		// A member who was locked out by too many wrong passwords can sign in at once.
		if err := loginsOfAccount.Of(text.Fold(l.Name), address).Forget(c); err != nil {
			return err
		}
		return loginsOfAccount.Of(text.Fold(l.Email), address).Forget(c)
	})
}
