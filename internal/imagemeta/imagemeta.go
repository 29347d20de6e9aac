// Package imagemeta takes out of images what does not belong to the picture:
// where and with what it was taken, who made it, thumbnails, comments. It copies
// parts of the file and never touches a pixel, so nothing is lost to look at.
// What is not known to belong to the picture goes. Colour profiles stay; of Exif
// stays, where it is not the usual one, how the picture is turned.
//
// The memory it needs does not grow with the image.
package imagemeta

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrBroken is of a file that is no whole image of its format.
var ErrBroken = errors.New("broken image")

func broken(what string) error { return fmt.Errorf("%w: %s", ErrBroken, what) }

// strippers by media type.
var strippers = map[string]func(w io.Writer, r io.ReadSeeker) (orientation byte, err error){
	"image/jpeg": jpeg, "image/png": png, "image/gif": gif, "image/webp": webp,
}

// Knows reports whether Strip can read images of a media type: image/jpeg,
// image/png, image/gif or image/webp.
func Knows(mediaType string) bool { return strippers[mediaType] != nil }

// Strip copies an image, which r is at the begin of, without its metadata. It returns
// how the copy is to be turned, 1 to 8 as Exif has it; from 5 on what it shows is as
// high as the file says that it is wide. The error is ErrBroken for what is no image
// of that type, and otherwise of r or w; something may have been written then.
func Strip(w io.Writer, r io.ReadSeeker, mediaType string) (orientation byte, err error) {
	strip := strippers[mediaType]
	if strip == nil {
		return 1, broken("images of the type " + mediaType + " are not known")
	}
	return strip(w, r)
}

// short is the error of a read that had to succeed.
func short(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return broken("it ends too early")
	}
	return err
}

// maxExif bounds the Exif that is looked at for the orientation.
const maxExif = 64 << 10

// orientation reads how a picture is to be turned, 1 to 8, from Exif: a TIFF file
// whose first directory has a tag for it. 1, upright, where it does not say so.
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
	at := uint64(order.Uint32(tiff[4:]))
	if at+2 > uint64(len(tiff)) {
		return 1
	}
	entries := tiff[at+2:]
	const entry, tag, short = 12, 0x0112, 3
	for n := order.Uint16(tiff[at:]); n > 0 && len(entries) >= entry; n-- {
		if order.Uint16(entries) == tag {
			if v := order.Uint16(entries[8:]); order.Uint16(entries[2:]) == short && v >= 1 && v <= 8 {
				return byte(v)
			}
			return 1
		}
		entries = entries[entry:]
	}
	return 1
}

// turned is Exif that says how a picture is turned, and nothing else.
func turned(orientation byte) []byte {
	return []byte{
		'M', 'M', 0, '*', 0, 0, 0, 8, // the directory begins there
		0, 1, // it has one entry:
		0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0,
		0, 0, 0, 0, // and no further directory
	}
}

// Turned reads how a picture is to be turned, 1 to 8 as Exif has it, from the first bytes
// of an image that Strip has written; 1 where nothing says otherwise.
func Turned(head []byte) byte {
	for o := byte(2); o <= 8; o++ {
		if bytes.Contains(head, turned(o)) {
			return o
		}
	}
	return 1
}
