package board

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/formguard"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
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

// linkSource marks the mails of links.
const linkSource = "link"

// linkLasts is how long a link of a kind works after it was asked for. Who joins
// may read mails the next day.
func linkLasts(kind string) time.Duration {
	if kind == LinkJoin {
		return 24 * time.Hour
	}
	return time.Hour
}

// opens reports whether mails of a kind have something to open.
func opens(kind string) bool { return kind != LinkNotice && kind != LinkKnown }

// How many links may be asked for, to an address, by a network of clients, and by
// a member, who chooses the address.
var (
	linksTo   = bound{"link to", 3, time.Hour}
	linksFrom = bound{"link from", 10, time.Hour}
	linksOf   = bound{"link of", 10, 24 * time.Hour}
)

// MailLink is a link as it is mailed.
type MailLink struct {
	Secret string // empty: there is nothing to open
	Ends   time.Time
}

// Mails reports whether somebody sends mails.
func (s *Service) Mails() bool { return s.options.Mails != nil && s.options.Mails() }

// errNoMail refuses to ask for a link that nobody would mail.
func errNoMail(instead string) error {
	return forbidden("email", "no_mail", "this board sends no mails; "+instead)
}

// errLink is the one answer to a secret that opens nothing.
func errLink() error {
	return apierror.New(http.StatusGone, "not_found", "this link was used already, is too old, a newer mail has another one, or the account has changed since")
}

// tryLink counts that somebody asks for a link. Where that is too often it says
// how long to wait.
func tryLink(c store.Conn, email, address string, now int64) (wait time.Duration, err error) {
	if wait, err = linksFrom.try(c, linksFrom.key(formguard.Network(address)), now); err != nil || wait > 0 {
		return wait, err
	}
	return linksTo.try(c, linksTo.key(mailaddress.Key(email)), now)
}

// queueLink has a link mailed to the member u that the condition finds, at
// another address than the member's where one is given. It does the same work
// when there is nobody.
func (s *Service) queueLink(c store.Conn, kind, email, condition string, args ...any) error {
	now := s.micros()
	var id int64
	err := c.Row("INSERT INTO board_links (kind, user_id, email, expires_at)"+
		" SELECT CAST(? AS TEXT), u.id, COALESCE(NULLIF(CAST(? AS TEXT), ''), u.email), CAST(? AS BIGINT) FROM board_users u WHERE "+condition+" RETURNING id",
		append([]any{kind, email, now + linkLasts(kind).Microseconds()}, args...)...).Scan(&id)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	_, err = c.Exec("INSERT INTO board_mails (user_id, mode, source, thread_id, first_post_id, last_post_id, due_at, created_at)"+
		" SELECT user_id, kind, CAST(? AS TEXT), id, 0, 0, CAST(? AS BIGINT), CAST(? AS BIGINT) FROM board_links WHERE id = ?", linkSource, now, now, id)
	return err
}

// composeLink makes the secret of the newest link of a mailing. What is sent
// again has another one.
func (s *Service) composeLink(ctx context.Context, m *Mailing, zone *time.Location) error {
	id, now := m.rows[len(m.rows)-1].thread, s.micros()
	secret := ""
	if opens(m.Mode) {
		secret = NewSecret()
	}
	return s.write(ctx, func(c store.Conn) error {
		m.Email, m.Link = "", nil
		var ends int64
		err := c.Row("UPDATE board_links SET secret_hash = ? WHERE id = ? AND expires_at > ? RETURNING email, expires_at",
			sql.NullString{String: secretHash(secret), Valid: secret != ""}, id, now).Scan(&m.Email, &ends)
		if errors.Is(err, sql.ErrNoRows) { // nobody waits for it any more
			return nil
		}
		m.Key += "." + NewSecret()[:10] // no program may take it for the mail before
		m.Link = &MailLink{secret, time.UnixMicro(ends).In(zone)}
		return err
	})
}

// Linked is what a link that works is for.
type Linked struct{ Name, Email string }

// ReadLink looks at a link without using it: programs open links, too.
func (s *Service) ReadLink(ctx context.Context, secret string, kinds ...string) (l Linked, err error) {
	err = s.read(ctx, func(c store.Conn) error {
		err := c.Row("SELECT u.username, n.email FROM board_links n JOIN board_users u ON u.id = n.user_id WHERE n.secret_hash = ? AND n.expires_at > ? AND n.kind IN ("+marksFor(len(kinds))+")",
			linkArgs(s.micros(), secret, kinds)...).Scan(&l.Name, &l.Email)
		if errors.Is(err, sql.ErrNoRows) {
			return errLink()
		}
		return err
	})
	return l, err
}

// takeLink uses a link, and ends all others of its member.
func (s *Service) takeLink(c store.Conn, secret string, kinds ...string) (user int64, email string, err error) {
	err = c.Row("DELETE FROM board_links WHERE secret_hash = ? AND expires_at > ? AND kind IN ("+marksFor(len(kinds))+") RETURNING user_id, email", linkArgs(s.micros(), secret, kinds)...).Scan(&user, &email)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, "", errLink()
	}
	if err != nil {
		return 0, "", err
	}
	return user, email, endLinks(c, user)
}

// linkArgs find a link that is good.
func linkArgs(now int64, secret string, kinds []string) []any {
	args := append(make([]any, 0, 2+len(kinds)), secretHash(secret), now)
	for _, kind := range kinds {
		args = append(args, kind)
	}
	return args
}

// endLinks ends the links of a member. Notices are sent nevertheless.
func endLinks(c store.Conn, user int64) error {
	_, err := c.Exec("DELETE FROM board_links WHERE user_id = ? AND kind NOT IN (?, ?)", user, LinkNotice, LinkKnown)
	return err
}
