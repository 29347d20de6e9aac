// Package imagetest makes images for tests.
package imagetest

import (
	"bytes"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"
	"testing"
)

// Picture returns an image of a size in a format: png, jpeg or gif.
func Picture(tb testing.TB, format string, width, height int) string {
	tb.Helper()
	var out bytes.Buffer
	img := image.NewGray(image.Rect(0, 0, width, height))
	err := map[string]func(io.Writer) error{
		"png":  func(w io.Writer) error { return png.Encode(w, img) },
		"jpeg": func(w io.Writer) error { return jpeg.Encode(w, img, nil) },
		"gif":  func(w io.Writer) error { return gif.Encode(w, img, nil) },
	}[format](&out)
	if err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

// WebPs returns an image of 3 by 2 pixels in each kind of WebP.
func WebPs() map[string]string {
	header := func(kind, body string) string {
		return "RIFF\x30\x00\x00\x00WEBP" + kind + "\x20\x00\x00\x00" + body + strings.Repeat("\x00", 30)
	}
	return map[string]string{
		"lossy":    header("VP8 ", "\x00\x00\x00\x9d\x01\x2a\x03\x00\x02\x00"),
		"lossless": header("VP8L", "\x2f\x02\x40\x00\x00"),
		"extended": "RIFF\x24\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x01\x00\x00VP8L\x06\x00\x00\x00\x2f\x02\x40\x00\x00\x00",
	}
}
