package text

import (
	"bytes"
	"errors"
	"html"
	"net/url"
	"regexp"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	source "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

const (
	maxNesting = 100
	maxHTML    = 1 << 20
	maxEmpty   = 200_000 // number of empty lines times the depth of quotes and lists around them
)

// linkRel is the attribute rel of links that users wrote. It makes search engines and browsers distrust them.
const linkRel = "nofollow ugc noopener"

// Options says which links and images Markdown may contain, besides links to http, https and mailto.
type Options struct {
	// Images shows images from https URLs. Default: they are removed.
	Images bool
	// Scheme is a URL scheme of the service that links and images may also have. Default: none.
	Scheme string
	// Valid reports whether a URL with the scheme Scheme is valid.
	Valid func(*url.URL) bool
	// Place rewrites the URL of a link or an image before it is checked. Default: URLs stay unchanged.
	Place func(address []byte) []byte
}

// Markdown renders texts. It is safe for concurrent use, and costly to make, so it should be reused.
type Markdown struct {
	options  Options
	markdown goldmark.Markdown
	policy   *bluemonday.Policy
}

// NewMarkdown makes a renderer of CommonMark with tables, task lists, strikethrough and automatic links.
func NewMarkdown(o Options) *Markdown {
	return &Markdown{
		options: o,
		markdown: goldmark.New(
			goldmark.WithExtensions(
				tables{}, extension.Strikethrough, extension.TaskList,
				extension.NewLinkify(extension.WithLinkifyAllowedProtocols([]string{"http:", "https:"}),
					extension.WithLinkifyURLRegexp(bareURL), extension.WithLinkifyWWWRegexp(bareWWW)),
			),
			goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(links{o.Place}, 100))),
		),
		policy: o.policy(),
	}
}

// Render renders Markdown to HTML that is safe in a page. A text that nests too deep or becomes too large is shown
// unrendered.
func (m *Markdown) Render(markdown string) string {
	if nestsDeep(markdown) {
		return verbatim(markdown)
	}
	text := []byte(markdown)
	tree := m.markdown.Parser().Parse(source.NewReader(text))
	if depth(tree, 0) > maxNesting {
		return verbatim(markdown)
	}
	out := &limited{left: maxHTML}
	if err := m.markdown.Renderer().Render(out, text, tree); err != nil {
		return verbatim(markdown)
	}
	safe := noAddress.ReplaceAllString(string(m.policy.SanitizeBytes(out.Bytes())), "$1")
	if !m.options.Images {
		safe = noSource.ReplaceAllString(safe, "")
	}
	return safe
}

// verbatim returns HTML that shows a text unrendered.
func verbatim(markdown string) string { return "<pre>" + html.EscapeString(markdown) + "</pre>" }

// Bare URLs in a text become links. The host and the path may have letters of any language. In the last label of the
// host, Latin letters are not mixed with others, so that the host ends before words of another script that follow
// without a space.
var (
	bareURL = regexp.MustCompile(`^https?://` + bareHost + `(?::\d+)?` + barePath)
	bareWWW = regexp.MustCompile(`^www\.` + bareHost + barePath)
)

const (
	bareHost = `[-\p{L}\p{M}\p{N}@:%._+~#=]{1,256}\.(?:xn--[-a-z0-9]+|\p{Latin}+|(?:[^\P{L}\p{Latin}]\p{M}*)+)`
	barePath = "(?:[/#?][-\\p{L}\\p{M}\\p{N}\\p{So}@:%_+.~#$!?&/=();,'\">^{}\\[\\]`·・–]*)?"
)

// noAddress matches a link whose URL the policy has removed. Group 1 is its text.
var noAddress = regexp.MustCompile(`(?s)<a rel="` + linkRel + `">(.*?)</a>`)

// noSource matches an image whose URL the policy has removed, so that only its text is left.
var noSource = regexp.MustCompile(`<img(?: (?:alt|title)="[^"]*")*/?>`)

// policy returns the policy that sanitizes rendered Markdown.
func (o Options) policy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "code",
		"em", "strong", "del",
		"ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td")
	p.AllowAttrs("start").Matching(regexp.MustCompile(`^[0-9]{1,9}$`)).OnElements("ol")
	p.AllowAttrs("align").Matching(regexp.MustCompile(`^(left|center|right)$`)).OnElements("th", "td")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^language-[A-Za-z0-9_+#.-]{1,40}$`)).OnElements("code")
	p.AllowAttrs("type").Matching(regexp.MustCompile(`^checkbox$`)).OnElements("input")
	p.AllowAttrs("checked", "disabled").OnElements("input")
	p.AllowAttrs("href").OnElements("a")
	p.AllowAttrs("rel").Matching(regexp.MustCompile("^" + linkRel + "$")).OnElements("a")
	var sources []string
	if o.Images {
		sources = append(sources, "https://")
	}
	if o.Scheme != "" { // an image with a URL of the service itself does not count as an image from elsewhere
		sources = append(sources, regexp.QuoteMeta(o.Scheme)+":")
		p.AllowURLSchemeWithCustomPolicy(o.Scheme, o.Valid)
	}
	if sources != nil {
		p.AllowAttrs("src").Matching(regexp.MustCompile("^(?:" + strings.Join(sources, "|") + ")")).OnElements("img")
	}
	p.AllowAttrs("alt", "title").OnElements("img")
	p.AllowURLSchemes("http", "https", "mailto")
	p.RequireParseableURLs(true)
	p.AllowRelativeURLs(false)
	return p
}

// links sets linkRel on every link and rewrites URLs with place.
type links struct{ place func([]byte) []byte }

// Transform implements parser.ASTTransformer.
func (l links) Transform(document *ast.Document, _ source.Reader, _ parser.Context) {
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // its function returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			n.Destination = l.rewritten(n.Destination)
			n.SetAttributeString("rel", []byte(linkRel))
		case *ast.Image:
			n.Destination = l.rewritten(n.Destination)
		case *ast.AutoLink:
			n.SetAttributeString("rel", []byte(linkRel))
		}
		return ast.WalkContinue, nil
	})
}

// rewritten returns the URL by which place replaces an address.
func (l links) rewritten(address []byte) []byte {
	if l.place == nil {
		return address
	}
	return l.place(address)
}

// nestsDeep reports whether a text opens very many quotes, lists or brackets, or may have many empty lines inside of
// quotes and lists. The parser takes longer for such a text than for other texts of the same length.
func nestsDeep(markdown string) bool {
	deepest, emptyLines := 0, 0
	for line := range strings.Lines(markdown) {
		n := containers(line)
		if n > maxNesting {
			return true
		}
		text := strings.TrimLeft(line, " \t")
		if strings.TrimSpace(text) == "" {
			emptyLines++
		} else if n > 0 {
			indent := len(line) - len(text)
			deepest = max(deepest, n+indent/2) // two spaces of indentation may continue an outer list
		}
	}
	return min(deepest, maxNesting)*emptyLines > maxEmpty || opensMany(markdown)
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

// opensMany reports whether more brackets are open than in any sensible text.
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

// depth returns the level of the deepest node below n. level is the level of n itself. depth does not look further
// down once the level is beyond maxNesting.
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

// limited is a buffer whose Write fails beyond a size limit.
type limited struct {
	bytes.Buffer
	left int // bytes that may still be written
}

var errTooLarge = errors.New("the HTML is too large")

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, errTooLarge
	}
	return l.Buffer.Write(p)
}
