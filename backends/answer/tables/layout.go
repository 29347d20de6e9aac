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
		start, end := nextTable(page, i)
		paragraphs(&b, page[i:start])
		if end == start { // no further table
			break
		}
		if grid := gridOf(page[start:end]); len(grid) > 1 {
			b.WriteString("\n" + Markdown(grid) + "\n\n")
		} else {
			paragraphs(&b, page[start:end])
		}
		i = end
	}
	return strings.TrimSpace(b.String())
}

// unmarked returns a line of text without the "|" at its ends that would make it a row of a Markdown table.
func unmarked(line string) string {
	if line = strings.TrimLeft(strings.TrimSpace(line), "|"); IsRow(line) {
		line = strings.Trim(line, "|")
	}
	return line
}

// role is the role that a line may have in a table.
type role int

const (
	textLine  role = iota // no part of a table, or the name of a group of rows
	blankLine             // blank, or a horizontal rule
	headLine              // the header of columns
	valueLine             // a row with figures
)

// layoutLine is a line of a page with its cells. "Net sales    1,577    1,496" is a valueLine of three cells; the first
// figure is the cell with the index 1.
type layoutLine struct {
	text  string
	role  role
	cells []cell
	first int // the index of the first cell that is a figure, or -1
}

// cell is a cell of a line. It covers the characters of the line from start up to, but not including, end.
type cell struct {
	text       string
	start, end int
}

func (c cell) center() int { return (c.start + c.end) / 2 }

var (
	// leaders matches the dots between the name of a row and its figures.
	leaders = regexp.MustCompile(`(?:\s?\.){4,}`)
	// loneSign matches a cell that has only a currency sign or a bracket, which belong to the next figure.
	loneSign = regexp.MustCompile(`^[$€£¥(]{1,2}$`)
	// spacedClosing matches a closing bracket or per cent sign that spaces separate from its figure.
	spacedClosing = regexp.MustCompile(`(\d)(\s{1,4})(\)\s?%?|%)`)
	// nameAndAmount matches the name of a row together with its first figure.
	nameAndAmount = regexp.MustCompile(`^(.*\S)\s+([$€£¥] \s*[(\d—–-].*)$`)
	// severalFigures matches several figures with one space between them.
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
	headers, others := 0, 0 // the cells that can only be headers of columns, and those that cannot be part of a header
	for i, c := range l.cells {
		if isLayoutHeader(c.text) {
			headers++
		} else if i > 0 && !change.MatchString(c.text) {
			others++
		}
	}
	switch {
	// The line has figures after a name, or several figures without a name. A line that is a single number is text.
	case l.first > 0, l.first == 0 && len(l.cells) > 1 && IsValue(l.cells[1].text):
		l.role = valueLine
	// The line consists of headers alone, or of a text for the corner followed by headers.
	case headers > 0 && others == 0 && l.first < 0 &&
		(headers == len(l.cells) || len(l.cells) > 1 && len(l.cells[0].text) < 80):
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

// split returns the cells of a line, which are separated by two or more spaces, but not more than maxColumns.
func split(line string) []cell {
	var cells []cell
	runes := []rune(line)
	start, blanks := -1, 0   // the start of the current cell, or -1; the spaces right before the current character
	flush := func(end int) { // ends the current cell, if there is one
		if start >= 0 && len(cells) < maxColumns {
			cells = append(cells, cell{string(runes[start:end]), start, end})
		}
		start = -1
	}
	for i, r := range runes {
		if unicode.IsSpace(r) {
			if blanks++; blanks == 2 {
				flush(i - 1) // the cell ended before the first of the two spaces
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
	sign := cell{} // the currency sign for the next figure; there is none if its text is empty
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
		trailing := cell{} // a currency sign at the end of the cell, which belongs to the next figure
		if match := currencyAfter.FindStringIndex(c.text); match != nil {
			trailing = cell{strings.TrimSpace(c.text[match[0]:]), c.end - 1, c.end}
			c.text, c.end = c.text[:match[0]], c.end-len([]rune(c.text[match[0]:]))
		}
		switch m := nameAndAmount.FindStringSubmatch(c.text); {
		case severalFigures.MatchString(c.text): // "1,200 1,100"
			for _, piece := range pieces(c) {
				add(piece)
			}
		case m != nil && IsValue(m[2]): // "Net sales $ 1,200"
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

// pieces splits a cell with several figures, with one space between them, into a cell for each figure.
func pieces(c cell) []cell {
	var out []cell
	start := c.start
	for word := range strings.SplitSeq(c.text, " ") {
		end := start + len([]rune(word))
		switch last := len(out) - 1; {
		case word == "": // a further space
		case last >= 0 && loneSign.MatchString(out[last].text): // the word before was only "$"
			out[last].text, out[last].end = out[last].text+word, end
		default:
			out = append(out, cell{word, start, end})
		}
		start = end + 1
	}
	return out
}

// Bounds of a table in the text of a page.
const (
	maxGap   = 6   // the lines without figures between two rows
	maxGroup = 110 // the bytes of the name of a group of rows
	maxLead  = 160 // the bytes of a line that is right before a row and begins the row's name
	maxAbove = 12  // the lines of a header
	minRows  = 2   // the least number of rows with figures
)

// nextTable finds the next table in page[offset:]. It consists of the lines page[start:end]. If there is no table, both
// start and end are len(page).
func nextTable(page []layoutLine, offset int) (start, end int) {
	for row := offset; row < len(page); row++ {
		if page[row].role != valueLine {
			continue
		}
		rowsEnd, rows, gap := row+1, 1, 0
		for i := row + 1; i < len(page) && i-row < maxRows; i++ {
			line := &page[i]
			if line.role == valueLine {
				rowsEnd, gap = i+1, 0
				rows++
				continue
			}
			gap++
			beginsTable := line.role == headLine && namesPeriod(line)
			isProse := line.role == textLine && !isGroupName(line) && !beginsRowName(page, i)
			if gap > maxGap || beginsTable || isProse {
				break
			}
		}
		if rows < minRows { // a line of text with a number; search on after it
			row = rowsEnd - 1
			continue
		}
		return headerStart(page, offset, row), rowsEnd
	}
	return len(page), len(page)
}

// headerStart returns the index of the first line of the header above the line rowIndex, but not an index below offset.
// Without a header it returns rowIndex. Names of groups may be between the header and that line.
func headerStart(page []layoutLine, offset, rowIndex int) int {
	start := rowIndex
	for i := rowIndex - 1; i >= offset && rowIndex-i <= maxAbove; i-- {
		switch line := &page[i]; {
		case line.role == headLine:
			start = i
		// Blank lines may be within the header, and the name of a group may be between the header and the row. Such lines
		// belong to the table only if a line above them begins it.
		case line.role == blankLine, start == rowIndex && isGroupName(line) && len(line.cells) == 1:
		case line.role == textLine && namesColumns(line, &page[rowIndex]):
			start = i
		default:
			return start
		}
	}
	return start
}

// namesColumns reports whether line is a header in words for the columns of row. That is the case if line has as many
// cells as row. It is also the case if all cells of line are to the right of the row's name and line has no more
// cells than row has figures.
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

// gridOf returns the rows of a table with the name of the row in column 0. Its other columns are those of columnsOf; it
// returns nil if there are none. Figures are matched to columns by their right ends, because figures are flush right.
// In a row with fewer figures than columns, a figure that does not fit a column becomes text of the row's name.
func gridOf(lines []layoutLine) [][]string {
	columns := columnsOf(lines)
	if len(columns) == 0 {
		return nil
	}
	first := slices.IndexFunc(lines, func(l layoutLine) bool { return l.role == valueLine })
	var grid [][]string
	// The lines above the first row with figures are the header of the table.
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
		case blankLine: // not a row
		case valueLine:
			row := columns.row(l)
			// The name of a row may begin on the line before. If the beginning is unfinished, it may even be above a blank line.
			// That line is already in grid as a row without figures, which the row with the whole name replaces.
			if last := len(grid) - 1; last >= 0 && blank(grid[last][1:]) {
				lineBefore := grid[last][0]
				isAdjacent := i > 0 && lines[i-1].role == textLine
				if isAdjacent && continues(lineBefore, row[0]) || row[0] != "" && unfinished.MatchString(lineBefore) {
					row[0] = lineBefore + " " + row[0]
					grid = grid[:last]
				}
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

// continues reports whether the text of a line continues the text of the line before it, so that both are one name of a
// row: the line begins with a lower-case letter, or the line before it is unfinished. A line that ends with ":" is a
// heading, which is never continued.
func continues(lineBefore, line string) bool {
	if line == "" || strings.HasSuffix(lineBefore, ":") {
		return false
	}
	return unicode.IsLower([]rune(line)[0]) || unfinished.MatchString(lineBefore)
}

// unfinished matches the end of a line that is continued on the next one.
var unfinished = regexp.MustCompile(`(?i)(?:[-–—(]|\b(?:of|and|to|for|from|in|the|net|or))\s*$`)

// columns are the columns of figures of a table, from left to right. Their texts are not set.
type columns []cell

// columnsOf returns the columns of the figures in lines. To find the number of columns, it counts the figures of each
// row. It takes the largest such number that at least a quarter of the rows have, or at least five rows. Each column
// begins at the leftmost start and ends at the median end of its figures. columnsOf returns nil if lines have no row
// with figures.
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
		isUnnamed := l.first == 0
		if l.role != valueLine || len(l.cells)-l.first != width || isUnnamed && len(ends[0]) > 0 {
			continue // a row without a name is used only before all others
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

// tolerance returns how many characters the end of a cell may be from the end of its column: a third of the least
// distance between columns, but at least 2 and at most 14.
func (c columns) tolerance() int {
	limit := 14
	for k := 1; k < len(c); k++ {
		limit = min(limit, (c[k].end-c[k-1].end)/3)
	}
	return max(limit, 2)
}

// row returns the cells of a line with figures: its name followed by one cell for each column.
func (c columns) row(l *layoutLine) []string {
	row := make([]string, len(c)+1)
	label, cells := l.cells[:l.first], l.cells[l.first:]
	if extra := len(cells) - len(c); extra > 0 { // the surplus figures on the left are numbers of notes
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
		// If the figure belongs to no column, or its column is taken, it becomes text of the row's name.
		if abs(figure.end-c[best].end) > c.tolerance() || row[best+1] != "" {
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

// maxOffset is the largest distance, in characters, between the end of a figure and the end of its column if the row
// has a figure in each column.
const maxOffset = 24

// nearest returns the index of the column with the least distance between position and positionOf(column).
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

// header returns the cells of a line above the figures as a row: the text above the names of rows, followed by one
// header for each column. Each column gets the nearest cell, and a cell above all columns is repeated for each of them.
// header returns nil if the line has no cells.
func (c columns) header(cells []cell) []string {
	if len(cells) == 0 {
		return nil
	}
	row := make([]string, len(c)+1)
	var above []cell
	for i, head := range cells {
		// A first cell that is clearly left of the figures belongs above the names of rows, even if it reaches over the
		// first column.
		isLeft := head.end < c[0].start ||
			len(cells) > 1 && head.center() < c[0].start-8 && head.start < c[0].start/2
		if i == 0 && isLeft || isUnit(head.text) && len(cells) == 1 {
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
