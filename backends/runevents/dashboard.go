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

// dashboard is the pages in which people look at run events. They are a client
// like any other: whatever they show comes from the query API.
var dashboard = webassets.NewConsole(webassets.Policy(), dashboardFiles, "web/dashboard", webassets.Page{
	Title: "Run events", Root: "dashboard/", WithoutScript: "The dashboard needs JavaScript. The query API does without.",
})

// pageSettings is the file that is not the same for everybody: what the server was told
// about the page, times in seconds.
const pageSettings = "settings.json"

// page is the document; its files lie below dashboard/. Both hold no data and
// are public: a browser cannot send a token with them.
func (e *Endpoint) page(w http.ResponseWriter, r *http.Request) {
	dashboard.Serve(w, r, webassets.Document, e.service.o.Bar(r))
}

func (e *Endpoint) pageFile(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	if name == pageSettings {
		w.Header().Set("Cache-Control", "no-cache")
		write(w, http.StatusOK, `{"unreported_after":%d}`, int64(e.service.o.UnreportedAfter/time.Second))
		return
	}
	bar := e.service.o.Bar(r)
	if name == webassets.Document || !dashboard.Has(name, bar) {
		plain(w, http.StatusNotFound, "the dashboard has no such file")
		return
	}
	dashboard.Serve(w, r, name, bar)
}

// toPage is relative, so that it leads back here also behind a proxy that takes
// a part of the path away.
func (e *Endpoint) toPage(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Location", path.Base(e.prefix)+"/")
	w.WriteHeader(http.StatusPermanentRedirect)
}
