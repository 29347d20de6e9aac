package tables

import (
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// minStacked is the least number of lines with a single figure and nothing else. A page with fewer such lines is not
// taken for a page that has each cell on a line.
const minStacked = 12

// isStacked reports whether a page has each cell on a line of its own: most lines with a figure contain nothing else.
func isStacked(lines []string) bool {
	lone, inRows := 0, 0
	for _, line := range lines {
		line = strings.TrimSpace(line)
		switch cells := split(line); {
		case IsValue(line):
			lone++
		case len(cells) > 1 && slices.ContainsFunc(cells[1:], func(c cell) bool { return IsValue(c.text) }):
			inRows++
		}
	}
	return lone >= minStacked && lone > 4*inRows
}

// fromStack converts tables with one cell on each line to Markdown tables. A line with a name begins a row, and the
// figures on the lines after it are the row's other cells. If the number of figures differs from the number of columns
// in the header, the row is written as text, because it is not known which cells are missing.
func fromStack(lines []string) string {
	s := stack{}
	for _, line := range lines {
		s.add(strings.TrimSpace(line))
	}
	s.endRow()
	s.endTable()
	return strings.TrimSpace(s.text.String())
}

// stack is the state of fromStack. It reads lines such as "2019", "2018", "Net sales", "$", "1,577", "1,496": first the
// header, then for each row its name and its figures.
type stack struct {
	text  strings.Builder // the text and tables that are complete
	heads []string        // the cells of the header of the current table
	grid  [][]string      // the rows of the current table, without its header
	width int             // the number of columns that heads name; 0 if it is not known yet
	label string          // the name of the current row
	cells []string        // the figures of the current row
	sign  string          // a currency sign or bracket on a line of its own, for the next figure
}

// add reads the next line.
func (s *stack) add(line string) {
	switch {
	case line == "": // blank lines have no meaning here
	case loneSign.MatchString(line):
		s.sign = line
	case line == ")" || line == "%" || line == ")%":
		if n := len(s.cells); n > 0 {
			s.cells[n-1] += line
		}
	case IsValue(strings.TrimLeft(line, "$ ")):
		s.cells = append(s.cells, s.sign+line)
		s.sign = ""
	// A header, or a short text such as "Change" between headers.
	case isLayoutHeader(line), len(s.heads) > 0 && s.label == "" && len(line) < 20 && change.MatchString(line):
		s.endRow()
		if len(s.grid) > 0 { // a header after rows begins the next table
			s.endTable()
		}
		s.heads = append(s.heads, line)
	default:
		s.endRow()
		s.label = line
	}
}

// endRow ends the current row, if there is one. A row with a figure for each column is added to the table. A row with
// fewer or more figures and a short label is added as text, without separate cells. Other rows, and rows without a
// header above them, end the table and are written as text.
func (s *stack) endRow() {
	label, cells := s.label, s.cells
	s.label, s.cells, s.sign = "", nil, ""
	if label == "" && len(cells) == 0 {
		return
	}
	if s.width == 0 {
		s.width = len(columnsNamed(s.heads))
	}
	switch {
	case s.width > 0 && len(cells) == s.width && label != "":
		s.grid = append(s.grid, append([]string{label}, cells...))
	case s.width > 0 && len(strings.Fields(label)) <= 16 && len(s.grid) < maxRows:
		row := make([]string, s.width+1)
		row[0] = strings.TrimSpace(label + " " + strings.Join(cells, " "))
		s.grid = append(s.grid, row)
	default:
		s.endTable()
		s.text.WriteString(unmarked(label+" "+strings.Join(cells, " ")) + "\n")
	}
}

// endTable writes the current table as Markdown. If it has fewer than minRows rows with figures, its header and rows
// are written as text.
func (s *stack) endTable() {
	rows := 0
	for _, row := range s.grid {
		if !blank(row[1:]) {
			rows++
		}
	}
	if rows >= minRows {
		end := len(s.grid)
		for end > 0 && blank(s.grid[end-1][1:]) { // rows at the end without figures are headings of the next table
			end--
		}
		header := append([]string{unitOf(s.heads)}, columnsNamed(s.heads)...)
		s.text.WriteString("\n" + Markdown(append([][]string{header}, s.grid[:end]...)) + "\n\n")
		s.grid = s.grid[end:] // the headings
	} else {
		s.text.WriteString(strings.Join(s.heads, "\n") + "\n")
	}
	for _, row := range s.grid { // rows that are in no table
		s.text.WriteString(unmarked(strings.Join(row, " ")) + "\n")
	}
	s.heads, s.grid, s.width = nil, nil, 0
}

// unitOf returns the units among the cells of a header.
func unitOf(cells []string) string {
	units := slices.DeleteFunc(slices.Clone(cells), func(cell string) bool { return !isUnit(cell) })
	return strings.Join(units, " ")
}

// columnsNamed returns the headers of the columns that the cells of a header name, such as years and dates. A lead
// among the cells, such as "Years ended", names no column; it is put in front of the headers of its columns. If there
// are several leads, each belongs to the same number of columns.
func columnsNamed(cells []string) []string {
	var leads, columns []string
	for _, cell := range cells {
		switch {
		case leadsToYear(cell) && len(metrics.Periods(cell)) == 0:
			leads = append(leads, cell)
		case isUnit(cell): // it names no column
		default:
			columns = append(columns, cell)
		}
	}
	// "Three months ended" and "June 30," are joined into one lead. Leads with the same first letter are not joined, so
	// that "Years ended" and "Years ended" remain two leads.
	var joined []string
	for _, lead := range leads {
		if n := len(joined); n > 0 && lead[0] != joined[n-1][0] &&
			strings.HasSuffix(strings.ToLower(strings.TrimRight(joined[n-1], " ")), "ended") {
			joined[n-1] += " " + lead
			continue
		}
		joined = append(joined, lead)
	}
	if len(joined) > 0 && len(columns)%len(joined) == 0 {
		perLead := len(columns) / len(joined) // all leads come first; each belongs to perLead columns, in their order
		for i := range columns {
			columns[i] = joined[i/perLead] + " " + columns[i]
		}
	}
	return columns
}
