// Package apiauth contains the middleware api_auth and its providers.
package apiauth

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/caddyauth"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

func init() {
	caddy.RegisterModule(Handler{})
}

// userPrefix begins the names of all placeholders about the user.
const userPrefix = "http.auth.user."

// Handler lets a request pass only with a valid credential. Its provider, any module of http.authentication.providers,
// checks the credential. Caddy's own handler for authentication accepts several providers but hides their errors. This
// handler returns the provider's error, so that api_errors can show the client the reason.
//
// Placeholders:
//
//	{http.auth.user.id}   the user
//	{http.auth.user.*}    other values, which depend on the provider
//
// Errors: 401 invalid_api_key (with WWW-Authenticate: Bearer) for a missing or invalid credential; 503 while the
// provider's database cannot be reached.
type Handler struct {
	// ProviderRaw is the provider that checks the credential. Required.
	ProviderRaw json.RawMessage `json:"provider,omitempty" caddy:"namespace=http.authentication.providers inline_key=provider"`

	provider caddyauth.Authenticator
}

// CaddyModule returns the Caddy module information.
func (Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.api_auth",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision loads the provider.
func (h *Handler) Provision(ctx caddy.Context) error {
	if h.ProviderRaw == nil {
		return fmt.Errorf("a provider is required")
	}
	loaded, err := ctx.LoadModule(h, "ProviderRaw")
	if err != nil {
		return fmt.Errorf("provider: %w", err)
	}
	provider, ok := loaded.(caddyauth.Authenticator)
	if !ok {
		return fmt.Errorf("provider: module %T is not an authentication provider", loaded)
	}
	h.provider = provider
	return nil
}

// ServeHTTP checks the credential of the request and runs the next handlers, or refuses the request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	if o, ok := h.provider.(*OAuth); ok && o.serve(w, r) {
		return nil
	}
	placeholders, err := h.authenticate(w, r)
	if err != nil {
		return refuse(w, err)
	}
	repl := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	repl.Map(placeholders)
	return next.ServeHTTP(w, r)
}

// refuse returns the error for a request whose credential was refused with err. The status is that of err, or 401 if
// err has no status. With the status 401, refuse also sets a challenge, unless the provider has set one.
func refuse(w http.ResponseWriter, err error) error {
	status := http.StatusUnauthorized
	if refusal, known := apierror.From(err); known {
		status = refusal.Status
	}
	if status == http.StatusUnauthorized && w.Header().Get("WWW-Authenticate") == "" {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	return caddyhttp.Error(status, err)
}

// authenticate checks the credential of a request and returns the placeholders of the user.
func (h *Handler) authenticate(w http.ResponseWriter, r *http.Request) (caddy.ReplacerFunc, error) {
	if gatewayKey, ok := h.provider.(*GatewayKey); ok { // Authenticate would allocate a map for the placeholders
		identity, err := gatewayKey.identify(r)
		if err != nil {
			return nil, err
		}
		return func(key string) (any, bool) {
			if name, found := strings.CutPrefix(key, userPrefix); found {
				return userValue(identity, name)
			}
			return nil, false
		}, nil
	}
	user, ok, err := h.provider.Authenticate(w, r)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, apierror.New(http.StatusUnauthorized, "invalid_api_key", "this request needs a valid credential")
	}
	return func(key string) (any, bool) {
		name, found := strings.CutPrefix(key, userPrefix)
		if !found {
			return nil, false
		}
		if name == "id" {
			return user.ID, true
		}
		value, known := user.Metadata[name]
		return value, known
	}, nil
}

// Interface guards
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
)
