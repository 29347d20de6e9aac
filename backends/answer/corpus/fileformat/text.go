package fileformat

import (
	"context"
	"io"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/tables"
)

// ReadText reads a plain text document. Form feeds begin pages, and columns separated by spaces become tables.
func ReadText(_ context.Context, r io.Reader, base Source, out Emit) error {
	text, err := readEncoded(r)
	if err != nil {
		return err
	}
	base.Pages = textPages(text)
	return out(base, nil)
}

// textPages returns the pages of a plain text. Comments such as <!-- page 12 --> have no meaning in it.
func textPages(text string) []Page {
	pages := pagesOf(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "<!-- page", ""))
	for i := range pages {
		pages[i].Text = columnsToTables(pages[i].Text)
	}
	return pages
}

// columnsToTables turns the columns of a text into Markdown tables, unless it contains Markdown tables already.
func columnsToTables(text string) string {
	if strings.Contains(text, "|--") || strings.Contains(text, "| --") {
		return text
	}
	return tables.FromText(text)
}
