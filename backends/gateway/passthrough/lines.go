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

	rest   []byte // the beginning of a line that is not complete
	number int
	size   int64
	failed error
}

// Write implements io.Writer. After an error it always returns that error.
func (l *lines) Write(text []byte) (int, error) {
	if l.failed == nil {
		l.failed = l.split(text)
	}
	if l.failed != nil {
		return 0, l.failed
	}
	return len(text), nil
}

func (l *lines) split(text []byte) error {
	if l.size += int64(len(text)); l.size > maxFile {
		return fmt.Errorf("the file is larger than %d GiB", maxFile>>30)
	}
	for {
		line, after, complete := bytes.Cut(text, []byte("\n"))
		if len(l.rest)+len(line) > maxLine {
			return fmt.Errorf("line %d is longer than %d MiB", l.number+1, maxLine>>20)
		}
		if !complete || len(l.rest) > 0 {
			if err := l.grow(int64(2 * (len(l.rest) + len(line)))); err != nil {
				return err
			}
			l.rest = append(l.rest, line...)
			line = l.rest
		}
		if !complete {
			return nil
		}
		if err := l.take(line); err != nil {
			return err
		}
		l.rest, text = l.rest[:0], after
	}
}

func (l *lines) take(line []byte) error {
	l.number++
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return nil
	}
	return l.line(l.number, line)
}

// Close processes the last line, which need not end in a line break. It returns the first error of any line.
func (l *lines) Close() error {
	if l.failed == nil && len(l.rest) > 0 {
		l.failed = l.take(l.rest)
		l.rest = nil
	}
	err := l.failed
	l.failed = errors.Join(l.failed, errClosed)
	return err
}

var errClosed = errors.New("the file is closed")
