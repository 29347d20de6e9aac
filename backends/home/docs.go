package home

import (
	"bytes"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/home/documents"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// documentData is the data of the template for a document or for a search.
type documentData struct {
	Groups []documents.Group
	Page   *documents.Page // nil for a search
	Hits   []documents.Hit
}

// document shows the document or the image that the path of the request names.
func (c *call) document() error {
	library, err := c.Documents()
	if err != nil {
		return err
	}
	name := c.R.PathValue("path")
	if picture, ok := library.Image(name); ok {
		c.W.Header().Set("Content-Type", "image/svg+xml")
		c.W.Header().Set("Content-Security-Policy", "default-src 'none'")
		http.ServeContent(c.W, c.R, "", time.Time{}, bytes.NewReader(picture))
		return nil
	}
	page := library.Page(name)
	if page == nil {
		return pages.NotFound()
	}
	c.frame.Page = page
	return c.Show("document", page.Title, documentData{Groups: library.Groups(), Page: page})
}

// search shows the sections of documents that match the query q.
func (c *call) search() error {
	library, err := c.Documents()
	if err != nil {
		return err
	}
	query := strings.TrimSpace(c.Query.Text("q"))
	if utf8.RuneCountInString(query) > documents.MaxQuery {
		query = string([]rune(query)[:documents.MaxQuery])
	}
	c.frame.Query = query
	return c.Show("search", "Search", documentData{Groups: library.Groups(), Hits: library.Search(query)})
}
