// Package home is the page at which people find the services of a process: what there is and where, for administrators
// how it is, and the documents of the program. What services there are is told by whoever runs it.
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

// Mount is the path below which all pages are. The first one is served at / as well.
const Mount = "/_tollgate"

// DocumentsPath is that of the documents.
const DocumentsPath = Mount + "/docs"

//go:embed templates static
var embedded embed.FS

// shown is parsed once.
var shown = sync.OnceValue(func() *pages.Look {
	return pages.NewLook("home", embedded, template.FuncMap{"len64": func(hits []documents.Hit) int64 { return int64(len(hits)) }})
})

// Service is one that the page shows.
type Service struct {
	Name    string // as in the configuration
	Title   string
	Summary string // one line, what it is
	URL     string // of its first page; empty: it has none that the visitor can reach
	Address string // the same for people: without a path, empty where it is on the same site
	API     string // of the reference of its API; empty: there is none
}

// State is what administrators see of a process.
type State struct {
	Version         string
	Started, Loaded time.Time // when the process began, and the configuration
	Services        []ServiceState
	Databases       []Database
	Certificates    []Certificate
	Backup          *Backup // the last one; nil: there was none
}

// ServiceState is how a service is.
type ServiceState struct {
	Title     string
	Faults    []Fault  // of what it needs; none: all is well
	Addresses []string // where it is
	Database  string   // the engine of its database; empty: it has none
}

// Fault is a part that does not work.
type Fault struct{ Part, Reason string }

// Database is one that services of the process use.
type Database struct {
	Engine   string   // SQLite or PostgreSQL
	Place    string   // a path, or the name of the database
	Services []string // that use it
	Size     int64    // bytes; negative: it is not known
	Reason   string   // why it is not known
}

// Certificate is one that the process shows to clients.
type Certificate struct {
	Names  []string
	Issuer string
	Ends   time.Time
}

// Expired reports whether it is not good any more.
func (c Certificate) Expired() bool { return time.Now().After(c.Ends) }

// Backup is when one was made, and where.
type Backup struct {
	At     time.Time
	Folder string
}

// Audience says who may read the documents.
type Audience int

// Administrators alone, everybody, or nobody.
const (
	ForAdministrators Audience = iota
	ForEverybody
	ForNobody
)

// Options of a home page. All are required but those with a default.
type Options struct {
	// Services returns those that the one who asks may know of.
	Services func(*http.Request) []Service
	// State returns what administrators see.
	State func(context.Context) State
	// Local reports whether a program on this machine has sent a request itself: it is an administrator where there is
	// no OIDC.
	Local func(*http.Request) bool
	// OIDC is the provider at which people sign in, and OIDCLabel what it is called. Default: nobody can sign in.
	OIDC      *oidclogin.Provider
	OIDCLabel string
	// SignedOut is told who has signed out. Default: nobody is.
	SignedOut func(ctx context.Context, issuer, subject string)
	// DB keeps who is signed in. It is required with OIDC.
	DB *store.DB
	// Signer signs the tokens of forms.
	Signer func() signed.Signer
	// Documents are read at the first use. DocumentsFor says who may read them. Default: administrators.
	Documents    func() (*documents.Library, error)
	DocumentsFor Audience
	// BaseURL is the address of the site. Default: as asked.
	BaseURL string
	// Bar is that of pages.Options.
	Bar func(*http.Request) look.Bar
	// Conceal is that of pages.Options.
	Conceal func(*http.Request)
	Logger  *zap.Logger
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Site is the home page.
type Site struct {
	Options
	pages    http.Handler
	sessions sessions
}

// New makes a home page.
func New(o Options) *Site {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Site{Options: o, sessions: sessions{o.DB, o.Now}}
	s.pages = pages.New(pages.Options[*call]{
		Look: shown(), Table: table, Begin: s.begin, Admit: everybody, Called: "the home page", Mount: Mount, BaseURL: o.BaseURL,
		Signer: o.Signer, Bar: o.Bar, Conceal: o.Conceal, Logger: o.Logger,
	})
	return s
}

// Owns reports whether a path is of the pages below Mount.
func Owns(path string) bool { return path == Mount || strings.HasPrefix(path, Mount+"/") }

// ServeHTTP serves a page below Mount, and the first one at /.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/" || r.URL.Path == Mount {
		at := *r.URL
		at.Path = Mount + "/"
		first := *r
		first.URL = &at
		r = &first
	}
	s.pages.ServeHTTP(w, r)
}

const (
	get  = http.MethodGet
	post = http.MethodPost
)

// table is all pages.
var table = []pages.Page[*call]{
	{Method: get, Path: "/{$}", Serve: (*call).first},
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
	by    *Session // nil: nobody has signed in
	frame *frame
}

// frame is what is around a page: .Site of templates.
type frame struct {
	User      string // the name of who has signed in; empty: nobody has
	SignOn    string // what the provider is called at which people sign in; empty: there is none
	Documents bool   // who looks may read them
	Query     string // what was searched for
	Page      *documents.Page
}

// begin finds who asks.
func (s *Site) begin(p *pages.Call) (*call, error) {
	c := &call{Call: p, Site: s, frame: new(frame)}
	if s.OIDC != nil {
		c.frame.SignOn = s.OIDCLabel
		by, err := s.sessions.find(p.Context(), p.Session())
		if err != nil {
			return nil, err
		}
		if by != nil {
			c.by, c.frame.User = by, by.Name
			p.SignedIn(by.Person)
		}
	}
	c.frame.Documents = c.reads()
	c.Call.Site = c.frame
	return c, nil
}

// administers reports whether who asks sees how the process is.
func (c *call) administers() bool {
	if c.OIDC == nil {
		return c.Local(c.R)
	}
	return c.by != nil && c.by.Administrator
}

// reads reports whether who asks may read the documents.
func (c *call) reads() bool {
	switch c.DocumentsFor {
	case ForEverybody:
		return true
	case ForAdministrators:
		return c.administers()
	case ForNobody:
	}
	return false
}

func everybody(*call) error { return nil }

// readers are those who may read the documents. For others there are none.
func readers(c *call) error {
	switch {
	case c.reads():
		return nil
	case c.DocumentsFor == ForAdministrators && c.OIDC != nil && c.by == nil:
		return c.ToLogin("/login")
	}
	return pages.NotFound()
}

// home is the data of the first page.
type home struct {
	Services []Service
	State    *State // nil: who looks is no administrator
}

func (c *call) first() error {
	data := home{Services: c.Services(c.R)}
	if c.administers() {
		c.W.Header().Set("Cache-Control", "no-store") // a copy would be for others
		data.State = new(c.State(c.Context()))
	}
	return c.Show("home", "", data)
}
