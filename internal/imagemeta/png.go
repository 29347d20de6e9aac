package imagemeta

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
)

const pngSignature = "\x89PNG\r\n\x1a\n"

// pngKept are the chunks that make up the picture and its colours, including animations (PNG, third edition).
var pngKept = map[string]bool{
	"IHDR": true, "PLTE": true, "IDAT": true, "IEND": true, "tRNS": true, "cHRM": true, "gAMA": true,
	"iCCP": true, "sBIT": true, "sRGB": true,
	"cICP": true, "mDCV": true, "cLLI": true, "bKGD": true, "hIST": true, "pHYs": true, "sPLT": true,
	"acTL": true, "fcTL": true, "fdAT": true,
}

// png copies chunks up to the end of the image. It writes Exif data, which must precede the picture's data, in the
// place of the first eXIf chunk with an orientation.
func png(w io.Writer, r io.ReadSeeker) (orientation byte, err error) {
	orientation = 1
	in, out := bufio.NewReader(r), bufio.NewWriter(w)
	head := make([]byte, 8)
	if _, err := io.ReadFull(in, head); err != nil {
		return 1, short(err)
	}
	if string(head) != pngSignature {
		return 1, broken("it does not begin like a PNG")
	}
	if _, err := out.Write(head); err != nil {
		return 1, err
	}
	hasData := false // an IDAT chunk was copied
	for first := true; ; first = false {
		if _, err := io.ReadFull(in, head); err != nil {
			return 1, short(err)
		}
		n, kind := int64(binary.BigEndian.Uint32(head)), string(head[4:])
		switch { // each case returns an error or consumes the chunk; a chunk without a case is copied below
		case n > 1<<31-1:
			return 1, broken("a chunk is too long")
		case first != (kind == "IHDR"):
			return 1, broken("it must have one header, first")
		case kind == "eXIf" && orientation == 1 && !hasData && n <= maxExif:
			if orientation, err = readOrientation(in, n); err != nil {
				return 1, err
			}
			if orientation != 1 {
				if err := writePNGExif(out, orientation); err != nil {
					return 1, err
				}
			}
			continue
		case !pngKept[kind] && kind[0]&0x20 == 0: // an upper case letter marks a critical chunk
			return 1, broken("it has an unknown critical chunk")
		case !pngKept[kind]:
			if _, err := io.CopyN(io.Discard, in, n+4); err != nil { // with the checksum
				return 1, short(err)
			}
			continue
		}
		hasData = hasData || kind == "IDAT"
		if err := copyPNGChunk(out, in, head, n); err != nil {
			return 1, err
		}
		if kind == "IEND" {
			break
		}
	}
	if !hasData {
		return 1, broken("it has no picture")
	}
	return orientation, out.Flush()
}

// copyPNGChunk copies a chunk with a body of n bytes and checks its checksum. head is the length and type of the chunk,
// which were read already.
func copyPNGChunk(out io.Writer, src io.Reader, head []byte, n int64) error {
	sum := crc32.NewIEEE()
	_, _ = sum.Write(head[4:]) // the checksum covers the type and the body
	if _, err := out.Write(head); err != nil {
		return err
	}
	if _, err := io.CopyN(io.MultiWriter(out, sum), src, n); err != nil {
		return short(err)
	}
	var tail [4]byte
	if _, err := io.ReadFull(src, tail[:]); err != nil {
		return short(err)
	}
	if binary.BigEndian.Uint32(tail[:]) != sum.Sum32() {
		return broken("the checksum of a chunk is wrong")
	}
	_, err := out.Write(tail[:])
	return err
}

// readOrientation reads the orientation from an eXIf chunk's body of n bytes, and passes the checksum that follows.
func readOrientation(src io.Reader, n int64) (byte, error) {
	body := make([]byte, n+4)
	if _, err := io.ReadFull(src, body); err != nil {
		return 0, short(err)
	}
	return orientation(body[:n]), nil
}

// writePNGExif writes an eXIf chunk that has only the given orientation.
func writePNGExif(out io.Writer, orientation byte) error {
	body := exifWith(orientation)
	var chunk bytes.Buffer
	chunk.Write(binary.BigEndian.AppendUint32(nil, uint32(len(body)))) //nolint:gosec // a constant
	chunk.WriteString("eXIf")
	chunk.Write(body)
	chunk.Write(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(chunk.Bytes()[4:])))
	_, err := out.Write(chunk.Bytes())
	return err
}
