// Package packed compresses the texts that the run events keep and seldom read: logs,
// metrics, rejected commands. What is packed is a marker and a block of S2
// (https://github.com/google/snappy/blob/main/format_description.txt with S2's
// extensions): packing a report's logs costs a fifth of DEFLATE's time, and takes a
// third more room. What comes as gzip (RFC 1952) may be kept as it is. Texts that were kept
// before are DEFLATE (RFC 1951), and are read.
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

// marker is before a block of S2, and zipped is the first byte of gzip. Nothing of DEFLATE
// begins with them: the bits say a block of the type 3, which RFC 1951 section 3.2.3
// reserves.
const (
	marker = 0b110
	zipped = 0x1f
)

// ErrTooLong is a text that is longer than its reader takes.
var ErrTooLong = errors.New("the packed text is too long")

// Pack compresses a text. A text of 4 GiB or more is a panic.
func Pack(text []byte) []byte {
	most := s2.MaxEncodedLen(len(text))
	if most < 0 {
		panic("packed: a text of 4 GiB")
	}
	room := rooms.Get().(*[]byte)
	if cap(*room) < most {
		*room = make([]byte, most)
	}
	block := s2.Encode((*room)[:cap(*room)], text)
	out := append(append(make([]byte, 0, 1+len(block)), marker), block...)
	if cap(*room) <= roomKept {
		rooms.Put(room)
	}
	return out
}

// rooms are for texts that do not shrink, of which most leave much; larger ones than
// roomKept are not kept.
var rooms = sync.Pool{New: func() any { return new([]byte) }}

const roomKept = 256 << 10

// Append adds the text to dst. One of more than limit bytes is ErrTooLong, and other
// errors tell that packed is damaged.
func Append(dst, packed []byte, limit int) ([]byte, error) {
	if len(packed) > 0 && packed[0] == marker {
		return appendBlock(dst, packed[1:], limit)
	}
	text := io.Reader(flate.NewReader(bytes.NewReader(packed)))
	if len(packed) > 0 && packed[0] == zipped {
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
