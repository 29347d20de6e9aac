// Package authserver is an OAuth 2.1 authorization server with an OpenID layer
// and an administration API. Its rooms: config (the file and the environment),
// kernel (what all stand on), documents, clients, resources, users, keys, tokens, login,
// consent, proofs (DPoP), protocol (the endpoints), admin. A room stands on those before it.
package authserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/authserver/config"
	"github.com/tollgate-gateway/tollgate/backends/authserver/device"
	"github.com/tollgate-gateway/tollgate/backends/authserver/factors"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/login/lockout"
	"github.com/tollgate-gateway/tollgate/backends/authserver/once"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/internal/mail"
	"github.com/tollgate-gateway/tollgate/internal/password"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Options of a server.
type Options struct {
	// Config and DB are required. The database may not be open yet.
	Config *config.Config
	DB     *store.DB
	// Counters hold what may be used once, for all nodes: where they are in memory and the
	// database is PostgreSQL, the database does. Required.
	Counters counters.Store
	// Key stands in for session.secret where that is not set.
	Key []byte
	// Logger is asked each time there is something to tell. Default: none.
	Logger func() *zap.Logger
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Address is the client's address. Default: that of the connection.
	Address func(*http.Request) string
	// Stopping reports that the process or the listener of a request ends. Default: never.
	Stopping func(ctx context.Context) bool
	// Meter counts what happens. Default: nobody does.
	Meter kernel.Meter
	// Tracer follows requests. Default: nobody does.
	Tracer kernel.Tracer
	// Trace is the id of the trace of a request, for the audit feed and the log. Default:
	// none is traced.
	Trace func(ctx context.Context) string
	// Span is the id of the span of a request, for the log. Default: as for Trace.
	Span func(ctx context.Context) string
	// Observe is told how each run of a job ended and how much it did. Default: nobody is.
	Observe func(job, outcome string, done int)
	// Lockout counts who fails to sign in, see NewLockout. Default: one that ends with the
	// server.
	Lockout *lockout.Lockout
	// Passwords hashes those of users and the secrets of clients. Default: see
	// password.Hasher.
	Passwords password.Hasher
	// Mail sends mails. Default: the server of mail.url, if there is one.
	Mail mail.Transport
	// Networks are those that addresses which others set may lead to, beside public ones.
	Networks []netip.Prefix
	// Version is what the administration API tells.
	Version string
	// Bar is that of the pages; see pages.Options.
	Bar func(*http.Request) look.Bar
	// SignedOut is told who has signed out of the pages. Default: nobody is.
	SignedOut func(ctx context.Context, issuer, subject string)
}

// Server is the authorization server on one database with one configuration.
type Server struct {
	kernel  *kernel.Server
	config  *config.Config
	version string
	begun   time.Time

	stopping func(ctx context.Context) bool
	observe  func(job, outcome string, done int)
	lockout  *lockout.Lockout
	networks []netip.Prefix

	bar       func(*http.Request) look.Bar
	signedOut func(ctx context.Context, issuer, subject string)

	passwords password.Hasher
	mail      mail.Transport // nil: nobody is mailed

	rooms         rooms
	public, admin *site
	jobs          []jobs.Job

	once    *once.Marks // nil: the counters keep what was used once
	survey  survey
	seeding atomic.Bool // clients, resources and providers of the configuration are to be stored

	mu  sync.Mutex
	end func() // of the jobs; nil: they have not begun
}

// New makes a server. It touches neither the database nor a file.
func New(o Options) (*Server, error) {
	if o.Config == nil || o.DB == nil || o.Counters == nil {
		return nil, errors.New("authserver: a configuration, a database and counters are required")
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Address == nil {
		o.Address = peer
	}
	if o.Stopping == nil {
		o.Stopping = func(context.Context) bool { return false }
	}
	key := o.Key
	if secret := o.Config.Session.Secret; secret != "" {
		key = []byte(secret)
	}
	if len(key) == 0 {
		return nil, errors.New("authserver: neither session.secret nor a key")
	}
	s := &Server{config: o.Config, stopping: o.Stopping, observe: o.Observe, lockout: o.Lockout, passwords: o.Passwords, networks: slices.Concat(o.Networks, o.Config.Networks()), version: cmp.Or(o.Version, "unknown"), begun: o.Now(), bar: o.Bar, signedOut: o.SignedOut}
	if s.mail = o.Mail; s.mail == nil && s.config.Mail.URL != "" {
		var err error
		if s.mail, err = smtp(&s.config.Mail); err != nil {
			return nil, fmt.Errorf("mail: %w", err)
		}
	}
	s.kernel = &kernel.Server{
		DB: o.DB, Logger: o.Logger, Now: o.Now, Issuer: o.Config.Server.Issuer, Counters: o.Counters, Address: o.Address, Key: key, Meter: o.Meter, Tracer: o.Tracer, Trace: o.Trace, Span: o.Span,
	}
	// On SQLite there is no other node: one process serves the file.
	if _, alone := o.Counters.(*counters.Memory); alone && o.DB.Dialect() == store.Postgres {
		s.once = once.New(s.kernel)
		s.kernel.Counters = s.once
	}
	return s, s.wire()
}

// smtp is the server that sends mails on.
func smtp(c *config.Mail) (*mail.SMTP, error) {
	return mail.NewSMTP(mail.SMTPOptions{URL: c.URL, From: c.From, Sender: "Accounts", User: c.User, Password: c.Password})
}

// NewLockout is a lockout that may outlive a server, whose configuration it is of.
func NewLockout(c *config.Config, now func() time.Time, logger func() *zap.Logger) *lockout.Lockout {
	return loginRules(c).NewLockout(now, logger)
}

// LockoutRules are what of a configuration a lockout depends on: two that are equal may
// have the same. It is comparable.
func LockoutRules(c *config.Config) any { return loginRules(c) }

// Try makes a server and ends it: the error is all that would keep it from starting
// beyond what config tells, such as a client or a page that is wrong. No database is
// opened.
func Try(c *config.Config) error {
	db, err := store.NewSQLite(store.SQLiteOptions{Path: "none"}, zap.NewNop())
	if err != nil {
		return err
	}
	shared := counters.NewMemory(time.Now)
	s, err := New(Options{Config: c, DB: db, Counters: shared, Key: make([]byte, 32)})
	if err == nil {
		s.Close()
	}
	return errors.Join(err, shared.Close(), db.Close())
}

// Offline is what the rooms stand on in a process that serves nobody, such as a command.
// What happens there is written down only where its Audit is set.
func Offline(db *store.DB, now func() time.Time) *kernel.Server {
	return &kernel.Server{DB: db, Logger: zap.NewNop, Now: now, Audit: func(context.Context, kernel.Event) {}}
}

// OfflineUsers are the users, Offline. What was issued to one who is kept out ends there
// too.
func OfflineUsers(k *kernel.Server) *users.Users {
	issued := tokens.New(k, tokens.Options{LongestLife: longestLife})
	return &users.Users{Server: k, Gone: []func(c store.Conn, user string) error{issued.EndUser, device.EndUser}}
}

// OfflineFactors are the second factors, Offline: what a user has can be taken away.
func OfflineFactors(k *kernel.Server) (*factors.Factors, error) {
	return factors.New(k, factors.Options{})
}

// longestLife is beyond that of any access token.
const longestLife = 30 * 24 * time.Hour

// EndSessions ends all sessions of a user who has signed out at a service that knows the user from here.
func (s *Server) EndSessions(ctx context.Context, issuer, subject string) error {
	if issuer != s.kernel.Issuer {
		return nil
	}
	return s.rooms.login.EndSessions(ctx, subject)
}

// Public is the site for clients and people. A path that is not of it is 404.
func (s *Server) Public() http.Handler { return s.public }

// Admin is the site of the administration API.
func (s *Server) Admin() http.Handler { return s.admin }

// Owns reports whether the path of a request is one of a site's: of Public, or of Admin.
func (s *Server) Owns(admin bool, r *http.Request) bool {
	if admin {
		return s.admin.owns(r)
	}
	return s.public.owns(r)
}

// Start begins the work in the background, once, and tells what an operator should know.
// A key management server that refuses is an error; one that does not answer is waited for
// by those who need it.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != nil {
		return nil
	}
	if err := s.checkKeys(); err != nil {
		return err
	}
	for _, warning := range s.config.Warnings() {
		s.kernel.Logger().Warn(warning)
	}
	s.seeding.Store(len(s.config.Clients)+len(s.config.Resources)+len(s.config.BrokerProviders) > 0)
	endJobs, endWriting := jobs.New(jobs.Options{Jobs: s.jobs, Observe: s.observe, Logger: s.kernel.Logger}).Start(), s.write()
	s.end = func() {
		endJobs()
		endWriting()
	}
	return nil
}

// Close ends the work in the background, and waits for it. Requests that are under way
// are answered.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != nil {
		s.end()
		s.end = func() {}
	} else { // it serves nobody, as of a command
		_ = s.rooms.audit.Flush(context.Background()) // the log is told
	}
	s.kernel.Close()
	s.rooms.tokens.Close()
	s.rooms.users.Leaked.Close()
}

// peer is the address of the connection.
func peer(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
