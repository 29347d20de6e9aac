// Package runevents provides the Caddy module that serves the run events of configuration agents, and the commands
// that manage them.
package runevents

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/runevents"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/modules/edge"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

func init() {
	caddy.RegisterModule(new(Handler))
}

// Handler stores the reports of configuration agents' runs and answers queries about them. Its routes, below the
// prefix:
//
//	POST     /cmd/v1                              store report, deactivate node
//	GET|POST /query/v4                            any entity, as JSON or PQL
//	GET|POST /query/v4/events                     and event-counts, aggregate-event-counts,
//	                                              reports, nodes, environments, producers
//	GET|POST /query/v4/reports/{hash}/events      and metrics, logs
//	GET|POST /query/v4/nodes/{certname}           one node
//	GET|POST /query/v4/environments/{name}        one environment
//	GET|POST /query/v4/environments/{name}/events and reports
//	GET|POST /query/v4/facts                      and other entities that are never stored: nothing
//	GET      /meta/v1/version
//	GET      /metrics/v2/list                     and read/{bean}: the numbers of nodes and resources
//	GET      /status/v1/simple                    running, or 503 while commands cannot be stored
//	GET      /status/v1/services                  the same in the format of other stores
//	GET      /openapi.json                        the OpenAPI document
//	GET      /                                    the dashboard
//
// A path outside of the prefix goes to the next handler. For a prefix that ends with /pdb, the paths /metrics and
// /status are also served beside it: /metrics/v2/list as well as /pdb/metrics/v2/list. A command is acknowledged when
// it is stored durably. Old reports and events are deleted in the background.
//
// The rights to read and to submit, which includes deactivating nodes, are configured separately. A client has a right
// if it matches any of the right's rules. Without rules, a client must be on this machine to read, and must have a
// certificate or be an authenticated user to submit. The last two routes and /status/v1/simple are public, because they
// contain no data. The dashboard gets its data by queries.
//
// In the Caddyfile:
//
//	run_events {
//		prefix              /store
//		alias               /pdb...   # none
//		read                loopback | any | user [<id>...] | certificate | certname <name>...
//		submit              loopback | any | user [<id>...] | certificate | certname <name>...
//		resource_events_ttl 14d
//		report_ttl          14d
//		node_ttl            7d        # off
//		node_purge_ttl      14d
//		unreported_after    2h
//		max_body            32MB
//		query_timeout       30s
//		query_max_time      10m
//		wide_queries        2
//		corrective_change             # off
//	}
//
// Errors: 403 for a client that no rule allows; 413 above max_body; 503 with Retry-After for a command that cannot be
// stored for a reason other than its payload, while too many commands wait, and for a query that takes too long or
// cannot start in time.
//
// Metrics: tollgate_run_events_commands_total{command,outcome}, tollgate_run_events_stored_reports_total,
// tollgate_run_events_stored_events_total, tollgate_run_events_queued_reports,
// tollgate_run_events_rejected_commands, tollgate_run_events_queries_total{entity,status},
// tollgate_run_events_query_seconds{entity}. Fields of commands in the access log: run_events_command,
// run_events_certname, run_events_outcome.
type Handler struct {
	// Prefix is the path before /query and /cmd. Default: "/store".
	Prefix string `json:"prefix,omitempty"`

	// Aliases are further paths at which the service is available. Clients of other stores use /pdb. Default: none.
	Aliases []string `json:"aliases,omitempty"`

	// Read determines the clients that may query. Default: clients on this machine.
	Read *Access `json:"read,omitempty"`

	// Submit determines the clients that may send commands. Default: clients with a verified certificate, and all
	// users.
	Submit *Access `json:"submit,omitempty"`

	// ResourceEventsTTL is the age at which events are deleted. Events of a new report that are older are not stored.
	// Default: 14d.
	ResourceEventsTTL caddy.Duration `json:"resource_events_ttl,omitempty"`

	// ReportTTL is the age at which reports are deleted. Default: 14d.
	ReportTTL caddy.Duration `json:"report_ttl,omitempty"`

	// NodeTTL is the time without reports after which a node becomes inactive. By default nodes do not become
	// inactive.
	NodeTTL caddy.Duration `json:"node_ttl,omitempty"`

	// UnreportedAfter is the age of a node's latest report at which the dashboard marks the node as not reporting.
	// Default: 2h.
	UnreportedAfter caddy.Duration `json:"unreported_after,omitempty"`

	// NodePurgeTTL is how long an inactive node is kept. Default: 14d.
	NodePurgeTTL caddy.Duration `json:"node_purge_ttl,omitempty"`

	// MaxBody limits a command before and after decompression, in bytes. Default: 32 MiB, at most 256 MiB.
	MaxBody int64 `json:"max_body,omitempty"`

	// QueryTimeout limits the time to the first row of a query, and between two pieces of the answer. Default: 30s.
	QueryTimeout caddy.Duration `json:"query_timeout,omitempty"`

	// QueryMaxTime limits the duration of a query. Default: 10m.
	QueryMaxTime caddy.Duration `json:"query_max_time,omitempty"`

	// WideQueries is the number of wide queries that run at the same time: queries that are not restricted to three
	// days, to a node or to a report. Further wide queries wait for at most half of query_timeout. Default: 2.
	WideQueries int `json:"wide_queries,omitempty"`

	// CorrectiveChange shows the field corrective_change as agents send it. Default: it is null in answers.
	CorrectiveChange bool `json:"corrective_change,omitempty"`

	app      *tollgate.App
	logger   *zap.Logger
	service  *runevents.Service // nil until Provision has taken it from the pool
	key      serviceKey         // of service in the pool
	requests atomic.Int64       // requests in progress
}

// services holds the services, which survive reloads.
var services = caddy.NewUsagePool()

// serviceKey identifies a service by its database and options.
type serviceKey struct {
	db      *store.DB
	options string
}

// pooled is a service in the pool.
type pooled struct {
	*runevents.Service
	newestApp tollgate.Newest
}

// Destruct implements caddy.Destructor.
func (p *pooled) Destruct() error {
	p.Close()
	return nil
}

// CaddyModule returns the Caddy module information.
func (*Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.run_events",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision gets the service's database from the app and creates the service. It opens nothing.
func (h *Handler) Provision(ctx caddy.Context) error {
	if err := h.Validate(); err != nil {
		return err
	}
	app, err := tollgate.From(ctx)
	if err != nil {
		return err
	}
	h.app, h.logger = app, ctx.Logger()
	db, err := app.ServiceDatabase(runevents.SchemaName, runevents.Schema())
	if err != nil {
		return err
	}
	if h.Read == nil {
		h.Read = &readDefault
	}
	if h.Submit == nil {
		if h.Read.restricted() {
			h.logger.Warn("read is restricted to certain users or certificates, but there is no submit line: every user of api_auth and every client with a verified certificate may send commands; add submit lines to restrict this")
		}
		h.Submit = &submitDefault
	}
	if err := tollgate.RegisterMetrics(ctx, submitted, storedReports, storedEvents, queued, rejected, queries,
		querySeconds); err != nil {
		return err
	}
	if err := jobMetrics.Register(ctx); err != nil {
		return err
	}
	options := h.options()
	key := serviceKey{db, fmt.Sprintf("%+v", options)} // pointers and functions, whose text always differs, are set later
	if h.MaxBody > app.MemorySize() {
		return fmt.Errorf("max_body: must be at most %d bytes, the option memory of tollgate", app.MemorySize())
	}
	options.DB, options.Logger, options.Memory = db, h.logger, app.MemoryBudget()
	options.Stored, options.Observe = observeStored, jobMetrics.Observe
	value, _, err := services.LoadOrNew(key, func() (caddy.Destructor, error) {
		p := new(pooled)
		options.Bar = p.newestApp.Bar(runevents.SchemaName)
		var err error
		p.Service, err = runevents.New(options)
		return p, err
	})
	if err != nil {
		return err
	}
	p, ok := value.(*pooled)
	if !ok {
		return errors.New("the pooled value has another type")
	}
	h.key, h.service = key, p.Service
	p.newestApp.Follow(app)
	app.OnSettled(h.service.Work)
	return nil
}

// options converts the settings to those of the service.
func (h *Handler) options() runevents.Options {
	return runevents.Options{
		Prefix: h.Prefix, Aliases: h.Aliases,
		EventTTL: time.Duration(h.ResourceEventsTTL), ReportTTL: time.Duration(h.ReportTTL),
		NodeTTL: time.Duration(h.NodeTTL), NodePurgeTTL: time.Duration(h.NodePurgeTTL),
		UnreportedAfter: time.Duration(h.UnreportedAfter), QueryTimeout: time.Duration(h.QueryTimeout),
		QueryMaxTime: time.Duration(h.QueryMaxTime), WideQueries: h.WideQueries, MaxBody: h.MaxBody,
		CorrectiveChange: h.CorrectiveChange,
	}
}

// Validate checks the settings. A number or duration that is not set is 0.
func (h *Handler) Validate() error {
	if err := h.validatePaths(); err != nil {
		return err
	}
	for _, ttl := range []struct {
		name  string
		value caddy.Duration
	}{
		{"resource_events_ttl", h.ResourceEventsTTL},
		{"report_ttl", h.ReportTTL},
		{"node_ttl", h.NodeTTL},
		{"node_purge_ttl", h.NodePurgeTTL},
		{"unreported_after", h.UnreportedAfter},
	} {
		if ttl.value < 0 || ttl.value > 0 && time.Duration(ttl.value) < time.Minute {
			return fmt.Errorf("%s: must be at least 1m", ttl.name)
		}
	}
	if h.QueryTimeout < 0 || h.QueryTimeout > 0 && time.Duration(h.QueryTimeout) < time.Second {
		return errors.New("query_timeout: must be at least 1s")
	}
	if h.QueryMaxTime < 0 || h.QueryMaxTime > 0 && time.Duration(h.QueryMaxTime) < time.Second {
		return errors.New("query_max_time: must be at least 1s")
	}
	if h.WideQueries < 0 || h.WideQueries > maxWideQueries {
		return fmt.Errorf("wide_queries: must be from 1 to %d", maxWideQueries)
	}
	if h.MaxBody < 0 || h.MaxBody > 256<<20 {
		return errors.New("max_body: must be from 1 byte to 256 MiB")
	}
	return nil
}

// maxWideQueries is the limit of the option wide_queries. It is more than a machine can process at the same time.
const maxWideQueries = 100

// validatePaths checks the prefix and its aliases. No two of these paths may be equal, and none may be below another.
func (h *Handler) validatePaths() error {
	paths := append([]string{cmp.Or(h.Prefix, defaultPrefix)}, h.Aliases...)
	for i, p := range paths {
		option := "alias"
		if i == 0 {
			option = "prefix"
		}
		if p == "" || p != path.Clean(p) || p[0] != '/' || p == "/" || strings.ContainsAny(p, "{} ") {
			return fmt.Errorf("%s: %q is not a path such as /store", option, p)
		}
		if strings.Contains(p+"/", "/dashboard/") { // requests for paths with such a part have no cost
			return fmt.Errorf("%s: %s must not have a part that is named dashboard", option, p)
		}
		for _, other := range paths[:i] {
			if strings.HasPrefix(p+"/", other+"/") || strings.HasPrefix(other+"/", p+"/") {
				return fmt.Errorf("%s: %s and %s must not be equal, and none may be below the other", option, p, other)
			}
		}
	}
	return nil
}

// Cleanup releases the service in the background, when no request of this handler has used it for a second. If the
// process exits, it releases the service at once.
//
// tollgate.Share would release the service only after the last request of the whole configuration, which may be a long
// stream of another service. Until then the service would go on deleting data according to the replaced settings.
func (h *Handler) Cleanup() error {
	if h.service == nil {
		return nil
	}
	releaseService := func() error {
		_, err := services.Delete(h.key)
		return err
	}
	if !h.app.Started() || caddy.Exiting() { // the service has never run, or the process exits
		return releaseService()
	}
	releaseDatabase := h.app.Acquire() // keeps the database open
	go func() {
		defer releaseDatabase()
		for idleChecks := 0; idleChecks < 10 && !caddy.Exiting(); idleChecks++ {
			time.Sleep(100 * time.Millisecond)
			if h.requests.Load() > 0 {
				idleChecks = 0
			}
		}
		if err := releaseService(); err != nil {
			h.logger.Error("closing the run events of the old configuration", zap.Error(err))
		}
	}()
	return nil
}

// defaultPrefix is the default of Handler.Prefix.
const defaultPrefix = "/store"

// Presence implements tollgate.Present: it describes the dashboard and the API on the pages of the server.
func (h *Handler) Presence() tollgate.Presence {
	prefix := cmp.Or(h.Prefix, defaultPrefix)
	return tollgate.Presence{
		Service: runevents.SchemaName, Title: "Run events",
		Summary: "What configuration agents have changed, and where they fail.",
		Path:    prefix + "/", API: prefix + "/openapi.json", Visible: h.Read.allows,
	}
}

// ServeHTTP serves the routes of the service. Other requests go to next. A request for the root of the site that no
// other handler answers is redirected to the dashboard.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	endpoint, isOurs := h.service.Find(r)
	if isOurs {
		rest.NoSniff(w.Header())
	}
	switch {
	case endpoint == nil && isOurs:
		return caddyhttp.Error(http.StatusNotFound, apierror.New(http.StatusNotFound, "no_such_route",
			"there is nothing at this path"))
	case endpoint == nil && r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		return edge.ServeRoot(w, r, next, strings.TrimPrefix(cmp.Or(h.Prefix, defaultPrefix), "/")+"/")
	case endpoint == nil:
		return next.ServeHTTP(w, r)
	}
	if err := h.admit(r, endpoint.Right); err != nil {
		return err
	}
	h.requests.Add(1)
	defer h.requests.Add(-1)
	defer h.app.Acquire()()
	switch endpoint.Right {
	case runevents.Submit:
		h.submit(w, r, endpoint)
	case runevents.Read:
		h.query(w, r, endpoint)
	default:
		if endpoint.Path == runevents.StatusPath && tollgate.IsStopping(r.Context()) {
			h.service.Unready(w)
			return nil
		}
		endpoint.ServeHTTP(w, r)
	}
	return nil
}

// admit returns an error with status 403 if the sender of a request does not have the right.
func (h *Handler) admit(r *http.Request, right runevents.Right) error {
	var access *Access
	var action, option string
	switch right {
	case runevents.Submit:
		access, action, option = h.Submit, "submit commands", "submit"
	case runevents.Read:
		access, action, option = h.Read, "read run events", "read"
	default:
		return nil
	}
	if access.allows(r) {
		return nil
	}
	if right == runevents.Submit {
		submitted.WithLabelValues("none", "forbidden").Inc()
	}
	return caddyhttp.Error(http.StatusForbidden,
		apierror.New(http.StatusForbidden, "forbidden", "this client may not %s; see the option %s of run_events",
			action, option))
}

// submit serves a command and records its outcome.
func (h *Handler) submit(w http.ResponseWriter, r *http.Request, endpoint *runevents.Endpoint) {
	exchange := new(runevents.Exchange)
	endpoint.ServeHTTP(w, r.WithContext(runevents.WithExchange(r.Context(), exchange)))
	observeCommand(exchange)
	if extra, ok := r.Context().Value(caddyhttp.ExtraLogFieldsCtxKey).(*caddyhttp.ExtraLogFields); ok {
		extra.Add(zap.String("run_events_command", exchange.Command))
		extra.Add(zap.String("run_events_certname", exchange.Certname))
		extra.Add(zap.String("run_events_outcome", string(exchange.Outcome)))
	}
}

// query serves a query and records its duration, even if the service panics because an answer failed after its
// beginning.
func (h *Handler) query(w http.ResponseWriter, r *http.Request, endpoint *runevents.Endpoint) {
	start := time.Now()
	recorder := &statusRecorder{ResponseWriterWrapper: &caddyhttp.ResponseWriterWrapper{ResponseWriter: w}}
	complete := false
	defer func() { observeQuery(endpoint.Route, recorder.status, complete, time.Since(start)) }()
	endpoint.ServeHTTP(recorder, r)
	complete = true
}

// statusRecorder records the status of an answer.
type statusRecorder struct {
	*caddyhttp.ResponseWriterWrapper
	status int
}

// WriteHeader records the status and sends it.
func (s *statusRecorder) WriteHeader(status int) {
	s.status = status
	s.ResponseWriterWrapper.WriteHeader(status)
}

// Interface guards
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddy.Validator             = (*Handler)(nil)
	_ caddy.CleanerUpper          = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
	_ tollgate.Present            = (*Handler)(nil)
)
