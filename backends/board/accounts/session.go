package accounts

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/secret"
	"github.com/tollgate-gateway/tollgate/internal/session"
	"github.com/tollgate-gateway/tollgate/internal/signed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	// SessionIdle ends a session that nobody used for so long.
	SessionIdle = 14 * 24 * time.Hour
	// ConfirmedFor is how long a password that was given opens what asks for it.
	ConfirmedFor = 30 * time.Minute
)

// sessions are where they are kept.
var sessions = session.Store[int64]{Table: "board_sessions", Idle: SessionIdle, Every: 5 * time.Minute, Most: 50}

// Session is a browser in which a member is signed in.
type Session struct {
	session.Session[int64]
	Once      bool // the password was shown to an administrator, and must be changed first
	Prolonged bool // just now: the cookie is to be kept longer, too
}

// Fresh reports whether the password was given a short time ago.
func (n *Session) Fresh(now time.Time) bool {
	return n != nil && now.Sub(n.ConfirmedAt) < ConfirmedFor
}

// Resume finds who is signed in by a cookie. Without a session that is good it
// is the guest, and the session is nil.
func (s *Service) Resume(ctx context.Context, cookie string) (*rights.Actor, *Session, error) {
	if secret.Hash(cookie) == "" {
		a, err := s.rights.Guest(ctx)
		return a, nil, err
	}
	now := s.Now()
	var user *rights.User
	var n *Session
	err := s.ReadBriefly(ctx, func(c store.Conn) (err error) {
		n = new(Session)
		if n.Session, err = sessions.Find(c, cookie, now); err != nil {
			return err
		}
		user, err = rights.ScanUser(c.Row("SELECT "+rights.UserColumns+", u.password_once FROM board_users u WHERE u.id = ?"+
			" AND u.state <> 'deleted'", n.User), &n.Once)
		if err != nil {
			return err
		}
		return rights.LoadGroups(c, user)
	})
	if errors.Is(err, session.ErrNone) || errors.Is(err, sql.ErrNoRows) {
		a, err := s.rights.Guest(ctx)
		return a, nil, err
	}
	if err != nil {
		return nil, nil, err
	}
	if sessions.Due(n.Session, now) {
		err := s.seen(ctx, n, now)
		if n.Prolonged = err == nil; err != nil {
			s.Logger.Warn("session not prolonged", zap.Error(err)) // reading goes on
		}
	}
	access, err := s.rights.CurrentAccess(ctx)
	if err != nil {
		return nil, nil, err
	}
	return &rights.Actor{User: user, Rights: access.Of(user.ID, user.Groups)}, n, nil
}

// seen keeps a session from ending.
func (s *Service) seen(ctx context.Context, n *Session, now time.Time) error {
	return s.Write(ctx, func(c store.Conn) error {
		if _, err := c.Exec("UPDATE board_users SET last_active_at = ? WHERE id = ?", now.UnixMicro(), n.User); err != nil {
			return err
		}
		return sessions.Renew(c, n.ID, now)
	})
}

// EndSessions signs a member out everywhere, and ends the links that would let
// somebody in.
func EndSessions(c store.Conn, user int64) error {
	if err := Links.Drop(c, user); err != nil {
		return err
	}
	return sessions.EndAll(c, user)
}

// Logout ends the session of a cookie.
func (s *Service) Logout(ctx context.Context, cookie string) error {
	if secret.Hash(cookie) == "" {
		return nil
	}
	return s.Write(ctx, func(c store.Conn) error { return sessions.End(c, cookie) })
}

// Forms signs the tokens of forms, for the cookie of the browser that they are made for.
func (s *Service) Forms() signed.Signer { return s.Signer("form") }
