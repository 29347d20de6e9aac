package fileformat

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// Byte order marks that a file may begin with.
const (
	markUTF8 = "\xef\xbb\xbf"
	markLE   = "\xff\xfe"
	markBE   = "\xfe\xff"
)

// readEncoded reads a text in any of the encodings that decoded accepts, and returns it in UTF-8.
func readEncoded(r io.Reader) (string, error) {
	body, err := io.ReadAll(r)
	return decoded(body), err
}

// decoded converts a text to UTF-8 with "\n" as line end. It accepts UTF-8 and UTF-16, whose byte order marks it
// removes, and Windows-1252, which old programs write without declaring it. UTF-8 text with a few invalid bytes is
// still read as UTF-8.
func decoded(body []byte) string {
	var text string
	switch {
	case bytes.HasPrefix(body, []byte(markLE)):
		text = decodeUTF16(body[2:], binary.LittleEndian)
	case bytes.HasPrefix(body, []byte(markBE)):
		text = decodeUTF16(body[2:], binary.BigEndian)
	case isSingleByte(body):
		converted, err := charmap.Windows1252.NewDecoder().Bytes(body)
		if err != nil { // never happens: the decoder accepts all bytes
			converted = body
		}
		text = string(converted)
	default:
		text = strings.TrimPrefix(string(body), markUTF8)
	}
	if strings.Contains(text, "\r\n") {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	if !strings.Contains(text, "\n") {
		text = strings.ReplaceAll(text, "\r", "\n")
	}
	return text
}

// decodeUTF16 converts UTF-16 without a byte order mark to UTF-8. It ignores an odd last byte.
func decodeUTF16(body []byte, order binary.ByteOrder) string {
	units := make([]uint16, len(body)/2)
	for i := range units {
		units[i] = order.Uint16(body[2*i:])
	}
	return string(utf16.Decode(units))
}

// isSingleByte reports whether a text has one byte per character, that is, more invalid bytes than valid multi-byte
// sequences when it is read as UTF-8.
func isSingleByte(body []byte) bool {
	valid, invalid := 0, 0
	for len(body) > 0 {
		r, size := utf8.DecodeRune(body)
		switch {
		case r == utf8.RuneError && size == 1:
			invalid++
		case size > 1:
			valid++
		}
		body = body[size:]
	}
	return invalid > valid
}
