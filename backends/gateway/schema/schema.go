// Package schema has the gateway's database tables, and the conversions between Go values and columns for times,
// booleans and texts.
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

// Micros converts a time to a column value: microseconds since 1970.
func Micros(t time.Time) int64 { return t.UnixMicro() }

// Moment converts a column value, in microseconds since 1970, to a time in UTC.
func Moment(us int64) time.Time { return time.UnixMicro(us).UTC() }

// Optional converts a nullable column value to a time, which is nil for NULL.
func Optional(us sql.NullInt64) *time.Time {
	if !us.Valid {
		return nil
	}
	moment := Moment(us.Int64)
	return &moment
}

// Flag converts a boolean to a column value: 1 for true and 0 for false.
func Flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Nullable converts a text to a column value. The empty text becomes NULL.
func Nullable(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// Text scans a row whose only column is a text.
func Text(row store.Row) (text string, err error) { return text, row.Scan(&text) }

// MaxID is the maximum length of an id that is looked up, in bytes. All stored ids and entry names are shorter.
const MaxID = 1000

// StorableID reports whether a row can have this id. Callers treat other ids as not found: PostgreSQL would answer some
// of them with an error.
func StorableID(id string) bool {
	return len(id) <= MaxID && utf8.ValidString(id) && strings.IndexByte(id, 0) < 0
}

// Storable removes zero bytes and invalid UTF-8, because PostgreSQL rejects a JSON text that contains them.
func Storable(text string) string {
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(text, "\x00", "")
	}
	return strings.ToValidUTF8(text, "")
}
