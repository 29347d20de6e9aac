package imagemeta

import (
	"bufio"
	"encoding/binary"
	"io"
)

// webpKept are the chunks that make up the picture and its colours (RFC 9649).
var webpKept = map[string]bool{
	"VP8X": true, "VP8 ": true, "VP8L": true, "ALPH": true, "ANIM": true, "ANMF": true, "ICCP": true,
}

// Flags of VP8X.
const (
	webpExif = 0x08
	webpXMP  = 0x04
)

// webp copies chunks. The total length comes first in the file, so webp reads the file twice.
func webp(w io.Writer, r io.ReadSeeker) (orientation byte, err error) {
	start, err := r.Seek(0, io.SeekCurrent)
	if err != nil {
		return 1, err
	}
	plan := webpPlan{orientation: 1}
	if err := plan.copy(io.Discard, bufio.NewReader(r)); err != nil {
		return 1, err
	}
	if _, err := r.Seek(start, io.SeekStart); err != nil {
		return 1, err
	}
	plan.write = true
	return plan.orientation, plan.copy(w, bufio.NewReader(r))
}

// webpPlan is the result of the first pass. The second pass needs it before it writes the first chunk.
type webpPlan struct {
	write       bool  // this is the second pass
	size        int64 // size of the copy, without the first 8 bytes
	orientation byte  // 1 to 8; the copy gets an EXIF chunk if it is not 1
}

// copy copies the image and sets size and, in the first pass, orientation.
func (p *webpPlan) copy(w io.Writer, r io.Reader) error {
	var head [12]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return short(err)
	}
	if string(head[:4]) != "RIFF" || string(head[8:]) != "WEBP" {
		return broken("it does not begin like a WebP")
	}
	left := int64(binary.LittleEndian.Uint32(head[4:])) - 4 // bytes of chunks that were not read yet
	binary.LittleEndian.PutUint32(head[4:], uint32(p.size)) //nolint:gosec // no more than was read
	if _, err := w.Write(head[:]); err != nil {
		return err
	}
	size := int64(4)  // the new p.size; the first 4 bytes are the word WEBP
	extended := false // there is a VP8X chunk
	picture := false  // there is a chunk with a picture
	for first := true; left >= 8; first = false {
		if _, err := io.ReadFull(r, head[:8]); err != nil {
			return short(err)
		}
		n, kind := int64(binary.LittleEndian.Uint32(head[4:])), string(head[:4])
		padded := n + n&1 // a zero byte follows a body of odd length
		if left -= 8 + padded; left < 0 {
			return broken("a chunk is longer than the file")
		}
		switch {
		case kind == "VP8X":
			if !first || n < 10 {
				return broken("its header is out of place")
			}
			extended = true
			size += 8 + 10
			if err := p.header(w, r, padded); err != nil {
				return err
			}
		case kind == "EXIF" && n <= maxExif && !p.write && p.orientation == 1: // otherwise it is skipped, in the next case
			body := make([]byte, n)
			if _, err := io.ReadFull(r, body); err != nil {
				return short(err)
			}
			// Some programs write the header that belongs to JPEG.
			if len(body) >= len(exifHeader) && string(body[:len(exifHeader)]) == string(exifHeader) {
				body = body[len(exifHeader):]
			}
			p.orientation = orientation(body)
			if err := skip(r, n&1); err != nil {
				return err
			}
		case !webpKept[kind]:
			if err := skip(r, padded); err != nil {
				return err
			}
		default:
			picture = picture || kind != "ALPH" && kind != "ANIM" && kind != "ICCP"
			size += 8 + padded
			if err := copyWebPChunk(w, r, head[:8], n); err != nil {
				return err
			}
		}
	}
	if !picture {
		return broken("it has no picture")
	}
	if !extended {
		p.orientation = 1 // without VP8X no Exif chunk is possible
	}
	if p.orientation != 1 {
		body := exifWith(p.orientation)
		chunk := binary.LittleEndian.AppendUint32([]byte("EXIF"), uint32(len(body))) //nolint:gosec // a constant, even
		size += int64(8 + len(body))
		if _, err := w.Write(append(chunk, body...)); err != nil {
			return err
		}
	}
	p.size = size
	return nil
}

// header copies the ten bytes of a VP8X chunk. The body of the chunk takes paddedSize bytes in r. The flags in the
// copy announce only metadata that is kept.
func (p *webpPlan) header(w io.Writer, r io.Reader, paddedSize int64) error {
	chunk := []byte("VP8X\x0a\x00\x00\x00..........")
	if _, err := io.ReadFull(r, chunk[8:]); err != nil {
		return short(err)
	}
	chunk[8] &^= webpExif | webpXMP
	if p.orientation != 1 {
		chunk[8] |= webpExif
	}
	if _, err := w.Write(chunk); err != nil {
		return err
	}
	return skip(r, paddedSize-10)
}

// skip reads n bytes and drops them. It returns an error if there are fewer.
func skip(r io.Reader, n int64) error {
	_, err := io.CopyN(io.Discard, r, n)
	return short(err)
}

// copyWebPChunk copies a chunk with a body of n bytes, and its padding. It returns an error for an animation frame that
// contains other chunks than those of a picture.
func copyWebPChunk(w io.Writer, r io.Reader, head []byte, n int64) error {
	if _, err := w.Write(head); err != nil {
		return err
	}
	body := io.LimitReader(r, n)
	if string(head[:4]) == "ANMF" {
		if err := copyFrame(w, body, n); err != nil {
			return err
		}
	} else if _, err := io.CopyN(w, body, n); err != nil {
		return short(err)
	}
	if n&1 == 0 {
		return nil
	}
	if err := skip(r, 1); err != nil {
		return err
	}
	_, err := w.Write([]byte{0})
	return err
}

// copyFrame copies the body of an animation frame, which has left bytes.
func copyFrame(w io.Writer, r io.Reader, left int64) error {
	const header = 16
	if left < header {
		return broken("a frame is too short")
	}
	if _, err := io.CopyN(w, r, header); err != nil {
		return short(err)
	}
	for left -= header; left > 0; {
		var head [8]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return short(err)
		}
		kind, n := string(head[:4]), int64(binary.LittleEndian.Uint32(head[4:]))
		n += n & 1 // a chunk of odd length has a byte of padding
		if kind != "ALPH" && kind != "VP8 " && kind != "VP8L" {
			return broken("a frame has more than a picture")
		}
		if left -= 8 + n; left < 0 {
			return broken("a part of a frame is longer than the frame")
		}
		if _, err := w.Write(head[:]); err != nil {
			return err
		}
		if _, err := io.CopyN(w, r, n); err != nil {
			return short(err)
		}
	}
	return nil
}
