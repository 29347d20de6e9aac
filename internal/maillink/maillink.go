// Package maillink keeps links that are mailed to an address. A link does one thing,
// once, for the user and the address that it was made for: who opens it reads the mails
// of that address. Its secret is made when the mail is sent and is in that mail alone;
// the database has its hash. The rows are of the service, and change in the transaction
// of the caller.
package maillink

import (
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/secret"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// ErrGone is of a link that was used already, has ended, or never was.
var ErrGone = errors.New("there is no such link")

// Store is where links are. U is what users are known by.
type Store[U any] struct {
	// Table has the columns id (integer, made by the database), kind, user_id, email,
	// secret_hash (text, unique; NULL: not sent yet) and expires_at, in Unix
	// microseconds.
	Table string
	// Notices are the kinds that only tell something: they have no secret, and Drop
	// leaves them.
	Notices []string
}

// Link is what a link is for.
type Link[U any] struct {
	Kind  string // a word of the service
	User  U
	Email string // where it was mailed to
}

// Ask notes a link to be mailed, for the user_id and the email that a query of the
// service finds, and returns its id; 0: it found nobody, after the same work.
func (s Store[U]) Ask(c store.Conn, kind string, expires time.Time, query string, args ...any) (id int64, err error) {
	err = c.Row("INSERT INTO "+s.Table+" (kind, user_id, email, expires_at) SELECT CAST(? AS TEXT), q.user_id, q.email, CAST(? AS BIGINT) FROM ("+query+") q RETURNING id",
		append([]any{kind, expires.UnixMicro()}, args...)...).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return id, err
}

// Mail makes the secret of a link that is mailed now; a notice has none. The secret of
// an earlier mail is none any more. It is ErrGone where nobody waits for the link.
func (s Store[U]) Mail(c store.Conn, id int64, now time.Time) (l Link[U], text string, expires time.Time, err error) {
	text = secret.New()
	var ends int64
	err = c.Row("UPDATE "+s.Table+" SET secret_hash = CASE WHEN kind IN ("+marks(len(s.Notices))+") THEN NULL ELSE CAST(? AS TEXT) END WHERE id = ? AND expires_at > ? RETURNING kind, user_id, email, expires_at",
		append(words(s.Notices), secret.Hash(text), id, now.UnixMicro())...).Scan(&l.Kind, &l.User, &l.Email, &ends)
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

// Look reads a link of one of the kinds without using it: programs that look at mails
// open links, too.
func (s Store[U]) Look(c store.Conn, text string, now time.Time, kinds ...string) (Link[U], error) {
	return s.find(c, "SELECT kind, user_id, email FROM "+s.Table, "", text, now, kinds)
}

// Take uses a link, and ends all others of its user.
func (s Store[U]) Take(c store.Conn, text string, now time.Time, kinds ...string) (Link[U], error) {
	l, err := s.find(c, "DELETE FROM "+s.Table, " RETURNING kind, user_id, email", text, now, kinds)
	if err == nil {
		err = s.Drop(c, l.User)
	}
	return l, err
}

func (s Store[U]) find(c store.Conn, head, tail, text string, now time.Time, kinds []string) (l Link[U], err error) {
	err = c.Row(head+" WHERE secret_hash = ? AND expires_at > ? AND kind IN ("+marks(len(kinds))+")"+tail,
		append([]any{secret.Hash(text), now.UnixMicro()}, words(kinds)...)...).Scan(&l.Kind, &l.User, &l.Email)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrGone
	}
	return l, err
}

// Drop ends the links of a user.
func (s Store[U]) Drop(c store.Conn, user U) error {
	_, err := c.Exec("DELETE FROM "+s.Table+" WHERE user_id = ? AND kind NOT IN ("+marks(len(s.Notices))+")", append([]any{user}, words(s.Notices)...)...)
	return err
}

// marks are n placeholders; where there are none, a kind that no link has.
func marks(n int) string {
	if n == 0 {
		return "''"
	}
	return strings.Repeat("?, ", n-1) + "?"
}

func words(list []string) []any {
	args := make([]any, 0, len(list)+3)
	for _, word := range list {
		args = append(args, word)
	}
	return args
}
