package markup

import (
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
)

// TestFileReferences checks that texts can refer to files of the board, and that the same syntax refers to nothing
// else.
func TestFileReferences(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"![x](attachment:photo.png)":                   `<img src="/posts/7/files/photo.png" alt="x">`,
		"![x](<attachment:my photo.png>)":              `<img src="/posts/7/files/my%20photo.png" alt="x">`,
		"![x](attachment:my%20photo.png)":              `<img src="/posts/7/files/my%20photo.png" alt="x">`,
		"![x](/attachments/12)":                        `<img src="/attachments/12" alt="x">`,
		"![x](/api/v1/attachments/12)":                 `<img src="/attachments/12" alt="x">`,
		"[x](attachment:notes.txt)":                    `<a href="/posts/7/files/notes.txt" rel="nofollow ugc noopener">x</a>`,
		"[x](/attachments/12)":                         `<a href="/attachments/12" rel="nofollow ugc noopener">x</a>`,
		"![x](<attachment:a&b.png>)":                   `<img src="/posts/7/files/a&amp;b.png" alt="x">`,
		"![x](attachment:evil.html)":                   `<img alt="x">`,
		"![x](attachment:/../admin)":                   `<img alt="x">`,
		"![x](attachment:..%2f..%2fadmin.png)":         `<img alt="x">`,
		"![x](attachment://host/photo.png)":            `<img alt="x">`,
		"![x](attachment:photo.png?x=1)":               `<img alt="x">`,
		"![x](/attachments/12/../../admin)":            `<img alt="x">`,
		"![x](/admin)":                                 `<img alt="x">`,
		`![/x](/attachments/12 "attachment:x")`:        `<img src="/attachments/12" alt="/x" title="attachment:x">`,
		"![attachment:x](attachment:photo.png)":        `<img src="/posts/7/files/photo.png" alt="attachment:x">`,
		"[x](/admin)":                                  `x`,
		"![x](http://example.com/x.png)":               `<img alt="x">`,
		`text ="attachment:x.png" src="attachment:/1"`: `text =&#34;attachment:x.png&#34; src=&#34;attachment:/1&#34;`,
	} {
		if got := strings.TrimSpace(Shown(7, text, Render(text), Version)); got != "<p>"+want+"</p>" {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		const old = "<p>old</p>"
		if got := Shown(7, text, old, 1); (got == old) == (strings.Contains(text, "attachment:") || strings.Contains(text, "/attachments/")) {
			t.Errorf("%s: of an older version: %s", text, got)
		}
	}
	const twoImages = "![x](attachment:photo.png) ![y](https://example.com/y.png)"
	for html, want := range map[string]bool{
		`<p><img alt="x"> </p>`: false, // left out by the setting
		`<p><img alt="x"> <img src="https://example.com/y.png" alt="y"></p>`: true,
	} {
		if got := Shown(7, twoImages, html, 1); strings.Contains(got, "example.com") != want || !strings.Contains(got, "/posts/7/files/photo.png") {
			t.Errorf("of an older version %s: %s", html, got)
		}
	}
	for _, test := range []struct {
		message, html string
		version       int64
		want          bool
	}{
		{"an attachment", "<p>an attachment</p>", 1, false},
		{"[x](/y)", `<p><a rel="nofollow ugc noopener">x</a></p>`, 2, true},
		{"https://example.com/ü", `<p><a href="https://example.com/" rel="nofollow ugc noopener">https://example.com/</a>ü</p>`, 2, true},
		{"https://example.com/u", "<p>old</p>", 2, false},
		{"ü", "<p>old</p>", 2, false},
		{"ü", "<p>old</p>", 0, true},
	} {
		if got := outdated(test.message, test.html, test.version); got != test.want {
			t.Errorf("%q of version %d is outdated: %t", test.message, test.version, got)
		}
	}
	plain := &kernel.Settings{}
	if got := RenderBy(plain, "![x](attachment:photo.png) ![y](https://example.com/y.png)"); !strings.Contains(got, "attachment:photo.png") || strings.Contains(got, "example.com") {
		t.Errorf("without images: %s", got)
	}
}
