// Package packed compresses texts that are stored but rarely read: logs, metrics and rejected commands.
//
// A packed text is a marker byte followed by a block of S2
// (https://github.com/google/snappy/blob/main/format_description.txt with S2's extensions). With S2, compressing the
// logs of a report takes a fifth of the time that DEFLATE takes, and the result is a third larger. A text that arrives
// as gzip (RFC 1952) can be stored unchanged. Texts stored by older versions are DEFLATE (RFC 1951); they can still be
// read.
package packed

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
)

// marker precedes a block of S2, and gzipMarker is the first byte of gzip. No DEFLATE stream begins with either byte:
// their bits denote block type 3, which RFC 1951, section 3.2.3 reserves.
const (
	marker     = 0b110
	gzipMarker = 0x1f
)

// ErrTooLong is the error of Append for a text that exceeds the limit.
var ErrTooLong = errors.New("the packed text is too long")

// Pack compresses a text. It panics if the text has 4 GiB or more.
func Pack(text []byte) []byte {
	limit := s2.MaxEncodedLen(len(text))
	if limit < 0 {
		panic("packed: a text of 4 GiB")
	}
	buffer := buffers.Get().(*[]byte)
	if cap(*buffer) < limit {
		*buffer = make([]byte, limit)
	}
	block := s2.Encode((*buffer)[:cap(*buffer)], text)
	out := append(append(make([]byte, 0, 1+len(block)), marker), block...)
	if cap(*buffer) <= maxPooled {
		buffers.Put(buffer)
	}
	return out
}

// buffers is a pool of buffers. Buffers larger than maxPooled are not returned to the pool.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const maxPooled = 256 << 10

// Append decompresses packed and appends the text to dst. It returns ErrTooLong if the text has more than limit bytes,
// and another error if packed is corrupt.
func Append(dst, packed []byte, limit int) ([]byte, error) {
	if len(packed) > 0 && packed[0] == marker {
		return appendBlock(dst, packed[1:], limit)
	}
	text := io.Reader(flate.NewReader(bytes.NewReader(packed)))
	if len(packed) > 0 && packed[0] == gzipMarker {
		var err error
		if text, err = gzip.NewReader(bytes.NewReader(packed)); err != nil {
			return dst, fmt.Errorf("unpacking: %w", err)
		}
	}
	out := bytes.NewBuffer(dst)
	n, err := io.Copy(out, io.LimitReader(text, int64(limit)+1))
	switch {
	case err != nil:
		return dst, fmt.Errorf("unpacking: %w", err)
	case n > int64(limit):
		return dst, ErrTooLong
	}
	return out.Bytes(), nil
}

// appendBlock decompresses a block of S2; see Append.
func appendBlock(dst, block []byte, limit int) ([]byte, error) {
	n, err := s2.DecodedLen(block)
	switch {
	case err != nil:
		return dst, fmt.Errorf("unpacking: %w", err)
	case n > limit:
		return dst, ErrTooLong
	}
	text, err := s2.Decode(make([]byte, n), block)
	if err != nil {
		return dst, fmt.Errorf("unpacking: %w", err)
	}
	return append(dst, text...), nil
}
