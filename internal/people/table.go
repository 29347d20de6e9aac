package people

import (
	"database/sql"
	"errors"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Table is the name of a table with the columns issuer, subject and user_id, which links people with accounts whose ids
// are numbers. Issuer and subject together are unique, and so are account and issuer.
type Table string

// Linked returns the account of a person, or sql.ErrNoRows.
func (t Table) Linked(c store.Conn, issuer, subject string) (id int64, err error) {
	err = c.Row("SELECT user_id FROM "+string(t)+" WHERE issuer = ? AND subject = ?", issuer, subject).Scan(&id)
	return id, err
}

// Link links an account with a person.
func (t Table) Link(c store.Conn, id int64, issuer, subject string) error {
	_, err := c.Exec("INSERT INTO "+string(t)+" (issuer, subject, user_id) VALUES (?, ?, ?)", issuer, subject, id)
	return err
}

// Has reports whether an account is linked with a person of an issuer.
func (t Table) Has(c store.Conn, id int64, issuer string) (linked bool, err error) {
	err = c.Row("SELECT EXISTS (SELECT 1 FROM "+string(t)+" WHERE user_id = ? AND issuer = ?)", id, issuer).Scan(&linked)
	return linked, err
}

// IfLinked calls fn with the id of a person's account. It does nothing if the person has no account.
func (t Table) IfLinked(c store.Conn, issuer, subject string, fn func(id int64) error) error {
	id, err := t.Linked(c, issuer, subject)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return fn(id)
}
