package corpus

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/tollgate-gateway/tollgate/backends/answer/tables"
)

// Bounds of an HTML document, besides its size.
const (
	maxDepth  = 400   // nested elements; deeper ones are left out
	maxCells  = 200   // in a row, with the columns that cells span
	maxRows   = 5_000 // in a table
	maxPieces = 2_000_000
)

// readHTML reads an HTML document: its headings, paragraphs and tables. It takes the title, the canonical
// URL, the language and the time of publication from the document if they are there. A page break in a print
// style begins a new page.
func readHTML(_ context.Context, r io.Reader, base Source, out emit) error {
	text, err := readEncoded(r)
	if err != nil {
		return err
	}
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return out(base, refuse("the HTML cannot be read: %v", err))
	}
	d := &htmlReader{source: base, fileTitle: base.Title}
	d.walk(root, 0)
	d.paragraph()
	d.page()
	s := d.source
	if len(d.pages) == 1 {
		d.pages[0].Number = 0 // a document of one page has no page numbers
	}
	s.Pages = d.pages
	if t := readTags(root); t != nil {
		s = t.source(s)
	}
	return out(s, nil)
}

// htmlReader converts HTML to Markdown. Text is collected in line until paragraph moves it to text, and page moves text
// to pages.
type htmlReader struct {
	source    Source
	fileTitle string // the title derived from the file name
	text      strings.Builder
	line      strings.Builder
	level     int // the level of the current heading, or 0
	pages     []Page
	pieces    int
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// hasStyle reports whether the style attribute of an element contains one of the settings. White space in the attribute
// is ignored.
func hasStyle(n *html.Node, settings ...string) bool {
	style := attr(n, "style")
	if style == "" {
		return false
	}
	style = strings.ToLower(strings.Join(strings.Fields(style), ""))
	for _, s := range settings {
		if strings.Contains(style, s) {
			return true
		}
	}
	return false
}

// isHidden reports whether an element is not displayed.
func isHidden(n *html.Node) bool {
	return hasStyle(n, "display:none", "visibility:hidden") ||
		slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "hidden" })
}

func (d *htmlReader) walk(n *html.Node, depth int) {
	if d.pieces++; depth > maxDepth || d.pieces > maxPieces {
		return
	}
	switch n.Type {
	case html.TextNode:
		d.line.WriteString(n.Data)
		return
	case html.ElementNode, html.DocumentNode:
	default:
		return
	}
	if n.Type == html.ElementNode {
		switch n.DataAtom { //nolint:exhaustive // the content of other elements is read
		case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Math, atom.Iframe, atom.Object,
			atom.Select, atom.Textarea:
			return
		case atom.Head:
			d.head(n, depth)
			return
		case atom.Nav, atom.Footer:
			return
		case atom.Html:
			if d.source.Lang == "" {
				d.source.Lang = attr(n, "lang")
			}
		case atom.Br:
			d.line.WriteByte(' ')
			return
		case atom.Table:
			if isHidden(n) {
				return
			}
			d.paragraph()
			d.table(n, depth)
			return
		}
		if n.Data == "ix:header" || isHidden(n) {
			return
		}
	}
	block := isBlock(n)
	if block {
		d.paragraph()
	}
	if hasStyle(n, "page-break-before:always", "break-before:page") {
		d.page()
	}
	switch n.DataAtom { //nolint:exhaustive // headings alone
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		d.level = int(n.Data[1] - '0')
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		d.walk(c, depth+1)
	}
	if block {
		d.paragraph()
	}
	d.level = 0
	if hasStyle(n, "page-break-after:always", "break-after:page") {
		d.page()
	}
}

func isBlock(n *html.Node) bool {
	switch n.DataAtom { //nolint:exhaustive // other elements are inline
	case atom.P, atom.Div, atom.Li, atom.Ul, atom.Ol, atom.Section, atom.Article, atom.Main, atom.H1, atom.H2, atom.H3,
		atom.H4, atom.H5, atom.H6,
		atom.Blockquote, atom.Pre, atom.Hr, atom.Dl, atom.Dt, atom.Dd, atom.Body, atom.Header, atom.Figure, atom.Figcaption,
		atom.Address, atom.Aside, atom.Td, atom.Th, atom.Caption:
		return true
	}
	return false
}

// head reads the metadata of the document from its head.
func (d *htmlReader) head(n *html.Node, depth int) {
	if depth > maxDepth {
		return
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.DataAtom { //nolint:exhaustive // other elements have no metadata
		case atom.Title:
			if title := collapse(textOf(c, 0)); title != "" && d.source.Title == d.fileTitle {
				d.source.Title = title
			}
		case atom.Link:
			if attr(c, "rel") == "canonical" && strings.HasPrefix(d.source.URL, "corpus:") && checkURL(attr(c, "href")) == nil {
				d.source.URL = attr(c, "href")
			}
		case atom.Meta:
			name := attr(c, "name") + attr(c, "property")
			if published, err := parseTime(attr(c, "content")); err == nil && d.source.Published.IsZero() &&
				(name == "article:published_time" || name == "date") {
				d.source.Published = published
			}
		}
	}
}

// textOf returns all visible text in an element, with spaces at line breaks and blocks.
func textOf(n *html.Node, depth int) string {
	var b strings.Builder
	var walk func(n *html.Node, depth int)
	walk = func(n *html.Node, depth int) {
		if depth > maxDepth || n.DataAtom == atom.Script || n.DataAtom == atom.Style || isHidden(n) {
			return
		}
		switch {
		case n.Type == html.TextNode:
			b.WriteString(n.Data)
		case n.DataAtom == atom.Br || isBlock(n):
			b.WriteByte(' ')
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c, depth+1)
		}
	}
	walk(n, depth)
	return b.String()
}

func collapse(s string) string { return strings.Join(strings.Fields(s), " ") }

// paragraph ends the current line and adds it to the page.
func (d *htmlReader) paragraph() {
	line := collapse(d.line.String())
	d.line.Reset()
	if line == "" {
		return
	}
	line = strings.TrimLeft(line, "#| ") // these would be Markdown marks
	if d.level > 0 {
		line = strings.Repeat("#", d.level) + " " + line
	}
	d.block(line)
}

func (d *htmlReader) block(text string) {
	if d.text.Len() > 0 {
		d.text.WriteString("\n\n")
	}
	d.text.WriteString(text)
}

// page ends the current page.
func (d *htmlReader) page() {
	d.paragraph()
	if d.text.Len() > 0 {
		d.pages = append(d.pages, Page{len(d.pages) + 1, d.text.String()})
		d.text.Reset()
	}
}

// table reads a table. The content of a table that contains other tables is read like other elements, and one with a
// single row or column as paragraphs.
func (d *htmlReader) table(n *html.Node, depth int) {
	var rows [][]string
	var covered []int // for each column, how many of the following rows are covered by a cell from above
	var collect func(n *html.Node, depth int)
	nested := false
	collect = func(n *html.Node, depth int) {
		if depth > maxDepth {
			return
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			switch {
			case c.Type == html.ElementNode && isHidden(c):
			case c.DataAtom == atom.Tr:
				if len(rows) < maxRows {
					var row []string
					var hasNested bool
					row, covered, hasNested = cellsOf(c, depth, covered)
					rows = append(rows, row)
					nested = nested || hasNested
				}
			case c.DataAtom == atom.Caption:
				d.line.WriteString(textOf(c, depth))
				d.paragraph()
			case c.Type == html.ElementNode:
				collect(c, depth+1)
			}
		}
	}
	collect(n, depth)
	if nested { // a table for the layout of other tables
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			d.walk(c, depth+1)
		}
		return
	}
	grid := tables.Tidy(rows)
	if len(grid) < 2 || len(grid[0]) < 2 {
		for _, row := range grid {
			if line := collapse(strings.Join(row, " ")); line != "" {
				d.line.WriteString(line)
				d.paragraph()
			}
		}
		return
	}
	d.block(tables.Markdown(grid))
}

// cellsOf returns the cells of a row. A cell that spans several columns is followed by empty cells, and a column that a
// cell of an earlier row covers has an empty cell. covered has, for each column, the number of rows from this one on
// that such a cell covers; below has the same numbers from the next row on. hasNested reports whether a cell contains a
// table.
func cellsOf(tr *html.Node, depth int, covered []int) (cells []string, below []int, hasNested bool) {
	for c := tr.FirstChild; c != nil && len(cells) < maxCells; c = c.NextSibling {
		if c.DataAtom != atom.Td && c.DataAtom != atom.Th || isHidden(c) {
			continue
		}
		for len(cells) < min(len(covered), maxCells) && covered[len(cells)] > 0 {
			cells = append(cells, "")
		}
		hasNested = hasNested || hasTable(c, depth)
		start, height := len(cells), span(c, "rowspan", maxRows)
		cells = append(cells, collapse(textOf(c, depth)))
		for range min(span(c, "colspan", maxCells), maxCells-len(cells)+1) - 1 {
			cells = append(cells, "")
		}
		if height > 1 {
			covered = append(covered, make([]int, max(len(cells)-len(covered), 0))...)
			for i := start; i < len(cells); i++ {
				covered[i] = height // this row counts too
			}
		}
	}
	for i := range covered {
		covered[i] = max(covered[i]-1, 0)
	}
	return cells, covered, hasNested
}

// span returns how many rows or columns a cell spans, from 1 to limit.
func span(cell *html.Node, key string, limit int) int {
	n := 1
	if _, err := fmt.Sscanf(attr(cell, key), "%d", &n); err != nil {
		return 1
	}
	return min(max(n, 1), limit)
}

func hasTable(n *html.Node, depth int) bool {
	if depth > maxDepth {
		return false
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom == atom.Table || hasTable(c, depth+1) {
			return true
		}
	}
	return false
}
