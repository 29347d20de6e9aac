package tables

import (
	"strings"
)

// Bounds of a table. Rows and columns beyond them are not read.
const (
	maxRows    = 2000
	maxColumns = 60
)

// IsRow reports whether a line of Markdown is a row of a table.
func IsRow(line string) bool {
	line = strings.TrimSpace(line)
	return len(line) > 1 && line[0] == '|' && line[len(line)-1] == '|'
}

// isRule reports whether a row is the separator line below a header.
func isRule(line string) bool {
	return strings.Trim(line, "|-: \t") == "" && strings.Contains(line, "-")
}

// Split returns the cells of a row of a Markdown table, at most maxColumns.
func Split(line string) []string {
	line = strings.TrimSpace(line)
	line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
	var cells []string
	start := 0
	for i := 0; i <= len(line); i++ {
		// A cell ends at a | that is not escaped, and at the end of the line.
		if i < len(line) && (line[i] != '|' || i > 0 && line[i-1] == '\\') {
			continue
		}
		cell := strings.Join(strings.Fields(strings.ReplaceAll(line[start:i], `\|`, "|")), " ")
		if cells = append(cells, cell); len(cells) == maxColumns {
			break
		}
		start = i + 1
	}
	return cells
}

// Join returns cells as a row of Markdown.
func Join(cells []string) string {
	var b strings.Builder
	b.WriteByte('|')
	for _, cell := range cells {
		b.WriteByte(' ')
		b.WriteString(strings.ReplaceAll(strings.Join(strings.Fields(cell), " "), "|", `\|`))
		b.WriteString(" |")
	}
	return b.String()
}

// Markdown returns rows as a Markdown table. The first row is the header.
func Markdown(rows [][]string) string {
	width := widthOf(rows)
	var b strings.Builder
	for i, row := range rows {
		padded := make([]string, width)
		copy(padded, row)
		b.WriteString(Join(padded))
		b.WriteByte('\n')
		if i == 0 {
			b.WriteString("|" + strings.Repeat("---|", width) + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// widthOf returns the number of cells of the longest row.
func widthOf(rows [][]string) (width int) {
	for _, row := range rows {
		width = max(width, len(row))
	}
	return width
}

// rowsOf returns the cells of the rows in lines, without the separator line.
func rowsOf(lines []string) [][]string {
	rows := make([][]string, 0, len(lines))
	for _, line := range lines {
		if isRule(line) {
			continue
		}
		if rows = append(rows, Split(line)); len(rows) == maxRows {
			break
		}
	}
	return rows
}
