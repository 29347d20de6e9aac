// Package protocol serves the endpoints that clients call: discovery (RFC 8414, RFC 9728), the key set, token,
// introspection, revocation and registration.
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
	"github.com/tollgate-gateway/tollgate/internal/ratelimit"
)

// Options are the settings of the endpoints. Clients, Catalog, Keys and Tokens are required.
type Options struct {
	Clients *clients.Clients
	Catalog *resources.Catalog
	Keys    *keys.Keys
	Tokens  *tokens.Tokens

	// Grants are the enabled grant types. The grants authorization_code and refresh_token are always enabled.
	Grants []string
	// IssuerPath is the path of the issuer, or empty. Metadata is also served at the well-known path followed by this
	// path.
	IssuerPath string
	// Algorithm is the algorithm that signs ID tokens.
	Algorithm string
	// Origins are server.allowed_origins, the origins of web pages that may call these endpoints.
	Origins []string
	// Documents allows a client to use the URL of its metadata document as its client_id.
	Documents bool
	// Agents adds the list of agents, which are clients that act for users on their own, to the JWK set.
	Agents bool
	// OpenID holds the metadata members of the OpenID layer. It may be nil.
	OpenID map[string]any
	// Enterprise serves the jwt-bearer grant type. If it is nil, that grant type is disabled.
	Enterprise *xaa.XAA
	// Exchange serves the token-exchange grant type. If it is nil, that grant type is disabled.
	Exchange *exchange.Exchange
	// Devices serves the device_code grant type. If it is nil, that grant type is disabled.
	Devices *device.Devices
	// Authorize stores pushed authorization requests. If it is nil, they are disabled.
	Authorize *authorize.Authorize
	// Proofs checks DPoP proofs. If it is nil, proofs are ignored.
	Proofs *proofs.Proofs
	// Registrations limits the client registrations from each address. If it is nil, there is no limit.
	Registrations *ratelimit.Limiter
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

// New returns the endpoints.
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

// Routes returns the routes of the endpoints.
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

// Share permits web pages of Options.Origins to call the routes. It adds CORS headers to their responses, and routes
// for preflight requests.
func (p *Protocol) Share(routes []kernel.Route) []kernel.Route {
	if len(p.Origins) == 0 {
		return routes
	}
	for i := range routes {
		routes[i].Serve = p.shared(routes[i].Serve)
		routes[i].Refused = func(h http.Header, r *http.Request) { _ = p.setCORS(h, r) }
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

// shared returns a handler that adds CORS headers to the responses of serve.
func (p *Protocol) shared(
	serve func(w http.ResponseWriter, r *http.Request) error,
) func(w http.ResponseWriter, r *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		_ = p.setCORS(w.Header(), r)
		return serve(w, r)
	}
}

// setCORS adds the CORS headers that let the web page that sent a request read the response. It reports whether it did
// so, which requires that the origin of the page is one of Options.Origins.
func (p *Protocol) setCORS(h http.Header, r *http.Request) bool {
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" || !slices.Contains(p.Origins, origin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "DPoP-Nonce, WWW-Authenticate")
	return true
}

// preflight answers the CORS preflight request of a browser.
func (p *Protocol) preflight(w http.ResponseWriter, r *http.Request) error {
	if p.setCORS(w.Header(), r) {
		w.Header().Set("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE")
		w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type, DPoP, MCP-Protocol-Version")
		w.Header().Set("Access-Control-Max-Age", "600")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// Headers of many responses. The responses share the slices, which net/http does not modify.
var (
	jsonType = []string{"application/json"}
	noStore  = []string{"no-store"}
	noCache  = []string{"no-cache"}
	fresh    = []string{"public, max-age=300"}
)

// write sends JSON that must not be cached.
func write(w http.ResponseWriter, status int, text []byte) error {
	h := w.Header()
	h["Content-Type"], h["Cache-Control"], h["Pragma"] = jsonType, noStore, noCache
	w.WriteHeader(status)
	_, _ = w.Write(text) // an error means that the client is gone
	return nil
}

// client authenticates the client that sent a request. If that fails, it sets WWW-Authenticate and records the refusal.
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

// refused records in the log and the audit feed why a client was not authenticated.
func (p *Protocol) refused(r *http.Request, e *clients.RefusedError) {
	client := strings.ToValidUTF8(e.Client, "\uFFFD")
	client = strings.ToValidUTF8(client[:min(len(client), maxNamed)], "") // without half a character at the end
	client = strings.ReplaceAll(client, "\x00", "\uFFFD")                 // PostgreSQL cannot store NUL
	p.Logger().Warn("a client was refused", zap.String("client_id", client),
		zap.String("method", e.Method), zap.String("reason", e.Reason),
		zap.String("path", r.URL.Path), zap.String("address", p.Address(r)))
	p.denied(r, client, kernel.InvalidClient, "method", e.Method, "cause", e.Reason)
}

// maxNamed is the maximum number of bytes of an unauthenticated client_id in the audit feed.
const maxNamed = 512

// denied counts a request that was refused because of its client, and records the reason in the audit feed. The
// parameter client is the client_id. The detail is a list of alternating names and values.
func (p *Protocol) denied(r *http.Request, client, reason string, detail ...string) {
	p.Count("auth_denied_total", reason)
	p.Audit(r.Context(), kernel.Event{
		Action: "auth.denied", Client: client, Address: p.Address(r),
		Detail: append([]string{"reason", reason, "path", r.URL.Path}, detail...),
	})
}
