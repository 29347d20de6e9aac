package runevents

import (
	"net/http"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/runevents/query"
)

// Right is what a client needs for a route.
type Right int

// The rights.
const (
	Read Right = iota
	Submit
)

// Route is a row of the table of routes.
type Route struct {
	// Methods that the route serves.
	Methods []string
	// Path is a pattern of http.ServeMux behind the prefix.
	Path  string
	Right Right
	serve func(s *Service, w http.ResponseWriter, r *http.Request)
}

// Routes is the table of routes.
var Routes = []Route{
	{[]string{"POST"}, "/cmd/v1", Submit, (*Service).submit},
	{queryMethods, "/query/v4", Read, entity("")},
	{queryMethods, "/query/v4/events", Read, entity("events")},
	{queryMethods, "/query/v4/event-counts", Read, entity("event-counts")},
	{queryMethods, "/query/v4/aggregate-event-counts", Read, entity("aggregate-event-counts")},
	{queryMethods, "/query/v4/reports", Read, entity("reports")},
	{queryMethods, "/query/v4/reports/{report}/events", Read, entity("events")},
	{queryMethods, "/query/v4/reports/{report}/metrics", Read, entity("metrics")},
	{queryMethods, "/query/v4/reports/{report}/logs", Read, entity("logs")},
	{queryMethods, "/query/v4/nodes", Read, entity("nodes")},
	{queryMethods, "/query/v4/environments", Read, entity("environments")},
	{queryMethods, "/query/v4/environments/{environment}/events", Read, entity("events")},
	{queryMethods, "/query/v4/environments/{environment}/reports", Read, entity("reports")},
	{getMethods, "/meta/v1/version", Read, (*Service).version},
	{getMethods, "/status/v1/simple", Read, (*Service).status},
	{getMethods, "", Read, (*Service).toPage},
	{getMethods, "/{$}", Read, (*Service).page},
	{getMethods, "/dashboard/{file...}", Read, (*Service).pageFile},
}

var (
	queryMethods = []string{"GET", "POST"}
	getMethods   = []string{"GET"}
)

// entity answers queries of an entity.
func entity(name string) func(*Service, http.ResponseWriter, *http.Request) {
	return func(s *Service, w http.ResponseWriter, r *http.Request) {
		s.queries.Serve(w, r, name, query.Scope{Report: r.PathValue("report"), Environment: r.PathValue("environment")})
	}
}

// endpoint is a route with its service.
type endpoint struct {
	service *Service
	route   *Route
}

func (s *Service) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for i := range Routes {
		mux.Handle(s.o.Prefix+Routes[i].Path, &endpoint{s, &Routes[i]})
	}
	return mux
}

// Find is the right that a request needs. ok is false where no route has its
// path; ours tells then whether the path is below the prefix all the same.
func (s *Service) Find(r *http.Request) (need Right, ok, ours bool) {
	h, _ := s.mux.Handler(r) // a redirect to a cleaner path is no match
	if e, ok := h.(*endpoint); ok {
		return e.route.Right, true, true
	}
	rest, below := strings.CutPrefix(r.URL.Path, s.o.Prefix)
	return 0, false, below && (rest == "" || rest[0] == '/')
}

// ServeHTTP answers a request that Find knows, and others with 404.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Queries, which have two, refuse other methods in their own words.
	methods := e.route.Methods
	if len(methods) == 1 && r.Method != methods[0] && (r.Method != http.MethodHead || methods[0] != http.MethodGet) {
		w.Header().Set("Allow", methods[0])
		plain(w, http.StatusMethodNotAllowed, "this path takes "+methods[0]+" only")
		return
	}
	e.route.serve(e.service, w, r)
}

// apiVersion is the version of the reference whose interface this is.
const apiVersion = "7.12.0"

func (s *Service) version(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, `{"version":%q}`, apiVersion)
}

func (s *Service) status(w http.ResponseWriter, _ *http.Request) {
	if s.db.Ready() != nil {
		plain(w, http.StatusServiceUnavailable, "error")
		return
	}
	plain(w, http.StatusOK, "running")
}
