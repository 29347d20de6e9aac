// Package web is the page on which people ask: a client of the API like any other, which
// knows nothing but what the API answers to the key that is typed in.
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

// files are those of the page.
var files = sync.OnceValue(func() *webassets.Console {
	return webassets.NewConsole(webassets.Policy(), embedded, "page", webassets.Page{
		Title: "Answers", Root: "page/", WithoutScript: "The page needs JavaScript. The API does without.",
	})
})

// Serve answers a request for the page, with a bar, or a file of it, and tells whether it was one.
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
