package tollgate

import (
	"reflect"

	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// sitesState is the key of the sites in the state of Caddy's Caddyfile adapter.
const sitesState = "tollgate.sites"

// site is a site block of a Caddyfile with lines `tollgate <service>`.
type site struct {
	helper  httpcaddyfile.Helper // keeps the map in memory whose address identifies the block
	service string               // service of the block's first line; "" if there is no line yet
	home    *caddyhttp.Route     // route of the home page; nil if there is none yet
}

// siteOf returns the site of the line that is being parsed, or nil if that cannot be determined.
//
// Caddy does not pass a directive its block. But all lines of a block share one map of named matchers, and no other
// block has the same map, so the map's address identifies the block.
func siteOf(h httpcaddyfile.Helper) *site {
	matchers := reflect.ValueOf(h).FieldByName("matcherDefs")
	if matchers.Kind() != reflect.Map || matchers.IsNil() || h.State == nil {
		return nil
	}
	sites, ok := h.State[sitesState].(map[uintptr]*site)
	if !ok {
		sites = make(map[uintptr]*site)
		h.State[sitesState] = sites
	}
	s := sites[matchers.Pointer()]
	if s == nil {
		s = &site{helper: h}
		sites[matchers.Pointer()] = s
	}
	return s
}

// withHome returns the routes of a line `tollgate <service>`: the route of its service and, if the service is the
// second of its site and the site has no home page, the route of a home page. A line `tollgate home` replaces a home
// page that was added automatically.
func withHome(h httpcaddyfile.Helper, service string, route caddyhttp.Route) ([]httpcaddyfile.ConfigValue, error) {
	routes := []httpcaddyfile.ConfigValue{{Class: "route", Value: route}}
	s := siteOf(h)
	switch {
	case s == nil:
		return routes, nil
	case service == homeService && s.home != nil:
		// The site already has a copy of the home page's route that was added automatically. The copy shares its slices with
		// s.home, so the new route is copied into them. Both routes have one handler and one set of matchers.
		copy(s.home.HandlersRaw, route.HandlersRaw)
		copy(s.home.MatcherSetsRaw, route.MatcherSetsRaw)
		return nil, nil
	case service == homeService:
		s.home = &route
		return routes, nil
	case s.service == "": // the first line of the site
		s.service = service
		return routes, nil
	case s.service == service || s.home != nil || registered[homeService] == nil:
		// There is a single service or already a home page, or this build has no home page.
		return routes, nil
	}
	long, err := registered[homeService].expand(make(map[string]any))
	if err != nil {
		return nil, err
	}
	home, err := parseLongForm(h, homeService, long, nil)
	if err != nil {
		return nil, err
	}
	s.home = &home
	return append([]httpcaddyfile.ConfigValue{{Class: "route", Value: home}}, routes...), nil
}
