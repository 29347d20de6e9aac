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
	// SessionIdle is the time after its last use at which a session ends.
	SessionIdle = 14 * 24 * time.Hour
	// ConfirmedFor is how long a given password is sufficient for actions that ask for the password again.
	ConfirmedFor = 30 * time.Minute
)

// sessions stores the sessions of members.
var sessions = session.Store[int64]{Table: "board_sessions", Idle: SessionIdle, Every: 5 * time.Minute, MaxPerUser: 50}

// Session is a browser in which a member is signed in.
type Session struct {
	session.Session[int64]
	Once      bool // the password was made by an administrator and must be changed first
	Prolonged bool // the session was just prolonged, so the cookie should be, too
}

// Fresh reports whether the password was given less than ConfirmedFor ago. It returns false for a nil Session.
func (n *Session) Fresh(now time.Time) bool {
	return n != nil && now.Sub(n.ConfirmedAt) < ConfirmedFor
}

// Resume returns the actor and the session of a cookie. If the cookie has no valid session, the actor is the guest and
// the session is nil. From time to time Resume records that the session is in use; a failure of that is only logged.
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
			s.Logger.Warn("session not prolonged", zap.Error(err)) // the request can go on nevertheless
		}
	}
	access, err := s.rights.CurrentAccess(ctx)
	if err != nil {
		return nil, nil, err
	}
	return &rights.Actor{User: user, Rights: access.Of(user.ID, user.Groups)}, n, nil
}

// seen records that a session and its member were active at the time now, which prolongs the session.
func (s *Service) seen(ctx context.Context, n *Session, now time.Time) error {
	return s.Write(ctx, func(c store.Conn) error {
		if _, err := c.Exec("UPDATE board_users SET last_active_at = ? WHERE id = ?", now.UnixMicro(), n.User); err != nil {
			return err
		}
		return sessions.Renew(c, n.ID, now)
	})
}

// EndSessions signs a member out everywhere. It also deletes the mailed links with which somebody could sign in.
func EndSessions(c store.Conn, user int64) error {
	if err := Links.Drop(c, user); err != nil {
		return err
	}
	return sessions.EndAll(c, user)
}

// Logout ends the session of a cookie. It does nothing if the cookie has no session.
func (s *Service) Logout(ctx context.Context, cookie string) error {
	if secret.Hash(cookie) == "" {
		return nil
	}
	return s.Write(ctx, func(c store.Conn) error { return sessions.End(c, cookie) })
}

// Forms returns the signer of the tokens that protect forms. Each token is bound to a cookie of the browser in which
// the form was shown.
func (s *Service) Forms() signed.Signer { return s.Signer("form") }
