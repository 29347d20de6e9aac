// Package cms is a content management system with a REST API whose routes and handler classes are files of a site.
// It ties the rooms: accounts and content are rows, settings and routes files; handler classes are JavaScript, or Go
// that is compiled in (RegisterClass).
package cms

import (
	"context"
	"crypto/rand"
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
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/sealed"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

// Options of a server. Site and DB are required.
type Options struct {
	// Site is the folder of the site.
	Site string
	// DB has the tables of Schemas.
	DB *store.DB
	// Counters hold what is counted for all nodes.
	Counters counters.Store
	// Key is a secret of at least 32 bytes, the same on all nodes. Default: a random one.
	Key func() []byte
	// Logger is asked each time. Default: nothing is logged.
	Logger func() *zap.Logger
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Address is that of the client. Default: that of the connection.
	Address func(*http.Request) string
	// Passwords hashes them. Default: see password.Hasher.
	Passwords password.Hasher
	// RequestID is that of a request. Default: a random one.
	RequestID func(*http.Request) string
	// Keyring encrypts the secrets of webhooks; nil: there is none.
	Keyring func() (keyring.Keyring, error)
	// Networks are those that are not public and that scripts may fetch from, and webhooks lead to.
	Networks []netip.Prefix
	// Meter counts what happens. Default: nobody does.
	Meter Meter
	// Admin is the path of the administration, such as /admin. Default: there is none.
	Admin string
	// BaseURL is scheme and host that clients reach the site at, such as https://www.example.com. Default: as asked.
	BaseURL string
	// OIDC is a provider at which users of the administration may sign in, and OIDCLabel what it is called. Default: none.
	OIDC      *oidclogin.Provider
	OIDCLabel string
	// Bar is that of the pages of the administration; see pages.Options.
	Bar func(*http.Request) look.Bar
	// InProcess runs handlers in this process instead of processes of their own; see script.Options.
	InProcess bool
}

// Meter counts what happens.
type Meter struct {
	Called   func(status int, took time.Duration) // a call of a method was answered
	Logged   func(outcome string)                 // a login: good, bad or limited
	Reloaded func(ok bool)                        // the routes were read anew
	Job      func(job, outcome string, done int)  // see jobs.Options
	Ended    func(reason string)                  // a process for handlers has ended; see script.Options
}

// Server is the CMS of one site. It is an http.Handler of the requests that it Owns.
type Server struct {
	*kernel.Server
	meter    Meter
	settings *settings.Store
	accounts *accounts.Accounts
	content  *content.Content
	files    *files.Files
	auth     *auth.Auth
	api      *api.API
	mount    string       // of admin
	admin    http.Handler // nil: there is none
	networks []netip.Prefix
	sitemaps chan struct{} // who writes one now

	loading sync.Mutex // held while files are read
	scripts *script.Engine
	state   atomic.Pointer[State]

	mu  sync.Mutex
	end func() // what Start began; nil: nothing
}

// Schemas are the tables of the CMS.
func Schemas() []store.Schema {
	all := migrations.Schemas()
	all[0].Reindex = content.Reindex
	return all
}

// RegisterClass adds a handler class of Go, for init of the package that has it. Routes name it as those of
// JavaScript; a class of the site with the same name goes before. It panics where the name is taken.
func RegisterClass(class handler.Class) { handler.Register(class) }

// New makes the CMS of a site, and reads its settings and routes where it has some: an error of theirs is one of New.
// It touches neither the database nor a file of a site that is not installed yet; see Start.
func New(o Options) (*Server, error) {
	s, err := Offline(o)
	if err != nil || !installed(o.Site) {
		return s, err
	}
	if err := s.Reload(); err != nil {
		s.closeRooms()
		return nil, err
	}
	return s, nil
}

// Offline is New without the routes and classes, for a process that answers nobody, such as a command.
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
	s := &Server{meter: o.Meter, networks: o.Networks, sitemaps: make(chan struct{}, sitemapsAtOnce), Server: &kernel.Server{
		DB: o.DB, Logger: o.Logger, Now: o.Now, Site: o.Site, Key: o.Key, Counters: o.Counters, Address: o.Address, Passwords: o.Passwords, Keyring: o.Keyring,
		BaseURL: o.BaseURL,
	}}
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
		Site: s.Site, Logger: s.Logger, Now: s.Now, Pages: binding.Pages(s.content), Files: binding.Files(s.files), Users: binding.Users(s.accounts),
		Templates: binding.Templates(s.content), Fields: binding.Fields(s.content), Config: s.known, Hosts: s.hosts, Networks: o.Networks,
		InProcess: o.InProcess, Ended: o.Meter.Ended,
	})
	s.api = api.New(api.Options{Kernel: s.Server, Table: s.table, Auth: s.auth, Settings: s.settings, Called: o.Meter.Called, RequestID: o.RequestID})
	if s.mount = o.Admin; s.mount != "" {
		s.admin = admin.New(s.Server, admin.Options{
			Mount: s.mount, Accounts: s.accounts, Auth: s.auth, Content: s.content, Files: s.files, Settings: s.settings, Routes: s.administered, Reload: s.Reload,
			OIDC: o.OIDC, OIDCLabel: o.OIDCLabel, Bar: o.Bar,
		})
	}
	return s, nil
}

// administered is the state as the administration shows it.
func (s *Server) administered() admin.Routes {
	now := s.State()
	return admin.Routes{Table: now.Table, Loaded: now.Loaded, Warnings: now.Warnings, Failed: now.Failed}
}

// Check reads the settings, routes and classes of a site as New does, and touches no database.
func Check(site string) (state State, err error) {
	s := &Server{Server: &kernel.Server{Site: site, Logger: zap.NewNop, Now: time.Now}}
	if s.settings, err = settings.Open(site); err != nil {
		return state, err
	}
	s.scripts = script.New(script.Options{Site: site, Config: s.known, Hosts: s.hosts})
	defer s.scripts.Close()
	table, program, err := s.load()
	if err != nil {
		return state, err
	}
	return State{Table: table, Loaded: s.Now(), Warnings: program.Warnings()}, nil
}

// Settings are those of the site.
func (s *Server) Settings() *settings.Store { return s.settings }

// Accounts are the users of the site.
func (s *Server) Accounts() *accounts.Accounts { return s.accounts }

// EndSessions ends the sessions of a person who has signed out at the provider, where they began there.
func (s *Server) EndSessions(ctx context.Context, issuer, subject string) error {
	return s.auth.EndSessions(ctx, issuer, subject)
}

// Content is the pages of the site.
func (s *Server) Content() *content.Content { return s.content }

// Files are those of the pages.
func (s *Server) Files() *files.Files { return s.files }

// Transfer takes the content of the site to another one, or from it.
func (s *Server) Transfer() transfer.Site {
	return transfer.Site{Accounts: s.accounts, Pages: s.content, Files: s.files}
}

// Webhooks are told of what happens to pages.
func (s *Server) Webhooks() webhooks.Webhooks { return webhooks.Webhooks{Server: s.Server} }

// SealedSample is some of the sealed texts in a database.
func SealedSample(ctx context.Context, db *store.DB) ([]sealed.Text, error) {
	return webhooks.SealedSample(ctx, db)
}

// Owns tells whether a request is on the endpoint, or of the administration.
func (s *Server) Owns(r *http.Request) bool {
	_, ok := api.Below(s.settings.Current(), r.URL.Path)
	return ok || s.administers(r)
}

// administers tells whether a request is of the administration. The API goes before it.
func (s *Server) administers(r *http.Request) bool {
	below, ok := strings.CutPrefix(r.URL.Path, s.mount)
	return s.admin != nil && ok && (below == "" || below[0] == '/')
}

// Conceals tells whether the path of a request is a secret that no log should have, such as a link to a preview.
func (s *Server) Conceals(r *http.Request) bool {
	below, _ := api.Below(s.settings.Current(), r.URL.Path)
	return api.Secret(below)
}

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

// Start installs a site that is not, and begins to look for changed files and what else there is to do in the
// background, once.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != nil {
		return nil
	}
	if s.table() == nil {
		made, err := InstallFiles(s.Site)
		if err != nil {
			return err
		}
		s.Logger().Info("site installed; make its first user with: tollgate cms install --admin NAME", zap.String("site", s.Site), zap.Strings("files", made))
		if err := s.Reload(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	sender := webhook.NewSender(s.networks, s.Logger())
	endJobs := jobs.New(jobs.Options{Jobs: append(s.jobs(), s.Webhooks().Jobs(sender)...), Observe: s.meter.Job, Logger: s.Logger}).Start()
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

// Close ends what New and Start began. Requests that are under way are answered.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != nil {
		s.end()
		s.end = nil
	}
	s.closeRooms()
}

func (s *Server) closeRooms() {
	s.scripts.Close()
	s.auth.Close()
	s.content.Close()
	s.accounts.Close()
}

// Installed is what Install has made.
type Installed struct {
	Files    []string // below the site's folder
	Pages    []string // their paths
	Password string   // of the first superuser, given this once; empty: there was one
}

// Install makes what a site begins with and has not yet: files, the pages and templates that every site has, and a
// first superuser of a name.
func (s *Server) Install(ctx context.Context, admin string) (made Installed, err error) {
	if made.Files, err = InstallFiles(s.Site); err != nil {
		return made, err
	}
	if made.Pages, err = s.content.Install(ctx); err != nil {
		return made, fmt.Errorf("making the pages that every site has: %w", err)
	}
	made.Password, err = s.accounts.Install(ctx, admin)
	return made, err
}

// jobs are the work in the background.
func (s *Server) jobs() []jobs.Job {
	return append(append(s.auth.Jobs(), s.files.Jobs()...),
		jobs.Job{Name: "install", Every: time.Hour, Run: s.installPages()},
		jobs.Job{Name: "shadowed", Every: time.Minute, Run: s.warnShadowed()},
		jobs.Job{Name: "publish", Every: 10 * time.Second, Run: s.content.PublishDue})
}

// shadowedMost is how many pages are named that the API hides.
const shadowedMost = 20

// warnShadowed logs which pages are where the API is, once for each endpoint.
func (s *Server) warnShadowed() func(ctx context.Context) (int, error) {
	told := ""
	return func(ctx context.Context) (int, error) {
		end := s.Endpoint()
		if end == told {
			return 0, nil
		}
		paths, err := s.content.Shadowed(ctx, end, shadowedMost)
		if err != nil {
			return 0, err
		}
		if told = end; len(paths) > 0 {
			s.Logger().Warn("pages are where the API is, and are not served", zap.String("endpoint", end), zap.Strings("paths", paths))
		}
		return len(paths), nil
	}
}

// installPages makes the pages that every site has, once.
func (s *Server) installPages() func(ctx context.Context) (int, error) {
	done := false
	return func(ctx context.Context) (int, error) {
		if done {
			return 0, nil
		}
		made, err := s.content.Install(ctx)
		done = err == nil
		return len(made), err
	}
}
