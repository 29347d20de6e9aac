package corpus

import (
	"context"
	"io"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/tables"
)

// readText reads a document of plain text. Form feeds begin pages, and columns held
// apart by blanks are tables.
func readText(_ context.Context, r io.Reader, base Source, out emit) error {
	text, err := readEncoded(r)
	if err != nil {
		return err
	}
	base.Pages = textPages(text)
	return out(base, nil)
}

// textPages are the pages of a plain text.
func textPages(text string) []Page {
	pages := pagesOf(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "<!-- page", ""))
	for i := range pages {
		pages[i].Text = tables.FromText(pages[i].Text)
	}
	return pages
}
