package store

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	sqlitelib "modernc.org/sqlite/lib"
)

// IsUniqueViolation reports whether err says, on either engine, that a row
// with the same primary or unique key is already there.
func IsUniqueViolation(err error) bool {
	switch sqliteCode(err) {
	case sqlitelib.SQLITE_CONSTRAINT_UNIQUE,
		sqlitelib.SQLITE_CONSTRAINT_PRIMARYKEY,
		sqlitelib.SQLITE_CONSTRAINT_ROWID:
		return true
	}
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "23505" // unique_violation
}
