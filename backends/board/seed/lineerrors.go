package seed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// lineReader reads a fixture and remembers where its lines end.
type lineReader struct {
	from io.Reader
	read int64   // how many bytes were read
	ends []int64 // the offsets of the line ends that follow the last offset that was passed to lineOf
	line int     // how many lines end before that offset
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

// lineOf returns the number of the line, starting at 1, that contains an offset. The offset must have been read, and
// must not be smaller than in the previous call.
func (l *lineReader) lineOf(offset int64) int {
	for len(l.ends) > 0 && l.ends[0] < offset {
		l.ends = l.ends[1:]
		l.line++
	}
	return l.line + 1
}

// place is the position of an element in a fixture: its line, and its number in its list, such as 3 for the third
// forum.
type place struct{ line, number int }

// wrap returns an error whose text consists of the line and the number of the element, followed by the text of err.
func (p place) wrap(err error) error {
	return fmt.Errorf("line %d, element %d: %w", p.line, p.number, err)
}

// next reads the next element of the part from d and updates position to that of the element. It returns an error if
// the fixture is not valid JSON there; the rest of the fixture cannot be read then.
func (sd *seeder) next(d *json.Decoder, position *place) (raw json.RawMessage, err error) {
	position.number++
	if err := d.Decode(&raw); err != nil {
		position.line = sd.lines.lineOf(d.InputOffset())
		return nil, position.wrap(err)
	}
	position.line = sd.lines.lineOf(d.InputOffset() - int64(len(raw)))
	return raw, nil
}

// decode decodes an element into value. Unknown fields are an error.
func decode(raw json.RawMessage, value any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(value)
}

// refuse reports err, the error of an element that breaks a rule, to Options.Refused. It returns nil, so that loading
// continues without the element. It returns err if Refused is nil, if the database has failed, or if the context has
// ended.
func (sd *seeder) refuse(err error) error {
	if sd.Refused == nil || store.IsFailure(err) || sd.ctx.Err() != nil {
		return err
	}
	sd.Refused(fmt.Errorf("%s: %w", sd.name, err))
	return nil
}

// load calls add for the range of elements from index start up to, but not including, index end. add must add all
// elements of a range or none. If add fails and Refused is set, load halves the range until it has found the elements
// to leave out, which it passes to refuse.
func (sd *seeder) load(start, end int, add func(start, end int) error) error {
	if start == end {
		return nil
	}
	err := add(start, end)
	if err == nil || sd.Refused == nil || store.IsFailure(err) {
		return err
	}
	if end-start == 1 {
		return sd.refuse(err)
	}
	middle := (start + end) / 2
	if err := sd.load(start, middle, add); err != nil {
		return err
	}
	return sd.load(middle, end, add)
}

// progress reports that done elements of a part are loaded.
func (sd *seeder) progress(part string, done int) {
	if sd.Progress != nil {
		sd.Progress(part, done)
	}
}
