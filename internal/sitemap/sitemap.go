// Package sitemap writes sitemaps (sitemaps.org, version 0.9), which list the pages of a site for search engines.
package sitemap

import (
	"bufio"
	"encoding/xml"
	"io"
	"time"
)

// MaxURLs limits the URLs in a file.
const MaxURLs = 50_000

// Writer writes a file entry by entry. Close returns an error of any write.
type Writer struct {
	out   *bufio.Writer
	root  string // name of the XML element of the file
	entry string // name of the XML element of an entry
}

// Pages begins a list of pages, which is written to out.
func Pages(out io.Writer) *Writer { return begin(out, "urlset", "url") }

// Parts begins an index, which lists sitemap files and is written to out.
func Parts(out io.Writer) *Writer { return begin(out, "sitemapindex", "sitemap") }

// begin writes the beginning of a file.
func begin(out io.Writer, root, entry string) *Writer {
	w := &Writer{bufio.NewWriter(out), root, entry}
	w.write(xml.Header, "<", root, ` xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`, "\n")
	return w
}

// Add adds an absolute URL with the time of its last change, which is omitted if it is zero.
func (w *Writer) Add(address string, changed time.Time) {
	w.write("<", w.entry, "><loc>")
	_ = xml.EscapeText(w.out, []byte(address))
	w.write("</loc>")
	if !changed.IsZero() {
		w.write("<lastmod>", changed.UTC().Format(time.RFC3339), "</lastmod>")
	}
	w.write("</", w.entry, ">\n")
}

// Close ends the file. It returns the first error of all writes.
func (w *Writer) Close() error {
	w.write("</", w.root, ">\n")
	return w.out.Flush()
}

// write writes texts.
func (w *Writer) write(texts ...string) {
	for _, text := range texts {
		_, _ = w.out.WriteString(text) // Flush returns the error
	}
}
