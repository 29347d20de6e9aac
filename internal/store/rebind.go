package store

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// rebindCacheSize limits the cache of rewritten queries. Queries are constants of the program: a program with more
// queries than this must be building them at run time.
const rebindCacheSize = 2048

// rebinder caches queries rewritten with PostgreSQL placeholders.
type rebinder struct {
	known sync.Map // string -> string
	count atomic.Int64
}

// Rebind returns the query with its "?" placeholders numbered $1, $2 … on PostgreSQL, and unchanged on SQLite. Question
// marks in string literals, quoted names and comments stay. PostgreSQL operators with a question mark cannot be used.
// Results are cached, so a repeated call costs a look-up.
func (db *DB) Rebind(query string) string {
	if db.dialect == SQLite {
		return query
	}
	if known, ok := db.rebinds.known.Load(query); ok {
		return known.(string)
	}
	numbered := numberPlaceholders(query)
	if db.rebinds.count.Add(1) <= rebindCacheSize {
		db.rebinds.known.Store(query, numbered)
	}
	return numbered
}

// numberPlaceholders rewrites "?" to "$n" except in the lexical elements of
// https://www.postgresql.org/docs/current/sql-syntax-lexical.html in which a question mark stands for itself. An
// element that is not closed extends to the end.
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

// literalLength returns the length of the string literal, quoted name or comment at index i, or 0 if none begins there.
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

// through returns the index after the first occurrence of terminator in s at or after offset, or len(s) if there is no
// occurrence.
func through(s, terminator string, offset int) int {
	if j := strings.Index(s[offset:], terminator); j >= 0 {
		return offset + j + len(terminator)
	}
	return len(s)
}

// quotedLength returns the length of the quoted text at the beginning of s, whose first byte is the quote. If escapes
// is true, a backslash escapes the next byte. A doubled quote is read as the end of one text and the beginning of
// another, which gives the same result.
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

// escapes reports whether the quote at index i follows a separate letter E, in which case backslashes escape.
func escapes(query string, i int) bool {
	return i > 0 && query[i-1]|0x20 == 'e' && (i == 1 || !isWord(query[i-2]))
}

// commentLength returns the length of the block comment at the beginning of s. Block comments nest.
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

// dollarTag returns the "$tag$" at the beginning of s, or "".
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

// isWord reports whether c can be part of a name.
func isWord(c byte) bool {
	return c == '_' || c >= 0x80 || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}
