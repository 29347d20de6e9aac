package blob

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/imagemeta/imagetest"
)

// FuzzFile checks that no name and no content breaks the checks, and that nothing that a browser could run passes as
// another type.
func FuzzFile(f *testing.F) {
	for _, content := range imagetest.WebPs() {
		f.Add("a.webp", content)
	}
	f.Add("a.png", imagetest.Picture(f, "png", 1, 1))
	f.Add("a.jpg", imagetest.Picture(f, "jpeg", 1, 1))
	f.Add("a.gif", imagetest.Picture(f, "gif", 1, 1))
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
		if a.Inline() && !strings.HasPrefix(k.media, "image/") || a.Width > maxImageSide || a.Height > maxImageSide {
			t.Errorf("%+v", a)
		}
		if strings.HasPrefix(strings.ToLower(strings.TrimSpace(content)), "<html") || strings.HasPrefix(content, "<?xml") {
			t.Errorf("%q passes as %s", base64.StdEncoding.EncodeToString([]byte(content)), k.media)
		}
	})
}
