package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// EventStreamType is the media type of the streams that EventStream reads.
const EventStreamType = "application/vnd.amazon.eventstream"

const (
	// frameHead is the length of a frame before its headers, minFrame the length of the smallest frame.
	frameHead = 12
	minFrame  = frameHead + 4
	// frameRead is the number of bytes that one read of the body may return.
	frameRead = 4 << 10
)

// EventStream converts a stream in Amazon's event stream encoding to server-sent events. The event's name is the
// frame's :event-type or :exception-type. A malformed frame, or a frame larger than MaxEvent, causes an error that
// wraps ErrBroken. If the body implements Roomer, its method Room is called before a large frame is buffered. An
// EventStream must be used by one goroutine at a time.
type EventStream struct {
	body    io.ReadCloser
	room    func(size int) error // nil if memory is not accounted for
	large   bool                 // room was called for a large frame
	decoder *eventstream.Decoder
	in      []byte // bytes of incomplete frames
	out     []byte // decoded events that were not returned yet
	err     error  // error with which reading or buffering the body ended
}

// NewEventStream returns an EventStream that reads from body. Its method Close closes body.
func NewEventStream(body io.ReadCloser) *EventStream {
	e := &EventStream{body: body, decoder: eventstream.NewDecoder()}
	if r, ok := body.(Roomer); ok {
		e.room = r.Room
	}
	return e
}

// Read implements io.Reader. It blocks until at least one event is complete.
func (e *EventStream) Read(p []byte) (int, error) {
	for len(e.out) == 0 {
		decoded, err := e.decode()
		if err != nil {
			return 0, err
		}
		if decoded {
			continue
		}
		if e.err != nil { // reported only now, after all complete frames
			return 0, e.end()
		}
		if e.err = e.grow(); e.err == nil {
			e.fill()
		}
	}
	n := copy(p, e.out)
	if e.out = e.out[n:]; len(e.out) == 0 {
		e.out = nil // gives up the memory of an event, which may be large
		if e.large && cap(e.in) <= burstBuffer {
			e.large = false
			_ = e.room(0) // gives memory back, so it cannot fail
		}
	}
	return n, nil
}

// Close closes the body.
func (e *EventStream) Close() error { return e.body.Close() }

// grow enlarges the buffer for the next read. If the buffer becomes large, grow first calls Room with the amount of
// memory that the frame, its payload and the resulting event need.
func (e *EventStream) grow() error {
	required := len(e.in) + frameRead
	if required <= cap(e.in) {
		return nil
	}
	size := max(required, 2*cap(e.in))
	if size > burstBuffer && e.room != nil {
		e.large = true
		if err := e.room(3 * size); err != nil {
			return err
		}
	}
	e.in = append(make([]byte, 0, size), e.in...)
	return nil
}

// fill reads more of the body into the buffer.
func (e *EventStream) fill() {
	size := len(e.in)
	n, err := e.body.Read(e.in[size : size+frameRead])
	e.in, e.err = e.in[:size+n], err
}

// end returns the error that Read returns after the body has ended. It is io.ErrUnexpectedEOF if the last frame is
// incomplete, and otherwise the error with which the body ended.
func (e *EventStream) end() error {
	if e.err == io.EOF && len(e.in) > 0 { //nolint:errorlint // a reader returns io.EOF itself
		return io.ErrUnexpectedEOF
	}
	return e.err
}

// decode decodes the next frame into e.out. ok is false if the buffer has no complete frame.
func (e *EventStream) decode() (ok bool, err error) {
	if len(e.in) < frameHead {
		return false, nil
	}
	size := binary.BigEndian.Uint32(e.in)
	if size < minFrame || size > MaxEvent {
		return false, fmt.Errorf("%w: a frame of %d bytes", ErrBroken, size)
	}
	if len(e.in) < int(size) {
		return false, nil
	}
	message, err := e.decoder.Decode(bytes.NewReader(e.in[:size]), nil)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	e.in = append(e.in[:0], e.in[size:]...)
	if cap(e.in) > burstBuffer && len(e.in) < frameRead {
		e.in = bytes.Clone(e.in) // gives up the buffer of a large frame
	}
	name := header(&message, ":event-type")
	switch header(&message, ":message-type") {
	case "exception":
		name = header(&message, ":exception-type")
	case "error":
		name = "error"
		message.Payload = jsontext.AppendQuoted([]byte(`{"code":`), header(&message, ":error-code"))
		message.Payload = jsontext.AppendMember(message.Payload, `,"message":`, header(&message, ":error-message"))
		message.Payload = append(message.Payload, '}')
	}
	OneLine(message.Payload)
	e.out = append(append(e.out[:0], "event: "...), name...)
	e.out = append(append(append(e.out, "\ndata: "...), message.Payload...), "\n\n"...)
	return true, nil
}

// header returns the value of a frame's header without line breaks, or an empty string if the frame has no such header.
func header(m *eventstream.Message, name string) string {
	value, ok := m.Headers.Get(name).(eventstream.StringValue)
	if !ok {
		return ""
	}
	text := []byte(value)
	OneLine(text)
	return string(text)
}
