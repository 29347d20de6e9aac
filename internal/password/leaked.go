package password

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // the lists that are published have it
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Leaked is a list of leaked passwords: a file of their SHA-1 hashes, one in 40 hexadecimal digits per line, in
// ascending order. A colon and a count may follow a hash. Have I Been Pwned publishes such files, ordered by hash. The
// file is searched on disk and not read into memory. Leaked is safe for concurrent use.
type Leaked struct {
	file *os.File
	size int64
	name string
}

// Close closes the file. It may be called on a nil *Leaked.
func (l *Leaked) Close() {
	if l != nil {
		_ = l.file.Close() // it was only read
	}
}

// hashDigits is the length of a hash in digits.
const hashDigits = 2 * sha1.Size

// maxLine limits a line, in bytes.
const maxLine = 80

// OpenLeaked opens a list. It returns an error if the first line is malformed or the first two lines are not in order.
func OpenLeaked(name string) (*Leaked, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	l := &Leaked{file: file, name: name}
	if err := l.check(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return l, nil
}

// check checks the beginning of the list.
func (l *Leaked) check() error {
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	l.size = info.Size()
	first, next, err := l.line(0)
	if err != nil || next >= l.size {
		return err
	}
	second, _, err := l.line(next)
	if err == nil && second <= first {
		err = l.fault("its lines are not in ascending order")
	}
	return err
}

// fault returns the error for a file that is not such a list.
func (l *Leaked) fault(detail string) error {
	return fmt.Errorf("%s is not a list of leaked passwords, SHA-1 hashes in ascending order with one on each line: %s",
		l.name, detail)
}

// line returns the hash in the line that begins at the offset start, in upper case, and the offset of the next line.
func (l *Leaked) line(start int64) (hash string, next int64, err error) {
	var buffer [maxLine]byte
	n, err := l.file.ReadAt(buffer[:], start)
	if err != nil && err != io.EOF {
		return "", 0, err
	}
	text := buffer[:n]
	length := bytes.IndexByte(text, '\n')
	next = start + int64(length) + 1
	if length < 0 { // the last line, or one longer than the buffer
		length, next = n, l.size
	}
	if length < hashDigits || n == maxLine && next == l.size {
		return "", 0, l.fault("a line is not a hash")
	}
	hash = strings.ToUpper(string(text[:hashDigits]))
	if _, err := hex.DecodeString(hash); err != nil {
		return "", 0, l.fault("a line is not a hash")
	}
	return hash, next, nil
}

// begin returns the offset of the first line that begins at or after an offset. It returns the size of the file if
// no line does.
func (l *Leaked) begin(offset int64) (int64, error) {
	if offset == 0 {
		return 0, nil
	}
	var buffer [maxLine]byte
	n, err := l.file.ReadAt(buffer[:], offset-1)
	if err != nil && err != io.EOF {
		return 0, err
	}
	end := bytes.IndexByte(buffer[:n], '\n')
	if end < 0 {
		if n == maxLine {
			return 0, l.fault("a line is too long")
		}
		return l.size, nil
	}
	return offset + int64(end), nil
}

// Has reports whether a password is on the list. It reports false on a nil *Leaked.
func (l *Leaked) Has(password string) (bool, error) {
	if l == nil {
		return false, nil
	}
	sum := sha1.Sum([]byte(password)) //nolint:gosec // the format of the list
	target := strings.ToUpper(hex.EncodeToString(sum[:]))
	for low, high := int64(0), l.size; low < high; {
		middle := low + (high-low)/2
		start, err := l.begin(middle)
		if err != nil {
			return false, err
		}
		if start >= high {
			high = middle
			continue
		}
		hash, next, err := l.line(start)
		switch {
		case err != nil:
			return false, err
		case hash == target:
			return true, nil
		case hash < target:
			low = next
		default:
			high = middle
		}
	}
	return false, nil
}
