// Package routes implements the routes table of a site, which assigns a method of a handler class to each HTTP method
// and path.
//
// Read parses Routes.php, which is never executed. Entries converts the content of a routes file, in PHP or JavaScript,
// to a list of entries. NewTable builds a table from the entries, and Table.Find searches it. Errors contain the
// position in the file.
package routes

import (
	"fmt"
	"strconv"
)

// Position is a position in a file of the site.
type Position struct {
	File   string // relative to the site's folder, such as api/Routes.php
	Line   int    // from 1; 0 if unknown
	Column int    // from 1, in characters
}

// String returns the position as file:line:column, without the parts that are not known.
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

// Error is an error in a routes file or a script, with its position.
type Error struct {
	At      Position
	Message string
}

// Error returns the message with the position in front of it.
func (e *Error) Error() string { return e.At.String() + ": " + e.Message }

// errorAt returns an Error with a formatted message.
func errorAt(position Position, format string, args ...any) *Error {
	return &Error{position, fmt.Sprintf(format, args...)}
}

// Kind is the type of a Value.
type Kind int

// The kinds of values.
const (
	Null Kind = iota
	String
	Integer
	Boolean
	Class // a handler class, represented by its name
	List  // items with or without keys: an array in PHP, an array or an object in JavaScript
)

// String returns the kind with its article, as error messages need it.
func (k Kind) String() string {
	return [...]string{"null", "a string", "an integer", "a boolean", "a class", "a list"}[k]
}

// Value is a value in a routes file.
type Value struct {
	Kind  Kind
	Text  string // of a String, or the name of a Class without its namespace
	Int   int64
	Bool  bool
	Items []Item
	At    Position
}

// Item is an element of a List.
type Item struct {
	// Named reports whether the item has a string as its key. Integer keys are ignored.
	Named bool
	Key   string
	KeyAt Position
	Value Value
}
