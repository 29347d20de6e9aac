package resource

import (
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/instant"
)

// Cell is the content of a row in a column. The zero value is empty.
type Cell struct {
	Kind  string // text, note, link, tag, time, count, code or several
	Text  string
	Path  string // path of a link
	Class string // class of a tag
	At    instant.Moment
	N     int64
	Cells []Cell
}

// Text returns a cell with a text.
func Text(text string) Cell { return Cell{Kind: "text", Text: text} }

// Note returns a cell with a text that is shown as less important.
func Note(text string) Cell { return Cell{Kind: "note", Text: text} }

// Link returns a cell with a text that links to a path of the site.
func Link(path, text string) Cell { return Cell{Kind: "link", Path: path, Text: text} }

// Code returns a cell with a text for programs, such as a path or a scope.
func Code(text string) Cell { return Cell{Kind: "code", Text: text} }

// Time returns a cell with a time. Zero is shown as never.
func Time(moment instant.Moment) Cell { return Cell{Kind: "time", At: moment} }

// Count returns a cell with a number.
func Count(n int64) Cell { return Cell{Kind: "count", N: n} }

// Tag returns a cell with the state of a row. class sets its look: "held" for a state of waiting, "gone" for an ended
// row, or "".
func Tag(text, class string) Cell { return Cell{Kind: "tag", Text: text, Class: class} }

// Cells returns a cell that shows several cells side by side, without the empty ones.
func Cells(cells ...Cell) Cell {
	several := Cell{Kind: "several"}
	for _, cell := range cells {
		if cell.Kind != "" {
			several.Cells = append(several.Cells, cell)
		}
	}
	return several
}

// If returns the cell if the condition holds, and an empty one otherwise.
func (c Cell) If(condition bool) Cell {
	if !condition {
		return Cell{}
	}
	return c
}

// Plain returns the cell as plain text, for CSV files.
func (c Cell) Plain() string {
	switch c.Kind {
	case "time":
		if c.At == 0 {
			return ""
		}
		return c.At.Time().UTC().Format(time.RFC3339)
	case "count":
		return strconv.FormatInt(c.N, 10)
	case "several":
		texts := make([]string, len(c.Cells))
		for i, cell := range c.Cells {
			texts[i] = cell.Plain()
		}
		return strings.Join(texts, " ")
	}
	return c.Text
}

// Column is a column of a table. Exactly one of Show, Text, Code, Count and Time is set and returns a row's content.
type Column[R any] struct {
	Label string
	Show  func(R) Cell
	Text  func(R) string
	Code  func(R) string
	Count func(R) int64
	Time  func(R) instant.Moment
	// Sort is the word that stands for the order by this column in the URL of a list. It is empty if the database has no
	// index for that order. The initial order is that of the first column with such a word.
	Sort string
	// Down means that the order is descending.
	Down bool
}

// Table is an additional table on the page of a list or form, with rows that belong to the subject of the page.
type Table[R any] struct {
	Title   string
	Empty   string // shown for a table without rows
	Columns []Column[R]
}

// Of returns the table filled with rows.
func (t *Table[R]) Of(rows []R) Part {
	part := Part{Title: t.Title, Empty: t.Empty, Table: table{Caption: t.Title}}
	for _, column := range t.Columns {
		part.Table.Heads = append(part.Table.Heads, head{Label: column.Label})
	}
	for _, r := range rows {
		part.Table.Rows = append(part.Table.Rows, row{Cells: cells(t.Columns, r)})
	}
	return part
}

// Part is a filled table with a title, for the template "part".
type Part struct {
	Title, Empty string
	Table        table
}

// table is the data of the template "table".
type table struct {
	Caption string
	Heads   []head
	Rows    []row
	Ticks   bool // rows can be ticked
	Buttons bool // rows have buttons
}

// head is the head of a column.
type head struct {
	Label  string
	Path   string // leads to the list in the order of the column; empty if there is no such order
	Sorted string // ascending or descending if this is the current order, or ""
}

// row is a row of a table.
type row struct {
	Value, Name string // value and name of a row that can be ticked
	On          bool   // ticked
	Cells       []labelled
	Buttons     []button
}

// labelled is a cell with its column's label, which narrow screens show beside the cell.
type labelled struct {
	Label string
	Cell
}

// cells returns the cells of a row.
func cells[R any](columns []Column[R], r R) []labelled {
	list := make([]labelled, len(columns))
	for i, column := range columns {
		list[i] = labelled{column.Label, column.cell(r)}
	}
	return list
}

// cell returns a row's content in the column.
func (c *Column[R]) cell(r R) Cell {
	switch {
	case c.Text != nil:
		return Text(c.Text(r))
	case c.Code != nil:
		return Code(c.Code(r))
	case c.Count != nil:
		return Count(c.Count(r))
	case c.Time != nil:
		return Time(c.Time(r))
	}
	return c.Show(r)
}
