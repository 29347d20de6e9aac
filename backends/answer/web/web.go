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

// files returns the files of the page.
var files = sync.OnceValue(func() *webassets.Console {
	return webassets.NewConsole(webassets.Policy(), embedded, "page", webassets.Page{
		Title: "Answers", Root: "page/", WithoutScript: "The page needs JavaScript. The API does without.",
	})
})

// Serve answers a request for the page or for one of its files. It returns false for other requests, which it does not
// answer.
func Serve(w http.ResponseWriter, r *http.Request, bar look.Bar) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	name, below := strings.CutPrefix(r.URL.Path, "/page/")
	switch {
	case r.URL.Path == "/":
		name = webassets.Document
	case !below || name == webassets.Document || !files().Has(name, bar):
		return false
	}
	files().Serve(w, r, name, bar)
	return true
}
