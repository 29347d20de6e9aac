package board

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/signed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	// SessionIdle ends a session that nobody used for so long.
	SessionIdle = 14 * 24 * time.Hour
	// ConfirmedFor is how long a password that was given opens what asks for it.
	ConfirmedFor = 30 * time.Minute

	sessionSize = 32
	// maxSessions is how many a member may have; the oldest end.
	maxSessions = 50
	// seenEvery is how often the use of a session is written.
	seenEvery = 5 * time.Minute
)

// Session is a browser in which a member is signed in.
type Session struct {
	ID          int64
	User        int64
	ConfirmedAt int64 // when the password was given last
	Once        bool  // the password was shown to an administrator, and must be changed first
	Prolonged   bool  // just now: the cookie is to be kept longer, too
}

// Fresh reports whether the password was given a short time ago.
func (n *Session) Fresh(now time.Time) bool {
	return n != nil && now.UnixMicro()-n.ConfirmedAt < ConfirmedFor.Microseconds()
}

// NewSecret makes the value of a cookie.
func NewSecret() string {
	raw := make([]byte, sessionSize)
	_, _ = rand.Read(raw) // never fails
	return base64.RawURLEncoding.EncodeToString(raw)
}

// secretHash is how a cookie is stored; empty: it is none.
func secretHash(cookie string) string {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cookie)
	if err != nil || len(raw) != sessionSize {
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// Resume finds who is signed in by a cookie. Without a session that is good it
// is the guest, and the session is nil.
func (s *Service) Resume(ctx context.Context, cookie string) (*Actor, *Session, error) {
	hash := secretHash(cookie)
	if hash == "" {
		a, err := s.Guest(ctx)
		return a, nil, err
	}
	now := s.micros()
	var user *User
	var session *Session
	var seen int64
	err := s.read(ctx, func(c store.Conn) (err error) {
		session = new(Session)
		user, err = scanUser(c.Row("SELECT "+userColumns+", n.id, n.confirmed_at, n.seen_at, u.password_once FROM board_sessions n JOIN board_users u ON u.id = n.user_id"+
			" WHERE n.secret_hash = ? AND n.seen_at > ? AND u.state <> 'deleted'", hash, now-SessionIdle.Microseconds()),
			&session.ID, &session.ConfirmedAt, &seen, &session.Once)
		if err != nil {
			return err
		}
		return loadGroups(c, user)
	})
	if errors.Is(err, sql.ErrNoRows) {
		a, err := s.Guest(ctx)
		return a, nil, err
	}
	if err != nil {
		return nil, nil, err
	}
	session.User = user.ID
	if now-seen >= seenEvery.Microseconds() {
		err := s.seen(ctx, session, now)
		if session.Prolonged = err == nil; err != nil {
			s.logger.Warn("session not prolonged", zap.Error(err)) // reading goes on
		}
	}
	access, err := s.currentAccess(ctx)
	if err != nil {
		return nil, nil, err
	}
	return &Actor{User: user, rights: access.of(user.ID, user.groups)}, session, nil
}

// seen keeps a session from ending.
func (s *Service) seen(ctx context.Context, n *Session, now int64) error {
	return s.write(ctx, func(c store.Conn) error {
		if _, err := c.Exec("UPDATE board_users SET last_active_at = ? WHERE id = ?", now, n.User); err != nil {
			return err
		}
		_, err := c.Exec("UPDATE board_sessions SET seen_at = ? WHERE id = ?", now, n.ID)
		return err
	})
}

// addSession signs a member in and returns the cookie.
func addSession(c store.Conn, user, now int64) (cookie string, err error) {
	_, err = c.Exec("DELETE FROM board_sessions WHERE id IN (SELECT id FROM board_sessions WHERE user_id = ? ORDER BY id DESC LIMIT 1000 OFFSET ?)", user, maxSessions-1)
	if err != nil {
		return "", err
	}
	cookie = NewSecret()
	_, err = c.Exec("INSERT INTO board_sessions (secret_hash, user_id, created_at, seen_at, confirmed_at) VALUES (?, ?, ?, ?, ?)", secretHash(cookie), user, now, now, now)
	return cookie, err
}

// endSessions signs a member out everywhere, and ends the links that would let
// somebody in.
func endSessions(c store.Conn, user int64) error {
	if err := endLinks(c, user); err != nil {
		return err
	}
	_, err := c.Exec("DELETE FROM board_sessions WHERE user_id = ?", user)
	return err
}

// Logout ends the session of a cookie.
func (s *Service) Logout(ctx context.Context, cookie string) error {
	hash := secretHash(cookie)
	if hash == "" {
		return nil
	}
	return s.write(ctx, func(c store.Conn) error {
		_, err := c.Exec("DELETE FROM board_sessions WHERE secret_hash = ?", hash)
		return err
	})
}

// Forms signs the tokens of forms, for the cookie of the browser that they are made for.
func (s *Service) Forms() signed.Signer { return s.signer("form") }

// Now is the board's time.
func (s *Service) Now() time.Time { return s.now() }

// Admit refuses an actor who may not use the board now: banned, awaiting
// approval, or while the board is offline. Every page and operation asks it.
func (s *Service) Admit(a *Actor) error {
	if err := a.blocked(s.micros()); err != nil {
		return err
	}
	return a.offline()
}
