package rights

import (
	"context"
	"database/sql"
	"errors"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// MayAdminister reports whether the actor may change the board itself.
func (a *Actor) MayAdminister() bool { return a.User != nil && a.Rights.admin }

// Administrator refuses all others.
func (s *Service) Administrator(a *Actor) error {
	if !a.MayAdminister() {
		return kernel.Forbidden("", "no_permission", "only administrators may do this")
	}
	if err := a.CheckBlocked(s.Moment()); err != nil {
		return err
	}
	return a.CheckSuspended(s.Moment())
}

// Administer runs a change of the board by an administrator. The new version of
// the rights comes first: its row orders all such changes, so each of them
// checks what the ones before it left.
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
		return s.keepsAdministrator(c)
	})
}

// Survey reads what only administrators see.
func (s *Service) Survey(ctx context.Context, a *Actor, fn func(c store.Conn) error) error {
	if err := s.Administrator(a); err != nil {
		return err
	}
	return s.Read(ctx, fn)
}

// keepsAdministrator refuses a change after which nobody could undo it.
func (s *Service) keepsAdministrator(c store.Conn) error {
	has, err := s.HasAdministrator(c)
	if err == nil && !has {
		err = kernel.Conflict("this would leave the board without an administrator")
	}
	return err
}

// HasAdministrator reports whether somebody may change the board now. After a new
// version of the rights it knows of all changes before, as in Administer.
func (s *Service) HasAdministrator(c store.Conn) (bool, error) {
	var one int
	now := s.Moment()
	err := c.Row("SELECT 1 FROM board_users u JOIN board_user_groups m ON m.user_id = u.id"+
		" JOIN board_groups g ON g.id = m.group_id"+
		" WHERE (u.state = 'active' OR u.state = 'banned' AND u.banned_until <= ?) AND COALESCE(u.suspended_until, 0) <= ?"+
		" AND (g.allow_mask & ?) <> 0 LIMIT 1", now, now, int64(AdminAccess)).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Note writes a change of the board itself into the moderation log.
func (s *Service) Note(c store.Conn, a *Actor, action, detail string) error {
	return s.Logged(c, a, action, 0, 0, 0, 0, detail)
}

// NoteIn does so for a change of one forum.
func (s *Service) NoteIn(c store.Conn, a *Actor, action string, forum int64, detail string) error {
	return s.Logged(c, a, action, 0, forum, 0, 0, detail)
}
