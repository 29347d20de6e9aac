// Package look provides the parts that all pages of the product share: a style sheet with colours, type, controls and
// components, icons, a script, the bar at the top, and the operator's branding. The pages of internal/pages and the
// consoles of internal/webassets use it.
package look

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"io/fs"
	"net/http"
	"slices"
	"sync"
)

// Service is an entry of the bar's menu, which links the services.
type Service struct {
	Name  string // as in the configuration, such as board
	Title string // for people, such as Forum
	URL   string // absolute, or a path of the same host
}

// Bar is the content of the bar at the top of every page, besides the page's navigation. The zero value shows neither a
// menu of services nor an operator's brand.
type Bar struct {
	Brand    *Brand
	Services []Service // services that the visitor may see; there is a menu if there are at least two
	Current  string    // Name of the page's service
}

// Always returns bar, or a function that returns the zero Bar if bar is nil.
func Always(bar func(*http.Request) Bar) func(*http.Request) Bar {
	if bar == nil {
		return func(*http.Request) Bar { return Bar{} }
	}
	return bar
}

// The names of the files that every page uses.
const (
	Sheet  = "look.css"
	Frame  = "frame.css" // the part of Sheet for a page that has the common frame but its own style sheet
	Script = "look.js"
	Logo   = "logo.svg"
	Icons  = "icons.svg"
)

//go:embed css static
var embedded embed.FS

// Files returns the files that every page uses, by name. They must not be modified.
var Files = sync.OnceValue(func() map[string][]byte {
	files := make(map[string][]byte)
	for _, name := range []string{Script, Logo, Icons} {
		files[name] = read("static/" + name)
	}
	parts, err := fs.Glob(embedded, "css/*.css")
	if err != nil {
		panic(err) // the pattern is valid
	}
	for _, part := range parts { // in the order of their numbers
		files[Sheet] = append(files[Sheet], read(part)...)
	}
	files[Frame] = slices.Concat(read("css/1-tokens.css"), read("css/3-frame.css"))
	return files
})

// read returns the content of an embedded file.
func read(name string) []byte {
	text, err := embedded.ReadFile(name)
	if err != nil {
		panic(err) // the file is embedded
	}
	return text
}

// Version returns a hash of a text, for its ETag and its URL.
func Version(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

// Top is the data of the template "brand", which begins the bar.
type Top struct {
	Bar
	Name string // the service's own name. Default: the name of the brand
	Part string // the kind of service, shown beside the brand's name; "" if the service has its own name
	Home string // URL to which the name links
	// At returns the URL of a file that every page uses, or of a file of the brand. It returns "" if the page does not
	// use that file.
	At func(name string) string
	// Translate returns a text in the language of the page. Default: English.
	Translate func(english string) string
}

// T returns a text in the language of the page.
func (t Top) T(english string) string {
	if t.Translate == nil {
		return english
	}
	return t.Translate(english)
}

// Address returns the URL of a file.
func (t Top) Address(name string) string { return t.At(name) }

// Templates has the template "brand", with which the header of a page begins. Its data is a Top.
const Templates = `{{define "brand"}}<a class="brand" href="{{.Home}}">{{with .Picture}}<img src="{{.}}" alt="" height="28">{{end}}<span>{{.Called}}</span>{{with .Part}}<span class="part">{{.}}</span>{{end}}</a>
{{with .Menu}}<details class="services"><summary>{{with $.Address "icons.svg"}}<svg class="icon" aria-hidden="true"><use href="{{.}}#services"/></svg>{{end}}<span>{{$.T "Services"}}</span></summary>
<nav aria-label="{{$.T "Services"}}"><ul>
{{range .}}<li><a href="{{.URL}}"{{if eq .Name $.Current}} aria-current="true"{{end}}>{{.Title}}</a></li>
{{end}}</ul></nav></details>
{{end}}{{end}}`

// Called returns the name that the bar shows.
func (t Top) Called() string { return cmp.Or(t.Name, t.Brand.Called()) }

// Menu returns the services for the menu, or nil if there are fewer than two.
func (t Top) Menu() []Service {
	if len(t.Services) < 2 {
		return nil
	}
	return t.Services
}

// Picture returns the URL of the logo.
func (t Top) Picture() string { return t.Address(cmp.Or(t.Brand.logo(), Logo)) }

// Footer returns the operator's text at the end of every page, or "".
func (t Top) Footer() string {
	if t.Brand == nil {
		return ""
	}
	return t.Brand.Footer
}

// Icon returns a picture from the file Icons, to be shown beside a text with the same meaning.
func Icon(file, name string) template.HTML {
	return template.HTML(`<svg class="icon" aria-hidden="true"><use href="` + template.HTMLEscapeString(file+"#"+name) + `"/></svg>`) //nolint:gosec // escaped
}
