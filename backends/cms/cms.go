// Package cms implements a content management system with a REST API, whose routes and handler classes are files of a
// site. Package cms connects the packages below it. Accounts and content are database rows; settings and routes are
// files. Handler classes are written in JavaScript, or in Go and compiled in (see RegisterClass).
package cms

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/cms/accounts"
	"github.com/tollgate-gateway/tollgate/backends/cms/admin"
	"github.com/tollgate-gateway/tollgate/backends/cms/api"
	"github.com/tollgate-gateway/tollgate/backends/cms/auth"
	"github.com/tollgate-gateway/tollgate/backends/cms/binding"
	"github.com/tollgate-gateway/tollgate/backends/cms/content"
	"github.com/tollgate-gateway/tollgate/backends/cms/files"
	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/backends/cms/migrations"
	"github.com/tollgate-gateway/tollgate/backends/cms/script"
	"github.com/tollgate-gateway/tollgate/backends/cms/settings"
	"github.com/tollgate-gateway/tollgate/backends/cms/transfer"
	"github.com/tollgate-gateway/tollgate/backends/cms/webhooks"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

// Options configures New and Offline. Site and DB are required.
type Options struct {
	// Site is the folder of the site.
	Site string
	// DB is the database. It must have the tables of Schemas.
	DB *store.DB
	// Key returns a secret of at least 32 bytes, which must be the same on all nodes. By default the secret is random.
	Key func() []byte
	// Logger returns the logger. It is called for each message. By default nothing is logged.
	Logger func() *zap.Logger
	// Now is the clock. The default is time.Now.
	Now func() time.Time
	// Address returns the client's address. The default is the address of the connection.
	Address func(*http.Request) string
	// Passwords hashes the passwords of users. See password.Hasher for its zero value.
	Passwords password.Hasher
	// RequestID returns the ID of a request. By default the ID is random.
	RequestID func(*http.Request) string
	// Keyring returns the keys that encrypt the secrets of webhooks. A nil function means that the secrets are not
	// encrypted.
	Keyring func() (keyring.Keyring, error)
	// Networks are the private networks to which scripts may send requests and webhooks may send deliveries. All other
	// private networks are refused.
	Networks []netip.Prefix
	// Meter has the functions that count events for metrics. By default nothing is counted.
	Meter Meter
	// Admin is the path of the administration pages, such as /admin. An empty path disables them.
	Admin string
	// BaseURL is the scheme and host at which clients reach the site, such as https://www.example.com. By default
	// they are taken from each request.
	BaseURL string
	// OIDC is a provider at which users of the administration may sign in, and OIDCLabel is its name on the sign-in
	// page. By default there is no provider.
	OIDC      *oidclogin.Provider
	OIDCLabel string
	// Bar returns the bar at the top of the administration's pages; see pages.Options.
	Bar func(*http.Request) look.Bar
	// InProcess runs handlers in this process instead of in worker processes; see script.Options.
	InProcess bool
}

// Meter has functions that are called to count events. Each of them may be nil.
type Meter struct {
	Called   func(status int, duration time.Duration) // after a call of a method
	Logged   func(outcome string)                     // after a login, with the outcome good, bad or limited
	Reloaded func(ok bool)                            // after the routes were read again
	Job      func(job, outcome string, done int)      // see jobs.Options
	Ended    func(reason string)                      // after the end of a process that runs handlers; see script.Options
}

// Server is the CMS of one site. As an http.Handler, it serves the requests for which Owns returns true.
type Server struct {
	*kernel.Server
	meter    Meter
	settings *settings.Store
	accounts *accounts.Accounts
	content  *content.Content
	files    *files.Files
	auth     *auth.Auth
	api      *api.API
	mount    string         // path of the administration
	admin    http.Handler   // nil if there is no administration
	networks []netip.Prefix // private networks to which webhooks may send
	sitemaps chan struct{}  // limits the sitemaps that are written at the same time

	loading         sync.Mutex        // held while files are read
	lastFingerprint [sha256.Size]byte // of the files when Reload last read them; guarded by loading
	scripts         *script.Engine
	state           atomic.Pointer[State]

	mu  sync.Mutex // guards end, so that Start starts the background work only once and Close ends all of it
	end func()     // ends the background work; nil if Start has started none
}

// Schemas returns the tables of the CMS.
func Schemas() []store.Schema {
	schemas := migrations.Schemas()
	schemas[0].Reindex = content.Reindex // the first schema is that of the CMS itself
	return schemas
}

// RegisterClass registers a handler class that is written in Go, for all sites. Packages call it from init. Routes
// refer to such a class by its name, in the same way as to a class in JavaScript. If a site has a class of the same
// name, the site's class takes precedence. RegisterClass panics if the name is already registered.
func RegisterClass(class handler.Class) { handler.Register(class) }

// New returns the CMS of a site. If the site is installed, New reads the settings and routes, and returns an error if
// they are not valid. If the site is not installed yet, New uses none of its files; see Start. New uses no database.
// The caller must call Close.
func New(o Options) (*Server, error) {
	s, err := Offline(o)
	if err != nil || !installed(o.Site) {
		return s, err
	}
	if err := s.Reload(); err != nil {
		s.closeServices()
		return nil, err
	}
	return s, nil
}

// Offline returns a Server like New, but without routes and handler classes. It is for processes that serve no
// requests, such as commands.
func Offline(o Options) (*Server, error) {
	if o.Site == "" || o.DB == nil {
		return nil, errors.New("cms: a site and a database are required")
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Key == nil {
		key := make([]byte, 32)
		_, _ = rand.Read(key) // never fails
		o.Key = func() []byte { return key }
	}
	if o.Address == nil {
		o.Address = func(r *http.Request) string { return r.RemoteAddr }
	}
	s := &Server{
		meter: o.Meter, networks: o.Networks, sitemaps: make(chan struct{}, sitemapsAtOnce),
		Server: &kernel.Server{
			DB: o.DB, Logger: o.Logger, Now: o.Now, Site: o.Site, Key: o.Key, Address: o.Address,
			Passwords: o.Passwords, Keyring: o.Keyring,
			BaseURL: o.BaseURL,
		},
	}
	s.Hooks = webhooks.NewHooks(s.Server)
	var err error
	if s.settings, err = settings.Open(o.Site); err != nil {
		return nil, err
	}
	s.Endpoint = func() string { return "/" + s.settings.Current().Mount() }
	s.accounts = accounts.New(s.Server)
	s.content = content.New(s.Server)
	s.files = files.New(s.Server, s.content)
	s.auth = auth.New(s.Server, s.accounts, s.settings, o.Meter.Logged)
	s.scripts = script.New(script.Options{
		Site: s.Site, Logger: s.Logger, Now: s.Now, Pages: binding.Pages(s.content), Files: binding.Files(s.files),
		Users:     binding.Users(s.accounts),
		Templates: binding.Templates(s.content), Fields: binding.Fields(s.content), Config: s.scriptSettings, Hosts: s.hosts,
		Networks:  o.Networks,
		InProcess: o.InProcess, Ended: o.Meter.Ended,
	})
	s.api = api.New(api.Options{
		Kernel: s.Server, Table: s.table, Auth: s.auth, Settings: s.settings,
		Called: o.Meter.Called, RequestID: o.RequestID,
	})
	s.mount = o.Admin
	if s.mount != "" {
		s.admin = admin.New(s.Server, admin.Options{
			Mount: s.mount, Accounts: s.accounts, Auth: s.auth, Content: s.content, Files: s.files, Settings: s.settings,
			Routes: s.adminRoutes, Reload: s.Reload,
			OIDC: o.OIDC, OIDCLabel: o.OIDCLabel, Bar: o.Bar,
		})
	}
	return s, nil
}

// adminRoutes returns the state of the routes for the administration.
func (s *Server) adminRoutes() admin.Routes {
	state := s.State()
	return admin.Routes{Table: state.Table, Loaded: state.Loaded, Warnings: state.Warnings, Failed: state.Failed}
}

// Check reads the settings, routes and handler classes of a site like New, but needs no database.
func Check(site string) (state State, err error) {
	s := &Server{Server: &kernel.Server{Site: site, Logger: zap.NewNop, Now: time.Now}}
	if s.settings, err = settings.Open(site); err != nil {
		return state, err
	}
	s.scripts = script.New(script.Options{Site: site, Config: s.scriptSettings, Hosts: s.hosts})
	defer s.scripts.Close()
	table, program, err := s.load()
	if err != nil {
		return state, err
	}
	return State{Table: table, Loaded: s.Now(), Warnings: program.Warnings()}, nil
}

// Accounts returns the accounts of the site.
func (s *Server) Accounts() *accounts.Accounts { return s.accounts }

// EndSessions ends the sessions that a person began by signing in at the OpenID provider issuer. It is called when the
// person has signed out there; subject is the person's ID at the provider.
func (s *Server) EndSessions(ctx context.Context, issuer, subject string) error {
	return s.auth.EndSessions(ctx, issuer, subject)
}

// Content returns the content of the site.
func (s *Server) Content() *content.Content { return s.content }

// Transfer returns the site as the source or the target of a transfer of content between two sites.
func (s *Server) Transfer() transfer.Site {
	return transfer.Site{Accounts: s.accounts, Pages: s.content, Files: s.files}
}

// Webhooks returns the webhooks that are notified of changes of pages.
func (s *Server) Webhooks() webhooks.Webhooks { return webhooks.Webhooks{Server: s.Server} }

// Sealed lists the database columns whose secrets are encrypted with the keyring.
var Sealed = webhooks.Sealed

// Owns reports whether the path of a request belongs to the API or to the administration.
func (s *Server) Owns(r *http.Request) bool {
	_, ok := api.Below(s.settings.Current(), r.URL.Path)
	return ok || s.administers(r)
}

// administers reports whether the path of a request is at or below the administration's path. The caller must check
// first that the path does not belong to the API, which takes precedence.
func (s *Server) administers(r *http.Request) bool {
	below, ok := strings.CutPrefix(r.URL.Path, s.mount)
	return s.admin != nil && ok && (below == "" || below[0] == '/')
}

// Conceals reports whether the path of a request contains a secret that must not be logged. This is the case for
// preview links.
func (s *Server) Conceals(r *http.Request) bool {
	below, _ := api.Below(s.settings.Current(), r.URL.Path)
	return api.Secret(below)
}

// ServeHTTP implements http.Handler. It passes a request to the administration if administers returns true, and
// otherwise to the API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, ok := api.Below(s.settings.Current(), r.URL.Path); ok || !s.administers(r) {
		s.api.ServeHTTP(w, r)
		return
	}
	if r.URL.Path == s.mount {
		http.Redirect(w, r, s.mount+"/", http.StatusPermanentRedirect)
		return
	}
	s.admin.ServeHTTP(w, r)
}

// Start installs the site if it is not installed yet, and starts the background work: the watch for changed files, and
// the jobs. Only the first call has an effect. Close ends the background work.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != nil {
		return nil
	}
	if s.table() == nil {
		created, err := InstallFiles(s.Site)
		if err != nil {
			return err
		}
		s.Logger().Info("site installed; create its first user with: tollgate cms install --admin NAME",
			zap.String("site", s.Site), zap.Strings("files", created))
		if err := s.Reload(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	sender := webhook.NewSender(s.networks, s.Logger())
	endJobs := jobs.New(jobs.Options{
		Jobs: append(s.jobs(), s.Webhooks().Jobs(sender)...), Observe: s.meter.Job,
		Logger: s.Logger,
	}).Start()
	var watching sync.WaitGroup
	watching.Go(func() { s.watch(ctx) })
	s.end = func() {
		cancel()
		watching.Wait()
		endJobs()
		sender.Close()
	}
	return nil
}

// Close ends the background work and waits for it. Requests in progress are still answered.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != nil {
		s.end()
		s.end = nil
	}
	s.closeServices()
}

// closeServices releases what Offline has opened.
func (s *Server) closeServices() {
	s.scripts.Close()
	s.auth.Close()
	s.content.Close()
	s.accounts.Close()
}

// Installed lists the files, the pages and the superuser that Install has created.
type Installed struct {
	Files    []string // relative to the site's folder
	Pages    []string // their paths
	Password string   // password of the new superuser; empty if there was a superuser already
}

// Install creates the parts of a new site that do not exist yet: its files, the pages and templates that every site
// has, and a first superuser with the given name.
func (s *Server) Install(ctx context.Context, superuser string) (created Installed, err error) {
	if created.Files, err = InstallFiles(s.Site); err != nil {
		return created, err
	}
	if created.Pages, err = s.content.Install(ctx); err != nil {
		return created, fmt.Errorf("creating the pages that every site has: %w", err)
	}
	created.Password, err = s.accounts.Install(ctx, superuser)
	return created, err
}

// jobs returns the background jobs.
func (s *Server) jobs() []jobs.Job {
	return append(append(s.auth.Jobs(), s.files.Jobs()...),
		jobs.Job{Name: "install", Every: time.Hour, Run: s.installPages()},
		jobs.Job{Name: "shadowed", Every: time.Minute, Run: s.warnShadowed()},
		jobs.Job{Name: "publish", Every: 10 * time.Second, Run: s.content.PublishDue})
}

// maxShadowed limits how many pages warnShadowed names in the log.
const maxShadowed = 20

// warnShadowed returns a job that logs the pages that cannot be reached because their paths belong to the API. The
// job logs these pages once, and again when the settings name another endpoint.
func (s *Server) warnShadowed() func(ctx context.Context) (int, error) {
	checked := "" // the endpoint for which the pages have been checked
	return func(ctx context.Context) (int, error) {
		endpoint := s.Endpoint()
		if endpoint == checked {
			return 0, nil
		}
		paths, err := s.content.Shadowed(ctx, endpoint, maxShadowed)
		if err != nil {
			return 0, err
		}
		checked = endpoint
		if len(paths) > 0 {
			s.Logger().Warn("pages are not served, because their paths belong to the API",
				zap.String("endpoint", endpoint), zap.Strings("paths", paths))
		}
		return len(paths), nil
	}
}

// installPages returns a job that creates the pages that every site has. After a success, the job does nothing.
func (s *Server) installPages() func(ctx context.Context) (int, error) {
	installed := false
	return func(ctx context.Context) (int, error) {
		if installed {
			return 0, nil
		}
		created, err := s.content.Install(ctx)
		installed = err == nil
		return len(created), err
	}
}
