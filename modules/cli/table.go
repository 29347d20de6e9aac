package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// cellWidth is the maximum number of characters in a cell.
const cellWidth = 80

// Row writes a line of a table, with tabs between the cells.
func Row(w io.Writer, cells ...any) {
	for i, c := range cells {
		if i > 0 {
			_, _ = io.WriteString(w, "\t")
		}
		_, _ = io.WriteString(w, Cell(fmt.Sprint(c)))
	}
	_, _ = io.WriteString(w, "\n")
}

// Cell returns the text of a table cell: text with unprintable characters replaced, cut to cellWidth characters. For an
// empty text it returns a dash.
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

// Plain replaces unprintable characters, so that text from outside cannot control the terminal.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

// Yes returns "yes" or "no" for a column of a table.
func Yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
