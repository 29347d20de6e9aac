package authserver

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/ratelimit"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// site serves the routes of one listener.
type site struct {
	kernel *kernel.Server
	paths  rest.Paths[*endpoint]
	// mount is the path of the issuer. A request's path may begin with mount, or a proxy may have removed that prefix.
	// It is empty if the issuer has no path.
	mount string
	// limiter limits the requests of each address. If it is nil, there is no limit.
	limiter *ratelimit.Limiter
	// refuse writes an error as the response.
	refuse func(w http.ResponseWriter, err error)
}

// endpoint holds the routes of one path, by HTTP method.
type endpoint struct {
	methods map[string]kernel.Route
	allow   string                               // the value of the header Allow
	free    bool                                 // not subject to the rate limit
	refused func(h http.Header, r *http.Request) // adds headers to refused requests; may be nil
}

// addRefusedHeaders adds the headers that the routes of the path define for refused requests; see kernel.Route.Refused.
func (p *endpoint) addRefusedHeaders(w http.ResponseWriter, r *http.Request) {
	if p.refused != nil {
		p.refused(w.Header(), r)
	}
}

// newSite returns a site with the routes of all tables. It panics if two routes have the same method and path.
func newSite(k *kernel.Server, tables ...[]kernel.Route) *site {
	s := &site{kernel: k, refuse: kernel.WriteError}
	endpoints := make(map[string]*endpoint) // by path
	for _, route := range slices.Concat(tables...) {
		p := endpoints[route.Path]
		if p == nil {
			p = &endpoint{methods: make(map[string]kernel.Route)}
			endpoints[route.Path] = p
			s.paths.Add(route.Path, p)
		}
		if _, exists := p.methods[route.Method]; exists {
			panic("two routes for " + route.Method + " " + route.Path)
		}
		p.methods[route.Method] = route
		if route.Refused != nil {
			p.refused = route.Refused
		}
	}
	for path, p := range endpoints {
		p.free = path == "/livez" || path == "/health" || path == "/ready" // health checks must always get through
		if get, ok := p.methods[http.MethodGet]; ok && !get.Acts {
			p.methods[http.MethodHead] = get
		}
		methods := make([]string, 0, len(p.methods))
		for method := range p.methods {
			methods = append(methods, method)
		}
		slices.Sort(methods)
		p.allow = strings.Join(methods, ", ")
	}
	return s
}

// owns reports whether the site has a route for the path of a request, with any method.
func (s *site) owns(r *http.Request) bool {
	_, ok := s.paths.Find(s.below(r))
	return ok
}

// below returns a copy of the request whose path lacks the prefix s.mount. If the path of the request does not begin
// with that prefix, below returns the request unchanged.
func (s *site) below(r *http.Request) *http.Request {
	path, ok := strings.CutPrefix(r.URL.Path, s.mount)
	if s.mount == "" || !ok || path != "" && path[0] != '/' {
		return r
	}
	below, url := *r, *r.URL
	url.Path = cmp.Or(path, "/")
	url.RawPath = strings.TrimPrefix(url.RawPath, s.mount)
	below.URL = &url
	return &below
}

// ServeHTTP implements http.Handler. It logs internal errors.
func (s *site) ServeHTTP(w http.ResponseWriter, original *http.Request) {
	rest.NoSniff(w.Header())
	r := s.below(original)
	err := s.serve(w, r)
	original.Pattern = r.Pattern // for the metrics and traces of the caller
	if err != nil {
		e, ok := apierror.From(err)
		if !ok || e.Status >= http.StatusInternalServerError {
			s.kernel.Logger().Error("request failed", zap.String("path", r.Pattern), zap.String("trace_id",
				s.kernel.TraceID(r.Context())), zap.String("span_id", s.kernel.SpanID(r.Context())), zap.Error(err))
		}
		s.refuse(w, err)
	}
}

// serve calls the route of a request. It returns the error of the route, or an error if there is no such route or the
// client exceeds the rate limit. The caller writes the error.
func (s *site) serve(w http.ResponseWriter, r *http.Request) error {
	p, ok := s.paths.Find(r)
	if !ok {
		return apierror.New(http.StatusNotFound, "no_such_route", "there is no such path")
	}
	route, ok := p.methods[r.Method]
	// Preflight requests are not limited: a web page could not read the reason of a refusal.
	free := p.free || ok && r.Method == http.MethodOptions
	if s.limiter != nil && !free && !s.limiter.Allow(kernel.Network(s.kernel.Address(r))) {
		p.addRefusedHeaders(w, r)
		return kernel.TooMany()
	}
	if !ok {
		p.addRefusedHeaders(w, r)
		w.Header().Set("Allow", p.allow)
		return apierror.New(http.StatusMethodNotAllowed, "method_not_allowed", "use %s", p.allow)
	}
	return route.Serve(w, r)
}
