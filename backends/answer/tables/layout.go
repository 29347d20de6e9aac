package tables

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// FromText converts the text of a page to Markdown. Its tables are columns separated by spaces, as in plain
// text reports and in PDFs whose layout was kept, or cells on a line each, as in PDFs whose layout was lost.
func FromText(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\t", "    "), "\n")
	if stacked(lines) {
		return fromStack(lines)
	}
	page := make([]laid, len(lines))
	for i, line := range lines {
		page[i] = lay(line)
	}
	var b strings.Builder
	for i := 0; i < len(page); {
		begin, end := region(page, i)
		paragraphs(&b, page[i:begin])
		if end == begin {
			break
		}
		if grid := gridOf(page[begin:end]); len(grid) > 1 {
			b.WriteString("\n" + Markdown(grid) + "\n\n")
		} else {
			paragraphs(&b, page[begin:end])
		}
		i = end
	}
	return strings.TrimSpace(b.String())
}

// unmarked returns a line of text without bars that would make it a row of a table.
func unmarked(line string) string {
	if line = strings.TrimLeft(strings.TrimSpace(line), "|"); IsRow(line) {
		line = strings.Trim(line, "|")
	}
	return line
}

// role is what a line can be in a table.
type role int

const (
	isText  role = iota // no part of a table, or the name of a group
	isBlank             // blank, or a rule
	isHead              // names columns
	isValue             // a row with figures
)

// laid is a line with its cells.
type laid struct {
	text  string
	role  role
	cells []cell
	first int // the index of the first cell that is a figure
}

// cell is a cell of a line with the character columns that it occupies.
type cell struct {
	text       string
	start, end int
}

func (c cell) center() int { return (c.start + c.end) / 2 }

var (
	leaders  = regexp.MustCompile(`(?:\s?\.){4,}`)
	loneMark = regexp.MustCompile(`^[$€£¥(]{1,2}$`)
	closing  = regexp.MustCompile(`(\d)(\s{1,4})(\)\s?%?|%)`)
	moneyed  = regexp.MustCompile(`^(.*\S)\s+([$€£¥] \s*[(\d—–-].*)$`)
	several  = regexp.MustCompile(`^(?:[$€£¥]?\s?\(?\d[\d,.]*\)?%?|[—–-])(?:\s(?:[$€£¥]?\s?\(?\d[\d,.]*\)?%?|[—–-]))+$`)
	marked   = regexp.MustCompile(`\s+([$€£¥])\s?$`)
	inFront  = regexp.MustCompile(`^([$€£¥])\s+`)
)

// lay splits a line into cells at two or more spaces, and determines its role.
func lay(line string) laid {
	l := laid{text: line}
	if strings.Trim(line, " -=_–—") == "" {
		l.role = isBlank
		return l
	}
	line = leaders.ReplaceAllStringFunc(line, func(s string) string { return strings.Repeat(" ", len(s)) })
	line = closing.ReplaceAllString(line, "$1$3$2")
	l.cells = marks(split(line))
	l.first = slices.IndexFunc(l.cells, func(c cell) bool { return IsValue(c.text) })
	headers := 0
	for i, c := range l.cells {
		if headName(c.text) {
			headers++
		} else if i > 0 && !change.MatchString(c.text) {
			headers = -len(l.cells)
		}
	}
	switch {
	case l.first > 0, l.first == 0 && len(l.cells) > 1 && IsValue(l.cells[1].text):
		l.role = isValue
	case headers > 0 && l.first < 0 && (headers == len(l.cells) || len(l.cells) > 1 && len(l.cells[0].text) < 80):
		l.role = isHead
	}
	return l
}

// headName reports whether a cell can only name a column: a period and nothing else, what leads to one, or a
// unit.
func headName(text string) bool {
	return unitOnly(text) || yearCell.MatchString(text) || len(text) < 80 && PeriodOnly(text) && !IsValue(text) &&
		(ending(text) || len(metrics.Periods(text)) > 0)
}

// split returns the cells of a line, which are separated by two or more spaces.
func split(line string) []cell {
	var cells []cell
	runes := []rune(line)
	start, blanks := -1, 0
	flush := func(end int) {
		if start >= 0 && len(cells) < maxColumns {
			cells = append(cells, cell{string(runes[start:end]), start, end})
		}
		start = -1
	}
	for i, r := range runes {
		if unicode.IsSpace(r) {
			if blanks++; blanks == 2 {
				flush(i - 1)
			}
			continue
		}
		if start < 0 {
			start = i
		}
		blanks = 0
	}
	flush(len(runes) - min(blanks, 1))
	return cells
}

// marks moves currency signs that are cells of their own, or stand after a cell, to the next figure, and
// splits cells that contain several figures.
func marks(cells []cell) []cell {
	var out []cell
	mark := cell{}
	put := func(c cell) {
		c.text = inFront.ReplaceAllString(c.text, "$1")
		if mark.text != "" && startsNumber(c.text) {
			c.text, c.start = mark.text+c.text, mark.start
		}
		mark = cell{}
		out = append(out, c)
	}
	for _, c := range cells {
		if loneMark.MatchString(c.text) {
			mark = c
			continue
		}
		tail := cell{}
		if at := marked.FindStringIndex(c.text); at != nil {
			tail = cell{strings.TrimSpace(c.text[at[0]:]), c.end - 1, c.end}
			c.text, c.end = c.text[:at[0]], c.end-len([]rune(c.text[at[0]:]))
		}
		switch m := moneyed.FindStringSubmatch(c.text); {
		case several.MatchString(c.text):
			for _, one := range pieces(c) {
				put(one)
			}
		case m != nil && IsValue(m[2]):
			at := c.end - len([]rune(m[2]))
			put(cell{m[1], c.start, c.start + len([]rune(m[1]))})
			put(cell{m[2], at, c.end})
		default:
			put(c)
		}
		if tail.text != "" {
			mark = tail
		}
	}
	return out
}

// pieces returns the figures in a cell that are separated by one space.
func pieces(c cell) []cell {
	var out []cell
	at := c.start
	for word := range strings.SplitSeq(c.text, " ") {
		end := at + len([]rune(word))
		switch last := len(out) - 1; {
		case word == "":
		case last >= 0 && loneMark.MatchString(out[last].text):
			out[last].text, out[last].end = out[last].text+word, end
		default:
			out = append(out, cell{word, at, end})
		}
		at = end + 1
	}
	return out
}

// Bounds for what stands between two rows of one table.
const (
	maxGap   = 6   // in lines without figures
	maxGroup = 110 // of the name of a group, in letters
	maxLead  = 160 // of a line right before a row, in letters
	maxAbove = 12  // of a header, in lines
	minRows  = 2
)

// region returns the next table at or after the line from, as the lines from begin up to end. They are equal
// if there is none.
func region(page []laid, from int) (begin, end int) {
	for at := from; at < len(page); at++ {
		if page[at].role != isValue {
			continue
		}
		last, rows, gap := at+1, 1, 0
		for i := at + 1; i < len(page) && i-at < maxRows; i++ {
			one := &page[i]
			if one.role == isValue {
				last, gap = i+1, 0
				rows++
				continue
			}
			if gap++; gap > maxGap || one.role == isHead && dated(one) || one.role == isText && !groupName(one) &&
				!leadsOn(page, i) {
				break
			}
		}
		if rows < minRows {
			at = last - 1
			continue
		}
		return above(page, from, at), last
	}
	return len(page), len(page)
}

// above returns the first line of the header above a row. Names of groups may stand between the header and
// the row.
func above(page []laid, from, at int) int {
	begin := at
	for i := at - 1; i >= from && at-i <= maxAbove; i-- {
		switch one := &page[i]; {
		case one.role == isHead:
			begin = i
		case one.role == isBlank, begin == at && groupName(one) && len(one.cells) == 1:
		case one.role == isText && namesColumns(one, &page[at]):
			begin = i
		default:
			return begin
		}
	}
	return begin
}

// namesColumns reports whether a line of words has one over each figure of a row, or stands to the right of
// the row's name.
func namesColumns(l, row *laid) bool {
	width := len(row.cells) - row.first
	return len(l.cells) > 1 && len(l.cells) <= width && l.cells[0].start >= 16 || len(l.cells) == width+1 && width > 1
}

// dated reports whether a header names a period, so that a table begins with it.
func dated(l *laid) bool {
	return slices.ContainsFunc(l.cells, func(c cell) bool { return !unitOnly(c.text) && headName(c.text) })
}

// groupName reports whether a line without figures can stand between rows.
func groupName(l *laid) bool {
	text := strings.TrimSpace(l.text)
	return len(text) <= maxGroup && (!strings.HasSuffix(text, ".") || len(text) < 40) && len(l.cells) <= 3
}

// leadsOn reports whether a long line is the beginning of the next row's name.
func leadsOn(page []laid, i int) bool {
	if i+1 >= len(page) || page[i+1].role != isValue || len(page[i].cells) > 1 {
		return false
	}
	text := strings.TrimSpace(page[i].text)
	return len(text) < maxLead || continues(text, page[i+1].cells[0].text)
}

// gridOf puts the cells of lines into columns: those of the rows with the most figures, matched by where they
// end, because figures are flush right. A row with fewer figures has those that clearly stand in one column.
func gridOf(lines []laid) [][]string {
	columns := columnsOf(lines)
	if len(columns) == 0 {
		return nil
	}
	first := slices.IndexFunc(lines, func(l laid) bool { return l.role == isValue })
	var grid [][]string
	for i := range first {
		if one := &lines[i]; one.role == isText && len(one.cells) == 1 { // a group, or the beginning of a name
			row := make([]string, len(columns)+1)
			row[0] = one.cells[0].text
			grid = append(grid, row)
		} else if row := columns.header(one.cells); row != nil {
			grid = append(grid, row)
		}
	}
	for i := first; i < len(lines); i++ {
		l := &lines[i]
		switch l.role {
		case isBlank:
		case isValue:
			row := columns.row(l)
			// The name of a row may begin on the line before, even above a blank line if it is unfinished.
			if last := len(grid) - 1; last >= 0 && blank(grid[last][1:]) &&
				(i > 0 && lines[i-1].role == isText && continues(grid[last][0], row[0]) ||
					row[0] != "" && unfinished.MatchString(grid[last][0])) {
				row[0] = grid[last][0] + " " + row[0]
				grid = grid[:last]
			}
			grid = append(grid, row)
		case isText, isHead:
			row := make([]string, len(columns)+1)
			row[0] = strings.Join(strings.Fields(l.text), " ")
			if last := len(grid) - 1; i > first && lines[i-1].role != isValue && last >= 0 && blank(grid[last][1:]) &&
				unfinished.MatchString(grid[last][0]) {
				row[0] = grid[last][0] + " " + row[0] // the name of a group on two lines
				grid = grid[:last]
			}
			grid = append(grid, row)
		}
	}
	return grid
}

// continues reports whether a row's name goes on in a second line.
func continues(first, second string) bool {
	return second != "" && !strings.HasSuffix(first, ":") && (unicode.IsLower([]rune(second)[0]) ||
		unfinished.MatchString(first))
}

// unfinished matches the end of a line that is continued on the next one.
var unfinished = regexp.MustCompile(`(?i)(?:[-–—(]|\b(?:of|and|to|for|from|in|the|net|or))\s*$`)

// columns are the columns of a table.
type columns []cell

// columnsOf returns the columns of lines: as many as the rows with the most figures have, unless there are
// few such rows.
func columnsOf(lines []laid) columns {
	counts := make(map[int]int)
	rows := 0
	for i := range lines {
		if lines[i].role == isValue {
			counts[len(lines[i].cells)-lines[i].first]++
			rows++
		}
	}
	width := 0
	for n, often := range counts {
		if n > width && (4*often >= rows || often >= 5) {
			width = n
		}
	}
	if width == 0 {
		return nil
	}
	starts, ends := make([][]int, width), make([][]int, width)
	for i := range lines {
		l := &lines[i]
		if l.role != isValue || len(l.cells)-l.first != width || l.first == 0 && len(ends[0]) > 0 {
			continue
		}
		for k, c := range l.cells[l.first:] {
			starts[k], ends[k] = append(starts[k], c.start), append(ends[k], c.end)
		}
	}
	all := make(columns, width)
	for k := range all {
		slices.Sort(starts[k])
		slices.Sort(ends[k])
		all[k] = cell{start: starts[k][0], end: ends[k][len(ends[k])/2]}
	}
	return all
}

// room returns how far the end of a cell may be from that of its column: a third of the distance to the next.
func (c columns) room() int {
	room := 14
	for k := 1; k < len(c); k++ {
		room = min(room, (c[k].end-c[k-1].end)/3)
	}
	return max(room, 2)
}

// row puts the figures of a line into columns.
func (c columns) row(l *laid) []string {
	row := make([]string, len(c)+1)
	label, cells := l.cells[:l.first], l.cells[l.first:]
	if extra := len(cells) - len(c); extra > 0 { // numbers of notes
		label, cells = l.cells[:l.first+extra], cells[extra:]
	}
	for _, one := range label {
		row[0] = strings.TrimSpace(row[0] + " " + one.text)
	}
	if len(cells) == len(c) && c.under(cells) {
		for k, one := range cells {
			row[k+1] = one.text
		}
		return row
	}
	for _, one := range cells {
		best := c.nearest(one.end, func(column cell) int { return column.end })
		// It belongs to no column, so it becomes text of the row's name.
		if d := one.end - c[best].end; max(d, -d) > c.room() || row[best+1] != "" {
			row[0] = strings.TrimSpace(row[0] + " " + one.text)
			continue
		}
		row[best+1] = one.text
	}
	return row
}

// under reports whether the figures stand in the columns in their order.
func (c columns) under(cells []cell) bool {
	for k, one := range cells {
		if !IsValue(one.text) || c.nearest(one.end, func(column cell) int { return column.end }) != k ||
			abs(one.end-c[k].end) > farOff {
			return false
		}
	}
	return true
}

// farOff is how far the end of a figure may be from that of its column if the row has one in each.
const farOff = 24

func (c columns) nearest(at int, of func(cell) int) int {
	best := 0
	for k := range c {
		if abs(of(c[k])-at) < abs(of(c[best])-at) {
			best = k
		}
	}
	return best
}

func abs(n int) int { return max(n, -n) }

// header puts the cells of a line above columns: each column gets the nearest one, and a line above all
// columns goes to each of them.
func (c columns) header(cells []cell) []string {
	if len(cells) == 0 {
		return nil
	}
	row := make([]string, len(c)+1)
	var over []cell
	for i, one := range cells {
		if i == 0 && (one.end < c[0].start || len(cells) > 1 && one.center() < c[0].start-8 && one.start < c[0].start/2) ||
			unitOnly(one.text) && len(cells) == 1 {
			row[0] = one.text
			continue
		}
		over = append(over, one)
	}
	switch {
	case len(over) == len(c):
		for k, one := range over {
			row[k+1] = one.text
		}
		return row
	case len(over) == 1 && (len(c) < 3 || ending(over[0].text)):
		for k := range c {
			row[k+1] = over[0].text
		}
		return row
	case len(over) == 0:
		return row
	}
	for k := range c {
		best := slices.MinFunc(over, func(a, b cell) int {
			return cmp.Compare(abs(a.center()-c[k].center()), abs(b.center()-c[k].center()))
		})
		row[k+1] = best.text
	}
	return row
}
