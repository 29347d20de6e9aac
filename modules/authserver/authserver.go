// Package authserver is the Caddy module of the OAuth authorization server, and provides its commands.
package authserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/backends/authserver/account"
	"github.com/tollgate-gateway/tollgate/backends/authserver/login/lockout"
	"github.com/tollgate-gateway/tollgate/internal/loopback"
	"github.com/tollgate-gateway/tollgate/internal/otlp"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/modules/edge"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

func init() {
	caddy.RegisterModule(new(Handler))
}

// serviceName is the name of the authorization server among the services that can have a database.
const serviceName = "authserver"

// The values of Handler.Listener.
const (
	publicListener = "public"
	adminListener  = "admin"
)

// Handler serves one listener of the OAuth authorization server: the endpoints for clients and users, or the
// administration API and the metrics. The server is configured by a settings file, whose entries are called keys, and
// by environment variables; see the reference.
//
// A path that the server does not have goes to the next handler. If admin.enabled is off, the listener admin has no
// paths. Handlers with the same database and the same keys share one server, whose state in memory survives a reload.
//
// The address of a client is determined by Caddy, with trusted_proxies. The Caddyfile sets the listeners, timeouts and
// logs. The keys for these (server.address and its timeouts, admin.address, observability.logging) are used only by the
// configuration adapter authserver. The app tollgate sets the database; storage keys that name a different database are
// an error.
//
// If this handler serves its issuer, api_auth oauth checks tokens by calling it directly.
//
// The server sends the traces and metrics of observability.tracing and observability.metrics to their collectors
// itself. It continues a trace that the directive tracing has begun.
//
// Metrics: authserver_http_requests_total{method,route,status}, authserver_http_request_duration_seconds, and those of
// metrics.go.
//
// In the Caddyfile:
//
//	authserver [<matcher>] {
//		config   <file>
//		listener public | admin   # public
//	}
type Handler struct {
	// Config is the settings file. A relative path is relative to the working directory, or to the folder of the
	// Caddyfile. Default: no file, only environment variables.
	Config string `json:"config,omitempty"`

	// Listener is public or admin. Default: public.
	Listener string `json:"listener,omitempty"`

	// Revision is a digest of the settings file, taken when the configuration was adapted. It makes a reload notice that
	// the file has changed. Its value is not checked.
	Revision string `json:"revision,omitempty"`

	app     *tollgate.App
	server  *authserver.Server
	site    http.Handler
	off     bool   // admin.enabled is off
	scrape  string // the path of the metrics; empty if they are not served
	metrics http.Handler
	tracer  *otlp.Tracer // nil if requests are not traced
	issuer  string
}

// node is an authorization server with certain settings on one database. Several handlers may share it.
type node struct {
	server  *authserver.Server
	exports telemetry
	logger  atomic.Pointer[zap.Logger] // of the latest configuration
	newest  tollgate.Newest
}

func (n *node) start() error { return errors.Join(n.server.Start(), n.exports.start()) }

func (n *node) close() error {
	n.server.Close()
	return n.exports.close()
}

// nodes holds the servers, by nodeKey.
var nodes = caddy.NewUsagePool()

// nodeKey identifies a node by everything on which it depends.
type nodeKey struct {
	db       *store.DB
	keys     [32]byte // the digest of the settings
	networks string   // the text of the allowed networks
}

// pooledLockout is a lockout in the pool. It survives changes of settings that do not affect its rules.
type pooledLockout struct {
	*lockout.Lockout
	logger atomic.Pointer[zap.Logger] // of the latest configuration
}

func (*pooledLockout) close() error { return nil }

// lockouts holds the lockouts of the servers, by database and rules.
var lockouts = caddy.NewUsagePool()

// lockoutKey identifies a lockout.
type lockoutKey struct {
	db    *store.DB
	rules any // the comparable value that authserver.LockoutRules returns
}

// randomSecret returns the secret that is used if session.secret is not set. It stays the same as long as the process
// runs.
var randomSecret = sync.OnceValue(func() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return key
})

// CaddyModule returns the Caddy module information.
func (*Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.authserver",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision loads the keys and creates the server. It opens neither the database nor a connection.
func (h *Handler) Provision(ctx caddy.Context) error {
	if err := h.Validate(); err != nil {
		return err
	}
	keys, err := loadKeys(h.Config)
	if err != nil {
		return err
	}
	if h.app, err = tollgate.From(ctx); err != nil {
		return err
	}
	db, err := h.app.ServiceDatabase(serviceName, authserver.Schema())
	if err != nil {
		return err
	}
	if err := ownStorage(h.app, keys); err != nil {
		return err
	}
	rules := lockoutKey{db, authserver.LockoutRules(keys)}
	// The lockout is shared first, because the node uses it. Shared values are released in the reverse order, so that the
	// node is closed before the lockout.
	locks, err := tollgate.Share(h.app, lockouts, rules, func() (*pooledLockout, error) {
		l := new(pooledLockout)
		l.logger.Store(ctx.Logger())
		l.Lockout = authserver.NewLockout(keys, time.Now, l.logger.Load)
		return l, nil
	}, (*pooledLockout).close)
	if err != nil {
		return err
	}
	locks.logger.Store(ctx.Logger())
	n, err := tollgate.Share(h.app, nodes, nodeKey{db, keys.Digest(), fmt.Sprint(h.app.AllowedNetworks())},
		func() (*node, error) {
			n := new(node)
			n.logger.Store(ctx.Logger())
			version := tollgate.Version()
			tracer, err := n.exports.provision(keys, version)
			if err != nil {
				return nil, err
			}
			n.server, err = authserver.New(authserver.Options{
				Config: keys, DB: db, Counters: h.app.Counters(), Key: randomSecret(), Logger: n.logger.Load, Address: edge.Address,
				Stopping: tollgate.IsStopping, Meter: meter{}, Tracer: tracer, Trace: traceID, Span: spanID,
				Observe: jobMetrics.Observe, Lockout: locks.Lockout, Networks: h.app.AllowedNetworks(), Version: version,
				Bar: n.newest.Bar(serviceName), SignedOut: func(ctx context.Context, issuer, subject string) {
					n.newest.SignedOut(ctx, serviceName, issuer, subject)
				},
			})
			return n, err
		}, (*node).close)
	if err != nil {
		return err
	}
	n.logger.Store(ctx.Logger())
	n.newest.Follow(h.app)
	h.app.OnStart(n.start)
	h.app.OnSignOut(serviceName, n.server.EndSessions)
	h.app.OfferIssuer(keys.Server.Issuer, n.server)
	if err := errors.Join(tollgate.RegisterMetrics(ctx, collectors()...), jobMetrics.Register(ctx)); err != nil {
		return err
	}
	h.server, h.site, h.tracer, h.issuer = n.server, n.server.Public(), n.exports.tracer, keys.Server.Issuer
	h.off = h.Listener == adminListener && !keys.Admin.Enabled
	if h.Listener == adminListener && !h.off {
		h.site = n.server.Admin()
		if provider := keys.Observability.Metrics.Provider; provider == "prometheus" || provider == "both" {
			h.scrape, h.metrics = keys.Observability.Metrics.Path, promhttp.HandlerFor(ctx.GetMetricsRegistry(),
				promhttp.HandlerOpts{})
		}
	}
	return nil
}

// traceID returns the id of the trace that the directive tracing has begun or continued, or "".
func traceID(ctx context.Context) string {
	span := trace.SpanContextFromContext(ctx)
	if !span.HasTraceID() {
		return ""
	}
	return span.TraceID().String()
}

// spanID returns the id of the request's span, or "".
func spanID(ctx context.Context) string {
	span := trace.SpanContextFromContext(ctx)
	if !span.HasSpanID() {
		return ""
	}
	return span.SpanID().String()
}

// Validate checks the options.
func (h *Handler) Validate() error {
	switch h.Listener {
	case "", publicListener, adminListener:
		return nil
	}
	return fmt.Errorf("listener: %q is not one of: public, admin", h.Listener)
}

// Presence implements tollgate.Present.
func (h *Handler) Presence() tollgate.Presence {
	if h.Listener == adminListener {
		p := tollgate.Presence{
			Service: serviceName, Title: "Accounts administration",
			Summary: "Users, applications, keys and the audit of the authorization server.",
		}
		if !h.off {
			p.Path, p.API = "/admin/ui/", "/admin/openapi.json"
		}
		p.Visible = func(r *http.Request) bool { return loopback.Direct(r, edge.Address(r)) }
		return p
	}
	p := tollgate.Presence{
		Service: serviceName, Title: "Accounts",
		Summary: "Where people sign in, and applications get their tokens (OAuth, OpenID Connect).", Path: "/",
	}
	if issuer, err := url.Parse(h.issuer); err == nil {
		p.Path = strings.TrimSuffix(issuer.Path, "/") + "/"
	}
	return p
}

// ServeHTTP serves the listener's paths, and passes other requests on.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	if h.scrape != "" && r.URL.Path == h.scrape {
		rest.NoSniff(w.Header())
		h.metrics.ServeHTTP(w, r)
		return nil
	}
	if h.off || !h.server.Owns(h.Listener == adminListener, r) {
		return next.ServeHTTP(w, r)
	}
	if account.Secret(r.URL.Path) {
		caddyhttp.SetVar(r.Context(), caddyhttp.LogSkipVar, true)
	}
	defer h.app.Acquire()()
	start, recording := time.Now(), &recorder{ResponseWriterWrapper: caddyhttp.ResponseWriterWrapper{ResponseWriter: w}}
	if h.tracer == nil {
		h.site.ServeHTTP(recording, r)
		recording.done(r.Method, r.Pattern, start)
		return nil
	}
	followed, end := h.tracer.Serve(r)
	h.site.ServeHTTP(recording, followed)
	recording.done(r.Method, followed.Pattern, start)
	end(followed.Pattern, recording.status)
	return nil
}

// Interface guards
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddy.Validator             = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
	_ tollgate.Present            = (*Handler)(nil)
)
