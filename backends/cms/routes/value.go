// Package routes is the table of a site: which method and path is answered by which method of which class.
//
// Read reads Routes.php, which is data and is never executed (specification, 2.1). Entries makes entries of what
// a routes file says, of PHP or of JavaScript, by the rules of 2.3. NewTable makes the table that Find looks
// into, and tells what is wrong where it stands.
package routes

import (
	"fmt"
	"strconv"
)

// Position is where something stands in a file of the site.
type Position struct {
	File   string // below the site's folder, such as api/Routes.php
	Line   int    // from 1; 0: not known
	Column int    // from 1, in characters
}

// String is file:line:column, as far as it is known.
func (p Position) String() string {
	text := p.File
	if p.Line > 0 {
		text += ":" + strconv.Itoa(p.Line)
		if p.Column > 0 {
			text += ":" + strconv.Itoa(p.Column)
		}
	}
	return text
}

// Error is what keeps a table from being loaded.
type Error struct {
	At      Position
	Message string
}

func (e *Error) Error() string { return e.At.String() + ": " + e.Message }

func errorAt(at Position, format string, args ...any) *Error {
	return &Error{at, fmt.Sprintf(format, args...)}
}

// Kind is what a Value is.
type Kind int

// The kinds of values.
const (
	Null Kind = iota
	String
	Integer
	Boolean
	Class // a handler class by its name
	List  // items with or without keys: an array of PHP, an array or an object of JavaScript
)

func (k Kind) String() string {
	return [...]string{"null", "a string", "an integer", "a boolean", "a class", "a list"}[k]
}

// Value is what a routes file says at one place.
type Value struct {
	Kind  Kind
	Text  string // of String, and the name of Class, without its namespace
	Int   int64
	Bool  bool
	Items []Item
	At    Position
}

// Item is a member of a List.
type Item struct {
	// Named: it has a key that is a string. A key that is an integer counts as none.
	Named bool
	Key   string
	KeyAt Position
	Value Value
}
