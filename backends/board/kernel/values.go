package kernel

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// OrNotFound converts sql.ErrNoRows to NotFound. Other errors are returned unchanged.
func OrNotFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return NotFound()
	}
	return err
}

// IgnoreNoRows converts sql.ErrNoRows to nil, for queries of rows that need not exist. Other errors are returned
// unchanged.
func IgnoreNoRows(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// ExecAll runs statements in their order, each with the same arguments.
func ExecAll(c store.Conn, statements []string, args ...any) error {
	for _, statement := range statements {
		if _, err := c.Exec(statement, args...); err != nil {
			return err
		}
	}
	return nil
}

// DeleteFrom deletes from each of the tables, in their order, the rows whose column equals value.
func DeleteFrom(c store.Conn, column string, value any, tables ...string) error {
	for _, table := range tables {
		if _, err := c.Exec("DELETE FROM "+table+" WHERE "+column+" = ?", value); err != nil {
			return err
		}
	}
	return nil
}

// LockMember locks the row of a member until the transaction ends, so that transactions that count other rows of the
// member run one after the other.
func LockMember(c store.Conn, member int64) error {
	return c.Row("SELECT id FROM board_users WHERE id = ?"+c.Lock(), member).Scan(&member)
}

// Null converts n for a nullable column: 0 becomes NULL.
func Null[T ~int64](n T) sql.NullInt64 { return sql.NullInt64{Int64: int64(n), Valid: n != 0} }

// Bool returns 1 for true and 0 for false, as both databases store truth values.
func Bool(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Wrap wraps err in an error whose message begins with action and a colon. It returns nil if err is nil.
func Wrap(action string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", action, err)
}

// Itoa returns n in decimal.
func Itoa(n int64) string { return strconv.FormatInt(n, 10) }

// Marks returns n placeholders for a SQL statement, separated by commas. n must be at least 1.
func Marks(n int) string { return "?" + strings.Repeat(", ?", n-1) }

// Args converts a list to arguments of a SQL statement.
func Args[T any](list []T) []any {
	args := make([]any, len(list))
	for i, value := range list {
		args[i] = value
	}
	return args
}

// Tag returns the HTTP entity tag (ETag) of a response: a hash of the JSON of view.
func Tag(view any) string {
	encoded, err := json.Marshal(view)
	if err != nil {
		panic(err) // cannot happen: views are plain structs and maps
	}
	return rest.ETag(encoded)
}

// SortBy sorts list in ascending order of key.
func SortBy[T any](list []T, key func(T) int64) {
	slices.SortFunc(list, func(x, y T) int { return cmp.Compare(key(x), key(y)) })
}

// NilIfZero returns a pointer to n or, if n is 0, nil, which JSON encodes as null.
func NilIfZero[T ~int64](n T) *T {
	if n == 0 {
		return nil
	}
	return &n
}

// JoinDetail joins two parts of the detail of an entry in the moderation log with a colon. If second is empty, it
// returns first alone.
func JoinDetail(first, second string) string {
	if second == "" {
		return first
	}
	return first + ": " + second
}

// ForLog shortens a value to at most 60 characters for an entry of the moderation log. It returns "none" for an empty
// value.
func ForLog(value string) string { return cmp.Or(text.Short(value, 60), "none") }
