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

// Unchecked reports whether no gateway_key comes before the handler that ctx provisions, so that no request reaches the
// handler with a checked key. It returns false if that cannot be determined, such as in a named route, which any other
// route may invoke.
func Unchecked(ctx caddy.Context) bool {
	server, ok := ctx.Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server)
	if !ok {
		return false
	}
	lineage := ctx.Modules() // the modules that are being provisioned, each inside the previous one
	appIndex := slices.IndexFunc(lineage, func(m caddy.Module) bool {
		_, isApp := m.(*caddyhttp.App)
		return isApp
	})
	// The walk follows the modules from the server's routes down to the handler. At each level, the routes before the
	// module's route run before the handler, and so do the handlers before the module in its route.
	routes := server.Routes
	for _, module := range lineage[appIndex+1:] {
		// Caddy clears HandlersRaw when it has provisioned a route. So the first route that still has HandlersRaw contains
		// the module.
		current := slices.IndexFunc(routes, func(r caddyhttp.Route) bool { return r.HandlersRaw != nil })
		if current < 0 || routesCheckKey(routes[:current], routes[current].Group) ||
			earlierHandlersCheckKey(routes[current].HandlersRaw, module) {
			return false
		}
		if module == ctx.Module() {
			return true
		}
		subroute, ok := module.(*caddyhttp.Subroute)
		if !ok {
			return false
		}
		routes = subroute.Routes
	}
	return false
}

// routesCheckKey reports whether any of the provisioned routes checks the key. It ignores routes that end the
// request. It also ignores the routes of group, the group of the handler's own route, because only one route of a
// group runs.
func routesCheckKey(routes caddyhttp.RouteList, group string) bool {
	return slices.ContainsFunc(routes, func(r caddyhttp.Route) bool {
		if r.Terminal || group != "" && r.Group == group {
			return false // a request that matches this route does not reach the handler
		}
		return slices.ContainsFunc(r.Handlers, func(h caddyhttp.MiddlewareHandler) bool {
			switch h := h.(type) {
			case *Handler:
				return isGatewayKey(h.provider)
			case *caddyauth.Authentication:
				return slices.ContainsFunc(slices.Collect(maps.Values(h.Providers)), isGatewayKey)
			case *caddyhttp.Subroute:
				return routesCheckKey(h.Routes, "")
			case *caddyhttp.Invoke:
				return true // the invoked route is not known yet
			}
			return false
		})
	})
}

func isGatewayKey(p caddyauth.Authenticator) bool {
	_, ok := p.(*GatewayKey)
	return ok
}

// earlierHandlersCheckKey reports whether one of the handlers before module checks the key. handlers is the JSON of a
// route that is being provisioned, in which module is identified by its name only. If several handlers have this name,
// the last one is taken for module, so that no warning is given without need.
func earlierHandlersCheckKey(handlers []json.RawMessage, module caddy.Module) bool {
	name := module.CaddyModule().ID.Name()
	last := -1 // if no handler has the name, none is before module
	for i, handler := range handlers {
		if gjson.GetBytes(handler, "handler").Str == name {
			last = i
		}
	}
	return slices.ContainsFunc(handlers[:max(last, 0)],
		func(h json.RawMessage) bool { return checksKey(gjson.ParseBytes(h)) })
}

// checksKey reports whether the handler in v, or any handler nested in that handler, checks the key.
func checksKey(v gjson.Result) (found bool) {
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
			found = checksKey(inner)
			return !found
		})
	}
	return found
}
