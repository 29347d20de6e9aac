package tollgate

import (
	"cmp"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/rewrite"

	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/internal/loopback"
	"github.com/tollgate-gateway/tollgate/internal/origin"
	"github.com/tollgate-gateway/tollgate/modules/edge"
)

// Presence describes a service for pages that link to it.
type Presence struct {
	Service string // name in the configuration
	Title   string // for people, such as Forum
	Summary string // one line that describes the service
	Path    string // path of the first page for people; empty without pages
	API     string // path of the API reference; empty without an API reference
	// Visible reports whether the service may be shown to the sender of the request. Default: it is shown to everybody.
	Visible func(*http.Request) bool
}

// Present is implemented by handlers that serve a service.
type Present interface{ Presence() Presence }

// Mounted is a service of the process with the addresses of its handlers.
type Mounted struct {
	Presence
	Addresses []Address // of the handlers that returned the same Presence
}

// Address is an address at which a handler can be reached according to the configuration.
type Address struct {
	Scheme string
	Host   string // of the site; empty for any; may begin with *.
	Port   string // empty for the scheme's default
	Prefix string // path prefix that handle_path and the like strip before the handler sees the path
	Here   bool   // the server listens for this machine only, or the host is a name of this machine
	paths  caddyhttp.MatchPath
}

// String returns the address as a browser shows it, with the prefix but without a path.
func (a Address) String() string {
	host := cmp.Or(a.Host, "*")
	if a.Port != "" {
		host = net.JoinHostPort(host, a.Port)
	} else if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return a.Scheme + "://" + host + a.Prefix
}

// linkBase returns the beginning of links to paths of the handler, for the page that r requests. On the same site
// that is only the prefix. distance ranks the addresses of a service: the address with the smallest distance is
// preferred. distance is 0 on the same site, 1 with HTTPS and 2 with HTTP. ok is false if the sender of r cannot
// reach the handler.
func (a Address) linkBase(r *http.Request) (base string, distance int, ok bool) {
	name, port := splitHost(r.Host)
	scheme := origin.Scheme(r)
	if port == defaultPort(scheme) {
		port = ""
	}
	switch {
	case a.covers(name) && a.Scheme == scheme && a.Port == port:
		return a.Prefix, 0, true
	case a.Here && !loopback.Direct(r, edge.Address(r)):
		return "", 0, false
	case strings.HasPrefix(a.Host, "*."): // it is not known which of the names leads to the site
		return "", 0, false
	}
	site := a
	site.Host = cmp.Or(a.Host, name)
	distance = 2
	if a.Scheme == "https" {
		distance = 1
	}
	return site.String(), distance, true
}

// covers reports whether a site with the address's host serves the host with the given name.
func (a Address) covers(name string) bool {
	if domain, isWildcard := strings.CutPrefix(a.Host, "*."); isWildcard {
		_, parent, ok := strings.Cut(name, ".")
		return ok && strings.EqualFold(parent, domain)
	}
	return a.Host == "" || strings.EqualFold(a.Host, name)
}

// admits reports whether the matchers in front of the handler admit a path.
func (a Address) admits(path string) bool {
	return len(a.paths) == 0 || slices.ContainsFunc(a.paths, func(pattern string) bool {
		if prefix, isPrefix := strings.CutSuffix(pattern, "*"); isPrefix {
			return strings.HasPrefix(a.Prefix+path, prefix)
		}
		return pattern == a.Prefix+path
	})
}

// URL returns the URL of a path of the service for the sender of r: only a path if it is on the same site, otherwise an
// absolute URL. It returns "" if path is empty, or if the sender cannot reach the path.
func (m *Mounted) URL(r *http.Request, path string) string {
	url, nearest := "", 0
	for _, a := range m.Addresses {
		if path == "" || !a.admits(path) {
			continue
		}
		if base, distance, ok := a.linkBase(r); ok && (url == "" || distance < nearest) {
			url, nearest = base+path, distance
		}
	}
	return url
}

// Services returns the services of the process that may be shown to the sender of r. Home pages come first; the other
// services are sorted by title.
func (a *App) Services(r *http.Request) []*Mounted {
	return slices.DeleteFunc(a.AllServices(), func(m *Mounted) bool { return m.Visible != nil && !m.Visible(r) })
}

// AllServices returns all services of the process, in the order of Services. Only administrators may see this list.
func (a *App) AllServices() []*Mounted {
	if all := a.mounted.Load(); all != nil {
		return slices.Clone(*all)
	}
	return nil
}

// Bar returns a function that describes the bar at the top of a service's pages.
func (a *App) Bar(service string) func(*http.Request) look.Bar {
	return func(r *http.Request) look.Bar {
		bar := look.Bar{Brand: a.BrandOfPages(), Current: service}
		for _, m := range a.Services(r) {
			if href := m.URL(r, m.Path); href != "" {
				bar.Services = append(bar.Services, look.Service{Name: m.Service, Title: m.Title, URL: href})
			}
		}
		return bar
	}
}

// findServices collects the services by walking the servers of the configuration. It runs once all apps are
// provisioned.
func (a *App) findServices() {
	loaded, err := a.ctx.AppIfConfigured("http")
	servers, ok := loaded.(*caddyhttp.App)
	if err != nil || !ok { // the configuration has no servers
		return
	}
	var all []*Mounted
	for _, name := range slices.Sorted(maps.Keys(servers.Servers)) {
		server := servers.Servers[name]
		w := &walk{server: server, all: &all}
		for _, address := range listenAddresses(servers, server) {
			w.routes(server.Routes, address, 0)
		}
	}
	sortKey := func(m *Mounted) string {
		if m.Service == homeService {
			return "" // comes first
		}
		return m.Title
	}
	slices.SortStableFunc(all, func(m, n *Mounted) int { return cmp.Compare(sortKey(m), sortKey(n)) })
	a.mounted.Store(&all)
}

// homeService is the name of the service whose page lists all services.
const homeService = "home"

// listenAddresses returns the addresses on which a server of app listens, without host names.
func listenAddresses(app *caddyhttp.App, server *caddyhttp.Server) (list []Address) {
	httpPort := cmp.Or(app.HTTPPort, caddyhttp.DefaultHTTPPort)
	for _, text := range server.Listen {
		address, err := caddy.ParseNetworkAddress(text)
		if err != nil || address.IsUnixNetwork() || address.IsFdNetwork() { // no URL leads there
			continue
		}
		a := Address{Scheme: "http", Here: isLocalHost(address.Host)}
		if len(server.TLSConnPolicies) > 0 && int(address.StartPort) != httpPort {
			a.Scheme = "https"
		}
		if a.Port = strconv.FormatUint(uint64(address.StartPort), 10); a.Port == defaultPort(a.Scheme) {
			a.Port = ""
		}
		list = append(list, a)
	}
	return list
}

// defaultPort returns the port that URLs with the given scheme leave out. The scheme is http or https.
func defaultPort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}

// splitHost splits a host into its name and port, which may be empty.
func splitHost(host string) (name, port string) {
	if name, port, err := net.SplitHostPort(host); err == nil {
		return name, port
	}
	return strings.Trim(host, "[]"), ""
}

// isLocalHost reports whether a host is a name or an address that only this machine can reach.
func isLocalHost(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || strings.HasSuffix(strings.ToLower(host), ".localhost") ||
		ip != nil && ip.IsLoopback()
}

// walk walks the routes of a server and collects the services.
type walk struct {
	server *caddyhttp.Server
	all    *[]*Mounted
}

// maxDepth limits the nesting of routes, because a named route may invoke itself.
const maxDepth = 50

// routes walks the given routes. Requests reach these routes at address. depth is the nesting of the routes, and is 0
// for the routes of the server.
func (w *walk) routes(routes caddyhttp.RouteList, address Address, depth int) {
	if depth > maxDepth {
		return
	}
	for _, route := range routes {
		if len(route.MatcherSets) == 0 { // the route gets all requests, so later routes see paths without what it strips
			address = w.handlers(route.Handlers, address, depth)
			continue
		}
		for _, inner := range narrowAddress(address, route.MatcherSets) {
			w.handlers(route.Handlers, inner, depth)
		}
	}
}

// handlers walks the handlers of a route. Requests reach the route at address. handlers returns the address for the
// handlers and routes that follow: a rewrite handler adds the path prefix that it strips.
func (w *walk) handlers(handlers []caddyhttp.MiddlewareHandler, address Address, depth int) Address {
	for _, handler := range handlers {
		switch handler := handler.(type) {
		case *caddyhttp.Subroute:
			w.routes(handler.Routes, address, depth+1)
		case *caddyhttp.Invoke:
			if named := w.server.NamedRoutes[handler.Name]; named != nil {
				w.routes(caddyhttp.RouteList{*named}, address, depth+1)
			}
		case *rewrite.Rewrite:
			if strip := handler.StripPathPrefix; strip != "" && !strings.Contains(strip, "{") {
				address.Prefix += "/" + strings.Trim(strip, "/")
			}
		case Present:
			w.add(handler.Presence(), address)
		}
	}
	return address
}

// narrowAddress returns the addresses of the handlers behind matchers. outer is the address in front of the matchers.
// Each result is outer, limited to the hosts and paths that a matcher set admits. Other matchers are ignored. A
// matcher may be loaded as a value or as a pointer.
func narrowAddress(outer Address, sets caddyhttp.MatcherSets) []Address {
	all := make([]Address, 0, len(sets))
	for _, set := range sets {
		narrow := outer
		hosts := []string{outer.Host}
		for _, matcher := range set {
			switch matcher := matcher.(type) {
			case caddyhttp.MatchHost:
				hosts = resolveHosts(matcher)
			case *caddyhttp.MatchHost:
				hosts = resolveHosts(*matcher)
			case caddyhttp.MatchPath:
				narrow.paths = matcher
			case *caddyhttp.MatchPath:
				narrow.paths = *matcher
			}
		}
		for _, host := range hosts {
			address := narrow
			address.Host, address.Here = host, outer.Here || isLocalHost(host)
			all = append(all, address)
		}
	}
	return all
}

// resolveHosts resolves the placeholders of hosts. Hosts that depend on the request are left out, because they have no
// fixed address.
func resolveHosts(hosts []string) (list []string) {
	for _, host := range hosts {
		if host = caddy.NewReplacer().ReplaceKnown(host, ""); !strings.Contains(host, "{") && host != "" {
			list = append(list, host)
		}
	}
	return list
}

// add adds a handler with the presence p. Handlers with an equal presence become one Mounted with several addresses.
// This Mounted is visible if one of the handlers is visible.
func (w *walk) add(p Presence, address Address) {
	i := slices.IndexFunc(*w.all, func(m *Mounted) bool {
		return m.Service == p.Service && m.Title == p.Title && m.Path == p.Path && m.API == p.API &&
			(m.Visible == nil) == (p.Visible == nil)
	})
	if i < 0 {
		*w.all = append(*w.all, &Mounted{Presence: p, Addresses: []Address{address}})
		return
	}
	m := (*w.all)[i]
	if previous := m.Visible; previous != nil { // then p.Visible is not nil either
		m.Visible = func(r *http.Request) bool { return previous(r) || p.Visible(r) }
	}
	m.Addresses = append(m.Addresses, address)
}
