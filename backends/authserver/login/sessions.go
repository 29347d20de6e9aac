package login

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// maxAgent is the maximum number of characters of a User-Agent that are stored.
const maxAgent = 300

// agent returns the User-Agent of a request in the stored form.
func agent(ctx context.Context) string {
	header := text.Storable(kernel.AgentOf(ctx))
	return text.Short(strings.Join(strings.Fields(header), " "), maxAgent)
}

// Browser is a session in the list shown to its user.
type Browser struct {
	ID         int64
	Agent      string // the User-Agent; empty if unknown
	Address    string // where the sign-in came from; empty if unknown
	SignedInAt time.Time
}

// Browsers returns the sessions of a user that have not expired, newest first, at most maxSessions. Later sessions have
// higher ids.
func (l *Login) Browsers(ctx context.Context, user string) (list []Browser, err error) {
	cutoff := l.Now().Add(-l.options.MaxAge).UnixMicro()
	err = l.Read(ctx, func(c store.Conn) error {
		list, err = store.List(c, func(r store.Row) (b Browser, err error) {
			var created int64
			err = r.Scan(&b.ID, &b.Agent, &b.Address, &created)
			b.SignedInAt = time.UnixMicro(created)
			return b, err
		}, `SELECT id, agent, address, created_at FROM authserver_sessions WHERE user_id = ? AND created_at > ? ORDER BY id DESC LIMIT ?`,
			user, cutoff, maxSessions)
		return err
	})
	return list, err
}

// EndBrowser ends a session of a user. An unknown id is not an error, since the session may have ended in the meantime.
func (l *Login) EndBrowser(ctx context.Context, user string, id int64) error {
	return l.endBrowsers(ctx, user, func(c store.Conn) (int64, error) {
		return c.Exec("DELETE FROM authserver_sessions WHERE user_id = ? AND id = ?", user, id)
	})
}

// EndOtherBrowsers ends all sessions of a user except the session with the id keptID.
func (l *Login) EndOtherBrowsers(ctx context.Context, user string, keptID int64) error {
	return l.endBrowsers(ctx, user, func(c store.Conn) (int64, error) { return deleteOthers(c, user, keptID) })
}

// EndOthers does what EndOtherBrowsers does, within a transaction of the caller. The caller records the reason in the
// audit feed.
func (l *Login) EndOthers(c store.Conn, user string, keptID int64) error {
	_, err := deleteOthers(c, user, keptID)
	return err
}

// deleteOthers deletes all sessions of a user except the session with the id keptID, and returns the number of deleted
// sessions.
func deleteOthers(c store.Conn, user string, keptID int64) (deleted int64, err error) {
	return c.Exec("DELETE FROM authserver_sessions WHERE user_id = ? AND id <> ?", user, keptID)
}

// endBrowsers calls remove in a transaction. The function remove deletes sessions of a user and returns their number.
// If it deleted any, endBrowsers records in the audit feed that the user ended them.
func (l *Login) endBrowsers(ctx context.Context, user string, remove func(c store.Conn) (int64, error)) error {
	var n int64
	err := l.Write(ctx, func(c store.Conn) (err error) {
		n, err = remove(c)
		return err
	})
	if err == nil && n > 0 {
		l.Audit(ctx, kernel.Event{Action: "user.logout", Actor: user, Detail: []string{"reason", "ended by the user"}})
	}
	return err
}

// Confirm checks the password of a signed-in user. The lockout for sign-ins applies. A wrong password is an error with
// status 422, or 429 after too many failures.
func (l *Login) Confirm(ctx context.Context, u *users.User, password, address string) error {
	key := l.key(u.Email, address)
	if wait := l.Lockout.Locked(key); wait > 0 {
		return l.lockedOut(wait)
	}
	found, err := l.users.Verify(ctx, u.Email, password)
	if err == nil && found.ID != u.ID {
		err = users.ErrCredentials
	}
	if errors.Is(err, users.ErrCredentials) {
		return l.failed(ctx, key, u.Email, address)
	}
	return err
}

// Restart begins a new session in a browser and returns its cookie. It replaces the session s, which was ended together
// with all other sessions of the user, for example by a new password.
func (l *Login) Restart(ctx context.Context, u *users.User, s *Session) (cookie string, err error) {
	return l.begin(ctx, u, "", l.Now(), s.Methods...)
}
