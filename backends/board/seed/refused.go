package seed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// lineReader reads a fixture and finds the lines of its bytes.
type lineReader struct {
	from io.Reader
	read int64   // bytes
	ends []int64 // of lines, behind what lineOf was asked for
	line int     // how many lines end before that
}

// Read implements io.Reader.
func (l *lineReader) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	for i, b := range p[:n] {
		if b == '\n' {
			l.ends = append(l.ends, l.read+int64(i))
		}
	}
	l.read += int64(n)
	return n, err
}

// lineOf returns the line, from 1 on, of a byte that was read. It is not asked for one before
// the last.
func (l *lineReader) lineOf(offset int64) int {
	for len(l.ends) > 0 && l.ends[0] < offset {
		l.ends = l.ends[1:]
		l.line++
	}
	return l.line + 1
}

// place is where an element stands in a fixture: its line, and its number in its part.
type place struct{ line, number int }

// wrap puts the place before an error.
func (p place) wrap(err error) error {
	return fmt.Errorf("line %d, element %d: %w", p.line, p.number, err)
}

// next reads an element, and moves at from the element before to it. An error is of what is
// not JSON, behind which nothing can be read.
func (sd *seeder) next(d *json.Decoder, at *place) (raw json.RawMessage, err error) {
	at.number++
	if err := d.Decode(&raw); err != nil {
		at.line = sd.lines.lineOf(d.InputOffset())
		return nil, at.wrap(err)
	}
	at.line = sd.lines.lineOf(d.InputOffset() - int64(len(raw)))
	return raw, nil
}

// decode reads an element, which has no other fields than the value.
func decode(raw json.RawMessage, value any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(value)
}

// refuse tells that an element is left out. It returns the error where none may be.
func (sd *seeder) refuse(err error) error {
	if sd.Refused == nil || store.IsFailure(err) || sd.ctx.Err() != nil {
		return err
	}
	sd.Refused(fmt.Errorf("%s: %w", sd.name, err))
	return nil
}

// load calls add for the elements of a batch, together if that goes well. Otherwise, where
// elements may be left out, it finds those that are refused by halves.
func (sd *seeder) load(from, to int, add func(from, to int) error) error {
	if from == to {
		return nil
	}
	err := add(from, to)
	if err == nil || sd.Refused == nil || store.IsFailure(err) {
		return err
	}
	if to-from == 1 {
		return sd.refuse(err)
	}
	middle := (from + to) / 2
	if err := sd.load(from, middle, add); err != nil {
		return err
	}
	return sd.load(middle, to, add)
}

// progress tells what is done of a part.
func (sd *seeder) progress(part string, done int) {
	if sd.Progress != nil {
		sd.Progress(part, done)
	}
}
