package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// cellWidth is how many characters a cell shows at most.
const cellWidth = 80

// Row writes one line of a table.
func Row(w io.Writer, cells ...any) {
	for i, c := range cells {
		if i > 0 {
			_, _ = io.WriteString(w, "\t")
		}
		_, _ = io.WriteString(w, Cell(fmt.Sprint(c)))
	}
	_, _ = io.WriteString(w, "\n")
}

// Cell keeps text from outside from steering the terminal or filling it; nothing is
// a dash.
func Cell(text string) string {
	if text == "" {
		return "-"
	}
	text = Plain(text)
	if utf8.RuneCountInString(text) <= cellWidth {
		return text
	}
	return string([]rune(text)[:cellWidth-1]) + "…"
}

// Plain keeps text from outside from steering the terminal.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

// Yes is a column of a table.
func Yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
