package pages

import (
	"embed"
	"html/template"
	"io/fs"
	"maps"
	"path"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/webassets"
)

//go:embed templates static
var own embed.FS

// Look is the templates and static files of a service, which all its sites share.
type Look struct {
	name  string
	pages map[string]*template.Template // by the name of their file, each in the layout
	bare  *template.Template
	files *webassets.Files
}

// NewLook reads templates/*.html and static/* of a service, whose functions are
// added to those of words.go. name begins the names of its cookies and is that of its
// sheet, static/name.css. A page that has the name of one here takes its place. The
// files are part of the program, so it panics where they are wrong.
func NewLook(name string, files fs.FS, funcs template.FuncMap) *Look {
	l, err := newLook(name, funcs, own, files)
	if err != nil {
		panic(err)
	}
	return l
}

// newLook reads the folders, of which later ones go before.
func newLook(name string, funcs template.FuncMap, folders ...fs.FS) (*Look, error) {
	l := &Look{name: name, pages: make(map[string]*template.Template), files: webassets.New("default-src 'none'")}
	all := maps.Clone(words)
	all["asset"] = l.asset
	maps.Copy(all, funcs)
	l.bare = template.New("").Funcs(all)
	sheet, err := fs.ReadFile(own, "static/pages.css")
	if err != nil {
		return nil, err
	}
	for _, folder := range folders[1:] {
		for _, file := range glob(folder, "static/*") {
			text, err := fs.ReadFile(folder, file)
			if err != nil {
				return nil, err
			}
			if l.files.Add(path.Base(file), text); file == "static/"+name+".css" {
				sheet = append(sheet, text...)
			}
		}
	}
	l.files.Add(name+".css", sheet)
	for _, folder := range folders {
		for _, file := range glob(folder, "templates/*parts.html") {
			if _, err := l.bare.ParseFS(folder, file); err != nil {
				return nil, err
			}
		}
	}
	for _, folder := range folders {
		for _, file := range glob(folder, "templates/*.html") {
			if isParts(file) {
				continue
			}
			page, err := l.bare.Clone()
			if err == nil {
				page, err = page.ParseFS(folder, file)
			}
			if err != nil {
				return nil, err
			}
			l.pages[pageOf(file)] = page
		}
	}
	return l, nil
}

func isParts(file string) bool { return strings.HasSuffix(file, "parts.html") }

func pageOf(file string) string { return strings.TrimSuffix(path.Base(file), ".html") }

func glob(files fs.FS, pattern string) []string {
	names, err := fs.Glob(files, pattern)
	if err != nil {
		panic(err) // the patterns are good
	}
	return names
}

// asset is the path of a static file without the mount, under which it never changes;
// empty: there is none.
func (l *Look) asset(name string) string {
	if !l.files.Has(name) {
		return ""
	}
	return "/assets/" + name + "?v=" + l.files.Version(name)
}

// links are the style and the icon, for the head of a page.
func (l *Look) links(mount string) template.HTML {
	mount = template.HTMLEscapeString(mount)
	links := `<link rel="stylesheet" href="` + mount + l.asset(l.name+".css") + "\">\n"
	if icon := l.asset("icon.svg"); icon != "" {
		links += `<link rel="icon" type="image/svg+xml" href="` + mount + icon + "\">\n"
	}
	return template.HTML(links) //nolint:gosec // names of files of the program, and what is escaped above
}
