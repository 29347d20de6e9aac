// Package maillink manages links that are mailed to an address. A link works once, for one action by the user and the
// address for which it was made: opening the link proves access to the mails of that address. Its secret is made when
// the mail is sent and is only in that mail; the database has its hash. The rows belong to the service and are changed
// in the caller's transaction.
package maillink

import (
	"database/sql"
	"errors"
	"slices"
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

// Ask adds a link to be mailed and returns its id. The query is an SQL query of the service, with the arguments args,
// that returns the link's user_id and email. If it returns no row, Ask adds nothing and returns 0. It does the same
// work in both cases, so that the time it takes does not reveal whether an address is known.
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

// Mail prepares the link with an id from Ask for the mail that is about to be sent. It makes a new secret, stores the
// secret's hash with the link, and returns the link, the secret and the time when the link expires. The secret in an
// earlier mail of the same link no longer works. A link of a kind in Notices has no secret; the returned one is empty.
// The error is ErrGone if the link was deleted or has expired.
func (s Store[U]) Mail(
	c store.Conn, id int64, now time.Time,
) (link Link[U], secretText string, expires time.Time, err error) {
	secretText = secret.New()
	var expiresAt int64
	err = c.Row("UPDATE "+s.Table+" SET secret_hash = CASE WHEN kind IN ("+placeholders(len(s.Notices))+
		") THEN NULL ELSE CAST(? AS TEXT) END WHERE id = ? AND expires_at > ? RETURNING kind, user_id, email, expires_at",
		append(arguments(s.Notices), secret.Hash(secretText), id, now.UnixMicro())...).
		Scan(&link.Kind, &link.User, &link.Email, &expiresAt)
	if errors.Is(err, sql.ErrNoRows) {
		return link, "", time.Time{}, ErrGone
	}
	if slices.Contains(s.Notices, link.Kind) {
		secretText = ""
	}
	return link, secretText, time.UnixMicro(expiresAt), err
}

// Look returns the link with the given secret. The error is ErrGone if there is no such link, or if its kind is not
// one of kinds. Look does not use the link up, because programs that scan mails open links too.
func (s Store[U]) Look(c store.Conn, secretText string, now time.Time, kinds ...string) (Link[U], error) {
	return s.find(c, "SELECT kind, user_id, email FROM "+s.Table, "", secretText, now, kinds)
}

// Take works like Look but uses the link up, and deletes all other links of its user except notices.
func (s Store[U]) Take(c store.Conn, secretText string, now time.Time, kinds ...string) (Link[U], error) {
	link, err := s.find(c, "DELETE FROM "+s.Table, " RETURNING kind, user_id, email", secretText, now, kinds)
	if err == nil {
		err = s.Drop(c, link.User)
	}
	return link, err
}

// find runs a statement that returns a link. The statement consists of head, a condition for the link, and tail.
func (s Store[U]) find(
	c store.Conn, head, tail, secretText string, now time.Time, kinds []string,
) (link Link[U], err error) {
	err = c.Row(head+" WHERE secret_hash = ? AND expires_at > ? AND kind IN ("+placeholders(len(kinds))+")"+tail,
		append([]any{secret.Hash(secretText), now.UnixMicro()}, arguments(kinds)...)...).
		Scan(&link.Kind, &link.User, &link.Email)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrGone
	}
	return link, err
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

// arguments returns the words as arguments of a statement.
func arguments(list []string) []any {
	args := make([]any, 0, len(list)+3) // room for those that Mail appends
	for _, word := range list {
		args = append(args, word)
	}
	return args
}
