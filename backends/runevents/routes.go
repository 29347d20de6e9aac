package runevents

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/runevents/query"
	"github.com/tollgate-gateway/tollgate/backends/runevents/query/syntax"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// Right is the right that a client needs for a route.
type Right int

// The rights. Public routes return no data.
const (
	Public Right = iota
	Read
	Submit
)

// Route is a row of the routes table.
type Route struct {
	// Methods are the HTTP methods of the route.
	Methods []string
	// Path is a pattern for http.ServeMux, relative to the prefix.
	Path  string
	Right Right
	// Beside means that the reference implementation serves the path beside "/pdb", not below it: /metrics/v2/list
	// instead of /pdb/metrics/v2/list. If the prefix ends with "/pdb", the route is served at both paths.
	Beside bool
	// Cost is the cost of a request in a client's budget.
	Cost int64
	// Entity is the entity that a query route returns. It is empty if the query itself names the entity, or if the
	// route is not for queries.
	Entity string

	serve func(e *Endpoint, w http.ResponseWriter, r *http.Request)
	// summary and description are for the OpenAPI document. The document does not contain routes without a summary.
	summary, description string
	// answer is the name of the answer's schema. alsoStatuses lists the statuses that have this answer, besides 200.
	answer       string
	alsoStatuses []int
}

// Routes returns the routes table.
func Routes() []Route {
	return slices.Concat(ownRoutes(), absentRoutes())
}

// queryRoute returns a route for queries of an entity. path is the path below /query/v4.
func queryRoute(path, entity string, cost int64, answer, summary string) Route {
	return Route{
		Methods: queryMethods, Path: "/query/v4" + path, Right: Read, Cost: cost, Entity: entity, serve: (*Endpoint).ask,
		answer: answer, summary: summary,
	}
}

// ownRoutes returns the routes for entities that are stored, and for the service itself.
func ownRoutes() []Route {
	return []Route{
		{
			Methods: postMethods, Path: "/cmd/v1", Right: Submit, Cost: 1, serve: (*Endpoint).submit, answer: "Acknowledgement",
			summary: "Submit a command", description: "The answer is sent after the commit. A report that is already stored is ignored.",
		},
		{
			Methods: queryMethods, Path: "/query/v4", Right: Read, Cost: 10, serve: (*Endpoint).ask, answer: "AnyRows",
			summary: "Query any entity", description: "The query is PQL text, or JSON of the form [\"from\", entity, query].",
		},
		queryRoute("/events", "events", 5, "Events", "Query events"),
		queryRoute("/event-counts", "event-counts", 10, "EventCounts", "Count events by subject"),
		queryRoute("/aggregate-event-counts", "aggregate-event-counts", 10, "AggregateEventCounts",
			"Count the subjects of events"),
		queryRoute("/reports", "reports", 5, "Reports", "Query reports"),
		queryRoute("/reports/{report}/events", "events", 1, "Events", "Query the events of a report"),
		queryRoute("/reports/{report}/metrics", "metrics", 1, "Metrics", "Show the metrics of a report"),
		queryRoute("/reports/{report}/logs", "logs", 1, "Logs", "Show the log of a report"),
		queryRoute("/nodes", "nodes", 2, "Nodes", "Query nodes"),
		queryRoute("/nodes/{node}", "node", 1, "Node", "Show a node, active or not"),
		queryRoute("/environments", "environments", 1, "Environments", "Query environments"),
		queryRoute("/environments/{environment}", "environment", 1, "Environment", "Show an environment"),
		queryRoute("/environments/{environment}/events", "events", 5, "Events", "Query the events of an environment"),
		queryRoute("/environments/{environment}/reports", "reports", 5, "Reports", "Query the reports of an environment"),
		queryRoute("/producers", "producers", 1, "Producers", "Query the servers that reports came from"),
		queryRoute("/producers/{producer}", "producer", 1, "Producer", "Show a server that reports came from"),
		queryRoute("/producers/{producer}/reports", "reports", 5, "Reports", "Query the reports that came from a server"),
		{
			Methods: getMethods, Path: "/meta/v1/server-time", Right: Read, serve: (*Endpoint).time, answer: "ServerTime",
			summary: "Show the time of this server",
		},
		{
			Methods: getMethods, Path: "/meta/v1/version", Right: Read, serve: (*Endpoint).version, answer: "Version",
			summary: "Show the version of the interface",
		},
		{
			Methods: getMethods, Path: "/metrics/v2/list", Right: Read, Beside: true, Cost: 1, Entity: "mbeans",
			serve: (*Endpoint).ask, answer: "Beans", summary: "List the beans",
		},
		{
			Methods: getMethods, Path: "/metrics/v2/read/{mbean...}", Right: Read, Beside: true, Cost: 1, Entity: "mbean",
			serve: (*Endpoint).ask, answer: "Bean",
			summary: "Show the value of a bean", description: "The number of nodes or resources, in the format of Jolokia.",
		},
		{
			Methods: getMethods, Path: StatusPath, Right: Public, Beside: true, serve: (*Endpoint).status,
			summary: "Show whether the service works",
		},
		{
			Methods: getMethods, Path: "/status/v1/services", Right: Read, Beside: true, serve: (*Endpoint).services,
			answer: "Services", alsoStatuses: statusAlso, summary: "Show the status of all services", description: statusDescription,
		},
		{
			Methods: getMethods, Path: "/status/v1/services/puppetdb-status", Right: Read, Beside: true,
			serve: (*Endpoint).services, answer: "ServiceStatus", alsoStatuses: statusAlso,
			summary: "Show the status of this service", description: statusDescription,
		},
		{
			Methods: getMethods, Path: "/openapi.json", Right: Public, serve: (*Endpoint).document, answer: "Document",
			summary: "Show this document",
		},
		{Methods: getMethods, Path: "", Right: Public, serve: (*Endpoint).redirectToPage},
		{Methods: getMethods, Path: "/{$}", Right: Public, serve: (*Endpoint).page},
		{Methods: getMethods, Path: "/dashboard/{file...}", Right: Public, serve: (*Endpoint).pageFile},
	}
}

// absentRoutes returns the routes for entities that are never stored. Dashboards request them nevertheless, and would
// treat a 404 as a failure.
func absentRoutes() []Route {
	facts := []string{"", "/{name}", "/{name}/{value...}"}
	resources := []string{"", "/{type}", "/{type}/{title...}"}
	var list []Route
	// add adds a route for each suffix of the path.
	add := func(entity, summary, path string, suffixes ...string) {
		for _, suffix := range suffixes {
			route := queryRoute(path+suffix, entity, 1, "AnyRows", summary)
			route.description = "This service does not store them, so the list is empty."
			list = append(list, route)
		}
	}
	add("facts", "Query facts", "/facts", facts...)
	add("facts", "Query the facts of a node", "/nodes/{node}/facts", facts...)
	add("facts", "Query the facts of an environment", "/environments/{environment}/facts", facts...)
	add("resources", "Query resources", "/resources", resources...)
	add("resources", "Query the resources of a node", "/nodes/{node}/resources", resources...)
	add("resources", "Query the resources of an environment", "/environments/{environment}/resources", resources...)
	add("resources", "Query the resources of a catalog", "/catalogs/{node}/resources", resources...)
	add("edges", "Query the edges of a catalog", "/catalogs/{node}/edges", "")
	add("catalogs", "Query the catalogs of a server", "/producers/{producer}/catalogs", "")
	add("factsets", "Query the factsets of a server", "/producers/{producer}/factsets", "")
	for path, entity := range map[string]string{
		"/fact-paths": "fact_paths", "/fact-contents": "fact_contents", "/factsets": "factsets", "/inventory": "inventory",
		"/catalogs": "catalogs", "/edges": "edges",
		"/packages": "packages", "/package-inventory": "package_inventory", "/package-inventory/{node}": "package_inventory",
	} {
		add(entity, "Query "+strings.ReplaceAll(entity, "_", " "), path, "")
	}
	slices.SortFunc(list, func(a, b Route) int { return strings.Compare(a.Path, b.Path) })
	names := queryRoute("/fact-names", "fact-names", 1, "Names", "List the names of facts")
	names.description = "This service does not store facts, so the list is empty."
	catalog := queryRoute("/catalogs/{node}", "catalog", 1, "Catalog", "Show the catalog of a node")
	catalog.description = "This service does not store catalogs, so the catalog is empty."
	return append(list, names, catalog)
}

var (
	queryMethods = []string{"GET", "POST"}
	getMethods   = []string{"GET"}
	postMethods  = []string{"POST"}
)

// mount is a prefix of the service, with its OpenAPI document.
type mount struct {
	prefix  string
	openAPI *rest.Published
}

// Endpoint is a route below one of the prefixes of the service.
type Endpoint struct {
	*Route
	*mount
	service *Service
}

// addRoutes fills s.paths with the routes below all prefixes.
func (s *Service) addRoutes() {
	for _, prefix := range s.prefixes() {
		m := &mount{prefix, rest.Publish(func() ([]byte, error) { return openAPI(prefix) })}
		for _, route := range Routes() {
			e := &Endpoint{&route, m, s}
			s.paths.Add(prefix+route.Path, e)
			if parent, ok := strings.CutSuffix(prefix, "/pdb"); ok && route.Beside {
				s.paths.Add(parent+route.Path, e)
			}
		}
	}
}

// prefixes returns the prefix and its aliases.
func (s *Service) prefixes() []string { return append([]string{s.o.Prefix}, s.o.Aliases...) }

// Find returns the endpoint for a request. If there is no endpoint, e is nil, and ours reports whether the path is at
// or below one of the prefixes.
func (s *Service) Find(r *http.Request) (e *Endpoint, ours bool) {
	if e, ours = s.paths.Find(r); ours {
		return e, true
	}
	for _, prefix := range s.prefixes() {
		suffix, ok := strings.CutPrefix(r.URL.Path, prefix)
		if ok && (suffix == "" || suffix[0] == '/') {
			return nil, true
		}
	}
	return nil, false
}

// ServeHTTP serves a request. It answers with 404 if Find returns no endpoint.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if e, _ := s.Find(r); e != nil {
		e.ServeHTTP(w, r)
		return
	}
	http.NotFound(w, r)
}

// ServeHTTP serves a request for the endpoint.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Query routes have two methods, and refuse other methods themselves.
	if len(e.Methods) == 1 && r.Method != e.Methods[0] && (r.Method != http.MethodHead || e.Methods[0] != http.MethodGet) {
		w.Header().Set("Allow", e.Methods[0])
		plain(w, http.StatusMethodNotAllowed, "this path takes "+e.Methods[0]+" only")
		return
	}
	e.serve(e, w, r)
}

func (e *Endpoint) submit(w http.ResponseWriter, r *http.Request) { e.service.submit(w, r) }

// ask answers a query.
func (e *Endpoint) ask(w http.ResponseWriter, r *http.Request) {
	e.service.queries.Serve(w, r, e.Entity, query.Scope{
		Report: r.PathValue("report"), Environment: r.PathValue("environment"), Node: r.PathValue("node"),
		Producer: r.PathValue("producer"),
		Bean:     r.PathValue("mbean"), Prefix: e.prefix,
	})
}

// apiVersion is the version of the reference implementation whose interface is served.
const apiVersion = "7.12.0"

// version answers with apiVersion.
func (*Endpoint) version(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, `{"version":%q}`, apiVersion)
}

// time answers with the time of the server.
func (e *Endpoint) time(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, `{"server_time":%q}`, syntax.AppendTime(nil, e.service.o.Now().UnixMilli()))
}

// StatusPath is the path that reports whether the service works.
const StatusPath = "/status/v1/simple"

// Unready answers a request for StatusPath while the service must not be used.
func (*Service) Unready(w http.ResponseWriter) {
	w.Header().Set("Retry-After", retryAfter)
	plain(w, http.StatusServiceUnavailable, "error")
}

// status answers whether the service works, for StatusPath.
func (e *Endpoint) status(w http.ResponseWriter, _ *http.Request) {
	if e.service.Ready() != nil {
		e.service.Unready(w)
		return
	}
	plain(w, http.StatusOK, "running")
}

var statusAlso = []int{http.StatusServiceUnavailable}

const statusDescription = "While commands cannot be stored, the HTTP status is 503 and the state is \"error\"."

// services answers with the status of the service in the format of the reference implementation. The request is for the
// status of all services, or of this service, which is the only one.
func (e *Endpoint) services(w http.ResponseWriter, _ *http.Request) {
	state, status := "running", http.StatusOK
	if e.service.Ready() != nil {
		state, status = "error", http.StatusServiceUnavailable
		w.Header().Set("Retry-After", retryAfter)
	}
	ready := status == http.StatusOK
	service := fmt.Sprintf(`{"service_version":%q,"service_status_version":1,"detail_level":"info","state":%q,`+
		`"status":{"maintenance_mode?":false,"queue_depth":%d,"read_db_up?":%t,"write_db_up?":%t},"active_alerts":[]}`,
		apiVersion, state, e.service.Queued(), ready, ready)
	if e.answer == "Services" {
		service = `{"puppetdb-status":` + service + `}`
	}
	write(w, status, "%s", service)
}
