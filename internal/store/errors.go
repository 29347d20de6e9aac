package store

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	sqlitelib "modernc.org/sqlite/lib"
)

// IsUniqueViolation reports whether err means, on either engine, that a row with the same primary or unique key exists.
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

// IsDataFault reports whether err means, on either engine, that the database can never store the values of a statement:
// they are out of range, too large, or violate a constraint. It reports false for a row that fits no partition, because
// the partition can be created.
func IsDataFault(err error) bool {
	switch sqliteCode(err) & 0xff { // the low byte of an extended code
	case sqlitelib.SQLITE_TOOBIG, sqlitelib.SQLITE_CONSTRAINT, sqlitelib.SQLITE_MISMATCH:
		return true
	}
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || pg.Code == "23514" && pg.ConstraintName == "" { // check_violation of no constraint
		return false
	}
	for _, class := range []string{"22", "23", "54"} { // data, integrity constraint, program limit
		if strings.HasPrefix(pg.Code, class) {
			return true
		}
	}
	return false
}

// IsFailure reports whether err means that the engine could not do its work, so that the same statement may succeed
// later. It reports false for faults in the values (see IsDataFault).
func IsFailure(err error) bool {
	if err == nil || IsDataFault(err) {
		return false
	}
	_, pg := errors.AsType[*pgconn.PgError](err)
	return pg || sqliteCode(err) != 0 || errors.Is(err, ErrUnavailable) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
