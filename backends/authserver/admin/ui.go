package admin

import (
	"embed"
	"net/http"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/internal/webassets"
)

//go:embed ui
var uiFiles embed.FS

// ui returns the routes of the administration pages. Their static files are public; their scripts call the API with the
// key that the administrator enters.
func (a *API) ui() []kernel.Route {
	bar := look.Always(a.Bar)
	files := webassets.NewConsole(webassets.Policy(), uiFiles, "ui", webassets.Page{
		Title: "Authorization server", WithoutScript: "The administration needs JavaScript. The command tollgate authserver and the API work without it.",
	})
	settings := `{"key_needed":true}`
	if a.APIKey == "" {
		settings = `{"key_needed":false}`
	}
	files.Add("settings.json", []byte(settings))
	const path = "/admin/ui/"
	return []kernel.Route{
		{Method: http.MethodGet, Path: "/{$}", Serve: func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Location", "admin/ui/") // relative, for the same reason as below
			w.WriteHeader(http.StatusTemporaryRedirect)
			return nil
		}},
		{Method: http.MethodGet, Path: "/admin/ui", Serve: func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Location", "ui/") // relative, so that it works below a path prefix
			w.WriteHeader(http.StatusPermanentRedirect)
			return nil
		}},
		{Method: http.MethodGet, Path: path + "{name...}", Serve: func(w http.ResponseWriter, r *http.Request) error {
			name := r.PathValue("name")
			shown := bar(r)
			switch {
			case name == "":
				name = webassets.Document
			case name == webassets.Document || !files.Has(name, shown):
				return apierror.New(http.StatusNotFound, "not_found", "the administration has no page at this path")
			}
			files.Serve(w, r, name, shown)
			return nil
		}},
	}
}
