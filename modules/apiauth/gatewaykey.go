package apiauth

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/caddyauth"

	"github.com/tollgate-gateway/tollgate/backends/gateway"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/modules/directive"
	gatewayapp "github.com/tollgate-gateway/tollgate/modules/gateway"
)

func init() {
	caddy.RegisterModule(GatewayKey{})
}

// identityVar is the request variable that holds the *keychain.Identity.
const identityVar = "tollgate.gateway_key"

// GatewayKey checks the gateway keys (ak-…) that the keychain issues. A key is sent as `Authorization: Bearer ak-…` or
// as `x-api-key: ak-…`. If both headers are sent, only Authorization counts, even with another scheme. A header that is
// sent twice is refused, because two servers might use different values. A revoked key is refused at once on the node
// where it was revoked, and within 5 seconds on other nodes.
//
// Caddy's logs redact Authorization but not X-Api-Key. The global option
//
//	log {
//		format filter {
//			request>headers>X-Api-Key delete
//		}
//	}
//
// removes the key from logs. A warning is logged for a site whose access log has no such filter.
//
// Placeholders, beside {http.auth.user.id}:
//
//	{http.auth.user.key_id}                 id of the key, which is not secret
//	{http.auth.user.key_label}              label of the key
//	{http.auth.user.rate_limit_per_minute}  the lowest limit of requests a minute; empty without a limit
//
// Several keys share the operator's limits. These placeholders are for budgets that count such limits:
//
//	{http.auth.user.operator_key_id}                   the key that the operator's limits were set on
//	{http.auth.user.operator_key_rate_limit}           requests per minute of all keys that share them
//	{http.auth.user.operator_user_rate_limit}          requests per minute of all keys of the user
//	{http.auth.user.operator_team_id}                  the team that the operator's limits were set on
//	{http.auth.user.operator_team_rate_limit}          requests per minute of all keys that count for the team
//	{http.auth.user.operator_organisation_rate_limit}  requests per minute of all users together
type GatewayKey struct {
	app *gatewayapp.App
}

// CaddyModule returns the Caddy module information.
func (GatewayKey) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.authentication.providers.gateway_key",
		New: func() caddy.Module { return new(GatewayKey) },
	}
}

// Provision gets the app with the keychain.
func (g *GatewayKey) Provision(ctx caddy.Context) (err error) {
	if g.app, err = gatewayapp.From(ctx); err != nil {
		return err
	}
	warnOfShownKeys(ctx)
	return nil
}

// Authenticate implements caddyauth.Authenticator, for Caddy's own authentication handler.
func (g *GatewayKey) Authenticate(_ http.ResponseWriter, r *http.Request) (caddyauth.User, bool, error) {
	identity, err := g.identify(r)
	if err != nil {
		return caddyauth.User{}, false, err
	}
	values := make(map[string]string, len(userNames))
	for _, name := range userNames {
		value, _ := userValue(identity, name)
		values[name], _ = value.(string)
	}
	return caddyauth.User{ID: identity.UserID, Metadata: values}, true, nil
}

// identify returns the owner of the key that was sent, and stores the owner in the request for later handlers.
func (g *GatewayKey) identify(r *http.Request) (*keychain.Identity, error) {
	key, err := credential(r.Header)
	hide(r.Header)
	if err != nil {
		return nil, err
	}
	if key == "" {
		return nil, apierror.New(http.StatusUnauthorized, "invalid_api_key",
			"no gateway key was sent: send it as Authorization: Bearer ak-… or as x-api-key: ak-…")
	}
	service, err := g.app.Gateway()
	if err != nil {
		return nil, err
	}
	identity, err := service.Keychain.Authenticate(r.Context(), key)
	if err != nil {
		return nil, gateway.Unavailable(err)
	}
	caddyhttp.SetVar(r.Context(), identityVar, identity)
	return identity, nil
}

// userNames are the names that userValue accepts, except id.
var userNames = []string{
	"key_id", "key_label", "rate_limit_per_minute", "operator_key_id", "operator_key_rate_limit",
	"operator_user_rate_limit", "operator_team_id", "operator_team_rate_limit", "operator_organisation_rate_limit",
}

// userValue returns the value of the placeholder {http.auth.user.<name>} for the owner of a key. It returns false for
// an unknown name.
func userValue(identity *keychain.Identity, name string) (any, bool) {
	switch name {
	case "id":
		return identity.UserID, true
	case "key_id":
		return identity.KeyID, true
	case "key_label":
		return identity.Label, true
	case "rate_limit_per_minute":
		return formatNumber(identity.RateLimit()), true
	case "operator_key_id":
		holder, _ := identity.ImposedRate(keychain.OnKey)
		return holder, true
	case "operator_key_rate_limit":
		_, limit := identity.ImposedRate(keychain.OnKey)
		return formatNumber(limit), true
	case "operator_user_rate_limit":
		_, limit := identity.ImposedRate(keychain.OnUser)
		return formatNumber(limit), true
	case "operator_team_id":
		holder, _ := identity.ImposedRate(keychain.OnTeam)
		return holder, true
	case "operator_team_rate_limit":
		_, limit := identity.ImposedRate(keychain.OnTeam)
		return formatNumber(limit), true
	case "operator_organisation_rate_limit":
		_, limit := identity.ImposedRate(keychain.OnOrganisation)
		return formatNumber(limit), true
	}
	return nil, false
}

// formatNumber formats a number, or returns "" for nil.
func formatNumber(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

// Identity returns the owner of the request's key. It returns false if the request has not passed api_auth gateway_key.
func Identity(r *http.Request) (*keychain.Identity, bool) {
	identity, ok := caddyhttp.GetVar(r.Context(), identityVar).(*keychain.Identity)
	return identity, ok
}

// hide moves the key from X-Api-Key to Authorization, which Caddy treats as secret. Handlers that log or forward
// headers then need to protect only Authorization. If Authorization already has a value, the key in X-Api-Key is
// dropped. Access logs use an earlier copy of the headers; see warnOfShownKeys.
func hide(h http.Header) {
	values := h["X-Api-Key"]
	if len(values) == 0 {
		return
	}
	delete(h, "X-Api-Key")
	if len(h["Authorization"]) == 0 || strings.TrimSpace(h["Authorization"][0]) == "" {
		h["Authorization"] = []string{"Bearer " + values[0]}
	}
}

// credential returns the key of a request, or "" if no key was sent. An Authorization header that is not blank takes
// precedence over x-api-key, even if it has another scheme or contains no key.
func credential(h http.Header) (string, error) {
	for _, name := range [...]string{"Authorization", "X-Api-Key"} {
		if len(h[name]) > 1 {
			return "", apierror.New(http.StatusUnauthorized, "invalid_api_key", "more than one %s header was sent: send one",
				name)
		}
	}
	if values := h["Authorization"]; len(values) > 0 {
		if value := strings.TrimSpace(values[0]); value != "" {
			scheme, key, _ := strings.Cut(value, " ")
			if !strings.EqualFold(scheme, "Bearer") {
				return "", nil
			}
			return strings.TrimSpace(key), nil
		}
	}
	if values := h["X-Api-Key"]; len(values) > 0 {
		return strings.TrimSpace(values[0]), nil
	}
	return "", nil
}

// UnmarshalCaddyfile sets up the provider; it has no options.
func (g *GatewayKey) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // gateway_key
	if d.NextArg() {
		return d.ArgErr()
	}
	for d.NextBlock(0) {
		return directive.NoOption(d, "gateway_key has no option %q", d.Val())
	}
	return nil
}

// Interface guards
var (
	_ caddy.Provisioner       = (*GatewayKey)(nil)
	_ caddyauth.Authenticator = (*GatewayKey)(nil)
	_ caddyfile.Unmarshaler   = (*GatewayKey)(nil)
)
