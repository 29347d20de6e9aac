// Package web serves the page on which people ask questions. The page is a client of the API like any other. It shows
// only what the API returns for the key that the user types in.
package web

import (
	"embed"
	"net/http"
	"strings"
	"sync"

	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/internal/webassets"
)

//go:embed page
var embedded embed.FS

// files returns the handler for the files of the page. It reads them once.
var files = sync.OnceValue(func() *webassets.Console {
	return webassets.NewConsole(webassets.Policy(), embedded, "page", webassets.Page{
		Title: "Answers", Root: "page/", WithoutScript: "The page needs JavaScript. The API does without.",
	})
})

// Serve answers a GET or HEAD request for the page, at "/", or for one of its files, below "/page/", and returns true.
// It returns false for other requests, to which it writes nothing. bar is the bar at the top of the page.
func Serve(w http.ResponseWriter, r *http.Request, bar look.Bar) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	name, isFile := strings.CutPrefix(r.URL.Path, "/page/")
	switch {
	case r.URL.Path == "/":
		name = webassets.Document
	case !isFile || name == webassets.Document || !files().Has(name, bar):
		return false
	}
	files().Serve(w, r, name, bar)
	return true
}
