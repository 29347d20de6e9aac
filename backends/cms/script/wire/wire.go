// Package wire implements the protocol between the gateway and a worker process, which runs the handlers of a site.
// Frames are sent over a pair of pipes.
//
// A frame consists of the length of the following bytes as a four-byte number, a kind, and a payload. The gateway sends
// a request (Load, Table, Call or Program), and the worker answers with a Result. In the meantime, the worker may
// request operations that only the gateway can perform, such as those on pages. It sends a frame whose kind is the
// operation, and the gateway answers with a Reply or a Refusal. A Log frame has no answer. Neither side allocates
// memory for a payload before its bytes have arrived.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The kinds of frames.
const (
	Program byte = iota + 1 // the code of a site; the Result is empty
	Load                    // asks for the classes of files
	Table                   // asks for the table of Routes.js
	Call                    // calls a method
	Result                  // answers one of these
	Reply                   // answers an operation
	Refusal                 // answers an operation that has failed
	Log                     // a line for the log
)

// The operations that a worker can request.
const (
	Find byte = iota + 64
	Get
	Count
	Add
	Save
	Trash
	Attach
	File
	Image
	Users
	User
	Templates
	Template
	Fields
	Field
	CacheGet
	CacheSet
	CacheDelete
	Fetch
	SessionGet
	SessionSet
	SessionRemove
	Data
	Datum // a member of Data
	Header
	Query
	Body
	Params
	Uploads
	Headers
	Config
	Source
)

// The maximum lengths of frames in each direction. The body of a request has at most 64 MiB.
const (
	MaxDown = 160 << 20 // to a worker
	MaxUp   = 24 << 20  // to the gateway
)

// keep is the maximum size of a buffer that is reused for the next frame.
const keep = 256 << 10

// head is the length of a frame's header: the length and the kind.
const head = 5

// ErrLong is the error of Send for a frame that exceeds the limit.
var ErrLong = errors.New("a frame that is too long")

// errEnds is the error for a payload that is too short.
var errEnds = errors.New("a frame that ends too early")

// Conn reads and writes frames. A Conn is not safe for concurrent use.
type Conn struct {
	in    io.Reader
	out   io.Writer
	limit int // of the payload of a frame that is read
	// buffer holds the received bytes, of which buffer[from:to] are unread.
	buffer   []byte
	from, to int
	frame    []byte // buffer of the frame that is written
}

// NewConn returns a Conn. Its Read returns an error for frames longer than limit.
func NewConn(in io.Reader, out io.Writer, limit int) *Conn {
	return &Conn{in: in, out: out, limit: limit, buffer: make([]byte, 4096)}
}

// Read reads a frame. The payload is valid until the next call of Read. At the end of the input, Read returns io.EOF.
func (c *Conn) Read() (kind byte, payload []byte, err error) {
	if c.from == c.to {
		c.from, c.to = 0, 0
		if len(c.buffer) > keep {
			c.buffer = make([]byte, 4096)
		}
	}
	if err := c.fill(head); err != nil {
		return 0, nil, err
	}
	length := int(binary.LittleEndian.Uint32(c.buffer[c.from:]))
	if length < 1 || length > c.limit {
		return 0, nil, fmt.Errorf("a frame of %d bytes; there may be %d", length, c.limit)
	}
	if err := c.fill(4 + length); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	kind, payload = c.buffer[c.from+4], c.buffer[c.from+head:c.from+4+length]
	c.from += 4 + length
	return kind, payload, nil
}

// fill reads until there are n unread bytes. The buffer grows with the received bytes, not with the announced length.
func (c *Conn) fill(n int) error {
	for c.to-c.from < n {
		if c.from > 0 {
			c.to = copy(c.buffer, c.buffer[c.from:c.to])
			c.from = 0
		}
		if c.to == len(c.buffer) {
			c.buffer = append(c.buffer, make([]byte, min(len(c.buffer), n-c.to))...)
		}
		got, err := c.in.Read(c.buffer[c.to:])
		c.to += got
		if err != nil && c.to-c.from < n {
			return err
		}
	}
	return nil
}

// Begin returns the beginning of a frame. The caller appends the payload and passes the result to Send.
func (c *Conn) Begin(kind byte) []byte {
	if cap(c.frame) > keep {
		c.frame = nil
	}
	return append(c.frame[:0], 0, 0, 0, 0, kind)
}

// Send sends a frame that Begin has begun. It returns ErrLong if the frame exceeds the limit.
func (c *Conn) Send(frame []byte) error {
	c.frame = frame
	if len(frame)-4 > MaxDown {
		return ErrLong
	}
	binary.LittleEndian.PutUint32(frame, uint32(len(frame)-4)) //nolint:gosec // G115: bounded above
	_, err := c.out.Write(frame)
	return err
}

// The kinds of errors in a Result.
const (
	Thrown     byte = iota // a value that a script has thrown
	Coded                  // an error with the status of the answer
	TookTime               // the call took too long
	TookMemory             // the call took too much memory
)

// The kinds of answers in a Result.
const (
	Nothing   byte = '0'
	Text      byte = 't'
	Whole     byte = 'j' // JSON, unchanged
	Raw       byte = 'b' // the bytes of a body
	Responded byte = 'r' // new Response(…)
	Served    byte = 'f' // the number of a file that the gateway serves
	Failed    byte = 'e' // an error
	Wrong     byte = 'p' // an error in a file that is loaded
	Loaded    byte = 'k' // the classes of files, and the table of Routes.js
)

// Class is the kind of a handler class in a routes table, which has values of this kind in addition to JSON values.
const Class byte = 'c'

// The levels of a Log.
const (
	Debug byte = iota
	Info
	Warn
	Error
)

// RefusedError is the error of an operation that the gateway has refused.
type RefusedError struct {
	Code    int    // 400 to 499 if the client may know it, or 0
	Message string // for the script
	// Cause is the number that the gateway has given to an error whose text the script must not see, or 0.
	Cause uint64
}

func (r *RefusedError) Error() string { return r.Message }
