package board

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
	"strings"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/internal/text"
)

const (
	fileNameMost = 120
	// Larger images would cost whoever looks at them much memory.
	imageSideMost   = 16_384
	imagePixelsMost = 50_000_000
	// sniffed is how much of a file tells its type.
	sniffed = 512
)

// fileType is what a file with an extension must be.
type fileType struct {
	media string   // as which it is served
	sniff []string // what its first bytes must look like
	size  func(io.Reader) (width, height int, err error)
}

// fileTypes are the files that can be attached, by extension. Nothing is among
// them that a browser runs, such as HTML and SVG.
var fileTypes = func() map[string]fileType {
	types := map[string]fileType{
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
		types[ext] = fileType{media: "text/plain; charset=utf-8"}
	}
	for ext, media := range map[string]string{
		".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
		".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
		".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
		".odt":  "application/vnd.oasis.opendocument.text", ".ods": "application/vnd.oasis.opendocument.spreadsheet", ".odp": "application/vnd.oasis.opendocument.presentation",
	} {
		types[ext] = fileType{media: media, sniff: []string{"application/zip"}}
	}
	return types
}()

// FileTypes lists the extensions of files that can be attached.
func FileTypes() []string {
	list := make([]string, 0, len(fileTypes))
	for ext := range fileTypes {
		list = append(list, ext)
	}
	slices.Sort(list)
	return list
}

// mediaTypes are those that files are served as, between commas.
func mediaTypes() string {
	list := make([]string, 0, len(fileTypes))
	for _, kind := range fileTypes {
		media, _, _ := strings.Cut(kind.media, ";")
		list = append(list, media)
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ",")
}

// checkFileName is the last part of a name, and what its extension promises.
func checkFileName(name string) (string, fileType, error) {
	if !utf8.ValidString(name) {
		return "", fileType{}, invalid("name", "characters", "the name of the file is not UTF-8")
	}
	if at := strings.LastIndexAny(name, `/\`); at >= 0 { // some clients send the path
		name = name[at+1:]
	}
	name = text.Normal(name)
	switch n := utf8.RuneCountInString(name); {
	case n == 0:
		return "", fileType{}, invalid("name", "required", "the file needs a name")
	case n > fileNameMost:
		return "", fileType{}, invalid("name", "length", "the name of a file has at most "+itoa(fileNameMost)+" characters")
	case !text.IsLine(name):
		return "", fileType{}, invalid("name", "control_character", "the name of a file must not have control characters")
	}
	kind, ok := fileTypes[strings.ToLower(filepath.Ext(name))]
	if !ok {
		return "", kind, invalid("name", "type", "files of this type cannot be attached; those can: "+strings.Join(FileTypes(), " "))
	}
	return name, kind, nil
}

// check holds the content of a file to its extension, and reads how large an
// image is. Only its header is read: an image is never unpacked.
func (k fileType) check(f *Attachment, content io.ReadSeeker) error {
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return err
	}
	head := make([]byte, sniffed)
	n, err := io.ReadFull(content, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	wants := k.sniff
	if wants == nil {
		wants = []string{k.media}
	}
	if !slices.Contains(wants, http.DetectContentType(head[:n])) {
		return invalid("file", "type", "the content of the file is not what its name says")
	}
	if k.size == nil {
		return nil
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return err
	}
	width, height, err := k.size(content)
	switch {
	case err != nil:
		return invalid("file", "image", "the image is broken")
	case width < 1 || height < 1 || width > imageSideMost || height > imageSideMost || width*height > imagePixelsMost:
		return invalid("file", "image", "the image has too many pixels")
	}
	f.Width, f.Height = int64(width), int64(height)
	return nil
}

func imageSize(r io.Reader) (width, height int, err error) {
	config, _, err := image.DecodeConfig(r)
	return config.Width, config.Height, err
}

var errWebP = errors.New("no WebP image")

// webpSize reads the size of the canvas from the first chunk (RFC 9649).
func webpSize(r io.Reader) (width, height int, err error) {
	var b [30]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, 0, errWebP
	}
	if string(b[:4]) != "RIFF" || string(b[8:12]) != "WEBP" {
		return 0, 0, errWebP
	}
	switch string(b[12:16]) {
	case "VP8X":
		return 1 + (int(b[24]) | int(b[25])<<8 | int(b[26])<<16), 1 + (int(b[27]) | int(b[28])<<8 | int(b[29])<<16), nil
	case "VP8L":
		if b[20] != 0x2f {
			return 0, 0, errWebP
		}
		bits := binary.LittleEndian.Uint32(b[21:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1, nil
	case "VP8 ":
		if b[23] != 0x9d || b[24] != 0x01 || b[25] != 0x2a {
			return 0, 0, errWebP
		}
		return int(binary.LittleEndian.Uint16(b[26:]) & 0x3fff), int(binary.LittleEndian.Uint16(b[28:]) & 0x3fff), nil
	}
	return 0, 0, errWebP
}
