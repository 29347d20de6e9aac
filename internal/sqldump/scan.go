package sqldump

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
)

// scanner reads the statements of a dump.
type scanner struct {
	in       *bufio.Reader
	at       int64 // the offset of the next byte
	line     int
	dump     *Dump
	tables   map[string][]string // the columns by table, from CREATE TABLE
	want     func(table string) bool
	each     func(*Row) error
	progress func(int64)
	ctx      context.Context //nolint:containedctx // a scanner is one run
}

func (s *scanner) fault(format string, args ...any) error {
	return fmt.Errorf("line %d: "+format, append([]any{s.line}, args...)...)
}

// next consumes a byte. At the end of the dump the error is io.ErrUnexpectedEOF.
func (s *scanner) next() (byte, error) {
	b, err := s.in.ReadByte()
	if errors.Is(err, io.EOF) {
		return 0, io.ErrUnexpectedEOF
	}
	if err == nil {
		s.at++
		if b == '\n' {
			s.line++
		}
	}
	return b, err
}

// peek returns the next n bytes, or fewer at the end of the dump.
func (s *scanner) peek(n int) []byte {
	text, _ := s.in.Peek(n) // an error shows when the bytes are consumed
	return text
}

// skip consumes n bytes that peek has returned.
func (s *scanner) skip(n int) {
	text := s.peek(n)
	s.line += bytes.Count(text, []byte{'\n'})
	n, _ = s.in.Discard(len(text))
	s.at += int64(n)
}

// chunk returns the bytes in the buffer without consuming them, at least one. At the end of the dump the error is
// io.ErrUnexpectedEOF.
func (s *scanner) chunk() ([]byte, error) {
	if _, err := s.in.Peek(1); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return s.in.Peek(s.in.Buffered())
}

// until consumes the text up to and including the first occurrence of end.
func (s *scanner) until(end string) error {
	for {
		text, err := s.chunk()
		if err != nil {
			return err
		}
		if i := bytes.Index(text, []byte(end)); i >= 0 {
			s.skip(i + len(end))
			return nil
		}
		if len(text) < len(end) {
			text = s.peek(len(end))
			if len(text) < len(end) {
				return io.ErrUnexpectedEOF
			}
			if string(text) == end {
				continue
			}
			s.skip(1)
			continue
		}
		s.skip(len(text) - len(end) + 1)
	}
}

// space consumes white space and comments, including comments that MySQL executes. At the end of the dump the error is
// io.EOF.
func (s *scanner) space() error {
	for {
		text := s.peek(3)
		if len(text) == 0 {
			_, err := s.in.Peek(1)
			return err
		}
		var err error
		switch {
		case strings.ContainsRune(" \t\r\n", rune(text[0])):
			s.skip(1)
		case len(text) == 3 && string(text) == "\ufeff":
			s.skip(3)
		case text[0] == '#' || len(text) >= 2 && text[0] == '-' && text[1] == '-':
			err = s.until("\n")
		case len(text) >= 2 && text[0] == '/' && text[1] == '*':
			err = s.until("*/")
		default:
			return nil
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return io.EOF
		}
		if err != nil {
			return err
		}
	}
}

// inside consumes white space and comments within a statement. At the end of the dump the error is io.ErrUnexpectedEOF.
func (s *scanner) inside() error {
	err := s.space()
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func isWord(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b == '$' || b >= 0x80
}

// word consumes and returns the word at this position, or "" if there is no word.
func (s *scanner) word() (string, error) {
	var word []byte
	for {
		text := s.peek(1)
		if len(text) == 0 || !isWord(text[0]) {
			return string(word), nil
		}
		if len(word) == maxName {
			return "", s.fault("a word has more than %d bytes", maxName)
		}
		word = append(word, text[0])
		s.skip(1)
	}
}

// name consumes a name, with or without quotes.
func (s *scanner) name() (name string, quoted bool, err error) {
	text := s.peek(1)
	if len(text) == 0 {
		return "", false, io.ErrUnexpectedEOF
	}
	quote := text[0]
	if quote != '`' && quote != '"' {
		if name, err = s.word(); err == nil && name == "" {
			err = s.fault("expected a name, found %q", quote)
		}
		return name, false, err
	}
	s.skip(1)
	var raw []byte
	for {
		b, err := s.next()
		if err != nil {
			return "", true, err
		}
		if b == quote {
			if next := s.peek(1); len(next) == 0 || next[0] != quote {
				return string(raw), true, nil
			}
			s.skip(1)
		}
		if len(raw) == maxName {
			return "", true, s.fault("a name has more than %d bytes", maxName)
		}
		raw = append(raw, b)
	}
}

// table consumes a table name, which may follow the name of its database and a period, and returns the table name.
func (s *scanner) table() (string, error) {
	for {
		if err := s.inside(); err != nil {
			return "", err
		}
		name, _, err := s.name()
		if err != nil {
			return "", err
		}
		if next := s.peek(1); len(next) == 0 || next[0] != '.' {
			return name, nil
		}
		s.skip(1)
	}
}

// statements reads all statements.
func (s *scanner) statements() error {
	s.tables = make(map[string][]string)
	for {
		if err := s.space(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := s.ctx.Err(); err != nil {
			return err
		}
		word, err := s.word()
		if err != nil {
			return err
		}
		switch strings.ToUpper(word) {
		case "INSERT", "REPLACE":
			err = s.insert()
		case "CREATE":
			err = s.create()
		case "DELIMITER":
			err = s.routines()
		default:
			err = s.rest()
		}
		if err != nil {
			return err
		}
	}
}

// routines consumes the text after DELIMITER, which has the bodies of triggers and routines, until the delimiter is a
// semicolon again.
func (s *scanner) routines() error {
	if err := s.until("\n"); err != nil {
		return nil //nolint:nilerr // the last line of the dump
	}
	for {
		line := s.peek(len("DELIMITER ;"))
		if strings.EqualFold(string(line), "DELIMITER ;") {
			s.skip(len(line))
			if next := s.peek(1); len(next) == 0 || next[0] != ';' {
				return nil
			}
		}
		if err := s.until("\n"); err != nil {
			return err
		}
	}
}

// rest consumes the rest of a statement, including the semicolon.
func (s *scanner) rest() error {
	for {
		text, err := s.chunk()
		if err != nil {
			return err
		}
		i := bytes.IndexAny(text, ";'\"`#-/")
		if i < 0 {
			s.skip(len(text))
			continue
		}
		s.skip(i)
		before := s.at
		if err := s.inside(); err != nil {
			return err
		}
		if s.at > before { // it was a comment
			continue
		}
		b, err := s.next()
		if err != nil || b == ';' {
			return err
		}
		if b == '\'' || b == '"' || b == '`' {
			if _, err = s.quoted(nil, b); err != nil {
				return err
			}
		}
	}
}

// create reads the column names of a CREATE TABLE statement.
func (s *scanner) create() error {
	if err := s.inside(); err != nil {
		return err
	}
	word, err := s.word()
	if err != nil {
		return err
	}
	if !strings.EqualFold(word, "TABLE") {
		return s.rest()
	}
	var table string
	for _, skipped := range []string{"IF", "NOT", "EXISTS", ""} {
		if table, err = s.table(); err != nil {
			return err
		}
		if !strings.EqualFold(table, skipped) {
			break
		}
	}
	if err := s.inside(); err != nil {
		return err
	}
	if next := s.peek(1); len(next) == 0 || next[0] != '(' {
		return s.rest()
	}
	s.skip(1)
	var names []string
	for {
		if err := s.inside(); err != nil {
			return err
		}
		name, quoted, err := s.name()
		if err != nil {
			return err
		}
		if quoted || !constraint(name) {
			if names = append(names, name); len(names) > maxColumns {
				return s.fault("a table has more than %d columns", maxColumns)
			}
		}
		end, err := s.definition()
		if err != nil {
			return err
		}
		if end {
			break
		}
	}
	if len(s.tables) == maxLists {
		return s.fault("there are more than %d tables", maxLists)
	}
	s.tables[table] = names
	return s.rest()
}

// definition consumes the rest of a column's definition, and reports whether the column was the last.
func (s *scanner) definition() (last bool, err error) {
	for depth := 0; ; {
		if err := s.inside(); err != nil {
			return false, err
		}
		b, err := s.next()
		if err != nil {
			return false, err
		}
		switch b {
		case '(':
			depth++
		case ')':
			if depth == 0 {
				return true, nil
			}
			depth--
		case ',':
			if depth == 0 {
				return false, nil
			}
		case '\'', '"', '`':
			if _, err := s.quoted(nil, b); err != nil {
				return false, err
			}
		}
	}
}

// insert reads the rows of an INSERT statement.
func (s *scanner) insert() error {
	var table string
	for {
		if err := s.inside(); err != nil {
			return err
		}
		name, quoted, err := s.name()
		if err != nil {
			return err
		}
		table = name
		if next := s.peek(1); len(next) > 0 && next[0] == '.' {
			s.skip(1)
			if table, err = s.table(); err != nil {
				return err
			}
			break
		}
		if word := strings.ToUpper(name); quoted || word != "INTO" && word != "IGNORE" && word != "LOW_PRIORITY" &&
			word != "DELAYED" && word != "HIGH_PRIORITY" {
			break
		}
	}
	if !s.want(table) {
		return s.rest()
	}
	if err := s.inside(); err != nil {
		return err
	}
	names := s.tables[table]
	if next := s.peek(1); len(next) > 0 && next[0] == '(' {
		var err error
		if names, err = s.names(); err != nil {
			return err
		}
	}
	if err := s.inside(); err != nil {
		return err
	}
	word, err := s.word()
	if err != nil {
		return err
	}
	if word = strings.ToUpper(word); word != "VALUES" && word != "VALUE" {
		return s.fault("expected VALUES after INSERT INTO %s, found %q", table, word)
	}
	if len(names) == 0 {
		return s.fault("the columns of %s are not known: the dump has no CREATE TABLE before its rows", table)
	}
	list, err := s.dump.list(table, names)
	if err != nil {
		return s.fault("%w", err)
	}
	return s.rows(table, list)
}

// names consumes a list of names in parentheses.
func (s *scanner) names() (names []string, err error) {
	s.skip(1)
	for {
		if err := s.inside(); err != nil {
			return nil, err
		}
		name, _, err := s.name()
		if err != nil {
			return nil, err
		}
		if names = append(names, name); len(names) > maxColumns {
			return nil, s.fault("a table has more than %d columns", maxColumns)
		}
		if err := s.inside(); err != nil {
			return nil, err
		}
		switch b, err := s.next(); {
		case err != nil:
			return nil, err
		case b == ')':
			return names, nil
		case b != ',':
			return nil, s.fault("expected a comma between names, found %q", b)
		}
	}
}

// rows reads the rows after VALUES and calls s.each for each row. list is the index of their columns in s.dump.lists.
func (s *scanner) rows(table string, list int) error {
	row := Row{Table: table, columns: s.dump.lists[list]}
	for n := 1; ; n++ {
		if err := s.inside(); err != nil {
			return err
		}
		row.Line, row.Place = s.line, Place{Offset: s.at, list: int32(list)} //nolint:gosec // at most maxLists
		if err := s.row(&row); err != nil {
			return err
		}
		if err := s.each(&row); err != nil {
			return err
		}
		if err := s.pause(n); err != nil {
			return err
		}
		if err := s.inside(); err != nil {
			return err
		}
		b, err := s.next()
		if err != nil {
			return err
		}
		switch b {
		case ',':
		case ';':
			return nil
		default: // ON DUPLICATE KEY UPDATE
			return s.rest()
		}
	}
}

// pause reports the progress after every thousandth row, and then returns the error of the context.
func (s *scanner) pause(rows int) error {
	if rows%1000 != 0 {
		return nil
	}
	if s.progress != nil {
		s.progress(s.at)
	}
	return s.ctx.Err()
}

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
		if err := s.inside(); err != nil {
			return err
		}
		if err := s.value(row); err != nil {
			return err
		}
		if err := s.inside(); err != nil {
			return err
		}
		b, err := s.next()
		switch {
		case err != nil:
			return err
		case b == ',':
		case b == ')' && len(row.cells) < row.columns.count:
			return s.fault("a row of %s has %d values, but there are %d columns", row.Table, len(row.cells), row.columns.count)
		case b == ')':
			return nil
		default:
			return s.fault("expected a comma between the values of a row of %s, found %q", row.Table, b)
		}
	}
}

// value reads a value into a row: a text in quotes, which may follow the name of its character set, hexadecimal digits,
// a number, or a word such as NULL.
func (s *scanner) value(row *Row) error {
	c := cell{from: len(row.text)}
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
	c.to = len(row.text)
	row.cells = append(row.cells, c)
	if err == nil && len(row.text) > maxRow {
		err = s.fault("a row of %s has more than %d bytes", row.Table, maxRow)
	}
	return err
}

// bare reads a value that does not begin with a quotation mark.
func (s *scanner) bare(row *Row, c *cell) error {
	for ended := false; !ended; {
		text, err := s.chunk()
		if err != nil {
			return err
		}
		n := 0
		for n < len(text) && (isWord(text[n]) || text[n] == '-' || text[n] == '+' || text[n] == '.') {
			n++
		}
		ended = n < len(text)
		if row.text = append(row.text, text[:n]...); len(row.text) > maxRow {
			return s.fault("a row of %s has more than %d bytes", row.Table, maxRow)
		}
		s.skip(n)
	}
	word := row.text[c.from:]
	next := s.peek(1)
	switch {
	case len(next) > 0 && next[0] == ' ' && len(word) > 1 && word[0] == '_': // _binary 'text'
		if err := s.inside(); err != nil {
			return err
		}
		next = s.peek(1)
		fallthrough
	case len(word) > 0 && len(next) > 0 && next[0] == '\'':
		if len(next) == 0 || next[0] != '\'' {
			return s.fault("expected a text in quotes after %s", word)
		}
		kind := string(word)
		s.skip(1)
		var err error
		if row.text, err = s.quoted(row.text[:c.from], '\''); err != nil || !strings.EqualFold(kind, "x") {
			return err
		}
		return s.hex(row, c, row.text[c.from:])
	case len(word) == 0:
		return s.fault("expected a value in a row of %s, found %q", row.Table, next)
	case len(word) > 2 && word[0] == '0' && word[1]|0x20 == 'x':
		return s.hex(row, c, word[2:])
	case strings.EqualFold(string(word), "NULL"):
		c.null = true
		row.text = row.text[:c.from]
	}
	return nil
}

// hex replaces the text of a cell by the bytes that the hexadecimal digits encode.
func (s *scanner) hex(row *Row, c *cell, digits []byte) error {
	n, err := hex.Decode(digits, digits)
	if err != nil {
		return s.fault("a row of %s has a value that is not a hexadecimal number", row.Table)
	}
	row.text = append(row.text[:c.from], digits[:n]...)
	return nil
}

// quoted consumes a text after its opening quotation mark and appends it to into. If into is nil the text is discarded.
func (s *scanner) quoted(into []byte, quote byte) ([]byte, error) {
	keep := into != nil
	for {
		text, err := s.chunk()
		if err != nil {
			return into, err
		}
		end := bytes.IndexByte(text, quote)
		if end < 0 {
			end = len(text)
		}
		if quote != '`' {
			if slash := bytes.IndexByte(text[:end], '\\'); slash >= 0 {
				end = slash
			}
		}
		if keep {
			into = append(into, text[:end]...)
		}
		if len(into) > maxRow {
			return into, s.fault("a text has more than %d bytes", maxRow)
		}
		whole := end == len(text)
		s.skip(end)
		if whole {
			continue
		}
		b, err := s.next()
		if err != nil {
			return into, err
		}
		if b == quote {
			if next := s.peek(1); len(next) == 0 || next[0] != quote {
				return into, nil
			}
			s.skip(1)
		} else if b, err = s.next(); err != nil {
			return into, err
		} else if keep && (b == '%' || b == '_') {
			into = append(into, '\\')
		} else if plain := strings.IndexByte("0bnrtZ", b); plain >= 0 {
			b = "\x00\b\n\r\t\x1a"[plain]
		}
		if keep {
			into = append(into, b)
		}
	}
}
