package blob

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"
	"testing"
)

// picture is an image of a size in a format.
func picture(tb testing.TB, format string, width, height int) string {
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

// webps are an image of 3 by 2 in each kind of WebP.
func webps(tb testing.TB) map[string]string {
	tb.Helper()
	header := func(kind, body string) string {
		return "RIFF\x30\x00\x00\x00WEBP" + kind + "\x20\x00\x00\x00" + body + strings.Repeat("\x00", 30)
	}
	return map[string]string{
		"lossy":    header("VP8 ", "\x00\x00\x00\x9d\x01\x2a\x03\x00\x02\x00"),
		"lossless": header("VP8L", "\x2f\x02\x40\x00\x00"),
		"extended": "RIFF\x24\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x01\x00\x00VP8L\x06\x00\x00\x00\x2f\x02\x40\x00\x00\x00",
	}
}

// FuzzFile: no name and no content may break the checks, and nothing that
// a browser could run passes as what it is not.
func FuzzFile(f *testing.F) {
	for _, content := range webps(f) {
		f.Add("a.webp", content)
	}
	f.Add("a.png", picture(f, "png", 1, 1))
	f.Add("a.jpg", picture(f, "jpeg", 1, 1))
	f.Add("a.gif", picture(f, "gif", 1, 1))
	f.Add("x/../ü.txt", "<svg onload=x>")
	f.Add("a.pdf", "%PDF-1.7")
	f.Fuzz(func(t *testing.T, name, content string) {
		clean, k, err := checkName(name)
		if err != nil {
			return
		}
		if strings.ContainsAny(clean, "/\\\r\n\x00") || clean == "" {
			t.Errorf("%q became %q", name, clean)
		}
		a := &File{Name: clean, MediaType: k.media}
		if d := disposition(a); strings.ContainsFunc(d, func(r rune) bool { return r < ' ' || r > '~' }) || strings.Count(d, `"`) != 2 {
			t.Errorf("%q", d)
		}
		if content == "" || k.check(a, strings.NewReader(content)) != nil {
			return
		}
		if a.Inline() && !strings.HasPrefix(k.media, "image/") || a.Width > imageSideMost || a.Height > imageSideMost {
			t.Errorf("%+v", a)
		}
		if strings.HasPrefix(strings.ToLower(strings.TrimSpace(content)), "<html") || strings.HasPrefix(content, "<?xml") {
			t.Errorf("%q passes as %s", base64.StdEncoding.EncodeToString([]byte(content)), k.media)
		}
	})
}
