// Package cms serves the CMS: the REST API of a site by its routes and handler classes, and the commands that look
// after it.
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

// serviceName is the CMS among the services that a database can be given to.
const serviceName = "cms"

// Handler serves the REST API of a site: what its routes file (api/Routes.php or api/Routes.js) maps to methods of
// handler classes, /auth, and the content. The endpoint, the mode of authorization and more are settings of the site
// (config.json). Other paths go to the next handler; with siteUrl and redirects of the settings not /sitemap.xml, and
// not those where a page was that has moved.
//
// A site without a folder api gets one at the start. Files that change are in use within a second; files with errors
// are not, and the log tells why. With errors at the start the configuration is refused.
//
// Handlers with the same site and database are one server, whose memory survives a reload.
//
// Metrics: tollgate_cms_calls_total{status}, tollgate_cms_call_seconds, tollgate_cms_logins_total{outcome},
// tollgate_cms_reloads_total{outcome}, tollgate_cms_processes_ended_total{reason}, and those of the work in the
// background.
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
	// Site is the folder of the site; a relative path counts from the working directory, in a Caddyfile from its
	// folder. Default: site.
	Site string `json:"site,omitempty"`
	// Admin is the path of the administration: pages for those whose roles permit it. "off": there is none.
	// Default: /admin.
	Admin string `json:"admin,omitempty"`
	// BaseURL is the address that clients reach the site at, such as https://www.example.com, for a proxy that ends TLS
	// or asks by another name: with https cookies are Secure, and absolute addresses begin with it. Default: as asked.
	BaseURL string `json:"base_url,omitempty"`
	// OIDC is an OpenID provider at which users of the administration may sign in, beside the password. Default: none.
	OIDC *oidc.Provider `json:"oidc,omitempty"`

	// Isolation says where handlers run that are written in JavaScript: in processes of their own, which are ended from
	// outside when a call takes too long or too much memory ("process"), or in the gateway itself, for those who trust
	// their code with all that it runs beside ("none"). Default: process.
	Isolation string `json:"isolation,omitempty"`

	app    *tollgate.App
	server *cms.Server
	mount  string // of the administration; empty: there is none
}

// Where handlers run.
const (
	isolationProcess = "process"
	isolationNone    = "none"
)

// node is the CMS of one site on one database.
type node struct {
	server *cms.Server
	// Of the newest configuration.
	logger  atomic.Pointer[zap.Logger]
	keyring atomic.Pointer[func() (keyring.Keyring, error)]
	newest  tollgate.Newest
}

// ring is the keyring of the newest configuration that has started.
func (n *node) ring() (keyring.Keyring, error) {
	ask := n.keyring.Load()
	if ask == nil {
		return nil, apierror.Unavailable("the keyring", errNotStarted)
	}
	return (*ask)()
}

var errNotStarted = errors.New("no configuration has started yet")

func (n *node) close() error {
	n.server.Close()
	return nil
}

// nodes are the servers by their databases and sites.
var nodes = caddy.NewUsagePool()

type nodeKey struct {
	db          *store.DB
	site, admin string
	base        string
	networks    string // that scripts and webhooks may reach
	inProcess   bool
	oidc        [sha256.Size]byte
}

// CaddyModule returns the Caddy module information.
func (*Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.cms",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision makes the server, and reads the files of a site that has some. Nothing is written.
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
	keys := h.app.Keys(serviceName)
	var provider *oidclogin.Provider
	var called string
	inProcess := h.Isolation == isolationNone
	key := nodeKey{db: db, site: site, admin: mount, base: base, networks: fmt.Sprint(h.app.AllowedNetworks()), inProcess: inProcess}
	if h.OIDC != nil {
		if provider, key.oidc, err = h.OIDC.Make(h.app, func() []byte { return firstKey(keys) }); err != nil {
			return err
		}
		called = h.OIDC.Called()
	}
	made := false
	n, err := tollgate.Share(h.app, nodes, key, func() (*node, error) {
		made = true
		n := new(node)
		n.logger.Store(ctx.Logger())
		n.server, err = cms.New(cms.Options{
			Site: site, DB: db, Counters: h.app.Counters(), Logger: n.logger.Load, Now: time.Now, Address: edge.Address, RequestID: requestID,
			Networks: h.app.AllowedNetworks(), Meter: meter, Keyring: n.ring, Key: func() []byte { return firstKey(keys) }, Admin: mount, BaseURL: base,
			OIDC: provider, OIDCLabel: called, Bar: n.newest.Bar(serviceName), InProcess: inProcess,
		})
		return n, err
	}, (*node).close)
	if err != nil {
		return err
	}
	n.logger.Store(ctx.Logger())
	if !made { // a reload is a reload of the files, too
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

// mounts are the paths that the administration can have.
var mounts = regexp.MustCompile(`^(/[a-z0-9._-]+)+$`)

// administration is its path; empty: there is none.
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

// address is the one that clients reach the site at; empty: as they ask.
func (h *Handler) address() (string, error) {
	base := strings.TrimSuffix(caddy.NewReplacer().ReplaceKnown(h.BaseURL, ""), "/")
	if u, err := url.Parse(base); base != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Scheme+"://"+u.Host != base) {
		return "", fmt.Errorf("base_url: %q is not an address such as https://www.example.com, without a path", h.BaseURL)
	}
	return base, nil
}

// folder is the whole path of the site.
func (h *Handler) folder() (string, error) {
	return filepath.Abs(cmp.Or(caddy.NewReplacer().ReplaceKnown(h.Site, ""), "site"))
}

// database takes the database of the service with all its schemas.
func database(app *tollgate.App) (db *store.DB, err error) {
	schemas := cms.Schemas()
	for _, schema := range schemas[1:] {
		if _, err = app.ServiceDatabase(serviceName, schema); err != nil {
			return nil, err
		}
	}
	return app.SealedDatabase(serviceName, schemas[0], cms.SealedSample)
}

// firstKey is the key to sign with; nil before the app has started, when nobody is answered.
func firstKey(keys func() ([][]byte, error)) []byte {
	all, err := keys()
	if err != nil || len(all) == 0 {
		return nil
	}
	return all[0]
}

// requestID is that of api_errors.
func requestID(r *http.Request) string {
	if id := apierrors.RequestID(r.Context()); id != "" {
		return id
	}
	return rand.Text()
}

// Presence implements tollgate.Present.
func (h *Handler) Presence() tollgate.Presence {
	p := tollgate.Presence{Service: serviceName, Title: "Content", Summary: "Pages and files of a site, their administration and a REST API."}
	if h.mount != "" {
		p.Path = h.mount + "/"
	}
	return p
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	if !h.serve(w, r) {
		return next.ServeHTTP(w, r)
	}
	return nil
}

// serve answers what is the site's, and tells whether it was.
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
