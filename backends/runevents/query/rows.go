package query

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/runevents/packed"
	"github.com/tollgate-gateway/tollgate/backends/runevents/query/syntax"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// maxDetail limits the decompressed size of a report's list, in bytes.
const maxDetail = 256 << 20

// rowWriter writes rows as a JSON array while it reads them. A row has a value for each cell, then an ID for each part
// and, if a cell has a link, the hash of the report.
type rowWriter struct {
	w          io.Writer
	cells      []cell
	keys       [][]byte // `,"key":` of each cell; the first one begins with a brace
	parts      []*partWriter
	hashColumn int // index of the hash of the report, or -1
	prefix     string
	single     bool    // the answer is one object instead of a list
	counts     *counts // set for rows of counts, which have another format
	buf        []byte
	rows       [][]any // the rows that are read at once
	dest       [][]any // pointers to their values
	values     []any   // the row that is being written, an element of rows
}

// newRowWriter returns a writer for the rows of a statement. The writer reads one row at a time, unless allocate is
// called for more. prefix is the part of the path before /query in links.
func newRowWriter(w io.Writer, st *statement, prefix string) *rowWriter {
	n := len(st.cells) + len(st.parts)
	if st.hashColumn >= 0 {
		n++
	}
	rw := &rowWriter{w: w, cells: st.cells, hashColumn: st.hashColumn, prefix: prefix}
	rw.allocate(1, n)
	for i, c := range st.cells {
		key := []byte{','}
		if i == 0 {
			key = []byte{'{'}
		}
		rw.keys = append(rw.keys, append(jsontext.AppendQuoted(key, c.key), ':'))
	}
	return rw
}

// allocate allocates the memory for the rows that are read together. rows is their number, and width is the number of
// columns of each row.
func (rw *rowWriter) allocate(rows, width int) {
	rw.rows, rw.dest = make([][]any, rows), make([][]any, rows)
	for i := range rw.rows {
		rw.rows[i], rw.dest[i] = make([]any, width), make([]any, width)
		for j := range rw.dest[i] {
			rw.dest[i][j] = &rw.rows[i][j]
		}
	}
	rw.values = rw.rows[0]
}

// writeAll writes all rows as a JSON array or, if rw.single is true, the only row as an object. It writes nothing until
// the first row or the end of the rows has been read, so an error before that can still be answered.
func (rw *rowWriter) writeAll(rows *sql.Rows) error {
	if rw.buf = rw.buf[:0]; !rw.single {
		rw.buf = append(rw.buf, '[')
	}
	first := true
	for hasMore := true; hasMore; {
		n, err := rw.read(rows)
		if err != nil {
			return err
		}
		hasMore = n == len(rw.rows) // fewer rows are the last ones
		for _, rw.values = range rw.rows[:n] {
			start := len(rw.buf)
			if !first {
				rw.buf = append(rw.buf, ',')
			}
			switch err := rw.rowOrCounts(); {
			case errors.Is(err, errNoPart): // omit the row, as a join would do
				rw.buf = rw.buf[:start]
				continue
			case err != nil:
				return err
			}
			first = false
			if _, err := rw.w.Write(rw.buf); err != nil {
				return &clientError{err}
			}
			rw.buf = rw.buf[:0]
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if !rw.single {
		rw.buf = append(rw.buf, ']')
	}
	if _, err := rw.w.Write(rw.buf); err != nil {
		return &clientError{err}
	}
	return nil
}

// read reads the next rows into rw.rows, and the parts that they need into the caches of rw.parts. It returns the
// number of rows, which is less than len(rw.rows) at the end or after an error of rows, which the caller checks.
func (rw *rowWriter) read(rows *sql.Rows) (n int, err error) {
	for n < len(rw.rows) && rows.Next() {
		if err := rows.Scan(rw.dest[n]...); err != nil {
			return 0, fmt.Errorf("reading a row: %w", err)
		}
		n++
	}
	for i, p := range rw.parts {
		if err := p.cacheMissing(rw.rows[:n], len(rw.cells)+i); err != nil {
			return 0, fmt.Errorf("looking up a part: %w", err)
		}
	}
	return n, nil
}

// clientError is the error of writing to a client that does not accept the answer.
type clientError struct{ error }

func (e *clientError) Unwrap() error { return e.error }

// rowOrCounts appends the current row to the buffer, in the format of rows or of counts.
func (rw *rowWriter) rowOrCounts() error {
	if rw.counts != nil {
		return rw.subjectRow(rw.counts)
	}
	return rw.row()
}

// row appends the current row to the buffer as a JSON object.
func (rw *rowWriter) row() error {
	start := len(rw.buf)
	for i, c := range rw.cells {
		rw.buf = append(rw.buf, rw.keys[i]...)
		if c.href != "" {
			rw.buf = append(rw.buf, `{"data":`...)
		}
		if err := rw.cell(c, rw.values[i]); err != nil {
			return fmt.Errorf("column %q: %w", c.key, err)
		}
		if c.href != "" {
			rw.buf = append(rw.buf, `,"href":`...)
			rw.buf = jsontext.AppendQuoted(rw.buf, rw.prefix+"/query/v4/reports/"+
				hex.EncodeToString(bytesOf(rw.values[rw.hashColumn]))+"/"+c.href)
			rw.buf = append(rw.buf, '}')
		}
	}
	for i, p := range rw.parts {
		id, _ := rw.values[len(rw.cells)+i].(int64)
		var err error
		if rw.buf, err = p.append(rw.buf, id); err != nil {
			return fmt.Errorf("looking up a part: %w", err)
		}
	}
	rw.buf[start] = '{' // instead of a comma, if the row has no cells but parts
	rw.buf = append(rw.buf, '}')
	return nil
}

// bytesOf returns the byte string v, or nil if v has another type.
func bytesOf(v any) []byte {
	b, _ := v.([]byte)
	return b
}

// errColumnType is the error for a value that does not have the type of its cell.
var errColumnType = errors.New("the database gave an unexpected type")

// cell appends the value v from the database to the buffer as JSON.
func (rw *rowWriter) cell(c cell, v any) error {
	if v == nil {
		if c.kind == cellPacked {
			rw.buf = append(rw.buf, "[]"...) // retention has deleted the list
		} else {
			rw.buf = append(rw.buf, "null"...)
		}
		return nil
	}
	switch c.kind {
	case cellInteger, cellBool, cellTime:
		if _, isFloat := v.(float64); isFloat && c.kind == cellInteger {
			return errOutOfRange // a sum that exceeds 64 bits; see aggregates.integer
		}
		n, ok := v.(int64)
		if !ok {
			return fmt.Errorf("%w %T", errColumnType, v)
		}
		switch c.kind {
		case cellBool:
			rw.buf = strconv.AppendBool(rw.buf, n != 0)
		case cellTime:
			rw.buf = append(rw.buf, '"')
			rw.buf = append(syntax.AppendTime(rw.buf, n), '"')
		default:
			rw.buf = strconv.AppendInt(rw.buf, n, 10)
		}
	case cellFloat:
		f, ok := v.(float64)
		if !ok {
			return fmt.Errorf("%w %T", errColumnType, v)
		}
		rw.buf = strconv.AppendFloat(rw.buf, f, 'f', -1, 64)
		if f == math.Trunc(f) { // keep the type visible: 2.0
			rw.buf = append(rw.buf, ".0"...)
		}
	case cellHash:
		rw.buf = append(rw.buf, '"')
		rw.buf = append(hex.AppendEncode(rw.buf, bytesOf(v)), '"')
	case cellPacked:
		var err error
		rw.buf, err = packed.Append(rw.buf, bytesOf(v), maxDetail)
		return err
	default:
		var text string
		switch v := v.(type) {
		case string:
			text = v
		case []byte:
			text = string(v)
		default:
			return fmt.Errorf("%w %T", errColumnType, v)
		}
		if c.kind == cellJSON {
			rw.buf = append(rw.buf, text...)
		} else {
			rw.buf = jsontext.AppendQuoted(rw.buf, text)
		}
	}
	return nil
}

// run executes a statement and calls fn with its rows.
func (st *statement) run(ctx context.Context, tx *sql.Tx, fn func(*sql.Rows) error) error {
	rows, err := tx.QueryContext(ctx, st.sql, st.args...) //nolint:gosec // made from a checked tree, with parameters
	if err != nil {
		return err
	}
	defer rows.Close()
	if err := fn(rows); err != nil {
		return err
	}
	return rows.Err()
}

// number executes a statement whose result is one number.
func (st *statement) number(ctx context.Context, tx *sql.Tx) (n int64, err error) {
	err = tx.QueryRowContext(ctx, st.sql, st.args...).Scan(&n) //nolint:gosec // made from a checked tree, with parameters
	return n, err
}
