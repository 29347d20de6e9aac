package answer

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tollgate-gateway/tollgate/backends/answer/pipeline"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// The metrics live for the process and are registered with each configuration.
var (
	jobMetrics = tollgate.NewJobMetrics("answer", "rows deleted, vectors made, files and addresses read")

	questions = tollgate.NewCounterVec("answer", "questions_total", "Accepted questions, by outcome.", "outcome")
	seconds   = prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: "tollgate", Subsystem: "answer", Name: "seconds", Help: "Time from a question to its answer.",
		Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120},
	})
	stageSeconds = tollgate.NewHistogramVec("answer", "stage_seconds", "Time that a stage of an answer takes.",
		[]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}, "stage")
	tokens = tollgate.NewCounterVec("answer", "tokens_total",
		"Tokens of model calls, by step (such as draft or judge) and kind (prompt or completion).", "step", "kind")
	reserved = prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: "tollgate", Subsystem: "answer", Name: "reserved",
		Help: "Answers reserved from quotas by questions in progress, on all nodes, as of the last run of the job reap.",
	})
	intakeDocuments = tollgate.NewCounterVec("answer", "intake_documents_total",
		"Documents of the watched folder and of fetched addresses, by source and outcome.", "source", "outcome")
	waiting = tollgate.NewGaugeFunc("answer", "waiting",
		"Questions that are being answered or wait in the queue.", countWaiting)
)

// countWaiting returns the number of questions that all nodes are answering or have queued.
func countWaiting() float64 {
	n := 0
	for node := range tollgate.Shared[*node](nodes) {
		n += node.server.Waiting()
	}
	return float64(n)
}

// observe counts a question with its outcome and the time it took.
func observe(outcome string, duration time.Duration) {
	questions.WithLabelValues(outcome).Inc()
	seconds.Observe(duration.Seconds())
}

// observeTrace counts the stages and model calls of a question. The values of the labels are names that the program
// defines.
func observeTrace(t *pipeline.Trace) {
	for _, s := range t.Stages {
		stageSeconds.WithLabelValues(s.Name).Observe(s.Took.Seconds())
	}
	for _, c := range t.Calls {
		tokens.WithLabelValues(c.Step, "prompt").Add(float64(max(c.Usage.Prompt, 0)))
		tokens.WithLabelValues(c.Step, "completion").Add(float64(max(c.Usage.Completion, 0)))
	}
}

// observeIntake counts a document of a source, the watched folder or the fetched addresses, with its outcome.
func observeIntake(source, outcome string) { intakeDocuments.WithLabelValues(source, outcome).Inc() }

// observeReserved records the number of reserved answers.
func observeReserved(n int) { reserved.Set(float64(n)) }
