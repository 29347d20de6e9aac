package apiauth

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/caddyauth"
	"github.com/tidwall/gjson"
)

// Unchecked reports whether the handler that ctx provisions has no gateway_key before
// it, so that no request comes to it with a key that was checked. What cannot be seen,
// such as who invokes a named route, is not reported.
func Unchecked(ctx caddy.Context) bool {
	server, ok := ctx.Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server)
	if !ok {
		return false
	}
	lineage := ctx.Modules()
	from := slices.IndexFunc(lineage, func(m caddy.Module) bool {
		_, app := m.(*caddyhttp.App)
		return app
	})
	routes := server.Routes
	for _, module := range lineage[from+1:] {
		at := slices.IndexFunc(routes, func(r caddyhttp.Route) bool { return r.HandlersRaw != nil })
		if at < 0 || routesCheck(routes[:at], routes[at].Group) || rawCheck(routes[at].HandlersRaw, module) {
			return false
		}
		if module == ctx.Module() {
			return true
		}
		inner, ok := module.(*caddyhttp.Subroute)
		if !ok {
			return false
		}
		routes = inner.Routes
	}
	return false
}

// routesCheck looks for the check in provisioned routes that one of group may come behind.
func routesCheck(routes caddyhttp.RouteList, group string) bool {
	return slices.ContainsFunc(routes, func(r caddyhttp.Route) bool {
		if r.Terminal || group != "" && r.Group == group {
			return false // what goes there comes no further
		}
		return slices.ContainsFunc(r.Handlers, func(h caddyhttp.MiddlewareHandler) bool {
			switch h := h.(type) {
			case *Handler:
				return isGatewayKey(h.provider)
			case *caddyauth.Authentication:
				return slices.ContainsFunc(slices.Collect(maps.Values(h.Providers)), isGatewayKey)
			case *caddyhttp.Subroute:
				return routesCheck(h.Routes, "")
			case *caddyhttp.Invoke:
				return true // what it does cannot be seen yet
			}
			return false
		})
	})
}

func isGatewayKey(p caddyauth.Authenticator) bool {
	_, ok := p.(*GatewayKey)
	return ok
}

// rawCheck looks for the check in the handlers before module of a route that is being
// provisioned.
func rawCheck(handlers []json.RawMessage, module caddy.Module) bool {
	name := module.CaddyModule().ID.Name()
	last := -1
	for i, handler := range handlers {
		if gjson.GetBytes(handler, "handler").Str == name {
			last = i
		}
	}
	return slices.ContainsFunc(handlers[:max(last, 0)], func(h json.RawMessage) bool { return checks(gjson.ParseBytes(h)) })
}

// checks looks into a handler and those within.
func checks(v gjson.Result) (found bool) {
	switch v.Get("handler").Str {
	case "api_auth":
		return v.Get("provider.provider").Str == "gateway_key"
	case "authentication":
		return v.Get("providers.gateway_key").Exists()
	case "invoke":
		return true
	}
	if v.IsObject() || v.IsArray() {
		v.ForEach(func(_, inner gjson.Result) bool {
			found = checks(inner)
			return !found
		})
	}
	return found
}
