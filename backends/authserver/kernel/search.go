package kernel

import "strings"

// Containing returns a pattern for LIKE ... ESCAPE '!' that matches what contains a text. It is to be compared with
// lower(column). Databases differ in how they lower letters beyond ASCII.
func Containing(text string) string {
	return "%" + likes.Replace(strings.ToLower(text)) + "%"
}

var likes = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")
