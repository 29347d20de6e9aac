// Package cms provides the Caddy module of the CMS, which serves the REST API of a site, and the commands that
// manage a site.
package cms

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/cms"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/modules/apierrors"
	"github.com/tollgate-gateway/tollgate/modules/edge"
	"github.com/tollgate-gateway/tollgate/modules/oidc"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

func init() {
	caddy.RegisterModule(new(Handler))
}

// serviceName is the name of the CMS in the configuration of databases.
const serviceName = "cms"

// Handler serves the REST API of a site: the routes file (api/Routes.php or api/Routes.js) maps requests to methods
// of handler classes; /auth and the content API are built in. The endpoint, the authorization mode and other
// options are settings of the site (config.json). Other paths go to the next handler, except /sitemap.xml if
// siteUrl is set, and the previous paths of moved pages if redirects is set.
//
// If the site has no folder api, it is created at the start. Changed files take effect within a second. If changed
// files have errors, the previous versions stay in use and the errors are logged. If files have errors at the start,
// the configuration is refused.
//
// Handlers with the same site and database share one server, whose state survives a reload.
//
// Metrics: tollgate_cms_calls_total{status}, tollgate_cms_call_seconds, tollgate_cms_logins_total{outcome},
// tollgate_cms_reloads_total{outcome}, tollgate_cms_processes_ended_total{reason}, and those of the background
// jobs.
//
// In the Caddyfile:
//
//	cms [<matcher>] {
//		site      <folder>       # site
//		admin     <path> | off   # /admin
//		base_url  <url>
//		isolation process | none # process
//		oidc      <issuer> <client_id> [<client_secret>] {
//			...   # see oidc.Unmarshal
//		}
//	}
type Handler struct {
	// Site is the folder of the site. A relative path is relative to the working directory or, in a Caddyfile, to
	// the folder of the Caddyfile. Default: site.
	Site string `json:"site,omitempty"`
	// Admin is the path of the administration: pages for users whose roles permit it. "off" disables it. Default:
	// /admin.
	Admin string `json:"admin,omitempty"`
	// BaseURL is the address at which clients reach the site, such as https://www.example.com. It is needed if a proxy
	// terminates TLS or uses another host name. Absolute addresses begin with BaseURL, and cookies are Secure if its
	// scheme is https. Default: the address of each request.
	BaseURL string `json:"base_url,omitempty"`
	// OIDC is an OpenID provider at which users of the administration may sign in, in addition to passwords. Default:
	// none.
	OIDC *oidc.Provider `json:"oidc,omitempty"`

	// Isolation determines where handlers written in JavaScript run. With "process" they run in separate processes, which
	// are killed when a call takes too much time or memory. With "none" they run in the gateway's process, which requires
	// trusted code. Default: process.
	Isolation string `json:"isolation,omitempty"`

	app    *tollgate.App
	server *cms.Server
	mount  string // path of the administration; empty if there is none
}

// The values of Isolation.
const (
	isolationProcess = "process"
	isolationNone    = "none"
)

// node is the CMS of one site on one database. It survives reloads of the configuration.
type node struct {
	server *cms.Server
	// These fields belong to the latest configuration.
	logger  atomic.Pointer[zap.Logger]
	keyring atomic.Pointer[func() (keyring.Keyring, error)] // nil until a configuration has started
	newest  tollgate.Newest
}

// ring returns the keyring of the latest configuration that has started.
func (n *node) ring() (keyring.Keyring, error) {
	current := n.keyring.Load()
	if current == nil {
		return nil, apierror.Unavailable("the keyring", errNotStarted)
	}
	return (*current)()
}

var errNotStarted = errors.New("no configuration has started yet")

// close closes the server when no handler uses the node any more.
func (n *node) close() error {
	n.server.Close()
	return nil
}

// nodes holds the nodes, by nodeKey.
var nodes = caddy.NewUsagePool()

// nodeKey contains the options that a node has for its whole lifetime. Handlers with equal keys share a node.
type nodeKey struct {
	db        *store.DB
	site      string // absolute path
	admin     string // path of the administration, or empty
	base      string // base URL, or empty
	networks  string // private networks that scripts and webhooks may reach
	inProcess bool
	oidc      [sha256.Size]byte // hash of the provider's options, or zero
}

// CaddyModule returns the Caddy module information.
func (*Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.cms",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision creates the server and, if the site is installed, reads its files. It writes nothing.
func (h *Handler) Provision(ctx caddy.Context) error {
	site, err := h.folder()
	if err != nil {
		return err
	}
	mount, err := h.administration()
	if err != nil {
		return err
	}
	base, err := h.address()
	if err != nil {
		return err
	}
	switch h.Isolation {
	case "", isolationProcess, isolationNone:
	default:
		return fmt.Errorf("isolation: %q is neither %s nor %s", h.Isolation, isolationProcess, isolationNone)
	}
	if h.app, err = tollgate.From(ctx); err != nil {
		return err
	}
	db, err := database(h.app)
	if err != nil {
		return err
	}
	signingKey := h.app.SigningKey(serviceName)
	var provider *oidclogin.Provider
	var providerName string
	inProcess := h.Isolation == isolationNone
	key := nodeKey{
		db: db, site: site, admin: mount, base: base, networks: fmt.Sprint(h.app.AllowedNetworks()),
		inProcess: inProcess,
	}
	if h.OIDC != nil {
		if provider, key.oidc, err = h.OIDC.Make(h.app, signingKey); err != nil {
			return err
		}
		providerName = h.OIDC.DisplayName()
	}
	created := false // whether the node is new, and has therefore just read the files
	n, err := tollgate.Share(h.app, nodes, key, func() (*node, error) {
		created = true
		n := new(node)
		n.logger.Store(ctx.Logger())
		n.server, err = cms.New(cms.Options{
			Site: site, DB: db, Logger: n.logger.Load, Now: time.Now, Address: edge.Address,
			RequestID: requestID, Networks: h.app.AllowedNetworks(), Meter: meter, Keyring: n.ring, Key: signingKey,
			Admin: mount, BaseURL: base, OIDC: provider, OIDCLabel: providerName, Bar: n.newest.Bar(serviceName),
			InProcess: inProcess,
		})
		return n, err
	}, (*node).close)
	if err != nil {
		return err
	}
	n.logger.Store(ctx.Logger())
	if !created { // a reload of the configuration also reloads the files
		if err := n.server.Reload(); err != nil {
			return err
		}
	}
	h.server, h.mount = n.server, mount
	n.newest.Follow(h.app)
	if h.OIDC != nil {
		h.app.OnSignOut(serviceName, n.server.EndSessions)
	}
	h.app.OnStart(func() error {
		n.keyring.Store(new(h.app.Keyring(serviceName)))
		return n.server.Start()
	})
	return errors.Join(tollgate.RegisterMetrics(ctx, collectors...), jobMetrics.Register(ctx))
}

// mounts matches valid paths of the administration.
var mounts = regexp.MustCompile(`^(/[a-z0-9._-]+)+$`)

// administration returns the path of the administration, or "" if it is disabled.
func (h *Handler) administration() (string, error) {
	switch mount := cmp.Or(h.Admin, "/admin"); {
	case mount == "off":
		return "", nil
	case !mounts.MatchString(mount):
		return "", fmt.Errorf("admin: %q is neither off nor a path such as /admin", mount)
	default:
		return mount, nil
	}
}

// address returns the base URL, or "" if the address of each request is to be used.
func (h *Handler) address() (string, error) {
	base := strings.TrimSuffix(caddy.NewReplacer().ReplaceKnown(h.BaseURL, ""), "/")
	if base == "" {
		return "", nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Scheme+"://"+u.Host != base {
		return "", fmt.Errorf("base_url: %q is not an address such as https://www.example.com, without a path", h.BaseURL)
	}
	return base, nil
}

// folder returns the absolute path of the site.
func (h *Handler) folder() (string, error) {
	return filepath.Abs(cmp.Or(caddy.NewReplacer().ReplaceKnown(h.Site, ""), "site"))
}

// database returns the database of the service and registers all its schemas. It also registers a sample of the
// encrypted secrets, with which the app checks its keys.
func database(app *tollgate.App) (db *store.DB, err error) {
	schemas := cms.Schemas()
	for _, schema := range schemas[1:] {
		if _, err = app.ServiceDatabase(serviceName, schema); err != nil {
			return nil, err
		}
	}
	return app.SealedDatabase(serviceName, schemas[0], cms.Sealed.Sample)
}

// requestID returns the id that api_errors has given the request, or a random id.
func requestID(r *http.Request) string {
	if id := apierrors.RequestID(r.Context()); id != "" {
		return id
	}
	return rand.Text()
}

// Presence implements tollgate.Present.
func (h *Handler) Presence() tollgate.Presence {
	p := tollgate.Presence{
		Service: serviceName, Title: "Content",
		Summary: "Pages and files of a site, their administration and a REST API.",
	}
	if h.mount != "" {
		p.Path = h.mount + "/"
	}
	return p
}

// ServeHTTP implements caddyhttp.MiddlewareHandler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	if !h.serve(w, r) {
		return next.ServeHTTP(w, r)
	}
	return nil
}

// serve answers a request if it belongs to the site, and reports whether it does.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request) bool {
	defer h.app.Acquire()()
	r = edge.Request(r)
	if !h.server.Owns(r) {
		return h.server.ServeSite(w, r)
	}
	rest.NoSniff(w.Header())
	if h.server.Conceals(r) {
		caddyhttp.SetVar(r.Context(), caddyhttp.LogSkipVar, true)
	}
	h.server.ServeHTTP(w, r)
	return true
}

// Interface guards
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
	_ tollgate.Present            = (*Handler)(nil)
)
