package tollgate

import (
	"errors"
	"fmt"

	"github.com/caddyserver/caddy/v2"
	"github.com/prometheus/client_golang/prometheus"
)

// RegisterMetrics registers collectors with the metrics of a configuration. The collectors must exist until the
// process ends. Several modules of one configuration may register the same collectors.
func RegisterMetrics(ctx caddy.Context, collectors ...prometheus.Collector) error {
	registry := ctx.GetMetricsRegistry()
	for _, collector := range collectors {
		var already prometheus.AlreadyRegisteredError
		if err := registry.Register(collector); err != nil && !errors.As(err, &already) {
			return fmt.Errorf("registering metrics: %w", err)
		}
	}
	return nil
}

// NewCounterVec creates counters with the name tollgate_<subsystem>_<name>.
func NewCounterVec(subsystem, name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "tollgate", Subsystem: subsystem, Name: name, Help: help,
	}, labels)
}

// NewHistogramVec creates histograms with the name tollgate_<subsystem>_<name>.
func NewHistogramVec(
	subsystem, name, help string, buckets []float64, labels ...string,
) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: "tollgate", Subsystem: subsystem, Name: name, Help: help, Buckets: buckets,
	}, labels)
}

// NewGaugeFunc creates a gauge with the name tollgate_<subsystem>_<name> and the values that value returns.
func NewGaugeFunc(subsystem, name, help string, value func() float64) prometheus.GaugeFunc {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "tollgate", Subsystem: subsystem, Name: name, Help: help,
	}, value)
}

// JobMetrics counts the runs of a service's background jobs. The metrics live for the process.
type JobMetrics struct {
	runs *prometheus.CounterVec // runs by job and outcome
	done *prometheus.CounterVec // processed objects by job
}

// NewJobMetrics creates the metrics tollgate_<service>_job_runs_total and tollgate_<service>_job_done_total. doneHelp
// describes the objects that job_done_total counts, for its help text.
func NewJobMetrics(service, doneHelp string) *JobMetrics {
	return &JobMetrics{
		runs: NewCounterVec(service, "job_runs_total", "Runs of background jobs by job and outcome.", "job", "outcome"),
		done: NewCounterVec(service, "job_done_total", "Results of these runs by job: "+doneHelp+".", "job"),
	}
}

// Register registers the metrics with a configuration.
func (m *JobMetrics) Register(ctx caddy.Context) error { return RegisterMetrics(ctx, m.runs, m.done) }

// Observe counts a run of a job, its outcome, and the number of processed objects. It is meant for the Observe field of
// jobs.Options.
func (m *JobMetrics) Observe(job, outcome string, done int) {
	m.runs.WithLabelValues(job, outcome).Inc()
	m.done.WithLabelValues(job).Add(float64(done))
}
