package corpus

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// Marks of encodings that a file may begin with.
const (
	markUTF8 = "\xef\xbb\xbf"
	markLE   = "\xff\xfe"
	markBE   = "\xfe\xff"
)

// readEncoded reads a text in whatever encoding; see decoded.
func readEncoded(r io.Reader) (string, error) {
	body, err := io.ReadAll(r)
	return decoded(body), err
}

// decoded is a text in UTF-8, with line ends that are \n: of UTF-8 or UTF-16, whose marks it loses,
// or of Windows-1252, which old programs write without saying so. Text of UTF-8 with a few
// bytes that are none stays it.
func decoded(body []byte) string {
	var text string
	switch {
	case bytes.HasPrefix(body, []byte(markLE)):
		text = wide(body[2:], binary.LittleEndian)
	case bytes.HasPrefix(body, []byte(markBE)):
		text = wide(body[2:], binary.BigEndian)
	case narrow(body):
		made, err := charmap.Windows1252.NewDecoder().Bytes(body)
		if err != nil { // it takes all bytes
			made = body
		}
		text = string(made)
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

func wide(body []byte, order binary.ByteOrder) string {
	units := make([]uint16, len(body)/2)
	for i := range units {
		units[i] = order.Uint16(body[2*i:])
	}
	return string(utf16.Decode(units))
}

// narrow reports whether a text has one byte for each letter: more of it is no UTF-8 than
// is.
func narrow(body []byte) bool {
	good, bad := 0, 0
	for len(body) > 0 {
		r, size := utf8.DecodeRune(body)
		switch {
		case r == utf8.RuneError && size == 1:
			bad++
		case size > 1:
			good++
		}
		body = body[size:]
	}
	return bad > good
}
