// Package documents renders a folder of Markdown files as pages, with their headings and the links between them,
// and provides a full-text search. The files must be trusted: they are part of the program.
package documents

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	table "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Options configures a library.
type Options struct {
	// Files contains the documents (.md) and images.
	Files fs.FS
	// Base is the path of the pages, without a trailing slash. README.md is served at Base, and how-to/budgets.md at
	// Base/how-to/budgets.
	Base string
	// Folders are the titles of folders in the order in which they are shown. Documents in other folders, and those
	// in the root, follow after them.
	Folders []Folder
}

// Folder is a folder with its title.
type Folder struct{ Name, Title string }

// Library holds all documents. It is safe for concurrent use.
type Library struct {
	options Options
	pages   map[string]*Page // by name
	groups  []Group
	index   *index
}

// Group is the documents in a folder.
type Group struct {
	Title string
	Pages []*Page
}

// Page is one document.
type Page struct {
	Name     string // path of its file without .md
	Title    string
	URL      string
	HTML     template.HTML
	Headings []Heading // those of the second and third level

	sections []section
}

// Heading is a heading and its anchor.
type Heading struct {
	Level    int
	ID, Text string
}

// section is a heading and the text up to the next heading.
type section struct {
	page    *Page
	id      string // the anchor of the heading; empty at the top of the page
	heading string
	text    string
}

// New reads all documents. An error names the file.
func New(o Options) (*Library, error) {
	l := &Library{options: o, pages: make(map[string]*Page)}
	err := fs.WalkDir(o.Files, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(file) != ".md" {
			return err
		}
		source, err := fs.ReadFile(o.Files, file)
		if err != nil {
			return err
		}
		page, err := l.render(strings.TrimSuffix(file, ".md"), source)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		l.pages[page.Name] = page
		return nil
	})
	if err != nil {
		return nil, err
	}
	l.arrange()
	l.index = newIndex(l.pages)
	return l, nil
}

// arrange sets l.groups: the documents by folder, ordered by title.
func (l *Library) arrange() {
	folders := slices.Clone(l.options.Folders)
	for _, page := range l.pages {
		folder := path.Dir(page.Name)
		if folder != "." && !slices.ContainsFunc(folders, func(f Folder) bool { return f.Name == folder }) {
			folders = append(folders, Folder{folder, folder})
		}
	}
	folders = append(folders, Folder{".", "More"})
	for _, folder := range folders {
		group := Group{Title: folder.Title}
		for _, page := range l.pages {
			if path.Dir(page.Name) == folder.Name && page.Name != indexName {
				group.Pages = append(group.Pages, page)
			}
		}
		slices.SortFunc(group.Pages, func(p, q *Page) int {
			return strings.Compare(strings.ToLower(p.Title), strings.ToLower(q.Title))
		})
		if len(group.Pages) > 0 {
			l.groups = append(l.groups, group)
		}
	}
}

// indexName is the name of the first page.
const indexName = "README"

// Groups returns the documents grouped by folder.
func (l *Library) Groups() []Group { return l.groups }

// Page returns the document at a path below Base, or nil if there is none. The empty path is the first page.
func (l *Library) Page(name string) *Page {
	if name == "" {
		return l.pages[indexName]
	}
	if name == indexName {
		return nil
	}
	return l.pages[name]
}

// Image returns the SVG image at a path below Base, and reports whether there is one.
func (l *Library) Image(name string) (picture []byte, ok bool) {
	if path.Ext(name) != ".svg" || !fs.ValidPath(name) {
		return nil, false
	}
	picture, err := fs.ReadFile(l.options.Files, name)
	return picture, err == nil
}

// urlOf returns the URL path of a document.
func (l *Library) urlOf(name string) string {
	if name == indexName {
		return l.options.Base
	}
	return l.options.Base + "/" + name
}

// markdown parses and renders documents. HTML in documents is not rendered.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(withOwnHTML()),
)

// render parses and renders the document with the given name, and collects its headings and sections.
func (l *Library) render(name string, source []byte) (*Page, error) {
	page := &Page{Name: name, Title: name, URL: l.urlOf(name)}
	context := parser.NewContext(parser.WithIDs(make(anchors)))
	tree := markdown.Parser().Parse(text.NewReader(source), parser.WithContext(context))
	current := &section{page: page} // the section of the current node; it is added to the page when it is complete
	var sectionText strings.Builder
	// endSection adds the current section to the page.
	endSection := func() {
		current.text = strings.Join(strings.Fields(sectionText.String()), " ")
		page.sections = append(page.sections, *current)
		sectionText.Reset()
	}
	err := ast.Walk(tree, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			if node.Type() == ast.TypeBlock {
				sectionText.WriteByte(' ')
			}
			return ast.WalkContinue, nil
		}
		switch node := node.(type) {
		case *ast.Heading:
			id, _ := node.AttributeString("id")
			anchor, _ := id.([]byte)
			title := textOf(node, source)
			if node.Level == 1 && len(page.sections) == 0 && current.heading == "" { // the title begins no new section
				page.Title, current.heading = title, title
				return ast.WalkSkipChildren, nil
			}
			endSection()
			current = &section{page: page, id: string(anchor), heading: title}
			if node.Level == 2 || node.Level == 3 {
				page.Headings = append(page.Headings, Heading{node.Level, string(anchor), title})
			}
			return ast.WalkSkipChildren, nil
		case *ast.Link:
			destination, ok := l.target(name, string(node.Destination))
			node.Destination = []byte(destination)
			if !ok {
				node.SetAttributeString("class", []byte("elsewhere")) // removed by unlink
			}
		case *table.Table:
			node.SetAttributeString(captionName, []byte(current.heading))
		case *ast.Image:
			node.Destination = []byte(l.image(name, string(node.Destination)))
		default:
			appendText(&sectionText, node, source)
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return nil, err
	}
	endSection()
	unlink(tree)
	var out bytes.Buffer
	if err := markdown.Renderer().Render(&out, source, tree); err != nil {
		return nil, err
	}
	page.HTML = template.HTML(out.String()) //nolint:gosec // the documents are the program's own
	return page, nil
}

// target returns the destination of a link in the document docName. ok is false if the link leads to a file that is not
// a document, or is not a URL.
func (l *Library) target(docName, link string) (destination string, ok bool) {
	u, err := url.Parse(link)
	if err != nil || u.Scheme != "" || u.Host != "" {
		return link, err == nil
	}
	if u.Path == "" {
		return link, true
	}
	file := path.Join(path.Dir(docName), u.Path)
	name, isDocument := strings.CutSuffix(file, ".md")
	if _, err := fs.Stat(l.options.Files, file); !isDocument || err != nil {
		return file, false
	}
	u.Path = l.urlOf(name)
	return u.String(), true
}

// image returns the URL path of an image to which the document docName refers.
func (l *Library) image(docName, link string) string {
	return l.options.Base + "/" + path.Join(path.Dir(docName), link)
}

// unlink replaces links to files that are not documents by the text of the links. render has marked these links with
// a class.
func unlink(tree ast.Node) {
	var links []*ast.Link
	_ = ast.Walk(tree, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, ok := node.(*ast.Link); ok && entering {
			if _, isElsewhere := link.AttributeString("class"); isElsewhere {
				links = append(links, link)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, link := range links {
		parent := link.Parent()
		for child := link.FirstChild(); child != nil; child = link.FirstChild() {
			parent.InsertBefore(parent, link, child)
		}
		parent.RemoveChild(parent, link)
	}
}

// textOf returns the text of a heading, or of another node that contains texts.
func textOf(node ast.Node, source []byte) string {
	var content strings.Builder
	_ = ast.Walk(node, func(inner ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			appendText(&content, inner, source)
		}
		return ast.WalkContinue, nil
	})
	return content.String()
}

// appendText appends the text of a node without children. It appends nothing for other nodes.
func appendText(words *strings.Builder, node ast.Node, source []byte) {
	switch node := node.(type) {
	case *ast.Text:
		words.Write(node.Segment.Value(source))
		if node.SoftLineBreak() || node.HardLineBreak() {
			words.WriteByte(' ')
		}
	case *ast.String:
		words.Write(node.Value)
	case *ast.AutoLink:
		words.Write(node.Label(source))
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		lines := node.Lines()
		for i := range lines.Len() {
			line := lines.At(i)
			words.Write(line.Value(source))
		}
	}
}
