package resource

import (
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/instant"
)

// Cell is what a row has in a column. Its zero value is empty.
type Cell struct {
	Kind  string // text, note, link, tag, time, count, code or several
	Text  string
	Path  string // of a link
	Class string // of a tag
	At    instant.Moment
	N     int64
	Cells []Cell
}

// Text returns a cell with a text.
func Text(text string) Cell { return Cell{Kind: "text", Text: text} }

// Note returns a text that is less important than others.
func Note(text string) Cell { return Cell{Kind: "note", Text: text} }

// Link returns a text that leads to a path of the site.
func Link(path, text string) Cell { return Cell{Kind: "link", Path: path, Text: text} }

// Code returns a text that machines read, such as a path or a scope.
func Code(text string) Cell { return Cell{Kind: "code", Text: text} }

// Time returns a time; 0 is never.
func Time(at instant.Moment) Cell { return Cell{Kind: "time", At: at} }

// Count returns a number.
func Count(n int64) Cell { return Cell{Kind: "count", N: n} }

// Tag returns a state. class says how it looks: held for what waits, gone for what has ended, empty for others.
func Tag(text, class string) Cell { return Cell{Kind: "tag", Text: text, Class: class} }

// Cells returns several ones beside each other, without those that are empty.
func Cells(cells ...Cell) Cell {
	several := Cell{Kind: "several"}
	for _, cell := range cells {
		if cell.Kind != "" {
			several.Cells = append(several.Cells, cell)
		}
	}
	return several
}

// If returns the cell where the condition holds, and else an empty one.
func (c Cell) If(condition bool) Cell {
	if !condition {
		return Cell{}
	}
	return c
}

// Plain returns the cell as a text without marks, as files have it.
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

// Column is one of a table. One of Show, Text, Code, Count and Time says what a row has in it.
type Column[R any] struct {
	Label string
	Show  func(R) Cell
	Text  func(R) string
	Code  func(R) string
	Count func(R) int64
	Time  func(R) instant.Moment
	// Sort is the word for the order by this column, in the address of a list; empty where the database has no index
	// for it. The first column that has one is the order at first.
	Sort string
	// Down says that the order begins with the greatest, such as the newest.
	Down bool
}

// Table is what a page shows beside a list or a form of its own: rows that come from what it is about.
type Table[R any] struct {
	Title   string
	Empty   string // what is said where there are no rows
	Columns []Column[R]
}

// Of returns the table with rows.
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

// Part is a table with a title, for the template "part".
type Part struct {
	Title, Empty string
	Table        table
}

// table is what the template "table" shows.
type table struct {
	Caption string
	Heads   []head
	Rows    []row
	Ticks   bool // rows can be ticked
	Buttons bool // rows have buttons
}

// head is that of a column.
type head struct{ Label, Path, Sorted string }

// row is one of a table.
type row struct {
	Value, Name string // of what is ticked
	On          bool
	Cells       []labelled
	Buttons     []button
}

// labelled is a cell with the label of its column, which phones show beside it.
type labelled struct {
	Label string
	Cell
}

func cells[R any](columns []Column[R], r R) []labelled {
	list := make([]labelled, len(columns))
	for i, column := range columns {
		list[i] = labelled{column.Label, column.cell(r)}
	}
	return list
}

// cell returns what a row has in the column.
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
