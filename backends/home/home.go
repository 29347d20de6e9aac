// Package home serves the home page of a process, which lists its services, shows their state to administrators,
// and contains the documents of the program. The caller provides the services and their state.
package home

import (
	"context"
	"embed"
	"html/template"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/home/documents"
	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/signed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Mount is the path below which all pages are. The first page is also served at /.
const Mount = "/_tollgate"

// DocumentsPath is the path of the documents.
const DocumentsPath = Mount + "/docs"

//go:embed templates static
var embedded embed.FS

// sharedLook holds the templates and static files, which all sites share. They are parsed at the first use.
var sharedLook = sync.OnceValue(func() *pages.Look {
	return pages.NewLook("home", embedded,
		template.FuncMap{"len64": func(hits []documents.Hit) int64 { return int64(len(hits)) }})
})

// Service describes a service that the page lists.
type Service struct {
	Name    string // as in the configuration
	Title   string
	Summary string // one line about what it is
	URL     string // of its first page; empty if it has none that the visitor can reach
	Address string // the host of URL, for display; empty if it is on the same site
	API     string // of its API reference; empty if there is none
}

// State is the state of the process as administrators see it.
type State struct {
	Version         string
	Started, Loaded time.Time // when the process was started, and when the configuration was loaded
	Services        []ServiceState
	Databases       []Database
	Certificates    []Certificate
	Backup          *Backup // the last backup; nil if there was none
}

// ServiceState is the state of a service.
type ServiceState struct {
	Title     string
	Faults    []Fault  // of the parts that the service depends on; empty if everything works
	Addresses []string // where it is available
	Database  string   // the engine of its database; empty if it has none
}

// Fault is a part that does not work, and the reason.
type Fault struct{ Part, Reason string }

// Database describes a database that services of the process use.
type Database struct {
	Engine   string   // SQLite or PostgreSQL
	Place    string   // a path, or the name of the database
	Services []string // the services that use it
	Size     int64    // in bytes; negative if unknown
	Reason   string   // why the size is unknown
}

// Certificate describes a certificate that the process presents to clients.
type Certificate struct {
	Names  []string
	Issuer string
	Ends   time.Time // end of the validity
}

// Expired reports whether the certificate is no longer valid.
func (c Certificate) Expired() bool { return time.Now().After(c.Ends) }

// Backup is the time and the place of a backup.
type Backup struct {
	At     time.Time
	Folder string
}

// Audience defines who may read the documents.
type Audience int

// The audiences: only administrators, everybody, or nobody.
const (
	ForAdministrators Audience = iota
	ForEverybody
	ForNobody
)

// Options configures a home page. Everything without a default is required.
type Options struct {
	// Services returns the services that the sender of the request may see.
	Services func(*http.Request) []Service
	// State returns the state that administrators see.
	State func(context.Context) State
	// Local reports whether a program on this machine has sent a request directly. Without OIDC, such a visitor is
	// an administrator.
	Local func(*http.Request) bool
	// OIDC is the provider at which people sign in, and OIDCLabel is its name. By default nobody can sign in.
	OIDC      *oidclogin.Provider
	OIDCLabel string
	// SignedOut is called when a person has signed out. It may be nil.
	SignedOut func(ctx context.Context, issuer, subject string)
	// DB stores the sessions. It is required with OIDC.
	DB *store.DB
	// Signer returns the signer of the forms' tokens.
	Signer func() signed.Signer
	// Documents returns the documents. It is called for each request. DocumentsFor defines who may read them; the default
	// is administrators.
	Documents    func() (*documents.Library, error)
	DocumentsFor Audience
	// BaseURL is the address of the site. By default the address of each request is used.
	BaseURL string
	// Bar returns the bar of the pages; see pages.Options.
	Bar func(*http.Request) look.Bar
	// Conceal is passed to pages.Options.
	Conceal func(*http.Request)
	Logger  *zap.Logger
	// Now is the clock. The default is time.Now.
	Now func() time.Time
}

// Site is the home page.
type Site struct {
	Options
	pages    http.Handler
	sessions sessions
}

// New returns a home page.
func New(o Options) *Site {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Site{Options: o, sessions: sessions{o.DB, o.Now}}
	s.pages = pages.New(pages.Options[*call]{
		Look: sharedLook(), Table: table, Begin: s.begin, Admit: everybody, Called: "the home page", Mount: Mount,
		BaseURL: o.BaseURL,
		Signer:  o.Signer, Bar: o.Bar, Conceal: o.Conceal, Logger: o.Logger,
	})
	return s
}

// Owns reports whether a path is Mount or below it.
func Owns(path string) bool { return path == Mount || strings.HasPrefix(path, Mount+"/") }

// ServeHTTP serves the pages below Mount. It also serves the first page at /.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/" || r.URL.Path == Mount {
		homeURL := *r.URL
		homeURL.Path = Mount + "/"
		homeRequest := *r
		homeRequest.URL = &homeURL
		r = &homeRequest
	}
	s.pages.ServeHTTP(w, r)
}

const (
	get  = http.MethodGet
	post = http.MethodPost
)

// table lists all pages.
var table = []pages.Page[*call]{
	{Method: get, Path: "/{$}", Serve: (*call).showHome},
	{Method: get, Path: "/login", Serve: (*call).beginSignOn},
	{Method: get, Path: "/login/callback", Secret: true, Serve: (*call).signOn},
	{Method: post, Path: "/logout", Serve: (*call).logout, Else: (*call).logoutMeanwhile},
	{Method: get, Path: "/docs", Admit: readers, Serve: (*call).document},
	{Method: get, Path: "/docs/search", Admit: readers, Serve: (*call).search},
	{Method: get, Path: "/docs/{path...}", Admit: readers, Serve: (*call).document},
}

// call is a request for a page.
type call struct {
	*pages.Call
	*Site
	session *Session // nil if nobody has signed in
	frame   *frame
}

// frame is the data for what surrounds a page; templates know it as .Site.
type frame struct {
	User      string // the name of the visitor; empty if nobody has signed in
	SignOn    string // the name of the provider at which people sign in; empty if there is none
	Documents bool   // whether the visitor may read them
	Query     string // the search query
	Page      *documents.Page
}

// begin finds out who sent the request, and returns the call for it.
func (s *Site) begin(p *pages.Call) (*call, error) {
	c := &call{Call: p, Site: s, frame: new(frame)}
	if s.OIDC != nil {
		c.frame.SignOn = s.OIDCLabel
		session, err := s.sessions.find(p.Context(), p.Session())
		if err != nil {
			return nil, err
		}
		if session != nil {
			c.session, c.frame.User = session, session.Name
			p.SignedIn(session.Person)
		}
	}
	c.frame.Documents = c.mayReadDocuments()
	c.Call.Site = c.frame
	return c, nil
}

// isAdministrator reports whether the visitor is an administrator.
func (c *call) isAdministrator() bool {
	if c.OIDC == nil {
		return c.Local(c.R)
	}
	return c.session != nil && c.session.Administrator
}

// mayReadDocuments reports whether the visitor may read the documents.
func (c *call) mayReadDocuments() bool {
	switch c.DocumentsFor {
	case ForEverybody:
		return true
	case ForAdministrators:
		return c.isAdministrator()
	case ForNobody:
	}
	return false
}

// everybody admits all visitors.
func everybody(*call) error { return nil }

// readers admits visitors who may read the documents. Others are asked to sign in or get a not-found error.
func readers(c *call) error {
	switch {
	case c.mayReadDocuments():
		return nil
	case c.DocumentsFor == ForAdministrators && c.OIDC != nil && c.session == nil:
		return c.ToLogin("/login")
	}
	return pages.NotFound()
}

// homeData is the data of the first page.
type homeData struct {
	Services []Service
	State    *State // nil if the visitor is not an administrator
}

// showHome shows the first page.
func (c *call) showHome() error {
	data := homeData{Services: c.Services(c.R)}
	if c.isAdministrator() {
		c.W.Header().Set("Cache-Control", "no-store") // a cached copy could be shown to others
		data.State = new(c.State(c.Context()))
	}
	return c.Show("home", "", data)
}
