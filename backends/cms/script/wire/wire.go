// Package wire implements the protocol between the gateway and a worker process that runs handlers of a site:
// frames over a pair of pipes, and the encoding of their payloads.
//
// A frame consists of the length of the rest as four bytes, a kind and a payload. The gateway sends a request
// (Load, Table, Call, Program), which the worker answers with a Result. Meanwhile the worker may ask for operations
// that only the gateway can perform, such as those on pages: it sends a frame whose kind is the operation, and the
// gateway answers with a Reply or a Refusal. A Log has no answer. Neither side allocates memory for a length before
// the bytes have arrived.
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

// The operations that a worker asks for.
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

// keep is the size up to which a buffer is kept for the next frame.
const keep = 256 << 10

// head is the length of a frame's header.
const head = 5

// ErrLong is the error of Send for a frame that is too long.
var ErrLong = errors.New("a frame that is too long")

// errEnds is the error of a payload that is too short.
var errEnds = errors.New("a frame that ends too early")

// Conn reads and writes frames. It is not safe for concurrent use.
type Conn struct {
	in    io.Reader
	out   io.Writer
	limit int // of the payload of a frame that is read
	// buffer holds what has been read. Its unread part is from:to.
	buffer   []byte
	from, to int
	frame    []byte // buffer of the frame that is written
}

// NewConn returns a Conn that refuses to read frames longer than limit.
func NewConn(in io.Reader, out io.Writer, limit int) *Conn {
	return &Conn{in: in, out: out, limit: limit, buffer: make([]byte, 4096)}
}

// Read reads a frame. The payload is valid until the next Read. At the end it returns io.EOF.
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

// fill reads until there are n unread bytes. The buffer grows with the bytes that arrive, not with the announced
// length.
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

// Begin begins a frame. The caller appends the payload and passes the result to Send.
func (c *Conn) Begin(kind byte) []byte {
	if cap(c.frame) > keep {
		c.frame = nil
	}
	return append(c.frame[:0], 0, 0, 0, 0, kind)
}

// Send sends a frame that Begin has begun. It returns ErrLong if the frame is too long.
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

// Class is the kind of a handler class in a routes table, in addition to the kinds of values.
const Class byte = 'c'

// The levels of a Log.
const (
	Debug byte = iota
	Info
	Warn
	Error
)

// RefusedError is the error of an operation that was refused.
type RefusedError struct {
	Code    int    // 400 to 499 if the client may know it, or 0
	Message string // for the script
	// Cause is the number of an error that the script must not see, or 0.
	Cause uint64
}

func (r *RefusedError) Error() string { return r.Message }
