package home

import (
	"context"
	"embed"
	"errors"
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/secret"
	"github.com/tollgate-gateway/tollgate/internal/session"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// SchemaName is the name of the home page in the list of services with a database.
const SchemaName = "home"

// Schema returns the table of the sessions.
func Schema() store.Schema { return store.Embedded(SchemaName, migrations) }

const (
	// sessionIdle is the time after which an unused session ends. sessionWhole is the time after which every session ends.
	// A person's groups are only read at the sign-in, so a change of the groups takes effect with the next session.
	sessionIdle, sessionWhole = 8 * time.Hour, 24 * time.Hour
	// maxSessions limits the number of a person's sessions.
	maxSessions = 20
	// maxName limits the name of a person, in characters.
	maxName = 80
)

// sessionStore stores the sessions. Their users are identified by the result of personOf.
var sessionStore = session.Store[string]{
	Table: "home_sessions", Idle: sessionIdle, Whole: sessionWhole, Every: time.Minute, MaxPerUser: maxSessions,
	More: "name, administrator",
}

// Session is the session of a browser in which somebody has signed in.
type Session struct {
	Person        string // the result of personOf
	Name          string
	Administrator bool
}

// sessions begins, finds and ends sessions in a database.
type sessions struct {
	db  *store.DB
	now func() time.Time
}

// personOf returns the identifier of a person: the issuer and the subject of OpenID Connect, with a line end between.
func personOf(issuer, subject string) string { return issuer + "\n" + subject }

// begin starts a session for a person, ends the session of formerCookie, and returns the cookie of the new session.
func (s sessions) begin(ctx context.Context, p *oidclogin.Person, formerCookie string) (cookie string, err error) {
	name := p.Email
	if len(p.Names) > 0 {
		name = p.Names[0]
	}
	if runes := []rune(name); len(runes) > maxName {
		name = string(runes[:maxName])
	}
	administrator := 0
	if slices.Contains(p.Groups, AdministratorGroup) {
		administrator = 1
	}
	err = s.db.Write(ctx, func(c store.Conn) error {
		if err := sessionStore.End(c, formerCookie); err != nil {
			return err
		}
		now := s.now()
		// Remove some sessions that have ended, so that the table does not grow.
		_, err := c.Exec("DELETE FROM home_sessions WHERE id IN (SELECT id FROM home_sessions WHERE created_at < ? ORDER BY created_at LIMIT 100)", now.Add(-sessionWhole).UnixMicro())
		if err != nil {
			return err
		}
		if cookie, err = sessionStore.Begin(c, personOf(p.Issuer, p.Subject), now); err != nil {
			return err
		}
		_, err = c.Exec("UPDATE home_sessions SET name = ?, administrator = ? WHERE secret_hash = ?",
			name, administrator, secret.Hash(cookie))
		return err
	})
	return cookie, err
}

// find returns the session of a cookie, or nil if there is none, and extends it from time to time.
func (s sessions) find(ctx context.Context, cookie string) (*Session, error) {
	if cookie == "" {
		return nil, nil
	}
	var found session.Session[string]
	result := new(Session)
	err := s.db.Read(ctx, func(c store.Conn) (err error) {
		found, err = sessionStore.Find(c, cookie, s.now(), &result.Name, &result.Administrator)
		return err
	})
	if errors.Is(err, session.ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	result.Person = found.User
	if sessionStore.Due(found, s.now()) {
		err = s.db.Write(ctx, func(c store.Conn) error { return sessionStore.Renew(c, found.ID, s.now()) })
	}
	return result, err
}

// end ends the session of a cookie.
func (s sessions) end(ctx context.Context, cookie string) error {
	return s.db.Write(ctx, func(c store.Conn) error { return sessionStore.End(c, cookie) })
}

// EndSessions ends all sessions of a person who has signed out at another service.
func (s *Site) EndSessions(ctx context.Context, issuer, subject string) error {
	return s.DB.Write(ctx, func(c store.Conn) error { return sessionStore.EndAll(c, personOf(issuer, subject)) })
}
