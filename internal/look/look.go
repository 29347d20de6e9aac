// Package look holds what every page of the product has in common: colours, type, controls and
// components in one sheet, icons, a script, the bar at the top, and what an operator changes of
// them. The pages of internal/pages and the consoles of internal/webassets are made of it.
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

// Service is an entry of the menu in the bar that leads from one service to the others.
type Service struct {
	Name  string // such as board, as in the configuration
	Title string // such as Forum, for people
	URL   string // absolute, or a path of the same host
}

// Bar is what the bar at the top of every page shows beside the page's own navigation. Its zero
// value shows neither a menu of services nor a brand of the operator.
type Bar struct {
	Brand    *Brand
	Services []Service // that the visitor may see; a menu is shown where there are at least two
	Current  string    // Name of the service whose page it is
}

// Always returns a function that is there: one that shows nothing more where bar is nil.
func Always(bar func(*http.Request) Bar) func(*http.Request) Bar {
	if bar == nil {
		return func(*http.Request) Bar { return Bar{} }
	}
	return bar
}

// The files of every page.
const (
	Sheet  = "look.css"
	Frame  = "frame.css" // the part of Sheet that a page needs which has another sheet inside of the frame
	Script = "look.js"
	Logo   = "logo.svg"
	Icons  = "icons.svg"
)

//go:embed css static
var embedded embed.FS

// Files returns the files of every page by their names. Nobody may change them.
var Files = sync.OnceValue(func() map[string][]byte {
	files := make(map[string][]byte)
	for _, name := range []string{Script, Logo, Icons} {
		files[name] = read("static/" + name)
	}
	parts, err := fs.Glob(embedded, "css/*.css")
	if err != nil {
		panic(err) // the pattern is good
	}
	for _, part := range parts { // in the order of their numbers
		files[Sheet] = append(files[Sheet], read(part)...)
	}
	files[Frame] = slices.Concat(read("css/1-tokens.css"), read("css/3-frame.css"))
	return files
})

func read(name string) []byte {
	text, err := embedded.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	return text
}

// Version returns what changes with a text, for its ETag and its address.
func Version(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

// Top is what the template "brand" shows: the beginning of the bar.
type Top struct {
	Bar
	Name string // of the service, where it has one of its own. Default: the brand's
	Part string // what the service is, for one without a name of its own
	Home string // where the name leads
	// At returns the address of a file of every page, or of the brand; empty where a page has none
	// beside it.
	At func(name string) string
}

// Address returns the address of a file.
func (t Top) Address(name string) string { return t.At(name) }

// Templates has the template "brand", whose data is a Top. The header of a page begins with it.
const Templates = `{{define "brand"}}<a class="brand" href="{{.Home}}">{{with .Picture}}<img src="{{.}}" alt="" height="28">{{end}}<span>{{.Called}}</span>{{with .Part}}<span class="part">{{.}}</span>{{end}}</a>
{{with .Menu}}<details class="services"><summary>{{with $.Address "icons.svg"}}<svg class="icon" aria-hidden="true"><use href="{{.}}#services"/></svg>{{end}}<span>Services</span></summary>
<nav aria-label="Services"><ul>
{{range .}}<li><a href="{{.URL}}"{{if eq .Name $.Current}} aria-current="true"{{end}}>{{.Title}}</a></li>
{{end}}</ul></nav></details>
{{end}}{{end}}`

// Called returns the name that the bar shows.
func (t Top) Called() string { return cmp.Or(t.Name, t.Brand.Called()) }

// Menu returns the services to choose from. Where there is no choice there are none.
func (t Top) Menu() []Service {
	if len(t.Services) < 2 {
		return nil
	}
	return t.Services
}

// Picture returns the address of the logo.
func (t Top) Picture() string { return t.Address(cmp.Or(t.Brand.logo(), Logo)) }

// Footer returns what the operator has at the end of every page.
func (t Top) Footer() string {
	if t.Brand == nil {
		return ""
	}
	return t.Brand.Footer
}

// Icon returns a picture of the file Icons, beside a text that says the same.
func Icon(file, name string) template.HTML {
	return template.HTML(`<svg class="icon" aria-hidden="true"><use href="` + template.HTMLEscapeString(file+"#"+name) + `"/></svg>`) //nolint:gosec // escaped
}
