// Package authserver is an OAuth 2.1 authorization server with an OpenID layer and an administration API. It is built
// from the packages in its folder. Package kernel is the base of most of them: it has the database, the clock, the
// errors and the audit events. The packages web (the pages), protocol and openid (the endpoints) and admin (the
// administration API) serve requests. The other packages implement the parts of the server, such as users, clients,
// keys and tokens.
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

// Options are the settings of a server.
type Options struct {
	// Config and DB are required. The database may not be open yet.
	Config *config.Config
	DB     *store.DB
	// Counters records, for all nodes, the values that may be used only once. If it is a counters.Memory and the
	// database is PostgreSQL, which other nodes may share, the server records them in the database instead. Required.
	Counters counters.Store
	// Key signs cookies and forms if session.secret is not set.
	Key []byte
	// Logger returns the logger. It is called for each message. Default: all messages are discarded.
	Logger func() *zap.Logger
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Address returns the client's address. Default: the remote address of the connection.
	Address func(*http.Request) string
	// Stopping reports whether the process, or the listener that received a request, is shutting down. Default: never.
	Stopping func(ctx context.Context) bool
	// Meter receives the metrics. Default: no metrics are recorded.
	Meter kernel.Meter
	// Tracer traces requests. Default: requests are not traced.
	Tracer kernel.Tracer
	// Trace returns the trace id of a request, for the audit feed and the log. Default: requests have no trace id.
	Trace func(ctx context.Context) string
	// Span returns the span id of a request, for the log. Default: requests have no span id.
	Span func(ctx context.Context) string
	// Observe is called after each run of a background job with the job's name, its outcome and the number of items it
	// handled. Default: it is not called.
	Observe func(job, outcome string, done int)
	// Lockout counts failed sign-ins; see NewLockout. Default: a lockout that ends with the server.
	Lockout *lockout.Lockout
	// Passwords hashes the passwords of users and the secrets of clients. Default: see password.Hasher.
	Passwords password.Hasher
	// Mail sends mails. Default: the SMTP server of mail.url, if that is set.
	Mail mail.Transport
	// Networks are the private networks from which this server may fetch documents and keys at URLs that third parties
	// have set. Public addresses are always allowed.
	Networks []netip.Prefix
	// Version is the version that the administration API reports.
	Version string
	// Bar returns the bar at the top of the pages; see pages.Options.
	Bar func(*http.Request) look.Bar
	// SignedOut is called when a user has signed out of the pages. Default: it is not called.
	SignedOut func(ctx context.Context, issuer, subject string)
}

// Server is an authorization server for one database and one configuration.
type Server struct {
	kernel  *kernel.Server
	config  *config.Config
	version string
	begun   time.Time // when the server was created

	stopping func(ctx context.Context) bool
	observe  func(job, outcome string, done int)
	lockout  *lockout.Lockout
	networks []netip.Prefix

	bar       func(*http.Request) look.Bar
	signedOut func(ctx context.Context, issuer, subject string)

	passwords password.Hasher
	mail      mail.Transport // nil if no mail is sent

	components    components
	public, admin *site
	jobs          []jobs.Job

	once    *once.Marks // records values that may be used only once; nil if the counters do that
	survey  survey
	seeding atomic.Bool // the clients, resources and providers of the configuration still have to be stored

	mu  sync.Mutex // protects end, and lets Start and Close run one after the other
	end func()     // stops the background jobs; nil until they have started
}

// New returns a server. It accesses neither the database nor files.
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
		return nil, errors.New("authserver: session.secret or a key is required")
	}
	s := &Server{
		config: o.Config, stopping: o.Stopping, observe: o.Observe, lockout: o.Lockout, passwords: o.Passwords,
		networks: slices.Concat(o.Networks, o.Config.Networks()), version: cmp.Or(o.Version, "unknown"), begun: o.Now(),
		bar: o.Bar, signedOut: o.SignedOut,
	}
	if s.mail = o.Mail; s.mail == nil && s.config.Mail.URL != "" {
		var err error
		if s.mail, err = smtp(&s.config.Mail); err != nil {
			return nil, fmt.Errorf("mail: %w", err)
		}
	}
	s.kernel = &kernel.Server{
		DB: o.DB, Logger: o.Logger, Now: o.Now, Issuer: o.Config.Server.Issuer, Counters: o.Counters, Address: o.Address,
		Key: key, Meter: o.Meter, Tracer: o.Tracer, Trace: o.Trace, Span: o.Span,
	}
	// Other nodes may share a PostgreSQL database, but not an SQLite file.
	if _, inMemory := o.Counters.(*counters.Memory); inMemory && o.DB.Dialect() == store.Postgres {
		s.once = once.New(s.kernel)
		s.kernel.Counters = s.once
	}
	return s, s.wire()
}

// smtp returns a client for the SMTP server of the configuration.
func smtp(c *config.Mail) (*mail.SMTP, error) {
	return mail.NewSMTP(mail.SMTPOptions{URL: c.URL, From: c.From, Sender: "Accounts", User: c.User, Password: c.Password})
}

// NewLockout returns a lockout with the rules of a configuration. The lockout may outlive the server that uses it.
func NewLockout(c *config.Config, now func() time.Time, logger func() *zap.Logger) *lockout.Lockout {
	return loginRules(c).NewLockout(now, logger)
}

// LockoutRules returns the part of a configuration that a lockout depends on, as a comparable value. Servers with equal
// rules may share a lockout.
func LockoutRules(c *config.Config) any { return loginRules(c) }

// Try makes a server from a configuration and closes it again. Its error joins all faults that would keep the server
// from starting but that package config cannot find, such as an invalid client or page template. Try does not open the
// database.
func Try(c *config.Config) error {
	db, err := store.NewSQLite(store.SQLiteOptions{Path: "none"}, zap.NewNop()) // Start would open it
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

// Offline returns the kernel for a process that serves no requests, such as a command. Audit events are discarded
// unless the caller sets Audit.
func Offline(db *store.DB, now func() time.Time) *kernel.Server {
	return &kernel.Server{DB: db, Logger: zap.NewNop, Now: now, Audit: func(context.Context, kernel.Event) {}}
}

// OfflineUsers returns the users for a process that serves no requests; see Offline. If that process disables or
// deletes a user, the user's tokens and device grants end too.
func OfflineUsers(k *kernel.Server) *users.Users {
	issued := tokens.New(k, tokens.Options{LongestLife: longestLife})
	return &users.Users{Server: k, Gone: []func(c store.Conn, user string) error{issued.EndUser, device.EndUser}}
}

// OfflineFactors returns the second factors for a process that serves no requests; see Offline. They have no encryptor,
// and can only be used to remove factors.
func OfflineFactors(k *kernel.Server) (*factors.Factors, error) {
	return factors.New(k, factors.Options{})
}

// longestLife is longer than the life of any access token.
const longestLife = 30 * 24 * time.Hour

// EndSessions ends all sessions of a user who has signed out at another service. That service knows the user by an ID
// token; issuer and subject are the issuer and the subject of that token. If the issuer is not this server,
// EndSessions does nothing.
func (s *Server) EndSessions(ctx context.Context, issuer, subject string) error {
	if issuer != s.kernel.Issuer {
		return nil
	}
	return s.components.login.EndSessions(ctx, subject)
}

// Public returns the handler for clients and end users. The handler answers 404 for an unknown path.
func (s *Server) Public() http.Handler { return s.public }

// Admin returns the handler of the administration API.
func (s *Server) Admin() http.Handler { return s.admin }

// Owns reports whether the server has a route for the path of a request. If admin is set, Owns asks the Admin
// handler, and otherwise the Public handler.
func (s *Server) Owns(admin bool, r *http.Request) bool {
	if admin {
		return s.admin.owns(r)
	}
	return s.public.owns(r)
}

// Start starts the background jobs and logs the warnings of the configuration. Further calls do nothing. Start returns
// an error if the key management server refuses the credentials or the key. If that server does not answer, Start only
// logs the error, and requests that need the server fail until it answers.
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
	endJobs := jobs.New(jobs.Options{Jobs: s.jobs, Observe: s.observe, Logger: s.kernel.Logger}).Start()
	endWriting := s.write()
	s.end = func() {
		endJobs()
		endWriting()
	}
	return nil
}

// Close stops the background jobs and waits for them. Requests in progress are still answered.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.end != nil {
		s.end()
		s.end = func() {}
	} else { // never started, such as in a command
		_ = s.components.audit.Flush(context.Background()) // failures are logged
	}
	s.kernel.Close()
	s.components.tokens.Close()
	s.components.users.Leaked.Close()
}

// peer returns the remote address of the connection.
func peer(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
