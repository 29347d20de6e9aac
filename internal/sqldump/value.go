package sqldump

import (
	"encoding/hex"
	"io"
	"strings"
)

// row reads a row, which begins with a parenthesis.
func (s *scanner) row(row *Row) error {
	if row.text == nil {
		row.text = make([]byte, 0, placeSize)
	}
	row.cells, row.text = row.cells[:0], row.text[:0]
	if b, err := s.next(); err != nil || b != '(' {
		if err == nil {
			err = s.fault("expected the values of a row of %s in parentheses, found %q", row.Table, b)
		}
		return err
	}
	for {
		if len(row.cells) == row.columns.count {
			return s.fault("a row of %s has more values than the table has columns, %d", row.Table, row.columns.count)
		}
		if err := s.skipInnerSpace(); err != nil {
			return err
		}
		if err := s.value(row); err != nil {
			return err
		}
		if err := s.skipInnerSpace(); err != nil {
			return err
		}
		b, err := s.next()
		switch {
		case err != nil:
			return err
		case b == ',': // another value follows
		case b == ')' && len(row.cells) < row.columns.count:
			return s.fault("a row of %s has %d values, but there are %d columns", row.Table, len(row.cells), row.columns.count)
		case b == ')':
			return nil
		default:
			return s.fault("expected a comma between the values of a row of %s, found %q", row.Table, b)
		}
	}
}

// value reads a value into a row: a text in quotes (possibly after the name of its character set), hexadecimal digits,
// a number, or a word such as NULL.
func (s *scanner) value(row *Row) error {
	c := cell{start: len(row.text)}
	b := s.peek(1)
	if len(b) == 0 {
		return io.ErrUnexpectedEOF
	}
	var err error
	if b[0] == '\'' || b[0] == '"' {
		s.skip(1)
		row.text, err = s.quoted(row.text, b[0])
	} else {
		err = s.bare(row, &c)
	}
	c.end = len(row.text)
	row.cells = append(row.cells, c)
	if err == nil && len(row.text) > maxRow {
		err = s.fault("a row of %s has more than %d bytes", row.Table, maxRow)
	}
	return err
}

// bare reads a value that does not begin with a quotation mark and appends its text to that of the row. For NULL it
// sets c.null.
func (s *scanner) bare(row *Row, c *cell) error {
	for ended := false; !ended; { // the value may go on in the next chunk
		text, err := s.chunk()
		if err != nil {
			return err
		}
		n := 0
		for n < len(text) && (isWord(text[n]) || text[n] == '-' || text[n] == '+' || text[n] == '.') {
			n++
		}
		ended = n < len(text)
		row.text = append(row.text, text[:n]...)
		if len(row.text) > maxRow {
			return s.fault("a row of %s has more than %d bytes", row.Table, maxRow)
		}
		s.skip(n)
	}
	word := row.text[c.start:]
	next := s.peek(1)
	if len(next) > 0 && next[0] == ' ' && len(word) > 1 && word[0] == '_' { // _binary 'text'
		if err := s.skipInnerSpace(); err != nil {
			return err
		}
		if next = s.peek(1); len(next) == 0 || next[0] != '\'' {
			return s.fault("expected a text in quotes after %s", word)
		}
	}
	switch {
	case len(word) > 0 && len(next) > 0 && next[0] == '\'': // x'0a', or a text after its character set
		prefix := string(word) // a copy, because quoted overwrites word
		s.skip(1)
		var err error
		if row.text, err = s.quoted(row.text[:c.start], '\''); err != nil || !strings.EqualFold(prefix, "x") {
			return err
		}
		return s.hex(row, c, row.text[c.start:])
	case len(word) == 0:
		return s.fault("expected a value in a row of %s, found %q", row.Table, next)
	case len(word) > 2 && word[0] == '0' && word[1]|0x20 == 'x': // 0x0a
		return s.hex(row, c, word[2:])
	case strings.EqualFold(string(word), "NULL"):
		c.null = true
		row.text = row.text[:c.start]
	}
	return nil
}

// hex replaces the text of a cell by the bytes that the hexadecimal digits, which are in row.text, encode.
func (s *scanner) hex(row *Row, c *cell, digits []byte) error {
	n, err := hex.Decode(digits, digits)
	if err != nil {
		return s.fault("a row of %s has a value that is not a hexadecimal number", row.Table)
	}
	row.text = append(row.text[:c.start], digits[:n]...)
	return nil
}
