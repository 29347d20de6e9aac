package posts

import (
	"sync"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// RenderVersion changes when the same Markdown gives other HTML; stored HTML
// of another version is not used.
const RenderVersion = 2

// markdown renders posts, with images from elsewhere or without.
var (
	markdown      = sync.OnceValue(func() *text.Markdown { return newMarkdown(true) })
	markdownPlain = sync.OnceValue(func() *text.Markdown { return newMarkdown(false) })
)

func newMarkdown(images bool) *text.Markdown {
	return text.NewMarkdown(text.Options{Images: images, Scheme: attachmentScheme, Valid: isFile, Place: placeFile})
}

// Render turns the text of a post into HTML that is safe to put into a page.
func Render(message string) string { return markdown().Render(message) }

// RenderBy renders by the setting of images.
func RenderBy(set *kernel.Settings, message string) string {
	if set.Images {
		return Render(message)
	}
	return markdownPlain().Render(message)
}
