// Package markup renders the text of a post: it turns Markdown into HTML that is safe to put into a page, and
// resolves references to files of the board.
package markup

import (
	"strings"
	"sync"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Version changes whenever the same Markdown gives other HTML, so that outdated stored HTML is not used.
const Version = 3

// markdown renders posts with images from elsewhere, and markdownPlain renders them without.
var (
	markdown      = sync.OnceValue(func() *text.Markdown { return newMarkdown(true) })
	markdownPlain = sync.OnceValue(func() *text.Markdown { return newMarkdown(false) })
)

func newMarkdown(images bool) *text.Markdown {
	return text.NewMarkdown(text.Options{Images: images, Scheme: scheme, Valid: isFile, Place: placeFile})
}

// Render turns the text of a post into the HTML that is stored.
func Render(message string) string { return markdown().Render(message) }

// RenderBy renders a text with or without images from elsewhere, according to the settings.
func RenderBy(set *kernel.Settings, message string) string {
	if set.Images {
		return Render(message)
	}
	return markdownPlain().Render(message)
}

// Shown returns the HTML of a post as pages and clients get it, given the message and the HTML that are stored.
func Shown(post int64, message, html string, version int64) string {
	if outdated(message, html, version) {
		html = anew(message, html)
	}
	return WithPaths(html, post)
}

// outdated reports whether the stored HTML differs from what the text gives now. Version 1 did not support files in
// texts. Versions 1 and 2 made links without an address, and ended addresses before non-ASCII letters.
func outdated(message, html string, version int64) bool {
	switch version {
	case Version:
		return false
	case 1, 2:
		return version == 1 && (strings.Contains(message, scheme+":") || strings.Contains(message, "/attachments/")) ||
			strings.Contains(html, `<a rel="`) ||
			(strings.Contains(message, "://") || strings.Contains(message, "www.")) && !text.IsASCII(message)
	}
	return true
}

// anew renders a text again under the setting of the time when it was written: it gets no images from elsewhere if
// it was stored without them.
func anew(message, html string) string {
	return RenderBy(&kernel.Settings{Images: strings.Contains(html, `<img src="https://`)}, message)
}
