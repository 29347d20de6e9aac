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

// Pend returns the user with a mail address, whatever the user's status. If there is no such user, Pend creates a
// pending user with the address and displayName, and created is true; the caller then records that in the audit feed
// after its transaction. The error has status 422 if the address or the name is invalid.
func (s *Users) Pend(c store.Conn, email, displayName string) (u *User, created bool, err error) {
	if email, err = Address(email); err != nil {
		return nil, false, err
	}
	if displayName, err = storableName(displayName); err != nil {
		return nil, false, err
	}
	now := s.Micros()
	id := uuid.Must(uuid.NewV7()).String()
	inserted, err := c.Exec(`INSERT INTO authserver_users (id, email, email_key, email_verified, name, password, role, user_groups, status, provider, created_at, updated_at)
		VALUES (?, ?, ?, 0, ?, '', ?, '[]', ?, ?, ?, ?) ON CONFLICT (email_key) DO NOTHING`,
		id, email, mailaddress.Key(email), displayName, RoleUser, Pending, Local, now, now)
	if err != nil {
		return nil, false, err
	}
	u, err = scan(c.Row("SELECT "+columns+" FROM authserver_users WHERE email_key = ?", mailaddress.Key(email)))
	return u, inserted == 1, err
}

// Proof is the proof that a user has opened a mailed link.
type Proof struct {
	User string // the id of the user
	// Take invalidates the link in the transaction that changes the user. If Take returns an error, nothing is changed.
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
	newName := user.Name
	if displayName != nil {
		if newName, err = storableName(*displayName); err != nil {
			return nil, err
		}
	}
	hash, err := s.hashNew(ctx, pass, user.Email, newName)
	if err != nil {
		return nil, err
	}
	expectedStatus, action := Active, "user.password_reset"
	if p.Pending {
		expectedStatus, action = Pending, "user.activated"
	}
	var changed *User
	err = s.changeAndEnd(ctx, p.User, func(c store.Conn) error {
		if err := p.Take(c); err != nil {
			return err
		}
		n, err := c.Exec("UPDATE authserver_users SET password = ?, name = ?, email_verified = 1, status = ?, updated_at = ? WHERE id = ? AND status = ? AND provider = ?",
			hash, newName, Active, s.Micros(), p.User, expectedStatus, Local)
		if err == nil && n == 0 {
			err = errChanged
		}
		if err != nil {
			return err
		}
		if err := s.EndAll(c, p.User); err != nil {
			return err
		}
		changed, err = In(c, p.User)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.note(ctx, action, p.User, p.User)
	return changed, nil
}

// Move sets the mail address of the user who opened a link. Opening the link proves that the address belongs to the
// user. The error has status 422 if the address is invalid, 409 if another user has it, and 410 if the account is no
// longer active.
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
		return emailTaken(err)
	})
	if err == nil {
		s.note(ctx, "user.updated", p.User, p.User)
	}
	return err
}

var errChanged = apierror.New(http.StatusGone, "gone", "the account has changed since this link was mailed")

// SweepPending deletes pending users to whom no link exists any more, and returns their number. It keeps users who were
// created less than an hour ago, since a link may be about to be stored for them.
func (s *Users) SweepPending(ctx context.Context) (int, error) {
	const batch = 1000 // users that one transaction deletes
	n, err := s.DB.Purge(ctx, batch, `DELETE FROM authserver_users WHERE id IN (SELECT u.id FROM authserver_users u
		WHERE u.status = 'pending' AND u.created_at < ? AND NOT EXISTS (SELECT 1 FROM authserver_links l WHERE l.user_id = u.id) LIMIT ?)`,
		s.Now().Add(-time.Hour).UnixMicro())
	return int(n), err
}
