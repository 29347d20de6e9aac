package wire

import (
	"bytes"
	"encoding/base64"
	"image"
	_ "image/gif" // sizes of pictures
	_ "image/jpeg"
	_ "image/png"
	"strings"
)

// The token costs of a prompt beside its text.
const (
	MessageTokens = 4
	AudioTokens   = 500
	perImage      = 1100 // an image of unknown size
	maxPerImage   = 1600
	perFile       = 1500 // the minimum for a file
	bytesPerFile  = 1500
)

// HeadOfImage is the number of bytes at the beginning of an image's URL that are searched for the size.
const HeadOfImage = 64 << 10

// ImageTokens estimates the number of prompt tokens for an image. It uses the image's width and height if url is a data
// URL, and a fixed number otherwise.
func ImageTokens(url []byte) int64 {
	head, data, isData := bytes.Cut(url[:min(len(url), HeadOfImage)], []byte(";base64,"))
	if !isData || !bytes.HasPrefix(head, []byte("data:")) {
		return perImage
	}
	config, _, err := image.DecodeConfig(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(data)))
	if err != nil || config.Width <= 0 || config.Height <= 0 || config.Width > 1<<16 || config.Height > 1<<16 {
		return perImage
	}
	return min(maxPerImage, max(1, int64(config.Width)*int64(config.Height)/750))
}

// FileTokens estimates the tokens of a file. urlLen is the length of its data URL in bytes.
func FileTokens(urlLen int) int64 { return max(perFile, int64(urlLen)*3/4/bytesPerFile) }

// CutDataURL splits a URL of the form data:<media type>[;parameters];base64,<data>. ok is false for any other URL. The
// media type is in lower case; image/jpg becomes image/jpeg.
func CutDataURL(url string) (media, data string, ok bool) {
	head, data, ok := strings.Cut(url, ";base64,")
	media, isData := strings.CutPrefix(head, "data:")
	if !ok || !isData {
		return "", "", false
	}
	media, _, _ = strings.Cut(media, ";")
	if media = strings.ToLower(media); media == "image/jpg" {
		media = "image/jpeg"
	}
	return media, data, true
}
