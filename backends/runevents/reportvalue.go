package runevents

import (
	"bytes"
	"database/sql"
	"math"

	"github.com/tollgate-gateway/tollgate/backends/runevents/query/syntax"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// name reads a text that is indexed, of at most maxName bytes. label names the text in errors.
func (r *reader) name(label string) string {
	text := r.string()
	if len(text) > maxName {
		r.fail("%s is longer than %d bytes", label, maxName)
	}
	return text
}

// nullName is like name, but also accepts null.
func (r *reader) nullName(label string) sql.NullString {
	if r.null() {
		return sql.NullString{}
	}
	return sql.NullString{String: r.name(label), Valid: true}
}

// nullText reads a string or null.
func (r *reader) nullText() sql.NullString {
	if r.null() {
		return sql.NullString{}
	}
	return sql.NullString{String: r.string(), Valid: true}
}

// nullBool reads a boolean or null.
func (r *reader) nullBool() sql.NullBool {
	if r.null() {
		return sql.NullBool{}
	}
	return sql.NullBool{Bool: r.boolean(), Valid: true}
}

// instant reads a time and returns it in Unix milliseconds.
func (r *reader) instant() int64 {
	text := r.bytes()
	if r.err != nil {
		return 0
	}
	ms, ok := parseInstant(text)
	if !ok {
		r.fail("%q is not a time such as 2026-03-02T10:27:54.161+00:00", rest.Quote(string(text)))
	}
	return ms
}

// value reads the value of a property and returns it as canonical JSON.
func (r *reader) value() sql.NullString {
	raw := r.raw()
	if r.err != nil {
		return sql.NullString{}
	}
	if raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 {
		return sql.NullString{String: string(raw), Valid: true} // the text is canonical already
	}
	text, err := syntax.Canonical(raw)
	if err != nil {
		r.fail("a value cannot be stored: %w", err)
	}
	return sql.NullString{String: text, Valid: true}
}

// integer32 reads a 32-bit integer. This limit keeps sums of such integers within 64 bits.
func (r *reader) integer32() int64 {
	start := r.text.Start()
	n := r.integer()
	if n < math.MinInt32 || n > math.MaxInt32 {
		r.text.From(start) // for the position in the error
		r.fail("a whole number from %d to %d is expected", math.MinInt32, math.MaxInt32)
	}
	return n
}

// line reads a line number, or null.
func (r *reader) line() sql.NullInt64 {
	if r.null() {
		return sql.NullInt64{}
	}
	return sql.NullInt64{Int64: r.integer32(), Valid: true}
}
