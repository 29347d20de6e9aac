package tollgate

import (
	"reflect"

	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// sitesState is the key of the sites in the state of an adapter.
const sitesState = "tollgate.sites"

// site is a block of a Caddyfile with lines `tollgate <service>`.
type site struct {
	helper  httpcaddyfile.Helper // keeps what identifies the block
	service string               // of the first line
	home    *caddyhttp.Route     // that of the home page; nil: there is none yet
}

// siteOf returns the site whose line is parsed; nil where Caddy does not tell it.
//
// A directive is not told in which block it is. All lines of a block share the map of its named matchers, though, and
// no other block has it, so the address of the map stands for the block.
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

// withHome returns the routes of a line: that of its service, and with the second service of a site that of a home
// page, if the site has none. A line `tollgate home` takes the place of a home page that has come by itself.
func withHome(h httpcaddyfile.Helper, service string, route caddyhttp.Route) ([]httpcaddyfile.ConfigValue, error) {
	routes := []httpcaddyfile.ConfigValue{{Class: "route", Value: route}}
	s := siteOf(h)
	switch {
	case s == nil:
		return routes, nil
	case service == homeService && s.home != nil:
		copy(s.home.HandlersRaw, route.HandlersRaw) // the route is among those of the site already, which share them
		copy(s.home.MatcherSetsRaw, route.MatcherSetsRaw)
		return nil, nil
	case service == homeService:
		s.home = &route
		return routes, nil
	case s.service == "":
		s.service = service
		return routes, nil
	case s.service == service || s.home != nil || registered[homeService] == nil:
		return routes, nil
	}
	long, err := registered[homeService].expand(make(map[string]any))
	if err != nil {
		return nil, err
	}
	home, err := expanded(h, homeService, long, nil)
	if err != nil {
		return nil, err
	}
	s.home = &home
	return append([]httpcaddyfile.ConfigValue{{Class: "route", Value: home}}, routes...), nil
}
