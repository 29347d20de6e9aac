package tables

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// Table is a table in which figures can be looked up: Figure(r, c) is the figure in row r of Rows and column c of
// Columns. The documentation of the package has an example with the names of its parts.
type Table struct {
	// Caption is the text right before the table, followed by a heading in its first row. After is the line of text
	// after the table.
	Caption, After string
	// Above are the last lines before the table, back to the previous table, but not more than linesAbove.
	Above []string
	// Corner is the text above the names of rows: often a unit, or "As of December 31,".
	Corner  string
	Columns []Column // without the column of the rows' names
	Rows    []Row
	// HeaderRows is how many of the first rows are headers. They are not in Rows.
	HeaderRows int
	// Units apply to all columns that state no units themselves.
	Units figures.Units
}

// Column is a column of figures, such as {Header: "2019", Period: the year 2019}.
type Column struct {
	Header string // all cells above the column, joined by spaces: "Years ended December 31, 2019"
	// Period is the period of the column's figures, or zero if the header names no period.
	Period kernel.Period
	// Change reports that the column compares other columns: a difference, or a share. Such a column has no Period.
	Change bool
	Units  figures.Units // those that the header states
}

// Row is a row of a table with at least one cell beside its label, such as {Label: "Automotive", Group: "Net sales",
// Cells: ["1,200", "1,100", "9 %"]}.
type Row struct {
	Label string
	// Group is the heading above the row, a row without figures. It may be empty.
	Group string
	// Period is the period that the row's label or its group names, or zero.
	Period kernel.Period
	Cells  []string // one per column
}

// Parse returns the first table of a Markdown text, or nil if the text has no table.
func Parse(text string) *Table {
	all := ParseAll(text, 1)
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

// ParseAll returns the tables of a Markdown text, at most limit.
func ParseAll(text string, limit int) []*Table {
	var found []*Table
	lines := strings.Split(text, "\n")
	var above []string
	for i := 0; i < len(lines) && len(found) < limit; i++ {
		if !IsRow(lines[i]) {
			if line := strings.TrimSpace(lines[i]); line != "" {
				above = append(above, line)
			}
			continue
		}
		start := i
		for i < len(lines) && IsRow(lines[i]) {
			i++
		}
		followingText := ""
		for _, line := range lines[i:min(i+3, len(lines))] {
			if line = strings.TrimSpace(line); line != "" && !IsRow(line) {
				followingText = line
				break
			}
		}
		caption := ""
		if n := len(above); n > 0 {
			caption = above[n-1]
		}
		t := New(rowsOf(lines[start:i]), caption, followingText)
		t.Above = above[max(len(above)-linesAbove, 0):]
		found = append(found, t)
		// The loop now skips lines[i]: the line directly below a table is not above the next one.
		above = nil
	}
	return found
}

// linesAbove is the largest number of lines in Table.Above.
const linesAbove = 12

// New returns a table with the given rows of cells, headers included. caption and followingText are the lines of text
// before and after the table. New pads short rows in place.
func New(rows [][]string, caption, followingText string) *Table {
	t := &Table{Caption: strings.Trim(caption, "#* "), After: followingText}
	width := widthOf(rows)
	if width == 0 {
		return t
	}
	for i, row := range rows {
		if len(row) < width {
			rows[i] = append(slices.Clip(row), make([]string, width-len(row))...)
		}
	}
	t.HeaderRows = countHeaderRows(rows)
	t.setColumns(rows[:t.HeaderRows], width)
	t.setUnits(rows[:t.HeaderRows])
	group := ""
	var groupPeriod kernel.Period
	for _, row := range rows[t.HeaderRows:] {
		label := row[0]
		if blank(row[1:]) { // a heading, which begins a group, or an empty row
			if label != "" {
				group = strings.TrimSuffix(label, ":")
				groupPeriod = period(label)
			}
			continue
		}
		r := Row{Label: label, Group: group, Period: period(label), Cells: row[1:]}
		if !r.Period.Known() {
			r.Period = rowPeriod(label, groupPeriod)
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

// countHeaderRows returns the number of rows at the beginning that name columns, at most seven.
func countHeaderRows(rows [][]string) int {
	n := 0
	for i, row := range rows {
		if i == 7 || !isHeaderRow(row, i) {
			break
		}
		n = i + 1
	}
	return min(n, len(rows)-1) // a table is more than its header
}

// isHeaderRow reports whether row, the row with the index i, names columns.
func isHeaderRow(row []string, i int) bool {
	if i == 0 {
		return !slices.ContainsFunc(row[1:], IsValue)
	}
	label, cells := row[0], row[1:]
	if blank(cells) {
		return label == "" || isUnit(label)
	}
	// Below the first row, any words may name a column only if the row has no label. A row with a label is a header only
	// if its cells are years, dates or units.
	return !slices.ContainsFunc(cells, func(cell string) bool {
		mayBeWords := (label == "" || isUnit(label)) && !IsValue(cell)
		return cell != "" && !isHeaderCell(cell) && !mayBeWords
	})
}

var (
	// figure matches a cell with a number in a form that reports print.
	figure = regexp.MustCompile(`^[-−–(]?\s*(?:[A-Z]{0,3}\s?[$€£¥])?\s*[-−–(]?\s*\d[\d,.\x{2024}\s]*\)?\s*(?:%|x|bps?|pts?|million|billion|thousand|m|bn|k)?\s*\)?\s*(?:\(\w{1,2}\))?$`)
	// unitCell matches a cell of words that belong to units, such as "(in millions, except per share data)".
	unitCell = regexp.MustCompile(`(?i)^[^\w%$€£¥]*(?:(?:u\.?s\.?d?|us|nt|s|a|c|hk|rmb|usd|eur|gbp|chf|cad|aud|in|of|the|as|are|amounts?|dollars?|canadian|nt dollars|except|and|per|share|shares?|data|percentages?|number|no|note|notes|million|millions|thousands?|billions?|m|mn|bn|k|000|euros?|units?|restated\d?|see|unaudited|[$€£¥%’',./()-])[^\w%$€£¥]*)+$`)
)

// IsValue reports whether a cell is a figure and not a year. A dash is a figure.
func IsValue(cell string) bool {
	cell = strings.TrimSpace(cell)
	switch cell {
	case "-", "—", "–", "$—", "$-", "$ —", "- -":
		return true
	}
	if len(cell) > 60 || !strings.ContainsAny(cell, "0123456789") {
		return false
	}
	return figure.MatchString(cell) && !yearCell.MatchString(cell)
}

// yearCell matches a year, possibly with the mark of a footnote.
var yearCell = regexp.MustCompile(`^(?:19|20)\d\d\s*(?:\(\w{1,2}\))?\*?$`)

// isHeaderCell reports whether a cell can only be the header of a column: a year, a date, a unit.
func isHeaderCell(cell string) bool {
	return yearCell.MatchString(cell) || isUnit(cell) || leadsToYear(cell) ||
		!IsValue(cell) && len(metrics.Periods(cell)) > 0
}

// isUnit reports whether a text is a unit and nothing else.
func isUnit(text string) bool { return len(text) < 120 && unitCell.MatchString(text) }

// blank reports whether all cells are empty.
func blank(cells []string) bool {
	return !slices.ContainsFunc(cells, func(cell string) bool { return cell != "" })
}

// setColumns sets Columns and Corner from rows, the headers of the table. It adds a heading in the first row to
// Caption. width is the number of cells of a row.
func (t *Table) setColumns(rows [][]string, width int) {
	names := make([][]string, width) // for each column, the texts above it from top to bottom
	cornerText := ""                 // the text of the corner without units
	for i, row := range rows {
		first := row[0]
		isText := first != "" && !isUnit(first)
		if isText {
			cornerText = strings.TrimSpace(cornerText + " " + first)
		}
		isHeading := i == 0 && isText && blank(row[1:]) && len(rows) > 1 && !leadsToYear(first) &&
			len(metrics.Periods(first)) == 0
		if isHeading { // of the whole table
			t.Caption = strings.TrimSpace(t.Caption + " " + first)
			continue
		}
		if first != "" {
			t.Corner = strings.TrimSpace(t.Corner + " " + first)
		}
		if blank(row[1:]) {
			continue
		}
		for column, cell := range spread(row, i == len(rows)-1) {
			if row[column] == "" && change.MatchString(cell) && period(rows[len(rows)-1][column]).Known() {
				continue // a spread heading such as "Change" does not apply to a column of a year
			}
			isRepeated := len(names[column]) > 0 && names[column][len(names[column])-1] == cell
			if cell != "" && column > 0 && !isRepeated {
				names[column] = append(names[column], cell)
			}
		}
	}
	t.Columns = make([]Column, width-1)
	for i := range t.Columns {
		c := &t.Columns[i]
		c.Header = strings.Join(names[i+1], " ")
		c.Change = change.MatchString(c.Header)
		if c.Change {
			continue
		}
		c.Period = period(c.Header)
		if t.Corner != "" && c.Period.Known() { // such as "As of December 31," in the corner and "2019" above the column
			c.Period = withLastDay(cornerText, c.Period)
		}
	}
}

// leadsToYear reports whether a text is to be followed by a year, such as "Years ended December 31,".
func leadsToYear(text string) bool { return leading.MatchString(text) }

var (
	// leading matches the end of a text that a year follows.
	leading = regexp.MustCompile(`(?i)(?:\bended|\bending|\bas (?:of|at)|\bfiscal(?: years?)?|(?:january|february|march|april|may|june|july|august|september|october|november|december)\s*\d{0,2})[\s,:]*$`)
	// change matches the header of a column that compares other columns.
	change = regexp.MustCompile(`(?i)\b(?:change|variance|variation|increase|decrease|growth|vs\.?|versus|over)\b|[%$] ?chg|yr\.-to-yr`)
)

// spread copies each header into the empty cells to its right, up to the next header. The first header is also copied
// into the empty cells to its left, except column 0. spread returns row unchanged if no cell is empty, or if row is the
// last row of headers (last) and has several headers.
func spread(row []string, last bool) []string {
	var heads []int
	for i := 1; i < len(row); i++ {
		if row[i] != "" {
			heads = append(heads, i)
		}
	}
	if len(heads) == len(row)-1 || last && len(heads) > 1 {
		return row
	}
	out := make([]string, len(row))
	for k, index := range heads {
		start, end := index, len(row)
		if k == 0 {
			start = 1
		}
		if k+1 < len(heads) {
			end = heads[k+1]
		}
		for i := start; i < end; i++ {
			out[i] = row[index]
		}
	}
	return out // out[0] is empty
}

// period returns the period that a header names. It returns the zero Period if the header names none, or several that
// differ, such as "2019 2018".
func period(text string) kernel.Period {
	found := metrics.Periods(text)
	switch {
	case len(found) == 1:
		return withLastDay(text[:found[0].Start], found[0].Period)
	case len(found) == 2 && found[0].Period.MayEqual(found[1].Period): // "Fiscal 2019 June 1, 2019"
		p := found[0].Period
		if p.End == "" {
			p.End = found[1].Period.End
		}
		return p
	}
	return kernel.Period{}
}

// withLastDay returns the year p with its last day if the text in front of the year names the day, such as "Years ended
// December 31," in front of "2019".
func withLastDay(prefix string, p kernel.Period) kernel.Period {
	if p.End != "" || p.Year == 0 || p.Quarter != 0 {
		return p
	}
	full := metrics.Periods(strings.TrimRight(prefix, " ,:") + ", " + strconv.Itoa(p.Year))
	if len(full) == 1 && full[0].Period.End != "" {
		return full[0].Period
	}
	if lower := strings.ToLower(prefix); p.Months == 0 &&
		(strings.Contains(lower, "year") || strings.Contains(lower, "fiscal")) {
		p.Months = 12
	}
	return p
}

// rowPeriod returns the period of a row whose label names none by itself. A row such as "Fourth Quarter" in a group of
// the year 2019 is a quarter of that year. Other rows have the period of the group.
func rowPeriod(label string, group kernel.Period) kernel.Period {
	if year := group.AnyYear(); year != 0 && strings.Contains(strings.ToLower(label), "quarter") {
		return period(label + " " + strconv.Itoa(year))
	}
	return group
}
