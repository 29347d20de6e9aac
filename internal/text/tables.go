package text

import (
	"bytes"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	source "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// maxCells limits the table cells of a text, to as many as fit into maxHTML. The parser fills rows up to the columns of
// their table, so without a limit a few bytes could produce thousands of cells.
const maxCells = maxHTML / len("<td></td>\n")

// tables extends goldmark with tables of limited size.
type tables struct{}

// Extend implements goldmark.Extender.
func (t tables) Extend(m goldmark.Markdown) {
	m.Parser().AddOptions(
		parser.WithParagraphTransformers(util.Prioritized(t, 200)),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
	rows := extension.NewTableHTMLRenderer(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))
	m.Renderer().AddOptions(renderer.WithNodeRenderers(util.Prioritized(rows, 500)))
}

var (
	cellsSoFar      = parser.NewContextKey()
	tableParagraphs = extension.NewTableParagraphTransformer()
)

// Transform implements parser.ParagraphTransformer. A table that is too large remains a paragraph.
func (tables) Transform(node *ast.Paragraph, reader source.Reader, pc parser.Context) {
	lines, columns := node.Lines(), 0
	for i := range lines.Len() {
		line := lines.At(i)
		columns = max(columns, columnsOf(line.Value(reader.Source())))
	}
	if columns == 0 {
		return
	}
	cells, _ := pc.Get(cellsSoFar).(int)
	if cells += columns * lines.Len(); cells > maxCells {
		return
	}
	pc.Set(cellsSoFar, cells)
	tableParagraphs.Transform(node, reader, pc)
}

// columnsOf returns an upper bound for the number of columns of the table whose delimiter row is line. It returns 0 if
// line is not a delimiter row.
func columnsOf(line []byte) int {
	if len(bytes.Trim(line, "-:| \t\v\f\r\n")) > 0 || bytes.IndexByte(line, '-') < 0 {
		return 0
	}
	return bytes.Count(line, []byte("|")) + 1
}
