package webassets

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/look"
)

// parts has the modules that all consoles use: elements, forms, charts, the frame. Its files import one another, and
// the script of every page, only by relative paths.
//
//go:embed parts
var parts embed.FS

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.Must(template.New("page").Parse(look.Templates)).Parse(pageText))

// Document is the file name of a console's page.
const Document = "index.html"

// below is the path of the shared files within a console.
const below = "parts/"

// Page is the document of a console, which loads app.js and app.css.
type Page struct {
	Title string
	// Root is the path of the files relative to the page: empty if they are in the same folder, or else a path that
	// ends with a slash.
	Root string
	// WithoutScript is the text for browsers that run no scripts.
	WithoutScript string
}

// Console is a page that uses an API from the browser, with its files.
type Console struct {
	*Files
	page Page
}

// NewConsole returns a console with the files of the folder root and, below parts/, the files that all consoles
// share. policy is the Content-Security-Policy of the console. Scripts are served without their comment lines,
// because browsers would download these lines for nothing.
func NewConsole(policy string, files fs.FS, root string, page Page) *Console {
	c := &Console{New(policy).Load(files, root).Load(parts, "."), page}
	for name, text := range look.Files() {
		c.Add(below+name, text)
	}
	for name, f := range c.byName {
		if path.Ext(name) == ".js" {
			c.Add(name, withoutComments(f.text))
		}
	}
	return c
}

// withoutComments returns a script without the lines that consist of a comment with two slashes. A template literal
// must not have such a line.
func withoutComments(script []byte) []byte {
	var out []byte
	for line := range bytes.Lines(script) {
		if !bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("//")) {
			out = append(out, line...)
		}
	}
	return out
}

// Has reports whether the console has a file. That includes its page and, below parts/, the files of the bar's brand.
func (c *Console) Has(name string, bar look.Bar) bool {
	file, shared := strings.CutPrefix(name, below)
	return name == Document || c.Files.Has(name) || shared && bar.Brand.Has(file)
}

// Serve answers a GET or HEAD request with the file of the given name, which must exist. For the name Document, it
// answers with the console's page, which includes the bar.
func (c *Console) Serve(w http.ResponseWriter, r *http.Request, name string, bar look.Bar) {
	file, shared := strings.CutPrefix(name, below)
	switch {
	case name == Document:
		w.Header().Set("Vary", "Cookie") // the bar shows what the visitor may see
		c.serve(w, r, fileOf(name, c.document(bar)))
	case shared && bar.Brand.Has(file):
		bar.Brand.Serve(w, r, file)
	default:
		c.Files.Serve(w, r, name)
	}
}

// document renders the page with a bar.
func (c *Console) document(bar look.Bar) []byte {
	address := func(name string) string { return c.page.Root + below + name }
	data := struct {
		Page
		look.Top
		Style string
	}{Page: c.page, Top: look.Top{Bar: bar, Part: c.page.Title, Home: "./", At: address}}
	if sheet, _ := bar.Brand.Names(); sheet != "" {
		data.Style = address(sheet)
	}
	var text bytes.Buffer
	if err := pageTemplate.Execute(&text, data); err != nil {
		panic(fmt.Sprintf("page %s: %v", c.page.Title, err)) // a test of each console runs it
	}
	return text.Bytes()
}
