package board

import (
	"strings"
	"testing"
)

// TestPlacing: files of the board can be named in texts, and nothing else by the
// same way.
func TestPlacing(t *testing.T) {
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
		"[x](/admin)":                                  `<a rel="nofollow ugc noopener">x</a>`,
		"![x](http://example.com/x.png)":               `<img alt="x">`,
		`text ="attachment:x.png" src="attachment:/1"`: `text =&#34;attachment:x.png&#34; src=&#34;attachment:/1&#34;`,
	} {
		p := &post{id: 7, message: text, html: Render(text), renderVersion: renderVersion}
		if got := strings.TrimSpace(viewPost(p).MessageHTML); got != "<p>"+want+"</p>" {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		p.html, p.renderVersion = "<p>old</p>", 1
		if got := viewPost(p).MessageHTML; (got == p.html) == strings.Contains(text, "attachment") {
			t.Errorf("%s: of an older version: %s", text, got)
		}
	}
	plain := &Settings{}
	if got := plain.render("![x](attachment:photo.png) ![y](https://example.com/y.png)"); !strings.Contains(got, "attachment:photo.png") || strings.Contains(got, "example.com") {
		t.Errorf("without images: %s", got)
	}
}
