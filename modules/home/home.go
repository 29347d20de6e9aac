// Package home provides the handler that serves a page with the services of the process, and the documentation.
package home

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/tollgate-gateway/tollgate/backends/home"
	"github.com/tollgate-gateway/tollgate/backends/home/documents"
	"github.com/tollgate-gateway/tollgate/docs"
	"github.com/tollgate-gateway/tollgate/internal/loopback"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/internal/signed"
	"github.com/tollgate-gateway/tollgate/modules/edge"
	"github.com/tollgate-gateway/tollgate/modules/oidc"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

func init() {
	caddy.RegisterModule(new(Handler))
}

// Handler serves the documentation of the program, and a page with the services of the process that are visible to the
// sender of the request:
//
//	GET /_tollgate/                 the services, and for administrators their state
//	GET /_tollgate/docs             the documents
//	GET /_tollgate/docs/search?q=   a search in the documents
//
// The page with the services is also served at / if no other handler answers there. Services whose pages are below the
// root would otherwise redirect requests for / to their pages; behind this handler they do not. Other paths go to the
// next handler.
//
// Administrators also see the health, the addresses and the database of each service, the certificates and the last
// backup. With the option oidc, administrators are the users whom the provider's groups make members of the group
// administrators. Without the option, they are programs on this machine that send requests directly to localhost or an
// IP address.
//
// If a site of a Caddyfile has two lines `tollgate <service>`, the page is added automatically.
//
// In the Caddyfile:
//
//	home [<matcher>] {
//		docs     administrators | public | off # administrators
//		base_url <url>
//		oidc     <issuer> <client_id> [<client_secret>] {
//			...   # see oidc.Unmarshal
//		}
//	}
type Handler struct {
	// Docs are the readers of the documents: administrators, public (everybody) or off (nobody). Default: administrators.
	Docs string `json:"docs,omitempty"`

	// BaseURL is the public URL of the site, such as https://example.com. It is needed if a proxy terminates TLS or uses
	// another host name. Default: the URL of the request.
	BaseURL string `json:"base_url,omitempty"`

	// OIDC is an OpenID provider at which people sign in. Default: nobody can sign in.
	OIDC *oidc.Provider `json:"oidc,omitempty"`

	app  *tollgate.App
	site *home.Site
}

// audiences maps the values of Docs.
var audiences = map[string]home.Audience{
	"": home.ForAdministrators, "administrators": home.ForAdministrators,
	"public": home.ForEverybody, "off": home.ForNobody,
}

// library returns the documents. They are read once.
var library = sync.OnceValues(func() (*documents.Library, error) {
	return documents.New(documents.Options{Files: docs.Files, Base: home.DocumentsPath, Folders: []documents.Folder{
		{Name: "tutorials", Title: "Tutorials"},
		{Name: "how-to", Title: "How to"},
		{Name: "reference", Title: "Reference"},
		{Name: "concepts", Title: "Concepts"},
		{Name: "decisions", Title: "Decisions"},
	}})
})

// randomKey returns the random key of the form tokens, for sites at which nobody can sign in. It stays the same as long
// as the process runs.
var randomKey = sync.OnceValue(func() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return key
})

// CaddyModule returns the Caddy module information.
func (*Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.home",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision creates the pages. They need a database only if people can sign in.
func (h *Handler) Provision(ctx caddy.Context) (err error) {
	audience, ok := audiences[h.Docs]
	if !ok {
		return fmt.Errorf("docs: %q is not one of: administrators, public, off", h.Docs)
	}
	if h.app, err = tollgate.From(ctx); err != nil {
		return err
	}
	o := home.Options{
		Services: h.services, State: h.state, Local: isDirect, Bar: h.app.Bar(home.SchemaName), Conceal: skipAccessLog,
		Logger: ctx.Logger(), Documents: library, DocumentsFor: audience,
		BaseURL: strings.TrimSuffix(caddy.NewReplacer().ReplaceKnown(h.BaseURL, ""), "/"),
		Signer:  func() signed.Signer { return signed.Signer{Key: randomKey(), Label: "home form"} },
	}
	if h.OIDC != nil {
		key := h.app.SigningKey(home.SchemaName)
		if o.DB, err = h.app.ServiceDatabase(home.SchemaName, home.Schema()); err != nil {
			return err
		}
		if o.OIDC, _, err = h.OIDC.Make(h.app, key); err != nil {
			return err
		}
		for group, serviceGroups := range h.OIDC.Groups {
			if len(serviceGroups) != 1 || serviceGroups[0] != home.AdministratorGroup {
				return fmt.Errorf("oidc: group %s gives the groups %s, but the home page only has the group %s",
					group, strings.Join(serviceGroups, " "), home.AdministratorGroup)
			}
		}
		o.OIDCLabel = h.OIDC.DisplayName()
		o.SignedOut = func(ctx context.Context, issuer, subject string) {
			h.app.SignedOut(ctx, home.SchemaName, issuer, subject)
		}
		o.Signer = func() signed.Signer { return signed.Signer{Key: key(), Label: "home form"} }
	}
	h.site = home.New(o)
	if h.OIDC != nil {
		h.app.OnSignOut(home.SchemaName, h.site.EndSessions)
	}
	return nil
}

// isDirect reports whether a program on this machine sent the request without a proxy.
func isDirect(r *http.Request) bool { return loopback.Direct(r, edge.Address(r)) }

// skipAccessLog keeps a request out of the access log.
func skipAccessLog(r *http.Request) { caddyhttp.SetVar(r.Context(), caddyhttp.LogSkipVar, true) }

// Presence implements tollgate.Present.
func (h *Handler) Presence() tollgate.Presence {
	return tollgate.Presence{
		Service: home.SchemaName, Title: "Home", Summary: "The services of this process.", Path: home.Mount + "/",
	}
}

// ServeHTTP implements caddyhttp.MiddlewareHandler. See Handler for the paths that it serves.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	switch {
	case home.Owns(r.URL.Path):
		h.serve(w, r)
		return nil
	case r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		return edge.ServeHome(w, r, next, http.HandlerFunc(h.serve))
	}
	return next.ServeHTTP(w, r)
}

// serve answers a request for a page.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request) {
	rest.NoSniff(w.Header())
	if r.ProtoMajor == 1 && r.Header["Expect"] != nil {
		// A form may be refused because of its Content-Length, before its body is read. Through Caddy's wrapper of the body,
		// net/http cannot detect that the body was not read, and would wait for the body before it answers.
		w.Header().Set("Connection", "close")
	}
	defer h.app.Acquire()()
	h.site.ServeHTTP(w, edge.Request(r))
}

// services returns the services that are visible to the sender of the request.
func (h *Handler) services(r *http.Request) (list []home.Service) {
	for _, m := range h.app.Services(r) {
		if m.Service == home.SchemaName {
			continue
		}
		s := home.Service{
			Name: m.Service, Title: m.Title, Summary: m.Summary, URL: m.URL(r, m.Path), API: m.URL(r, m.API),
		}
		if s.URL == "" && s.API == "" && m.Path+m.API != "" { // the sender can reach none of its pages
			continue
		}
		if _, address, ok := strings.Cut(s.URL, "://"); ok {
			s.Address, _, _ = strings.Cut(address, "/")
		}
		list = append(list, s)
	}
	return list
}

// state returns the state of the process.
func (h *Handler) state(ctx context.Context) home.State { return state(ctx, h.app) }

// Interface guards
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
	_ tollgate.Present            = (*Handler)(nil)
)
