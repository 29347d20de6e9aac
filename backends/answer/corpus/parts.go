package corpus

import (
	"bytes"
	"context"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus/fileformat"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Part is a passage of a text outside the corpus, with its vector.
type Part struct {
	kernel.Passage
	Vector terms.Vector
}

// Divide divides a document that is not stored, such as a web page, into passages. It returns a *RefusedError
// for a document without a URL or text.
func Divide(s fileformat.Source) ([]Part, error) {
	p, err := prepare(s)
	if err != nil {
		return nil, err
	}
	parts := make([]Part, 0, len(p.chunks))
	for i := range p.chunks {
		c := &p.chunks[i]
		parts = append(parts, Part{kernel.Passage{
			Seq: i, Title: p.source.Title, URL: p.source.URL, Kind: p.source.Kind, Section: c.section, Page: c.page,
			Text: c.text, Table: len(c.tables) > 0,
			Tokens: c.tokens, Period: p.period, Published: p.source.Published,
		}, p.vectors[i]})
	}
	return parts, nil
}

// TextOf returns the text of a web page as Markdown. mediaType is the type of body without parameters. For types other
// than HTML, XHTML, plain text and Markdown TextOf returns a *RefusedError.
func TextOf(ctx context.Context, mediaType string, body []byte) (markdown string, err error) {
	read := fileformat.ReadText
	switch mediaType {
	case "text/html", "application/xhtml+xml":
		read = fileformat.ReadHTML
	case "text/plain", "text/markdown":
	default:
		return "", fileformat.Refuse("the media type %q of the page is not supported", text.CutBytes(mediaType, 80))
	}
	err = read(ctx, bytes.NewReader(body), fileformat.Source{}, func(s fileformat.Source, err error) error {
		pages := make([]string, 0, len(s.Pages))
		for _, page := range s.Pages {
			pages = append(pages, page.Text)
		}
		markdown = strings.Join(pages, "\n\n")
		return err
	})
	return markdown, err
}
