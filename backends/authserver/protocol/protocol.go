// Package protocol is the endpoints that clients call: discovery (RFC 8414, RFC 9728),
// the key set, and token, introspection, revocation and registration.
package protocol

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authorize"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/device"
	"github.com/tollgate-gateway/tollgate/backends/authserver/exchange"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/keys"
	"github.com/tollgate-gateway/tollgate/backends/authserver/proofs"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
	"github.com/tollgate-gateway/tollgate/backends/authserver/xaa"
)

// Options of the endpoints. All rooms are required.
type Options struct {
	Clients *clients.Clients
	Catalog *resources.Catalog
	Keys    *keys.Keys
	Tokens  *tokens.Tokens

	// Grants are those that are switched on, beside authorization_code and
	// refresh_token, which always are.
	Grants []string
	// IssuerPath is the path of the issuer, or empty: metadata is also served with it
	// behind the well-known path.
	IssuerPath string
	// Algorithm signs ID tokens.
	Algorithm string
	// Origins are server.allowed_origins: whose pages may call these endpoints.
	Origins []string
	// Documents: a client may be known by the URL of its metadata document.
	Documents bool
	// Agents has the key set list agents.
	Agents bool
	// OpenID is what the OpenID layer adds to the metadata; nil: there is none.
	OpenID map[string]any
	// Enterprise has the grant jwt-bearer; nil: there is none.
	Enterprise *xaa.XAA
	// Exchange has the grant token-exchange; nil: there is none.
	Exchange *exchange.Exchange
	// Devices has the grant of devices; nil: there is none.
	Devices *device.Devices
	// Authorize keeps requests that are sent ahead; nil: they cannot be.
	Authorize *authorize.Authorize
	// Proofs looks at DPoP proofs; nil: none counts.
	Proofs *proofs.Proofs
	// Registrations are limited by address; nil: they are not.
	Registrations *kernel.Limiter
}

// Protocol serves the endpoints.
type Protocol struct {
	*kernel.Server
	Options
	documents *kernel.Cache[[]byte]
}

// Paths of the endpoints.
const (
	TokenPath      = "/oauth/token" //nolint:gosec // G101: a path
	IntrospectPath = "/oauth/introspect"
	RevokePath     = "/oauth/revoke"
	RegisterPath   = "/oauth/register"
	AuthorizePath  = "/oauth/authorize"
	JWKSPath       = "/.well-known/jwks.json"
	serverPath     = "/.well-known/oauth-authorization-server"
	openIDPath     = "/.well-known/openid-configuration"
	resourcePath   = "/.well-known/oauth-protected-resource"
)

// New makes the endpoints.
func New(s *kernel.Server, o Options) *Protocol {
	p := &Protocol{Server: s, Options: o}
	for _, grant := range []string{clients.GrantRefresh, clients.GrantCode} {
		if !slices.Contains(p.Grants, grant) {
			p.Grants = append([]string{grant}, p.Grants...)
		}
	}
	if o.Enterprise != nil {
		p.Grants = append(p.Grants, clients.GrantJWT)
	}
	if o.Exchange != nil {
		p.Grants = append(p.Grants, clients.GrantExchange)
	}
	if o.Devices != nil {
		p.Grants = append(p.Grants, clients.GrantDevice)
	}
	p.documents = kernel.NewCache(16, s.Now, p.document)
	for _, topic := range []string{"resources", "settings"} {
		s.Watch(topic, func(string) { p.documents.Drop("") })
	}
	return p
}

// Routes are the endpoints.
func (p *Protocol) Routes() []kernel.Route {
	routes := []kernel.Route{
		{Method: http.MethodGet, Path: JWKSPath, Serve: p.jwks},
		{Method: http.MethodPost, Path: TokenPath, Serve: p.token},
		{Method: http.MethodPost, Path: IntrospectPath, Serve: p.introspect},
		{Method: http.MethodPost, Path: RevokePath, Serve: p.revoke},
		{Method: http.MethodPost, Path: RegisterPath, Serve: p.register},
		{Method: http.MethodGet, Path: RegisterPath + "/{client_id}", Serve: p.registered},
		{Method: http.MethodPut, Path: RegisterPath + "/{client_id}", Serve: p.replace},
		{Method: http.MethodDelete, Path: RegisterPath + "/{client_id}", Serve: p.unregister},
		{Method: http.MethodGet, Path: resourcePath, Serve: p.protectedResource},
		{Method: http.MethodGet, Path: resourcePath + "/{ref...}", Serve: p.protectedResource},
	}
	if p.Devices != nil {
		routes = append(routes, kernel.Route{Method: http.MethodPost, Path: DevicePath, Serve: p.authorizeDevice})
	}
	if p.Authorize != nil {
		routes = append(routes, kernel.Route{Method: http.MethodPost, Path: PushPath, Serve: p.push})
	}
	for _, path := range [...]string{serverPath, openIDPath} {
		routes = append(routes, kernel.Route{Method: http.MethodGet, Path: path, Serve: p.metadata(path)})
		if p.IssuerPath != "" && p.IssuerPath != "/" {
			routes = append(routes, kernel.Route{Method: http.MethodGet, Path: path + p.IssuerPath, Serve: p.metadata(path)})
		}
	}
	return p.Share(routes)
}

// Share lets pages of the allowed origins call endpoints.
func (p *Protocol) Share(routes []kernel.Route) []kernel.Route {
	if len(p.Origins) == 0 {
		return routes
	}
	for i := range routes {
		routes[i].Serve = p.shared(routes[i].Serve)
		routes[i].Refused = func(h http.Header, r *http.Request) { p.allow(h, r) }
	}
	seen := map[string]bool{}
	for _, route := range slices.Clone(routes) {
		if !seen[route.Path] {
			seen[route.Path] = true
			routes = append(routes, kernel.Route{Method: http.MethodOptions, Path: route.Path, Serve: p.preflight})
		}
	}
	return routes
}

// shared lets pages of the allowed origins read an answer.
func (p *Protocol) shared(serve func(w http.ResponseWriter, r *http.Request) error) func(w http.ResponseWriter, r *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		p.allow(w.Header(), r)
		return serve(w, r)
	}
}

func (p *Protocol) allow(h http.Header, r *http.Request) bool {
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" || !slices.Contains(p.Origins, origin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "DPoP-Nonce, WWW-Authenticate")
	return true
}

func (p *Protocol) preflight(w http.ResponseWriter, r *http.Request) error {
	if p.allow(w.Header(), r) {
		w.Header().Set("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE")
		w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type, DPoP, MCP-Protocol-Version")
		w.Header().Set("Access-Control-Max-Age", "600")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// Headers that many answers have, made once: net/http does not change them.
var (
	jsonType = []string{"application/json"}
	noStore  = []string{"no-store"}
	noCache  = []string{"no-cache"}
	fresh    = []string{"public, max-age=300"}
)

// write sends JSON that must not be stored.
func write(w http.ResponseWriter, status int, text []byte) error {
	h := w.Header()
	h["Content-Type"], h["Cache-Control"], h["Pragma"] = jsonType, noStore, noCache
	w.WriteHeader(status)
	_, _ = w.Write(text) // nobody to tell when the client is gone
	return nil
}

// client finds who calls, and says in the answer how to authenticate where that failed.
func (p *Protocol) client(w http.ResponseWriter, r *http.Request, form kernel.Form) (*clients.Client, error) {
	w.Header()["Cache-Control"] = noStore
	c, err := p.Clients.Authenticate(r.Context(), r.Header["Authorization"], form)
	if err == nil {
		return c, nil
	}
	if refused, ok := errors.AsType[*clients.RefusedError](err); ok {
		if len(r.Header["Authorization"]) > 0 {
			w.Header().Set("WWW-Authenticate", `Basic realm="authserver"`)
		}
		p.refused(r, refused)
	}
	return nil, err
}

// refused notes, in the log and the audit feed, why a client was not authenticated.
func (p *Protocol) refused(r *http.Request, e *clients.RefusedError) {
	client := strings.ToValidUTF8(e.Client, "\uFFFD")
	client = client[:min(len(client), maxNamed)]
	client = strings.ReplaceAll(strings.ToValidUTF8(client, ""), "\x00", "\uFFFD") // PostgreSQL has no such text
	p.Logger().Warn("a client was refused", zap.String("client_id", client), zap.String("method", e.Method), zap.String("reason", e.Reason),
		zap.String("path", r.URL.Path), zap.String("address", p.Address(r)))
	p.denied(r, client, kernel.InvalidClient, "method", e.Method, "cause", e.Reason)
}

// maxNamed bounds what the audit feed keeps of the client_id of a request that nobody has authenticated, in bytes.
const maxNamed = 512

// denied counts and notes in the audit feed that a client was refused. detail is pairs of a name and a value.
func (p *Protocol) denied(r *http.Request, client, reason string, detail ...string) {
	p.Count("auth_denied_total", reason)
	p.Audit(r.Context(), kernel.Event{Action: "auth.denied", Client: client, Address: p.Address(r), Detail: append([]string{"reason", reason, "path", r.URL.Path}, detail...)})
}
