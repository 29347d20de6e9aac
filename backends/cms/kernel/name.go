package kernel

import "strings"

// MaxName limits the name of a user, a role or a page, in characters.
const MaxName = 128

// GoodName reports whether name is valid for a user, a role or a page: lower-case letters and digits, with dots, dashes
// and underscores between them.
func GoodName(name string) bool {
	if name == "" || len(name) > MaxName || strings.ContainsAny(name[:1]+name[len(name)-1:], "._-") {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == "" // no other characters
}

// BadName returns the error for a name that GoodName does not accept.
func BadName() error {
	return Invalid("name", "form", "a name consists of 1 to 128 of the characters a-z, 0-9, dot, dash and underscore, "+
		"and begins and ends with a letter or digit")
}
