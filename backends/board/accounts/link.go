package accounts

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/attempts"
	"github.com/tollgate-gateway/tollgate/internal/formguard"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/maillink"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// A link is mailed to an address and does one thing, once: who opens it reads the
// mails of that address. The secret in it is made when the mail is sent and is
// in that mail alone; the database has its hash.

// The kinds of links are modes of mails, too.
const (
	// LinkReset sets a new password.
	LinkReset = "reset"
	// LinkEmail makes the address that of the member.
	LinkEmail = "email"
	// LinkNotice only tells the former address of it: there is nothing to open.
	LinkNotice = "notice"
	// LinkJoin makes the address that of a member who has registered with it.
	LinkJoin = "join"
	// LinkKnown only tells a member that somebody registered with the address.
	LinkKnown = "known"
)

// LinkSource marks the mails of links.
const LinkSource = "link"

// linkLasts returns how long a link of a kind works after it was asked for. A link to join works longest, as
// its reader may not open it before the next day.
func linkLasts(kind string) time.Duration {
	if kind == LinkJoin {
		return 24 * time.Hour
	}
	return time.Hour
}

// Links keeps the links that were mailed.
var Links = maillink.Store[int64]{Table: "board_links", Notices: []string{LinkNotice, LinkKnown}}

// How many links may be asked for, to an address, by a client, by a network of
// clients, and by a member, who chooses the address.
var (
	linksTo   = attemptLimit("link to", 3, time.Hour)
	linksBy   = attemptLimit("link by", 10, time.Hour)
	LinksFrom = attemptLimit("link from", 50, time.Hour)
	LinksOf   = attemptLimit("link of", 10, 24*time.Hour)
)

// MailLink is a link as it is mailed.
type MailLink struct {
	Secret string // empty: there is nothing to open
	Ends   time.Time
}

// Mails reports whether somebody sends mails.
func (s *Service) Mails() bool { return s.Options.Mails != nil && s.Options.Mails() }

// errNoMail refuses to ask for a link that nobody would mail.
func errNoMail(instead string) error {
	return kernel.Forbidden("email", "no_mail", "this board sends no mails; "+instead)
}

// errLink returns the one answer to a secret that opens nothing.
func errLink() error {
	return apierror.New(http.StatusGone, "not_found",
		"this link was used already, is too old, a newer mail has another one, or the account has changed since")
}

// tryLink counts that somebody asks for a link. Where that is too often it says
// how long to wait. What a client asks for beyond its own limit is not counted for its
// network: others there may ask.
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

// queueLink queues a mail with a link to the member u that the condition finds. It goes to the member's
// address, or to email where that is not empty. It does the same work when the condition finds nobody.
func (s *Service) queueLink(c store.Conn, kind, email, condition string, args ...any) error {
	now := s.Now()
	id, err := Links.Ask(c, kind, now.Add(linkLasts(kind)),
		"SELECT u.id AS user_id, COALESCE(NULLIF(CAST(? AS TEXT), ''), u.email) AS email FROM board_users u WHERE "+
			condition, append([]any{email}, args...)...)
	if err != nil {
		return err
	}
	_, err = c.Exec("INSERT INTO board_mails (user_id, mode, source, thread_id, first_post_id, last_post_id, due_at,"+
		" created_at)"+
		" SELECT user_id, kind, CAST(? AS TEXT), id, 0, 0, CAST(? AS BIGINT), CAST(? AS BIGINT) FROM board_links"+
		" WHERE id = ?", LinkSource, now.UnixMicro(), now.UnixMicro(), id)
	return err
}

// Linked is what a link that works is for.
type Linked struct{ Name, Email string }

// ReadLink looks at a link without using it: programs open links, too.
func (s *Service) ReadLink(ctx context.Context, secret string, kinds ...string) (l Linked, err error) {
	err = s.Read(ctx, func(c store.Conn) error {
		found, err := Links.Look(c, secret, s.Now(), kinds...)
		if err != nil {
			return err
		}
		l.Email = found.Email
		return c.Row("SELECT username FROM board_users WHERE id = ?", found.User).Scan(&l.Name)
	})
	return l, gone(err)
}

// takeLink uses a link, and ends all others of its member.
func (s *Service) takeLink(c store.Conn, secret string, kinds ...string) (user int64, email string, err error) {
	l, err := Links.Take(c, secret, s.Now(), kinds...)
	return l.User, l.Email, gone(err)
}

// gone turns maillink.ErrGone into the answer for a link that opens nothing.
func gone(err error) error {
	if errors.Is(err, maillink.ErrGone) {
		return errLink()
	}
	return err
}
