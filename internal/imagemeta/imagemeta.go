// Package imagemeta strips metadata from images: place, camera, author, thumbnails and comments. It copies parts of the
// file and never changes a pixel, so nothing visible is lost. Only parts that are known to belong to the picture are
// copied, including colour profiles. Of Exif only the orientation is kept, unless it is 1.
//
// The memory used does not grow with the image.
package imagemeta

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrBroken is the error of a file that is not a complete image of its format.
var ErrBroken = errors.New("broken image")

// broken returns an error that wraps ErrBroken.
func broken(detail string) error { return fmt.Errorf("%w: %s", ErrBroken, detail) }

// strippers has a function like Strip for each supported media type.
var strippers = map[string]func(w io.Writer, r io.ReadSeeker) (orientation byte, err error){
	"image/jpeg": jpeg, "image/png": png, "image/gif": gif, "image/webp": webp,
}

// Knows reports whether Strip supports a media type: image/jpeg, image/png, image/gif or image/webp.
func Knows(mediaType string) bool { return strippers[mediaType] != nil }

// Strip copies an image of a media type from r to w, without metadata. r must be at the beginning of the image. Strip
// returns the orientation of the copy, 1 to 8 as in Exif; from 5 on, width and height are exchanged when the image is
// shown. The error is ErrBroken if r is not a complete image of that type, and otherwise an error of r or w. Strip may
// have written a part when it fails.
func Strip(w io.Writer, r io.ReadSeeker, mediaType string) (orientation byte, err error) {
	strip := strippers[mediaType]
	if strip == nil {
		return 1, broken("images of the type " + mediaType + " are not supported")
	}
	return strip(w, r)
}

// short converts an error that means the end of the file to ErrBroken, and returns other errors unchanged.
func short(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return broken("it ends too early")
	}
	return err
}

// maxExif limits how many bytes of Exif are searched for the orientation.
const maxExif = 64 << 10

// orientation reads the orientation, 1 to 8, from Exif data: a TIFF file with an orientation tag in its first
// directory. It returns 1, upright, if there is no such tag.
func orientation(tiff []byte) byte {
	var order binary.ByteOrder = binary.BigEndian
	switch {
	case bytes.HasPrefix(tiff, []byte("II*\x00")):
		order = binary.LittleEndian
	case !bytes.HasPrefix(tiff, []byte("MM\x00*")):
		return 1
	}
	if len(tiff) < 8 {
		return 1
	}
	offset := uint64(order.Uint32(tiff[4:]))
	if offset+2 > uint64(len(tiff)) {
		return 1
	}
	entries := tiff[offset+2:]
	// An entry is a tag and a type of two bytes each, then a count and a value of four bytes each.
	const entrySize, orientationTag, typeShort = 12, 0x0112, 3
	for n := order.Uint16(tiff[offset:]); n > 0 && len(entries) >= entrySize; n-- {
		if order.Uint16(entries) == orientationTag {
			if v := order.Uint16(entries[8:]); order.Uint16(entries[2:]) == typeShort && v >= 1 && v <= 8 {
				return byte(v)
			}
			return 1
		}
		entries = entries[entrySize:]
	}
	return 1
}

// exifWith returns Exif data that has only the given orientation.
func exifWith(orientation byte) []byte {
	return []byte{
		'M', 'M', 0, '*', 0, 0, 0, 8, // the directory begins at offset 8
		0, 1, // it has one entry:
		0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0,
		0, 0, 0, 0, // no further directory
	}
}

// Turned reads the orientation, 1 to 8 as in Exif, from the first bytes of an image written by Strip. It returns 1 if
// they have no orientation.
func Turned(head []byte) byte {
	for o := byte(2); o <= 8; o++ {
		if bytes.Contains(head, exifWith(o)) {
			return o
		}
	}
	return 1
}
