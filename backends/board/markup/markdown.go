// Package markup is how the text of a post is shown: Markdown as HTML that is safe
// to put into a page, in which files of the board can be named.
package markup

import (
	"strings"
	"sync"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Version changes when the same Markdown gives other HTML; stored HTML of another
// version is not used.
const Version = 3

// markdown renders posts, with images from elsewhere or without.
var (
	markdown      = sync.OnceValue(func() *text.Markdown { return newMarkdown(true) })
	markdownPlain = sync.OnceValue(func() *text.Markdown { return newMarkdown(false) })
)

func newMarkdown(images bool) *text.Markdown {
	return text.NewMarkdown(text.Options{Images: images, Scheme: scheme, Valid: isFile, Place: placeFile})
}

// Render turns the text of a post into the HTML that is stored.
func Render(message string) string { return markdown().Render(message) }

// RenderBy renders by the setting of images.
func RenderBy(set *kernel.Settings, message string) string {
	if set.Images {
		return Render(message)
	}
	return markdownPlain().Render(message)
}

// Shown returns the HTML of a post as pages and clients get it, made of what was stored.
func Shown(post int64, message, html string, version int64) string {
	if outdated(message, html, version) {
		html = anew(message, html)
	}
	return WithPaths(html, post)
}

// outdated reports whether the stored HTML is another than the text gives now. Version 1
// knew no files in texts. Versions 1 and 2 made links without an address, and ended
// addresses before letters that are not of ASCII.
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

// anew renders a text as it was when it was written: one that was stored without
// images from elsewhere does not get them.
func anew(message, html string) string {
	return RenderBy(&kernel.Settings{Images: strings.Contains(html, `<img src="https://`)}, message)
}
