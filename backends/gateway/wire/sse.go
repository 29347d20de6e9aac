package wire

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"unicode/utf8"
)

// MaxEvent is the size in bytes of the largest server-sent event that is read from an upstream. The limit keeps the
// buffer from growing without bound.
const MaxEvent = 8 << 20

// ErrEventTooLarge is the error of an event larger than MaxEvent.
var ErrEventTooLarge = errors.New("event larger than 8 MiB")

// ErrWait is returned by the reader under an EventReader if a read would block now. Next returns it and may be called
// again later.
var ErrWait = errors.New("nothing to read yet")

// Roomer is implemented by readers that account for memory and from which an EventReader or EventStream reads.
type Roomer interface {
	// Room is called before an unusually large event is buffered, with the size of the buffers in bytes. An error ends
	// the stream. Room is called with a size of 0 when that memory is no longer needed.
	Room(size int) error
}

// startBuffer is the buffer size of an idle stream, burstBuffer that of a busy stream. A larger event gets a larger
// buffer as long as needed.
const (
	startBuffer = 1 << 10
	burstBuffer = 32 << 10
)

// buffers and bursts hold unused buffers of the two sizes, which all streams share.
var (
	buffers = sync.Pool{New: func() any { b := make([]byte, startBuffer); return &b }}
	bursts  = sync.Pool{New: func() any { b := make([]byte, burstBuffer); return &b }}
)

// Event is one server-sent event (WHATWG HTML, section 9.2). The bytes are valid until the next call of Next.
type Event struct {
	// Name is the value of the field "event". An empty name means "message".
	Name []byte
	// Data is the data lines joined by \n. Name and Data are valid UTF-8.
	Data []byte
	// Comment is set for a comment line, which some providers send as a sign of life. Data is empty then.
	Comment bool
}

// EventReader splits a stream into events. Lines may end in \n, \r\n or \r. It reads from the stream only if its buffer
// contains no complete event. So if the underlying reader flushes to its client before each read, no event is delayed.
type EventReader struct {
	r             io.Reader
	buf           []byte
	start, end    int    // unread bytes are buf[start:end]
	scan          int    // no line end in buf[start:scan]
	err           error  // error of the last read of r; it is returned once the buffer is used up
	burst         bool   // the last read filled the buffer
	skipLF        bool   // the last line ended in \r, so a \n that follows belongs to it
	pastFirstLine bool   // the first line was read, so no byte order mark can follow
	joined        []byte // data of an event with several data lines
}

// NewEventReader returns a reader of the events of r. The caller must call Release in the end.
func NewEventReader(r io.Reader) *EventReader {
	// Answers often begin with much text at once, so the first read may be large.
	e := new(EventReader) // filled field by field, not copied from a literal on the stack
	e.r, e.buf, e.burst = r, *bursts.Get().(*[]byte), true
	return e
}

// Release returns the buffer to its pool. The reader and its events must not be used afterwards.
func (e *EventReader) Release() {
	b := e.buf
	switch len(b) {
	case startBuffer:
		buffers.Put(&b)
	case burstBuffer:
		bursts.Put(&b)
	}
	e.buf = nil
}

// Next returns the next event or comment. At the end of the stream it returns a last event even if no blank line
// follows the event, and then io.EOF.
func (e *EventReader) Next() (Event, error) {
	if data, ok := e.simpleEvent(); ok {
		return Event{Data: data}, nil
	}
	hasData := false
	// The values of the fields event and data. They are offsets, not slices, since a refill may move or replace the
	// buffer.
	name, data := span{}, span{}
	if cap(e.joined) > burstBuffer {
		e.joined = nil
	}
	e.joined = e.joined[:0]
	wasPastFirstLine := e.pastFirstLine
	eventStart := e.start // the current event's bytes begin here
	for {
		line, err := e.line(&eventStart, &name, &data)
		if err != nil {
			if errors.Is(err, io.EOF) && hasData {
				return e.event(name, data), nil
			}
			if errors.Is(err, ErrWait) {
				e.rewind(eventStart, wasPastFirstLine)
			}
			return Event{}, err
		}
		if line.empty() {
			if hasData {
				return e.event(name, data), nil
			}
			eventStart = e.start // an event without data does not count
			name = span{}
			continue
		}
		if e.buf[line.from] == ':' {
			if !hasData && name.empty() { // inside an event a comment would split the event
				return Event{Comment: true}, nil
			}
			continue
		}
		field, value := e.field(line)
		switch string(field) {
		case "data":
			if !hasData {
				data, hasData = value, true
				continue
			}
			if len(e.joined) == 0 { // this is the second line
				e.joined = append(e.joined, e.buf[data.from:data.to]...)
			}
			e.joined = append(e.joined, '\n')
			e.joined = append(e.joined, e.buf[value.from:value.to]...)
		case "event":
			name = value
		}
	}
}

// rewind returns to the beginning of an unfinished event at the offset eventStart, so that the next call of Next reads
// the event from there. pastFirstLine is the value of e.pastFirstLine at that time.
func (e *EventReader) rewind(eventStart int, pastFirstLine bool) {
	if e.start > eventStart { // skipLF belongs to a line of the event, which is read again
		e.skipLF = false
	}
	e.start, e.scan, e.err, e.pastFirstLine = eventStart, eventStart, nil, pastFirstLine
}

// field splits a line at its first colon. A blank after the colon does not belong to the value. A line without a colon
// has an empty value.
func (e *EventReader) field(line span) (name []byte, value span) {
	text := e.buf[line.from:line.to]
	colon := bytes.IndexByte(text, ':')
	if colon < 0 {
		return text, span{line.to, line.to}
	}
	valueStart := line.from + colon + 1
	if valueStart < line.to && e.buf[valueStart] == ' ' {
		valueStart++
	}
	return text[:colon], span{valueStart, line.to}
}

// simpleEvent returns the data of the most frequent form of event: one data line and a blank line, both ended by \n and
// completely buffered. ok is false for any other form.
func (e *EventReader) simpleEvent() (data []byte, ok bool) {
	const field = "data: "
	window := e.buf[e.start:e.end]
	if e.skipLF || !e.pastFirstLine || !bytes.HasPrefix(window, []byte(field)) {
		return nil, false
	}
	end := bytes.IndexByte(window, '\n')
	if end < 0 || end+1 == len(window) || window[end+1] != '\n' || bytes.IndexByte(window[:end], '\r') >= 0 {
		return nil, false
	}
	e.start += end + 2 // both line ends
	e.scan = e.start
	return ValidUTF8(window[len(field):end]), true
}

// event returns the event whose fields are at name and data in the buffer. Data of several lines is in e.joined.
func (e *EventReader) event(name, data span) Event {
	event := Event{Name: e.buf[name.from:name.to], Data: e.buf[data.from:data.to]}
	if len(e.joined) > 0 {
		event.Data = e.joined
	}
	event.Name, event.Data = ValidUTF8(event.Name), ValidUTF8(event.Data)
	return event
}

// ValidUTF8 replaces an upstream's bytes that are not valid UTF-8 by U+FFFD, as readers of server-sent events do
// (WHATWG HTML, section 9.2), since strict clients reject invalid bytes. A valid text, the usual case, is returned
// unchanged.
func ValidUTF8(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	return bytes.ToValidUTF8(text, []byte("\uFFFD"))
}

// ValidUTF8Len returns the length of ValidUTF8(text) in bytes.
func ValidUTF8Len(text []byte) int {
	if utf8.Valid(text) {
		return len(text)
	}
	n, inInvalidRun := 0, false // a run of invalid bytes becomes one character
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		invalid := r == utf8.RuneError && size == 1
		switch {
		case !invalid:
			n += size
		case !inInvalidRun:
			n += len("\uFFFD")
		}
		inInvalidRun, text = invalid, text[size:]
	}
	return n
}

// span is the range [from, to) of offsets in the buffer.
type span struct{ from, to int }

func (s span) empty() bool { return s.from == s.to }

// line returns the position of the next line in the buffer, without the line end. It may refill the buffer, see
// refill.
func (e *EventReader) line(eventStart *int, offsets ...*span) (span, error) {
	for {
		if e.skipLF && e.start < e.end {
			e.skipLF = false
			if e.buf[e.start] == '\n' {
				e.start++
				e.scan = max(e.scan, e.start)
				if *eventStart == e.start-1 { // the \n belongs to the line before the event
					*eventStart = e.start
				}
			}
		}
		if end := e.lineEnd(); end >= 0 {
			line := e.trimByteOrderMark(span{e.start, end})
			e.skipLF = e.buf[end] == '\r'
			e.start = end + 1
			e.scan = e.start
			return line, nil
		}
		e.scan = e.end
		if e.err != nil {
			if e.start < e.end && !errors.Is(e.err, ErrWait) { // the last line has no line end
				line := e.trimByteOrderMark(span{e.start, e.end})
				e.start = e.end
				return line, nil
			}
			return span{}, e.err
		}
		e.refill(eventStart, offsets...)
	}
}

// resizeBuffer chooses the buffer size for the next read. A stream whose last read filled the buffer gets a larger one.
// A quiet stream with an empty buffer gets a small one; a buffer that was enlarged for a large event is dropped then.
func (e *EventReader) resizeBuffer() {
	switch {
	case e.burst && len(e.buf) == startBuffer:
		larger := *bursts.Get().(*[]byte)
		copy(larger, e.buf[:e.end])
		e.Release()
		e.buf = larger
	case e.end > 0: // the buffer holds a part of an event
	case !e.burst && len(e.buf) != startBuffer, len(e.buf) > burstBuffer:
		if r, ok := e.r.(Roomer); ok && len(e.buf) > burstBuffer {
			_ = r.Room(0) // gives memory back, so it cannot fail
		}
		e.Release()
		e.buf = *buffers.Get().(*[]byte)
	}
}

// lineEnd returns the index of the first line end in the unread part of the buffer, or -1 if there is none. Calling
// IndexByte twice is several times faster than IndexAny.
func (e *EventReader) lineEnd() int {
	window := e.buf[e.scan:e.end]
	lf := bytes.IndexByte(window, '\n')
	if lf >= 0 {
		window = window[:lf]
	}
	if cr := bytes.IndexByte(window, '\r'); cr >= 0 {
		return e.scan + cr
	}
	if lf >= 0 {
		return e.scan + lf
	}
	return -1
}

// trimByteOrderMark returns line without a byte order mark at its beginning if it is the first line of the stream. Any
// later line is returned unchanged.
func (e *EventReader) trimByteOrderMark(line span) span {
	if !e.pastFirstLine {
		e.pastFirstLine = true
		if bytes.HasPrefix(e.buf[line.from:line.to], []byte("\xef\xbb\xbf")) {
			line.from += 3
		}
	}
	return line
}

// refill reads more bytes into the buffer. Before that it moves the bytes from *eventStart on to the front, adjusts
// *eventStart and offsets, and enlarges the buffer if it is full. It stores the error of the read in e.err.
func (e *EventReader) refill(eventStart *int, offsets ...*span) {
	if shift := *eventStart; shift > 0 {
		copy(e.buf, e.buf[shift:e.end])
		e.start -= shift
		e.end -= shift
		e.scan -= shift
		for _, s := range offsets {
			if s.to > 0 { // the field has occurred
				s.from -= shift
				s.to -= shift
			}
		}
		*eventStart = 0
	}
	e.resizeBuffer()
	if e.end == len(e.buf) {
		if len(e.buf) >= MaxEvent {
			e.err = ErrEventTooLarge
			e.start = e.end
			return
		}
		size := min(2*len(e.buf), MaxEvent)
		if r, ok := e.r.(Roomer); ok && size > burstBuffer {
			if err := r.Room(2 * size); err != nil { // twice, since data of several lines is joined in a second buffer
				e.err = err
				e.start = e.end
				return
			}
		}
		grown := make([]byte, size)
		copy(grown, e.buf[:e.end])
		e.buf = grown
	}
	room := len(e.buf) - e.end
	n, err := e.r.Read(e.buf[e.end:])
	e.end += n
	e.err = err
	if err == nil || !errors.Is(err, ErrWait) { // ErrWait says nothing about how busy the stream is
		e.burst = n == room
	}
}
