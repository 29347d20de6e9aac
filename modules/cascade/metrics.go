package cascade

import (
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tollgate-gateway/tollgate/backends/gateway/cascade"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// The metrics live as long as the process and are registered with each configuration.
var (
	requests = tollgate.NewCounterVec("cascade", "requests_total",
		"Model requests by the class of their status and by tier.", "status", "tier")
	attempts = tollgate.NewCounterVec("cascade", "attempts_total",
		"Attempts at candidates by provider and outcome; ok is a success.", "provider", "outcome")
	failovers = tollgate.NewCounterVec("cascade", "failovers_total",
		"Model requests that were answered after at least one attempt had failed, by tier.", "tier")
	cooldowns = tollgate.NewCounterVec("cascade", "cooldowns_total",
		"Failures that started a cooldown of a provider, a key or a model, by provider, reason and for whom: user or everyone.",
		"provider", "reason", "for")
	tokens = tollgate.NewCounterVec("cascade", "tokens_total",
		"Tokens by provider and direction (input, output).", "provider", "direction")
	teams = teamMetrics{
		requests: tollgate.NewCounterVec("cascade", "team_requests_total",
			"Model requests by the id of their team, provider and model.", "team", "provider", "model"),
		tokens: tollgate.NewCounterVec("cascade", "team_tokens_total",
			"Tokens by the id of the team, provider and model.", "team", "provider", "model"),
		cost: tollgate.NewCounterVec("cascade", "team_cost_usd_total",
			"Cost of model requests in US dollars by the id of their team, provider and model, as far as the price is known.",
			"team", "provider", "model"),
	}
	firstToken = tollgate.NewHistogramVec("cascade", "first_token_seconds",
		"Time from the request to the first content by provider and tier.",
		[]float64{.01, .05, .1, .25, .5, 1, 2, 5, 10, 30, 60, 120}, "provider", "tier")
)

// observeAttempt counts an attempt.
func observeAttempt(a cascade.Attempt) {
	attempts.WithLabelValues(a.Provider, a.Outcome).Inc()
	if a.Cooldown != "" {
		scope := "user"
		if a.Everyone {
			scope = "everyone"
		}
		cooldowns.WithLabelValues(a.Provider, a.Cooldown, scope).Inc()
	}
	if a.FirstToken > 0 {
		firstToken.WithLabelValues(a.Provider, a.Tier.String()).Observe(a.FirstToken.Seconds())
	}
}

// observeRequest counts a request that has ended.
func observeRequest(r *spending.Record, result *cascade.Result) {
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
	teams.observe(r, result.Candidate)
	for i := range result.Lost {
		l := &result.Lost[i]
		observeTokens(l.Candidate.Provider.Code, l.Usage.Prompt, l.Usage.Completion)
	}
}

// observeTokens counts the tokens of an answer of a provider.
func observeTokens(provider string, input, output int64) {
	tokens.WithLabelValues(provider, "input").Add(float64(input))
	tokens.WithLabelValues(provider, "output").Add(float64(output))
}

// maxTeamSeries is the maximum number of combinations of team, provider and model with separate metrics. Further
// combinations are counted together as otherSeries.
const maxTeamSeries = 1000

// otherSeries is the value of every label for combinations beyond maxTeamSeries.
const otherSeries = "other"

// teamMetrics count the use by teams. The first maxTeamSeries combinations that occur in this process get separate
// series.
type teamMetrics struct {
	requests, tokens, cost *prometheus.CounterVec
	mu                     sync.Mutex
	series                 map[teamSeries]*teamCounters
}

type teamSeries struct{ team, provider, model string }

// teamCounters are the counters of one combination.
type teamCounters struct{ requests, tokens, cost prometheus.Counter }

// observe counts a request. Models that users have added are counted with the provider "custom" and no model name,
// because users choose their names.
func (m *teamMetrics) observe(r *spending.Record, c *keychain.Candidate) {
	series := teamSeries{team: r.TeamID}
	switch {
	case c != nil && c.Custom:
		series.provider = "custom"
	case c != nil:
		series.provider, series.model = r.Provider, r.Model
	}
	counters := m.counters(series)
	counters.requests.Inc()
	counters.tokens.Add(float64(max(0, r.InputTokens) + max(0, r.OutputTokens)))
	if r.CostKnown {
		counters.cost.Add(float64(max(0, r.CostMicroUSD)) / 1e6)
	}
}

// counters returns the counters of a combination and creates them if necessary.
func (m *teamMetrics) counters(series teamSeries) *teamCounters {
	m.mu.Lock()
	defer m.mu.Unlock()
	if found := m.series[series]; found != nil {
		return found
	}
	if m.series == nil {
		m.series = make(map[teamSeries]*teamCounters)
	}
	if len(m.series) >= maxTeamSeries {
		series = teamSeries{otherSeries, otherSeries, otherSeries}
		if found := m.series[series]; found != nil {
			return found
		}
	}
	created := &teamCounters{
		m.requests.WithLabelValues(series.team, series.provider, series.model),
		m.tokens.WithLabelValues(series.team, series.provider, series.model),
		m.cost.WithLabelValues(series.team, series.provider, series.model),
	}
	m.series[series] = created
	return created
}
