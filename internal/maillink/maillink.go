// Package maillink manages links that are mailed to an address. A link works once, for one action by the user and the
// address for which it was made: opening the link proves access to the mails of that address. Its secret is made when
// the mail is sent and is only in that mail; the database has its hash. The rows belong to the service and are changed
// in the caller's transaction.
package maillink

import (
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/secret"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// ErrGone means that a link was used already, has expired, or never existed.
var ErrGone = errors.New("there is no such link")

// Store stores links. U is the type of user ids.
type Store[U any] struct {
	// Table has the columns id (integer, assigned by the database), kind, user_id, email, secret_hash (text, unique;
	// NULL before the mail is sent) and expires_at, in Unix microseconds.
	Table string
	// Notices are the kinds of mails that only inform. They have no secret, and Drop does not delete them.
	Notices []string
}

// Link describes a link.
type Link[U any] struct {
	Kind  string // a word of the service
	User  U
	Email string // the address to which it was mailed
}

// Ask adds a link to be mailed and returns its id. The query is an SQL query of the service that
// returns the link's user_id and email. If it returns no row, Ask returns 0 after the same work.
func (s Store[U]) Ask(c store.Conn, kind string, expires time.Time, query string, args ...any) (id int64, err error) {
	err = c.Row("INSERT INTO "+s.Table+
		" (kind, user_id, email, expires_at) SELECT CAST(? AS TEXT), q.user_id, q.email, CAST(? AS BIGINT) FROM ("+
		query+") q RETURNING id",
		append([]any{kind, expires.UnixMicro()}, args...)...).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return id, err
}

// Mail makes the secret of a link that is being mailed and returns the link, the secret text and the time of expiry.
// For a notice the text is empty. The secret of an earlier mail becomes void. The error is ErrGone if the link no
// longer waits to be mailed.
func (s Store[U]) Mail(c store.Conn, id int64, now time.Time) (l Link[U], text string, expires time.Time, err error) {
	text = secret.New()
	var ends int64
	err = c.Row("UPDATE "+s.Table+" SET secret_hash = CASE WHEN kind IN ("+placeholders(len(s.Notices))+
		") THEN NULL ELSE CAST(? AS TEXT) END WHERE id = ? AND expires_at > ? RETURNING kind, user_id, email, expires_at",
		append(arguments(s.Notices), secret.Hash(text), id, now.UnixMicro())...).Scan(&l.Kind, &l.User, &l.Email, &ends)
	if errors.Is(err, sql.ErrNoRows) {
		return l, "", time.Time{}, ErrGone
	}
	for _, kind := range s.Notices {
		if kind == l.Kind {
			text = ""
		}
	}
	return l, text, time.UnixMicro(ends), err
}

// Look reads the link with the secret text, which must be of one of the kinds. It does not use the link up, because
// programs that scan mails open links too.
func (s Store[U]) Look(c store.Conn, text string, now time.Time, kinds ...string) (Link[U], error) {
	return s.find(c, "SELECT kind, user_id, email FROM "+s.Table, "", text, now, kinds)
}

// Take works like Look but uses the link up, and deletes all other links of its user.
func (s Store[U]) Take(c store.Conn, text string, now time.Time, kinds ...string) (Link[U], error) {
	l, err := s.find(c, "DELETE FROM "+s.Table, " RETURNING kind, user_id, email", text, now, kinds)
	if err == nil {
		err = s.Drop(c, l.User)
	}
	return l, err
}

func (s Store[U]) find(c store.Conn, head, tail, text string, now time.Time, kinds []string) (l Link[U], err error) {
	err = c.Row(head+" WHERE secret_hash = ? AND expires_at > ? AND kind IN ("+placeholders(len(kinds))+")"+tail,
		append([]any{secret.Hash(text), now.UnixMicro()}, arguments(kinds)...)...).Scan(&l.Kind, &l.User, &l.Email)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrGone
	}
	return l, err
}

// Drop deletes the links of a user, except notices.
func (s Store[U]) Drop(c store.Conn, user U) error {
	_, err := c.Exec("DELETE FROM "+s.Table+" WHERE user_id = ? AND kind NOT IN ("+placeholders(len(s.Notices))+")",
		append([]any{user}, arguments(s.Notices)...)...)
	return err
}

// placeholders returns n placeholders for a list in SQL or, if n is 0, a literal that equals no kind of link.
func placeholders(n int) string {
	if n == 0 {
		return "''"
	}
	return strings.Repeat("?, ", n-1) + "?"
}

func arguments(list []string) []any {
	args := make([]any, 0, len(list)+3)
	for _, word := range list {
		args = append(args, word)
	}
	return args
}
