package runevents

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"time"
)

//go:embed web/dashboard
var dashboardFiles embed.FS

// dashboard is the pages in which people look at run events. They are a client
// like any other: whatever they show comes from the query API.
var dashboard = loadDashboard()

type asset struct {
	kind, tag string // Content-Type and ETag
	text      []byte
}

// dashboardPolicy lets the pages load what is here, and nothing else.
const dashboardPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// dashboardTypes are the types of the files, which no system table may change.
var dashboardTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

func loadDashboard() map[string]asset {
	files := make(map[string]asset)
	const root = "web/dashboard"
	err := fs.WalkDir(dashboardFiles, root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := dashboardFiles.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(text)
		files[name[len(root)+1:]] = asset{dashboardTypes[path.Ext(name)], `"` + hex.EncodeToString(sum[:12]) + `"`, text}
		return nil
	})
	if err != nil {
		panic(fmt.Sprintf("embedded files: %v", err)) // they are part of the program
	}
	return files
}

// page is the document; its files lie below dashboard/.
func (s *Service) page(w http.ResponseWriter, r *http.Request) {
	s.serveAsset(w, r, "index.html")
}

func (s *Service) pageFile(w http.ResponseWriter, r *http.Request) {
	s.serveAsset(w, r, r.PathValue("file"))
}

// toPage is relative, so that it leads back here also behind a proxy that takes
// a part of the path away.
func (s *Service) toPage(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Location", path.Base(s.o.Prefix)+"/")
	w.WriteHeader(http.StatusPermanentRedirect)
}

func (*Service) serveAsset(w http.ResponseWriter, r *http.Request, name string) {
	a, ok := dashboard[name]
	if !ok {
		plain(w, http.StatusNotFound, "the dashboard has no such file")
		return
	}
	header := w.Header()
	header.Set("Content-Security-Policy", dashboardPolicy)
	header.Set("Content-Type", a.kind)
	header.Set("Cache-Control", "no-cache")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("ETag", a.tag)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.text))
}
