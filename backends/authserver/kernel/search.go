package kernel

import "strings"

// Containing is a pattern of LIKE ... ESCAPE '!' for what holds a text, to be compared
// with lower(column). Databases lower letters beyond ASCII each in its own way.
func Containing(text string) string {
	return "%" + likes.Replace(strings.ToLower(text)) + "%"
}

var likes = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")
