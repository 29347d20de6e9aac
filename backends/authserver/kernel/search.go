package kernel

import "strings"

// Containing returns a pattern for LIKE ... ESCAPE '!' that matches every value containing the text. Compare the
// pattern with lower(column). Databases differ in how they convert letters beyond ASCII to lower case.
func Containing(text string) string {
	return "%" + likes.Replace(strings.ToLower(text)) + "%"
}

var likes = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")
