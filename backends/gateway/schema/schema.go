// Package schema is the gateway's part of a database: its tables, and the form in which their
// columns have times, flags and texts.
package schema

import (
	"database/sql"
	"embed"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Gateway returns the tables of the model gateway.
func Gateway() store.Schema { return store.Embedded("gateway", migrations) }

// Micros returns the column of a time: microseconds since 1970.
func Micros(t time.Time) int64 { return t.UnixMicro() }

// Moment returns the time of a column, in UTC.
func Moment(us int64) time.Time { return time.UnixMicro(us).UTC() }

// Optional returns the time of a column that may be NULL, and nil for NULL.
func Optional(us sql.NullInt64) *time.Time {
	if !us.Valid {
		return nil
	}
	at := Moment(us.Int64)
	return &at
}

// Flag returns the column of a boolean.
func Flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Nullable returns the column of a text that is NULL where it is empty.
func Nullable(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// Text scans a row of one text.
func Text(row store.Row) (text string, err error) { return text, row.Scan(&text) }

// MaxID is more bytes than any id or name of an entry has.
const MaxID = 1000

// StorableID reports whether a row can have this id. What cannot is not found:
// PostgreSQL would answer some such texts by an error.
func StorableID(id string) bool {
	return len(id) <= MaxID && utf8.ValidString(id) && strings.IndexByte(id, 0) < 0
}

// Storable removes zero bytes and broken UTF-8: PostgreSQL reads no JSON that
// has them, not even the rest of it.
func Storable(text string) string {
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(text, "\x00", "")
	}
	return strings.ToValidUTF8(text, "")
}
