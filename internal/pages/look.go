package pages

import (
	"cmp"
	"embed"
	"html/template"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/locale"
	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/internal/webassets"
)

//go:embed templates
var builtIn embed.FS

// Look holds the templates and static files of a service, which all its sites share.
type Look struct {
	name  string
	pages map[string]*template.Template // by file name, each within the layout; they are only cloned
	bare  *template.Template            // the templates that all pages share; only cloned
	files *webassets.Files

	languages *locale.Languages // nil means English only
	spoken    *spoken
	funcs     template.FuncMap // of the service
}

// NewLook reads templates/*.html and static/* of a service. funcs is added to the template functions of functions.go.
// The names of the cookies begin with name, and static/name.css is loaded after the style sheet of every page. A page
// with the same name as one of this package replaces that page. shared has folders that several services use, such as
// resource.Templates; files of the service replace those in them. The files are part of the program, so NewLook panics
// if they are invalid.
func NewLook(name string, files fs.FS, funcs template.FuncMap, shared ...fs.FS) *Look {
	l, err := newLook(name, funcs, slices.Concat([]fs.FS{builtIn}, shared, []fs.FS{files})...)
	if err != nil {
		panic(err)
	}
	return l
}

// newLook works like NewLook but returns an error if the files in folders are invalid. Files of later folders replace
// those of earlier ones.
func newLook(name string, funcs template.FuncMap, folders ...fs.FS) (*Look, error) {
	l := &Look{
		name: name, pages: make(map[string]*template.Template), files: webassets.New("default-src 'none'"),
		spoken: newSpoken(), funcs: funcs,
	}
	allFuncs := templateFuncs(nil)
	allFuncs["asset"] = l.asset
	maps.Copy(allFuncs, funcs)
	l.bare = template.New("").Funcs(allFuncs)
	if _, err := l.bare.Parse(look.Templates); err != nil {
		return nil, err
	}
	for file, text := range look.Files() {
		l.files.Add(file, text)
	}
	var sheet []byte                     // the files static/name.css of all folders, one after another
	for _, folder := range folders[1:] { // the first, builtIn, has no static files
		for _, file := range glob(folder, "static/*") {
			text, err := fs.ReadFile(folder, file)
			if err != nil {
				return nil, err
			}
			l.files.Add(path.Base(file), text)
			if file == "static/"+name+".css" {
				sheet = append(sheet, text...)
			}
		}
	}
	if len(sheet) > 0 {
		l.files.Add(name+".css", sheet)
	}
	// All shared templates are read before the first page, because each page is a clone of l.bare.
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

// isParts reports whether a file has templates that all pages share, instead of a page.
func isParts(file string) bool { return strings.HasSuffix(file, "parts.html") }

// pageOf returns the name of the page in a file.
func pageOf(file string) string { return strings.TrimSuffix(path.Base(file), ".html") }

// glob returns the sorted names of the files that match a pattern.
func glob(files fs.FS, pattern string) []string {
	names, err := fs.Glob(files, pattern)
	if err != nil {
		panic(err) // the patterns are valid
	}
	return names
}

// asset returns the path of a static file without the mount, or "" if the look does not have the file. The path
// contains a version, so that the file may be cached forever.
func (l *Look) asset(name string) string {
	if !l.files.Has(name) {
		return ""
	}
	return "/assets/" + name + "?v=" + l.files.Version(name)
}

// address returns the path of a file of the look or the brand. The path contains a version, so that the file may be
// cached forever.
func (l *Look) address(mount string, brand *look.Brand, name string) string {
	if brand.Has(name) {
		return mount + "/assets/" + name + "?v=" + brand.Version(name)
	}
	return mount + l.asset(name)
}

// links returns the style sheets, the icon and the script for the head of a page.
func (l *Look) links(mount string, brand *look.Brand) template.HTML {
	sheet, logo := brand.Names()
	var links strings.Builder
	add := func(prefix, name, suffix string) {
		if name != "" && (brand.Has(name) || l.files.Has(name)) {
			links.WriteString(prefix + template.HTMLEscapeString(l.address(mount, brand, name)) + suffix + "\n")
		}
	}
	for _, style := range []string{look.Sheet, l.name + ".css", sheet} {
		add(`<link rel="stylesheet" href="`, style, `">`)
	}
	icon := cmp.Or(logo, look.Logo)
	if l.files.Has("icon.svg") {
		icon = "icon.svg"
	}
	add(`<link rel="icon" href="`, icon, `">`)
	add(`<script type="module" src="`, look.Script, `"></script>`)
	return template.HTML(links.String()) //nolint:gosec // names of files of the program, and what is escaped above
}
