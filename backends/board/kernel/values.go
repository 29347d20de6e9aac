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
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// OrNotFound turns sql.ErrNoRows into the answer for what is not there.
func OrNotFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return NotFound()
	}
	return err
}

// Null returns a number for a column that is NULL where the number is 0.
func Null[T ~int64](n T) sql.NullInt64 { return sql.NullInt64{Int64: int64(n), Valid: n != 0} }

// Bool returns a truth value as it is stored on both engines.
func Bool(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Wrap says what an error is of; nil stays nil.
func Wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Itoa returns a number as text.
func Itoa(n int64) string { return strconv.FormatInt(n, 10) }

// Marks returns n placeholders of a statement, at least one.
func Marks(n int) string { return "?" + strings.Repeat(", ?", n-1) }

// Tag returns the entity tag of what clients see.
func Tag(view any) string {
	text, err := json.Marshal(view)
	if err != nil {
		panic(err) // views are plain structs and maps
	}
	return rest.ETag(text)
}

// SortBy sorts by a number of each element.
func SortBy[T any](list []T, key func(T) int64) {
	slices.SortFunc(list, func(x, y T) int { return cmp.Compare(key(x), key(y)) })
}

// OrNull returns a number that JSON has as null where it is 0.
func OrNull[T ~int64](n T) *T {
	if n == 0 {
		return nil
	}
	return &n
}

// JoinDetail joins two parts of an entry of the log; the second may be empty.
func JoinDetail(first, second string) string {
	if second == "" {
		return first
	}
	return first + ": " + second
}

// Brief shortens a value so that it fits in the log.
func Brief(value string) string { return cmp.Or(text.Short(value, 60), "none") }
