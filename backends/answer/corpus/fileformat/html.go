package fileformat

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
	maxDepth  = 400       // nested elements; deeper ones are left out
	maxCells  = 200       // in a row, with the columns that cells span
	maxRows   = 5_000     // in a table
	maxPieces = 2_000_000 // elements and texts; later ones are left out
)

// ReadHTML reads an HTML document: its headings, paragraphs, tables and inline XBRL tags. It takes the title, the
// canonical URL, the language and the time of publication from the document if it states them. A page break in a style
// attribute begins a new page.
func ReadHTML(_ context.Context, r io.Reader, base Source, out Emit) error {
	text, err := readEncoded(r)
	if err != nil {
		return err
	}
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return out(base, Refuse("the HTML cannot be read: %v", err))
	}
	d := &htmlReader{source: base, fileTitle: base.Title}
	d.walk(root, 0)
	d.endParagraph()
	d.endPage()
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

// htmlReader converts HTML to Markdown. The field line collects the text of a paragraph until endParagraph moves it to
// the field text, which collects the paragraphs of a page. When the page is complete, endPage moves them to pages.
type htmlReader struct {
	source    Source // the fields of the document except its pages
	fileTitle string // the title derived from the file name, which a title in the document replaces
	text      strings.Builder
	line      strings.Builder
	level     int // the level of the current heading, or 0
	pages     []Page
	pieces    int // the number of nodes that were read
}

// attr returns the value of an attribute, or the empty string.
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

// walk reads a node and the nodes in it. depth is the number of elements around the node.
func (d *htmlReader) walk(n *html.Node, depth int) {
	if d.pieces++; depth > maxDepth || d.pieces > maxPieces {
		return
	}
	switch n.Type {
	case html.TextNode:
		d.line.WriteString(n.Data)
		return
	case html.ElementNode, html.DocumentNode: // read below
	default: // comments and the like
		return
	}
	if n.Type == html.ElementNode {
		switch n.DataAtom { //nolint:exhaustive // the content of other elements is read
		case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Math, atom.Iframe, atom.Object,
			atom.Select, atom.Textarea, atom.Nav, atom.Footer:
			return
		case atom.Head:
			d.readHead(n)
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
			d.endParagraph()
			d.readTable(n, depth)
			return
		}
		if n.Data == "ix:header" || isHidden(n) {
			return
		}
	}
	isBlock := isBlock(n)
	if isBlock {
		d.endParagraph()
	}
	if hasStyle(n, "page-break-before:always", "break-before:page") {
		d.endPage()
	}
	switch n.DataAtom { //nolint:exhaustive // headings alone
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		d.level = int(n.Data[1] - '0')
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		d.walk(c, depth+1)
	}
	if isBlock {
		d.endParagraph()
	}
	d.level = 0
	if hasStyle(n, "page-break-after:always", "break-after:page") {
		d.endPage()
	}
}

// isBlock reports whether an element begins and ends a paragraph.
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

// readHead reads the metadata of the document from its head. Fields that a description file sets are not changed.
func (d *htmlReader) readHead(n *html.Node) {
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

// textOf returns all visible text in an element, with a space at each line break and before each block. depth is the
// number of elements around the element.
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

// collapse replaces each run of white space by one space and removes it at both ends.
func collapse(s string) string { return strings.Join(strings.Fields(s), " ") }

// endParagraph ends the current paragraph and adds it to the page.
func (d *htmlReader) endParagraph() {
	line := collapse(d.line.String())
	d.line.Reset()
	if line == "" {
		return
	}
	line = strings.TrimLeft(line, "#| ") // these would be Markdown marks
	if d.level > 0 {
		line = strings.Repeat("#", d.level) + " " + line
	}
	d.addBlock(line)
}

// addBlock adds a paragraph or table in Markdown to the page.
func (d *htmlReader) addBlock(text string) {
	if d.text.Len() > 0 {
		d.text.WriteString("\n\n")
	}
	d.text.WriteString(text)
}

// endPage ends the current page.
func (d *htmlReader) endPage() {
	d.endParagraph()
	if d.text.Len() > 0 {
		d.pages = append(d.pages, Page{len(d.pages) + 1, d.text.String()})
		d.text.Reset()
	}
}

// readTable reads a table. If the table contains other tables, readTable reads its content like that of other
// elements. If the table has a single row or column, readTable reads each row as a paragraph.
func (d *htmlReader) readTable(n *html.Node, depth int) {
	var rows [][]string
	var covered []int // for each column, how many of the next rows a cell of an earlier row covers
	nested := false
	var collect func(n *html.Node, depth int) // collects the rows in n
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
				d.endParagraph()
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
				d.endParagraph()
			}
		}
		return
	}
	d.addBlock(tables.Markdown(grid))
}

// cellsOf returns the texts of the cells of a row. A cell that spans several columns is followed by empty cells. If a
// cell of an earlier row covers a column, the column has an empty cell. For each column, covered has the number of
// rows, counted from this row, that a cell of an earlier row covers. cellsOf changes covered, and returns the same
// numbers, counted from the next row, as nextCovered. hasNested reports whether a cell contains a table.
func cellsOf(tr *html.Node, depth int, covered []int) (cells []string, nextCovered []int, hasNested bool) {
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
		for range min(span(c, "colspan", maxCells), maxCells-len(cells)+1) - 1 { // the cell itself is one of its columns
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

// span returns how many rows or columns a cell spans, from 1 to limit. key is "rowspan" or "colspan".
func span(cell *html.Node, key string, limit int) int {
	n := 1
	if _, err := fmt.Sscanf(attr(cell, key), "%d", &n); err != nil {
		return 1
	}
	return min(max(n, 1), limit)
}

// hasTable reports whether an element contains a table.
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
