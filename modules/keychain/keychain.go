// Package keychain serves the management API of the model gateway and its public information, and has the commands that
// manage users and keys.
package keychain

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/cascade"
	"github.com/tollgate-gateway/tollgate/backends/gateway/management"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/modules/apiauth"
	gatewayapp "github.com/tollgate-gateway/tollgate/modules/gateway"
	"github.com/tollgate-gateway/tollgate/modules/mailserver"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

func init() {
	caddy.RegisterModule(Handler{})
}

// Handler serves the management API of the model gateway. These routes need no credential:
//
//	GET /health        200, or 503 while a part is down: {"status","parts"}
//	GET /providers     the providers on offer
//	GET /models        all models of these providers, with tiers, limits and prices
//	GET /openapi.json  all routes, as OpenAPI 3.1
//	GET /docs, /redoc  pages that show the routes
//	GET /console/      pages with which users do what this API does
//
// The routes under /users, /keychain-keys and /operator need `api_auth user_jwt` or `api_auth oauth` before this
// handler. Users manage their keys, models and preferences, and see health and usage; operators manage users, teams and
// limits. /openapi.json lists all routes. Every other path goes to the next handler.
type Handler struct {
	// Console has the options of the console. Default: a console that signs in with tokens only.
	Console *Console `json:"console,omitempty"`

	// NewUsers determines the treatment of users who sign in for the first time. Default: they are admitted, without
	// limits.
	NewUsers *NewUsers `json:"new_users,omitempty"`

	// Teams are rules that add users to teams when they sign in. A user whom a rule matches is admitted regardless of
	// NewUsers. Default: no rules.
	Teams []TeamRule `json:"teams,omitempty"`

	// Operators may see and change all users, teams and limits with the routes below /operator. Default: nobody; then only
	// the command line can do this.
	Operators *People `json:"operators,omitempty"`

	// Auditors may see everything that operators see, but change nothing. Default: nobody.
	Auditors *People `json:"auditors,omitempty"`

	// Mail is the server that sends invitations and the mails of alerts. Default: no mail is sent.
	Mail *mailserver.Server `json:"mail,omitempty"`

	// Alerts configures the recipients and conditions of alerts. All handlers share the gateway, so only one handler of a
	// configuration can have this option. Default: no alerts.
	Alerts *Alerts `json:"alerts,omitempty"`

	// RequestLog is how long single requests stay in the usage log: at least an hour; a negative value keeps them for
	// ever. All handlers of a configuration share one log. Default: 90d.
	RequestLog caddy.Duration `json:"request_log,omitempty"`

	app     *gatewayapp.App
	logger  *zap.Logger
	service *management.Service
	router  *rest.Router
	console *management.Console // nil if the console is off
	once    *sync.Once          // passes the gateway to the service at the first request, when the app has started
}

// CaddyModule returns the Caddy module information.
func (Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.keychain",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision gets the app and checks the options.
func (h *Handler) Provision(ctx caddy.Context) error {
	app, err := gatewayapp.From(ctx)
	if err != nil {
		return err
	}
	h.app, h.logger, h.once = app, ctx.Logger(), new(sync.Once)
	if retention := time.Duration(h.RequestLog); retention != 0 {
		if retention > 0 && retention < time.Hour {
			return errors.New("request_log: must be at least 1h")
		}
		if err := app.KeepRequests(max(retention, 0)); err != nil { // 0 keeps them for ever
			return fmt.Errorf("request_log: %w", err)
		}
	}
	if err := h.provisionAlerts(ctx.Logger()); err != nil {
		return err
	}
	policy, err := h.NewUsers.policy()
	if err != nil {
		return fmt.Errorf("new_users: %w", err)
	}
	h.service = &management.Service{
		NewUsers: policy, Operators: h.Operators.who(), Auditors: h.Auditors.who(), Catalog: app.Catalog,
		Reprice: app.Reprice, Parts: app.Parts,
	}
	for i := range h.Teams {
		rule, err := h.Teams[i].rule()
		if err != nil {
			return fmt.Errorf("teams: rule %d: %w", i+1, err)
		}
		h.service.Teams = append(h.service.Teams, rule)
	}
	if h.service.Mail, err = h.transport(ctx.Logger()); err != nil {
		return err
	}
	h.router = rest.NewRouter("", h.service.Routes())
	h.service.Bar = app.Bar()
	h.console, err = h.Console.create(app.Bar())
	return err
}

// Presence implements tollgate.Present.
func (h *Handler) Presence() tollgate.Presence {
	p := tollgate.Presence{
		Service: gatewayapp.Name, Title: "Model gateway",
		Summary: "One address for many language models: keys, limits, usage and a playground.", API: "/docs",
	}
	if h.console != nil {
		p.Path = "/console/"
	}
	return p
}

// ServeHTTP serves the console and the management API, and passes other requests on.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	if h.console != nil && h.console.Find(r) {
		rest.NoSniff(w.Header())
		return withStatus(h.console.Serve(w, r))
	}
	if h.console != nil && r.URL.Path == "/" {
		gatewayapp.OfferConsole(r)
	}
	found, ok := h.router.Find(r)
	if !ok {
		return next.ServeHTTP(w, r)
	}
	return h.serve(w, r, found)
}

// serve answers a request for a route of the management API.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request, found rest.Found) error {
	rest.NoSniff(w.Header())
	defer h.app.Acquire()()
	gw, err := h.app.Gateway()
	if err != nil && !found.Guest() {
		return caddyhttp.Error(http.StatusServiceUnavailable, err)
	}
	if err != nil { // public routes do not need the gateway, and /health reports the error
		return withStatus(found.Serve(w, nil))
	}
	h.once.Do(func() {
		h.service.Keychain, h.service.Spending, h.service.Alerts = gw.Keychain, gw.Spending, gw.Alerts
		h.service.Engine = h.app.Engine(gw, cascade.Options{}.WithDefaults(), h.logger)
	})
	if subject, ok := apiauth.Subject(r); ok {
		return withStatus(found.Serve(w, management.NewCaller(subject.ID, subject.Claims)))
	}
	return withStatus(found.Serve(w, nil))
}

// withStatus wraps an error so that Caddy knows its HTTP status. Errors without a status, and nil, are returned
// unchanged.
func withStatus(err error) error {
	if e, ok := apierror.From(err); ok {
		return caddyhttp.Error(e.Status, err)
	}
	return err
}

// Interface guards
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddy.Validator             = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
	_ tollgate.Present            = (*Handler)(nil)
)
