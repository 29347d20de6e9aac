package documents

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	table "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// anchors generates the IDs of headings as the common repository hosts do, so that links to headings work both there
// and here. It contains the IDs that are in use.
type anchors map[string]bool

// Generate implements parser.IDs.
func (a anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	var name strings.Builder
	for _, r := range strings.ToLower(string(value)) {
		switch {
		case r == ' ':
			name.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r):
			name.WriteRune(r)
		}
	}
	unique := name.String()
	for n := 1; a[unique]; n++ {
		unique = name.String() + "-" + strconv.Itoa(n)
	}
	a[unique] = true
	return []byte(unique)
}

// Put implements parser.IDs.
func (a anchors) Put(value []byte) { a[string(value)] = true }

// ownHTML renders headings with a link to themselves, code blocks that can be copied, and tables that have a
// caption and scroll on small screens.
type ownHTML struct{}

// withOwnHTML returns an option that makes a renderer use ownHTML.
func withOwnHTML() renderer.Option {
	return renderer.WithNodeRenderers(util.Prioritized(ownHTML{}, 10))
}

// RegisterFuncs implements renderer.NodeRenderer.
func (ownHTML) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, heading)
	r.Register(ast.KindFencedCodeBlock, codeBlock)
	r.Register(ast.KindCodeBlock, codeBlock)
	r.Register(table.KindTable, scrollingTable)
	r.Register(table.KindTableHeader, header)
	r.Register(table.KindTableCell, cell)
	r.Register(ast.KindHTMLBlock, omit)
	r.Register(ast.KindRawHTML, omit)
}

// heading renders a heading with its ID. A heading that is not of level 1 also gets a link to itself.
func heading(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	h := node.(*ast.Heading)
	level := strconv.Itoa(h.Level)
	id, _ := h.AttributeString("id")
	anchor, _ := id.([]byte)
	if entering {
		_, _ = w.WriteString("<h" + level + ` id="` + string(util.EscapeHTML(anchor)) + `">`)
		return ast.WalkContinue, nil
	}
	if h.Level > 1 {
		_, _ = w.WriteString(` <a class="anchor" href="#` + string(util.EscapeHTML(anchor)) +
			`" aria-label="Link to this section">#</a>`)
	}
	_, err := w.WriteString("</h" + level + ">\n")
	return ast.WalkContinue, err
}

// codeBlock renders a code block. The attribute data-copy gives it a button that copies the code.
func codeBlock(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	_, _ = w.WriteString(`<pre tabindex="0" data-copy><code>`)
	lines := node.Lines()
	for i := range lines.Len() {
		line := lines.At(i)
		html.DefaultWriter.RawWrite(w, line.Value(source))
	}
	_, err := w.WriteString("</code></pre>\n")
	return ast.WalkSkipChildren, err
}

// omit leaves out HTML, which documents only use for comments.
func omit(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
	return ast.WalkSkipChildren, nil
}

// captionName is the attribute of a table that holds its caption, which is the heading above the table.
const captionName = "caption"

// scrollingTable renders a table with its caption, in an element that scrolls if the table is too wide for the screen.
func scrollingTable(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	text := "</table></div>\n"
	if entering {
		value, _ := node.AttributeString(captionName)
		caption, _ := value.([]byte)
		name := string(util.EscapeHTML(caption))
		text = `<div class="scroll" tabindex="0" role="group" aria-label="Table: ` + name + `"><table>` + "\n" +
			`<caption class="hidden">` + name + "</caption>\n"
	}
	_, err := w.WriteString(text)
	return ast.WalkContinue, err
}

// header renders the header row of a table, and the beginning of the body after it. It omits an empty header row.
func header(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	empty := true
	for cell := node.FirstChild(); cell != nil; cell = cell.NextSibling() {
		empty = empty && !cell.HasChildren()
	}
	text, status := "", ast.WalkContinue
	switch {
	case entering && empty:
		status = ast.WalkSkipChildren
	case entering:
		text = "<thead>\n<tr>\n"
	case !empty:
		text = "</tr>\n</thead>\n"
	}
	if !entering && node.NextSibling() != nil {
		text += "<tbody>\n"
	}
	_, err := w.WriteString(text)
	return status, err
}

// cell renders a cell of a table. An empty cell of the header becomes a td element instead of th.
func cell(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	c := node.(*table.TableCell)
	tag, attributes := "td", ""
	if c.Parent().Kind() == table.KindTableHeader && c.HasChildren() {
		tag, attributes = "th", ` scope="col"`
	}
	if c.Alignment != table.AlignNone {
		attributes += ` align="` + c.Alignment.String() + `"`
	}
	text := "</" + tag + ">\n"
	if entering {
		text = "<" + tag + attributes + ">"
	}
	_, err := w.WriteString(text)
	return ast.WalkContinue, err
}
