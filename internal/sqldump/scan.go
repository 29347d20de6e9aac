package sqldump

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// scanner reads the statements of a dump.
type scanner struct {
	in     *bufio.Reader
	offset int64 // the offset of the next byte
	line   int
	dump   *Dump
	tables map[string][]string // the columns by table, from CREATE TABLE or COPY; it becomes Dump.created

	// These fields are the parameters of Dump.Scan. They are not set for Dump.At, which reads only one row.
	accept   func(table string) bool
	each     func(*Row) error
	progress func(int64)     // may be nil
	ctx      context.Context // a scanner is one run
}

// fault returns an error that begins with the current line.
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
		s.offset++
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
	s.offset += int64(n)
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

// skipThrough consumes the text up to and including the first occurrence of end.
func (s *scanner) skipThrough(end string) error {
	for {
		text, err := s.chunk()
		if err != nil {
			return err
		}
		if i := bytes.Index(text, []byte(end)); i >= 0 {
			s.skip(i + len(end))
			return nil
		}
		if len(text) < len(end) { // the buffer may hold only the beginning of end
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
		s.skip(len(text) - len(end) + 1) // the remaining bytes may be the beginning of end
	}
}

// skipSpace consumes white space and comments, including comments that MySQL executes. At the end of the dump the error
// is io.EOF.
func (s *scanner) skipSpace() error {
	for {
		text := s.peek(3)
		if len(text) == 0 {
			_, err := s.in.Peek(1) // peek hides the error
			return err
		}
		var err error
		switch {
		case strings.ContainsRune(" \t\r\n", rune(text[0])):
			s.skip(1)
		case len(text) == 3 && string(text) == "\ufeff":
			s.skip(3)
		case text[0] == '#' || len(text) >= 2 && text[0] == '-' && text[1] == '-':
			err = s.skipThrough("\n")
		case len(text) >= 2 && text[0] == '/' && text[1] == '*':
			err = s.skipThrough("*/")
		default:
			return nil
		}
		if errors.Is(err, io.ErrUnexpectedEOF) { // the dump ends in a comment
			return io.EOF
		}
		if err != nil {
			return err
		}
	}
}

// skipInnerSpace consumes white space and comments within a statement. At the end of the dump the error is
// io.ErrUnexpectedEOF.
func (s *scanner) skipInnerSpace() error {
	err := s.skipSpace()
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// isWord reports whether a byte can be part of a word.
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

// name consumes a name, with or without quotes, and returns the name without them.
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
			s.skip(1) // a doubled quote stands for one
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
		if err := s.skipInnerSpace(); err != nil {
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

// quoted consumes a text after its opening quotation mark, appends it to dst without escapes and returns the result. If
// dst is nil the text is discarded.
func (s *scanner) quoted(dst []byte, quote byte) ([]byte, error) {
	keep := dst != nil
	for {
		text, err := s.chunk()
		if err != nil {
			return dst, err
		}
		end := bytes.IndexByte(text, quote) // the end of the bytes that stand for themselves
		if end < 0 {
			end = len(text)
		}
		if quote != '`' { // in a name, a backslash stands for itself
			if slash := bytes.IndexByte(text[:end], '\\'); slash >= 0 {
				end = slash
			}
		}
		if keep {
			dst = append(dst, text[:end]...)
		}
		if len(dst) > maxRow {
			return dst, s.fault("a text has more than %d bytes", maxRow)
		}
		unfinished := end == len(text) // skip makes text invalid
		s.skip(end)
		if unfinished {
			continue
		}
		b, err := s.next()
		if err != nil {
			return dst, err
		}
		if b == quote {
			if next := s.peek(1); len(next) == 0 || next[0] != quote {
				return dst, nil
			}
			s.skip(1) // a doubled quote stands for one
		} else { // a backslash, which begins an escape sequence
			if b, err = s.next(); err != nil {
				return dst, err
			}
			if keep && (b == '%' || b == '_') { // MySQL keeps the backslash before these
				dst = append(dst, '\\')
			} else if i := strings.IndexByte("0bnrtZ", b); i >= 0 {
				b = "\x00\b\n\r\t\x1a"[i]
			}
		}
		if keep {
			dst = append(dst, b)
		}
	}
}
