package blob

import (
	"encoding/binary"
	"errors"
	"image"
	_ "image/gif" // read the headers of images
	_ "image/jpeg"
	_ "image/png"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/text"
)

const (
	maxName = 120 // characters
	// maxImageSide and maxImagePixels limit images, because larger images take much memory in the browsers that show them.
	maxImageSide   = 16_384
	maxImagePixels = 50_000_000
	// sniffSize is how many bytes are examined to detect the type.
	sniffSize = 512
)

// kind describes the files with an extension.
type kind struct {
	media string                                         // Content-Type with which the files are served
	sniff []string                                       // accepted results of content sniffing; nil means media
	size  func(io.Reader) (width, height int, err error) // reads the size of an image; nil for other files
}

// types has the accepted files by extension. Types that a browser would run, such as HTML and SVG, are missing.
var types = func() map[string]kind {
	all := map[string]kind{
		".png":  {media: "image/png", size: imageSize},
		".jpg":  {media: "image/jpeg", size: imageSize},
		".jpeg": {media: "image/jpeg", size: imageSize},
		".gif":  {media: "image/gif", size: imageSize},
		".webp": {media: "image/webp", size: webpSize},
		".pdf":  {media: "application/pdf"},
		".zip":  {media: "application/zip"},
		".gz":   {media: "application/gzip", sniff: []string{"application/x-gzip"}},
		".tgz":  {media: "application/gzip", sniff: []string{"application/x-gzip"}},
		".mp3":  {media: "audio/mpeg"},
		".mp4":  {media: "video/mp4"},
		".webm": {media: "video/webm"},
		".ogg":  {media: "application/ogg"},
	}
	for _, ext := range []string{".txt", ".md", ".log", ".csv", ".json", ".diff", ".patch"} {
		all[ext] = kind{media: "text/plain; charset=utf-8"}
	}
	for ext, media := range map[string]string{
		".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
		".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
		".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
		".odt":  "application/vnd.oasis.opendocument.text",
		".ods":  "application/vnd.oasis.opendocument.spreadsheet",
		".odp":  "application/vnd.oasis.opendocument.presentation",
	} {
		all[ext] = kind{media: media, sniff: []string{"application/zip"}}
	}
	return all
}()

// Extensions returns the sorted extensions that are accepted.
func Extensions() []string {
	list := make([]string, 0, len(types))
	for ext := range types {
		list = append(list, ext)
	}
	slices.Sort(list)
	return list
}

// MediaTypes returns the types with which files are served, separated by commas.
func MediaTypes() string {
	list := make([]string, 0, len(types))
	for _, k := range types {
		media, _, _ := strings.Cut(k.media, ";")
		list = append(list, media)
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ",")
}

// CheckName returns an *Error if name is not allowed as a file's name.
func CheckName(name string) error {
	_, _, err := checkName(name)
	return err
}

// checkName returns the last element of a name, and the kind that its extension implies. Its error is an *Error.
func checkName(name string) (string, kind, error) {
	if !utf8.ValidString(name) {
		return "", kind{}, &Error{"name", "characters", "the name of the file is not UTF-8"}
	}
	if slash := strings.LastIndexAny(name, `/\`); slash >= 0 { // some clients send the path
		name = name[slash+1:]
	}
	name = text.Normal(name)
	switch n := utf8.RuneCountInString(name); {
	case n == 0:
		return "", kind{}, &Error{"name", "required", "the file needs a name"}
	case n > maxName:
		return "", kind{}, &Error{
			"name", "length", "the name of a file has at most " + strconv.Itoa(maxName) + " characters",
		}
	case !text.IsLine(name):
		return "", kind{}, &Error{"name", "control_character", "the name of a file must not have control characters"}
	}
	k, ok := types[strings.ToLower(filepath.Ext(name))]
	if !ok {
		return "", k, &Error{
			"name", "type", "files of this type cannot be attached; accepted are: " + strings.Join(Extensions(), " "),
		}
	}
	return name, k, nil
}

// check checks that the content of a file matches its extension, and reads the size of an image. It reads only the
// header: the image is never decoded.
func (k kind) check(f *File, content io.ReadSeeker) error {
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return err
	}
	head := make([]byte, sniffSize)
	n, err := io.ReadFull(content, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	expected := k.sniff
	if expected == nil {
		expected = []string{k.media}
	}
	if !slices.Contains(expected, http.DetectContentType(head[:n])) {
		return &Error{"file", "type", "the content of the file does not match the extension of its name"}
	}
	if k.size == nil { // not an image
		return nil
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return err
	}
	width, height, err := k.size(content)
	switch {
	case err != nil:
		return &Error{"file", "image", "the image is broken"}
	case width < 1 || height < 1 || width > maxImageSide || height > maxImageSide || width*height > maxImagePixels:
		return &Error{"file", "image", "the image has too many pixels"}
	}
	f.Width, f.Height = int64(width), int64(height)
	return nil
}

// imageSize reads the size of a PNG, JPEG or GIF image.
func imageSize(r io.Reader) (width, height int, err error) {
	config, _, err := image.DecodeConfig(r)
	return config.Width, config.Height, err
}

var errWebP = errors.New("not a WebP image")

// webpSize reads the size of the canvas of a WebP image from its first chunk (RFC 9649).
func webpSize(r io.Reader) (width, height int, err error) {
	var b [30]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, 0, errWebP
	}
	if string(b[:4]) != "RIFF" || string(b[8:12]) != "WEBP" {
		return 0, 0, errWebP
	}
	switch string(b[12:16]) {
	case "VP8X": // extended: 24 bits for each side, less 1
		return 1 + (int(b[24]) | int(b[25])<<8 | int(b[26])<<16), 1 + (int(b[27]) | int(b[28])<<8 | int(b[29])<<16), nil
	case "VP8L": // lossless: a signature, then 14 bits for each side, less 1
		if b[20] != 0x2f {
			return 0, 0, errWebP
		}
		bits := binary.LittleEndian.Uint32(b[21:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1, nil
	case "VP8 ": // lossy: a start code, then 14 bits for each side
		if b[23] != 0x9d || b[24] != 0x01 || b[25] != 0x2a {
			return 0, 0, errWebP
		}
		return int(binary.LittleEndian.Uint16(b[26:]) & 0x3fff), int(binary.LittleEndian.Uint16(b[28:]) & 0x3fff), nil
	}
	return 0, 0, errWebP
}
