package runevents

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tollgate-gateway/tollgate/backends/runevents"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// The metrics live for the process and are registered with each configuration.
var (
	submitted = tollgate.NewCounterVec("run_events", "commands_total",
		"Submitted commands by name and outcome.", "command", "outcome")
	storedReports = prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: "tollgate", Subsystem: "run_events", Name: "stored_reports_total",
		Help: "Stored reports; reports that had been stored before do not count.",
	})
	storedEvents = prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: "tollgate", Subsystem: "run_events", Name: "stored_events_total",
		Help: "Events of stored reports.",
	})
	queued = tollgate.NewGaugeFunc("run_events", "queued_reports",
		"Accepted reports that queries cannot read yet.", countQueued)
	rejected = tollgate.NewGaugeFunc("run_events", "rejected_commands",
		"Length of the list of rejected commands; the value is at most a minute old.", countRejected)
	queries = tollgate.NewCounterVec("run_events", "queries_total",
		"Queries by entity and the class of their status; broken is an answer that ended early.", "entity", "status")
	querySeconds = tollgate.NewHistogramVec("run_events", "query_seconds",
		"Time from a query to the end of its answer by entity.",
		[]float64{.001, .005, .01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}, "entity")
	jobMetrics = tollgate.NewJobMetrics("run_events", "rows and partitions deleted")
)

// countQueued returns the number of accepted reports of all services that queries cannot read yet.
func countQueued() float64 {
	n := 0
	services.Range(func(_, value any) bool {
		if p, ok := value.(*pooled); ok {
			n += p.Queued()
		}
		return true
	})
	return float64(n)
}

// countRejected returns the total number of rejected commands. If several services use one database, the rejected
// commands of that database are counted once.
func countRejected() float64 {
	lengths := make(map[*store.DB]int64)
	services.Range(func(key, value any) bool {
		k, isKey := key.(serviceKey)
		p, ok := value.(*pooled)
		if isKey && ok {
			lengths[k.db] = max(lengths[k.db], p.RejectedCount())
		}
		return true
	})
	n := int64(0)
	for _, length := range lengths {
		n += length
	}
	return float64(n)
}

// observeStored counts the reports and events of one transaction.
func observeStored(reports, events int) {
	storedReports.Add(float64(reports))
	storedEvents.Add(float64(events))
}

// observeCommand counts a submitted command. A request whose command is not known counts as the command "none".
func observeCommand(e *runevents.Exchange) {
	command := strings.ReplaceAll(cmp.Or(e.Command, "none"), " ", "_")
	submitted.WithLabelValues(command, cmp.Or(string(e.Outcome), "refused")).Inc()
}

// observeQuery records the outcome and the duration of a request for a route. complete is false if the answer ended
// early. Routes that are not queries are ignored.
func observeQuery(route *runevents.Route, status int, complete bool, duration time.Duration) {
	if len(route.Methods) == 1 { // information about the server; queries accept GET and POST
		return
	}
	entity := cmp.Or(route.Entity, "any")
	class := "broken"
	if complete {
		class = strconv.Itoa(status/100) + "xx"
	}
	queries.WithLabelValues(entity, class).Inc()
	querySeconds.WithLabelValues(entity).Observe(duration.Seconds())
}
