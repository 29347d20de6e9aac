package tables

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// FromText converts the text of a page to Markdown. Tables in the text have columns separated by spaces, as in plain
// text reports and in PDFs with their layout. In PDFs without their layout each cell is on a line of its own.
func FromText(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\t", "    "), "\n")
	if isStacked(lines) {
		return fromStack(lines)
	}
	page := make([]layoutLine, len(lines))
	for i, line := range lines {
		page[i] = parseLine(line)
	}
	var b strings.Builder
	for i := 0; i < len(page); {
		begin, end := nextTable(page, i)
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

// unmarked returns a line of text without bars at its ends that would make it a row of a Markdown table.
func unmarked(line string) string {
	if line = strings.TrimLeft(strings.TrimSpace(line), "|"); IsRow(line) {
		line = strings.Trim(line, "|")
	}
	return line
}

// role is the role that a line may have in a table.
type role int

const (
	textLine  role = iota // no part of a table, or the name of a group
	blankLine             // blank, or a rule
	headLine              // names columns
	valueLine             // a row with figures
)

// layoutLine is a line with its cells.
type layoutLine struct {
	text  string
	role  role
	cells []cell
	first int // the index of the first cell that is a figure
}

// cell is a cell of a line with the character columns from start up to end.
type cell struct {
	text       string
	start, end int
}

func (c cell) center() int { return (c.start + c.end) / 2 }

var (
	leaders        = regexp.MustCompile(`(?:\s?\.){4,}`)
	loneSign       = regexp.MustCompile(`^[$€£¥(]{1,2}$`)
	spacedClosing  = regexp.MustCompile(`(\d)(\s{1,4})(\)\s?%?|%)`)
	nameAndAmount  = regexp.MustCompile(`^(.*\S)\s+([$€£¥] \s*[(\d—–-].*)$`)
	severalFigures = regexp.MustCompile(`^(?:[$€£¥]?\s?\(?\d[\d,.]*\)?%?|[—–-])(?:\s(?:[$€£¥]?\s?\(?\d[\d,.]*\)?%?|[—–-]))+$`)
	currencyAfter  = regexp.MustCompile(`\s+([$€£¥])\s?$`)
	currencyBefore = regexp.MustCompile(`^([$€£¥])\s+`)
)

// parseLine splits a line into cells at two or more spaces, and determines its role.
func parseLine(line string) layoutLine {
	l := layoutLine{text: line}
	if strings.Trim(line, " -=_–—") == "" {
		l.role = blankLine
		return l
	}
	line = leaders.ReplaceAllStringFunc(line, func(s string) string { return strings.Repeat(" ", len(s)) })
	line = spacedClosing.ReplaceAllString(line, "$1$3$2")
	l.cells = joinSigns(split(line))
	l.first = slices.IndexFunc(l.cells, func(c cell) bool { return IsValue(c.text) })
	headers := 0
	for i, c := range l.cells {
		if isLayoutHeader(c.text) {
			headers++
		} else if i > 0 && !change.MatchString(c.text) {
			headers = -len(l.cells)
		}
	}
	switch {
	case l.first > 0, l.first == 0 && len(l.cells) > 1 && IsValue(l.cells[1].text):
		l.role = valueLine
	case headers > 0 && l.first < 0 && (headers == len(l.cells) || len(l.cells) > 1 && len(l.cells[0].text) < 80):
		l.role = headLine
	}
	return l
}

// isLayoutHeader reports whether a cell can only be the header of a column: a period and nothing else, words before a
// period such as "Years ended", or a unit.
func isLayoutHeader(text string) bool {
	return isUnit(text) || yearCell.MatchString(text) || len(text) < 80 && PeriodOnly(text) && !IsValue(text) &&
		(leadsToYear(text) || len(metrics.Periods(text)) > 0)
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

// joinSigns joins currency signs to the next figure if they are cells of their own or at the end of a cell. It also
// splits cells that contain several figures.
func joinSigns(cells []cell) []cell {
	var out []cell
	sign := cell{}
	add := func(c cell) {
		c.text = currencyBefore.ReplaceAllString(c.text, "$1")
		if sign.text != "" && startsNumber(c.text) {
			c.text, c.start = sign.text+c.text, sign.start
		}
		sign = cell{}
		out = append(out, c)
	}
	for _, c := range cells {
		if loneSign.MatchString(c.text) {
			sign = c
			continue
		}
		trailing := cell{}
		if match := currencyAfter.FindStringIndex(c.text); match != nil {
			trailing = cell{strings.TrimSpace(c.text[match[0]:]), c.end - 1, c.end}
			c.text, c.end = c.text[:match[0]], c.end-len([]rune(c.text[match[0]:]))
		}
		switch m := nameAndAmount.FindStringSubmatch(c.text); {
		case severalFigures.MatchString(c.text):
			for _, piece := range pieces(c) {
				add(piece)
			}
		case m != nil && IsValue(m[2]):
			start := c.end - len([]rune(m[2]))
			add(cell{m[1], c.start, c.start + len([]rune(m[1]))})
			add(cell{m[2], start, c.end})
		default:
			add(c)
		}
		if trailing.text != "" {
			sign = trailing
		}
	}
	return out
}

// pieces returns the figures in a cell that are separated by one space.
func pieces(c cell) []cell {
	var out []cell
	start := c.start
	for word := range strings.SplitSeq(c.text, " ") {
		end := start + len([]rune(word))
		switch last := len(out) - 1; {
		case word == "":
		case last >= 0 && loneSign.MatchString(out[last].text):
			out[last].text, out[last].end = out[last].text+word, end
		default:
			out = append(out, cell{word, start, end})
		}
		start = end + 1
	}
	return out
}

// Bounds of the text between two rows of one table.
const (
	maxGap   = 6   // in lines without figures
	maxGroup = 110 // of the name of a group, in letters
	maxLead  = 160 // of a line right before a row, in letters
	maxAbove = 12  // of a header, in lines
	minRows  = 2
)

// nextTable returns the next table at or after the line from: the lines from begin up to end. If there is no table,
// begin and end are equal.
func nextTable(page []layoutLine, from int) (begin, end int) {
	for row := from; row < len(page); row++ {
		if page[row].role != valueLine {
			continue
		}
		last, rows, gap := row+1, 1, 0
		for i := row + 1; i < len(page) && i-row < maxRows; i++ {
			line := &page[i]
			if line.role == valueLine {
				last, gap = i+1, 0
				rows++
				continue
			}
			if gap++; gap > maxGap || line.role == headLine && namesPeriod(line) || line.role == textLine &&
				!isGroupName(line) && !beginsRowName(page, i) {
				break
			}
		}
		if rows < minRows {
			row = last - 1
			continue
		}
		return headerStart(page, from, row), last
	}
	return len(page), len(page)
}

// headerStart returns the first line of the header above a row, but not a line before from. Names of groups may be
// between the header and the row.
func headerStart(page []layoutLine, from, row int) int {
	begin := row
	for i := row - 1; i >= from && row-i <= maxAbove; i-- {
		switch line := &page[i]; {
		case line.role == headLine:
			begin = i
		case line.role == blankLine, begin == row && isGroupName(line) && len(line.cells) == 1:
		case line.role == textLine && namesColumns(line, &page[row]):
			begin = i
		default:
			return begin
		}
	}
	return begin
}

// namesColumns reports whether line is a header of words for row: it has as many cells as the row, or at most one for
// each figure, to the right of the row's name.
func namesColumns(line, row *layoutLine) bool {
	width := len(row.cells) - row.first
	n := len(line.cells)
	return n > 1 && n <= width && line.cells[0].start >= 16 || n == width+1 && width > 1
}

// namesPeriod reports whether a header names a period, so that a new table begins with it.
func namesPeriod(l *layoutLine) bool {
	return slices.ContainsFunc(l.cells, func(c cell) bool { return !isUnit(c.text) && isLayoutHeader(c.text) })
}

// isGroupName reports whether a line without figures may be between the rows of a table.
func isGroupName(l *layoutLine) bool {
	text := strings.TrimSpace(l.text)
	return len(text) <= maxGroup && (!strings.HasSuffix(text, ".") || len(text) < 40) && len(l.cells) <= 3
}

// beginsRowName reports whether line i is the beginning of the next row's name, although it is long.
func beginsRowName(page []layoutLine, i int) bool {
	if i+1 >= len(page) || page[i+1].role != valueLine || len(page[i].cells) > 1 {
		return false
	}
	text := strings.TrimSpace(page[i].text)
	return len(text) < maxLead || continues(text, page[i+1].cells[0].text)
}

// gridOf puts the cells of lines into the columns of the rows with the most figures. Cells are matched by their ends,
// because figures are flush right. In a row with fewer figures, a figure that does not fit a column becomes text of the
// row's name.
func gridOf(lines []layoutLine) [][]string {
	columns := columnsOf(lines)
	if len(columns) == 0 {
		return nil
	}
	first := slices.IndexFunc(lines, func(l layoutLine) bool { return l.role == valueLine })
	var grid [][]string
	for i := range first {
		if line := &lines[i]; line.role == textLine && len(line.cells) == 1 { // a group, or the beginning of a name
			row := make([]string, len(columns)+1)
			row[0] = line.cells[0].text
			grid = append(grid, row)
		} else if row := columns.header(line.cells); row != nil {
			grid = append(grid, row)
		}
	}
	for i := first; i < len(lines); i++ {
		l := &lines[i]
		switch l.role {
		case blankLine:
		case valueLine:
			row := columns.row(l)
			// The name of a row may begin on the line before, even above a blank line if it is unfinished.
			if last := len(grid) - 1; last >= 0 && blank(grid[last][1:]) &&
				(i > 0 && lines[i-1].role == textLine && continues(grid[last][0], row[0]) ||
					row[0] != "" && unfinished.MatchString(grid[last][0])) {
				row[0] = grid[last][0] + " " + row[0]
				grid = grid[:last]
			}
			grid = append(grid, row)
		case textLine, headLine:
			row := make([]string, len(columns)+1)
			row[0] = strings.Join(strings.Fields(l.text), " ")
			if last := len(grid) - 1; i > first && lines[i-1].role != valueLine && last >= 0 && blank(grid[last][1:]) &&
				unfinished.MatchString(grid[last][0]) {
				row[0] = grid[last][0] + " " + row[0] // the name of a group on two lines
				grid = grid[:last]
			}
			grid = append(grid, row)
		}
	}
	return grid
}

// continues reports whether a row's name that begins with first goes on with second, the text at the beginning of the
// next line.
func continues(first, second string) bool {
	return second != "" && !strings.HasSuffix(first, ":") && (unicode.IsLower([]rune(second)[0]) ||
		unfinished.MatchString(first))
}

// unfinished matches the end of a line that is continued on the next one.
var unfinished = regexp.MustCompile(`(?i)(?:[-–—(]|\b(?:of|and|to|for|from|in|the|net|or))\s*$`)

// columns are the columns of a table.
type columns []cell

// columnsOf returns the columns of lines. Their number is the number of figures in the rows with the most figures,
// unless there are few such rows.
func columnsOf(lines []layoutLine) columns {
	counts := make(map[int]int)
	rows := 0
	for i := range lines {
		if lines[i].role == valueLine {
			counts[len(lines[i].cells)-lines[i].first]++
			rows++
		}
	}
	width := 0
	for n, count := range counts {
		if n > width && (4*count >= rows || count >= 5) {
			width = n
		}
	}
	if width == 0 {
		return nil
	}
	starts, ends := make([][]int, width), make([][]int, width)
	for i := range lines {
		l := &lines[i]
		if l.role != valueLine || len(l.cells)-l.first != width || l.first == 0 && len(ends[0]) > 0 {
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

// tolerance returns how far the end of a cell may be from the end of its column: a third of the distance between
// columns.
func (c columns) tolerance() int {
	limit := 14
	for k := 1; k < len(c); k++ {
		limit = min(limit, (c[k].end-c[k-1].end)/3)
	}
	return max(limit, 2)
}

// row puts the figures of a line into columns.
func (c columns) row(l *layoutLine) []string {
	row := make([]string, len(c)+1)
	label, cells := l.cells[:l.first], l.cells[l.first:]
	if extra := len(cells) - len(c); extra > 0 { // numbers of notes
		label, cells = l.cells[:l.first+extra], cells[extra:]
	}
	for _, cell := range label {
		row[0] = strings.TrimSpace(row[0] + " " + cell.text)
	}
	if len(cells) == len(c) && c.oneInEach(cells) {
		for k, cell := range cells {
			row[k+1] = cell.text
		}
		return row
	}
	for _, figure := range cells {
		best := c.nearest(figure.end, func(column cell) int { return column.end })
		// The figure belongs to no column, so it becomes text of the row's name.
		if d := figure.end - c[best].end; max(d, -d) > c.tolerance() || row[best+1] != "" {
			row[0] = strings.TrimSpace(row[0] + " " + figure.text)
			continue
		}
		row[best+1] = figure.text
	}
	return row
}

// oneInEach reports whether cells contain one figure for each column, in the order of the columns.
func (c columns) oneInEach(cells []cell) bool {
	for k, figure := range cells {
		if !IsValue(figure.text) || c.nearest(figure.end, func(column cell) int { return column.end }) != k ||
			abs(figure.end-c[k].end) > maxOffset {
			return false
		}
	}
	return true
}

// maxOffset is how far the end of a figure may be from the end of its column if the row has a figure in each column.
const maxOffset = 24

func (c columns) nearest(position int, positionOf func(cell) int) int {
	best := 0
	for k := range c {
		if abs(positionOf(c[k])-position) < abs(positionOf(c[best])-position) {
			best = k
		}
	}
	return best
}

func abs(n int) int { return max(n, -n) }

// header puts the cells of a line above columns. Each column gets the nearest cell, and a cell above all columns is
// repeated for each of them.
func (c columns) header(cells []cell) []string {
	if len(cells) == 0 {
		return nil
	}
	row := make([]string, len(c)+1)
	var above []cell
	for i, head := range cells {
		if i == 0 && (head.end < c[0].start || len(cells) > 1 && head.center() < c[0].start-8 && head.start < c[0].start/2) ||
			isUnit(head.text) && len(cells) == 1 {
			row[0] = head.text
			continue
		}
		above = append(above, head)
	}
	switch {
	case len(above) == len(c):
		for k, head := range above {
			row[k+1] = head.text
		}
		return row
	case len(above) == 1 && (len(c) < 3 || leadsToYear(above[0].text)):
		for k := range c {
			row[k+1] = above[0].text
		}
		return row
	case len(above) == 0:
		return row
	}
	for k := range c {
		best := slices.MinFunc(above, func(a, b cell) int {
			return cmp.Compare(abs(a.center()-c[k].center()), abs(b.center()-c[k].center()))
		})
		row[k+1] = best.text
	}
	return row
}
