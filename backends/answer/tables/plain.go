package tables

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// fewestLines is how many lines of columns make a table.
const fewestLines = 3

var (
	leaders  = regexp.MustCompile(`(?:\s?\.){4,}`)
	loneMark = regexp.MustCompile(`([$€£(])\s{1,12}([\d(.—])`)
	closing  = regexp.MustCompile(`(\d)\s{1,4}(\)?%|\))`)
	columned = regexp.MustCompile(`\S\s{2,}\S`)
)

// FromText makes Markdown of a text whose tables are columns held apart by blanks, as
// reports in plain text have them and as the text of a PDF is laid out.
func FromText(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\t", "    "), "\n")
	var b strings.Builder
	for i := 0; i < len(lines); {
		n := aligned(lines[i:])
		if n < fewestLines {
			line := strings.TrimSpace(lines[i])
			if line = strings.TrimLeft(line, "|"); IsRow(line) {
				line = strings.Trim(line, "|")
			}
			b.WriteString(line + "\n")
			i++
			continue
		}
		if grid := lay(lines[i : i+n]); len(grid) > 1 && len(grid[0]) > 1 {
			b.WriteString("\n" + Markdown(grid) + "\n\n")
		} else {
			b.WriteString(strings.Join(lines[i:i+n], "\n") + "\n")
		}
		i += n
	}
	return strings.TrimSpace(b.String())
}

// aligned is how many lines from the first one on are a table: each has columns, or is
// the name of a group between such lines. It has figures.
func aligned(lines []string) int {
	n, figures, last := 0, 0, 0
	gap := 0
	for n < len(lines) && n < mostRows {
		line := clean(lines[n])
		switch {
		case strings.TrimSpace(line) == "":
			if gap++; gap > 1 || n == 0 {
				return ended(last, figures)
			}
		case strings.Trim(line, "-=_ ") == "":
		case columned.MatchString(strings.TrimSpace(line)):
			gap = 0
			cells := split(line)
			some := slices.ContainsFunc(cells, func(c cell) bool { return IsValue(c.text) || headerCell(c.text) })
			if !some && last == 0 {
				return 0
			}
			if slices.ContainsFunc(cells[1:], func(c cell) bool { return IsValue(c.text) }) {
				figures++
			}
			last = n + 1
		case n == 0 && strings.HasPrefix(line, "        ") && over(strings.TrimSpace(line)): // a header over all columns
		default: // a line without columns: a group, or the end
			if gap++; gap > 2 || n == 0 || len(strings.TrimSpace(line)) > 70 {
				return ended(last, figures)
			}
		}
		n++
	}
	return ended(last, figures)
}

// over reports whether a line can stand over columns.
func over(line string) bool { return ending(line) || headerCell(line) }

func ended(last, figures int) int {
	if figures < fewestLines-1 {
		return 0
	}
	return last
}

// cell is one of a line with the columns of characters that it stands in.
type cell struct {
	text       string
	start, end int
}

func clean(line string) string {
	line = leaders.ReplaceAllStringFunc(line, func(s string) string { return strings.Repeat(" ", len(s)) })
	line = loneMark.ReplaceAllString(line, "$1$2")
	return closing.ReplaceAllString(line, "$1$2")
}

// split takes the cells of a line: what two blanks hold apart.
func split(line string) []cell {
	var cells []cell
	at, start, blanks := 0, -1, 0
	var b strings.Builder
	flush := func(end int) {
		if start >= 0 {
			cells = append(cells, cell{strings.TrimSpace(b.String()), start, end})
		}
		b.Reset()
		start = -1
	}
	for _, r := range line {
		if r == ' ' {
			if blanks++; blanks == 2 {
				flush(at - 1)
			}
		} else {
			if start < 0 {
				start = at
			}
			blanks = 0
		}
		if start >= 0 && utf8.RuneLen(r) > 0 {
			b.WriteRune(r)
		}
		at++
	}
	flush(at - min(blanks, 1))
	if len(cells) == 0 {
		return []cell{{}}
	}
	return cells
}

// lay puts the cells of lines into columns: those of the lines with the most of them,
// found by where they end, for figures are flush right.
func lay(lines []string) [][]string {
	all := make([][]cell, 0, len(lines))
	for _, line := range lines {
		if line = clean(line); strings.Trim(line, "-=_ ") != "" {
			all = append(all, split(line))
		}
	}
	var ends []int
	for _, cells := range all {
		if len(cells)-1 > len(ends) && len(cells) <= mostColumns && slices.ContainsFunc(cells[1:], func(c cell) bool { return IsValue(c.text) }) {
			ends = ends[:0]
			for _, c := range cells[1:] {
				ends = append(ends, c.end)
			}
		}
	}
	if len(ends) == 0 {
		return nil
	}
	grid := make([][]string, 0, len(all))
	for _, cells := range all {
		row := make([]string, len(ends)+1)
		if cells[0].start < ends[0]/2 && !IsValue(cells[0].text) || len(cells) > len(ends) {
			row[0] = cells[0].text
			cells = cells[1:]
		}
		from := 0
		for k, c := range cells {
			best := from
			for i := from; i < len(ends)-(len(cells)-1-k) && i < len(ends); i++ {
				if distance(c, ends, i) < distance(c, ends, best) {
					best = i
				}
			}
			if best >= len(ends) {
				row[len(ends)] = strings.TrimSpace(row[len(ends)] + " " + c.text)
				continue
			}
			row[best+1] = strings.TrimSpace(row[best+1] + " " + c.text)
			from = best + 1
		}
		grid = append(grid, row)
	}
	return grid
}

// distance is how far the end or the middle of a cell is from that of a column.
func distance(c cell, ends []int, i int) int {
	if i >= len(ends) {
		return 1 << 30
	}
	begin := ends[i] - 12
	if i > 0 {
		begin = ends[i-1]
	}
	d, m := c.end-ends[i], (c.start+c.end-begin-ends[i])/2
	return min(max(d, -d), max(m, -m))
}
