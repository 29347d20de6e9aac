// Package markup renders the texts of posts. It converts Markdown to HTML that is safe to insert into a page, and
// resolves references to files of the board.
package markup

import (
	"strings"
	"sync"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Version must change whenever the same Markdown is rendered as different HTML, so that outdated stored HTML is not
// used.
const Version = 3

// markdown renders posts with images of other hosts, and markdownPlain renders them without.
var (
	markdown      = sync.OnceValue(func() *text.Markdown { return newMarkdown(true) })
	markdownPlain = sync.OnceValue(func() *text.Markdown { return newMarkdown(false) })
)

// newMarkdown returns a renderer of posts. If images is set, it renders images of other hosts.
func newMarkdown(images bool) *text.Markdown {
	return text.NewMarkdown(text.Options{Images: images, Scheme: scheme, Valid: isFile, Place: placeFile})
}

// Render converts the text of a post to the HTML that is stored.
func Render(message string) string { return markdown().Render(message) }

// RenderBy works like Render. The settings determine whether the HTML has images of other hosts.
func RenderBy(settings *kernel.Settings, message string) string {
	if settings.Images {
		return Render(message)
	}
	return markdownPlain().Render(message)
}

// Shown returns the HTML of a post for pages and clients. message, html and version are the stored text, its stored
// HTML, and the Version by which it was rendered.
func Shown(post int64, message, html string, version int64) string {
	if outdated(message, html, version) {
		html = renderAgain(message, html)
	}
	return WithPaths(html, post)
}

// outdated reports whether the current Version would render a text differently from its stored HTML. Version 1 did
// not support files in texts. Versions 1 and 2 could make links that had no address, and cut off the address of a
// link before the first non-ASCII letter.
func outdated(message, html string, version int64) bool {
	switch version {
	case Version:
		return false
	case 1, 2:
		hasFiles := strings.Contains(message, scheme+":") || strings.Contains(message, "/attachments/")
		hasEmptyLinks := strings.Contains(html, `<a rel="`)
		hasCutLinks := (strings.Contains(message, "://") || strings.Contains(message, "www.")) && !text.IsASCII(message)
		return version == 1 && hasFiles || hasEmptyLinks || hasCutLinks
	}
	return true
}

// renderAgain renders a text again, by the setting that applied when it was stored: if the stored HTML has no images of
// other hosts, neither has the new HTML.
func renderAgain(message, html string) string {
	return RenderBy(&kernel.Settings{Images: strings.Contains(html, `<img src="https://`)}, message)
}
