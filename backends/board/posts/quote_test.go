package posts

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/internal/blob"
)

// TestQuote checks that a quotation shows the images of the post that it quotes.
func TestQuote(t *testing.T) {
	t.Parallel()
	file := func(id int64, name string) attachments.Attachment {
		return attachments.Attachment{ID: id, File: blob.File{Name: name}}
	}
	files := []attachments.Attachment{file(3, "a.png"), file(5, "my a.png"), file(7, "a.png")}
	for message, want := range map[string]string{
		"one\n\ntwo\n": "> one\n> \n> two\n\n",
		"![x](attachment:a.png) and ![](attachment:b.png)": "> ![x](/attachments/7) and ![](attachment:b.png)\n\n",
		"![x](<attachment:my a.png>)":                      "> ![x](/attachments/5)\n\n",
		"[x](attachment:my%20a.png \"title\")":             "> [x](/attachments/5 \"title\")\n\n",
		"attachment:a.png":                                 "> attachment:a.png\n\n",
	} {
		if got := Quote(content.PostInfo{AuthorUsername: "bob", Message: message}, files); got != "> **bob** wrote:\n>\n"+want {
			t.Errorf("%q: %q", message, got)
		}
	}
}
