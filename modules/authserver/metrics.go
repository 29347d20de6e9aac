package authserver

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// namespace is the prefix of all metric names.
const namespace = "authserver"

// metric describes a metric. label has the names of its labels, separated by spaces: none, one or several.
type metric struct{ name, label, help string }

// counted and observed are the metrics that the meter looks up by name. The authorization server reports them through
// kernel.Meter, so that it does not depend on Prometheus.
var (
	counted = countersOf(
		metric{"tokens_issued_total", "grant_type", "Issued access tokens, by grant type."},
		metric{"tokens_refreshed_total", "", "Refreshes: refresh tokens that were exchanged for new tokens."},
		metric{"tokens_revoked_total", "reason", "Revoked tokens and token families, by reason."},
		metric{"auth_denied_total", "reason", "Requests that were refused because of their client, by reason."},
		metric{"login_attempts_total", "outcome", "Attempts to sign in, including those at another provider, by outcome."},
		metric{"lockout_engaged_total", "", "Lockouts after too many failed sign-ins."},
		metric{"consent_decisions_total", "decision", "Decisions of users on consent pages."},
		metric{"refresh_token_reuse_total", "", "Refresh tokens that were used a second time; their token families were revoked."},
		metric{"auth_code_reuse_total", "", "Authorization codes that were used a second time; the tokens issued for them were revoked."},
		metric{"introspection_total", "active", "Introspection responses, by whether the token was active."},
		metric{"clients_registered_total", "source", "Registered clients, by source."},
		metric{"client_credentials_denied_total", "reason", "Refused token requests with the grant client_credentials, by reason."},
		metric{"jwt_bearer_denied_total", "reason", "Refused token requests with an assertion of an identity provider, by reason."},
		metric{"token_exchange_total", "kind", "Token exchanges, by kind."},
		metric{"token_exchange_denied_total", "reason", "Refused token exchanges, by reason."},
		metric{"upstream_token_issued_total", "provider", "Tokens of broker providers that clients obtained, by provider."},
		metric{"upstream_token_refresh_total", "provider outcome", "Renewals of the tokens of users' connections, by provider and outcome."},
		metric{"connection_connect_total", "provider", "Accounts at broker providers that users have connected, by provider."},
		metric{"dpop_proofs_validated_total", "", "Accepted DPoP proofs."},
		metric{"dpop_proofs_rejected_total", "reason", "Refused DPoP proofs, by reason."},
		metric{"key_rotation_total", "", "Rotations of the signing key."},
		metric{"audit_events_dropped_total", "", "Audit events that could not be stored; they are in the log."},
	)
	observed = histogramsOf(
		metric{"token_issuance_duration_seconds", "", "Duration of successful requests to the token endpoint."},
		metric{"introspection_duration_seconds", "", "Duration of introspection requests."},
		metric{"oidc_exchange_duration_seconds", "", "Duration of the upstream provider's response to a sign-in."},
		metric{"cimd_fetch_duration_seconds", "outcome", "Duration of fetches of clients' metadata documents, by outcome."},
		metric{"kms_operation_duration_seconds", "op", "Duration of requests to a key management server, by operation."},
		metric{"db_operation_duration_seconds", "op", "Duration of database operations: reads, and writes including the commit."},
	)
	requests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: namespace, Name: "http_requests_total", Help: "Requests by method, route and status.",
	}, []string{"method", "route", "status"})
	requestSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: namespace, Name: "http_request_duration_seconds", Help: "Duration of requests.", Buckets: buckets,
	})
)

// tracked is the number of identities that the lockouts keep in memory.
var tracked = prometheus.NewGaugeFunc(prometheus.GaugeOpts{
	Namespace: namespace, Name: "lockout_tracked", Help: "Number of identities with failed sign-ins that the lockouts track.",
}, func() float64 {
	n := 0
	for l := range tollgate.Shared[*pooledLockout](lockouts) {
		n += l.Tracked()
	}
	return float64(n)
})

var jobMetrics = tollgate.NewJobMetrics("authserver", "rows deleted")

var buckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

func (m metric) labels() []string { return strings.Fields(m.label) }

// vector is a metric with labels.
type vector[T any] struct {
	prometheus.Collector
	get    func(values ...string) (T, error) // returns an error for the wrong number of values
	labels int                               // the number of labels
}

// withLabels returns the metric for the given label values, which are separated by spaces.
func (v *vector[T]) withLabels(label string) (T, error) {
	switch v.labels {
	case 0:
		return v.get()
	case 1:
		return v.get(label)
	}
	return v.get(strings.SplitN(label, " ", v.labels)...)
}

// countersOf creates counters, by name.
func countersOf(rows ...metric) map[string]*vector[prometheus.Counter] {
	all := make(map[string]*vector[prometheus.Counter], len(rows))
	for _, m := range rows {
		vec := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: m.name, Help: m.help}, m.labels())
		all[m.name] = &vector[prometheus.Counter]{vec, vec.GetMetricWithLabelValues, len(m.labels())}
		if m.label == "" {
			vec.WithLabelValues() // makes the metric 0 instead of absent
		}
	}
	return all
}

// histogramsOf creates histograms of durations in seconds, by name.
func histogramsOf(rows ...metric) map[string]*vector[prometheus.Observer] {
	all := make(map[string]*vector[prometheus.Observer], len(rows))
	for _, m := range rows {
		vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: m.name, Help: m.help, Buckets: buckets,
		}, m.labels())
		all[m.name] = &vector[prometheus.Observer]{vec, vec.GetMetricWithLabelValues, len(m.labels())}
	}
	return all
}

// collectors returns all metrics. They live for the process.
func collectors() []prometheus.Collector {
	all := make([]prometheus.Collector, 0, 3+len(counted)+len(observed))
	all = append(all, requests, requestSeconds, tracked)
	for _, c := range counted {
		all = append(all, c.Collector)
	}
	for _, h := range observed {
		all = append(all, h.Collector)
	}
	return all
}

// meter implements kernel.Meter. It ignores names that it does not know, and labels that do not fit.
type meter struct{}

// Count implements kernel.Meter.
func (meter) Count(name, label string) {
	if v := counted[name]; v != nil {
		if c, err := v.withLabels(label); err == nil {
			c.Inc()
		}
	}
}

// Observe implements kernel.Meter.
func (meter) Observe(name, label string, duration time.Duration) {
	if v := observed[name]; v != nil {
		if h, err := v.withLabels(label); err == nil {
			h.Observe(duration.Seconds())
		}
	}
}

// recorder records the status of a response.
type recorder struct {
	caddyhttp.ResponseWriterWrapper
	status int
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK {
		r.status = status
	}
	r.ResponseWriterWrapper.WriteHeader(status)
}

// done records a request that was answered. route is the pattern of the request's path, and start is the time at
// which the request began.
func (r *recorder) done(method, route string, start time.Time) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions:
	default:
		method = "other"
	}
	requests.WithLabelValues(method, route, strconv.Itoa(r.status)).Inc()
	requestSeconds.Observe(time.Since(start).Seconds())
}

// Interface guard
var _ kernel.Meter = meter{}
