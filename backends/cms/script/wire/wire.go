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
	Result                  // answers one of the requests above
	Reply                   // answers an operation
	Refusal                 // answers an operation that has failed
	Log                     // a line for the log
)

// The operations that a worker can request.
const (
	Find          byte = iota + 64 // pages that match a selector
	Get                            // one page
	Count                          // the number of pages that match a selector
	Add                            // creates a page
	Save                           // changes a page
	Trash                          // moves a page to the trash
	Attach                         // adds a file to a page
	File                           // prepares a file as the response
	Image                          // the address of an image
	Users                          // a list of users
	User                           // one user
	Templates                      // all templates
	Template                       // one template
	Fields                         // all fields
	Field                          // one field
	CacheGet                       // reads a value in the cache of the site
	CacheSet                       // stores a value in the cache
	CacheDelete                    // removes a value from the cache
	Fetch                          // sends an HTTP request
	SessionGet                     // reads a value in the caller's session
	SessionSet                     // stores a value in the session
	SessionRemove                  // removes a value from the session
	Data                           // the data of the request: all its parameters together
	Datum                          // a member of Data
	Header                         // one header of the request
	Query                          // the parameters of the request's query
	Body                           // the parameters of the request's body
	Params                         // the parameters of the request's path
	Uploads                        // the names and sizes of the files in a form
	Headers                        // all headers of the request
	Config                         // the settings that scripts may read
	Source                         // a file of code that a file requires
)

// The maximum lengths of frames in each direction. The body of a request has at most 64 MiB.
const (
	MaxDown = 160 << 20 // to a worker
	MaxUp   = 24 << 20  // to the gateway
)

// maxKept is the maximum size of a buffer that is reused for the next frame.
const maxKept = 256 << 10

// headerLength is the length of a frame's header: the length and the kind.
const headerLength = 5

// ErrLong is the error of Send for a frame that exceeds the limit.
var ErrLong = errors.New("the frame is too long")

// errShort is the error for a payload that is too short.
var errShort = errors.New("the frame ends too early")

// Conn reads and writes frames. A Conn is not safe for concurrent use.
type Conn struct {
	in    io.Reader
	out   io.Writer
	limit int // maximum length of a frame that is read: kind and payload, in bytes
	// buffer holds the received bytes, of which buffer[from:to] are unread.
	buffer   []byte
	from, to int
	frame    []byte // buffer of the frame that is written
}

// NewConn returns a Conn that reads frames from r and writes frames to w. Its Read returns an error for frames longer
// than limit.
func NewConn(r io.Reader, w io.Writer, limit int) *Conn {
	return &Conn{in: r, out: w, limit: limit, buffer: make([]byte, 4096)}
}

// Read reads a frame: 4 bytes with the length of the rest, 1 byte with the kind, and the payload. The payload is
// valid until the next call of Read. At the end of the input Read returns io.EOF. If the input ends within a payload,
// Read returns io.ErrUnexpectedEOF.
func (c *Conn) Read() (kind byte, payload []byte, err error) {
	if c.from == c.to {
		c.from, c.to = 0, 0
		if len(c.buffer) > maxKept { // do not keep the memory of a large frame
			c.buffer = make([]byte, 4096)
		}
	}
	if err := c.fill(headerLength); err != nil {
		return 0, nil, err
	}
	length := int(binary.LittleEndian.Uint32(c.buffer[c.from:]))
	if length < 1 || length > c.limit {
		return 0, nil, fmt.Errorf("the length of a frame is %d bytes; it must be 1 to %d", length, c.limit)
	}
	if err := c.fill(4 + length); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	kind, payload = c.buffer[c.from+4], c.buffer[c.from+headerLength:c.from+4+length]
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

// Begin returns the beginning of a frame. The caller appends the payload to it, and passes the frame to Send. The
// memory is reused for the next frame.
func (c *Conn) Begin(kind byte) []byte {
	if cap(c.frame) > maxKept {
		c.frame = nil
	}
	return append(c.frame[:0], 0, 0, 0, 0, kind)
}

// Send sends a frame that Begin has begun. It returns ErrLong if the frame exceeds MaxDown.
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
	Nothing   byte = '0' // no body
	Text      byte = 't' // a text
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
	Code    int    // 400 to 499 if the client may see the error, otherwise 0
	Message string // for the script
	// Cause is the number that the gateway has given to an error whose text the script must not see, or 0.
	Cause uint64
}

func (r *RefusedError) Error() string { return r.Message }
