package runevents

import (
	"embed"
	"net/http"
	"path"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/webassets"
)

//go:embed web/dashboard
var dashboardFiles embed.FS

// dashboard serves the dashboard. Its pages use the query API like any other client, and show only data from the API.
var dashboard = webassets.NewConsole(webassets.Policy(), dashboardFiles, "web/dashboard", webassets.Page{
	Title: "Run events", Root: "dashboard/", WithoutScript: "The dashboard needs JavaScript. The query API does without.",
})

// pageSettings is the name of the file that contains the options of the server which the pages need. Times in the file
// are in seconds.
const pageSettings = "settings.json"

// page serves the HTML page of the dashboard. The page and its files below dashboard/ contain no data. They are public,
// because a browser cannot send a token when it requests them.
func (e *Endpoint) page(w http.ResponseWriter, r *http.Request) {
	dashboard.Serve(w, r, webassets.Document, e.service.o.Bar(r))
}

// pageFile serves a file below dashboard/.
func (e *Endpoint) pageFile(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	if name == pageSettings {
		w.Header().Set("Cache-Control", "no-cache")
		write(w, http.StatusOK, `{"unreported_after":%d}`, int64(e.service.o.UnreportedAfter/time.Second))
		return
	}
	bar := e.service.o.Bar(r)                                    // the navigation bar, of which some files are a part
	if name == webassets.Document || !dashboard.Has(name, bar) { // page serves the document
		plain(w, http.StatusNotFound, "the dashboard has no such file")
		return
	}
	dashboard.Serve(w, r, name, bar)
}

// redirectToPage redirects to the page. The location is relative, so that the redirect also works behind a proxy that
// removes a prefix of the path.
func (e *Endpoint) redirectToPage(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Location", path.Base(e.prefix)+"/")
	w.WriteHeader(http.StatusPermanentRedirect)
}
