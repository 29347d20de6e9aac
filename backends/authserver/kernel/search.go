package kernel

import "strings"

// Containing returns a pattern that matches every value containing the text, in any letter case. It is meant for
// lower(column) LIKE ? ESCAPE '!'. Beyond ASCII, databases differ in how they convert letters to lower case.
func Containing(text string) string {
	return "%" + likeEscaper.Replace(strings.ToLower(text)) + "%"
}

var likeEscaper = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")
