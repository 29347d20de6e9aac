// Package spreadsheet writes rows as CSV (RFC 4180) for spreadsheet programs. A cell that such a program would take for
// a formula gets an apostrophe in front. Otherwise a name or a text of a stranger could execute a formula.
package spreadsheet

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
)

// Type is the media type of the files that a Writer writes. Their first row has the names of the columns.
const Type = "text/csv; charset=utf-8; header=present"

// Writer writes rows.
type Writer struct{ csv *csv.Writer }

// NewWriter returns a Writer that writes to w.
func NewWriter(w io.Writer) *Writer {
	c := csv.NewWriter(w)
	c.UseCRLF = true
	return &Writer{c}
}

// Write writes a row, which may stay in a buffer until Flush.
func (w *Writer) Write(row []string) error {
	safe := make([]string, len(row))
	for i, cell := range row {
		safe[i] = Safe(cell)
	}
	return w.csv.Write(safe)
}

// Flush writes buffered rows and returns the first error of the underlying writer.
func (w *Writer) Flush() error {
	w.csv.Flush()
	return w.csv.Error()
}

// Safe returns a cell in a form that no spreadsheet program takes for a formula. It puts an apostrophe before a cell
// that begins with =, +, -, @, a tab or a carriage return, unless the cell is a negative number.
func Safe(cell string) string {
	if cell == "" || !strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return cell
	}
	if _, err := strconv.ParseFloat(cell, 64); err == nil && cell[0] == '-' {
		return cell
	}
	return "'" + cell
}
