// Package sqldump reads the rows of database dumps. A dump of MySQL or MariaDB, from mysqldump, phpMyAdmin or the
// backup of a forum, has them in CREATE TABLE and INSERT statements. A dump of PostgreSQL, from pg_dump, has them in
// COPY statements. A dump is read as a stream, so it may be larger than memory. All other statements are skipped; no
// part of the dump is executed.
package sqldump

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Limits for the content of a dump.
const (
	maxName    = 128
	maxColumns = 1024
	maxLists   = 10_000
	maxRow     = 64 << 20 // bytes of all values of a row
	bufferSize = 256 << 10
	placeSize  = 16 << 10 // the buffer for a row that is read again
)

// ErrCompressed is returned for a compressed dump.
var ErrCompressed = errors.New("the dump is compressed: decompress it first, for example with gunzip")

// Dump is a dump that is open for reading. It must not be used by several goroutines at a time.
type Dump struct {
	file    source
	lists   []*columns          // each list of columns that a statement has used, once
	indexes map[string]int      // the index in lists by the table and its columns
	reader  *bufio.Reader       // for At
	row     Row                 // the row that At has read
	created map[string][]string // the columns of tables, from CREATE TABLE or COPY
	copy    bool                // the dump is by pg_dump
	line    []byte              // the current line of such a dump
}

// source is the file from which a dump is read.
type source interface {
	io.ReadSeekCloser
	io.ReaderAt
}

// columns are the columns of a table, in the order of a statement's values.
type columns struct {
	table string
	index map[string]int // by column name
	count int
}

// Row is a row of a table. It is valid until the next row is read.
type Row struct {
	Table string
	Line  int // line at which the row begins; 0 if At has read the row
	Place Place

	columns *columns
	cells   []cell // in the order of the columns
	text    []byte // of all cells
}

// Place is the position of a row in a Dump, for Dump.At.
type Place struct {
	Offset int64
	list   int32 // index of the row's columns in Dump.lists
}

// cell is a value of a row: the range of its bytes in Row.text.
type cell struct {
	start, end int
	null       bool
}

// Open opens the dump in a file. It returns ErrCompressed for a compressed file.
func Open(path string) (*Dump, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	head := make([]byte, 1024)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.Join(err, file.Close())
	}
	// The files of gzip, bzip2, zip, xz and Zstandard begin with these bytes.
	for _, magic := range []string{"\x1f\x8b", "BZh", "PK\x03\x04", "\xfd7zXZ", "\x28\xb5\x2f\xfd"} {
		if bytes.HasPrefix(head[:n], []byte(magic)) {
			return nil, errors.Join(ErrCompressed, file.Close())
		}
	}
	isCopy := bytes.Contains(head[:n], []byte(postgresMark))
	return &Dump{file: file, indexes: make(map[string]int), copy: isCopy}, nil
}

// Close closes the file.
func (d *Dump) Close() error { return d.file.Close() }

// Scan reads the dump from its beginning and calls fn for the rows of the tables for which accept returns true. If
// progress is not nil Scan calls it now and then with the number of bytes read so far. Scan stops at the first error:
// an error of fn, of the context, or of a malformed dump, which names the line.
func (d *Dump) Scan(ctx context.Context, accept func(table string) bool, fn func(*Row) error, progress func(int64),
) error {
	if _, err := d.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	s := &scanner{
		in: bufio.NewReaderSize(d.file, bufferSize), line: 1, dump: d, ctx: ctx,
		accept: accept, each: fn, progress: progress,
	}
	read := s.readStatements
	if d.copy {
		read = s.readCopies
	}
	err := read()
	d.created = s.tables
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("line %d: the dump ends in the middle of a statement: it is not complete", s.line)
	}
	return err
}

// Created reports whether Scan has found a table's CREATE TABLE or COPY statement. The table may have no rows.
func (d *Dump) Created(table string) bool { return d.created[table] != nil }

// At reads the row at a place that Scan has reported, for example to read the rows of a table in another order. The row
// is valid until the next row is read.
func (d *Dump) At(p Place) (*Row, error) {
	section := io.NewSectionReader(d.file, p.Offset, 1<<62-p.Offset)
	if d.reader == nil {
		d.reader = bufio.NewReaderSize(section, placeSize)
	} else {
		d.reader.Reset(section)
	}
	s := &scanner{in: d.reader, line: 1, dump: d, offset: p.Offset}
	d.row.columns, d.row.Place = d.lists[p.list], p
	d.row.Table = d.row.columns.table
	read := s.row
	if d.copy {
		read = s.copyRow
	}
	if err := read(&d.row); err != nil {
		return nil, fmt.Errorf("the dump has changed at byte %d: %w", p.Offset, err)
	}
	d.row.Line = 0
	return &d.row, nil
}

// list returns the index in d.lists of the list that belongs to the given table and has the given names of columns.
// It adds the list if it is missing.
func (d *Dump) list(table string, names []string) (int, error) {
	key := table + "\x00" + strings.Join(names, "\x00")
	if i, ok := d.indexes[key]; ok {
		return i, nil
	}
	if len(d.lists) == maxLists {
		return 0, fmt.Errorf("there are more than %d lists of columns", maxLists)
	}
	c := &columns{table: table, index: make(map[string]int, len(names)), count: len(names)}
	for i, name := range names {
		c.index[name] = i
	}
	d.lists = append(d.lists, c)
	d.indexes[key] = len(d.lists) - 1
	return len(d.lists) - 1, nil
}

// Has reports whether the row has a column.
func (r *Row) Has(column string) bool {
	_, ok := r.columns.index[column]
	return ok
}

// Text returns the value of a column as valid UTF-8, or "" if the value is NULL or the row does not have the column.
func (r *Row) Text(column string) string {
	return strings.ToValidUTF8(string(r.value(column)), "\uFFFD")
}

// value returns the value of a column, or nil if the value is NULL or the row does not have the column.
func (r *Row) value(column string) []byte {
	i, ok := r.columns.index[column]
	if !ok || r.cells[i].null {
		return nil
	}
	return r.text[r.cells[i].start:r.cells[i].end]
}

// Int returns the value of a column as an integer, or 0 if the value is not an integer.
func (r *Row) Int(column string) int64 {
	n, err := strconv.ParseInt(string(r.value(column)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Bool reports whether the value of a column is true, or a number other than 0.
func (r *Row) Bool(column string) bool { return r.Int(column) != 0 || r.Text(column) == "t" }

// beginsConstraint reports whether a word begins a part of a CREATE TABLE statement that does not define a column.
func beginsConstraint(word string) bool {
	return slices.Contains([]string{
		"PRIMARY", "KEY", "UNIQUE", "INDEX", "FULLTEXT", "SPATIAL", "CONSTRAINT", "FOREIGN", "CHECK", "PERIOD",
	}, strings.ToUpper(word))
}
