// Package session stores sessions of signed-in users. A browser has a secret. The database has the secret's hash, the
// user, and three times: when the session was made, when it was last used, and when the password was last entered. The
// rows belong to the service and are changed in the caller's transaction. Package internal/pages handles the cookies.
package session

import (
	"database/sql"
	"errors"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/secret"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// ErrNone means that a secret has no session, or that the session has ended.
var ErrNone = errors.New("there is no such session")

// Store stores sessions. U is the type of user ids.
type Store[U any] struct {
	// Table has the columns id (integer, assigned by the database), secret_hash (text, unique), user_id, and
	// created_at, seen_at and confirmed_at, in Unix microseconds.
	Table string
	// Idle ends a session that was not used for this time, according to Renew.
	Idle time.Duration
	// Whole ends a session this time after its beginning, even if it is used. Default: never.
	Whole time.Duration
	// Every is how often the use of a session is recorded.
	Every time.Duration
	// MaxPerUser limits a user's sessions. Begin ends the oldest ones.
	MaxPerUser int
	// More lists columns that the service has added to the table, separated by commas. Find reads them too. Default:
	// none.
	More string
}

// Session is a browser in which somebody is signed in.
type Session[U any] struct {
	ID          int64
	User        U
	CreatedAt   time.Time
	SeenAt      time.Time
	ConfirmedAt time.Time // when the password was last entered
}

// Begin signs a user in and returns the secret for the browser. Every sign-in has a new secret, so that nobody can set
// it beforehand (session fixation).
func (s Store[U]) Begin(c store.Conn, user U, now time.Time) (text string, err error) {
	_, err = c.Exec("DELETE FROM "+s.Table+" WHERE id IN (SELECT id FROM "+s.Table+
		" WHERE user_id = ? ORDER BY id DESC LIMIT 1000 OFFSET ?)", user, s.MaxPerUser-1)
	if err != nil {
		return "", err
	}
	text = secret.New()
	micros := now.UnixMicro()
	_, err = c.Exec("INSERT INTO "+s.Table+
		" (secret_hash, user_id, created_at, seen_at, confirmed_at) VALUES (?, ?, ?, ?, ?)",
		secret.Hash(text), user, micros, micros, micros)
	return text, err
}

// Find returns the session of the secret text. The error is ErrNone if the session has ended or never existed. Find
// scans the columns of Store.More into dest.
func (s Store[U]) Find(c store.Conn, text string, now time.Time, dest ...any) (n Session[U], err error) {
	earliest := int64(0) // sessions that began before have ended
	if s.Whole > 0 {
		earliest = now.Add(-s.Whole).UnixMicro()
	}
	var created, lastSeen, confirmed int64
	columns := "id, user_id, created_at, seen_at, confirmed_at"
	if s.More != "" {
		columns += ", " + s.More
	}
	err = c.Row("SELECT "+columns+" FROM "+s.Table+" WHERE secret_hash = ? AND seen_at > ? AND created_at > ?",
		secret.Hash(text), now.Add(-s.Idle).UnixMicro(), earliest).
		Scan(append([]any{&n.ID, &n.User, &created, &lastSeen, &confirmed}, dest...)...)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNone
	}
	n.CreatedAt, n.SeenAt, n.ConfirmedAt = time.UnixMicro(created), time.UnixMicro(lastSeen), time.UnixMicro(confirmed)
	return n, err
}

// Due reports whether the caller should record the use of a session with Renew.
func (s Store[U]) Due(n Session[U], now time.Time) bool { return now.Sub(n.SeenAt) >= s.Every }

// Renew records the use of a session, after which the time Idle begins again.
func (s Store[U]) Renew(c store.Conn, id int64, now time.Time) error {
	_, err := c.Exec("UPDATE "+s.Table+" SET seen_at = ? WHERE id = ?", now.UnixMicro(), id)
	return err
}

// Confirm records that the user has entered the password again.
func (s Store[U]) Confirm(c store.Conn, id int64, now time.Time) error {
	_, err := c.Exec("UPDATE "+s.Table+" SET confirmed_at = ? WHERE id = ?", now.UnixMicro(), id)
	return err
}

// End ends the session of the secret text, if it exists.
func (s Store[U]) End(c store.Conn, text string) error {
	hash := secret.Hash(text)
	if hash == "" {
		return nil
	}
	_, err := c.Exec("DELETE FROM "+s.Table+" WHERE secret_hash = ?", hash)
	return err
}

// EndAll ends all sessions of a user.
func (s Store[U]) EndAll(c store.Conn, user U) error {
	_, err := c.Exec("DELETE FROM "+s.Table+" WHERE user_id = ?", user)
	return err
}

// BeganAt records the issuer at which a user has signed in. text is the secret text of the user's new session. The
// table needs a column issuer, which is empty by default.
func (s Store[U]) BeganAt(c store.Conn, text, issuer string) error {
	_, err := c.Exec("UPDATE "+s.Table+" SET issuer = ? WHERE secret_hash = ?", issuer, secret.Hash(text))
	return err
}

// EndBeganAt ends the sessions of a user that began at an issuer.
func (s Store[U]) EndBeganAt(c store.Conn, user U, issuer string) error {
	_, err := c.Exec("DELETE FROM "+s.Table+" WHERE user_id = ? AND issuer = ?", user, issuer)
	return err
}
