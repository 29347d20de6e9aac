// Package webassets serves the embedded files of pages.
package webassets

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/look"
)

// Policy returns a Content-Security-Policy that lets pages load files only from their own site. connect lists further
// sources for connect-src.
func Policy(connect ...string) string {
	sources := strings.Join(append([]string{"'self'"}, connect...), " ")
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src " + sources +
		"; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
}

// types are the media types of files by extension. The system's tables are not used.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	".json": "application/json",
}

// Files are files by name, each with its type and ETag. Clients revalidate on every use, and get a short answer if
// nothing has changed (see Version).
type Files struct {
	policy string
	byName map[string]file
}

type file struct {
	kind, version string // Content-Type, and the value of the ETag
	text          []byte
}

// New returns an empty set of files to be served with a Content-Security-Policy.
func New(policy string) *Files {
	return &Files{policy: policy, byName: make(map[string]file)}
}

// Load adds all files in the folder root of files, by their paths within the folder; "." means all files. The files are
// embedded, so Load panics if they cannot be read.
func (f *Files) Load(files fs.FS, root string) *Files {
	err := fs.WalkDir(files, root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		f.Add(strings.TrimPrefix(name, root+"/"), text)
		return nil
	})
	if err != nil {
		panic(fmt.Sprintf("embedded files: %v", err))
	}
	return f
}

// Add adds a file and replaces one with the same name.
func (f *Files) Add(name string, text []byte) { f.byName[name] = fileOf(name, text) }

// fileOf returns the file with a name and a content. The extension of the name determines the media type.
func fileOf(name string, text []byte) file {
	return file{types[path.Ext(name)], look.Version(text), text}
}

// Has reports whether the set has a file.
func (f *Files) Has(name string) bool {
	_, ok := f.byName[name]
	return ok
}

// Version returns a hash of a file. If a browser requests the file with ?v= and this version, it caches the file
// without revalidating.
func (f *Files) Version(name string) string { return f.byName[name].version }

// Serve answers a GET or HEAD request with a file, which must exist.
func (f *Files) Serve(w http.ResponseWriter, r *http.Request, name string) {
	f.serve(w, r, f.byName[name])
}

// serve answers a GET or HEAD request with a file.
func (f *Files) serve(w http.ResponseWriter, r *http.Request, a file) {
	header := w.Header()
	header.Set("Content-Security-Policy", f.policy)
	header.Set("Content-Type", a.kind)
	header.Set("Cache-Control", "no-cache")
	if r.URL.RawQuery == "v="+a.version {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("ETag", `"`+a.version+`"`)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.text))
}
