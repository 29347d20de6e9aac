// Package home serves the page at which people find the services of the process, and the documents.
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

// Handler serves a page with the services of the process that the one who asks may know of, and the documents of the
// program:
//
//	GET /_tollgate/                 the services; for administrators also how they are
//	GET /_tollgate/docs             the documents
//	GET /_tollgate/docs/search?q=   what is found in them
//
// The first page is at / as well, where no other handler has an answer; a service that has its pages below the root
// leaves that to it. Other paths go to the next handler.
//
// Administrators see the health, the addresses and the database of each service, certificates and the last backup. They
// are who is in the group administrators of the provider that the option oidc names. Without it they are the programs on
// this machine, by direct requests for localhost or an IP address.
//
// A site of a Caddyfile with the lines of two services has it without a line of its own.
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
	// Docs says who may read the documents: administrators, public or off. Default: administrators.
	Docs string `json:"docs,omitempty"`

	// BaseURL is the address that people reach the site at, such as https://example.com, for a proxy that ends TLS or
	// asks by another name. Default: as asked.
	BaseURL string `json:"base_url,omitempty"`

	// OIDC is an OpenID provider at which people sign in. Default: nobody can sign in.
	OIDC *oidc.Provider `json:"oidc,omitempty"`

	app  *tollgate.App
	site *home.Site
}

// audiences are the values of Docs.
var audiences = map[string]home.Audience{
	"": home.ForAdministrators, "administrators": home.ForAdministrators, "public": home.ForEverybody, "off": home.ForNobody,
}

// library is the documents, read once.
var library = sync.OnceValues(func() (*documents.Library, error) {
	return documents.New(documents.Options{Files: docs.Files, Base: home.DocumentsPath, Folders: []documents.Folder{
		{Name: "tutorials", Title: "Tutorials"},
		{Name: "how-to", Title: "How to"},
		{Name: "reference", Title: "Reference"},
		{Name: "concepts", Title: "Concepts"},
		{Name: "decisions", Title: "Decisions"},
	}})
})

// spare signs the tokens of forms where nobody can sign in, as long as the process runs.
var spare = sync.OnceValue(func() []byte {
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

// Provision makes the pages. A database is asked for only where people sign in.
func (h *Handler) Provision(ctx caddy.Context) (err error) {
	audience, ok := audiences[h.Docs]
	if !ok {
		return fmt.Errorf("docs: %q is none of: administrators, public, off", h.Docs)
	}
	if h.app, err = tollgate.From(ctx); err != nil {
		return err
	}
	o := home.Options{
		Services: h.services, State: h.state, Local: direct, Bar: h.app.Bar(home.SchemaName), Conceal: conceal, Logger: ctx.Logger(),
		Documents: library, DocumentsFor: audience, BaseURL: strings.TrimSuffix(caddy.NewReplacer().ReplaceKnown(h.BaseURL, ""), "/"),
		Signer: func() signed.Signer { return signed.Signer{Key: spare(), Label: "home form"} },
	}
	if h.OIDC != nil {
		keys := h.app.Keys(home.SchemaName)
		key := func() []byte {
			all, err := keys()
			if err != nil || len(all) == 0 { // before the app has started nobody is answered
				return nil
			}
			return all[0]
		}
		if o.DB, err = h.app.ServiceDatabase(home.SchemaName, home.Schema()); err != nil {
			return err
		}
		if o.OIDC, _, err = h.OIDC.Make(h.app, key); err != nil {
			return err
		}
		for theirs, ours := range h.OIDC.Groups {
			if len(ours) != 1 || ours[0] != home.AdministratorGroup {
				return fmt.Errorf("oidc: group %s stands for %s: the home page has only %s", theirs, strings.Join(ours, " "), home.AdministratorGroup)
			}
		}
		o.OIDCLabel = h.OIDC.Called()
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

// direct reports whether a program on this machine has sent a request itself.
func direct(r *http.Request) bool { return loopback.Direct(r, edge.Address(r)) }

// conceal leaves a request away from the access log.
func conceal(r *http.Request) { caddyhttp.SetVar(r.Context(), caddyhttp.LogSkipVar, true) }

// Presence implements tollgate.Present.
func (h *Handler) Presence() tollgate.Presence {
	return tollgate.Presence{Service: home.SchemaName, Title: "Home", Summary: "The services of this process.", Path: home.Mount + "/"}
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	switch {
	case home.Owns(r.URL.Path):
		h.serve(w, r)
		return nil
	case r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		return edge.Home(w, r, next, http.HandlerFunc(h.serve))
	}
	return next.ServeHTTP(w, r)
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) {
	rest.NoSniff(w.Header())
	if r.ProtoMajor == 1 && r.Header["Expect"] != nil {
		// A form may be refused by the length that it is said to have. net/http cannot tell through the body that Caddy
		// has put before it that nobody has asked for it, and would wait for it before it answers.
		w.Header().Set("Connection", "close")
	}
	defer h.app.Acquire()()
	h.site.ServeHTTP(w, edge.Request(r))
}

// services are those that the one who asks may know of.
func (h *Handler) services(r *http.Request) (all []home.Service) {
	for _, m := range h.app.Services(r) {
		if m.Service == home.SchemaName {
			continue
		}
		s := home.Service{Name: m.Service, Title: m.Title, Summary: m.Summary, URL: m.URL(r, m.Path), API: m.URL(r, m.API)}
		if s.URL == "" && s.API == "" && m.Path+m.API != "" { // not for one who cannot get there
			continue
		}
		if _, address, ok := strings.Cut(s.URL, "://"); ok {
			s.Address, _, _ = strings.Cut(address, "/")
		}
		all = append(all, s)
	}
	return all
}

// state is how the process is.
func (h *Handler) state(ctx context.Context) home.State { return state(ctx, h.app) }

// Interface guards
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
	_ tollgate.Present            = (*Handler)(nil)
)
