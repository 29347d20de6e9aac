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

// Presence describes a service to other parts of the configuration that look for it.
type Presence struct {
	Service string // its name in the configuration
	Title   string // for people, such as Forum
	Summary string // one line about what it is
	Path    string // of its first page for people; empty if it has none
	API     string // path of its API reference; empty if there is none
	// Visible reports whether the sender of the request may know of the service. Default: everybody may.
	Visible func(*http.Request) bool
}

// Present is implemented by handlers that are a service.
type Present interface{ Presence() Presence }

// Mounted is a service of the process with its addresses.
type Mounted struct {
	Presence
	Addresses []Address // of the handlers that returned the same Presence
}

// Address is where a handler can be reached according to the configuration.
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

// linkBase returns what precedes a path of the handler in a link on a page that r asks for: only the prefix if it is on the
// same site. near is smaller for nearer addresses. ok is false if the sender of r cannot get there.
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
	case strings.HasPrefix(a.Host, "*."):
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

// covers reports whether a site with the host of the address answers to a name.
func (a Address) covers(name string) bool {
	if rest, wild := strings.CutPrefix(a.Host, "*."); wild {
		_, parent, ok := strings.Cut(name, ".")
		return ok && strings.EqualFold(parent, rest)
	}
	return a.Host == "" || strings.EqualFold(a.Host, name)
}

// admits reports whether the matchers in front of the handler let a path pass.
func (a Address) admits(path string) bool {
	return len(a.paths) == 0 || slices.ContainsFunc(a.paths, func(pattern string) bool {
		if prefix, open := strings.CutSuffix(pattern, "*"); open {
			return strings.HasPrefix(a.Prefix+path, prefix)
		}
		return pattern == a.Prefix+path
	})
}

// URL returns the URL of a path of the service for the sender of r: a path if it is on the same site, and else an
// absolute URL. It returns "" if there is no such path or the sender cannot get there.
func (m *Mounted) URL(r *http.Request, path string) string {
	found, nearest := "", 0
	for _, a := range m.Addresses {
		if path == "" || !a.admits(path) {
			continue
		}
		if base, distance, ok := a.linkBase(r); ok && (found == "" || distance < nearest) {
			found, nearest = base+path, distance
		}
	}
	return found
}

// Services returns the services of the process that Presence.Visible shows to the sender of r. The home pages come
// first, and the others are sorted by title.
func (a *App) Services(r *http.Request) []*Mounted {
	return slices.DeleteFunc(a.AllServices(), func(m *Mounted) bool { return m.Visible != nil && !m.Visible(r) })
}

// AllServices returns all services of the process, in the order of Services. Only administrators may see them.
func (a *App) AllServices() []*Mounted {
	if all := a.mounted.Load(); all != nil {
		return slices.Clone(*all)
	}
	return nil
}

// Bar returns a function that returns what the bar at the top of the pages of a service shows.
func (a *App) Bar(service string) func(*http.Request) look.Bar {
	return func(r *http.Request) look.Bar {
		bar := look.Bar{Brand: a.BrandOfPages(), Current: service}
		for _, m := range a.Services(r) {
			if to := m.URL(r, m.Path); to != "" {
				bar.Services = append(bar.Services, look.Service{Name: m.Service, Title: m.Title, URL: to})
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
		for _, address := range listening(servers, server) {
			w.routes(server.Routes, address, 0)
		}
	}
	slices.SortStableFunc(all, func(m, n *Mounted) int {
		return cmp.Or(boolCompare(n.Service == homeService, m.Service == homeService), cmp.Compare(m.Title, n.Title))
	})
	a.mounted.Store(&all)
}

// homeService is the name of the service whose page lists the others.
const homeService = "home"

func boolCompare(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return 1
	}
	return -1
}

// listening returns the addresses on which a server listens, without hosts.
func listening(app *caddyhttp.App, server *caddyhttp.Server) (all []Address) {
	plain := cmp.Or(app.HTTPPort, caddyhttp.DefaultHTTPPort)
	for _, text := range server.Listen {
		address, err := caddy.ParseNetworkAddress(text)
		if err != nil || address.IsUnixNetwork() || address.IsFdNetwork() { // no URL leads there
			continue
		}
		a := Address{Scheme: "http", Here: ofMachine(address.Host)}
		if len(server.TLSConnPolicies) > 0 && int(address.StartPort) != plain {
			a.Scheme = "https"
		}
		if a.Port = strconv.FormatUint(uint64(address.StartPort), 10); a.Port == defaultPort(a.Scheme) {
			a.Port = ""
		}
		all = append(all, a)
	}
	return all
}

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

// ofMachine reports whether a host is a name or an address of this machine only.
func ofMachine(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || strings.HasSuffix(strings.ToLower(host), ".localhost") ||
		ip != nil && ip.IsLoopback()
}

// walk collects the services from the routes of a server.
type walk struct {
	server *caddyhttp.Server
	all    *[]*Mounted
}

// maxDepth limits how deep routes nest, since a named route may invoke itself.
const maxDepth = 50

func (w *walk) routes(routes caddyhttp.RouteList, address Address, depth int) {
	if depth > maxDepth {
		return
	}
	for _, route := range routes {
		if len(route.MatcherSets) == 0 { // later routes do not see what it strips from the path either
			address = w.handlers(route.Handlers, address, depth)
			continue
		}
		for _, inner := range narrowed(address, route.MatcherSets) {
			w.handlers(route.Handlers, inner, depth)
		}
	}
}

// handlers walks the handlers of a route and returns the address that applies to what follows them.
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

// narrowed returns the addresses that are left of one behind sets of matchers.
func narrowed(outer Address, sets caddyhttp.MatcherSets) []Address {
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
			address.Host, address.Here = host, outer.Here || ofMachine(host)
			all = append(all, address)
		}
	}
	return all
}

// resolveHosts resolves the placeholders of hosts. It leaves out hosts that depend on the request, since they have no address.
func resolveHosts(hosts []string) (all []string) {
	for _, host := range hosts {
		if host = caddy.NewReplacer().ReplaceKnown(host, ""); !strings.Contains(host, "{") && host != "" {
			all = append(all, host)
		}
	}
	return all
}

// add adds a handler to the service it belongs to.
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
	if previous := m.Visible; previous != nil {
		m.Visible = func(r *http.Request) bool { return previous(r) || p.Visible(r) }
	}
	m.Addresses = append(m.Addresses, address)
}
