package imagemeta

import (
	"bufio"
	"io"
)

// Blocks of GIF89a, and the labels of its extensions.
const (
	gifExtension   = 0x21
	gifImage       = 0x2c
	gifTrailer     = 0x3b
	gifControl     = 0xf9
	gifApplication = 0xff
)

// gif copies the images with their durations, and the number of repetitions. The orientation is always 1.
func gif(w io.Writer, r io.ReadSeeker) (orientation byte, err error) {
	in, out := bufio.NewReader(r), bufio.NewWriter(w)
	head := make([]byte, 13) // signature and screen descriptor; byte 10 has the flags of the colour table
	if _, err := io.ReadFull(in, head); err != nil {
		return 1, short(err)
	}
	if v := string(head[:6]); v != "GIF87a" && v != "GIF89a" {
		return 1, broken("it does not begin like a GIF")
	}
	if _, err := out.Write(head); err != nil {
		return 1, err
	}
	if err := copyColours(out, in, head[10]); err != nil {
		return 1, err
	}
	var control []byte // control extension of the next image
	for images := 0; ; {
		b, err := in.ReadByte()
		if err != nil {
			return 1, short(err)
		}
		switch b {
		case gifTrailer:
			if images == 0 {
				return 1, broken("it has no picture")
			}
			if err := out.WriteByte(b); err != nil {
				return 1, err
			}
			return 1, out.Flush()
		case gifExtension:
			if control, err = keepExtension(out, in, control); err != nil {
				return 1, err
			}
		case gifImage:
			images++
			if _, err := out.Write(control); err != nil {
				return 1, err
			}
			control = nil
			if err := copyImage(out, in); err != nil {
				return 1, err
			}
		default:
			return 1, broken("it has an unknown block")
		}
	}
}

// copyColours copies a colour table if flags, the packed field before the table, says that there is one.
func copyColours(out io.Writer, src io.Reader, flags byte) error {
	if flags&0x80 == 0 {
		return nil
	}
	_, err := io.CopyN(out, src, 3<<(flags&7+1))
	return short(err)
}

// copyImage copies an image block, whose first byte was read already.
func copyImage(out *bufio.Writer, src *bufio.Reader) error {
	head := make([]byte, 10)
	head[0] = gifImage
	if _, err := io.ReadFull(src, head[1:]); err != nil {
		return short(err)
	}
	if _, err := out.Write(head); err != nil {
		return err
	}
	if err := copyColours(out, src, head[9]); err != nil {
		return err
	}
	if _, err := io.CopyN(out, src, 1); err != nil { // the minimum code size
		return short(err)
	}
	return subBlocks(src, func(block []byte) error {
		if err := out.WriteByte(byte(len(block))); err != nil { //nolint:gosec // at most 255
			return err
		}
		_, err := out.Write(block)
		return err
	})
}

// subBlocks calls fn for each data sub-block, including the empty one at the end.
func subBlocks(src *bufio.Reader, fn func(block []byte) error) error {
	var block [255]byte
	for {
		n, err := src.ReadByte()
		if err != nil {
			return short(err)
		}
		if _, err := io.ReadFull(src, block[:n]); err != nil {
			return short(err)
		}
		if err := fn(block[:n]); err != nil || n == 0 {
			return err
		}
	}
}

// keepExtension reads an extension and copies it to out if it is kept. It does not copy a graphic control extension but
// returns it: the caller writes it before the next image. control is an earlier graphic control extension that was not
// written yet, or nil. It is dropped if a text extension follows. Texts and comments are removed.
func keepExtension(out io.Writer, src *bufio.Reader, control []byte) ([]byte, error) {
	label, err := src.ReadByte()
	if err != nil {
		return nil, short(err)
	}
	var application string // the name of an application extension, which is its first block
	blocks := 0
	err = subBlocks(src, func(block []byte) error {
		blocks++
		switch {
		case label == gifControl && blocks == 1:
			if len(block) != 4 {
				return broken("a graphic control extension does not have 4 bytes")
			}
			// control is the whole extension, with the 0 that ends it.
			control = append([]byte{gifExtension, gifControl, 4}, append(append([]byte(nil), block...), 0)...)
		case label == gifApplication && blocks == 1:
			application = string(block)
		// Of the data in application extensions, browsers heed only the number of repetitions.
		case label == gifApplication && (application == "NETSCAPE2.0" || application == "ANIMEXTS1.0") &&
			len(block) == 3 && block[0] == 1:
			_, err := out.Write(append([]byte("\x21\xff\x0b"+application+"\x03"), block[0], block[1], block[2], 0))
			return err
		}
		return nil
	})
	if label == 0x01 { // a text, to which control applied
		control = nil
	}
	return control, err
}
