package sqldump

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
)

// pg_dump writes the rows of a table as lines below a statement COPY … FROM stdin, up to a line with a backslash and a
// period. Tabs separate the values of a row. The other statements of such a dump are not needed, so it is read by
// lines.

// postgresMark is in the first lines of a dump by pg_dump.
const postgresMark = "-- PostgreSQL database dump"

// readCopies reads the rows of all COPY statements.
func (s *scanner) readCopies() error {
	s.tables = make(map[string][]string)
	for {
		line, err := s.textLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		head, isCopy := bytes.CutPrefix(line, []byte("COPY "))
		if isCopy && bytes.HasSuffix(head, []byte(" FROM stdin;")) {
			if err := s.readCopy(string(head)); err != nil {
				return err
			}
		}
		if err := s.ctx.Err(); err != nil {
			return err
		}
	}
}

// readCopy reads the rows below a COPY statement. head is the statement after the word COPY.
func (s *scanner) readCopy(head string) error {
	headScanner := &scanner{in: bufio.NewReader(strings.NewReader(head)), line: s.line}
	table, err := headScanner.table()
	if err != nil {
		return err
	}
	headScanner.skip(1) // a space; names skips a parenthesis
	names, err := headScanner.names()
	if err != nil {
		return err
	}
	list, err := s.dump.list(table, names)
	if err != nil {
		return s.fault("%w", err)
	}
	s.tables[table] = names
	accepted := s.accept(table)
	row := Row{Table: table, columns: s.dump.lists[list]}
	for rows := 1; ; rows++ {
		row.Line, row.Place = s.line, Place{Offset: s.offset, list: int32(list)} //nolint:gosec // at most maxLists
		line, err := s.textLine()
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		if err != nil || string(line) == `\.` {
			return err
		}
		if accepted {
			if err := s.split(&row, line); err != nil {
				return err
			}
			if err := s.each(&row); err != nil {
				return err
			}
		}
		if err := s.reportProgress(rows); err != nil {
			return err
		}
	}
}

// copyRow consumes a line and reads the line's row.
func (s *scanner) copyRow(row *Row) error {
	line, err := s.textLine()
	if err != nil {
		return err
	}
	return s.split(row, line)
}

// split reads the values of a row from a line: they are separated by tabs, \N stands for NULL, and other backslashes
// begin an escape sequence.
func (s *scanner) split(row *Row, line []byte) error {
	row.cells, row.text = row.cells[:0], row.text[:0]
	for more := true; more && len(row.cells) <= row.columns.count; { // one value too many is enough for the error
		var value []byte
		value, line, more = bytes.Cut(line, []byte{'\t'})
		c := cell{start: len(row.text), null: string(value) == `\N`}
		for escaped := !c.null; escaped; {
			var plain []byte
			plain, value, escaped = bytes.Cut(value, []byte{'\\'})
			row.text = append(row.text, plain...)
			if escaped && len(value) > 0 {
				b := value[0]
				if i := strings.IndexByte("bfnrtv", b); i >= 0 {
					b = "\b\f\n\r\t\v"[i]
				}
				row.text, value = append(row.text, b), value[1:]
			}
		}
		c.end = len(row.text)
		row.cells = append(row.cells, c)
	}
	if len(row.cells) != row.columns.count {
		return s.fault("a row of %s does not have %d values, one for each column", row.Table, row.columns.count)
	}
	return nil
}

// textLine consumes a line and returns it without its end. The result is valid until the next line is read. At the end
// of the dump the error is io.EOF.
func (s *scanner) textLine() ([]byte, error) {
	line := s.dump.line[:0]
	for {
		part, err := s.in.ReadSlice('\n')
		s.offset += int64(len(part))
		line = append(line, part...)
		s.dump.line = line
		switch {
		case len(line) > maxRow:
			return nil, s.fault("a line has more than %d bytes", maxRow)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || len(line) == 0):
			return nil, err
		}
		s.line++
		return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'}), nil
	}
}
