package store

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// rebindsKept bounds the cache of rewritten queries; queries are constants of
// the program, so a program with more of them builds them at run time.
const rebindsKept = 2048

// rebinder keeps queries in the spelling of PostgreSQL.
type rebinder struct {
	known sync.Map // string -> string
	count atomic.Int64
}

// Rebind returns the query with its "?" placeholders numbered $1, $2 … on
// PostgreSQL, and unchanged on SQLite. Question marks in quotes, quoted names
// and comments stay; operators of PostgreSQL that hold one cannot be written.
// Results are kept, so calling it per request costs a look-up.
func (db *DB) Rebind(query string) string {
	if db.dialect == SQLite {
		return query
	}
	if known, ok := db.rebinds.known.Load(query); ok {
		return known.(string)
	}
	numbered := numberPlaceholders(query)
	if db.rebinds.count.Add(1) <= rebindsKept {
		db.rebinds.known.Store(query, numbered)
	}
	return numbered
}

// numberPlaceholders rewrites "?" to "$n" outside of the lexical elements of
// https://www.postgresql.org/docs/current/sql-syntax-lexical.html in which it
// stands for itself. One that is not closed extends to the end.
func numberPlaceholders(query string) string {
	if strings.IndexByte(query, '?') < 0 {
		return query
	}
	var b strings.Builder
	b.Grow(len(query) + 16)
	n := 0
	for i := 0; i < len(query); {
		if query[i] == '?' {
			n++
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(n))
			i++
			continue
		}
		end := i + max(1, literalLength(query, i))
		b.WriteString(query[i:end])
		i = end
	}
	return b.String()
}

// literalLength returns the length of the quoted text, name or comment that
// begins at i; 0: none does.
func literalLength(query string, i int) int {
	s := query[i:]
	switch {
	case s[0] == '\'':
		return quotedLength(s, escapes(query, i))
	case s[0] == '"':
		return quotedLength(s, false)
	case strings.HasPrefix(s, "--"):
		return through(s, "\n", 2)
	case strings.HasPrefix(s, "/*"):
		return commentLength(s)
	case s[0] == '$' && (i == 0 || !isWord(query[i-1])):
		if tag := dollarTag(s); tag != "" {
			return through(s, tag, len(tag))
		}
	}
	return 0
}

// through returns the length of s through the first end after from.
func through(s, end string, from int) int {
	if j := strings.Index(s[from:], end); j >= 0 {
		return from + j + len(end)
	}
	return len(s)
}

// quotedLength is the length of text between two quotes of the kind s begins
// with. A doubled quote within reads as the end of one and the begin of
// another text, which comes to the same.
func quotedLength(s string, escapes bool) int {
	for j := 1; j < len(s); j++ {
		switch {
		case escapes && s[j] == '\\':
			j++
		case s[j] == s[0]:
			return j + 1
		}
	}
	return len(s)
}

// escapes reports whether the quote at i follows an E of its own, which gives
// backslashes a meaning.
func escapes(query string, i int) bool {
	return i > 0 && query[i-1]|0x20 == 'e' && (i == 1 || !isWord(query[i-2]))
}

// commentLength is the length of a block comment; they nest.
func commentLength(s string) int {
	depth := 0
	for j := 0; j+1 < len(s); j++ {
		switch s[j : j+2] {
		case "/*":
			depth++
			j++
		case "*/":
			depth--
			j++
			if depth == 0 {
				return j + 1
			}
		}
	}
	return len(s)
}

// dollarTag returns the "$tag$" that s begins with, or "".
func dollarTag(s string) string {
	for j := 1; j < len(s); j++ {
		switch c := s[j]; {
		case c == '$':
			return s[:j+1]
		case !isWord(c) || (j == 1 && c >= '0' && c <= '9'):
			return ""
		}
	}
	return ""
}

// isWord reports whether c can stand in a name.
func isWord(c byte) bool {
	return c == '_' || c >= 0x80 || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}
