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

// Pending is the status of somebody who was invited, or has registered, and has not chosen a
// password yet. They cannot sign in.
const Pending = "pending"

// Pend makes a pending user with a mail address, or finds the user who has the address already,
// whatever their status is. It runs in a transaction of the caller, which notes who was made. The
// error is 422 where the address is none.
func (s *Users) Pend(c store.Conn, email, called string) (u *User, made bool, err error) {
	if email, err = Address(email); err != nil {
		return nil, false, err
	}
	if called, err = name(called); err != nil {
		return nil, false, err
	}
	now := s.Micros()
	id := uuid.Must(uuid.NewV7()).String()
	n, err := c.Exec(`INSERT INTO authserver_users (id, email, email_key, email_verified, name, password, role, user_groups, status, provider, created_at, updated_at)
		VALUES (?, ?, ?, 0, ?, '', ?, '[]', ?, ?, ?, ?) ON CONFLICT (email_key) DO NOTHING`,
		id, email, mailaddress.Key(email), called, RoleUser, Pending, Local, now, now)
	if err != nil {
		return nil, false, err
	}
	u, err = scan(c.Row("SELECT "+columns+" FROM authserver_users WHERE email_key = ?", mailaddress.Key(email)))
	return u, n == 1, err
}

// Proof is a mailed link that has been opened.
type Proof struct {
	User string // its id
	// Take uses the link up, in the transaction. Its error refuses.
	Take func(c store.Conn) error
	// Pending is true of a link for users who are pending, and false of one for those who are
	// active.
	Pending bool
}

// Choose gives the user of a link their password, and whoever was pending the name that they
// chose; nil leaves the name. It proves that the mail address is theirs. All sessions and what was
// issued end. Errors: 422 where the password or the name cannot be one, and 410 where the account
// is no more what the link was made for.
func (s *Users) Choose(ctx context.Context, p Proof, pass string, called *string) (*User, error) {
	before, err := s.Find(ctx, p.User)
	if IsNone(err) {
		return nil, errChanged
	}
	if err != nil {
		return nil, err
	}
	next := before.Name
	if called != nil {
		if next, err = name(*called); err != nil {
			return nil, err
		}
	}
	hash, err := s.hash(ctx, pass, before.Email, next)
	if err != nil {
		return nil, err
	}
	status, action := Active, "user.password_reset"
	if p.Pending {
		status, action = Pending, "user.activated"
	}
	var u *User
	err = s.Change(ctx, Topic, p.User, func(c store.Conn) error {
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

// Move gives the user of a link another mail address, which it proves to be theirs. The error is
// 409 where somebody else has the address, and 410 where the account is no more what the link was
// made for.
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

// SweepPending removes pending users whom no link lets in any more, and who are older than an hour:
// an invitation may be about to be written.
func (s *Users) SweepPending(ctx context.Context) (int, error) {
	n, err := s.DB.Purge(ctx, 1000, `DELETE FROM authserver_users WHERE id IN (SELECT u.id FROM authserver_users u
		WHERE u.status = 'pending' AND u.created_at < ? AND NOT EXISTS (SELECT 1 FROM authserver_links l WHERE l.user_id = u.id) LIMIT ?)`,
		s.Now().Add(-time.Hour).UnixMicro())
	return int(n), err
}
