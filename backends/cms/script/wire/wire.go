// Package wire is how the gateway and a worker process that runs handlers of a site speak with each other: frames over
// a pair of pipes, and what stands in them.
//
// A frame is the length of the rest as four bytes, a kind and a payload. The gateway sends a question (Load, Table,
// Call, Program) and the worker answers it with a Result. Meanwhile the worker may ask for what only the gateway has,
// such as pages: a frame whose kind is an operation, to which the gateway gives a Reply or a Refusal. A Log has no
// answer. Neither side trusts a length further than bytes have come.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Kinds of frames.
const (
	Program byte = iota + 1 // the code of a site; a Result without anything follows
	Load                    // files whose classes are asked for
	Table                   // Routes.js is asked for
	Call                    // a method is called
	Result                  // the answer to one of these
	Reply                   // the answer to an operation
	Refusal                 // an operation has failed
	Log                     // a line for the log
)

// Operations that a worker asks for.
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
	Datum // a member of it
	Header
	Query
	Body
	Params
	Uploads
	Headers
	Config
	Source
)

// The longest frames in each direction. A body of a request has at most 64 MiB.
const (
	MaxDown = 160 << 20 // to a worker
	MaxUp   = 24 << 20  // to the gateway
)

// keep is the size of a buffer that stays for the next frame.
const keep = 256 << 10

// head is how many bytes stand before a payload.
const head = 5

// ErrLong is the error of a frame that is too long to be sent.
var ErrLong = errors.New("a frame that is too long")

// errEnds is the error of a frame whose payload is shorter than what should be in it.
var errEnds = errors.New("a frame that ends too early")

// Conn reads and writes frames. It is for one goroutine at a time.
type Conn struct {
	in    io.Reader
	out   io.Writer
	limit int // of the payload of a frame that is read
	// buffer has what was read; unread begins at from.
	buffer   []byte
	from, to int
	frame    []byte // that is written
}

// NewConn makes a Conn that refuses to read frames longer than limit.
func NewConn(in io.Reader, out io.Writer, limit int) *Conn {
	return &Conn{in: in, out: out, limit: limit, buffer: make([]byte, 4096)}
}

// Read reads a frame. Its payload is good until the next Read.
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

// fill reads until there are n unread bytes. The buffer grows with what comes, not with what is announced.
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

// Begin begins a frame. What is appended to it is its payload; Send sends it.
func (c *Conn) Begin(kind byte) []byte {
	if cap(c.frame) > keep {
		c.frame = nil
	}
	return append(c.frame[:0], 0, 0, 0, 0, kind)
}

// Send sends a frame that Begin has begun.
func (c *Conn) Send(frame []byte) error {
	c.frame = frame
	if len(frame)-4 > MaxDown {
		return ErrLong
	}
	binary.LittleEndian.PutUint32(frame, uint32(len(frame)-4)) //nolint:gosec // G115: bounded above
	_, err := c.out.Write(frame)
	return err
}

// Kinds of errors in a Result.
const (
	Thrown     byte = iota // whatever a script threw
	Coded                  // with a code that is the status of the answer
	TookTime               // the call was ended for its time
	TookMemory             // or for its memory
)

// Kinds of what a method answers in a Result.
const (
	Nothing   byte = '0'
	Text      byte = 't'
	Whole     byte = 'j' // JSON as it stands
	Raw       byte = 'b' // the bytes of a body
	Responded byte = 'r' // new Response(…)
	Served    byte = 'f' // the number of a file that the gateway answers with
	Failed    byte = 'e' // an error
	Wrong     byte = 'p' // a problem in a file that is loaded
	Loaded    byte = 'k' // classes of files, and the table of Routes.js
)

// Class is a handler class in a table of routes, beside the kinds of values.
const Class byte = 'c'

// Levels of a Log.
const (
	Debug byte = iota
	Info
	Warn
	Error
)

// RefusedError says why an operation was refused.
type RefusedError struct {
	Code    int    // 400 to 499 where the client may know it, or 0
	Message string // for the script
	// Cause is the number of an error that the script is not told of, or 0.
	Cause uint64
}

func (r *RefusedError) Error() string { return r.Message }
