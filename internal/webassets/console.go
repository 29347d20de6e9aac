package webassets

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
)

// parts is what all consoles are made of: elements, forms, charts, how numbers are
// written, colours. Its files import one another by relative paths only.
//
//go:embed parts
var parts embed.FS

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// Sheet is what all consoles look like, for a page that has its style in itself.
func Sheet() string {
	text, err := parts.ReadFile("parts/base.css")
	if err != nil {
		panic(err) // it is embedded
	}
	return string(text)
}

// Document is the name of the page that Console adds.
const Document = "index.html"

// Page is the document of a console: it loads app.js and app.css.
type Page struct {
	Title string
	// Root is where the files are as seen from the document: empty for beside it,
	// else a relative path that ends in a slash.
	Root string
	// WithoutScript is what is read where scripts do not run.
	WithoutScript string
}

// Console adds the parts that consoles share, below parts/, and the document.
func (f *Files) Console(p Page) *Files {
	var text bytes.Buffer
	if err := pageTemplate.Execute(&text, p); err != nil {
		panic(fmt.Sprintf("page %s: %v", p.Title, err))
	}
	f.Add(Document, text.Bytes())
	return f.Load(parts, ".")
}
