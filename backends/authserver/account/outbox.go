package account

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/mail"
	"github.com/tollgate-gateway/tollgate/internal/maillink"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// lease is how long a node reserves a mail for itself. Sending a mail always takes less time.
const lease = 40 * time.Second

// Send sends the mails that are due and returns their number.
func (a *Accounts) Send(ctx context.Context) (int, error) {
	if a.Mail == nil {
		return 0, nil
	}
	return mail.Send(ctx, outbox{a}, reporting{a.Mail, a}, a.Logger())
}

// outbox implements mail.Outbox.
type outbox struct{ *Accounts }

// Due implements mail.Outbox.
func (o outbox) Due(ctx context.Context, limit int) (due []mail.Due, err error) {
	now := o.Micros()
	err = o.Read(ctx, func(c store.Conn) error {
		ids, err := store.List(c, func(r store.Row) (id int64, err error) { return id, r.Scan(&id) },
			"SELECT id FROM authserver_links WHERE due_at <= ? AND leased_until <= ? AND expires_at > ? ORDER BY due_at, id LIMIT ?", now, now, now, limit)
		for _, id := range ids {
			due = append(due, &letter{Accounts: o.Accounts, id: id})
		}
		return err
	})
	return due, err
}

// letter implements mail.Due and mail.Claimed.
type letter struct {
	*Accounts
	id       int64 // of the row in authserver_links
	attempts int64 // to send the mail, including the current attempt
	// kind and user are those of the composed message. They are empty if there was no message to send.
	kind, user string
}

// Claim implements mail.Due. The attempt counts even if this process crashes during it.
func (l *letter) Claim(ctx context.Context) (mail.Claimed, error) {
	now := l.Micros()
	err := l.Write(ctx, func(c store.Conn) error {
		return c.Row("UPDATE authserver_links SET leased_until = ?, attempts = attempts + 1 WHERE id = ? AND due_at <= ? AND leased_until <= ? RETURNING attempts",
			l.Now().Add(lease).UnixMicro(), l.id, now, now).Scan(&l.attempts)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil // another node was faster
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Message implements mail.Claimed. Each attempt to send a mail creates a new secret.
func (l *letter) Message() (m *mail.Message, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), lease)
	defer cancel()
	err = l.Write(ctx, func(c store.Conn) error {
		found, secret, ends, err := links.Mail(c, l.id, l.Now())
		if errors.Is(err, maillink.ErrGone) { // the link has expired, or has been replaced
			m, l.kind, l.user = nil, "", ""
			return nil
		}
		if err != nil {
			return err
		}
		l.kind, l.user = found.Kind, found.User
		var tag string
		err = c.Row("SELECT COALESCE(NULLIF(u.language, ''), l.language) FROM authserver_links l JOIN authserver_users u ON u.id = l.user_id WHERE l.id = ?",
			l.id).Scan(&tag)
		if err != nil {
			return err
		}
		m = l.compose(l.Languages.Choose(tag), found.Kind, secret, ends)
		m.ID, m.Email = found.Kind+"."+strconv.FormatInt(l.id, 10)+"."+strconv.FormatInt(l.attempts, 10), found.Email
		return nil
	})
	return m, err
}

// Over implements mail.Claimed.
func (l *letter) Over(ctx context.Context, refused error) error {
	switch {
	case refused != nil:
		l.noteMail(ctx, mailFailed, "kind", l.kind, "user", l.user, "again", "false", "reason", reason(refused))
	case l.kind != "":
		l.noteMail(ctx, mailSent, "kind", l.kind, "user", l.user)
	}
	return l.set(ctx, "due_at = NULL")
}

// Failed implements mail.Claimed. The mail is attempted again until its link expires.
func (l *letter) Failed(ctx context.Context, cause error) (retry bool, err error) {
	l.noteMail(ctx, mailFailed, "kind", l.kind, "user", l.user, "again", "true", "reason", reason(cause))
	return true, l.set(ctx, "due_at = ?", l.Now().Add(jobs.Backoff(l.attempts)).UnixMicro())
}

// Hold implements mail.Claimed. The attempt does not count.
func (l *letter) Hold(ctx context.Context, wait time.Duration) error {
	return l.set(ctx, "attempts = attempts - 1, due_at = ?", l.Now().Add(wait).UnixMicro())
}

// set changes columns of the row by SQL assignments, and ends this node's reservation of the mail.
func (l *letter) set(ctx context.Context, assignments string, args ...any) error {
	return l.Write(ctx, func(c store.Conn) error {
		_, err := c.Exec("UPDATE authserver_links SET leased_until = 0, "+assignments+" WHERE id = ?", append(args, l.id)...)
		return err
	})
}
