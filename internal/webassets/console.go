package webassets

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/look"
)

// parts holds the modules that all consoles are made of: elements, forms, charts, the frame. Its
// files import one another and the script of every page, by relative paths only.
//
//go:embed parts
var parts embed.FS

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.Must(template.New("page").Parse(look.Templates)).Parse(pageText))

// Document is the name of the page of a console.
const Document = "index.html"

// below is where a console has the files of every page.
const below = "parts/"

// Page is the document of a console: it loads app.js and app.css.
type Page struct {
	Title string
	// Root is where the files are as seen from the document: empty for beside it,
	// else a relative path that ends in a slash.
	Root string
	// WithoutScript is what is read where scripts do not run.
	WithoutScript string
}

// Console is a page that is a program over an API, and its files.
type Console struct {
	*Files
	page Page
}

// NewConsole returns a console that has the files of a folder, and below parts/ those that all
// consoles share. It is served under a Content-Security-Policy.
func NewConsole(policy string, files fs.FS, root string, page Page) *Console {
	c := &Console{New(policy).Load(files, root).Load(parts, "."), page}
	for name, text := range look.Files() {
		c.Add(below+name, text)
	}
	return c
}

// Has reports whether there is a file. The document of the console is one, the files of a brand are
// below parts/.
func (c *Console) Has(name string, bar look.Bar) bool {
	file, shared := strings.CutPrefix(name, below)
	return name == Document || c.Files.Has(name) || shared && bar.Brand.Has(file)
}

// Serve answers a GET or HEAD with a file that there is. The document has the bar in it.
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

// document returns the page with a bar.
func (c *Console) document(bar look.Bar) []byte {
	address := func(name string) string { return c.page.Root + below + name }
	shown := struct {
		Page
		look.Top
		Style string
	}{Page: c.page, Top: look.Top{Bar: bar, Part: c.page.Title, Home: "./", At: address}}
	if sheet, _ := bar.Brand.Names(); sheet != "" {
		shown.Style = address(sheet)
	}
	var text bytes.Buffer
	if err := pageTemplate.Execute(&text, shown); err != nil {
		panic(fmt.Sprintf("page %s: %v", c.page.Title, err)) // a test of each console runs it
	}
	return text.Bytes()
}
