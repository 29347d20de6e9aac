package board

import (
	"bytes"
	"errors"
	"html"
	"regexp"
	"strings"
	"sync"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

const (
	// renderVersion changes when the same Markdown gives other HTML; stored HTML
	// of another version is not used.
	renderVersion = 2

	maxNesting = 100
	maxHTML    = 1 << 20
)

// Render turns Markdown into HTML that is safe to put into a page. What nests
// too deep or grows too large is shown as it was written.
func Render(markdown string) string { return render(markdown, renderer().policy) }

// noSource is an image of which the policy left a text alone.
var noSource = regexp.MustCompile(`<img(?: (?:alt|title)="[^"]*")*/?>`)

// render renders by the setting of images.
func (s *Settings) render(markdown string) string {
	if s.Images {
		return Render(markdown)
	}
	return noSource.ReplaceAllString(render(markdown, renderer().plain), "")
}

func render(markdown string, policy *bluemonday.Policy) string {
	if nestsDeep(markdown) {
		return verbatim(markdown)
	}
	tools := renderer()
	source := []byte(markdown)
	tree := tools.markdown.Parser().Parse(text.NewReader(source))
	if depth(tree, 0) > maxNesting {
		return verbatim(markdown)
	}
	out := &limited{left: maxHTML}
	if err := tools.markdown.Renderer().Render(out, source, tree); err != nil {
		return verbatim(markdown)
	}
	return string(policy.SanitizeBytes(out.Bytes()))
}

func verbatim(markdown string) string { return "<pre>" + html.EscapeString(markdown) + "</pre>" }

type tools struct {
	markdown goldmark.Markdown
	policy   *bluemonday.Policy
	plain    *bluemonday.Policy // without images from elsewhere
}

var renderer = sync.OnceValue(func() *tools {
	return &tools{
		markdown: goldmark.New(
			goldmark.WithExtensions(
				extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
				extension.Strikethrough, extension.Linkify, extension.TaskList,
			),
			goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(linkMarks{}, 100))),
		),
		policy: policy(true),
		plain:  policy(false),
	}
})

// policy lists what may be left of rendered Markdown.
func policy(images bool) *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "code", "em", "strong", "del",
		"ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td")
	p.AllowAttrs("start").Matching(regexp.MustCompile(`^[0-9]{1,9}$`)).OnElements("ol")
	p.AllowAttrs("align").Matching(regexp.MustCompile(`^(left|center|right)$`)).OnElements("th", "td")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^language-[A-Za-z0-9_+#.-]{1,40}$`)).OnElements("code")
	p.AllowAttrs("type").Matching(regexp.MustCompile(`^checkbox$`)).OnElements("input")
	p.AllowAttrs("checked", "disabled").OnElements("input")
	p.AllowAttrs("href").OnElements("a")
	p.AllowAttrs("rel").Matching(regexp.MustCompile("^" + linkRel + "$")).OnElements("a")
	sources := "^" + attachmentScheme + ":" // files of the board count as files, not as images
	if images {
		sources = "^(?:https://|" + attachmentScheme + ":)"
	}
	p.AllowAttrs("src").Matching(regexp.MustCompile(sources)).OnElements("img")
	p.AllowAttrs("alt", "title").OnElements("img")
	p.AllowURLSchemes("http", "https", "mailto")
	p.AllowURLSchemeWithCustomPolicy(attachmentScheme, isFile)
	p.RequireParseableURLs(true)
	p.AllowRelativeURLs(false)
	return p
}

// linkRel tells search engines and browsers what a link of a member is worth.
const linkRel = "nofollow ugc noopener"

// linkMarks puts linkRel on every link, and finds the files of the board.
type linkMarks struct{}

func (linkMarks) Transform(document *ast.Document, _ text.Reader, _ parser.Context) {
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // its function returns no error
		if entering {
			placeFile(n)
		}
		if entering && (n.Kind() == ast.KindLink || n.Kind() == ast.KindAutoLink) {
			n.SetAttributeString("rel", []byte(linkRel))
		}
		return ast.WalkContinue, nil
	})
}

// nestsDeep looks for lines that open very many quotes or lists, which cost the
// parser more than their length.
func nestsDeep(markdown string) bool {
	for line := range strings.Lines(markdown) {
		if containers(line) > maxNesting {
			return true
		}
	}
	return opensMany(markdown)
}

// containers counts the quotes and lists that a line opens.
func containers(line string) (n int) {
	for i := range len(line) {
		switch c := line[i]; c {
		case '>':
			n++
		case '-', '*', '+', '.', ')':
			if i+1 < len(line) && (line[i+1] == ' ' || line[i+1] == '\t') {
				n++
			}
		case ' ', '\t', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		default:
			return n
		}
	}
	return n
}

// opensMany reports whether there are more brackets open than any text needs.
func opensMany(markdown string) bool {
	open := 0
	for i := 0; i < len(markdown); i++ {
		switch markdown[i] {
		case '[':
			if open++; open > 10*maxNesting {
				return true
			}
		case ']':
			open = max(0, open-1)
		case '\n':
			if strings.HasPrefix(markdown[i:], "\n\n") {
				open = 0
			}
		}
	}
	return false
}

func depth(n ast.Node, level int) int {
	if level > maxNesting {
		return level
	}
	deepest := level
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		deepest = max(deepest, depth(child, level+1))
	}
	return deepest
}

// limited is a buffer that takes only so much.
type limited struct {
	bytes.Buffer
	left int
}

var errTooLarge = errors.New("the HTML is too large")

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, errTooLarge
	}
	return l.Buffer.Write(p)
}

// links counts what looks like a link.
func links(markdown string) int64 {
	return int64(strings.Count(markdown, "://") + strings.Count(markdown, "www.") + strings.Count(markdown, "](mailto:"))
}
