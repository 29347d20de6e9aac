package tables

import (
	"slices"
	"strings"
)

// Tidy converts the cells of a spreadsheet or of HTML to a table with the columns that people see. "$" and ")" in cells
// of their own are joined to their numbers. Empty rows and columns are removed, and a header above an otherwise empty
// column moves to the column of its figures. Tidy returns nil if all cells are empty.
func Tidy(rows [][]string) [][]string {
	width := widthOf(rows)
	grid := make([][]string, 0, len(rows))
	for _, row := range rows {
		full := make([]string, width)
		copy(full, row)
		joinMarks(full)
		if !blank(full) {
			grid = append(grid, full)
		}
	}
	if len(grid) == 0 {
		return nil
	}
	// Merge neighbouring columns if no row has cells in two of them. The first group, the names of rows, is not merged.
	groups := [][]int{} // for each column of the result, the columns of grid that are merged into it
	for c := range width {
		if isEmptyColumn(grid, c) {
			continue
		}
		if last := len(groups) - 1; last > 0 &&
			!slices.ContainsFunc(groups[last], func(other int) bool { return overlap(grid, other, c) }) {
			groups[last] = append(groups[last], c)
			continue
		}
		groups = append(groups, []int{c})
	}
	out := make([][]string, len(grid))
	for i, row := range grid {
		out[i] = make([]string, len(groups))
		for k, group := range groups {
			for _, c := range group {
				if row[c] != "" {
					out[i][k] = row[c]
				}
			}
		}
	}
	return out
}

// joinMarks joins currency signs, brackets and per cent signs in cells of their own to the number beside them, at most
// three cells away.
func joinMarks(row []string) {
	for i, cell := range row {
		switch cell {
		case "$", "€", "£", "¥", "US$", "($", "(", "$(", "-":
			for k := i + 1; k < min(i+4, len(row)); k++ {
				if row[k] != "" {
					if startsNumber(row[k]) {
						row[k], row[i] = cell+row[k], ""
					}
					break
				}
			}
		case ")", "%", ")%", ") %":
			for k := i - 1; k >= max(0, i-3); k-- {
				if row[k] != "" {
					if k > 0 { // cell 0 is the name of the row
						row[k], row[i] = row[k]+cell, ""
					}
					break
				}
			}
		}
	}
}

// startsNumber reports whether a text without a currency sign begins with a number or a dash, or consists only of the
// signs before a number.
func startsNumber(s string) bool {
	s = strings.TrimLeft(s, "(-−– ")
	return s == "" || s[0] >= '0' && s[0] <= '9' || s[0] == '.' || strings.HasPrefix(s, "—")
}

// isEmptyColumn reports whether no row has text in column c.
func isEmptyColumn(grid [][]string, c int) bool {
	return !slices.ContainsFunc(grid, func(row []string) bool { return row[c] != "" })
}

// overlap reports whether a row has text in both columns.
func overlap(grid [][]string, a, b int) bool {
	return slices.ContainsFunc(grid, func(row []string) bool { return row[a] != "" && row[b] != "" })
}
