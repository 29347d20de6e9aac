package users

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Pending is the status of a user who was invited or has registered but has not chosen a password yet. Such a user
// cannot sign in.
const Pending = "pending"

// Pend returns the user with a mail address, whatever the user's status, and creates a pending user if there is no such
// user. The result created reports whether Pend created the user; the caller then records that in the audit feed after
// its transaction. The error has status 422 if the address or the name is invalid.
func (s *Users) Pend(c store.Conn, email, displayName string) (u *User, created bool, err error) {
	if email, err = Address(email); err != nil {
		return nil, false, err
	}
	if displayName, err = name(displayName); err != nil {
		return nil, false, err
	}
	now := s.Micros()
	id := uuid.Must(uuid.NewV7()).String()
	n, err := c.Exec(`INSERT INTO authserver_users (id, email, email_key, email_verified, name, password, role, user_groups, status, provider, created_at, updated_at)
		VALUES (?, ?, ?, 0, ?, '', ?, '[]', ?, ?, ?, ?) ON CONFLICT (email_key) DO NOTHING`,
		id, email, mailaddress.Key(email), displayName, RoleUser, Pending, Local, now, now)
	if err != nil {
		return nil, false, err
	}
	u, err = scan(c.Row("SELECT "+columns+" FROM authserver_users WHERE email_key = ?", mailaddress.Key(email)))
	return u, n == 1, err
}

// Proof proves that a user has opened a mailed link.
type Proof struct {
	User string // the id of the user
	// Take invalidates the link, in the transaction that uses it. If Take returns an error, the transaction changes
	// nothing.
	Take func(c store.Conn) error
	// Pending is the state for which the link was sent: true for a pending user, false for an active user.
	Pending bool
}

// Choose sets the password of the user who opened a link, and the name of a pending user unless displayName is nil.
// Opening the link proves that the mail address belongs to the user. All sessions and tokens of the user end. The error
// has status 422 if the password or the name is invalid, and 410 if the account's state has changed since the link was
// sent.
func (s *Users) Choose(ctx context.Context, p Proof, pass string, displayName *string) (*User, error) {
	user, err := s.Find(ctx, p.User)
	if IsNone(err) {
		return nil, errChanged
	}
	if err != nil {
		return nil, err
	}
	next := user.Name
	if displayName != nil {
		if next, err = name(*displayName); err != nil {
			return nil, err
		}
	}
	hash, err := s.hash(ctx, pass, user.Email, next)
	if err != nil {
		return nil, err
	}
	status, action := Active, "user.password_reset"
	if p.Pending {
		status, action = Pending, "user.activated"
	}
	var u *User
	err = s.changeAndEnd(ctx, p.User, func(c store.Conn) error {
		if err := p.Take(c); err != nil {
			return err
		}
		n, err := c.Exec("UPDATE authserver_users SET password = ?, name = ?, email_verified = 1, status = ?, updated_at = ? WHERE id = ? AND status = ? AND provider = ?",
			hash, next, Active, s.Micros(), p.User, status, Local)
		if err == nil && n == 0 {
			err = errChanged
		}
		if err != nil {
			return err
		}
		if err := s.end(c, p.User); err != nil {
			return err
		}
		u, err = In(c, p.User)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.note(ctx, action, p.User, p.User)
	return u, nil
}

// Move sets the mail address of the user who opened a link, which proves that the address belongs to the user. The
// error has status 409 if another user has the address, and 410 if the account is no longer active.
func (s *Users) Move(ctx context.Context, p Proof, email string) error {
	email, err := Address(email)
	if err != nil {
		return err
	}
	err = s.Change(ctx, Topic, p.User, func(c store.Conn) error {
		if err := p.Take(c); err != nil {
			return err
		}
		n, err := c.Exec("UPDATE authserver_users SET email = ?, email_key = ?, email_verified = 1, updated_at = ? WHERE id = ? AND status = ?",
			email, mailaddress.Key(email), s.Micros(), p.User, Active)
		if err == nil && n == 0 {
			err = errChanged
		}
		return taken(err)
	})
	if err == nil {
		s.note(ctx, "user.updated", p.User, p.User)
	}
	return err
}

var errChanged = apierror.New(http.StatusGone, "gone", "the account has changed since this link was mailed")

// SweepPending removes pending users without a valid link, and returns their number. A user is kept for at least an
// hour after the creation, since a newer user may be about to get a link.
func (s *Users) SweepPending(ctx context.Context) (int, error) {
	n, err := s.DB.Purge(ctx, 1000, `DELETE FROM authserver_users WHERE id IN (SELECT u.id FROM authserver_users u
		WHERE u.status = 'pending' AND u.created_at < ? AND NOT EXISTS (SELECT 1 FROM authserver_links l WHERE l.user_id = u.id) LIMIT ?)`,
		s.Now().Add(-time.Hour).UnixMicro())
	return int(n), err
}
