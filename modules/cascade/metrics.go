package cascade

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tollgate-gateway/tollgate/backends/gateway/cascade"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
)

// The metrics live for the process and are registered with each configuration.
var (
	requests = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "tollgate", Subsystem: "cascade", Name: "requests_total",
		Help: "Model requests by the class of their status and by tier.",
	}, []string{"status", "tier"})
	attempts = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "tollgate", Subsystem: "cascade", Name: "attempts_total",
		Help: "Tries of candidates by provider and outcome; ok is a success.",
	}, []string{"provider", "outcome"})
	failovers = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "tollgate", Subsystem: "cascade", Name: "failovers_total",
		Help: "Model requests that were answered after at least one attempt had failed, by tier.",
	}, []string{"tier"})
	cooldowns = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "tollgate", Subsystem: "cascade", Name: "cooldowns_total",
		Help: "Failures that made a provider, a key or a model rest, by provider, reason and for whom: user or everyone.",
	}, []string{"provider", "reason", "for"})
	tokens = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "tollgate", Subsystem: "cascade", Name: "tokens_total",
		Help: "Tokens by provider and direction (input, output).",
	}, []string{"provider", "direction"})
	firstToken = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: "tollgate", Subsystem: "cascade", Name: "first_token_seconds",
		Help:    "Time from the request to the first content by provider and tier.",
		Buckets: []float64{.01, .05, .1, .25, .5, 1, 2, 5, 10, 30, 60, 120},
	}, []string{"provider", "tier"})
)

func observeAttempt(a cascade.Attempt) {
	attempts.WithLabelValues(a.Provider, a.Outcome).Inc()
	if a.Cooldown != "" {
		whom := "user"
		if a.Everyone {
			whom = "everyone"
		}
		cooldowns.WithLabelValues(a.Provider, a.Cooldown, whom).Inc()
	}
	if a.FirstToken > 0 {
		firstToken.WithLabelValues(a.Provider, a.Tier.String()).Observe(a.FirstToken.Seconds())
	}
}

func observeRequest(r *keychain.Record, result *cascade.Result) {
	tier := "entry"
	if r.Tier != 0 {
		tier = r.Tier.String()
	}
	requests.WithLabelValues(strconv.Itoa(r.Status/100)+"xx", tier).Inc()
	if result.Candidate != nil {
		if r.Attempts > 1 {
			failovers.WithLabelValues(tier).Inc()
		}
		observeTokens(r.Provider, result.Usage.Prompt, result.Usage.Completion)
	}
	for i := range result.Lost {
		l := &result.Lost[i]
		observeTokens(l.Candidate.Provider.Code, l.Usage.Prompt, l.Usage.Completion)
	}
}

func observeTokens(provider string, input, output int64) {
	tokens.WithLabelValues(provider, "input").Add(float64(input))
	tokens.WithLabelValues(provider, "output").Add(float64(output))
}
