package cms

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tollgate-gateway/tollgate/backends/cms"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// The metrics live for the process and are registered with each configuration.
var (
	calls = tollgate.NewCounterVec("cms", "calls_total",
		"Calls of handler methods by the class of their status, such as 2xx.", "status")
	callSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: "tollgate", Subsystem: "cms", Name: "call_seconds",
		Help:    "Time of a call of a handler method.",
		Buckets: []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
	})
	logins  = tollgate.NewCounterVec("cms", "logins_total", "Logins by outcome: good, bad, limited.", "outcome")
	reloads = tollgate.NewCounterVec("cms", "reloads_total",
		"Times that the files of a site were read, by outcome: ok, error.", "outcome")
	ended = tollgate.NewCounterVec("cms", "processes_ended_total",
		"Processes of handlers that have ended and were replaced, by reason: time, memory, died.", "reason")
	jobMetrics = tollgate.NewJobMetrics("cms", "rows and files deleted, pages published, deliveries sent")
	collectors = []prometheus.Collector{calls, callSeconds, logins, reloads, ended}
)

// statuses are the counters of calls, by the first digit of the status, which is from 2 to 5. They are looked up once,
// because calls are short and frequent.
var statuses = func() (all [6]prometheus.Counter) {
	for i := 2; i < len(all); i++ {
		all[i] = calls.WithLabelValues(strconv.Itoa(i) + "xx")
	}
	return all
}()

// meter counts the events of all sites in the metrics above.
var meter = cms.Meter{
	Called: func(status int, duration time.Duration) {
		if class := status / 100; class >= 2 && class <= 5 {
			statuses[class].Inc()
		}
		callSeconds.Observe(duration.Seconds())
	},
	Logged: func(outcome string) { logins.WithLabelValues(outcome).Inc() },
	Reloaded: func(ok bool) {
		if ok {
			reloads.WithLabelValues("ok").Inc()
			return
		}
		reloads.WithLabelValues("error").Inc()
	},
	Job:   jobMetrics.Observe,
	Ended: func(reason string) { ended.WithLabelValues(reason).Inc() },
}
