package passthrough

import (
	"bytes"
	"errors"
	"fmt"
)

// Limits, in bytes, of a file in which each line is a request or a result of a batch.
const (
	maxLine = 16 << 20
	maxFile = 4 << 30
)

// lines calls a function for each line of a text that is written to it in pieces. Empty lines are left out.
type lines struct {
	// grow is called before more memory is used, with the total size needed.
	grow func(size int64) error
	// line is called with each line and its number, which starts at 1. It must not keep text.
	line func(number int, text []byte) error

	partial []byte // the beginning of a line that is not complete
	number  int    // the number of complete lines so far
	size    int64  // the length of the text so far
	err     error  // the first error, or errClosed
}

// Write implements io.Writer. After an error it always returns that error.
func (l *lines) Write(text []byte) (int, error) {
	if l.err == nil {
		l.err = l.split(text)
	}
	if l.err != nil {
		return 0, l.err
	}
	return len(text), nil
}

// split calls l.line for the lines that a piece of the text completes, and keeps the rest in l.partial.
func (l *lines) split(text []byte) error {
	if l.size += int64(len(text)); l.size > maxFile {
		return fmt.Errorf("the file is larger than %d GiB", maxFile>>30)
	}
	for {
		line, rest, complete := bytes.Cut(text, []byte("\n"))
		if len(l.partial)+len(line) > maxLine {
			return fmt.Errorf("line %d is longer than %d MiB", l.number+1, maxLine>>20)
		}
		if !complete || len(l.partial) > 0 { // only a line that lies in one piece is used without a copy
			if err := l.grow(int64(2 * (len(l.partial) + len(line)))); err != nil { // append may double the capacity
				return err
			}
			l.partial = append(l.partial, line...)
			line = l.partial
		}
		if !complete {
			return nil
		}
		if err := l.process(line); err != nil {
			return err
		}
		l.partial, text = l.partial[:0], rest
	}
}

// process calls l.line for a complete line, unless it is empty.
func (l *lines) process(line []byte) error {
	l.number++
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return nil
	}
	return l.line(l.number, line)
}

// Close processes the last line, which need not end in a line break. It returns the first error of any line.
func (l *lines) Close() error {
	if l.err == nil && len(l.partial) > 0 {
		l.err = l.process(l.partial)
		l.partial = nil
	}
	err := l.err
	l.err = errors.Join(l.err, errClosed)
	return err
}

var errClosed = errors.New("the file is closed")
