package imagemeta

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Markers of JPEG (ITU-T T.81, table B.1).
const (
	jpegTEM  = 0x01
	jpegRST0 = 0xd0
	jpegSOI  = 0xd8
	jpegEOI  = 0xd9
	jpegSOS  = 0xda
	jpegAPP0 = 0xe0
	jpegAPP1 = 0xe1
	jpegAPP2 = 0xe2
	jpegAPPE = 0xee // colour information of Adobe
	jpegAPPF = 0xef
	jpegJPG0 = 0xf0
	jpegCOM  = 0xfe
)

// jpeg copies segments up to the end of the image. It removes data after the image, such as the further pictures and
// films that some cameras append.
func jpeg(w io.Writer, r io.ReadSeeker) (orientation byte, err error) {
	orientation = 1
	in, out := bufio.NewReader(r), bufio.NewWriter(w)
	var start [2]byte
	if _, err := io.ReadFull(in, start[:]); err != nil {
		return 1, short(err)
	}
	if start != [2]byte{0xff, jpegSOI} {
		return 1, broken("it does not begin like a JPEG")
	}
	if _, err := out.Write(start[:]); err != nil {
		return 1, err
	}
	scans := 0
	segment := make([]byte, 1<<16)
	marker, err := nextMarker(in)
	for err == nil && marker != jpegEOI {
		if marker == 0 || marker == jpegTEM || marker >= jpegRST0 && marker <= jpegSOI { // these begin no segment
			return 1, broken("a marker is out of place")
		}
		var size [2]byte
		if _, err := io.ReadFull(in, size[:]); err != nil {
			return 1, short(err)
		}
		n := int(size[0])<<8 | int(size[1]) // counts its own two bytes, too
		if n < 2 {
			return 1, broken("a segment is shorter than its length")
		}
		body := segment[:n-2]
		if _, err := io.ReadFull(in, body); err != nil {
			return 1, short(err)
		}
		if body, orientation = keptSegment(marker, body, orientation); body != nil {
			n = len(body) + 2
			if _, err := out.Write(append([]byte{0xff, marker, byte(n >> 8), byte(n)}, body...)); err != nil { //nolint:gosec // 16 bits
				return 1, err
			}
		}
		if marker == jpegSOS {
			scans++
			marker, err = copyScan(out, in)
		} else {
			marker, err = nextMarker(in)
		}
	}
	if err != nil {
		return 1, err
	}
	if scans == 0 {
		return 1, broken("it has no picture")
	}
	if _, err := out.Write([]byte{0xff, jpegEOI}); err != nil {
		return 1, err
	}
	return orientation, out.Flush()
}

// nextMarker reads a marker, which may be preceded by any number of 0xff.
func nextMarker(src *bufio.Reader) (byte, error) {
	b, err := src.ReadByte()
	if err == nil && b != 0xff {
		return 0, broken("there is no marker between two segments")
	}
	for err == nil && b == 0xff {
		b, err = src.ReadByte()
	}
	return b, short(err)
}

var exifHeader = []byte("Exif\x00\x00")

// keptSegment returns the part of a segment to copy, or nil. It also returns the orientation that is known after the
// segment. previous is the orientation that was known before the segment; at first it is 1. The first Exif segment
// with another orientation than 1 counts. Segments that no case mentions are tables and headers of the picture
// itself, which are copied whole.
func keptSegment(marker byte, body []byte, previous byte) ([]byte, byte) {
	switch {
	case marker == jpegAPP0:
		if len(body) < 14 || !bytes.HasPrefix(body, []byte("JFIF\x00")) {
			return nil, previous
		}
		body = body[:14]
		body[12], body[13] = 0, 0 // no thumbnail
	case marker == jpegAPP1:
		if previous != 1 || !bytes.HasPrefix(body, exifHeader) {
			return nil, previous
		}
		o := orientation(body[len(exifHeader):])
		if o == 1 {
			return nil, previous
		}
		return append(bytes.Clone(exifHeader), exifWith(o)...), o
	case marker == jpegAPP2:
		if !bytes.HasPrefix(body, []byte("ICC_PROFILE\x00")) {
			return nil, previous
		}
	case marker == jpegAPPE:
		if len(body) < 12 || !bytes.HasPrefix(body, []byte("Adobe")) {
			return nil, previous
		}
		body = body[:12]
	case marker > jpegAPP0 && marker <= jpegAPPF, // data of other applications
		marker >= jpegJPG0 && marker <= jpegCOM, // extensions and comments
		marker < 0xc0:                           // reserved
		return nil, previous
	}
	return body, previous
}

// copyScan copies the compressed data of a scan and returns the marker that follows.
func copyScan(out *bufio.Writer, src *bufio.Reader) (marker byte, err error) {
	for {
		chunk, err := src.ReadSlice(0xff)
		if errors.Is(err, bufio.ErrBufferFull) {
			if _, err := out.Write(chunk); err != nil {
				return 0, err
			}
			continue
		}
		if err != nil {
			return 0, short(err)
		}
		if _, err := out.Write(chunk[:len(chunk)-1]); err != nil {
			return 0, err
		}
		b := byte(0xff)
		for err == nil && b == 0xff { // any number of 0xff may precede a marker
			b, err = src.ReadByte()
		}
		if err != nil {
			return 0, short(err)
		}
		// After 0xff, 0 stands for a data byte 0xff, and the RST markers only divide the data.
		if b != 0 && (b < jpegRST0 || b >= jpegSOI) {
			return b, nil
		}
		if _, err := out.Write([]byte{0xff, b}); err != nil {
			return 0, err
		}
	}
}
