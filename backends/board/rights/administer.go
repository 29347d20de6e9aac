package rights

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// MayAdminister reports whether the actor is an administrator.
func (a *Actor) MayAdminister() bool { return a.User != nil && a.Rights.admin }

// Administrator returns an error unless the actor is an administrator who is neither blocked nor suspended.
func (s *Service) Administrator(a *Actor) error {
	if !a.MayAdminister() {
		return kernel.Forbidden("", "no_permission", "only administrators may do this")
	}
	if err := a.CheckBlocked(s.Moment()); err != nil {
		return err
	}
	return a.CheckSuspended(s.Moment())
}

// Administer runs fn in a transaction that changes the board's structure or settings, on behalf of an administrator. It
// first increases the permission version and thereby locks the version's row. So such transactions run one after the
// other, and each sees the changes of the earlier transactions. Administer fails if fn leaves the board without an
// administrator.
func (s *Service) Administer(ctx context.Context, a *Actor, fn func(c store.Conn) error) error {
	if err := s.Administrator(a); err != nil {
		return err
	}
	return s.Write(ctx, func(c store.Conn) error {
		if err := BumpPermissions(c); err != nil {
			return err
		}
		if err := fn(c); err != nil {
			return err
		}
		return s.checkAdministratorLeft(c)
	})
}

// ReadAsAdministrator runs fn, which reads data that only administrators may see. It returns an error for other actors.
func (s *Service) ReadAsAdministrator(ctx context.Context, a *Actor, fn func(c store.Conn) error) error {
	if err := s.Administrator(a); err != nil {
		return err
	}
	return s.Read(ctx, fn)
}

// AdministerValue works like Administer and returns the value of fn.
func AdministerValue[T any](ctx context.Context, s *Service, a *Actor, fn func(c store.Conn) (T, error)) (T, error) {
	return kernel.Value(ctx, func(ctx context.Context, fn func(c store.Conn) error) error {
		return s.Administer(ctx, a, fn)
	}, fn)
}

// ReadAsAdministratorValue works like ReadAsAdministrator and returns the value of fn.
func ReadAsAdministratorValue[T any](
	ctx context.Context, s *Service, a *Actor, fn func(c store.Conn) (T, error),
) (T, error) {
	return kernel.Value(ctx, func(ctx context.Context, fn func(c store.Conn) error) error {
		return s.ReadAsAdministrator(ctx, a, fn)
	}, fn)
}

// checkAdministratorLeft returns an error if no administrator is left.
func (s *Service) checkAdministratorLeft(c store.Conn) error {
	has, err := s.HasAdministrator(c)
	if err == nil && !has {
		err = kernel.Conflict("this would leave the board without an administrator")
	}
	return err
}

// HasAdministrator reports whether at least one administrator is neither blocked nor suspended. After a call of
// BumpPermissions in the same transaction, as in Administer, the answer includes all earlier changes.
func (s *Service) HasAdministrator(c store.Conn) (bool, error) {
	var dummy int
	now := s.Moment()
	err := c.Row("SELECT 1 FROM board_users u JOIN board_user_groups m ON m.user_id = u.id"+
		" JOIN board_groups g ON g.id = m.group_id"+
		" WHERE (u.state = 'active' OR u.state = 'banned' AND u.banned_until <= ?) AND COALESCE(u.suspended_until, 0) <= ?"+
		" AND (g.allow_mask & ?) <> 0 LIMIT 1", now, now, int64(AdminAccess)).Scan(&dummy)
	return err == nil, kernel.IgnoreNoRows(err)
}

// LogChange writes a change of the whole board into the moderation log.
func (s *Service) LogChange(c store.Conn, a *Actor, action, detail string) error {
	return s.Logged(c, a, action, 0, 0, 0, 0, detail)
}

// LogForumChange writes a change of one forum into the moderation log.
func (s *Service) LogForumChange(c store.Conn, a *Actor, action string, forum int64, detail string) error {
	return s.Logged(c, a, action, 0, forum, 0, 0, detail)
}
