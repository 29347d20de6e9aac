package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
)

// Reply is the part of a response that a client keeps.
type Reply struct {
	Status int
	Bytes  int
	Lines  int  // line ends in the body; a server-sent event has two
	closes bool // no further request may be sent on the connection

	// Location is set only for a Client with Keep.
	Location string
	Text     string // the body
}

// errFraming is returned for a response that this reader does not understand.
var errFraming = errors.New("the answer is not framed as expected")

// maxBody bounds a response and each of its chunks.
const maxBody = 1 << 30

// replyReader reads HTTP/1.1 responses, and counts them instead of keeping them. It needs only a fraction of the CPU
// time of net/http, which matters because the load shares the machine with the server.
type replyReader struct {
	in      *bufio.Reader
	length  int  // the bytes left of the body; -1 if the body is chunked
	inChunk int  // the bytes left of the current chunk
	keep    bool // whether to keep the parts that the client needs for its next requests
}

// head reads the status line and the headers.
func (r *replyReader) head(got *Reply) error {
	line, err := r.in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if len(line) < 13 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return errFraming
	}
	if got.Status, err = digits(line[9:12], 10); err != nil {
		return err
	}
	r.length, r.inChunk = 0, 0
	for {
		line, err := r.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		name, value, found := bytes.Cut(line, []byte(":"))
		if !found {
			if len(bytes.TrimRight(line, "\r\n")) > 0 {
				return errFraming
			}
			return nil
		}
		value = bytes.TrimSpace(value)
		switch len(name) { // most headers need no comparison
		case len("Location"):
			if r.keep && bytes.EqualFold(name, []byte("Location")) {
				got.Location = string(value)
			}
		case len("Connection"):
			if bytes.EqualFold(name, []byte("Connection")) && bytes.EqualFold(value, []byte("close")) {
				got.closes = true
			}
		case len("Content-Length"):
			if bytes.EqualFold(name, []byte("Content-Length")) {
				if r.length, err = digits(value, 10); err != nil {
					return err
				}
			}
		case len("Transfer-Encoding"):
			if bytes.EqualFold(name, []byte("Transfer-Encoding")) {
				r.length = -1
			}
		}
	}
}

// body reads to the end of the response. If the response is chunked and enough is greater than 0, it stops after that
// many lines of the body, and can be called again to continue.
func (r *replyReader) body(got *Reply, enough int) error {
	if r.length >= 0 {
		return r.take(got, &r.length, 0)
	}
	for {
		if r.inChunk == 0 {
			size, err := r.chunkSize()
			if err != nil {
				return err
			}
			if size == 0 {
				return r.lineEnd() // trailers are not expected
			}
			r.inChunk = size
		}
		if err := r.take(got, &r.inChunk, enough); err != nil {
			return err
		}
		if r.inChunk == 0 {
			if err := r.lineEnd(); err != nil {
				return err
			}
		}
		if enough > 0 && got.Lines >= enough {
			return nil
		}
	}
}

// take reads and counts as many bytes as left says, and subtracts them from left. If enough is greater than 0, take
// stops early when there are that many lines.
func (r *replyReader) take(got *Reply, left *int, enough int) error {
	for *left > 0 && (enough == 0 || got.Lines < enough) {
		if _, err := r.in.Peek(1); err != nil {
			return err
		}
		part, err := r.in.Peek(min(*left, r.in.Buffered()))
		if err != nil {
			return err
		}
		got.Lines += bytes.Count(part, []byte("\n"))
		got.Bytes += len(part)
		if r.keep {
			got.Text += string(part)
		}
		*left -= len(part)
		if _, err := r.in.Discard(len(part)); err != nil {
			return err
		}
	}
	return nil
}

// chunkSize reads the line before a chunk.
func (r *replyReader) chunkSize() (int, error) {
	line, err := r.in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	return digits(bytes.TrimRight(line, "\r\n"), 16)
}

// lineEnd reads the empty line after a chunk.
func (r *replyReader) lineEnd() error {
	line, err := r.in.ReadSlice('\n')
	if err == nil && len(bytes.TrimRight(line, "\r\n")) > 0 {
		return errFraming
	}
	return err
}

// digits parses a whole number up to maxBody.
func digits(text []byte, base int) (n int, err error) {
	if len(text) == 0 {
		return 0, errFraming
	}
	for _, c := range text {
		digit := base
		switch {
		case '0' <= c && c <= '9':
			digit = int(c - '0')
		case 'a' <= c && c <= 'f':
			digit = int(c-'a') + 10
		case 'A' <= c && c <= 'F':
			digit = int(c-'A') + 10
		}
		if n = n*base + digit; digit >= base || n > maxBody {
			return 0, fmt.Errorf("%w: %.20q is not a size", errFraming, text)
		}
	}
	return n, nil
}
