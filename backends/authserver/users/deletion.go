package users

import (
	"context"
	"database/sql"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// PlanDeletion schedules the deletion of a user's account for the given time, at the user's request. It ends all
// sessions and tokens of the user at once.
func (s *Users) PlanDeletion(ctx context.Context, id string, moment time.Time) error {
	err := s.setDeletion(ctx, id, moment.UnixMicro(), s.EndAll)
	if err == nil {
		s.note(ctx, "user.deletion_planned", id, id)
	}
	return err
}

// CancelDeletion withdraws the planned deletion of an account.
func (s *Users) CancelDeletion(ctx context.Context, id string) error {
	err := s.setDeletion(ctx, id, nil, nil)
	if err == nil {
		s.note(ctx, "user.deletion_cancelled", id, id)
	}
	return err
}

// setDeletion sets the moment at which a user's account is to be deleted, as int64 in microseconds since 1970. If
// moment is nil, the account is not deleted. Unless fn is nil, setDeletion calls it in the same transaction. If the
// user does not exist, IsNone reports true for the error.
func (s *Users) setDeletion(ctx context.Context, id string, moment any, fn func(c store.Conn, id string) error) error {
	return s.changeAndEnd(ctx, id, func(c store.Conn) error {
		n, err := c.Exec("UPDATE authserver_users SET delete_at = ? WHERE id = ?", moment, id)
		if err != nil {
			return err
		}
		if n == 0 {
			return errNoUser()
		}
		if fn == nil {
			return nil
		}
		return fn(c, id)
	})
}

// DeletionOf returns when a user's account is to be deleted, or the zero time if no deletion is planned. If the user
// does not exist, the error is sql.ErrNoRows.
func (s *Users) DeletionOf(ctx context.Context, id string) (moment time.Time, err error) {
	var micros sql.NullInt64
	err = s.Read(ctx, func(c store.Conn) error {
		return c.Row("SELECT delete_at FROM authserver_users WHERE id = ?", id).Scan(&micros)
	})
	if micros.Valid {
		moment = time.UnixMicro(micros.Int64)
	}
	return moment, err
}

// maxDeletions is the maximum number of accounts that one call of SweepDeleted deletes.
const maxDeletions = 1000

// SweepDeleted deletes the accounts that are due for deletion and returns their number. It keeps an account whose
// deletion was cancelled in the meantime.
func (s *Users) SweepDeleted(ctx context.Context) (n int, err error) {
	now := s.Micros()
	ids, err := kernel.Read(ctx, s.Server, func(c store.Conn) ([]string, error) {
		return store.List(c, func(r store.Row) (id string, err error) { return id, r.Scan(&id) },
			"SELECT id FROM authserver_users WHERE delete_at <= ? LIMIT ?", now, maxDeletions)
	})
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		err := s.remove(ctx, id, id, func(c store.Conn, _ *User) error {
			err := c.Row("SELECT id FROM authserver_users WHERE id = ? AND delete_at <= ?", id, now).Scan(new(string))
			return kernel.IfNoRows(err, errNoUser())
		})
		switch {
		case IsNone(err): // cancelled, or deleted by another node
		case err != nil:
			return n, err
		default:
			n++
		}
	}
	return n, nil
}
