package sqldump

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
)

// readStatements reads the statements up to the end of the dump, and calls s.each for the rows of INSERT statements.
func (s *scanner) readStatements() error {
	s.tables = make(map[string][]string)
	for {
		if err := s.skipSpace(); err != nil {
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
			err = s.skipRoutines()
		default:
			err = s.skipStatement()
		}
		if err != nil {
			return err
		}
	}
}

// skipRoutines consumes the text after DELIMITER, which has the bodies of triggers and routines, until the delimiter is
// a semicolon again.
func (s *scanner) skipRoutines() error {
	if err := s.skipThrough("\n"); err != nil {
		return nil // the last line of the dump
	}
	for {
		line := s.peek(len("DELIMITER ;"))
		if strings.EqualFold(string(line), "DELIMITER ;") {
			s.skip(len(line))
			if next := s.peek(1); len(next) == 0 || next[0] != ';' {
				return nil
			}
		}
		if err := s.skipThrough("\n"); err != nil {
			return err
		}
	}
}

// skipStatement consumes the rest of a statement, including the semicolon.
func (s *scanner) skipStatement() error {
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
		start := s.offset
		if err := s.skipInnerSpace(); err != nil {
			return err
		}
		if s.offset > start { // the byte began a comment
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
	if err := s.skipInnerSpace(); err != nil {
		return err
	}
	word, err := s.word()
	if err != nil {
		return err
	}
	if !strings.EqualFold(word, "TABLE") {
		return s.skipStatement()
	}
	var table string
	// IF NOT EXISTS may precede the name. The first word that differs from the optional word at its place is the name.
	for _, optional := range []string{"IF", "NOT", "EXISTS", ""} {
		if table, err = s.table(); err != nil {
			return err
		}
		if !strings.EqualFold(table, optional) {
			break
		}
	}
	if err := s.skipInnerSpace(); err != nil {
		return err
	}
	if next := s.peek(1); len(next) == 0 || next[0] != '(' {
		return s.skipStatement()
	}
	s.skip(1)
	var names []string
	for {
		if err := s.skipInnerSpace(); err != nil {
			return err
		}
		name, quoted, err := s.name()
		if err != nil {
			return err
		}
		if quoted || !beginsConstraint(name) {
			names = append(names, name)
			if len(names) > maxColumns {
				return s.fault("a table has more than %d columns", maxColumns)
			}
		}
		last, err := s.skipDefinition()
		if err != nil {
			return err
		}
		if last {
			break
		}
	}
	if len(s.tables) == maxLists {
		return s.fault("there are more than %d tables", maxLists)
	}
	s.tables[table] = names
	return s.skipStatement()
}

// skipDefinition consumes the rest of a definition within CREATE TABLE, including the comma or parenthesis after it,
// and reports whether the definition was the last.
func (s *scanner) skipDefinition() (last bool, err error) {
	for depth := 0; ; {
		if err := s.skipInnerSpace(); err != nil {
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

// insertWords are the words that may be between INSERT or REPLACE and the name of the table.
var insertWords = []string{"INTO", "IGNORE", "LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY"}

// insertTable consumes the words after INSERT or REPLACE and the name of the table, which it returns.
func (s *scanner) insertTable() (string, error) {
	for {
		if err := s.skipInnerSpace(); err != nil {
			return "", err
		}
		name, quoted, err := s.name()
		if err != nil {
			return "", err
		}
		if next := s.peek(1); len(next) > 0 && next[0] == '.' { // the name was that of the database
			s.skip(1)
			return s.table()
		}
		if quoted || !slices.Contains(insertWords, strings.ToUpper(name)) {
			return name, nil
		}
	}
}

// insert reads the rows of an INSERT or REPLACE statement.
func (s *scanner) insert() error {
	table, err := s.insertTable()
	if err != nil {
		return err
	}
	if !s.accept(table) {
		return s.skipStatement()
	}
	if err := s.skipInnerSpace(); err != nil {
		return err
	}
	names := s.tables[table] // unless the statement has a list of columns
	if next := s.peek(1); len(next) > 0 && next[0] == '(' {
		if names, err = s.names(); err != nil {
			return err
		}
	}
	if err := s.skipInnerSpace(); err != nil {
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
		return s.fault("the columns of %s are unknown: the dump has no CREATE TABLE statement before its rows", table)
	}
	list, err := s.dump.list(table, names)
	if err != nil {
		return s.fault("%w", err)
	}
	return s.rows(table, list)
}

// names consumes a list of names in parentheses. It skips the opening parenthesis without checking it.
func (s *scanner) names() (names []string, err error) {
	s.skip(1)
	for {
		if err := s.skipInnerSpace(); err != nil {
			return nil, err
		}
		name, _, err := s.name()
		if err != nil {
			return nil, err
		}
		names = append(names, name)
		if len(names) > maxColumns {
			return nil, s.fault("a table has more than %d columns", maxColumns)
		}
		if err := s.skipInnerSpace(); err != nil {
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
		if err := s.skipInnerSpace(); err != nil {
			return err
		}
		row.Line, row.Place = s.line, Place{Offset: s.offset, list: int32(list)} //nolint:gosec // at most maxLists
		if err := s.row(&row); err != nil {
			return err
		}
		if err := s.each(&row); err != nil {
			return err
		}
		if err := s.reportProgress(n); err != nil {
			return err
		}
		if err := s.skipInnerSpace(); err != nil {
			return err
		}
		b, err := s.next()
		if err != nil {
			return err
		}
		switch b {
		case ',': // another row follows
		case ';':
			return nil
		default: // ON DUPLICATE KEY UPDATE
			return s.skipStatement()
		}
	}
}

// reportProgress reports the progress after every thousandth row, and then returns the error of the context.
func (s *scanner) reportProgress(rows int) error {
	if rows%1000 != 0 {
		return nil
	}
	if s.progress != nil {
		s.progress(s.offset)
	}
	return s.ctx.Err()
}
