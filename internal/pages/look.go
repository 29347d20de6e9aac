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
	l := &Look{name: name, pages: make(map[string]*template.Template), files: webassets.New("default-src 'none'").Load(files, "static")}
	sheet := read(own, "static/pages.css")
	if l.files.Has(name + ".css") {
		sheet = append(sheet, read(files, "static/"+name+".css")...)
	}
	l.files.Add(name+".css", sheet)

	all := maps.Clone(words)
	all["asset"] = l.asset
	maps.Copy(all, funcs)
	base := template.Must(template.New("").Funcs(all).ParseFS(own, "templates/*parts.html"))
	parse := func(from fs.FS, names []string) {
		for _, file := range names {
			if !isParts(file) {
				l.pages[strings.TrimSuffix(path.Base(file), ".html")] = template.Must(template.Must(base.Clone()).ParseFS(from, file))
			}
		}
	}
	theirs, mine := glob(files), glob(own)
	for _, file := range theirs {
		if isParts(file) {
			template.Must(base.ParseFS(files, file))
		}
	}
	parse(own, mine)
	parse(files, theirs)
	l.bare = base
	return l
}

func isParts(file string) bool { return strings.HasSuffix(file, "parts.html") }

func glob(files fs.FS) []string {
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		panic(err) // the pattern is good
	}
	return names
}

func read(files fs.FS, name string) []byte {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		panic(err) // it is part of the program
	}
	return text
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
